//! Embeds texts, without blocking.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use memory_contract::TenantId;
use tokio::runtime::Handle;
use tokio::sync::{OnceCell, mpsc, oneshot, watch};

use crate::baseline::Baseline;
use crate::config::{EmbedderConfig, EmbedderKind};
use crate::endpoint::Endpoint;
use crate::engine::Engine;
use crate::error::EmbedError;
use crate::input::{Input, Length};
use crate::model::{Model, max_length};
use crate::profile::{Profile, profile};
use crate::usage::{EmbeddingUsage, UsageCounter};
use crate::vectors::{TenantText, TextKey, Vectors};
use crate::worker::{self, DocumentJob, Documents, Job, Jobs, Loader, Loading, Queries};

/// The identity of an embedding model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbeddingModel {
    /// Name with the precision, such as `all-minilm-l6-v2-int8`, or for a model behind an endpoint
    /// with the dimensions, such as `text-embedding-3-small-1536`.
    pub name: String,
    /// Dimensions of its vectors.
    pub dimensions: usize,
}

/// An embedding model. One of this process runs on threads of its own: one for queries, others of
/// lower priority for documents, so that a query never waits behind indexing. One behind an endpoint
/// is asked by tasks, several for queries and several for documents. Clones share both, which end
/// with the last clone. Dropping that one blocks while a thread loads the model.
#[derive(Clone)]
pub struct Embedder {
    shared: Arc<Shared>,
}

struct Shared {
    model: EmbeddingModel,
    profile: Profile,
    queues: Queues,
    query_timeout: Duration,
    threads: Threads,
    /// Batches of documents that are embedded or wait.
    batches: AtomicUsize,
    baseline: OnceCell<Option<Baseline>>,
    /// What an endpoint has charged.
    usage: UsageCounter,
}

/// What waits for a worker.
struct Queues {
    queries: mpsc::Sender<Job<TenantText, Vec<f32>>>,
    documents: mpsc::Sender<DocumentJob>,
    urgent: mpsc::Sender<DocumentJob>,
    vectors: Vectors,
}

/// The other ends of the queues.
struct Waiting {
    queries: Jobs<TenantText, Vec<f32>>,
    batches: Jobs<Vec<TenantText>, Vec<Vec<f32>>>,
    documents: Documents,
}

/// The threads of a local model.
#[derive(Default)]
struct Threads {
    /// How many threads for documents have a use.
    wanted: Option<watch::Sender<usize>>,
    /// The models that threads for documents load.
    loading: Mutex<Vec<Loading>>,
}

impl Drop for Threads {
    /// Waits for the threads that load a model: a process that ends meanwhile crashes in ONNX
    /// Runtime.
    fn drop(&mut self) {
        // Ends the threads that have not begun to load.
        self.wanted = None;
        let loading = self.loading.get_mut();
        for loading in loading.unwrap_or_else(PoisonError::into_inner).drain(..) {
            // Its thread has logged an error.
            let _ = loading.dimensions();
        }
    }
}

/// How soon documents are to be embedded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Urgency {
    /// Before all documents of imports and rebuilds, also those being embedded.
    Live,
    /// After all others.
    Bulk,
}

/// Batches of documents of each urgency that may wait; a further caller waits for room.
const DOCUMENT_QUEUE: usize = 16;
/// Tokens of a text that a model behind an endpoint reads, if its length is not known.
const UNKNOWN_LENGTH: usize = 512;

impl Embedder {
    /// Opens the model and starts its workers; `None` for
    /// [`EmbedderKind::None`](crate::EmbedderKind::None). Call it from a blocking task of the
    /// runtime: it blocks while the thread for queries loads the model (tenths of a second, or a
    /// download), and for up to 30 seconds while an endpoint does not answer. The threads for
    /// documents load the model afterwards, each once as many batches are embedded at the same
    /// time.
    ///
    /// # Errors
    /// [`EmbedError::ModelMissing`] for a missing file, [`EmbedError::ModelBroken`] for
    /// a model that cannot be loaded, [`EmbedError::Config`] for an invalid setting, and for
    /// dimensions that are neither set nor known nor answered by the endpoint.
    pub fn start(config: &EmbedderConfig) -> Result<Option<Self>, EmbedError> {
        check(config)?;
        match config.kind {
            EmbedderKind::None => Ok(None),
            EmbedderKind::Local | EmbedderKind::Hub => Self::start_local(config).map(Some),
            EmbedderKind::OpenaiCompatible => Self::start_endpoint(config).map(Some),
        }
    }

    fn start_local(config: &EmbedderConfig) -> Result<Self, EmbedError> {
        let model = Model::locate(config)?;
        let length = Length::Tokenized(max_length(config));
        let input = Input::new(config, &profile(&config.model), length);
        let (queues, waiting) = queues(config, &input);
        let loader = |threads| Loader {
            model: model.clone(),
            input: input.clone(),
            threads,
        };
        let wanted = watch::Sender::new(1);
        let first = worker::start(
            Queries::new(),
            loader(config.query_threads),
            waiting.queries,
            wanted.subscribe(),
            1,
        )?;
        // The first thread also loads the runtime for the others.
        let dimensions = first.dimensions()?;
        let mut loading = Vec::new();
        for rank in 1..=config.document_sessions {
            loading.push(worker::start(
                waiting.documents.clone(),
                loader(config.document_threads),
                Arc::clone(&waiting.batches),
                wanted.subscribe(),
                rank,
            )?);
        }
        let model = EmbeddingModel {
            name: model.name,
            dimensions,
        };
        let threads = Threads {
            wanted: Some(wanted),
            loading: Mutex::new(loading),
        };
        Ok(Self::new(
            config,
            model,
            queues,
            threads,
            UsageCounter::default(),
        ))
    }

    fn start_endpoint(config: &EmbedderConfig) -> Result<Self, EmbedError> {
        let runtime = Handle::try_current().map_err(|error| EmbedError::ModelBroken {
            model: config.model.clone(),
            source: error.into(),
        })?;
        let profile = profile(&config.model);
        let endpoint = Arc::new(runtime.block_on(Endpoint::open(config, &profile))?);
        let length = match config.max_length {
            0 => profile.max_length.unwrap_or(UNKNOWN_LENGTH),
            set => set,
        };
        let input = Input::new(config, &profile, Length::Estimated(length));
        let (queues, waiting) = queues(config, &input);
        let engine =
            || Engine::of_endpoint(config.model.clone(), input.clone(), Arc::clone(&endpoint));
        for _ in 0..config.calls.max_queries {
            let queries = Arc::clone(&waiting.queries);
            worker::spawn(&runtime, Queries::new(), engine(), queries);
        }
        for _ in 0..config.document_sessions {
            let batches = Arc::clone(&waiting.batches);
            worker::spawn(&runtime, waiting.documents.clone(), engine(), batches);
        }
        let dimensions = endpoint.dimensions();
        let model = EmbeddingModel {
            // Vectors of the same model may be shortened.
            name: format!("{}-{dimensions}", config.model),
            dimensions,
        };
        let usage = endpoint.usage();
        Ok(Self::new(config, model, queues, Threads::default(), usage))
    }

    fn new(
        config: &EmbedderConfig,
        model: EmbeddingModel,
        queues: Queues,
        threads: Threads,
        usage: UsageCounter,
    ) -> Self {
        Self {
            shared: Arc::new(Shared {
                model,
                profile: profile(&config.model),
                queues,
                query_timeout: config.query_timeout,
                threads,
                batches: AtomicUsize::new(0),
                baseline: OnceCell::new(),
                usage,
            }),
        }
    }

    /// What the endpoint has charged by tenant since the last call; empty for a model of this
    /// process. Add again what could not be stored, by [`Embedder::add_usage`].
    pub fn take_usage(&self) -> HashMap<TenantId, EmbeddingUsage> {
        self.shared.usage.take()
    }

    /// Adds to what the next [`Embedder::take_usage`] returns.
    pub fn add_usage(&self, tenant: TenantId, usage: EmbeddingUsage) {
        self.shared.usage.add(tenant, usage);
    }

    /// The name and the dimensions of the model.
    pub fn model(&self) -> &EmbeddingModel {
        &self.shared.model
    }

    /// How long a query may take.
    pub fn query_timeout(&self) -> Duration {
        self.shared.query_timeout
    }

    /// Whether the model runs in this process.
    pub fn is_local(&self) -> bool {
        self.shared.threads.wanted.is_some()
    }

    /// The languages that the model is known to cover, such as `English`; empty if not known.
    pub fn languages(&self) -> &'static str {
        self.shared.profile.languages
    }

    /// How similar the model finds unrelated texts; `None` if it finds all equally similar. The first
    /// call embeds some texts for it (tenths of a second).
    ///
    /// # Errors
    /// As [`Embedder::documents`]; the next call tries again.
    pub async fn baseline(&self) -> Result<Option<&Baseline>, EmbedError> {
        let embed = async || {
            let vectors = self.documents(Baseline::texts(), Urgency::Live).await?;
            Ok(Baseline::new(&vectors))
        };
        let baseline = self.shared.baseline.get_or_try_init(embed).await?;
        Ok(baseline.as_ref())
    }

    /// Embeds a query as a vector of length 1.
    ///
    /// # Errors
    /// [`EmbedError::Busy`] when too many queries wait,
    /// [`EmbedError::Timeout`] past the configured limit,
    /// [`EmbedError::Stopped`], [`EmbedError::InferenceFailed`], [`EmbedError::Endpoint`].
    pub async fn query(&self, text: impl Into<TenantText>) -> Result<Vec<f32>, EmbedError> {
        self.begin_query(text.into())?.await
    }

    /// As [`Embedder::query`]; the query is in the queue already when this returns.
    ///
    /// # Errors
    /// [`EmbedError::Busy`], [`EmbedError::Stopped`].
    pub fn begin_query(
        &self,
        text: TenantText,
    ) -> Result<impl Future<Output = Result<Vec<f32>, EmbedError>> + Send + use<>, EmbedError> {
        let limit = self.shared.query_timeout;
        let (reply, answer) = oneshot::channel();
        let sent = self
            .shared
            .queues
            .queries
            .try_send(Job { input: text, reply });
        sent.map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => EmbedError::Busy,
            mpsc::error::TrySendError::Closed(_) => EmbedError::Stopped,
        })?;
        Ok(async move {
            match tokio::time::timeout(limit, answer).await {
                Ok(answer) => answer.map_err(|_| EmbedError::Stopped)?,
                Err(_) => Err(EmbedError::Timeout { after: limit }),
            }
        })
    }

    /// The beginning of a document, which is all that the model reads.
    pub fn clip(&self, text: String) -> String {
        self.shared.queues.vectors.clip(text)
    }

    /// The passages of a long document after the first one, at most `most`, of up to 128 tokens each.
    /// The vector of the document stands for its beginning.
    pub fn later_passages(&self, document: &str, most: usize) -> Vec<String> {
        self.shared.queues.vectors.later_passages(document, most)
    }

    /// Embeds documents as vectors of length 1, in their order.
    ///
    /// # Errors
    /// [`EmbedError::Stopped`], [`EmbedError::InferenceFailed`], [`EmbedError::Endpoint`].
    pub async fn documents(
        &self,
        texts: Vec<String>,
        urgency: Urgency,
    ) -> Result<Vec<Vec<f32>>, EmbedError> {
        let texts = texts.into_iter().map(TenantText::from).collect();
        self.tenant_documents(texts, urgency).await
    }

    /// As [`Embedder::documents`]; searches of the same tenants find the vectors for a while.
    ///
    /// # Errors
    /// As [`Embedder::documents`].
    pub async fn tenant_documents(
        &self,
        texts: Vec<TenantText>,
        urgency: Urgency,
    ) -> Result<Vec<Vec<f32>>, EmbedError> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let (reply, answer) = oneshot::channel();
        let job = Job {
            input: texts,
            reply,
        };
        let queue = match urgency {
            Urgency::Live => &self.shared.queues.urgent,
            Urgency::Bulk => &self.shared.queues.documents,
        };
        let _counted = self.shared.count_batch();
        let sent = queue.send(job).await;
        sent.map_err(|_| EmbedError::Stopped)?;
        if urgency == Urgency::Live {
            self.wake_documents();
        }
        answer.await.map_err(|_| EmbedError::Stopped)?
    }

    /// Starts to embed documents of a tenant ahead of all waiting batches, the first ones
    /// first. The receiver ends when all are embedded, or could not be. [`Embedder::known`]
    /// has the vectors of those embedded so far. Without `always`, the others are left out once
    /// the receiver is dropped.
    pub fn embed_first(
        &self,
        tenant: &TenantId,
        texts: Vec<String>,
        always: bool,
    ) -> oneshot::Receiver<()> {
        let of_tenant = |text| TenantText {
            tenant: Some(tenant.clone()),
            text,
        };
        let texts = texts.into_iter().map(of_tenant).collect();
        let embedded = self.shared.queues.vectors.request(texts, always);
        self.wake_documents();
        embedded
    }

    /// Wakes a thread for documents. If there is no room, all are busy or load the model, and
    /// look for what comes first before each batch.
    fn wake_documents(&self) {
        let (reply, _) = oneshot::channel();
        let _ = self.shared.queues.documents.try_send(Job {
            input: Vec::new(),
            reply,
        });
    }

    /// Identifies a document of a tenant for [`Embedder::known`].
    pub fn text_key(&self, tenant: &TenantId, text: &str) -> TextKey {
        self.shared.queues.vectors.key(Some(tenant), text)
    }

    /// The vector of a document that was embedded recently.
    pub fn known(&self, key: &TextKey) -> Option<Vec<f32>> {
        self.shared.queues.vectors.get(key)
    }
}

impl Shared {
    /// Counts a batch of documents until the result is dropped, and wants a thread for each.
    fn count_batch(&self) -> impl Drop + '_ {
        struct Counted<'a>(&'a AtomicUsize);
        impl Drop for Counted<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::Relaxed);
            }
        }
        let batches = self.batches.fetch_add(1, Ordering::Relaxed) + 1;
        if let Some(wanted) = &self.threads.wanted {
            wanted.send_if_modified(|wanted| {
                let more = batches > *wanted;
                *wanted = batches.max(*wanted);
                more
            });
        }
        Counted(&self.batches)
    }
}

fn queues(config: &EmbedderConfig, input: &Input) -> (Queues, Waiting) {
    let vectors = Vectors::new(input.clone());
    let (queries, query_jobs) = mpsc::channel(config.query_queue);
    let (documents, document_jobs) = mpsc::channel(DOCUMENT_QUEUE);
    let (urgent, urgent_jobs) = mpsc::channel(DOCUMENT_QUEUE);
    let shared = |jobs| Arc::new(tokio::sync::Mutex::new(jobs));
    let waiting = Waiting {
        queries: Arc::new(tokio::sync::Mutex::new(query_jobs)),
        batches: shared(document_jobs),
        documents: Documents {
            batch: config.documents_at_once(),
            vectors: vectors.clone(),
            urgent: shared(urgent_jobs),
        },
    };
    let queues = Queues {
        queries,
        documents,
        urgent,
        vectors,
    };
    (queues, waiting)
}

fn check(config: &EmbedderConfig) -> Result<(), EmbedError> {
    for (key, value) in [
        ("embedding.query_threads", config.query_threads),
        ("embedding.document_threads", config.document_threads),
        ("embedding.document_sessions", config.document_sessions),
        ("embedding.query_queue", config.query_queue),
        ("embedding.calls.max_queries", config.calls.max_queries),
        ("embedding.calls.max_attempts", config.calls.max_attempts),
    ] {
        if value == 0 {
            return Err(EmbedError::Config {
                key,
                problem: "must be 1 or more".to_owned(),
            });
        }
    }
    Ok(())
}
