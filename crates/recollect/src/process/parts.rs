//! Opens the parts of a server: store, index, models, objects.

use std::sync::Arc;
use std::time::Duration;

use memory_api::Health;
use memory_budget::Tokenizer;
use memory_distill::Distiller;
use memory_objects::{Objects, ObjectsConfig, ObjectsError};
use memory_recall::{
    Backend, Embedder, Index, IndexSchema, IndexState, Indexer, IndexerHandle, Recall, RecallError,
    UnavailableIndex, open_index,
};
use memory_store::{Keyring, Secrets, Store, StoreConfig, StoreError, WorkerStore, error_chain};
use memory_worker::TokenBudget;
use tokio::time::sleep;

use super::{Roles, ServerError};
use crate::config::{Config, ConfigError};

/// How long the start waits for an index before it continues without one.
const INDEX_START_TIMEOUT: Duration = Duration::from_secs(1);

/// The opened parts of a server.
pub(super) struct Parts {
    pub(super) store: Store,
    pub(super) outbox: Option<WorkerStore>,
    pub(super) index: Arc<dyn Index>,
    pub(super) embedder: Option<Embedder>,
    pub(super) recall: Recall,
    /// The worker that has yet to run.
    pub(super) indexer: Option<Indexer>,
    pub(super) indexer_handle: Option<IndexerHandle>,
    /// Summarizes, observes and extracts.
    pub(super) distiller: Arc<Distiller>,
    pub(super) secrets: Secrets,
}

/// Opens everything; the slow parts at the same time.
pub(super) async fn open(
    config: &Config,
    roles: Roles,
    health: &Health,
) -> Result<Parts, ServerError> {
    let keyring = keyring(config)?;
    let embedding = config.embedding.clone();
    let loading = tokio::task::spawn_blocking(move || Embedder::start(&embedding));
    // The first count would take a tenth of a second otherwise.
    let warming = tokio::task::spawn_blocking(|| Tokenizer::O200kBase.warm());
    let database = StoreConfig {
        policy: Arc::new(config.policy.policy()?),
        ..config.database.clone()
    };
    let (store, outbox) =
        tokio::try_join!(Store::connect(&database), connect(roles.worker, &database))
            .map_err(store_error)?;
    let store = store
        .with_cache(&config.cache)
        .with_ephemeral(&config.ephemeral)
        .with_long_term_memory(config.memories.enabled)
        .with_objects(objects(&config.objects)?);
    let loaded = loading
        .await
        .map_err(|error| ended("loading the model", &error))?;
    warming
        .await
        .map_err(|error| ended("loading the tokenizer", &error))?;

    let (embedder, index) = match loaded {
        Ok(embedder) => {
            let schema =
                IndexSchema::new(&config.index.alias, embedder.as_ref().map(Embedder::model));
            let index = open_index(&config.index, schema).map_err(index_error)?;
            if let (true, Some(outbox)) = (config.uses_embedded_index(), &outbox) {
                // The index is locked, so no other worker lives: what one that
                // was killed had claimed need not wait for its lease.
                outbox.end_leases().await.map_err(store_error)?;
                outbox.end_distill_leases().await.map_err(store_error)?;
                outbox.end_erasure_leases().await.map_err(store_error)?;
            }
            (embedder, index)
        }
        // Without its model an index cannot be searched by meaning, and what a
        // worker wrote into it now it would never learn again: it is left
        // alone until the model is back.
        Err(error) => {
            let reason = missing_model(error)?;
            health.flaw("model", reason.clone());
            let backend = if config.uses_embedded_index() {
                Backend::Edge
            } else {
                Backend::Qdrant
            };
            let index: Arc<dyn Index> = Arc::new(UnavailableIndex::new(backend, reason));
            return assemble(config, store, keyring, outbox, None, index, false);
        }
    };
    assemble(
        config,
        store,
        keyring,
        outbox,
        embedder,
        index,
        roles.worker,
    )
}

/// Waits a moment for the index, so that a server that is fine does not begin
/// as degraded.
pub(super) async fn wait_for(index: &Arc<dyn Index>) {
    let step = Duration::from_millis(10);
    let mut waited = Duration::ZERO;
    while index.last_state() == IndexState::Unavailable && waited < INDEX_START_TIMEOUT {
        sleep(step).await;
        waited += step;
    }
}

fn assemble(
    config: &Config,
    store: Store,
    keyring: Keyring,
    outbox: Option<WorkerStore>,
    embedder: Option<Embedder>,
    index: Arc<dyn Index>,
    works: bool,
) -> Result<Parts, ServerError> {
    let indexer = outbox.as_ref().filter(|_| works).map(|outbox| {
        Indexer::new(
            store.clone(),
            outbox.clone(),
            Arc::clone(&index),
            embedder.clone(),
            config.worker.indexer.clone(),
        )
    });
    let indexer_handle = indexer.as_ref().map(Indexer::handle);
    let recall = Recall::new(
        store.clone(),
        Arc::clone(&index),
        embedder.clone(),
        indexer_handle.clone(),
        config.recall.clone(),
    );
    Ok(Parts {
        distiller: distiller(config, &store)?,
        secrets: Secrets::new(store.clone(), keyring),
        store,
        outbox,
        index,
        embedder,
        recall,
        indexer,
        indexer_handle,
    })
}

/// Opens the models without calling them: the server starts even if one does not answer.
fn distiller(config: &Config, store: &Store) -> Result<Arc<Distiller>, ServerError> {
    let distill = &config.distill;
    let longest = distill.calls.total_timeout;
    let budget = TokenBudget::new(store.clone(), distill.daily_token_budget, longest);
    // Sentences are compared by their words: vectors would compete with indexing,
    // and make what is kept depend on how busy the machine is.
    Distiller::open("distill", distill, Arc::new(budget), None)
        .map(Arc::new)
        .map_err(|error| config_error(&error.key, error.problem))
}

async fn connect(works: bool, config: &StoreConfig) -> Result<Option<WorkerStore>, StoreError> {
    match works {
        true => WorkerStore::connect(config).await.map(Some),
        false => Ok(None),
    }
}

fn keyring(config: &Config) -> Result<Keyring, ServerError> {
    Keyring::new(&config.secrets).map_err(|error| match error {
        StoreError::Config { key, why } => config_error(&format!("secrets.{key}"), why),
        other => ServerError::Store(other),
    })
}

/// Opens the object storage. Without it, only memories of nodes are unavailable.
fn objects(config: &ObjectsConfig) -> Result<Option<Objects>, ServerError> {
    if config.url.is_empty() {
        return Ok(None);
    }
    Objects::open(config)
        .map(Some)
        .map_err(|error| store_error(error.into()))
}

fn store_error(error: StoreError) -> ServerError {
    match error {
        StoreError::Objects(ObjectsError::Config { key, why }) => {
            config_error(&format!("objects.{key}"), why)
        }
        StoreError::Config { key, why } => ConfigError::Value {
            key: format!("database.{key}"),
            origin: "configuration".to_owned(),
            problem: why,
        }
        .into(),
        other => ServerError::Store(other),
    }
}

fn index_error(error: RecallError) -> ServerError {
    match error {
        RecallError::Config { key, problem } => config_error(key, problem),
        RecallError::IndexDirectory { path, source } => {
            ServerError::IndexDirectory { path, source }
        }
        other => ServerError::Index(other),
    }
}

/// Describes what is missing. An invalid configuration is an error instead.
fn missing_model(error: RecallError) -> Result<String, ServerError> {
    match error {
        RecallError::Config { key, problem } => Err(config_error(key, problem)),
        error @ RecallError::ModelMissing { .. } => Ok(format!(
            "{error}; `scripts/setup model` makes it, embedding.kind = \"none\" does without"
        )),
        other => Ok(format!(
            "the embedding model cannot be used: {}; `scripts/setup model` makes the local one again",
            error_chain(&other)
        )),
    }
}

fn config_error(key: &str, problem: String) -> ServerError {
    let origin = "configuration".to_owned();
    ConfigError::Value {
        key: key.to_owned(),
        origin,
        problem,
    }
    .into()
}

fn ended(part: &'static str, error: &tokio::task::JoinError) -> ServerError {
    ServerError::Ended {
        part,
        reason: error.to_string(),
    }
}
