//! Stores, changes and erases memories.

use memory_contract::{
    MemoryId, TenantId, ThreadId,
    memory::{Memory, MemoryChange, MemoryOrigin, MemoryOwner, NewMemory},
    precondition::Precondition,
    revision::Revision,
};
use memory_database::{
    MemoryError, StoreError,
    rows::{column, id as id_of, only, unknown_status},
    words,
};
use memory_postgres::{Params, query};
use tokio_postgres::{Row, types::Json};

use super::{Item, item_of, items, newer, revision, rows};
use crate::MemoryStore;

/// A memory that was to be stored.
#[derive(Clone, Debug, PartialEq)]
pub struct AddedMemory {
    /// The stored memory.
    pub memory: Memory,
    /// Whether it is new. Otherwise it was known by its text or its record.
    pub created: bool,
}

/// The result of [`MemoryStore::add_memories`](crate::MemoryStore::add_memories).
#[derive(Clone, Debug, PartialEq)]
pub struct AddedMemories {
    /// The memories, in the order in which they were given.
    pub memories: Vec<AddedMemory>,
    /// The revision that the index has to reach.
    pub revision: Revision,
}

/// The result of [`MemoryStore::update_memory`](crate::MemoryStore::update_memory).
#[derive(Clone, Debug, PartialEq)]
pub struct ChangedMemory {
    /// The changed memory.
    pub memory: Memory,
    /// The revision that the index has to reach.
    pub revision: Revision,
}

/// The result of [`MemoryStore::supersede_memory`](crate::MemoryStore::supersede_memory).
#[derive(Clone, Debug, PartialEq)]
pub struct SupersededMemory {
    /// The newer memory.
    pub memory: Memory,
    /// The older one, with its validity ended.
    pub superseded: Memory,
    /// The revision that the index has to reach.
    pub revision: Revision,
}

/// The result of [`MemoryStore::delete_memory`](crate::MemoryStore::delete_memory).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeletedMemory {
    /// Whether it was there.
    pub deleted: bool,
    /// The revision that the index has to reach.
    pub revision: Revision,
}

/// Attempts to change a memory that changes concurrently.
const TRIES: usize = 5;

impl MemoryStore<'_> {
    /// Stores memories of one user: all or none, in one round trip. What the user
    /// has in memory already, by its text or its record, is not stored twice, also
    /// where two do it at the same time. `thread` is the thread that they come
    /// from, where the sources do not name one.
    ///
    /// # Errors
    /// `MemoryError::SourceNotFound`, `MemoryError::Off`.
    pub async fn add_memories(
        self,
        owner: &MemoryOwner,
        memories: &[NewMemory],
        origin: MemoryOrigin,
        thread: Option<ThreadId>,
    ) -> Result<AddedMemories, StoreError> {
        let tenant = &self.caller.tenant;
        self.store.require_long_term_memory()?;
        let items = items(self.caller, memories.iter().map(|new| new_item(new).json()));
        let params: Params<'_> = &[
            &tenant.as_str(),
            &self.caller.actor,
            &owner.app.as_str(),
            &owner.user.as_str(),
            &scope_of(tenant, owner),
            &Json(items),
            &origin.as_str(),
            &thread.map(ThreadId::uuid),
        ];
        let found = self
            .store
            .pool
            .call(self.caller, query!("memories/add"), params)
            .await?;
        let mut added = Vec::with_capacity(found.len());
        let mut newest = Revision::none();
        for row in &found {
            match column(row, "status")? {
                "ok" => {}
                "source_not_found" => {
                    return Err(StoreError::Memory(MemoryError::SourceNotFound {
                        index: Some(index(row, "item")?),
                        place: index(row, "source")?,
                    }));
                }
                other => return Err(unknown_status(other)),
            }
            newest = newer(newest, revision(row)?);
            added.push(AddedMemory {
                memory: rows::memory(row)?,
                created: column(row, "created")?,
            });
        }
        Ok(AddedMemories {
            memories: added,
            revision: newest,
        })
    }

    /// Changes fields of a memory.
    ///
    /// # Errors
    /// `MemoryError::NotFound`, `EtagChanged`, `MemoryError::Known`, `MemoryError::Off`;
    /// `MemoryError::Changed` if it changes concurrently too often.
    pub async fn update_memory(
        self,
        id: MemoryId,
        precondition: &Precondition,
        change: &MemoryChange,
    ) -> Result<ChangedMemory, StoreError> {
        for _ in 0..TRIES {
            let seen = self.memory(id).await?;
            let etag = seen.etag();
            if !precondition.holds(Some(&etag)) {
                return Err(StoreError::EtagChanged { etag: Some(etag) });
            }
            match self.write_memory(&changed(&seen, change)).await {
                // It changed since it was read here; the precondition is checked again.
                Err(StoreError::Memory(MemoryError::Changed)) => {}
                other => return other,
            }
        }
        Err(StoreError::Memory(MemoryError::Changed))
    }

    /// Writes a memory over the version that it was made from.
    async fn write_memory(self, memory: &Memory) -> Result<ChangedMemory, StoreError> {
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[
            &tenant.as_str(),
            &self.caller.actor,
            &memory.id.uuid(),
            &memory.version,
            &scope_of(tenant, &memory.owner),
            &Json(item_of(memory).json()),
        ];
        let update = query!("memories/update");
        let row = only(self.store.pool.call(self.caller, update, params).await?)?;
        match column(&row, "status")? {
            "ok" => Ok(ChangedMemory {
                memory: rows::memory(&row)?,
                revision: revision(&row)?,
            }),
            "memory_not_found" => Err(StoreError::Memory(MemoryError::NotFound)),
            "changed" => Err(StoreError::Memory(MemoryError::Changed)),
            "known" => Err(StoreError::Memory(MemoryError::Known {
                id: id_of(&row, "other")?,
            })),
            other => Err(unknown_status(other)),
        }
    }

    /// Puts a newer memory in the place of an older one, which is kept with its
    /// validity ended. Idempotent.
    ///
    /// # Errors
    /// `MemoryError::NotFound`, `MemoryError::Changed` where another one has its place,
    /// `MemoryError::Known` where both say the same, `MemoryError::SourceNotFound`,
    /// `MemoryError::Off`.
    pub async fn supersede_memory(
        self,
        id: MemoryId,
        replacement: &NewMemory,
    ) -> Result<SupersededMemory, StoreError> {
        let tenant = &self.caller.tenant;
        // The owner never changes.
        let owner = self.memory(id).await?.owner;
        let item = [new_item(replacement).json()].into_iter();
        let params: Params<'_> = &[
            &tenant.as_str(),
            &self.caller.actor,
            &id.uuid(),
            &scope_of(tenant, &owner),
            &Json(items(self.caller, item).pop()),
        ];
        let supersede = query!("memories/supersede");
        let found = self.store.pool.call(self.caller, supersede, params).await?;
        let status = match found.first() {
            Some(row) => column(row, "status")?,
            None => return Err(StoreError::Memory(MemoryError::NotFound)),
        };
        match (status, found.as_slice()) {
            ("ok", [newer, older]) => Ok(SupersededMemory {
                memory: rows::memory(newer)?,
                superseded: rows::memory(older)?,
                revision: revision(older)?,
            }),
            ("memory_not_found", _) => Err(StoreError::Memory(MemoryError::NotFound)),
            ("changed", _) => Err(StoreError::Memory(MemoryError::Changed)),
            ("same_text", _) => Err(StoreError::Memory(MemoryError::Known { id })),
            ("source_not_found", [row, ..]) => {
                Err(StoreError::Memory(MemoryError::SourceNotFound {
                    index: None,
                    place: index(row, "source")?,
                }))
            }
            (other, _) => Err(unknown_status(other)),
        }
    }

    /// Erases a memory with its index entry. Idempotent.
    ///
    /// # Errors
    /// `MemoryError::Off`.
    pub async fn delete_memory(self, id: MemoryId) -> Result<DeletedMemory, StoreError> {
        let tenant = &self.caller.tenant;
        self.store.require_long_term_memory()?;
        let params: Params<'_> = &[&tenant.as_str(), &self.caller.actor, &id.uuid()];
        let delete = query!("memories/delete");
        let row = only(self.store.pool.call(self.caller, delete, params).await?)?;
        Ok(DeletedMemory {
            deleted: column(&row, "deleted")?,
            revision: revision(&row)?,
        })
    }
}

pub(crate) fn new_item(new: &NewMemory) -> Item<'_> {
    let NewMemory {
        record,
        text,
        kind,
        topics,
        entities,
        event,
        metadata,
        own_kind,
        attributes,
        sources,
        pinned,
    } = new;
    Item {
        id: MemoryId::new(),
        record,
        text,
        kind: *kind,
        topics,
        entities,
        event: *event,
        metadata: Some(metadata),
        own_kind,
        attributes,
        sources: sources.iter().map(|id| id.uuid()).collect(),
        supersedes: Vec::new(),
        pinned: *pinned,
    }
}

fn changed(memory: &Memory, change: &MemoryChange) -> Memory {
    let MemoryChange {
        text,
        kind,
        topics,
        entities,
        event,
        metadata,
        own_kind,
        attributes,
        pinned,
    } = change.clone();
    let mut memory = memory.clone();
    memory.text = text.unwrap_or(memory.text);
    memory.kind = kind.unwrap_or(memory.kind);
    memory.topics = topics.unwrap_or(memory.topics);
    memory.entities = entities.unwrap_or(memory.entities);
    memory.event = event.unwrap_or(memory.event);
    memory.metadata = metadata.unwrap_or(memory.metadata);
    memory.own_kind = own_kind.unwrap_or(memory.own_kind);
    memory.attributes = attributes.unwrap_or(memory.attributes);
    memory.pinned = pinned.unwrap_or(memory.pinned);
    memory
}

/// The lexemes by which text search finds the memories of a user and of an app, separated by
/// a space.
pub(crate) fn scope_of(tenant: &TenantId, owner: &MemoryOwner) -> String {
    let user = words::user_lexeme(tenant, &owner.app, &owner.user);
    format!("{user} {}", words::app_lexeme(tenant, &owner.app))
}

pub(crate) fn index(row: &Row, name: &str) -> Result<usize, StoreError> {
    Ok(usize::try_from(column::<i32>(row, name)?).unwrap_or_default())
}
