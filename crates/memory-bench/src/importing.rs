//! Imports conversations into a service, and waits until they are indexed.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use memory_contract::proto::{
    self, ImportMessagesRequest, SessionRef, import_messages_response::Outcome,
};
use tokio_stream::StreamExt as _;

use crate::{Failure, Target, clients::Clients, indexed::indexed, progress, service::Service};
use memory_datasets::Conversation;

/// Messages in one import request: the most that the contract allows.
const BATCH: usize = 256;

/// What to import.
#[derive(Args)]
pub struct Options {
    /// Directory of conversations in the LoCoMo or REALTALK format (*.json).
    dir: PathBuf,
    /// The app to import into. Each conversation becomes a user named after its file, and
    /// each session a thread.
    #[arg(long, default_value = "locomo")]
    app: String,
}

/// Imports, waits until the index is complete, and prints the counts.
pub async fn run(target: &Target, options: &Options, json: bool) -> Result<(), Failure> {
    if target.addr.is_none() {
        return Err("name the service to import into with --addr".into());
    }
    let all = memory_datasets::read_all(&options.dir)?;
    let service = Service::attach_or_start(target).await?;
    let mut clients = service.connect().await?;
    let imported = conversations(&mut clients, &options.app, &all).await?;
    let threads: usize = all.iter().map(|one| one.sessions.len()).sum();
    if json {
        let counts = serde_json::json!({
            "conversations": all.len(),
            "threads": threads,
            "messages": imported.messages,
        });
        println!("{counts}");
    } else {
        println!(
            "Imported {} conversations: {threads} threads, {} messages.",
            all.len(),
            imported.messages
        );
    }
    service.stop().await
}

/// How long an import took.
pub struct Imported {
    /// Messages stored.
    pub messages: usize,
    /// Time until all were durable.
    pub durable: Duration,
    /// Time until all were indexed.
    pub searchable: Duration,
}

/// Messages that are durable, and may not be indexed yet.
struct Stored {
    messages: usize,
    begin: Instant,
    durable: Duration,
}

impl Stored {
    async fn until_indexed(self, clients: &mut Clients) -> Result<Imported, Failure> {
        indexed(clients).await?;
        Ok(Imported {
            messages: self.messages,
            durable: self.durable,
            searchable: self.begin.elapsed(),
        })
    }
}

/// Imports conversations, each as one user of `app` with a thread a session,
/// and waits until the index holds them.
pub async fn conversations<'a>(
    clients: &mut Clients,
    app: &str,
    conversations: impl IntoIterator<Item = &'a Conversation>,
) -> Result<Imported, Failure> {
    let requests = conversations
        .into_iter()
        .flat_map(|one| of_conversation(app, one));
    let stored = store(clients, requests.collect()).await?;
    stored.until_indexed(clients).await
}

/// As [`conversations`] with one conversation, but does not wait for the index.
pub async fn unindexed(
    clients: &mut Clients,
    app: &str,
    conversation: &Conversation,
) -> Result<(), Failure> {
    let requests = of_conversation(app, conversation).collect();
    store(clients, requests).await?;
    Ok(())
}

/// Imports one session of a conversation, as [`conversations`] does.
pub async fn session(
    clients: &mut Clients,
    app: &str,
    conversation: &Conversation,
    number: u32,
) -> Result<Imported, Failure> {
    let messages = &conversation.sessions[&number];
    let requests = of_session(app, &conversation.name, number, messages);
    let stored = store(clients, requests.collect()).await?;
    stored.until_indexed(clients).await
}

fn of_conversation<'a>(
    app: &'a str,
    conversation: &'a Conversation,
) -> impl Iterator<Item = ImportMessagesRequest> + 'a {
    let sessions = conversation.sessions.iter();
    sessions
        .flat_map(move |(number, messages)| of_session(app, &conversation.name, *number, messages))
}

fn of_session<'a>(
    app: &'a str,
    user: &'a str,
    number: u32,
    messages: &'a [proto::MessageInput],
) -> impl Iterator<Item = ImportMessagesRequest> + 'a {
    messages
        .chunks(BATCH)
        .map(move |batch| request(app, user, number, batch))
}

async fn store(
    clients: &mut Clients,
    requests: Vec<ImportMessagesRequest>,
) -> Result<Stored, Failure> {
    let expected = requests.len();
    let messages = requests.iter().map(|request| request.messages.len()).sum();
    let bar = progress::count("importing", messages as u64);
    let begin = Instant::now();
    let mut answers = clients
        .messages
        .import_messages(tokio_stream::iter(requests))
        .await?
        .into_inner();
    let mut answered = 0;
    while let Some(answer) = answers.next().await {
        match answer?.outcome {
            Some(Outcome::Imported(imported)) => {
                bar.inc(u64::try_from(imported.message_count).unwrap_or_default());
                answered += 1;
            }
            Some(Outcome::Error(error)) => {
                return Err(format!("import refused: {} {}", error.field, error.message).into());
            }
            None => return Err("import answered without an outcome".into()),
        }
    }
    if answered != expected {
        return Err(format!("import answered {answered} of {expected} requests").into());
    }
    let durable = begin.elapsed();
    bar.finish_and_clear();
    Ok(Stored {
        messages,
        begin,
        durable,
    })
}

fn request(
    app: &str,
    user: &str,
    session: u32,
    messages: &[proto::MessageInput],
) -> ImportMessagesRequest {
    ImportMessagesRequest {
        thread: Some(
            SessionRef {
                app_id: app.to_owned(),
                user_id: user.to_owned(),
                session_key: format!("session:{user}/{session}"),
                agent_session_key: String::new(),
            }
            .into(),
        ),
        messages: messages.to_vec(),
        ..Default::default()
    }
}
