//! The floor of recall: one query embedding, one raw index query and one raw read of a
//! recent window, in this process.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use memory_contract::{TenantId, ThreadId, message::MessageFilter};
use memory_embed::Embedder;
use memory_index::{Index, IndexConfig, IndexSchema, Search, Selection, open_index};
use memory_store::{Caller, Scope, Store, StoreConfig};
use memory_text::lexical_query;

use crate::{
    Failure,
    blocks::Block,
    embedding::embedding,
    questions::{Asked, Questions},
    stats::Latencies,
};

/// Candidates of each kind in the raw index query, as recall asks for.
const CANDIDATES: usize = 200;
/// Messages in the raw window read, as recall's default.
const WINDOW: u32 = 4;
/// Questions before a block, which fill caches that other blocks evicted.
const WARM_UP: usize = 8;

/// The parts of the floor.
pub struct Floor {
    embedder: Embedder,
    index: Arc<dyn Index>,
    store: Store,
    app: String,
}

/// The names of the floor's parts, in the order of [`FloorBlock::parts`].
pub const PARTS: [&str; 3] = ["query embedding", "index query", "window read"];

/// What one block measured.
pub struct FloorBlock {
    /// The sum of the parts of each question.
    pub sum: Block,
    /// Each part.
    pub parts: [Block; 3],
}

impl Floor {
    /// Opens the parts: the same model file, this index, the same database.
    pub async fn open(config: &IndexConfig, url: &str, app: &str) -> Result<Self, Failure> {
        let embedder = tokio::task::spawn_blocking(|| Embedder::start(&embedding()))
            .await??
            .ok_or("no embedding model")?;
        let schema = IndexSchema::new(&config.alias, Some(embedder.model()));
        let index = open_index(config, schema)?;
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
            app: app.to_owned(),
        })
    }

    /// Asks one question after the other for a while.
    pub async fn block(
        &self,
        questions: &Questions,
        length: Duration,
    ) -> Result<FloorBlock, Failure> {
        for _ in 0..WARM_UP {
            self.ask(&questions.next()).await?;
        }
        let mut sum = Latencies::new()?;
        let mut parts = [Latencies::new()?, Latencies::new()?, Latencies::new()?];
        let begin = Instant::now();
        while begin.elapsed() < length {
            let took = self.ask(&questions.next()).await?;
            sum.add(took.iter().sum());
            for (latencies, took) in parts.iter_mut().zip(took) {
                latencies.add(took);
            }
        }
        let elapsed = begin.elapsed();
        Ok(FloorBlock {
            sum: Block::new(sum, elapsed),
            parts: parts.map(|part| Block::new(part, elapsed)),
        })
    }

    /// Closes the index.
    pub async fn close(&self) {
        self.index.stop().await;
    }

    /// The time of each of the parts for one question.
    async fn ask(&self, asked: &Asked) -> Result<[Duration; 3], Failure> {
        let tenant = TenantId::new("default");
        let begin = Instant::now();
        let dense = self.embedder.query(&asked.question).await?;
        let embedding = begin.elapsed();

        let scope = Scope::User {
            app: memory_contract::AppId::new(&self.app),
            user: memory_contract::UserId::new(&asked.user),
        };
        let begin = Instant::now();
        let found = self
            .index
            .search(Search {
                selection: Selection::new(&tenant, &scope, &MessageFilter::default()),
                dense: Some(dense),
                lexical: Some(lexical_query(&asked.question, &[])),
                limit: CANDIDATES,
            })
            .await?;
        let search = begin.elapsed();
        if found.dense.is_empty() {
            return Err("the index of the floor holds nothing".into());
        }

        let thread = ThreadId::from(uuid::Uuid::parse_str(&asked.thread)?);
        let begin = Instant::now();
        self.store
            .messages(&Caller::worker(tenant))
            .recent(thread, WINDOW)
            .await?;
        Ok([embedding, search, begin.elapsed()])
    }
}
