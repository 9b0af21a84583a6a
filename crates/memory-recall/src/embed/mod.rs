//! Embeds texts.

mod model;
mod vectors;
mod worker;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use memory_contract::TenantId;
use tokio::sync::{mpsc, oneshot};

use crate::config::EmbedderConfig;
use crate::error::RecallError;
use model::Model;
pub(crate) use vectors::TenantText;
use vectors::Vectors;
pub(crate) use worker::describe_metrics;
use worker::{DocumentJob, Documents, Job, Loading, Queries};

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

/// The cosine similarity of two vectors of length 1.
pub(crate) fn dot(one: &[f32], other: &[f32]) -> f32 {
    one.iter()
        .zip(other)
        .map(|(left, right)| left * right)
        .sum()
}

impl Embedder {
    /// Loads the model and starts its threads; `None` for
    /// [`crate::EmbedderKind::None`]. Blocks while the thread for queries loads the model (tenths
    /// of a second, or a download), so call it from a blocking task. The threads for documents
    /// load it afterwards.
    ///
    /// # Errors
    /// [`RecallError::ModelMissing`] for a missing file, [`RecallError::ModelBroken`] for
    /// a model that cannot be loaded, [`RecallError::Config`] for an invalid setting.
    pub fn start(config: &EmbedderConfig) -> Result<Option<Self>, RecallError> {
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
    /// [`RecallError::EmbedderBusy`] when too many queries wait,
    /// [`RecallError::EmbedderTimeout`] past the configured limit,
    /// [`RecallError::EmbedderStopped`], [`RecallError::EmbeddingFailed`].
    pub async fn query(&self, text: &str) -> Result<Vec<f32>, RecallError> {
        self.begin_query(text)?.await
    }

    /// As [`Embedder::query`]; the query waits for its turn already when this returns.
    pub(crate) fn begin_query(
        &self,
        text: &str,
    ) -> Result<impl Future<Output = Result<Vec<f32>, RecallError>> + Send + use<>, RecallError>
    {
        let limit = self.shared.query_timeout;
        let (reply, answer) = oneshot::channel();
        let input = text.to_owned();
        let sent = self.shared.queries.try_send(Job { input, reply });
        sent.map_err(|error| match error {
            mpsc::error::TrySendError::Full(_) => RecallError::EmbedderBusy,
            mpsc::error::TrySendError::Closed(_) => RecallError::EmbedderStopped,
        })?;
        Ok(async move {
            match tokio::time::timeout(limit, answer).await {
                Ok(answer) => answer.map_err(|_| RecallError::EmbedderStopped)?,
                Err(_) => Err(RecallError::EmbedderTimeout { after: limit }),
            }
        })
    }

    /// The beginning of a document, which is all that the model reads.
    pub(crate) fn clip(&self, text: String) -> String {
        self.shared.vectors.clip(text)
    }

    /// Embeds documents as vectors of length 1, in their order.
    ///
    /// # Errors
    /// [`RecallError::EmbedderStopped`], [`RecallError::EmbeddingFailed`].
    pub async fn documents(
        &self,
        texts: Vec<String>,
        urgency: Urgency,
    ) -> Result<Vec<Vec<f32>>, RecallError> {
        let of_none = |text| TenantText { tenant: None, text };
        let texts = texts.into_iter().map(of_none).collect();
        self.tenant_documents(texts, urgency).await
    }

    /// As [`Embedder::documents`]; searches of the same tenants find the vectors for a while.
    pub(crate) async fn tenant_documents(
        &self,
        texts: Vec<TenantText>,
        urgency: Urgency,
    ) -> Result<Vec<Vec<f32>>, RecallError> {
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
        sent.map_err(|_| RecallError::EmbedderStopped)?;
        if urgency == Urgency::Live {
            self.wake_documents();
        }
        answer.await.map_err(|_| RecallError::EmbedderStopped)?
    }

    /// Starts to embed documents of a tenant ahead of all waiting batches, the first ones
    /// first. The receiver ends when all are embedded, or could not be. [`Embedder::known`]
    /// has the vectors of those embedded so far. Without `always`, the others are left out once
    /// the receiver is dropped.
    pub(crate) fn embed_first(
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
    pub(crate) fn known(&self, tenant: &TenantId, text: &str) -> Option<Vec<f32>> {
        self.shared.vectors.get(Some(tenant), text)
    }
}

fn check(config: &EmbedderConfig) -> Result<(), RecallError> {
    for (key, value) in [
        ("embedding.max_length", config.max_length),
        ("embedding.query_threads", config.query_threads),
        ("embedding.document_threads", config.document_threads),
        ("embedding.document_sessions", config.document_sessions),
        ("embedding.batch_size", config.batch_size),
        ("embedding.query_queue", config.query_queue),
    ] {
        if value == 0 {
            return Err(RecallError::Config {
                key,
                problem: "must be 1 or more".to_owned(),
            });
        }
    }
    Ok(())
}
