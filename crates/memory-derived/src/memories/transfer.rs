//! Exports memories, and imports memories of another server.

use memory_contract::{
    AppId, MemoryId, UserId,
    memory::{Memory, MemoryOwner},
    policy::ExtractionStrategy,
    revision::Revision,
};
use memory_database::{Page, StoreError, page::one_more, rows::column};
use memory_postgres::{Params, query};
use serde_json::{Value, json};
use tokio_postgres::types::Json;

use super::{Item, item_of, items, micros, newer, revision, rows, write::scope_of};
use crate::MemoryStore;

/// The result of importing a memory.
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedMemory {
    /// The memory as it is stored now.
    pub memory: Memory,
    /// Whether this call stored it.
    pub created: bool,
    /// Sources that do not exist here.
    pub missing_sources: i32,
}

/// The result of [`MemoryStore::import_memories`](crate::MemoryStore::import_memories).
#[derive(Clone, Debug, PartialEq)]
pub struct ImportedMemories {
    /// The memories, in the order in which they were given.
    pub memories: Vec<ImportedMemory>,
    /// The revision at which the index has them all.
    pub revision: Revision,
}

/// The position of an export of memories: after a memory of a user.
pub type MemoryPlace = (MemoryOwner, i64);

impl MemoryStore<'_> {
    /// Stores memories of one user as they were elsewhere: all or none, in one
    /// round trip. Existing memories, with the same id, or holding with the same text or
    /// record, stay as they are. Sources and threads that are not the user's here are
    /// left out.
    ///
    /// # Errors
    /// `MemoryError::Off`.
    pub async fn import_memories(
        self,
        owner: &MemoryOwner,
        memories: &[Memory],
    ) -> Result<ImportedMemories, StoreError> {
        let tenant = &self.caller.tenant;
        self.store.require_long_term_memory()?;
        let items = items(self.caller, memories.iter().map(stored));
        let params: Params<'_> = &[
            &tenant.as_str(),
            &self.caller.actor,
            &owner.app.as_str(),
            &owner.user.as_str(),
            &scope_of(tenant, owner),
            &Json(items),
        ];
        let found = self
            .store
            .pool
            .call(self.caller, query!("memories/import"), params)
            .await?;
        let mut imported = Vec::with_capacity(found.len());
        let mut newest = Revision::none();
        for row in &found {
            newest = newer(newest, revision(row)?);
            imported.push(ImportedMemory {
                memory: rows::memory(row)?,
                created: column(row, "created")?,
                missing_sources: column(row, "missing")?,
            });
        }
        Ok(ImportedMemories {
            memories: imported,
            revision: newest,
        })
    }

    /// Lists the memories of an app, of a user, or all of the tenant, app by app and
    /// user by user, the one stored first first, after the place `after`: also
    /// superseded ones, and also when long-term memory is switched off.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn export_memories(
        self,
        app: Option<&AppId>,
        user: Option<&UserId>,
        after: Option<&MemoryPlace>,
        limit: u32,
    ) -> Result<Page<Memory, MemoryPlace>, StoreError> {
        let tenant = &self.caller.tenant;
        let (after_app, after_user, ordinal) = match after {
            Some((owner, ordinal)) => (owner.app.as_str(), owner.user.as_str(), *ordinal),
            None => ("", "", 0),
        };
        let params: Params<'_> = &[
            &tenant.as_str(),
            &app.map(AppId::as_str),
            &user.map(UserId::as_str),
            &after_app,
            &after_user,
            &ordinal,
            &one_more(limit),
        ];
        let export = query!("memories/export");
        let found = self.store.pool.within(self.caller, export, params).await?;
        let memories = found
            .iter()
            .map(|row| {
                let memory = rows::memory(row)?;
                Ok(((memory.owner.clone(), memory.ordinal), memory))
            })
            .collect::<Result<_, StoreError>>()?;
        Ok(Page::cut(memories, limit))
    }
}

/// A memory as `import_memories` takes it.
fn stored(memory: &Memory) -> Value {
    let item = Item {
        sources: memory.sources.iter().map(|id| id.uuid()).collect(),
        ..item_of(memory)
    };
    let mut json = item.json();
    json["origin"] = json!(memory.origin.as_str());
    json["thread"] = json!(memory.thread.map(|id| id.uuid()));
    json["made_by"] = json!(memory.made_by);
    json["strategy"] = json!(memory.strategy.map_or("", ExtractionStrategy::as_str));
    json["built_on"] = json!(memory.built_on);
    json["superseded_by"] = json!(memory.superseded_by.map(MemoryId::uuid));
    json["valid_from"] = json!(micros(memory.valid_from));
    json["valid_until"] = json!(memory.valid_until.map(micros));
    json["ended"] = json!(memory.ended.map(micros));
    json["created"] = json!(micros(memory.created));
    json["used"] = json!(memory.last_used.map(micros));
    json
}
