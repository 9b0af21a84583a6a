//! `recollect import`.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use memory_contract::proto::{
    GetThreadRequest, ImportMessagesRequest, ResolveThreadRequest, SetHeadRequest,
    import_messages_response::Outcome,
};
use serde_json::json;
use tokio::sync::{Semaphore, mpsc};
use tokio_stream::wrappers::ReceiverStream;
use tonic::Code;

use super::searchable::wait_until_searchable;
use crate::cli::args::{Format, ImportArgs};
use crate::cli::client::Client;
use crate::cli::failure::Failure;
use crate::cli::import::{Batch, Batcher, Defaults, Head, Heads, Placed, Record, read};
use crate::cli::output::{Progress, Table, count, duration, print_json};

/// Requests that may be under way; each has at most 2 MiB.
const IN_FLIGHT: usize = 8;
/// Errors that are listed; the others are counted.
const LISTED: usize = 20;
/// The place of what is wrong with a file as a whole.
const WHOLE_FILE: &str = "the file";
/// How long indexing may take before nobody waits for it any more.
const PATIENCE: Duration = Duration::from_secs(600);

/// Imports files, shows what became of each, and waits until recall finds it.
///
/// # Errors
/// When the server cannot be reached, or a part was refused.
pub async fn run(args: ImportArgs) -> Result<(), Failure> {
    let client = Client::connect(&args.server).await?;
    let progress = Progress::spinner(args.json);
    let mut summaries = Vec::new();
    for file in args.files {
        let job = Job {
            file,
            format: args.format,
            again: args.again,
            defaults: Defaults {
                app: args.app.clone(),
                user: args.user.clone(),
                session: args.session.clone(),
            },
        };
        summaries.push(import(&client, job, &progress).await?);
    }
    progress.finish();
    if !args.json {
        // Before the wait: whoever interrupts it has seen what was stored.
        print(&summaries)?;
    }
    let searchable = searchable(&client, &summaries, args.no_wait, args.json).await;
    if args.json {
        summaries
            .iter()
            .try_for_each(|summary| print_json(&summary.json(searchable)))?;
    }
    refusal(&summaries).map_or(Ok(()), Err)
}

/// Waits until what was stored can be searched, and tells how that went.
/// Nobody's import fails because of it: everything is stored.
async fn searchable(client: &Client, summaries: &[Summary], no_wait: bool, quiet: bool) -> bool {
    let messages: u64 = summaries.iter().map(Summary::messages).sum();
    if messages == 0 {
        return !no_wait;
    }
    if no_wait {
        if !quiet {
            println!("Recall finds it when the index has it: `recollect status` tells.");
        }
        return false;
    }
    let begin = Instant::now();
    let progress = Progress::spinner(quiet);
    let waited = wait_until_searchable(client, PATIENCE, &progress).await;
    progress.finish();
    match waited {
        Ok(()) => {
            if !quiet {
                println!("Searchable after another {}.", duration(begin.elapsed()));
            }
            true
        }
        Err(problem) => {
            eprintln!(
                "Everything is stored, but recall may not find all of it yet: {problem}.\n\
                 `recollect status` tells how far the index is."
            );
            false
        }
    }
}

/// What to say where something was not imported.
fn refusal(summaries: &[Summary]) -> Option<Failure> {
    let files = summaries.iter().filter(|summary| summary.unread).count();
    let problems: usize = summaries.iter().map(|summary| summary.problems).sum();
    let (counted, next_step) = match (files, problems - files) {
        (0, 0) => return None,
        (files, 0) => (
            count(files, "file"),
            "`recollect import --help` tells which files can be read.",
        ),
        (_, parts) => (
            match files {
                0 => count(parts, "part"),
                files => format!("{} and {}", count(files, "file"), count(parts, "part")),
            },
            "Mend what is wrong and import the file again: what is stored already is not stored \
             twice. With --again everything is stored as new.",
        ),
    };
    let verb = if problems == 1 { "was" } else { "were" };
    Some(Failure::Refused {
        message: format!("{counted} {verb} not imported"),
        next_step: next_step.to_owned(),
    })
}

/// A file to import.
#[derive(Debug)]
pub struct Job {
    /// The file.
    pub file: PathBuf,
    /// What it looks like.
    pub format: Format,
    /// Whether everything in it is to be stored as new.
    pub again: bool,
    /// What its conversations belong to that do not say so.
    pub defaults: Defaults,
}

/// What became of a file.
#[derive(Debug, Default)]
pub struct Summary {
    /// The file.
    pub file: String,
    /// The threads that got messages, or had them.
    pub threads: std::collections::BTreeSet<String>,
    /// Messages stored now.
    pub stored: u64,
    /// Messages that were stored by an earlier import.
    pub known: u64,
    /// Records and requests that were refused; the file itself counts as one
    /// where it cannot be read.
    pub problems: usize,
    /// Whether the file as a whole cannot be read, to its end.
    pub unread: bool,
    /// The first of them: the place, and what is wrong.
    pub errors: Vec<(String, String)>,
    /// How long it took.
    pub took: Duration,
}

impl Summary {
    fn problem(&mut self, place: String, error: String) {
        self.problems += 1;
        if self.errors.len() < LISTED {
            self.errors.push((place, error));
        }
    }

    fn messages(&self) -> u64 {
        self.stored + self.known
    }

    fn json(&self, searchable: bool) -> serde_json::Value {
        json!({
            "file": self.file,
            "threads": self.threads.len(),
            "stored": self.stored,
            "known": self.known,
            "refused": self.problems,
            "searchable": searchable,
            "errors": self.errors.iter()
                .map(|(place, error)| json!({"place": place, "error": error}))
                .collect::<Vec<_>>(),
            "ms": self.took.as_millis() as u64,
        })
    }
}

/// What the reading thread hands over.
enum Unit {
    Thread(Box<ResolveThreadRequest>),
    Batch(Batch),
    Head(Head),
    Problem(String, String),
}

/// Imports one file. Whatever is wrong with a part of it is in the summary.
///
/// # Errors
/// When the stream as a whole breaks.
pub async fn import(client: &Client, job: Job, progress: &Progress) -> Result<Summary, Failure> {
    let begin = Instant::now();
    let file = job.file.display().to_string();
    progress.detail(&format!("Importing {file}"));
    let (units, mut incoming) = mpsc::channel(IN_FLIGHT);
    // Reading blocks, so it has a thread of its own; a full channel makes it
    // wait, and it ends when nobody listens any more.
    let reader = std::thread::spawn(move || produce(&job, &units));

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
    let feed = async {
        let (mut problems, mut heads) = (Vec::new(), Vec::new());
        let mut session = None;
        while let Some(unit) = incoming.recv().await {
            match unit {
                Unit::Problem(place, error) => problems.push((place, error)),
                Unit::Head(head) => heads.push(head),
                Unit::Thread(request) => {
                    let place = request.session.clone().unwrap_or_default().session_key;
                    if let Err(status) = client.threads().resolve_thread(*request).await {
                        problems.push((place, status.message().to_owned()));
                    }
                }
                Unit::Batch(Placed { place, value }) => {
                    // The server stores requests side by side. Threads are
                    // created here, one after the other, because what is
                    // recalled comes in the order of their creation.
                    if session != value.session {
                        session.clone_from(&value.session);
                        let request = ResolveThreadRequest {
                            session: session.clone(),
                            ..Default::default()
                        };
                        // What is wrong with it, the import says with its place.
                        let _ = client.threads().resolve_thread(request).await;
                    }
                    let Ok(slot) = Arc::clone(&slots).acquire_owned().await else {
                        break;
                    };
                    slot.forget();
                    let _ = sent.send((place, value.messages.len() as u64));
                    if requests.send(value).await.is_err() {
                        break;
                    }
                }
            }
        }
        drop(requests);
        (problems, heads)
    };
    let answer = async {
        let mut summary = Summary {
            file: file.clone(),
            ..Default::default()
        };
        let mut answers = call.await?;
        while let Some(answer) = answers.message().await? {
            slots.add_permits(1);
            let (place, count) = places.recv().await.unwrap_or_default();
            match answer.outcome {
                Some(Outcome::Imported(imported)) => {
                    summary.threads.insert(imported.thread_id);
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
            let done = messages_of(summary.messages());
            progress.detail(&format!("Importing {file}: {done}"));
        }
        Ok::<_, tonic::Status>(summary)
    };
    let collect = async {
        let summary = answer.await;
        // However it ended: nobody may wait for an answer any more.
        slots.close();
        summary
    };
    let ((problems, heads), summary) = tokio::join!(feed, collect);
    let mut summary = summary.map_err(|status| client.failure(&status))?;
    drop(incoming);
    for head in heads {
        let place = head.session.session_key.clone();
        if let Err(status) = go_back(client, head).await {
            summary.problem(place, status.message().to_owned());
        }
    }
    for (place, error) in problems {
        summary.problem(place, error);
    }
    if let Ok(Err(error)) = reader.join() {
        summary.unread = true;
        summary.problem(WHOLE_FILE.to_owned(), error);
    }
    summary.took = begin.elapsed();
    Ok(summary)
}

/// Makes the message the head that was it before the export. A thread that has
/// gone on since an earlier import is left as it is.
async fn go_back(client: &Client, head: Head) -> Result<(), tonic::Status> {
    let Head {
        session,
        message_id,
        last,
    } = head;
    let mut threads = client.threads();
    let of_session = GetThreadRequest {
        session: Some(session),
        ..Default::default()
    };
    let thread = threads.get_thread(of_session).await?.into_inner().thread;
    let request = SetHeadRequest {
        thread_id: thread.unwrap_or_default().thread_id,
        head_message_id: message_id,
        expected_head: Some(last),
    };
    match threads.set_head(request).await {
        // What was refused is told already.
        Err(status) if ![Code::Aborted, Code::NotFound].contains(&status.code()) => Err(status),
        _ => Ok(()),
    }
}

fn messages_of(number: u64) -> String {
    count(number, "message")
}

/// Reads the file and makes requests of it.
fn produce(job: &Job, units: &mpsc::Sender<Unit>) -> Result<(), String> {
    let mut batcher = Batcher::new(job.again);
    let mut heads = Heads::default();
    let send = |unit: Unit| units.blocking_send(unit).is_ok();
    let result = read(
        &job.file,
        job.format,
        &job.defaults,
        job.again,
        &mut |record| match record.value {
            Ok(Record::Message {
                session,
                message,
                head,
            }) => {
                heads.see(&session, &message.message_id, head);
                let full = batcher.push(record.place, session, *message);
                full.is_none_or(|batch| send(Unit::Batch(batch)))
            }
            Ok(Record::Thread(thread)) => {
                let rest = batcher.take();
                rest.is_none_or(|batch| send(Unit::Batch(batch))) && send(Unit::Thread(thread))
            }
            Err(error) => send(Unit::Problem(record.place, error)),
        },
    );
    if let Some(batch) = batcher.take() {
        send(Unit::Batch(batch));
    }
    heads.end().into_iter().all(|head| send(Unit::Head(head)));
    result
}

fn print(summaries: &[Summary]) -> Result<(), Failure> {
    let mut table = Table::new(&[
        "File",
        "Threads>",
        "Stored>",
        "Known already>",
        "Refused>",
        "Took>",
    ]);
    for summary in summaries {
        if summary.unread && summary.messages() == 0 && summary.problems == 1 {
            continue;
        }
        table.row([
            summary.file.clone(),
            summary.threads.len().to_string(),
            summary.stored.to_string(),
            summary.known.to_string(),
            summary.problems.to_string(),
            duration(summary.took),
        ]);
    }
    if !table.is_empty() {
        table.print()?;
    }
    for summary in summaries {
        for (place, error) in &summary.errors {
            match place.as_str() {
                WHOLE_FILE => eprintln!("{}: {error}", summary.file),
                _ => eprintln!("{}, {place}: {error}", summary.file),
            }
        }
        if summary.problems > summary.errors.len() {
            eprintln!(
                "{}: and {} more",
                summary.file,
                summary.problems - summary.errors.len()
            );
        }
    }
    Ok(())
}
