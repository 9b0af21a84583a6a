//! Text to vectors.

mod model;
mod worker;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};

use crate::config::EmbedderConfig;
use crate::error::RecallError;
use model::Model;
use worker::{Documents, Job, Queries};

/// What a model is called, and the size of its vectors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmbeddingModel {
    /// The name, the precision included, such as `all-minilm-l6-v2-int8`.
    pub name: String,
    /// Numbers in a vector.
    pub dimensions: usize,
}

/// The embedding model on threads of its own: queries on one, documents on
/// another with a lower priority, so that a query never waits behind indexing.
/// Cheap to clone; the threads end with the last clone.
#[derive(Clone)]
pub struct Embedder {
    shared: Arc<Shared>,
}

struct Shared {
    model: EmbeddingModel,
    queries: mpsc::Sender<Job<String, Vec<f32>>>,
    documents: mpsc::Sender<Job<Vec<String>, Vec<Vec<f32>>>>,
    query_timeout: Duration,
}

/// Batches of documents that may wait. Each indexer waits for one at a time.
const DOCUMENT_QUEUE: usize = 16;

impl Embedder {
    /// Loads the model and starts its threads. `None` where the configuration
    /// wants no model. It blocks while the model is loaded (some tenths of a
    /// second, or a download): call it from a blocking task.
    ///
    /// # Errors
    /// [`RecallError::ModelMissing`] where a file is not there,
    /// [`RecallError::ModelBroken`] where it cannot be loaded,
    /// [`RecallError::Config`] where a value cannot be used.
    pub fn start(config: &EmbedderConfig) -> Result<Option<Self>, RecallError> {
        check(config)?;
        let Some(model) = Model::locate(config)? else {
            return Ok(None);
        };
        let (queries, query_jobs) = mpsc::channel(config.query_queue);
        let (documents, document_jobs) = mpsc::channel(DOCUMENT_QUEUE);
        // The runtime is loaded by the first, so one after the other.
        let dimensions = worker::start(
            Queries {
                model: model.clone(),
                threads: config.query_threads,
            },
            query_jobs,
        )?;
        worker::start(
            Documents {
                model: model.clone(),
                threads: config.document_threads,
                batch: config.batch_size,
            },
            document_jobs,
        )?;
        Ok(Some(Self {
            shared: Arc::new(Shared {
                model: EmbeddingModel {
                    name: model.name,
                    dimensions,
                },
                queries,
                documents,
                query_timeout: config.query_timeout,
            }),
        }))
    }

    /// Which model it is.
    pub fn model(&self) -> &EmbeddingModel {
        &self.shared.model
    }

    /// The vector of a query, of length 1.
    ///
    /// # Errors
    /// [`RecallError::EmbedderBusy`] when too many queries wait,
    /// [`RecallError::EmbedderTimeout`] past the configured limit,
    /// [`RecallError::EmbedderStopped`], [`RecallError::EmbeddingFailed`].
    pub async fn query(&self, text: &str) -> Result<Vec<f32>, RecallError> {
        let limit = self.shared.query_timeout;
        let (reply, answer) = oneshot::channel();
        let job = Job {
            input: text.to_owned(),
            reply,
        };
        self.shared
            .queries
            .try_send(job)
            .map_err(|error| match error {
                mpsc::error::TrySendError::Full(_) => RecallError::EmbedderBusy,
                mpsc::error::TrySendError::Closed(_) => RecallError::EmbedderStopped,
            })?;
        match tokio::time::timeout(limit, answer).await {
            Ok(answer) => answer.map_err(|_| RecallError::EmbedderStopped)?,
            Err(_) => Err(RecallError::EmbedderTimeout { after: limit }),
        }
    }

    /// The vectors of documents, in their order, each of length 1.
    ///
    /// # Errors
    /// [`RecallError::EmbedderStopped`], [`RecallError::EmbeddingFailed`].
    pub async fn documents(&self, texts: Vec<String>) -> Result<Vec<Vec<f32>>, RecallError> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let (reply, answer) = oneshot::channel();
        let job = Job {
            input: texts,
            reply,
        };
        self.shared
            .documents
            .send(job)
            .await
            .map_err(|_| RecallError::EmbedderStopped)?;
        answer.await.map_err(|_| RecallError::EmbedderStopped)?
    }
}

fn check(config: &EmbedderConfig) -> Result<(), RecallError> {
    for (key, value) in [
        ("embedding.max_length", config.max_length),
        ("embedding.query_threads", config.query_threads),
        ("embedding.document_threads", config.document_threads),
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
