//! What one tenant notices of another tenant's import.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use clap::Args;
use memory_contract::proto::{
    AppendMessagesRequest, Freshness, GetIndexStatusRequest, ImportMessagesRequest, MemoryPolicy,
    MessageInput, Part, RecallRequest, RecallScope, Role, SearchRequest, SessionRef,
    import_messages_response::Outcome, part,
};
use serde::Serialize;
use tokio::task::JoinSet;
use tokio_stream::StreamExt as _;

use crate::{
    Failure, Target,
    clients::{Clients, new_app},
    importing,
    machine::Machine,
    progress,
    service::Service,
    stats::{Latencies, Quantiles, rounded},
};
use memory_datasets::Conversation;

/// Two tenants, each with a key, and the SHA-256 of each key.
const TENANTS: &str = "
[[auth.keys]]
name = 'importer'
tenant = 'importer'
sha256 = 'f1c54235baba203445a9671b7acb72da7efa435927abd9a55d5dbedf79ff549b'

[[auth.keys]]
name = 'asker'
tenant = 'asker'
sha256 = '4d9786258e4e8df43c480e76bbbe696c7a681482f6fb347562e24753b908207d'
";
const IMPORTER: &str = "bench-importer";
const ASKER: &str = "bench-asker";
/// Messages of each imported thread, which is one request.
const THREAD_MESSAGES: usize = 50;
/// Questions after each appended message.
const ASKED: usize = 4;
/// The pause before the next message.
const PAUSE: Duration = Duration::from_millis(100);
/// The longest wait for an appended message to be indexed.
const MAX_WAIT_SECONDS: i64 = 30;

/// What to measure.
#[derive(Args)]
pub struct Options {
    /// Messages that one tenant imports.
    #[arg(long, default_value_t = 200_000)]
    messages: usize,
    /// Streams that it imports over at a time.
    #[arg(long, default_value_t = 4)]
    streams: usize,
    /// Seconds in which the other tenant asks and appends without the import, and again
    /// during it.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Conversations in the LoCoMo or REALTALK format that the other tenant asks about. Default: an
    /// example.
    #[arg(long)]
    conversations: Option<PathBuf>,
}

/// What the asking tenant sees.
#[derive(Serialize)]
struct Seen {
    /// From the acknowledgment of an append until a search that waits for it has answered.
    freshness: Quantiles,
    ask: Quantiles,
    append: Quantiles,
}

#[derive(Serialize)]
struct Report {
    machine: Machine,
    freshness_p50_ratio: f64,
    freshness_p95_ratio: f64,
    ask_p95_ratio: f64,
    quiet: Seen,
    during_import: Seen,
    import: Import,
}

/// The import when the measurement ended.
#[derive(Serialize)]
struct Import {
    /// Messages to import.
    messages: usize,
    durable: u64,
    /// Of the durable ones; the index has not seen them yet.
    waiting: i64,
    durable_messages_per_s: f64,
}

/// Runs both measurements on a service of its own and prints the report.
pub async fn run(target: &Target, options: &Options, json: bool) -> Result<(), Failure> {
    if target.addr.is_some() {
        return Err("fair measures a service of its own, with two tenants; omit --addr".into());
    }
    let dir = memory_datasets::dir_or_example(options.conversations.as_ref())?;
    let conversations = memory_datasets::read_all(&dir)?;
    let service = Service::start(target, TENANTS).await?;
    let mut asker = service.connect_as(ASKER).await?;
    let app = new_app();
    importing::conversations(&mut asker, &app, &conversations).await?;
    let mut asking = Asking::new(asker, &app, &conversations).await?;
    let length = Duration::from_secs(options.seconds);
    asking.ask_and_append("warming up", length / 10).await?;
    let quiet = asking
        .ask_and_append("asking without an import", length)
        .await?;

    let durable = Arc::new(AtomicU64::new(0));
    let begin = Instant::now();
    let mut imports = JoinSet::new();
    let threads = options.messages.div_ceil(THREAD_MESSAGES);
    for stream in 0..options.streams.max(1) {
        let clients = service.connect_as(IMPORTER).await?;
        let durable = Arc::clone(&durable);
        let own = (0..threads).skip(stream).step_by(options.streams.max(1));
        imports.spawn(import(clients, own.collect(), durable));
    }
    // The import is under way.
    while durable.load(Ordering::Relaxed) < 1_000.min(options.messages as u64) {
        if let Some(ended) = imports.try_join_next() {
            ended??;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    let during_import = asking
        .ask_and_append("asking during an import", length)
        .await?;
    let durable = durable.load(Ordering::Relaxed);
    let elapsed = begin.elapsed().as_secs_f64();
    let mut importer = service.connect_as(IMPORTER).await?;
    let status = importer
        .admin
        .get_index_status(GetIndexStatusRequest {})
        .await?;
    let waiting = status.into_inner().pending_count;
    if durable >= options.messages as u64 && waiting == 0 {
        return Err("the import ended before the measurement: import more --messages".into());
    }
    imports.shutdown().await;
    service.stop().await?;

    let ratio = |during: f64, quiet: f64| rounded(during / quiet.max(0.001), 2);
    let report = Report {
        machine: Machine::here(),
        freshness_p50_ratio: ratio(during_import.freshness.p50_ms, quiet.freshness.p50_ms),
        freshness_p95_ratio: ratio(during_import.freshness.p95_ms, quiet.freshness.p95_ms),
        ask_p95_ratio: ratio(during_import.ask.p95_ms, quiet.ask.p95_ms),
        quiet,
        during_import,
        import: Import {
            messages: options.messages,
            durable,
            waiting,
            durable_messages_per_s: rounded(durable as f64 / elapsed, 0),
        },
    };
    match json {
        true => println!("{}", serde_json::to_string(&report)?),
        false => report.print(),
    }
    Ok(())
}

impl Report {
    fn print(&self) {
        let mut table = crate::table::table(
            &[
                "",
                "quiet p50",
                "p95",
                "import p50",
                "p95",
                "p50 ratio",
                "p95 ratio",
            ],
            1,
        );
        let (quiet, during) = (&self.quiet, &self.during_import);
        for (name, quiet, during) in [
            ("freshness", quiet.freshness, during.freshness),
            ("ask", quiet.ask, during.ask),
            ("append", quiet.append, during.append),
        ] {
            let ms = |value: f64| format!("{value:.2} ms");
            let ratio = |during: f64, quiet: f64| format!("{:.2}", during / quiet.max(0.001));
            table.add_row([
                name.to_owned(),
                ms(quiet.p50_ms),
                ms(quiet.p95_ms),
                ms(during.p50_ms),
                ms(during.p95_ms),
                ratio(during.p50_ms, quiet.p50_ms),
                ratio(during.p95_ms, quiet.p95_ms),
            ]);
        }
        println!("{table}");
        let Import {
            messages,
            durable,
            waiting,
            durable_messages_per_s,
        } = &self.import;
        println!(
            "{} messages appended and {} questions asked during the import; {durable} of {messages} messages imported by then ({durable_messages_per_s} a second), {waiting} of them not indexed",
            during.freshness.count, during.ask.count
        );
    }
}

/// The tenant that asks and appends.
struct Asking {
    clients: Clients,
    /// Threads with a question for each.
    questions: Vec<(String, String)>,
    /// The thread that it appends to.
    thread: String,
    appended: usize,
}

impl Asking {
    async fn new(
        mut clients: Clients,
        app: &str,
        conversations: &[Conversation],
    ) -> Result<Self, Failure> {
        let mut questions = Vec::new();
        for conversation in conversations {
            let newest = conversation.sessions.keys().next_back().unwrap_or(&0);
            let key = format!("session:{}/{newest}", conversation.name);
            let thread = clients.thread(app, &conversation.name, &key).await?;
            let asked = conversation.questions.iter();
            questions.extend(asked.map(|question| (thread.clone(), question.text.clone())));
        }
        if questions.is_empty() {
            return Err("the conversations have no questions to ask".into());
        }
        let thread = clients.thread(app, "asker", "session:asker").await?;
        Ok(Self {
            clients,
            questions,
            thread,
            appended: 0,
        })
    }

    async fn ask_and_append(&mut self, what: &str, length: Duration) -> Result<Seen, Failure> {
        let step = progress::step(what);
        let (mut freshness, mut ask, mut append) =
            (Latencies::new()?, Latencies::new()?, Latencies::new()?);
        let begin = Instant::now();
        while begin.elapsed() < length {
            let sent = Instant::now();
            let revision = self.append().await?;
            append.add(sent.elapsed());
            let acknowledged = Instant::now();
            self.search_at(revision).await?;
            freshness.add(acknowledged.elapsed());
            for number in 0..ASKED {
                let asked = Instant::now();
                self.ask(self.appended * ASKED + number).await?;
                ask.add(asked.elapsed());
            }
            tokio::time::sleep(PAUSE).await;
        }
        step.finish_and_clear();
        Ok(Seen {
            freshness: freshness.quantiles(),
            ask: ask.quantiles(),
            append: append.quantiles(),
        })
    }

    /// Appends a message that the index does not know; the revision.
    async fn append(&mut self) -> Result<String, Failure> {
        self.appended += 1;
        let text = format!("Note {}: the meeting was moved once more.", self.appended);
        let request = AppendMessagesRequest {
            thread: Some(self.thread.clone().into()),
            messages: vec![message(text)],
            ..Default::default()
        };
        let appended = self.clients.messages.append_messages(request).await?;
        Ok(appended.into_inner().revision)
    }

    /// Searches what the index has at a revision.
    async fn search_at(&mut self, revision: String) -> Result<(), Failure> {
        let request = SearchRequest {
            target: Some(self.thread.clone().into()),
            query: "When is the meeting?".to_owned(),
            freshness: Some(Freshness {
                max_wait: Some(prost_types::Duration {
                    seconds: MAX_WAIT_SECONDS,
                    nanos: 0,
                }),
                ..revision.into()
            }),
            ..Default::default()
        };
        let found = self.clients.recall.search(request).await?.into_inner();
        match found.degradations.first() {
            Some(degradation) => Err(format!("search: {}", degradation.message).into()),
            None => Ok(()),
        }
    }

    async fn ask(&mut self, number: usize) -> Result<(), Failure> {
        let (thread, question) = &self.questions[(number * 7) % self.questions.len()];
        let request = RecallRequest {
            target: Some(thread.clone().into()),
            query: question.clone(),
            policy: Some(MemoryPolicy {
                scope: RecallScope::User.into(),
                ..Default::default()
            }),
            ..Default::default()
        };
        let found = self.clients.recall.recall(request).await?.into_inner();
        match found.degradations.first() {
            Some(degradation) => Err(format!("recall: {}", degradation.message).into()),
            None => Ok(()),
        }
    }
}

fn message(text: String) -> MessageInput {
    MessageInput {
        role: Role::User.into(),
        parts: vec![Part {
            content: Some(part::Content::Text(text)),
            ..Default::default()
        }],
        ..Default::default()
    }
}

/// Imports threads of generated messages over one stream.
async fn import(
    mut clients: Clients,
    threads: Vec<usize>,
    durable: Arc<AtomicU64>,
) -> Result<(), Failure> {
    let app = new_app();
    let requests = threads.into_iter().map(move |thread| {
        let messages = (0..THREAD_MESSAGES).map(|number| {
            message(format!(
                "Message {number} of conversation {thread}: order {} has left the warehouse, \
                 and the customer in district {} was told to expect it within {} days.",
                thread * 7_919 + number,
                (thread + number) % 97,
                number % 9 + 1
            ))
        });
        ImportMessagesRequest {
            thread: Some(
                SessionRef {
                    app_id: app.clone(),
                    user_id: format!("user-{}", thread % 500),
                    session_key: format!("session:{thread}"),
                    agent_session_key: String::new(),
                }
                .into(),
            ),
            messages: messages.collect(),
            ..Default::default()
        }
    });
    let requests = tokio_stream::iter(requests);
    let answers = clients.messages.import_messages(requests).await?;
    let mut answers = answers.into_inner();
    while let Some(answer) = answers.next().await {
        match answer?.outcome {
            Some(Outcome::Imported(imported)) => {
                let count = u64::try_from(imported.message_count).unwrap_or_default();
                durable.fetch_add(count, Ordering::Relaxed);
            }
            Some(Outcome::Error(error)) => {
                return Err(format!("import refused: {} {}", error.field, error.message).into());
            }
            None => return Err("import answered without an outcome".into()),
        }
    }
    Ok(())
}
