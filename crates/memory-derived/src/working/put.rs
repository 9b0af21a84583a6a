//! Replaces a working memory.
//!
//! The stored state is read without a lock and compared with the caller's messages. One
//! statement stores the result if the state is still the same; otherwise the state is
//! read again. So all is stored or nothing, and the comparison holds no lock.

use std::collections::{HashMap, HashSet};

use memory_contract::{
    MessageId, ThreadId,
    message::{Part, Role},
    precondition::Precondition,
    revision::Revision,
    thread::Session,
};
use memory_conversations::{CountedMessage, NewThread, OPEN_THREAD, Opening, external_exists};
use memory_database::{
    AppendError, MemoryError, StoreError, ThreadError,
    rows::{self, column, only},
};
use memory_postgres::{Params, query};
use sha2::{Digest as _, Sha256};
use tokio_postgres::Row;

use super::{
    align::{Alignment, NamedMessage, PutMessage, StoredMessage, WorkingSet, align},
    call::{Place, PutCall, WorkingPut, WorkingTarget},
    read::{check_status, etag_of},
};
use crate::{WorkingMemoryStore, memories::index_of};

/// The most messages of a working set that are compared with the caller's, who sends at
/// most as many.
const COMPARED: usize = memory_contract::limits::WORKING_MESSAGES;
/// Attempts to replace a working memory that others change meanwhile. Each failed attempt
/// means that another one succeeded.
const TRIES: usize = 32;

/// The result of replacing a working memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PutDone {
    /// The thread that has the working memory.
    pub thread: ThreadId,
    /// The places in the request of the messages that were appended.
    pub appended: Vec<usize>,
    /// The places of the messages that a summary covers; they were skipped.
    pub covered: Vec<usize>,
    /// Whether the messages are on another branch than before.
    pub branched: bool,
    /// The revision of the appended messages; `None` if none was appended.
    pub revision: Option<Revision>,
}

impl WorkingMemoryStore<'_> {
    /// Replaces a working memory: all of it or nothing.
    ///
    /// # Errors
    /// `ThreadNotFound`; `EtagChanged`; `AppendError::MessageExists`,
    /// `AppendError::ExternalIdExists`, `MemoryError::SourceNotFound`,
    /// `MemoryError::ListedNotFound`.
    pub async fn put_working_memory(
        self,
        target: &WorkingTarget,
        put: &WorkingPut<'_>,
    ) -> Result<PutDone, StoreError> {
        let digests = digests(put.given())?;
        for _ in 0..TRIES {
            let thread = match target {
                WorkingTarget::Thread(thread) => *thread,
                WorkingTarget::Session(session) => {
                    match self.thread_of(session).await? {
                        Some(thread) => thread,
                        None => match self.put_new(session, put).await? {
                            Some(done) => return Ok(done),
                            // Another caller has just created it.
                            None => continue,
                        },
                    }
                }
            };
            if let Some(done) = self.put_over(thread, put, &digests).await? {
                return Ok(done);
            }
        }
        Err(StoreError::EtagChanged { etag: None })
    }

    /// Replaces the working memory of a thread; `None` if it changed meanwhile.
    async fn put_over(
        self,
        thread: ThreadId,
        put: &WorkingPut<'_>,
        digests: &[Vec<u8>],
    ) -> Result<Option<PutDone>, StoreError> {
        let mut seen = self.see_working(thread, 0, 0).await?;
        if seen.expired {
            self.expire_working_memory(thread).await?;
            seen = self.see_working(thread, 0, 0).await?;
        }
        let etag = &seen.memory.etag;
        check_working(&put.precondition, seen.memory.anything, etag)?;
        let aligned = self.align(thread, put, digests, seen.covered).await?;
        let (
            Alignment {
                covered,
                keep_from,
                branch_at,
                new,
            },
            known,
            newest,
        ) = aligned;
        let branched = branch_at.is_some_and(|depth| depth <= newest);
        let messages: Vec<CountedMessage> = new
            .iter()
            .map(|at| renewed(put.given()[*at].clone(), &known))
            .collect();
        let session = &seen.memory.policies.thread.session;
        let place = Place {
            thread,
            etag: &seen.memory.etag,
            keep_from,
            branch_at,
        };
        let call = PutCall::of(
            self.caller,
            session,
            place,
            put,
            (&new, &messages),
            &self.store.ephemeral,
        );
        let row = only(
            self.store
                .pool
                .call(self.caller, query!("working/put"), &call.params())
                .await?,
        )?;
        let done = done(thread, put.given(), &row, new, covered)?;
        Ok(done.map(|done| PutDone { branched, ..done }))
    }

    /// Creates the thread of a session with a working memory, in one transaction;
    /// `None` where another caller has created it.
    async fn put_new(
        self,
        session: &Session,
        put: &WorkingPut<'_>,
    ) -> Result<Option<PutDone>, StoreError> {
        let tenant = &self.caller.tenant;
        if !put.precondition.holds(None) {
            return Err(StoreError::EtagChanged { etag: None });
        }
        let thread = ThreadId::new();
        let new = NewThread::of(session.clone());
        let opening = Opening::of(self.caller, thread, &new, &self.store.ephemeral);
        let (name, id, none) = (tenant.as_str(), thread.uuid(), 0_i64);
        let none_of: Params<'_> = &[&name, &id, &0_i32, &none];
        let (transaction, results) = self
            .store
            .pool
            .begin(
                self.caller,
                &[
                    (OPEN_THREAD, &opening.params()),
                    (query!("working/read"), none_of),
                ],
            )
            .await?;
        let [opened, state] = results.as_slice() else {
            return Err(StoreError::ThreadNotFound);
        };
        let created: bool = match opened.first() {
            Some(row) => column(row, "created")?,
            None => false,
        };
        if !created {
            transaction.rollback().await?;
            return Ok(None);
        }
        let state = state.first().ok_or(StoreError::ThreadNotFound)?;
        check_status(state)?;
        let etag = etag_of(state)?;
        let place = Place {
            thread,
            etag: &etag,
            keep_from: None,
            branch_at: None,
        };
        let all: Vec<usize> = (0..put.given().len()).collect();
        let call = PutCall::of(
            self.caller,
            session,
            place,
            put,
            (&all, put.given()),
            &self.store.ephemeral,
        );
        let params = call.params();
        let row = only(transaction.query(query!("working/put"), &params).await?)?;
        match done(thread, put.given(), &row, all, Vec::new()) {
            Ok(Some(done)) => {
                transaction.commit(&[]).await?;
                Ok(Some(done))
            }
            other => {
                transaction.rollback().await?;
                other
            }
        }
    }

    /// Aligns the caller's messages with the stored ones. Also returns the thread's
    /// messages that the caller names, and the depth of the newest stored one.
    async fn align(
        self,
        thread: ThreadId,
        put: &WorkingPut<'_>,
        digests: &[Vec<u8>],
        covered: i32,
    ) -> Result<(Alignment, HashSet<MessageId>, i32), StoreError> {
        let tenant = &self.caller.tenant;
        let given = match &put.messages {
            None => {
                let unchanged = Alignment {
                    keep_from: Some(0),
                    ..Default::default()
                };
                return Ok((unchanged, HashSet::new(), 0));
            }
            Some(messages) if messages.is_empty() => return Ok(Default::default()),
            Some(messages) => messages,
        };
        let names: Vec<Vec<String>> = given.iter().map(names_of).collect();
        let all_names: Vec<&str> = names.iter().flatten().map(String::as_str).collect();
        let (name, id) = (tenant.as_str(), thread.uuid());
        let limit = i32::try_from(COMPARED).unwrap_or(i32::MAX);
        let of_tail: Params<'_> = &[&name, &id, &limit];
        let of_known: Params<'_> = &[&name, &id, &all_names];
        let results = self
            .store
            .pool
            .within_all(
                self.caller,
                &[
                    (query!("working/tail"), of_tail),
                    (query!("working/known"), of_known),
                ],
            )
            .await?;
        let [tail, known] = results.as_slice() else {
            return Err(StoreError::ThreadNotFound);
        };
        let mut messages = tail
            .iter()
            .map(stored_message)
            .collect::<Result<Vec<_>, _>>()?;
        messages.reverse();
        let set = WorkingSet { messages, covered };
        let mut ids: HashMap<&str, MessageId> = HashMap::new();
        let mut places = HashMap::new();
        for row in known {
            let id = rows::id(row, "message_id")?;
            let (depth, on_path) = (column(row, "depth")?, column(row, "on_path")?);
            ids.insert(column(row, "name")?, id);
            places.insert(id, NamedMessage { depth, on_path });
        }
        let put_messages: Vec<PutMessage<'_>> = given
            .iter()
            .zip(digests)
            .zip(&names)
            .map(
                |((CountedMessage { message, .. }, digest), names)| PutMessage {
                    // A message that is named and not known is new.
                    id: names.first().map(|_| {
                        let known = names.iter().find_map(|name| ids.get(name.as_str()));
                        known.copied().unwrap_or(message.id)
                    }),
                    role: message.role,
                    name: &message.name,
                    said_by: message.said_by.as_str(),
                    digest: digest.clone(),
                    said: message.created,
                },
            )
            .collect();
        let aligned = align(&put_messages, &set, &places);
        let newest = set.messages.last().map_or(0, |one| one.depth);
        Ok((aligned, places.into_keys().collect(), newest))
    }
}

/// Checks the condition of a put. An empty working memory does not exist, but has an etag.
pub(super) fn check_working(
    precondition: &Precondition,
    anything: bool,
    etag: &str,
) -> Result<(), StoreError> {
    let holds = match precondition {
        Precondition::Etag(expected) => expected == etag,
        other => other.holds(anything.then_some(etag)),
    };
    match holds {
        true => Ok(()),
        false => Err(StoreError::EtagChanged {
            etag: Some(etag.to_owned()),
        }),
    }
}

/// The outcome; `None` if the working memory changed meanwhile.
fn done(
    thread: ThreadId,
    messages: &[CountedMessage],
    row: &Row,
    appended: Vec<usize>,
    covered: Vec<usize>,
) -> Result<Option<PutDone>, StoreError> {
    match column(row, "status")? {
        "ok" => Ok(Some(PutDone {
            thread,
            appended,
            covered,
            branched: false,
            revision: column::<Option<i64>>(row, "revision")?
                .map(|change| Revision { thread, change }),
        })),
        "changed" => Ok(None),
        "thread_not_found" => Err(StoreError::ThreadNotFound),
        "message_exists" => Err(StoreError::Append(AppendError::MessageExists {
            id: rows::id(row, "fault_id")?,
        })),
        "external_exists" => {
            let place: i32 = column(row, "fault_index")?;
            let place = usize::try_from(place).unwrap_or_default();
            let index = appended.get(place).copied().unwrap_or_default();
            Err(external_exists(messages, index))
        }
        "ephemeral_full" => Err(StoreError::Thread(ThreadError::EphemeralFull)),
        "source_not_found" => Err(StoreError::Memory(MemoryError::SourceNotFound {
            index: Some(index_of(row, "item")?),
            place: index_of(row, "source")?,
        })),
        "memory_taken" => Err(StoreError::Memory(MemoryError::ListedTaken {
            index: index_of(row, "item")?,
        })),
        "memory_not_found" => Err(StoreError::Memory(MemoryError::ListedNotFound {
            index: index_of(row, "item")?,
        })),
        other => Err(rows::unknown_status(other)),
    }
}

/// A message to append to a branch: the id of a stored message is not used again.
fn renewed(mut message: CountedMessage, known: &HashSet<MessageId>) -> CountedMessage {
    if known.contains(&message.message.id) {
        message.message.id = MessageId::new();
        message.message.caller_chose_id = false;
    }
    message
}

/// What names a message of the request: the id that the caller chose, and the external id.
fn names_of(CountedMessage { message, .. }: &CountedMessage) -> Vec<String> {
    let id = message.caller_chose_id.then(|| message.id.to_string());
    let external = Some(&message.external_id).filter(|id| !id.is_empty());
    id.into_iter().chain(external.cloned()).collect()
}

fn stored_message(row: &Row) -> Result<StoredMessage, StoreError> {
    let role: &str = column(row, "role")?;
    Ok(StoredMessage {
        id: rows::id(row, "message_id")?,
        depth: column(row, "depth")?,
        role: Role::from_name(role).ok_or_else(|| StoreError::Corrupt {
            what: "message",
            why: "its role is not known".to_owned(),
        })?,
        name: column(row, "name")?,
        said_by: column(row, "said_by")?,
        digest: column(row, "digest")?,
        said: column(row, "said_at")?,
    })
}

/// SHA-256 of each message's parts, as they are stored.
fn digests(messages: &[CountedMessage]) -> Result<Vec<Vec<u8>>, StoreError> {
    let digest = |parts: &[Part]| {
        let json = serde_json::to_vec(parts).map_err(|error| StoreError::Corrupt {
            what: "message",
            why: format!("it cannot be written as JSON: {error}"),
        })?;
        Ok(Sha256::digest(&json).to_vec())
    };
    let all = messages.iter().map(|one| digest(&one.message.parts));
    all.collect()
}
