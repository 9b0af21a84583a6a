//! Recall in a scope with messages that the index does not have, compared with the same
//! recall without any.

use std::time::{Duration, Instant};

use memory_contract::{
    MessageId, NewMessage, Parent, Part, Role, TenantId, ThreadId,
    proto::{MemoryPolicy, RecallRequest, RecallScope, part},
};
use memory_store::{Append, Caller, CountedMessage, Store, StoreConfig, WorkerStore};
use serde::Serialize;

use crate::{
    Failure, Target,
    conversation::Conversation,
    importing, progress,
    service::{Service, new_app},
    stats::{Latencies, Quantiles, rounded},
};

/// Unindexed messages of each user.
const MESSAGES: usize = 20;
/// Queries before the measurement, which fill caches.
const WARM_UP: usize = 20;
/// The indexer looks for changes when a call appends a message, and once a minute. The
/// unindexed messages are appended by this process, which then claims them for
/// [`HOLD`].
const SLEEPING_INDEXER: &str = "[worker.indexer]\npoll_interval = \"1m\"\n";
const HOLD: Duration = Duration::from_secs(3_600);

/// Latencies of the same queries in two copies of the conversations.
#[derive(Serialize)]
pub struct Measured {
    /// With unindexed messages in the scope.
    unindexed: Quantiles,
    /// With all messages indexed.
    indexed: Quantiles,
}

impl Measured {
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
/// both in turn.
pub async fn measure(
    target: &Target,
    conversations: &[Conversation],
    queries: usize,
) -> Result<Measured, Failure> {
    let service = Service::start(target, SLEEPING_INDEXER).await?;
    let mut clients = service.connect().await?;
    let apps = [new_app(), new_app()];
    let mut asked = Vec::new();
    for app in &apps {
        importing::conversations(&mut clients, app, conversations).await?;
        let mut threads = Vec::new();
        for conversation in conversations {
            let newest = conversation.sessions.keys().next_back().unwrap_or(&0);
            let key = format!("session:{}/{newest}", conversation.name);
            threads.push(clients.thread(app, &conversation.name, &key).await?);
        }
        asked.push(threads);
    }
    let config = StoreConfig {
        url: service.database_url.as_deref().ok_or("no database")?.into(),
        ..StoreConfig::default()
    };
    let store = Store::connect(&config).await?;
    for (conversation, thread) in conversations.iter().zip(&asked[0]) {
        append_unindexed(&store, conversation, thread).await?;
    }
    let unindexed = MESSAGES * conversations.len();
    let outbox = WorkerStore::connect(&config).await?;
    let claim = outbox.claim(u32::try_from(unindexed)?, HOLD).await?;
    if claim.jobs.len() != unindexed {
        return Err("the service has indexed messages that it should not know of".into());
    }
    let questions: Vec<(usize, &str)> = conversations
        .iter()
        .enumerate()
        .flat_map(|(place, one)| one.questions.iter().map(move |asked| (place, asked)))
        .map(|(place, question)| (place, question.text.as_str()))
        .collect();
    if questions.is_empty() {
        return Err("the conversations have no questions to recall with".into());
    }

    let bar = progress::count("recalling what is not indexed", (queries + WARM_UP) as u64);
    let mut latencies = [Latencies::new()?, Latencies::new()?];
    for query in 0..queries + WARM_UP {
        let (place, question) = questions[(query * 7) % questions.len()];
        for (threads, latencies) in asked.iter().zip(&mut latencies) {
            let request = RecallRequest {
                target: Some(threads[place].clone().into()),
                query: question.to_owned(),
                policy: Some(MemoryPolicy {
                    scope: RecallScope::User.into(),
                    ..Default::default()
                }),
                ..Default::default()
            };
            let begin = Instant::now();
            let response = clients.recall.recall(request).await?.into_inner();
            let took = begin.elapsed();
            if let Some(degradation) = response.degradations.first() {
                return Err(format!("recall was degraded: {}", degradation.message).into());
            }
            if query >= WARM_UP {
                latencies.add(took);
            }
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    service.stop().await?;
    let [unindexed, indexed] = latencies;
    Ok(Measured {
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
            message: NewMessage {
                id: MessageId::new(),
                caller_chose_id: false,
                external_id: String::new(),
                parent: Parent::Previous,
                role: [Role::User, Role::Assistant][number % 2],
                name: String::new(),
                parts: vec![Part::text(format!("Once more, for note {number}: {text}"))],
                metadata: serde_json::Map::new(),
                created: None,
            },
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
