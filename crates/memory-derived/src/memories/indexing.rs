//! Reads memories for the indexer, and records the indexed ones.

use std::collections::HashMap;

use memory_contract::{
    AppId, MemoryId, ThreadId, UserId,
    json::JsonObject,
    memory::{MemoryOrigin, MemoryOwner, MemoryType},
};
use memory_conversations::Unindexed;
use memory_database::{
    StoreError,
    rows::{column, id, only, optional_id},
};
use memory_postgres::{Params, query};
use time::OffsetDateTime;
use tokio_postgres::types::Json;
use uuid::Uuid;

use super::uuids;
use crate::{MemoryOwners, MemoryStore};

/// A memory with what its index entry is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryRecord {
    /// The memory's id.
    pub id: MemoryId,
    /// The user or app that it belongs to.
    pub owner: MemoryOwner,
    /// The remembered text.
    pub text: String,
    /// A fact or an event.
    pub kind: MemoryType,
    /// Topics; at most 16.
    pub topics: Vec<String>,
    /// People, places and things that it names; at most 16.
    pub entities: Vec<String>,
    /// How it was created.
    pub origin: MemoryOrigin,
    /// The thread that it came from.
    pub thread: Option<ThreadId>,
    /// Time from which it holds, as far as known.
    pub valid_from: OffsetDateTime,
    /// Time until which it was true, as far as known; `None` while it holds.
    pub valid_until: Option<OffsetDateTime>,
    /// Time at which `valid_until` was recorded; `None` while it holds.
    pub ended: Option<OffsetDateTime>,
    /// When it happened, where that is known.
    pub event: Option<OffsetDateTime>,
    /// When it was stored.
    pub created: OffsetDateTime,
    /// Its version; each change increases it.
    pub version: i64,
    /// The caller's own data. Strings, numbers, booleans and nulls can be filtered by.
    pub metadata: JsonObject,
    /// The name of the app's own kind that it is of; empty for none.
    pub own_kind: String,
}

impl MemoryStore<'_> {
    /// Reads memories for indexing. Erased memories are left out; with long-term memory
    /// switched off, all are.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn memory_records(self, ids: &[MemoryId]) -> Result<Vec<MemoryRecord>, StoreError> {
        let tenant = &self.caller.tenant;
        if !self.store.remembers {
            return Ok(Vec::new());
        }
        let params: Params<'_> = &[&tenant.as_str(), &uuids(ids)];
        let found = self
            .store
            .pool
            .within(self.caller, query!("memories/index_records"), params)
            .await?;
        let corrupt = |why: &str| StoreError::Corrupt {
            what: "memory",
            why: why.to_owned(),
        };
        found
            .iter()
            .map(|row| {
                Ok(MemoryRecord {
                    id: id(row, "memory_id")?,
                    owner: MemoryOwner {
                        app: AppId::new(column::<String>(row, "app_id")?),
                        user: UserId::new(column::<String>(row, "user_id")?),
                    },
                    text: column(row, "text")?,
                    kind: MemoryType::from_name(column(row, "type")?)
                        .ok_or_else(|| corrupt("its type is not known"))?,
                    topics: column(row, "topics")?,
                    entities: column(row, "entities")?,
                    origin: MemoryOrigin::from_name(column(row, "origin")?)
                        .ok_or_else(|| corrupt("its origin is not known"))?,
                    thread: optional_id(row, "thread_id")?,
                    valid_from: column(row, "valid_from")?,
                    valid_until: column(row, "valid_until")?,
                    ended: column(row, "ended_at")?,
                    event: column(row, "event_time")?,
                    created: column(row, "created_at")?,
                    version: column(row, "version")?,
                    metadata: column::<Json<JsonObject>>(row, "metadata")?.0,
                    own_kind: column(row, "kind")?,
                })
            })
            .collect()
    }

    /// The newest memories of some owners that wait to be indexed, at most `limit`. Up to
    /// `counted` more are counted.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn unindexed_memories(
        self,
        owners: &MemoryOwners,
        limit: u32,
        counted: u32,
    ) -> Result<Unindexed<MemoryId>, StoreError> {
        if !self.store.remembers {
            return Ok(Unindexed {
                changes: Vec::new(),
                more: 0,
            });
        }
        let tenant = self.caller.tenant.as_str();
        let (apps, user) = (owners.apps(), owners.user().map(UserId::as_str));
        let (limit, counted) = (limit.cast_signed(), counted.cast_signed());
        let params: Params<'_> = &[
            &tenant,
            &apps,
            &user,
            &limit,
            &counted,
            &self.store.searched,
        ];
        let found = self
            .store
            .pool
            .call(self.caller, query!("memories/unindexed"), params);
        Unindexed::read(&only(found.await?)?)
    }

    /// Returns the versions of these memories, as far as they exist.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn memory_versions(
        self,
        ids: &[MemoryId],
    ) -> Result<HashMap<MemoryId, i64>, StoreError> {
        let tenant = &self.caller.tenant;
        if !self.store.remembers {
            return Ok(HashMap::new());
        }
        let params: Params<'_> = &[&tenant.as_str(), &uuids(ids)];
        let found = self
            .store
            .pool
            .within(self.caller, query!("memories/versions"), params)
            .await?;
        let version = |row| Ok::<_, StoreError>((id(row, "memory_id")?, column(row, "version")?));
        found.iter().map(version).collect()
    }

    /// Records that the index has applied memories, each in the state of a version.
    /// Idempotent; a memory that was changed since is skipped, because it waits in the
    /// queue again.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn memories_persisted(self, memories: &[(MemoryId, i64)]) -> Result<(), StoreError> {
        let tenant = &self.caller.tenant;
        let ids: Vec<MemoryId> = memories.iter().map(|(id, _)| *id).collect();
        let versions: Vec<i64> = memories.iter().map(|(_, version)| *version).collect();
        let params: Params<'_> = &[&tenant.as_str(), &uuids(&ids), &versions];
        let (all, one) = (
            query!("memories/persisted"),
            query!("memories/persisted_one"),
        );
        let pool = &self.store.pool;
        for row in pool.within(self.caller, all, params).await? {
            let (memory, version): (Uuid, i64) =
                (column(&row, "memory_id")?, column(&row, "version")?);
            let params: Params<'_> = &[&tenant.as_str(), &memory, &version];
            pool.within(self.caller, one, params).await?;
        }
        Ok(())
    }
}
