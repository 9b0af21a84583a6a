//! Imports conversations into a service, and waits until they are indexed.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use memory_contract::proto::{
    self, GetIndexStatusRequest, ImportMessagesRequest, SessionRef,
    import_messages_response::Outcome,
};
use tokio_stream::StreamExt as _;

use crate::{
    Failure, Target,
    conversation::{self, Conversation},
    progress,
    service::{Clients, Service},
};

/// Messages in one import request: the most that the contract allows.
const BATCH: usize = 256;
/// The longest wait for the index.
const INDEX: Duration = Duration::from_secs(1_800);

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
    let all = conversation::read_all(&options.dir)?;
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

/// Imports conversations, each as one user of `app` with a thread a session,
/// and waits until the index holds them.
pub async fn conversations(
    clients: &mut Clients,
    app: &str,
    conversations: &[Conversation],
) -> Result<Imported, Failure> {
    let mut requests = Vec::new();
    for conversation in conversations {
        for (number, messages) in &conversation.sessions {
            for batch in messages.chunks(BATCH) {
                requests.push(request(app, &conversation.name, *number, batch));
            }
        }
    }
    let expected = requests.len();
    let messages = conversations.iter().map(Conversation::message_count).sum();
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
    indexed(clients).await?;
    Ok(Imported {
        messages,
        durable,
        searchable: begin.elapsed(),
    })
}

/// Waits until the index is complete.
pub async fn indexed(clients: &mut Clients) -> Result<(), Failure> {
    let step = progress::step("indexing");
    let begin = Instant::now();
    loop {
        let status = clients
            .admin
            .get_index_status(GetIndexStatusRequest {})
            .await?
            .into_inner();
        if status.dead_letter_count > 0 {
            return Err(format!("could not be indexed: {}", status.last_error).into());
        }
        if status.pending_count == 0 {
            step.finish_and_clear();
            return Ok(());
        }
        if begin.elapsed() > INDEX {
            return Err(format!("{} changes still not indexed", status.pending_count).into());
        }
        step.set_message(format!("indexing, {} to go", status.pending_count));
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
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
