//! Reads for recall, search and indexing freshness.

use memory_contract::{
    MessageId, MessageName, ThreadId,
    message::{Message, MessageFilter},
    revision::Revision,
};
use memory_database::{
    Bounds, Scope, StoreError,
    rows::{self, column, only, uuids},
    words,
};
use memory_postgres::{Params, query};
use tokio_postgres::Row;
use uuid::Uuid;

use super::{filter::Filter, path::Path, row::read_message};
use crate::MessageStore;

/// A message that was read within a scope.
#[derive(Clone, Debug, PartialEq)]
pub struct Hydrated {
    /// The message as it is stored now.
    pub message: Message,
    /// Place of its thread in the order of creation of all threads.
    pub thread_ordinal: i64,
    /// Whether it is on the path to the head of its thread, or to the message given as
    /// the head.
    pub active: bool,
}

/// A message near an anchor.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbor {
    /// The message that it is near.
    pub anchor: MessageId,
    /// Distance in messages: -1 is the message before the anchor, 1 the one after it.
    pub offset: i32,
    /// The neighbor itself.
    pub message: Message,
    /// Place of its thread in the order of creation of all threads.
    pub thread_ordinal: i64,
}

/// A message that contains words of a query.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TextMatch {
    /// The matching message.
    pub id: MessageId,
    /// Score above 0, comparable within one search.
    pub score: f32,
}

/// The changes of a scope that wait to be indexed.
#[derive(Clone, Debug, PartialEq)]
pub struct Unindexed<I> {
    /// The newest of them, the newest first.
    pub changes: Vec<UnindexedChange<I>>,
    /// How many more wait, counted up to the limit that was asked for.
    pub more: u64,
}

/// A change that waits to be indexed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnindexedChange<I> {
    /// Identifies it. As long as it is listed, what it writes is the same, or is erased.
    pub number: i64,
    /// The message or memory that it writes into the index. It may have been erased since.
    pub subject: I,
}

/// How far the index has processed the changes of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freshness {
    /// Whether a change up to the revision waits for the index.
    pub pending: bool,
    /// Changes of the thread up to the revision that are dead letters.
    pub dead_letters: i64,
}

impl MessageStore<'_> {
    /// Reads the newest messages of the active path of a thread, at most `limit`, in order of seq.
    ///
    /// # Errors
    /// `ThreadNotFound`.
    pub async fn recent(self, thread: ThreadId, limit: u32) -> Result<Vec<Message>, StoreError> {
        let path = Path {
            thread,
            head: None,
            max_tokens: i64::MAX,
            rows: i32::try_from(limit).unwrap_or(i32::MAX - 1),
        };
        let mut messages = self.read_path(&path).await?.messages;
        messages.reverse();
        Ok(messages)
    }

    /// Reads messages by id, in undefined order. Leaves out those outside the scope,
    /// erased, expired or unknown. `head` names a thread and a message that replaces its
    /// stored head.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn hydrate(
        self,
        scope: &Scope,
        head: Option<(ThreadId, &MessageName)>,
        ids: &[MessageId],
    ) -> Result<Vec<Hydrated>, StoreError> {
        let found = self.read_by_id(true, scope, head, ids).await?;
        found
            .iter()
            .map(|row| {
                Ok(Hydrated {
                    message: read_message(row)?,
                    thread_ordinal: column(row, "ordinal")?,
                    active: column(row, "on_path")?,
                })
            })
            .collect()
    }

    /// Which of the messages [`Self::hydrate`] would return, and whether each is on the path
    /// to its head. Reads no content.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn hydrate_paths(
        self,
        scope: &Scope,
        head: Option<(ThreadId, &MessageName)>,
        ids: &[MessageId],
    ) -> Result<Vec<(MessageId, bool)>, StoreError> {
        let found = self.read_by_id(false, scope, head, ids).await?;
        found
            .iter()
            .map(|row| Ok((rows::id(row, "message_id")?, column(row, "on_path")?)))
            .collect()
    }

    /// The rows of `hydrate`, with messages or without.
    async fn read_by_id(
        self,
        content: bool,
        scope: &Scope,
        head: Option<(ThreadId, &MessageName)>,
        ids: &[MessageId],
    ) -> Result<Vec<Row>, StoreError> {
        let tenant = &self.caller.tenant;
        if ids.is_empty() {
            return Ok(Vec::new());
        }
        let Bounds {
            app,
            user,
            thread,
            space,
        } = scope.bounds();
        let (head_thread, head) = head_params(head);
        let params: Params<'_> = &[
            &tenant.as_str(),
            &uuids(ids),
            &app,
            &user,
            &thread,
            &space,
            &head_thread,
            &head,
            &content,
        ];
        let hydrate = query!("messages/hydrate");
        Ok(self.store.pool.call(self.caller, hydrate, params).await?)
    }

    /// Reads the readable messages around anchors, in one query: before, along the
    /// parents; after, along the active path if the anchor is on it, or else along the
    /// anchor's branch. An anchor outside the scope has no neighbors. `head` names a
    /// thread and a message that replaces its stored head.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn neighbors(
        self,
        scope: &Scope,
        head: Option<(ThreadId, &MessageName)>,
        anchors: &[MessageId],
        before: u32,
        after: u32,
    ) -> Result<Vec<Neighbor>, StoreError> {
        let tenant = &self.caller.tenant;
        if anchors.is_empty() || (before == 0 && after == 0) {
            return Ok(Vec::new());
        }
        let Bounds {
            app,
            user,
            thread,
            space,
        } = scope.bounds();
        let (before, after) = (
            i32::try_from(before).unwrap_or(i32::MAX),
            i32::try_from(after).unwrap_or(i32::MAX),
        );
        let (head_thread, head) = head_params(head);
        let params: Params<'_> = &[
            &tenant.as_str(),
            &uuids(anchors),
            &app,
            &user,
            &thread,
            &space,
            &head_thread,
            &head,
            &before,
            &after,
        ];
        let found = self
            .store
            .pool
            .call(self.caller, query!("messages/neighbors"), params)
            .await?;
        found
            .iter()
            .map(|row| {
                Ok(Neighbor {
                    anchor: rows::id(row, "anchor_id")?,
                    offset: column(row, "distance")?,
                    thread_ordinal: column(row, "ordinal")?,
                    message: read_message(row)?,
                })
            })
            .collect()
    }

    /// Finds messages by word, best first; the fallback of recall without an index.
    /// English words match in all their forms, and stop words are ignored; text without
    /// spaces matches by pairs of characters. A word that more than 5,000 messages of
    /// the scope contain is looked up in 5,000 of them.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn search_text(
        self,
        scope: &Scope,
        query: &str,
        filter: &MessageFilter,
        limit: u32,
    ) -> Result<Vec<TextMatch>, StoreError> {
        let tenant = &self.caller.tenant;
        let filter = Filter::of(filter);
        let params: Params<'_> = &[
            &words::scope_query(tenant, scope),
            &words::of_query(query),
            &filter.roles,
            &filter.names,
            &filter.users,
            &filter.start,
            &filter.end,
            &filter.metadata,
            &i32::try_from(limit).unwrap_or(i32::MAX),
        ];
        let found = self
            .store
            .pool
            .within(self.caller, query!("messages/search"), params)
            .await?;
        found
            .iter()
            .map(|row| {
                Ok(TextMatch {
                    id: rows::id(row, "message_id")?,
                    score: column::<f64>(row, "score")? as f32,
                })
            })
            .collect()
    }

    /// The newest messages of a scope that wait to be indexed, at most `limit`. Up to `counted` more
    /// are counted.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn unindexed(
        self,
        scope: &Scope,
        limit: u32,
        counted: u32,
    ) -> Result<Unindexed<MessageId>, StoreError> {
        let (apps, Bounds { user, thread, .. }) = (scope.apps(), scope.bounds());
        let threads = thread.map(|thread| vec![thread]);
        let tenant = self.caller.tenant.as_str();
        let (limit, counted) = (limit.cast_signed(), counted.cast_signed());
        let params: Params<'_> = &[
            &tenant,
            &apps,
            &user,
            &threads,
            &limit,
            &counted,
            &self.store.searched,
        ];
        let found = self
            .store
            .pool
            .call(self.caller, query!("messages/unindexed"), params);
        Unindexed::read(&only(found.await?)?)
    }

    /// Whether the index has reached a revision. The revision of another tenant's
    /// thread is fresh: there is nothing to wait for.
    ///
    /// # Errors
    /// Only errors of the database.
    pub async fn freshness(self, revision: &Revision) -> Result<Freshness, StoreError> {
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[
            &tenant.as_str(),
            &revision.thread.uuid(),
            &revision.change,
            &self.store.searched,
        ];
        let row = only(
            self.store
                .pool
                .within(self.caller, query!("outbox/freshness"), params)
                .await?,
        )?;
        Ok(Freshness {
            pending: column(&row, "pending")?,
            dead_letters: column(&row, "dead_letters")?,
        })
    }
}

fn head_params(head: Option<(ThreadId, &MessageName)>) -> (Option<Uuid>, Option<&str>) {
    head.map(|(thread, name)| (thread.uuid(), name.as_str()))
        .unzip()
}

impl<I: From<Uuid>> Unindexed<I> {
    /// Reads them from the columns `changes`, `ids` and `more`.
    ///
    /// # Errors
    /// `Corrupt` for another row.
    pub fn read(row: &Row) -> Result<Self, StoreError> {
        let numbers: Vec<i64> = column(row, "changes")?;
        let ids: Vec<Uuid> = column(row, "ids")?;
        let change = |(number, id)| UnindexedChange {
            number,
            subject: I::from(id),
        };
        Ok(Self {
            changes: numbers.into_iter().zip(ids).map(change).collect(),
            more: column::<i64>(row, "more")?.unsigned_abs(),
        })
    }
}
