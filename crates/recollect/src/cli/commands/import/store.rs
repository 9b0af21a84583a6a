//! Stores the content of a file on the server.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use memory_contract::proto::{
    ImportMessagesRequest, ImportMessagesResponse, ImportOptions, ResolveThreadRequest,
    import_messages_response::Outcome,
};
use memory_import::{Format, Placed, Unit, named_session, thread_key};
use tokio::sync::{Semaphore, mpsc};
use tokio_stream::wrappers::ReceiverStream;

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
    let check = check && !source.again && !matches!(source.format, Format::System(_));
    let (units, incoming) = mpsc::channel(IN_FLIGHT);
    // Reading blocks, so it has a separate thread; a full channel makes it
    // wait, and it ends when the receiver is dropped.
    let reader = std::thread::spawn(move || source.read(|unit| units.blocking_send(unit).is_ok()));

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
        records,
    };
    let feed = feed.run(incoming, Units::new(client));
    let exported = records::import(client, options, receiver, &file, progress);
    let answer = async {
        let mut summary = Summary {
            file: file.clone(),
            ..Default::default()
        };
        let mut answers = call.await?;
        while let Some(answer) = answers.message().await? {
            slots.add_permits(1);
            let (place, count) = places.recv().await.unwrap_or_default();
            add_answer(&mut summary, answer, place, count);
            let done = messages_of(summary.messages());
            progress.detail(&format!("Importing {file}: {done}"));
        }
        Ok::<_, tonic::Status>(summary)
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
    summary.besides = besides;
    summary.left_out = left_out;
    summary.stored += summary.besides.put_messages;
    summary.known += summary.besides.known_messages;
    summary.threads.extend(resolved);
    for (place, error) in problems {
        summary.problem(place, error);
    }
    let threads = exported.add_to(&mut summary, sent);
    if let Ok(Err(error)) = reader.join() {
        summary.unread = true;
        summary.problem(WHOLE_FILE.to_owned(), error);
    }
    if check && (!threads.is_empty() || summary.besides.memories > 0) {
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
    /// The places of requests, and how many messages they have.
    sent: mpsc::UnboundedSender<(String, u64)>,
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
                    match (units.thread(*request).await, &session) {
                        (Ok(thread_id), Some(session)) => {
                            fed.resolved.push(thread_id.clone());
                            memories.map_thread(thread_key(session), thread_id);
                            Ok(())
                        }
                        (Ok(_), None) => Ok(()),
                        (Err(error), _) => Err(error),
                    }
                }
                Unit::Memory(memory) => {
                    if sent {
                        // Everything that was sent has to be there before.
                        let all = self.slots.acquire_many(IN_FLIGHT as u32).await;
                        if all.is_err() {
                            break;
                        }
                        sent = false;
                    }
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
                Unit::Batch(Placed { place, value }) => {
                    // The server stores requests concurrently. Threads are created
                    // here, in order, because recall returns messages in the order
                    // of their threads' creation.
                    let named = named_session(value.thread.as_ref());
                    if session.as_ref() != named {
                        session = named.cloned();
                        let request = ResolveThreadRequest {
                            session: session.clone(),
                            ..Default::default()
                        };
                        // The import reports its problem, with its place.
                        let _ = self.client.threads().resolve_thread(request).await;
                    }
                    sent = true;
                    match self.send(place, value).await {
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

    /// Whether anybody still listens.
    async fn send(&self, place: String, request: ImportMessagesRequest) -> bool {
        let Ok(slot) = self.slots.acquire().await else {
            return false;
        };
        slot.forget();
        let _ = self.sent.send((place, request.messages.len() as u64));
        self.requests.send(request).await.is_ok()
    }
}

/// Adds the outcome of a request to the summary.
fn add_answer(summary: &mut Summary, answer: ImportMessagesResponse, place: String, count: u64) {
    match answer.outcome {
        Some(Outcome::Imported(imported)) => {
            summary.threads.insert(imported.thread_id);
            summary.besides.redacted += u64::from(imported.redaction_count.unsigned_abs());
            match imported.replayed {
                true => summary.known += count,
                false => summary.stored += count,
            }
        }
        Some(Outcome::Error(error)) => {
            let field = if error.message.contains(&error.field) {
                ""
            } else {
                &error.field
            };
            let gap = if field.is_empty() { "" } else { ": " };
            summary.problem(
                format!("{place} ({})", messages_of(count)),
                format!("{field}{gap}{}", error.message),
            );
        }
        None => summary.problem(place, "the server gave no answer".to_owned()),
    }
}
