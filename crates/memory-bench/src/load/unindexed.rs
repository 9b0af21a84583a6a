//! Recall in a scope with messages that the index does not have, compared with the same
//! recall without any.

use std::time::{Duration, Instant};

use memory_contract::{
    TenantId, ThreadId,
    message::{NewMessage, Part, Role},
    proto::part,
};
use memory_store::{Append, Caller, CountedMessage, Store, StoreConfig, WorkerStore};
use serde::Serialize;

use super::recall::recall;
use crate::{
    Failure, Target,
    clients::new_app,
    importing, progress,
    questions::Questions,
    random::Random,
    service::Service,
    stats::{Latencies, Quantiles, rounded},
};
use memory_datasets::Conversation;

/// Unindexed messages of each user.
const MESSAGES: usize = 20;
/// Queries before the measurement, which fill caches.
const WARM_UP: usize = 20;
/// How long this process claims them, so that no worker indexes them.
const HOLD: Duration = Duration::from_secs(3_600);

/// Latencies of the same queries in two copies of the conversations.
#[derive(Serialize)]
pub struct UnindexedFigures {
    /// With unindexed messages in the scope.
    unindexed: Quantiles,
    /// With all messages indexed.
    indexed: Quantiles,
}

impl UnindexedFigures {
    /// The ratio of the medians.
    pub fn ratio(&self) -> f64 {
        rounded(self.unindexed.p50_ms / self.indexed.p50_ms.max(0.001), 2)
    }

    /// A summary in one line.
    pub fn line(&self) -> String {
        format!(
            "p50 {:.2} ms, p95 {:.2} ms with {MESSAGES} unindexed messages; p50 {:.2} ms, p95 {:.2} ms with none; {} queries of each",
            self.unindexed.p50_ms,
            self.unindexed.p95_ms,
            self.indexed.p50_ms,
            self.indexed.p95_ms,
            self.indexed.count
        )
    }
}

/// Imports the conversations twice, adds unindexed messages to one of the copies, and asks
/// both in turn, each in its own order of questions.
pub async fn measure(
    target: &Target,
    conversations: &[Conversation],
    queries: usize,
    random: &mut Random,
) -> Result<UnindexedFigures, Failure> {
    let service = Service::start(target, "").await?;
    let mut clients = service.connect().await?;
    let apps = [new_app(), new_app()];
    let mut threads = Vec::new();
    for app in &apps {
        importing::conversations(&mut clients, app, conversations).await?;
    }
    for conversation in conversations {
        let newest = conversation.sessions.keys().next_back().unwrap_or(&0);
        let key = format!("session:{}/{newest}", conversation.name);
        threads.push(clients.thread(&apps[0], &conversation.name, &key).await?);
    }
    let config = StoreConfig {
        url: service.database_url.as_deref().ok_or("no database")?.into(),
        ..StoreConfig::default()
    };
    let store = Store::connect(&config).await?;
    let workers = WorkerStore::connect(&config).await?;
    // No worker sees the messages before they are claimed.
    let suspended = service.suspend()?;
    for (conversation, thread) in conversations.iter().zip(&threads) {
        append_unindexed(&store, conversation, thread).await?;
    }
    let unindexed = MESSAGES * conversations.len();
    let claim = workers
        .outbox()
        .claim(u32::try_from(unindexed)?, HOLD)
        .await?;
    drop(suspended);
    if claim.jobs.len() != unindexed {
        return Err("the service has indexed messages that it should not know of".into());
    }
    let [first, second] = &apps;
    let sides = [
        Questions::new(&mut clients, first, conversations, random).await?,
        Questions::new(&mut clients, second, conversations, random).await?,
    ];

    let bar = progress::count("recalling what is not indexed", (queries + WARM_UP) as u64);
    let mut latencies = [Latencies::new()?, Latencies::new()?];
    for query in 0..queries + WARM_UP {
        for (questions, latencies) in sides.iter().zip(&mut latencies) {
            let asked = questions.next();
            let begin = Instant::now();
            recall(&mut clients, &asked.thread, asked.question).await?;
            let took = begin.elapsed();
            if query >= WARM_UP {
                latencies.add(took);
            }
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    service.stop().await?;
    let [unindexed, indexed] = latencies;
    Ok(UnindexedFigures {
        unindexed: unindexed.quantiles(),
        indexed: indexed.quantiles(),
    })
}

/// Appends messages like those of the conversation past the service, whose indexer does
/// not notice.
async fn append_unindexed(
    store: &Store,
    conversation: &Conversation,
    thread: &str,
) -> Result<(), Failure> {
    let texts = conversation
        .sessions
        .values()
        .flatten()
        .filter_map(|message| match &message.parts.first()?.content {
            Some(part::Content::Text(text)) => Some(text.as_str()),
            _ => None,
        });
    let messages = texts
        .cycle()
        .take(MESSAGES)
        .enumerate()
        .map(|(number, text)| CountedMessage {
            message: NewMessage::new(
                [Role::User, Role::Assistant][number % 2],
                vec![Part::text(format!("Once more, for note {number}: {text}"))],
            ),
            tokens: 40,
        });
    let append = Append {
        thread: ThreadId::from(uuid::Uuid::parse_str(thread)?),
        messages: messages.collect(),
        request_id: None,
        expected_head: None,
    };
    let caller = Caller::worker(TenantId::new("default"));
    store.messages(&caller).append(&append).await?;
    Ok(())
}
