//! Appends messages to a thread.

use memory_contract::{
    MessageName, RequestId, ThreadId, message::AppendedMessage, revision::Revision, thread::Session,
};
use memory_database::{
    AppendError, StoreError, ThreadError,
    rows::{self, column, only, optional_id},
    session_digest, words,
};
use memory_postgres::{Params, query};
use tokio_postgres::Row;
use uuid::Uuid;

use super::row::{CountedMessage, NewRows, content_hash};
use crate::{MessageStore, threads::head::expected_head};

/// Messages to store in one thread: all of them or none.
#[derive(Clone, Debug, PartialEq)]
pub struct Append {
    /// The thread to append to. For a session: the id of its thread if the append creates
    /// it.
    pub thread: ThreadId,
    /// What to store, in order; at least one.
    pub messages: Vec<CountedMessage>,
    /// Makes a retry safe.
    pub request_id: Option<RequestId>,
    /// The head that the caller expects: `None` to leave it unchecked, `Some(None)` for
    /// an empty thread.
    pub expected_head: Option<Option<MessageName>>,
}

/// The result of an append.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Appended {
    /// Their places, in the order of the append.
    pub messages: Vec<AppendedMessage>,
    /// The revision, in the thread, at which the index has them.
    pub revision: Revision,
    /// Whether the append created the thread.
    pub created: bool,
    /// Whether the request id, or all messages by their external ids, were known, so that
    /// nothing was stored.
    pub replayed: bool,
}

impl MessageStore<'_> {
    /// Stores messages, in one round trip and one transaction, which concurrent appends may
    /// share. Appends to one thread happen one after the other, and their seqs have no gaps.
    /// With a request id, or with external ids of all messages, it is idempotent.
    ///
    /// # Errors
    /// `ThreadNotFound`, `AppendError::RequestReused`, `AppendError::HeadMoved`,
    /// `AppendError::ParentNotFound`, `AppendError::MessageExists`,
    /// `AppendError::ExternalIdExists`, `ThreadError::EphemeralFull`: nothing was stored. After `Unavailable` it may have
    /// been; a request id makes the retry safe.
    pub async fn append(self, append: &Append) -> Result<Appended, StoreError> {
        self.append_as(append, false).await
    }

    /// Stores messages as [`MessageStore::append`](crate::MessageStore::append) does, in the
    /// thread of a session. A session without a thread gets one, unless the append is
    /// rejected.
    ///
    /// # Errors
    /// As [`MessageStore::append`](crate::MessageStore::append), but for `ThreadNotFound`.
    pub async fn append_to_session(
        self,
        session: &Session,
        append: &Append,
    ) -> Result<Appended, StoreError> {
        let tenant = &self.caller.tenant;
        let new = NewRows::of(&append.messages);
        let hash = append.request_id.map(|_| content_hash(&append.messages));
        let digest = session_digest(session);
        let Session { app, user, key } = session;
        let params: Params<'_> = &[
            &tenant.as_str(),
            &self.caller.actor,
            &append.thread.uuid(),
            &words::scope_lexemes(tenant, append.thread, session),
            &app.as_str(),
            &user.as_str(),
            &key.as_str(),
            &digest,
            &new.messages,
            &new.parts,
            &new.words,
            &append.request_id.map(RequestId::uuid),
            &hash,
            &append.expected_head.is_some(),
            &expected_head(&append.expected_head),
            &self.store.ephemeral.byte_limit(),
        ];
        let query = query!("messages/append_to_session");
        let order = digest.iter().take(16);
        let order = order.fold(0, |order, byte| order << 8 | u128::from(*byte));
        let row = only(
            self.store
                .appends
                .call(self.caller, order, query, params)
                .await?,
        )?;
        let thread = rows::id(&row, "thread_id")?;
        let appended = outcome(thread, &append.messages, &row)?;
        Ok(Appended {
            created: column(&row, "created")?,
            ..appended
        })
    }

    /// Stores messages as [`MessageStore::append`](crate::MessageStore::append) does, and
    /// marks them, so that no facts are extracted from them.
    ///
    /// # Errors
    /// As [`MessageStore::append`](crate::MessageStore::append).
    pub async fn import(self, append: &Append) -> Result<Appended, StoreError> {
        self.append_as(append, true).await
    }

    async fn append_as(self, append: &Append, imported: bool) -> Result<Appended, StoreError> {
        let tenant = &self.caller.tenant;
        let new = NewRows::of(&append.messages);
        let hash = append.request_id.map(|_| content_hash(&append.messages));
        let params: Params<'_> = &[
            &tenant.as_str(),
            &self.caller.actor,
            &append.thread.uuid(),
            &new.messages,
            &new.parts,
            &new.words,
            &append.request_id.map(RequestId::uuid),
            &hash,
            &append.expected_head.is_some(),
            &expected_head(&append.expected_head),
            &imported,
            &self.store.ephemeral.byte_limit(),
        ];
        let query = query!("messages/append");
        let rows = match imported {
            true => self.store.pool.call(self.caller, query, params).await?,
            false => {
                let order = append.thread.uuid().as_u128();
                self.store
                    .appends
                    .call(self.caller, order, query, params)
                    .await?
            }
        };
        let row = only(rows)?;
        outcome(append.thread, &append.messages, &row)
    }
}

fn outcome(
    thread: ThreadId,
    messages: &[CountedMessage],
    row: &Row,
) -> Result<Appended, StoreError> {
    let status: &str = column(row, "status")?;
    match status {
        "ok" | "replayed" => {
            let ids: Vec<Uuid> = column(row, "message_ids")?;
            let seqs: Vec<i64> = match column(row, "seqs")? {
                Some(seqs) => seqs,
                None => (column(row, "first_seq")?..).take(ids.len()).collect(),
            };
            let branches: Vec<i32> = column(row, "branches")?;
            let tokens: Vec<i32> = column(row, "tokens")?;
            let messages = ids
                .into_iter()
                .zip(seqs)
                .zip(branches.into_iter().zip(tokens))
                .zip(messages)
                .map(|(((id, seq), (branch, tokens)), counted)| AppendedMessage {
                    id: id.into(),
                    external_id: counted.message.external_id.clone(),
                    seq,
                    branch,
                    tokens,
                })
                .collect();
            Ok(Appended {
                messages,
                revision: Revision {
                    thread,
                    change: column(row, "revision")?,
                },
                created: false,
                replayed: status == "replayed",
            })
        }
        "thread_not_found" => Err(StoreError::ThreadNotFound),
        "request_reused" => Err(StoreError::Append(AppendError::RequestReused)),
        "head_moved" => Err(StoreError::Append(AppendError::HeadMoved {
            head: optional_id(row, "fault_id")?,
        })),
        "parent_not_found" => Err(StoreError::Append(AppendError::ParentNotFound {
            index: usize::try_from(column::<i32>(row, "fault_index")?).unwrap_or_default(),
        })),
        "external_exists" => {
            let index = usize::try_from(column::<i32>(row, "fault_index")?).unwrap_or_default();
            Err(external_exists(messages, index))
        }
        "ephemeral_full" => Err(StoreError::Thread(ThreadError::EphemeralFull)),
        "message_exists" => Err(StoreError::Append(AppendError::MessageExists {
            id: rows::id(row, "fault_id")?,
        })),
        other => Err(rows::unknown_status(other)),
    }
}

/// The error about the message of the request whose external id is used already.
pub fn external_exists(messages: &[CountedMessage], index: usize) -> StoreError {
    let id = messages
        .get(index)
        .map(|counted| counted.message.external_id.clone())
        .unwrap_or_default();
    StoreError::Append(AppendError::ExternalIdExists { index, id })
}
