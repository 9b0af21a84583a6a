//! Stores the content of a file on the server.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use memory_contract::proto::{ImportMessagesRequest, ImportOptions, ResolveThreadRequest};
use memory_import::{Batch, Placed, Unit, named_session, thread_key};
use tokio::sync::{Semaphore, mpsc};
use tokio_stream::wrappers::ReceiverStream;

use super::answers::{Answers, LastStored, Sent};
use super::check::compare;
use super::job::Job;
use super::memories::Memories;
use super::records::{self, Sender, SentRecords};
use super::summary::{Besides, Summary, WHOLE_FILE, messages_of};
use super::units::Units;
use crate::cli::client::Client;
use crate::cli::failure::Failure;
use crate::cli::output::Progress;

/// Requests that may be under way; each has at most 2 MiB.
const IN_FLIGHT: usize = 8;

/// Imports one file. Errors of its parts are in the summary.
///
/// # Errors
/// When the stream as a whole breaks.
pub async fn import(client: &Client, job: Job, progress: &Progress) -> Result<Summary, Failure> {
    let begin = Instant::now();
    let Job {
        source,
        replace,
        check,
    } = job;
    let file = source.file.display().to_string();
    progress.detail(&format!("Importing {file}"));
    let options = ImportOptions {
        replace,
        new_ids: source.again,
    };
    let check = check && !source.again;
    let (units, incoming) = mpsc::channel(IN_FLIGHT);
    // Reading blocks, so it has a separate thread; a full channel makes it
    // wait, and it ends when the receiver is dropped.
    let reader = std::thread::spawn(move || source.read(|unit| units.blocking_send(unit).is_ok()));

    let last_stored = LastStored::default();
    let (requests, stream) = mpsc::channel::<ImportMessagesRequest>(1);
    let (sent, mut places) = mpsc::unbounded_channel();
    let slots = Arc::new(Semaphore::new(IN_FLIGHT));
    let mut messages = client.messages();
    let call = async {
        messages
            .import_messages(ReceiverStream::new(stream))
            .await
            .map(tonic::Response::into_inner)
    };
    let (records, receiver) = Sender::new();
    let feed = Feed {
        client,
        slots: Arc::clone(&slots),
        requests,
        sent,
        in_flight: HashSet::new(),
        last_stored: &last_stored,
        records,
    };
    let feed = feed.run(incoming, Units::new(client));
    let exported = records::import(client, options, receiver, &file, progress);
    let answer = async {
        let mut sums = Answers {
            client,
            last_stored: &last_stored,
            summary: Summary {
                file: file.clone(),
                ..Default::default()
            },
        };
        let mut answers = call.await?;
        while let Some(answer) = answers.message().await? {
            if let Some(sent) = places.recv().await {
                sums.add(sent, answer).await?;
            }
            // Only now: a later request of the session has to wait for single messages.
            slots.add_permits(1);
            let done = messages_of(sums.summary.messages());
            progress.detail(&format!("Importing {file}: {done}"));
        }
        Ok::<_, tonic::Status>(sums.summary)
    };
    let collect = async {
        let summary = answer.await;
        // However it ended: no task may still wait for an answer.
        slots.close();
        summary
    };
    let (fed, summary, exported) = tokio::join!(feed, collect, exported);
    let mut summary = summary.map_err(|status| client.failure(&status))?;
    let exported = exported.map_err(|status| client.failure(&status))?;
    let FeedResult {
        problems,
        besides,
        left_out,
        resolved,
        exported: sent,
    } = fed;
    summary.besides = Besides {
        redacted: summary.besides.redacted + besides.redacted,
        ..besides
    };
    for (what, count) in left_out {
        *summary.left_out.entry(what).or_default() += count;
    }
    summary.stored += summary.besides.put_messages;
    summary.known += summary.besides.known_messages;
    summary.threads.extend(resolved);
    for (place, error) in problems {
        summary.problem(place, error);
    }
    let of_other_products = summary.besides.memories;
    let threads = exported.add_to(&mut summary, sent);
    let has_exported = !threads.is_empty() || summary.besides.memories > of_other_products;
    if let Ok(Err(error)) = reader.join() {
        summary.unread = true;
        summary.problem(WHOLE_FILE.to_owned(), error);
    }
    if check && has_exported {
        for (place, problem) in compare(client, &threads, &file, progress).await {
            summary.problem(place, problem);
        }
        summary.checked = Some(summary.problems == 0);
    }
    summary.took = begin.elapsed();
    Ok(summary)
}

/// Sends the units of a file to the server.
struct Feed<'a> {
    client: &'a Client,
    slots: Arc<Semaphore>,
    requests: mpsc::Sender<ImportMessagesRequest>,
    sent: mpsc::UnboundedSender<Sent>,
    /// The keys of sessions whose requests may have no answer yet.
    in_flight: HashSet<String>,
    last_stored: &'a LastStored,
    records: Sender,
}

/// The result of sending, besides the answers to the requests.
#[derive(Default)]
struct FeedResult {
    problems: Vec<(String, String)>,
    besides: Besides,
    left_out: BTreeMap<&'static str, u64>,
    /// Threads of another memory system, which may have no messages.
    resolved: Vec<String>,
    exported: SentRecords,
}

impl Feed<'_> {
    async fn run(
        mut self,
        mut incoming: mpsc::Receiver<Placed<Unit>>,
        mut units: Units<'_>,
    ) -> FeedResult {
        let mut fed = FeedResult::default();
        let mut session = None;
        // The id of its thread; empty where it is not known.
        let mut thread = String::new();
        let mut memories = Memories::new(self.client);
        // Whether requests were sent since memories were stored.
        let mut sent = true;
        while let Some(Placed { place, value }) = incoming.recv().await {
            let done = match value {
                Unit::Problem(error) => Err(error),
                Unit::Exported(kind) => match self.records.send(place, *kind).await {
                    true => continue,
                    false => break,
                },
                Unit::Thread(request) => {
                    session.clone_from(&request.session);
                    thread.clear();
                    match (units.thread(*request).await, &session) {
                        (Ok(thread_id), Some(session)) => {
                            fed.resolved.push(thread_id.clone());
                            thread.clone_from(&thread_id);
                            memories.map_thread(thread_key(session), thread_id);
                            Ok(())
                        }
                        (Ok(_), None) => Ok(()),
                        (Err(error), _) => Err(error),
                    }
                }
                Unit::Head(request) => {
                    if !self.all_answered().await {
                        break;
                    }
                    sent = false;
                    // A thread that got nothing stays as it was left.
                    let session = named_session(request.thread.as_ref());
                    let last = session.and_then(|session| self.last_stored.of(session));
                    match last {
                        None => Ok(()),
                        Some(last) => {
                            let mut request = *request;
                            request.expected_head = Some(last);
                            units.head(request).await
                        }
                    }
                }
                Unit::Memory(memory) => {
                    if sent && !self.all_answered().await {
                        break;
                    }
                    sent = false;
                    fed.problems.extend(memories.push(place, *memory).await);
                    continue;
                }
                Unit::WorkingMemory(request) => {
                    // Its memories have to be there before: they have times, the request
                    // has none.
                    fed.problems.extend(memories.flush().await);
                    units.working_memory(*request).await
                }
                Unit::LeftOut(what, count) => {
                    *fed.left_out.entry(what).or_default() += count;
                    continue;
                }
                Unit::Batch(batch) => {
                    // The server stores requests concurrently. Threads are created
                    // here, in order, because recall returns messages in the order
                    // of their threads' creation.
                    let named = named_session(batch.value.thread.as_ref());
                    if session.as_ref() != named {
                        session = named.cloned();
                        let request = ResolveThreadRequest {
                            session: session.clone(),
                            ..Default::default()
                        };
                        // The import reports its problem, with its place.
                        let resolved = self.client.threads().resolve_thread(request).await;
                        let resolved = resolved.ok().and_then(|found| found.into_inner().thread);
                        thread = resolved.unwrap_or_default().thread_id;
                    }
                    sent = true;
                    match self.send(batch, thread.clone()).await {
                        true => continue,
                        false => break,
                    }
                }
            };
            if let Err(error) = done {
                fed.problems.push((place, error));
            }
        }
        fed.besides = units.besides;
        fed.problems.extend(memories.flush().await);
        fed.besides.memories = memories.stored;
        fed.besides.merged = memories.merged;
        fed.besides.missing_sources = memories.missing_sources;
        fed.exported = self.records.end();
        fed
    }

    /// Waits until everything that was sent is there. Returns whether anybody still listens.
    async fn all_answered(&mut self) -> bool {
        self.in_flight.clear();
        self.slots.acquire_many(IN_FLIGHT as u32).await.is_ok()
    }

    /// Sends a request after the earlier ones of its session were answered: their messages
    /// may have to be sent again. Returns whether anybody still listens.
    async fn send(&mut self, batch: Batch, thread_id: String) -> bool {
        let session = named_session(batch.value.thread.as_ref());
        let key = session.map(thread_key).unwrap_or_default();
        if self.in_flight.contains(&key) && !self.all_answered().await {
            return false;
        }
        self.in_flight.insert(key);
        let Ok(slot) = self.slots.acquire().await else {
            return false;
        };
        slot.forget();
        let request = batch.value.clone();
        let _ = self.sent.send(Sent { batch, thread_id });
        self.requests.send(request).await.is_ok()
    }
}
