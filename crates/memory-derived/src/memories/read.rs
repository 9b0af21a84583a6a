//! Reads and searches memories.

use memory_contract::{
    AppId, MemoryId, ThreadId, UserId,
    json::JsonObject,
    limits,
    memory::{Memory, MemoryFilter, MemoryOrigin, MemoryOwner, MemoryTimes},
    policy::MemoryPolicy,
    size::memory_bytes,
    thread::{Session, Thread},
};
use memory_conversations::{Policies, PolicyStore};
use memory_database::{
    MemoryError, Page, StoreError,
    page::one_more,
    rows::{column, id as id_of, only, owner_of, scalar},
    words,
};
use memory_postgres::{Params, query};
use time::OffsetDateTime;
use tokio_postgres::types::{Json, ToSql};
use uuid::Uuid;

use super::{rows, uuids};
use crate::{MemoryOwners, MemoryStore};

/// A memory, and the memories that it superseded.
#[derive(Clone, Debug, PartialEq)]
pub struct MemoryWithHistory {
    /// The memory that was asked for.
    pub memory: Memory,
    /// The superseded memories, the one that was superseded last first; at most 50.
    pub superseded: Vec<Memory>,
}

/// A memory that has words of a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemoryMatch {
    /// The matching memory.
    pub id: MemoryId,
    /// How well it matches, above 0; comparable within one search.
    pub score: f32,
}

/// A filter as queries take it.
struct Filter<'a> {
    superseded: bool,
    kind: Option<&'static str>,
    own_kinds: Option<&'a [String]>,
    topics: Option<&'a [String]>,
    entities: Option<&'a [String]>,
    thread: Option<Uuid>,
    origins: Option<Vec<&'static str>>,
    after: Option<OffsetDateTime>,
    before: Option<OffsetDateTime>,
    metadata: Option<Json<&'a JsonObject>>,
    event_from: Option<OffsetDateTime>,
    event_until: Option<OffsetDateTime>,
    valid_at: Option<OffsetDateTime>,
    known_at: Option<OffsetDateTime>,
}

impl<'a> Filter<'a> {
    fn of(filter: &'a MemoryFilter) -> Self {
        let MemoryFilter {
            kind,
            own_kinds,
            topics,
            entities,
            thread,
            origins,
            after,
            before,
            metadata,
            event_from,
            event_until,
            times: MemoryTimes { valid_at, known_at },
            superseded: _,
        } = filter;
        let names = || origins.iter().map(|origin| MemoryOrigin::as_str(*origin));
        Self {
            superseded: filter.reaches_superseded(),
            kind: kind.map(|kind| kind.as_str()),
            own_kinds: Some(own_kinds.as_slice()).filter(|kinds| !kinds.is_empty()),
            topics: Some(topics.as_slice()).filter(|topics| !topics.is_empty()),
            entities: Some(entities.as_slice()).filter(|entities| !entities.is_empty()),
            thread: thread.map(ThreadId::uuid),
            origins: (!origins.is_empty()).then(|| names().collect()),
            after: *after,
            before: *before,
            metadata: (!metadata.is_empty()).then_some(Json(metadata)),
            event_from: *event_from,
            event_until: *event_until,
            valid_at: *valid_at,
            known_at: *known_at,
        }
    }

    /// The parameters of a query that filters: its `first` ones, then the filter.
    fn params<'p>(&'p self, first: Params<'p>) -> Vec<&'p (dyn ToSql + Sync)> {
        let Self {
            superseded,
            kind,
            own_kinds,
            topics,
            entities,
            thread,
            origins,
            after,
            before,
            metadata,
            event_from,
            event_until,
            valid_at,
            known_at,
        } = self;
        let filter: [&'p (dyn ToSql + Sync); 14] = [
            superseded,
            kind,
            topics,
            entities,
            thread,
            origins,
            after,
            before,
            metadata,
            event_from,
            event_until,
            valid_at,
            known_at,
            own_kinds,
        ];
        [first, &filter].concat()
    }
}

impl MemoryStore<'_> {
    /// The policies of the caller's apps and threads.
    pub(super) fn policies(&self) -> PolicyStore<'_> {
        PolicyStore::new(self.store, self.caller)
    }

    /// Reads a memory.
    ///
    /// # Errors
    /// `MemoryError::NotFound`, `MemoryError::Off`.
    pub(super) async fn memory(self, id: MemoryId) -> Result<Memory, StoreError> {
        let tenant = &self.caller.tenant;
        self.store.require_long_term_memory()?;
        let params: Params<'_> = &[&tenant.as_str(), &id.uuid()];
        let found = self
            .store
            .pool
            .within(self.caller, query!("memories/get"), params)
            .await?;
        rows::memory(
            found
                .first()
                .ok_or(StoreError::Memory(MemoryError::NotFound))?,
        )
    }

    /// Reads a memory, and the memories that it superseded, in one round trip.
    ///
    /// # Errors
    /// `MemoryError::NotFound`, `MemoryError::Off`.
    pub async fn get_memory(self, id: MemoryId) -> Result<MemoryWithHistory, StoreError> {
        let tenant = &self.caller.tenant;
        self.store.require_long_term_memory()?;
        let (name, id) = (tenant.as_str(), id.uuid());
        let most = i64::try_from(limits::SUPERSEDED).unwrap_or(i64::MAX);
        let of_memory: Params<'_> = &[&name, &id];
        let of_history: Params<'_> = &[&name, &id, &most];
        let results = self
            .store
            .pool
            .within_all(
                self.caller,
                &[
                    (query!("memories/get"), of_memory),
                    (query!("memories/superseded"), of_history),
                ],
            )
            .await?;
        let [memory, superseded] = results.as_slice() else {
            return Err(StoreError::Memory(MemoryError::NotFound));
        };
        Ok(MemoryWithHistory {
            memory: rows::memory(
                memory
                    .first()
                    .ok_or(StoreError::Memory(MemoryError::NotFound))?,
            )?,
            superseded: superseded
                .iter()
                .map(rows::memory)
                .collect::<Result<_, _>>()?,
        })
    }

    /// Lists memories of one user, or of the whole app, the one stored last first, after the key
    /// `after`; fewer than `limit` where more would not fit into an answer.
    ///
    /// # Errors
    /// `MemoryError::Off`.
    pub async fn list_memories(
        self,
        app: &AppId,
        user: Option<&UserId>,
        filter: &MemoryFilter,
        after: Option<i64>,
        limit: u32,
    ) -> Result<Page<Memory, i64>, StoreError> {
        let tenant = &self.caller.tenant;
        self.store.require_long_term_memory()?;
        let filter = Filter::of(filter);
        let first: Params<'_> = &[
            &tenant.as_str(),
            &app.as_str(),
            &user.map(UserId::as_str),
            &after.unwrap_or(i64::MAX),
            &one_more(limit),
        ];
        let list = match user {
            Some(_) => query!("memories/list"),
            None => query!("memories/list_by_app"),
        };
        let found = self
            .store
            .pool
            .within(self.caller, list, &filter.params(first))
            .await?;
        let memories = found
            .iter()
            .map(|row| {
                let memory = rows::memory(row)?;
                Ok((memory.ordinal, memory))
            })
            .collect::<Result<Vec<_>, StoreError>>()?;
        let mut bytes = 0;
        let fitting = memories.iter().take_while(|(_, memory)| {
            bytes += memory_bytes(memory);
            bytes <= limits::ANSWER_BYTES
        });
        // The first one is returned however long it is; otherwise paging would stop.
        let fitting = u32::try_from(fitting.count()).unwrap_or(u32::MAX).max(1);
        Ok(Page::cut(memories, limit.min(fitting)))
    }

    /// Reads memories of some owners that a filter keeps. What is another's, erased or unknown
    /// is left out. The order is undefined.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn hydrate_memories(
        self,
        owners: &MemoryOwners,
        filter: &MemoryFilter,
        ids: &[MemoryId],
    ) -> Result<Vec<Memory>, StoreError> {
        let tenant = &self.caller.tenant;
        if ids.is_empty() || !self.store.remembers {
            return Ok(Vec::new());
        }
        let filter = Filter::of(filter);
        let first: Params<'_> = &[
            &tenant.as_str(),
            &owners.app().map(AppId::as_str),
            &owners.user().map(UserId::as_str),
            &uuids(ids),
            &owners.space(),
        ];
        let found = self
            .store
            .pool
            .within(
                self.caller,
                query!("memories/hydrate"),
                &filter.params(first),
            )
            .await?;
        found.iter().map(rows::memory).collect()
    }

    /// Finds memories of some owners by word, the best first: the fallback of a search when
    /// the index is down. Words match as in
    /// [`MessageStore::search_text`](memory_conversations::MessageStore::search_text).
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn search_memories(
        self,
        owners: &MemoryOwners,
        query: &str,
        filter: &MemoryFilter,
        limit: u32,
    ) -> Result<Vec<MemoryMatch>, StoreError> {
        let tenant = &self.caller.tenant;
        if !self.store.remembers {
            return Ok(Vec::new());
        }
        let filter = Filter::of(filter);
        let first: Params<'_> = &[
            &words::scope_query(tenant, &owners.scope()),
            &words::of_query(query),
            &i32::try_from(limit).unwrap_or(i32::MAX),
        ];
        let found = self
            .store
            .pool
            .within(
                self.caller,
                query!("memories/search"),
                &filter.params(first),
            )
            .await?;
        found
            .iter()
            .map(|row| {
                Ok(MemoryMatch {
                    id: id_of(row, "memory_id")?,
                    score: column::<f64>(row, "score")? as f32,
                })
            })
            .collect()
    }

    /// The app and the user of a memory; `None` if it is not stored.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn owner(self, memory: MemoryId) -> Result<Option<(AppId, UserId)>, StoreError> {
        let params: Params<'_> = &[&self.caller.tenant.as_str(), &memory.uuid()];
        let owner = query!("memories/owner");
        let found = self.store.pool.within(self.caller, owner, params).await?;
        found.first().map(owner_of).transpose()
    }

    /// Whether a user has any memories.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn has_memories(self, owner: &MemoryOwner) -> Result<bool, StoreError> {
        let tenant = &self.caller.tenant;
        if !self.store.remembers {
            return Ok(false);
        }
        let params: Params<'_> = &[&tenant.as_str(), &owner.app.as_str(), &owner.user.as_str()];
        let any = query!("memories/any");
        scalar(&only(
            self.store.pool.within(self.caller, any, params).await?,
        )?)
    }

    /// As [`PolicyStore::policies`](memory_conversations::PolicyStore::policies), and whether the
    /// thread's user has any memories, in one round trip.
    ///
    /// # Errors
    /// `ThreadNotFound`.
    pub async fn policies_and_memories(
        self,
        thread: ThreadId,
    ) -> Result<(Policies, bool), StoreError> {
        if !self.store.remembers {
            let policies = self.policies().policies(thread).await?;
            let owner = MemoryOwner::of(&policies.thread.session);
            let any = self.has_memories(&owner).await?;
            return Ok((policies, any));
        }
        self.policies().read_policies(thread, true).await
    }

    /// As [`PolicyStore::session_policies`](memory_conversations::PolicyStore::session_policies), and
    /// whether the session's user has any memories, in one round trip.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn session_policies_and_memories(
        self,
        session: &Session,
    ) -> Result<(Option<(Thread, i64)>, MemoryPolicy, bool), StoreError> {
        if !self.store.remembers {
            let (thread, app) = self.policies().session_policies(session).await?;
            let owner = MemoryOwner::of(session);
            let any = self.has_memories(&owner).await?;
            return Ok((thread, app, any));
        }
        self.policies().read_session_policies(session, true).await
    }
}
