//! Recall, compared with its floor: one query embedding, one raw index query and one raw
//! read of a recent window.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use memory_contract::{
    MessageFilter, TenantId, ThreadId,
    proto::{
        BuildContextRequest, ListThreadsRequest, MemoryMode, MemoryPolicy, Part, ProviderFormat,
        RecallRequest, RecallScope, UserRef, part,
    },
};
use memory_recall::{
    Embedder, EmbedderConfig, Index, IndexConfig, IndexSchema, LexicalVector, Search, Selection,
    open_index,
};
use memory_store::{Caller, Scope, Store, StoreConfig};
use serde::Serialize;

use crate::{
    Failure,
    conversation::Conversation,
    progress,
    service::Service,
    stats::{Latencies, Quantiles, rounded},
};

/// Queries before the measurement, which fill caches.
const WARM_UP: usize = 20;
/// Candidates of each kind in the raw index query, as recall asks for.
const CANDIDATES: usize = 200;
/// Messages in the raw window read, as recall's default.
const WINDOW: u32 = 4;
/// The system prompt of a context.
const SYSTEM_PROMPT: &str = "You answer with what you know of the people you talk to.";

/// Latencies of recall and of its indispensable parts.
#[derive(Serialize)]
pub struct Measured {
    /// The whole call, through gRPC.
    pub recall: Quantiles,
    /// A whole context for the same question, likewise: a window and matches.
    context_hybrid: Quantiles,
    /// The newest messages alone.
    context_window: Quantiles,
    floor: Option<Floor>,
}

#[derive(Serialize)]
struct Floor {
    query_embedding: Quantiles,
    index_query: Quantiles,
    window_read: Quantiles,
}

impl Measured {
    /// The ratio of the call's median to the sum of the floor's medians.
    pub fn p50_ratio_to_floor(&self) -> Option<f64> {
        let floor = self.floor.as_ref()?;
        Some(rounded(self.recall.p50_ms / floor.p50_ms().max(0.001), 2))
    }

    /// The ratio of a HYBRID context's median to that of its recall.
    pub fn p50_ratio_of_context(&self) -> f64 {
        rounded(
            self.context_hybrid.p50_ms / self.recall.p50_ms.max(0.001),
            2,
        )
    }

    /// A summary in one line.
    pub fn line(&self) -> String {
        let recall = format!(
            "p50 {:.2} ms, p95 {:.2} ms over {} queries",
            self.recall.p50_ms, self.recall.p95_ms, self.recall.count
        );
        let Some(floor) = &self.floor else {
            return recall;
        };
        format!(
            "{recall}; floor p50 {:.2} ms (query embedding {:.2}, index query {:.2}, window read {:.2})",
            floor.p50_ms(),
            floor.query_embedding.p50_ms,
            floor.index_query.p50_ms,
            floor.window_read.p50_ms
        )
    }

    /// A summary of the contexts in one line.
    pub fn contexts_line(&self) -> String {
        format!(
            "HYBRID p50 {:.2} ms, p95 {:.2} ms; WINDOW p50 {:.2} ms, p95 {:.2} ms; {} of each",
            self.context_hybrid.p50_ms,
            self.context_hybrid.p95_ms,
            self.context_window.p50_ms,
            self.context_window.p95_ms,
            self.context_hybrid.count
        )
    }
}

impl Floor {
    fn p50_ms(&self) -> f64 {
        self.query_embedding.p50_ms + self.index_query.p50_ms + self.window_read.p50_ms
    }
}

/// The parts of the floor, in this process.
struct Bare {
    embedder: Embedder,
    index: std::sync::Arc<dyn Index>,
    store: Store,
    tenant: TenantId,
}

/// Asks the conversations' questions, each through the service and, with a copy
/// of the service's index directory, bare.
pub async fn measure(
    service: &Service,
    index_copy: Option<&Path>,
    app: &str,
    conversations: &[Conversation],
    queries: usize,
) -> Result<Measured, Failure> {
    let bare = match (index_copy, &service.database_url) {
        (Some(index), Some(url)) => Some(Bare::open(index, url).await?),
        _ => None,
    };
    let mut clients = service.connect().await?;
    let mut asked = Vec::new();
    for conversation in conversations {
        let threads = clients
            .threads
            .list_threads(ListThreadsRequest {
                scope: Some(
                    UserRef {
                        app_id: app.to_owned(),
                        user_id: conversation.name.clone(),
                    }
                    .into(),
                ),
                ..Default::default()
            })
            .await?
            .into_inner();
        let newest = threads.threads.into_iter().next().ok_or("no thread")?;
        for question in &conversation.questions {
            asked.push((newest.clone(), question.text.clone()));
        }
    }
    if asked.is_empty() {
        return Err("the conversations have no questions to recall with".into());
    }

    let bar = progress::count("recalling", (queries + WARM_UP) as u64);
    let mut recall = Latencies::new()?;
    let mut contexts = [Latencies::new()?, Latencies::new()?];
    let mut parts = [Latencies::new()?, Latencies::new()?, Latencies::new()?];
    for query in 0..queries + WARM_UP {
        let (thread, question) = &asked[(query * 7) % asked.len()];
        if let Some(bare) = &bare {
            let took = bare
                .ask(&thread.thread_id, &thread.app_id, &thread.user_id, question)
                .await?;
            if query >= WARM_UP {
                for (latencies, took) in parts.iter_mut().zip(took) {
                    latencies.add(took);
                }
            }
        }
        let request = RecallRequest {
            target: Some(thread.thread_id.clone().into()),
            query: question.clone(),
            policy: Some(MemoryPolicy {
                scope: RecallScope::User.into(),
                ..Default::default()
            }),
            ..Default::default()
        };
        let begin = Instant::now();
        let response = clients.recall.recall(request).await?.into_inner();
        if query >= WARM_UP {
            recall.add(begin.elapsed());
        }
        if let Some(degradation) = response.degradations.first() {
            return Err(format!("recall was degraded: {}", degradation.message).into());
        }
        for (mode, latencies) in [MemoryMode::Hybrid, MemoryMode::Window]
            .into_iter()
            .zip(&mut contexts)
        {
            let request = context_request(&thread.thread_id, question, mode);
            let begin = Instant::now();
            clients.contexts.build_context(request).await?;
            if query >= WARM_UP {
                latencies.add(begin.elapsed());
            }
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    if let Some(bare) = &bare {
        bare.index.stop().await;
    }
    let [embedding, index, window] = parts;
    let [hybrid, windowed] = contexts;
    Ok(Measured {
        recall: recall.quantiles(),
        context_hybrid: hybrid.quantiles(),
        context_window: windowed.quantiles(),
        floor: bare.is_some().then(|| Floor {
            query_embedding: embedding.quantiles(),
            index_query: index.quantiles(),
            window_read: window.quantiles(),
        }),
    })
}

fn context_request(thread_id: &str, question: &str, mode: MemoryMode) -> BuildContextRequest {
    BuildContextRequest {
        thread: Some(thread_id.to_owned().into()),
        system_prompt: SYSTEM_PROMPT.to_owned(),
        input: vec![Part {
            content: Some(part::Content::Text(question.to_owned())),
            ..Default::default()
        }],
        policy: Some(MemoryPolicy {
            mode: mode.into(),
            scope: RecallScope::User.into(),
            ..Default::default()
        }),
        formats: vec![ProviderFormat::OpenaiChat.into()],
        ..Default::default()
    }
}

impl Bare {
    async fn open(index: &Path, url: &str) -> Result<Self, Failure> {
        let embedder = tokio::task::spawn_blocking(|| Embedder::start(&EmbedderConfig::default()))
            .await??
            .ok_or("no embedding model")?;
        let config = IndexConfig {
            path: Some(index.to_owned()),
            ..IndexConfig::default()
        };
        let schema = IndexSchema::new(&config.alias, Some(embedder.model()));
        let index = open_index(&config, schema)?;
        index.prepare().await?;
        let store = Store::connect(&StoreConfig {
            url: url.into(),
            ..StoreConfig::default()
        })
        .await?;
        Ok(Self {
            embedder,
            index,
            store,
            tenant: TenantId::new("default"),
        })
    }

    /// The time of each of the three parts for one question.
    async fn ask(
        &self,
        thread: &str,
        app: &str,
        user: &str,
        question: &str,
    ) -> Result<[Duration; 3], Failure> {
        let begin = Instant::now();
        let dense = self.embedder.query(question).await?;
        let embedding = begin.elapsed();

        let scope = Scope::User {
            app: memory_contract::AppId::new(app),
            user: memory_contract::UserId::new(user),
        };
        let begin = Instant::now();
        let found = self
            .index
            .search(Search {
                selection: Selection::new(&self.tenant, &scope, &MessageFilter::default()),
                dense: Some(dense),
                lexical: Some(LexicalVector::of_query(question)),
                limit: CANDIDATES,
            })
            .await?;
        let search = begin.elapsed();
        if found.dense.is_empty() {
            return Err("the copy of the index holds nothing".into());
        }

        let thread = ThreadId::from(uuid::Uuid::parse_str(thread)?);
        let begin = Instant::now();
        self.store
            .messages(&Caller::worker(self.tenant.clone()))
            .recent(thread, WINDOW)
            .await?;
        Ok([embedding, search, begin.elapsed()])
    }
}
