//! Reads and erases messages.

pub(crate) mod append;
pub(crate) mod row;

use memory_contract::{
    JsonObject, Message, MessageFilter, MessageId, MessageName, Role, TenantId, ThreadId,
};
use time::OffsetDateTime;
use tokio_postgres::{
    Row,
    types::{Json, ToSql},
};
use uuid::Uuid;

use memory_postgres::{Params, query};

pub use self::append::{Append, Appended, CountedMessage};
use self::row::read_message;
use crate::{
    MessageStore, Page, Revision, StoreError, ThreadError,
    cache::{self, Version, Window},
    rows::{self, column, id, only, optional_id},
    thread::{one_more, one_thread},
};

/// Which end of a list comes first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Order {
    /// The lowest seq first.
    #[default]
    Ascending,
    /// The highest seq first.
    Descending,
}

/// The messages of a thread to list, on all its branches.
#[derive(Clone, Debug, PartialEq)]
pub struct MessageQuery {
    /// The thread whose messages are listed.
    pub thread: ThreadId,
    /// Conditions that the listed messages meet.
    pub filter: MessageFilter,
    /// The order by seq.
    pub order: Order,
    /// The `next` of the page before; `None` for the first page.
    pub after: Option<i64>,
    /// The most messages to return, at least 1.
    pub limit: u32,
    /// A page ends before the message that would take the stored parts and
    /// metadata over this many bytes; its first message is always returned.
    pub max_bytes: u32,
}

/// The history to read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryQuery {
    /// The thread whose path is read.
    pub thread: ThreadId,
    /// The message to read back from; `None` for the thread's head.
    pub head: Option<MessageName>,
    /// Reading stops with the turn that takes the stored token counts over
    /// this.
    pub max_tokens: i64,
    /// At most one message more than this is returned, to show where the
    /// limit cuts.
    pub limit: u32,
}

/// The most bytes of content that one history reads: many times the size of an answer, so
/// that it only bounds memory.
pub(crate) const HISTORY_BYTES: i64 = 32 * 1024 * 1024;

/// The messages that lead to a head.
#[derive(Clone, Debug, PartialEq)]
pub struct History {
    /// The newest first.
    pub messages: Vec<Message>,
    /// Whether the path has older readable messages.
    pub older: bool,
    /// All readable messages of the path.
    pub path_messages: i64,
    /// Their tokens together.
    pub path_tokens: i64,
}

impl MessageStore<'_> {
    /// Reads a message.
    ///
    /// # Errors
    /// `ThreadNotFound`, `MessageNotFound`.
    pub async fn get_message(
        self,
        thread: ThreadId,
        message: impl Into<MessageName>,
    ) -> Result<Message, StoreError> {
        let message = message.into();
        let tenant = &self.caller.tenant;
        let (name, id, message) = (tenant.as_str(), thread.uuid(), message.as_str());
        let of_thread: Params<'_> = &[&name, &id];
        let of_message: Params<'_> = &[&name, &id, &message];
        let results = self
            .store
            .pool
            .within_all(
                self.caller,
                &[
                    (query!("threads/get"), of_thread),
                    (query!("messages/get"), of_message),
                ],
            )
            .await?;
        let [threads, messages] = results.as_slice() else {
            return Err(StoreError::ThreadNotFound);
        };
        let store = self.store.threads(self.caller);
        store.used(&mut one_thread(threads)?).await?;
        read_message(messages.first().ok_or(StoreError::MessageNotFound)?)
    }

    /// Reads the newest message of the user on the path to a message; `None`: to the
    /// thread's head.
    ///
    /// # Errors
    /// Only those of the database.
    pub async fn newest_of_user(
        self,
        thread: ThreadId,
        head: Option<&MessageName>,
    ) -> Result<Option<Message>, StoreError> {
        let (tenant, head) = (&self.caller.tenant, head.map(MessageName::as_str));
        let params: Params<'_> = &[&tenant.as_str(), &thread.uuid(), &head];
        let newest = query!("messages/newest_of_user");
        let found = self.store.pool.within(self.caller, newest, params).await?;
        let found = found.first();
        found.map(read_message).transpose()
    }

    /// Lists messages by seq.
    ///
    /// # Errors
    /// `ThreadNotFound`.
    pub async fn list_messages(
        self,
        query: &MessageQuery,
    ) -> Result<Page<Message, i64>, StoreError> {
        let tenant = &self.caller.tenant;
        let (list, start) = match query.order {
            Order::Ascending => (query!("messages/list_ascending"), 0),
            Order::Descending => (query!("messages/list_descending"), i64::MAX),
        };
        let (name, id) = (tenant.as_str(), query.thread.uuid());
        let after = query.after.unwrap_or(start);
        let filter = Filter::of(&query.filter);
        let limit = one_more(query.limit);
        let max_bytes = i64::from(query.max_bytes);
        let of_thread: Params<'_> = &[&name, &id];
        let of_messages: Params<'_> = &[
            &name,
            &id,
            &after,
            &filter.roles,
            &filter.names,
            &filter.start,
            &filter.end,
            &filter.metadata,
            &limit,
            &max_bytes,
        ];
        let results = self
            .store
            .pool
            .within_all(
                self.caller,
                &[(query!("threads/get"), of_thread), (list, of_messages)],
            )
            .await?;
        let [threads, messages] = results.as_slice() else {
            return Err(StoreError::ThreadNotFound);
        };
        let store = self.store.threads(self.caller);
        store.used(&mut one_thread(threads)?).await?;

        // How many rows there were before the bytes bounded the page.
        let found: i64 = messages
            .first()
            .map_or(Ok(0), |row| column(row, "found_count"))?;
        let items = messages
            .iter()
            .take(query.limit as usize)
            .map(read_message)
            .collect::<Result<Vec<_>, _>>()?;
        let more = found > items.len() as i64;
        Ok(Page {
            next: items.last().map(|message| message.seq).filter(|_| more),
            items,
        })
    }

    /// Reads back from a head, in one round trip, at a cost that depends on
    /// what is returned and not on the thread.
    ///
    /// # Errors
    /// `ThreadNotFound`, `MessageNotFound` for a head that the thread does not
    /// have or that was erased.
    pub async fn history(self, query: &HistoryQuery) -> Result<History, StoreError> {
        self.read_path(&Path::of(query)).await
    }

    /// Reads the messages of a path, from the cache if the thread has not changed.
    pub(crate) async fn read_path(self, path: &Path) -> Result<History, StoreError> {
        let tenant = &self.caller.tenant;
        let known = self.store.windows.find(tenant, path).await;
        let request = path.request(tenant, known.as_deref());
        let found = self
            .store
            .pool
            .call(query!("messages/history"), &request.params())
            .await?;
        self.settle(path, known.as_deref(), &found).await
    }

    /// The history that an answer of the database or, if that says so, a known
    /// window has. Keeps what was read.
    async fn settle(
        self,
        path: &Path,
        known: Option<&Window>,
        found: &[Row],
    ) -> Result<History, StoreError> {
        let tenant = &self.caller.tenant;
        match (read_history(found)?, known) {
            (PathRead::Read { history, version }, _) => {
                self.store
                    .windows
                    .keep(tenant, path, version, &history)
                    .await;
                Ok(history)
            }
            (PathRead::Unchanged, known) => {
                cache::note("hit");
                let answer = known.and_then(|window| window.answer(path));
                answer.ok_or_else(|| rows::unknown_status("unchanged"))
            }
        }
    }

    /// Replaces the metadata of a message, and returns its id.
    ///
    /// # Errors
    /// `ThreadNotFound`, `MessageNotFound`, `ThreadError::EphemeralFull`.
    pub async fn update_message(
        self,
        thread: ThreadId,
        message: impl Into<MessageName>,
        metadata: &JsonObject,
    ) -> Result<(MessageId, Revision), StoreError> {
        let message = message.into();
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[
            &tenant.as_str(),
            &self.caller.actor,
            &thread.uuid(),
            &message.as_str(),
            &Json(metadata),
            &self.store.ephemeral.byte_limit(),
        ];
        let update = query!("messages/update");
        let row = only(self.store.pool.call(update, params).await?)?;
        self.store.windows.forget(tenant, thread).await;
        match column(&row, "status")? {
            "ok" => Ok((
                id(&row, "id")?,
                Revision {
                    thread,
                    change: column(&row, "revision")?,
                },
            )),
            other => Err(not_found(other)),
        }
    }

    /// Erases a message: its content is deleted, its place stays. The head of the
    /// thread falls back to the nearest readable message before it.
    ///
    /// # Errors
    /// `ThreadNotFound`, `MessageNotFound`, also on the second call.
    pub async fn delete_message(
        self,
        thread: ThreadId,
        message: impl Into<MessageName>,
    ) -> Result<Revision, StoreError> {
        let message = message.into();
        let tenant = &self.caller.tenant;
        let params: Params<'_> = &[
            &tenant.as_str(),
            &self.caller.actor,
            &thread.uuid(),
            &message.as_str(),
        ];
        let row = only(
            self.store
                .pool
                .call(query!("messages/delete"), params)
                .await?,
        )?;
        self.store.windows.forget(tenant, thread).await;
        match column(&row, "status")? {
            "ok" => Ok(Revision {
                thread,
                change: column(&row, "revision")?,
            }),
            other => Err(not_found(other)),
        }
    }
}

/// A way back from a head, and how far to go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Path {
    pub(crate) thread: ThreadId,
    /// `None` for the thread's head.
    pub(crate) head: Option<MessageName>,
    pub(crate) max_tokens: i64,
    /// Messages at most.
    pub(crate) rows: i32,
}

impl Path {
    /// The way of a history: one message more than its limit.
    pub(crate) fn of(query: &HistoryQuery) -> Self {
        Self {
            thread: query.thread,
            head: query.head.clone(),
            max_tokens: query.max_tokens,
            rows: i32::try_from(query.limit)
                .unwrap_or(i32::MAX - 1)
                .saturating_add(1),
        }
    }

    /// Whether it is known to start at the thread's head.
    pub(crate) fn leads_to(&self, head: Option<MessageId>) -> bool {
        self.head
            .as_ref()
            .is_none_or(|name| head.is_some() && name.id() == head)
    }

    /// The parameters of the query; a known window is not read again while it is valid.
    pub(crate) fn request<'a>(
        &'a self,
        tenant: &'a TenantId,
        known: Option<&Window>,
    ) -> PathRequest<'a> {
        let version = known.map(Window::version);
        PathRequest {
            tenant: tenant.as_str(),
            thread: self.thread.uuid(),
            head: self.head.as_ref().map(MessageName::as_str),
            max_tokens: self.max_tokens,
            rows: self.rows,
            known_seq: version.map(|known| known.last_seq),
            known_count: version.map(|known| known.message_count),
            known_head: version.and_then(|known| known.head).map(MessageId::uuid),
            known_updates: version.map(|known| known.update_count),
        }
    }
}

/// The parameters of `messages/history`.
pub(crate) struct PathRequest<'a> {
    tenant: &'a str,
    thread: Uuid,
    head: Option<&'a str>,
    max_tokens: i64,
    rows: i32,
    known_seq: Option<i64>,
    known_count: Option<i64>,
    known_head: Option<Uuid>,
    known_updates: Option<i64>,
}

impl PathRequest<'_> {
    pub(crate) fn params(&self) -> [&(dyn ToSql + Sync); 10] {
        [
            &self.tenant,
            &self.thread,
            &self.head,
            &self.max_tokens,
            &self.rows,
            &HISTORY_BYTES,
            &self.known_seq,
            &self.known_count,
            &self.known_head,
            &self.known_updates,
        ]
    }
}

/// The result of the function `history`.
enum PathRead {
    /// Nothing: what the caller knows is right.
    Unchanged,
    Read {
        history: History,
        version: Version,
    },
}

/// Reads what the function `history` returns: messages, then a row with the
/// status.
fn read_history(found: &[Row]) -> Result<PathRead, StoreError> {
    let Some((last, messages)) = found.split_last() else {
        return Err(StoreError::Corrupt {
            what: "history",
            why: "it has no status".to_owned(),
        });
    };
    match column(last, "status")? {
        "ok" => Ok(PathRead::Read {
            history: History {
                messages: messages
                    .iter()
                    .map(read_message)
                    .collect::<Result<_, _>>()?,
                older: column(last, "older")?,
                path_messages: column(last, "path_messages")?,
                path_tokens: column(last, "path_tokens")?,
            },
            version: Version {
                last_seq: column(last, "last_seq")?,
                message_count: column(last, "message_count")?,
                update_count: column(last, "update_count")?,
                head: optional_id(last, "head_id")?,
            },
        }),
        "unchanged" => Ok(PathRead::Unchanged),
        other => Err(not_found(other)),
    }
}

fn not_found(status: &str) -> StoreError {
    match status {
        "thread_not_found" => StoreError::ThreadNotFound,
        "message_not_found" => StoreError::MessageNotFound,
        "ephemeral_full" => StoreError::Thread(ThreadError::EphemeralFull),
        other => rows::unknown_status(other),
    }
}

/// A filter as parameters: `None` keeps all.
pub(crate) struct Filter<'a> {
    pub(crate) roles: Option<Vec<&'static str>>,
    pub(crate) names: Option<&'a [String]>,
    pub(crate) start: Option<OffsetDateTime>,
    pub(crate) end: Option<OffsetDateTime>,
    pub(crate) metadata: Option<Json<&'a JsonObject>>,
}

impl<'a> Filter<'a> {
    pub(crate) fn of(filter: &'a MessageFilter) -> Self {
        let MessageFilter {
            roles,
            names,
            start,
            end,
            metadata,
        } = filter;
        Self {
            roles: (!roles.is_empty()).then(|| roles.iter().copied().map(Role::as_str).collect()),
            names: (!names.is_empty()).then_some(names.as_slice()),
            start: *start,
            end: *end,
            metadata: (!metadata.is_empty()).then_some(Json(metadata)),
        }
    }
}
