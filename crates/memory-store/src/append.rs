//! Appends messages to a thread.

use std::collections::BTreeMap;

use memory_contract::{
    AppendedMessage, JsonObject, MessageName, NewMessage, Parent, Part, RequestId, Session,
    ThreadId,
};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use time::OffsetDateTime;
use tokio_postgres::{Row, types::Json};
use uuid::Uuid;

use memory_postgres::{Params, query};

use crate::{
    AppendError, MessageStore, Revision, StoreError, ThreadError,
    rows::{self, column, only, optional_id},
    thread::session_digest,
    words,
};

/// The parent of a root, in the arrays of the query.
const ROOT: &str = "";

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

/// A message and its size.
#[derive(Clone, Debug, PartialEq)]
pub struct CountedMessage {
    /// The message to store.
    pub message: NewMessage,
    /// Its size in `o200k_base` tokens, frame included; 0 or more.
    pub tokens: i32,
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
    /// refused.
    ///
    /// # Errors
    /// As [`MessageStore::append`](crate::MessageStore::append), but for `ThreadNotFound`.
    pub async fn append_to_session(
        self,
        session: &Session,
        append: &Append,
    ) -> Result<Appended, StoreError> {
        let tenant = &self.caller.tenant;
        let columns = Columns::of(&append.messages);
        let hash = append.request_id.map(|_| content_hash(append));
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
            &columns.ids,
            &columns.parents,
            &columns.roles,
            &columns.names,
            &columns.parts,
            &columns.metadata,
            &columns.tokens,
            &columns.words,
            &columns.said,
            &append.request_id.map(RequestId::uuid),
            &hash,
            &append.expected_head.is_some(),
            &expected_head(&append.expected_head),
            &self.store.ephemeral.byte_limit(),
            &columns.external,
            &columns.chosen,
        ];
        let query = query!("messages/append_to_session");
        let order = digest.iter().take(16);
        let order = order.fold(0, |order, byte| order << 8 | u128::from(*byte));
        let row = only(self.store.appends.call(order, query, params).await?)?;
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
        let columns = Columns::of(&append.messages);
        let hash = append.request_id.map(|_| content_hash(append));
        let params: Params<'_> = &[
            &tenant.as_str(),
            &self.caller.actor,
            &append.thread.uuid(),
            &columns.ids,
            &columns.parents,
            &columns.roles,
            &columns.names,
            &columns.parts,
            &columns.metadata,
            &columns.tokens,
            &columns.words,
            &columns.said,
            &append.request_id.map(RequestId::uuid),
            &hash,
            &append.expected_head.is_some(),
            &expected_head(&append.expected_head),
            &imported,
            &self.store.ephemeral.byte_limit(),
            &columns.external,
            &columns.chosen,
        ];
        let query = query!("messages/append");
        let rows = match imported {
            true => self.store.pool.call(query, params).await?,
            false => {
                let order = append.thread.uuid().as_u128();
                self.store.appends.call(order, query, params).await?
            }
        };
        let row = only(rows)?;
        outcome(append.thread, &append.messages, &row)
    }
}

/// The messages as one array for each column.
pub(crate) struct Columns<'a> {
    pub(crate) ids: Vec<Uuid>,
    pub(crate) parents: Option<Vec<Option<&'a str>>>,
    pub(crate) roles: Vec<&'static str>,
    pub(crate) names: Vec<&'a str>,
    pub(crate) parts: Vec<Json<&'a [Part]>>,
    pub(crate) metadata: Vec<Json<&'a JsonObject>>,
    pub(crate) tokens: Vec<i32>,
    pub(crate) words: Vec<String>,
    pub(crate) said: Vec<Option<OffsetDateTime>>,
    pub(crate) external: Option<Vec<Option<&'a str>>>,
    pub(crate) chosen: Vec<bool>,
}

/// The expected head as a parameter.
pub(crate) fn expected_head(expected: &Option<Option<MessageName>>) -> Option<&str> {
    expected.as_ref()?.as_ref().map(MessageName::as_str)
}

impl<'a> Columns<'a> {
    pub(crate) fn of(messages: &'a [CountedMessage]) -> Self {
        let count = messages.len();
        let mut columns = Self {
            ids: Vec::with_capacity(count),
            parents: None,
            roles: Vec::with_capacity(count),
            names: Vec::with_capacity(count),
            parts: Vec::with_capacity(count),
            metadata: Vec::with_capacity(count),
            tokens: Vec::with_capacity(count),
            words: Vec::with_capacity(count),
            said: Vec::with_capacity(count),
            external: None,
            chosen: Vec::with_capacity(count),
        };
        for (index, CountedMessage { message, tokens }) in messages.iter().enumerate() {
            let NewMessage {
                id,
                caller_chose_id,
                external_id,
                parent,
                role,
                name,
                parts,
                metadata,
                created,
            } = message;
            let parent = match parent {
                Parent::Previous => None,
                Parent::Root => Some(ROOT),
                Parent::Message(name) => Some(name.as_str()),
            };
            if !external_id.is_empty() {
                columns.external.get_or_insert_with(|| vec![None; count])[index] =
                    Some(external_id);
            }
            columns.chosen.push(*caller_chose_id);
            if parent.is_some() {
                columns.parents.get_or_insert_with(|| vec![None; count])[index] = parent;
            }
            columns.ids.push(id.uuid());
            columns.roles.push(role.as_str());
            columns.names.push(name);
            columns.parts.push(Json(parts));
            columns.metadata.push(Json(metadata));
            columns.tokens.push(*tokens);
            columns.words.push(words::of_message(name, parts));
            columns.said.push(*created);
        }
        columns
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
pub(crate) fn external_exists(messages: &[CountedMessage], index: usize) -> StoreError {
    let id = messages
        .get(index)
        .map(|counted| counted.message.external_id.clone())
        .unwrap_or_default();
    StoreError::Append(AppendError::ExternalIdExists { index, id })
}

/// SHA-256 of what a request asks to store: of each message all that the caller
/// chose. Ids generated by the server are left out, because a retry
/// gets other ones; so is the expected head, which is a condition and not content.
pub(crate) fn content_hash(append: &Append) -> Vec<u8> {
    let mut hasher = Sha256::new();
    for CountedMessage { message, tokens: _ } in &append.messages {
        let NewMessage {
            id,
            caller_chose_id,
            external_id,
            parent,
            role,
            name,
            parts,
            metadata,
            created,
        } = message;
        let parent = match parent {
            Parent::Previous => json!("previous"),
            Parent::Root => json!("root"),
            Parent::Message(name) => json!({ "message": name.as_str() }),
        };
        let content = json!([
            caller_chose_id.then_some(id),
            parent,
            role,
            name,
            parts,
            metadata_of(metadata),
            created.map(|time| time.unix_timestamp_nanos().to_string()),
            external_id,
        ]);
        hash_value(&mut hasher, &content);
    }
    hasher.finalize().to_vec()
}

/// The members of metadata as their JSON texts, which keep the digits of numbers.
fn metadata_of(metadata: &JsonObject) -> BTreeMap<String, String> {
    let members = metadata.members().into_iter();
    members
        .map(|(name, value)| (name, value.get().to_owned()))
        .collect()
}

/// Hashes JSON independently of the order of an object's keys, which protobuf does not
/// preserve.
fn hash_value(hasher: &mut Sha256, value: &Value) {
    match value {
        Value::Array(values) => {
            hasher.update(b"[");
            hasher.update((values.len() as u64).to_be_bytes());
            for value in values {
                hash_value(hasher, value);
            }
        }
        Value::Object(members) => {
            hasher.update(b"{");
            hasher.update((members.len() as u64).to_be_bytes());
            let mut members: Vec<_> = members.iter().collect();
            members.sort_unstable_by_key(|(key, _)| *key);
            for (key, value) in members {
                hasher.update((key.len() as u64).to_be_bytes());
                hasher.update(key.as_bytes());
                hash_value(hasher, value);
            }
        }
        Value::String(text) => {
            hasher.update(b"s");
            hasher.update((text.len() as u64).to_be_bytes());
            hasher.update(text.as_bytes());
        }
        Value::Number(number) => {
            let text = number.to_string();
            hasher.update(b"n");
            hasher.update((text.len() as u64).to_be_bytes());
            hasher.update(text.as_bytes());
        }
        Value::Bool(value) => hasher.update(if *value { b"t" } else { b"f" }),
        Value::Null => hasher.update(b"0"),
    }
}
