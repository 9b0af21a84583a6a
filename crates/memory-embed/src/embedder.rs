//! Embeds texts, without blocking.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use memory_contract::TenantId;
use tokio::sync::{mpsc, oneshot};

use crate::config::EmbedderConfig;
use crate::error::EmbedError;
use crate::model::Model;
use crate::vectors::{TenantText, Vectors};
use crate::worker::{self, DocumentJob, Documents, Job, Loading, Queries};

/// The identity of an embedding model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbeddingModel {
    /// Name with the precision, such as `all-minilm-l6-v2-int8`.
    pub name: String,
    /// Dimensions of its vectors.
    pub dimensions: usize,
}

/// An embedding model on threads of its own: one for queries, others of lower priority for
/// documents, so that a query never waits behind indexing. Clones share the threads,
/// which end with the last clone. Dropping that one blocks while a thread loads the model.
#[derive(Clone)]
pub struct Embedder {
    shared: Arc<Shared>,
}

struct Shared {
    model: EmbeddingModel,
    queries: mpsc::Sender<Job<String, Vec<f32>>>,
    documents: mpsc::Sender<DocumentJob>,
    urgent: mpsc::Sender<DocumentJob>,
    vectors: Vectors,
    query_timeout: Duration,
    /// The models that threads for documents load.
    loading: Mutex<Vec<Loading>>,
}

impl Drop for Shared {
    /// Waits for the threads that load a model: a process that ends meanwhile crashes in ONNX
    /// Runtime.
    fn drop(&mut self) {
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

impl Embedder {
    /// Loads the model and starts its threads; `None` for
    /// [`EmbedderKind::None`](crate::EmbedderKind::None). Blocks while the thread for queries loads the model (tenths
    /// of a second, or a download), so call it from a blocking task. The threads for documents
    /// load it afterwards.
    ///
    /// # Errors
    /// [`EmbedError::ModelMissing`] for a missing file, [`EmbedError::ModelBroken`] for
    /// a model that cannot be loaded, [`EmbedError::Config`] for an invalid setting.
    pub fn start(config: &EmbedderConfig) -> Result<Option<Self>, EmbedError> {
        check(config)?;
        let Some(model) = Model::locate(config)? else {
            return Ok(None);
        };
        let vectors = Vectors::new(&model);
        let (queries, query_jobs) = mpsc::channel(config.query_queue);
        let (documents, document_jobs) = mpsc::channel(DOCUMENT_QUEUE);
        let (urgent, urgent_jobs) = mpsc::channel(DOCUMENT_QUEUE);
        let first = worker::start(
            Queries::new(model.clone(), config.query_threads),
            Arc::new(Mutex::new(query_jobs)),
        )?;
        // The first thread also loads the runtime for the others.
        let dimensions = first.dimensions()?;
        let document_jobs = Arc::new(Mutex::new(document_jobs));
        let urgent_jobs = Arc::new(Mutex::new(urgent_jobs));
        let mut loading = Vec::new();
        for _ in 0..config.document_sessions {
            loading.push(worker::start(
                Documents {
                    model: model.clone(),
                    threads: config.document_threads,
                    batch: config.batch_size,
                    vectors: vectors.clone(),
                    urgent: Arc::clone(&urgent_jobs),
                },
                Arc::clone(&document_jobs),
            )?);
        }
        Ok(Some(Self {
            shared: Arc::new(Shared {
                model: EmbeddingModel {
                    name: model.name,
                    dimensions,
                },
                queries,
                documents,
                urgent,
                vectors,
                query_timeout: config.query_timeout,
                loading: Mutex::new(loading),
            }),
        }))
    }

    /// The name and the dimensions of the model.
    pub fn model(&self) -> &EmbeddingModel {
        &self.shared.model
    }

    /// Embeds a query as a vector of length 1.
    ///
    /// # Errors
    /// [`EmbedError::Busy`] when too many queries wait,
    /// [`EmbedError::Timeout`] past the configured limit,
    /// [`EmbedError::Stopped`], [`EmbedError::InferenceFailed`].
    pub async fn query(&self, text: &str) -> Result<Vec<f32>, EmbedError> {
        self.begin_query(text)?.await
    }

    /// As [`Embedder::query`]; the query is in the queue already when this returns.
    ///
    /// # Errors
    /// [`EmbedError::Busy`], [`EmbedError::Stopped`].
    pub fn begin_query(
        &self,
        text: &str,
    ) -> Result<impl Future<Output = Result<Vec<f32>, EmbedError>> + Send + use<>, EmbedError> {
        let limit = self.shared.query_timeout;
        let (reply, answer) = oneshot::channel();
        let input = text.to_owned();
        let sent = self.shared.queries.try_send(Job { input, reply });
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
        self.shared.vectors.clip(text)
    }

    /// Embeds documents as vectors of length 1, in their order.
    ///
    /// # Errors
    /// [`EmbedError::Stopped`], [`EmbedError::InferenceFailed`].
    pub async fn documents(
        &self,
        texts: Vec<String>,
        urgency: Urgency,
    ) -> Result<Vec<Vec<f32>>, EmbedError> {
        let of_none = |text| TenantText { tenant: None, text };
        let texts = texts.into_iter().map(of_none).collect();
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
            Urgency::Live => &self.shared.urgent,
            Urgency::Bulk => &self.shared.documents,
        };
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
        let embedded = self.shared.vectors.request(texts, always);
        self.wake_documents();
        embedded
    }

    /// Wakes a thread for documents. If there is no room, all are busy or load the model, and
    /// look for what comes first before each batch.
    fn wake_documents(&self) {
        let (reply, _) = oneshot::channel();
        let _ = self.shared.documents.try_send(Job {
            input: Vec::new(),
            reply,
        });
    }

    /// The vector of a tenant's document that was embedded recently.
    pub fn known(&self, tenant: &TenantId, text: &str) -> Option<Vec<f32>> {
        self.shared.vectors.get(Some(tenant), text)
    }
}

fn check(config: &EmbedderConfig) -> Result<(), EmbedError> {
    for (key, value) in [
        ("embedding.max_length", config.max_length),
        ("embedding.query_threads", config.query_threads),
        ("embedding.document_threads", config.document_threads),
        ("embedding.document_sessions", config.document_sessions),
        ("embedding.batch_size", config.batch_size),
        ("embedding.query_queue", config.query_queue),
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
