//! Opens the parts of a server: store, index, models, objects.

use std::sync::Arc;
use std::time::Duration;

use memory_budget::Tokenizer;
use memory_config::{Config, ConfigError, Roles};
use memory_distill::Distiller;
use memory_embed::{EmbedError, Embedder};
use memory_index::{
    Backend, Background, Index, IndexError, IndexSchema, IndexState, Indexer, IndexerHandle,
    Indexes, UnavailableIndex, open_index, open_indexes,
};
use memory_objects::{Objects, ObjectsError};
use memory_recall::Recall;
use memory_runtime::{error_chain, task};
use memory_server::Health;
use memory_store::{
    CollectionRecord, CollectionState, Keyring, Secrets, Store, StoreConfig, StoreError,
    WorkerStore,
};
use memory_worker::{TenantKeys, TokenBudget};
use tokio::time::sleep;

use crate::embedding_usage::EmbeddingUsageRecorder;
use crate::error::ServerError;

/// Pause before the next try to open a collection that is being removed.
const REMOVAL_PAUSE: Duration = Duration::from_secs(1);
/// How long the start waits for an index before it continues without one.
const INDEX_START_TIMEOUT: Duration = Duration::from_secs(3);

/// The opened parts of a server.
pub(crate) struct Parts {
    pub(crate) store: Store,
    pub(crate) workers: Option<WorkerStore>,
    pub(crate) indexes: Indexes,
    pub(crate) recall: Recall,
    /// The workers that have yet to run, one for each index.
    pub(crate) indexers: Vec<Indexer>,
    pub(crate) indexer_handle: Option<IndexerHandle>,
    pub(crate) background: Background,
    /// Summarizes, observes and extracts.
    pub(crate) distiller: Arc<Distiller>,
    pub(crate) embedding_usage: EmbeddingUsageRecorder,
    pub(crate) secrets: Secrets,
}

/// Opens everything; the slow parts at the same time.
pub(crate) async fn open(
    config: &Config,
    roles: Roles,
    health: &Health,
) -> Result<Parts, ServerError> {
    let keyring = keyring(config)?;
    let (embedding, next) = (config.embedding.clone(), config.embedding_next.clone());
    let loading = tokio::task::spawn_blocking(move || Embedder::start(&embedding));
    let loading_next =
        tokio::task::spawn_blocking(move || next.as_ref().map(Embedder::start).transpose());
    // The first count would take a tenth of a second otherwise.
    let warming = tokio::task::spawn_blocking(|| Tokenizer::O200kBase.warm());
    let database = StoreConfig {
        policy: Arc::new(config.policy.policy()?),
        ..config.database.clone()
    };
    let (store, workers) =
        tokio::try_join!(Store::connect(&database), connect(roles.worker, &database))
            .map_err(store_error)?;
    let store = store
        .with_cache(&config.cache)
        .with_ephemeral(&config.ephemeral)
        .with_long_term_memory(config.memories.enabled)
        .with_objects(objects(config)?);
    let loaded = loading
        .await
        .map_err(|error| ended("loading the model", &error))?;
    let loaded_next = loading_next
        .await
        .map_err(|error| ended("loading the next model", &error))?;
    warming
        .await
        .map_err(|error| ended("loading the tokenizer", &error))?;

    let mut next = loaded_next.map_err(missing_next_model)?;
    let first = match loaded {
        Ok(embedder) => embedder,
        // Without it this server does what one does that is configured for the next model alone.
        Err(error) if serves(&store, config, next.as_ref()).await? => {
            let reason = missing_model(error)?;
            health.flaw(
                "model",
                format!("{reason}; the index of embedding_next serves"),
            );
            next.take().flatten()
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
            let opened = Opened {
                indexes: Indexes::new(index, None),
                embedders: vec![None],
            };
            return assemble(config, store, keyring, workers, opened, false);
        }
    };
    let opened = open_indexes_of(config, first, next)?;
    if let Some(workers) = &workers {
        if config.uses_embedded_index() || config.database.private {
            // The index is locked, or the database is this process's, so no other worker lives: what
            // one that was killed had claimed need not wait for its lease.
            workers.outbox().end_leases().await.map_err(store_error)?;
            workers
                .distillates(&store)
                .end_distill_leases()
                .await
                .map_err(store_error)?;
            workers
                .erasures(&store)
                .end_erasure_leases()
                .await
                .map_err(store_error)?;
            workers
                .subscriptions()
                .end_leases()
                .await
                .map_err(store_error)?;
        }
        let mut names = opened.indexes.each().map(|one| one.schema().collection());
        let (first, next) = (names.next().unwrap_or_default(), names.next());
        // A worker that removes one of them, for example an earlier one of its name, has
        // some seconds left for that.
        while !workers
            .outbox()
            .open_collections(first, next)
            .await
            .map_err(store_error)?
        {
            sleep(REMOVAL_PAUSE).await;
        }
    }
    assemble(config, store, keyring, workers, opened, roles.worker)
}

/// Whether the index of the next model serves.
async fn serves(
    store: &Store,
    config: &Config,
    next: Option<&Option<Embedder>>,
) -> Result<bool, ServerError> {
    let Some(next) = next else {
        return Ok(false);
    };
    let schema = schema(config, next);
    let recorded = store.index_collections().await.map_err(store_error)?;
    let serves = |record: &CollectionRecord| {
        record.state == CollectionState::Serving && record.name == schema.collection()
    };
    Ok(recorded.iter().any(serves))
}

fn schema(config: &Config, embedder: &Option<Embedder>) -> IndexSchema {
    IndexSchema::new(&config.index.alias, embedder.as_ref().map(Embedder::model))
}

/// The indexes of this process with their models: one, or that of `embedding_next` beside it.
struct Opened {
    indexes: Indexes,
    /// One for each index.
    embedders: Vec<Option<Embedder>>,
}

/// Opens the index of each model. `next`: the model of `embedding_next`, if that is set.
fn open_indexes_of(
    config: &Config,
    first: Option<Embedder>,
    next: Option<Option<Embedder>>,
) -> Result<Opened, ServerError> {
    let schema = |embedder| schema(config, embedder);
    let Some(next) = next else {
        let index = open_index(&config.index, schema(&first)).map_err(index_error)?;
        return Ok(Opened {
            indexes: Indexes::new(index, None),
            embedders: vec![first],
        });
    };
    let schemas = (schema(&first), schema(&next));
    if schemas.0 == schemas.1 {
        return Err(config_error(
            "embedding_next.model",
            "is the model of embedding: remove embedding_next, or name another model".to_owned(),
        ));
    }
    let both = open_indexes(&config.index, schemas.0, schemas.1).map_err(index_error)?;
    let [first_index, next_index] = both;
    Ok(Opened {
        indexes: Indexes::new(first_index, Some(next_index)),
        embedders: vec![first, next],
    })
}

/// Waits a moment for the index, so that a server that is fine does not begin
/// as degraded.
pub(crate) async fn wait_for(index: &Arc<dyn Index>) {
    let step = Duration::from_millis(10);
    let mut waited = Duration::ZERO;
    while index.last_state() != IndexState::Ready && waited < INDEX_START_TIMEOUT {
        sleep(step).await;
        waited += step;
    }
}

fn assemble(
    config: &Config,
    store: Store,
    keyring: Keyring,
    workers: Option<WorkerStore>,
    opened: Opened,
    works: bool,
) -> Result<Parts, ServerError> {
    let outbox_of_index = workers.as_ref().filter(|_| works).map(WorkerStore::outbox);
    let mut indexers = Vec::new();
    let mut handle: Option<IndexerHandle> = None;
    let mut recalls = Vec::new();
    let background = Background::default();
    for (index, embedder) in opened.indexes.each().zip(&opened.embedders) {
        let indexer = outbox_of_index.map(|outbox| {
            Indexer::new(
                store.clone(),
                outbox.clone(),
                Arc::clone(index),
                embedder.clone(),
                config.worker.indexer.clone(),
            )
            .of_recorded_collection()
            .beside_calls(background.clone())
        });
        let own = indexer.as_ref().map(Indexer::handle);
        handle = match (handle, &own) {
            (Some(handle), Some(own)) => Some(handle.waking(own)),
            (handle, own) => handle.or_else(|| own.clone()),
        };
        indexers.extend(indexer);
        if let Some(embedder) = embedder.clone().filter(Embedder::is_local) {
            task::spawn("embedding_baseline", warm_up(embedder));
        }
        let recall = Recall::new(
            store.clone(),
            Arc::clone(index),
            embedder.clone(),
            own,
            config.recall.clone(),
        );
        recalls.push(recall.of_recorded_collection());
    }
    let secrets = store.secrets(keyring);
    let mut recalls = recalls.into_iter();
    let (first, next) = (recalls.next(), recalls.next());
    let recall = match (first, next) {
        (Some(first), Some(next)) => first.with_next(next, opened.indexes.place().clone()),
        (Some(first), None) => first,
        (None, _) => unreachable!("there is an index for embedding"),
    };
    Ok(Parts {
        distiller: distiller(config, &store, &secrets)?,
        embedding_usage: EmbeddingUsageRecorder::new(
            store.clone(),
            opened.embedders.iter().flatten(),
        ),
        secrets,
        store,
        workers,
        indexes: opened.indexes,
        recall,
        indexers,
        indexer_handle: handle,
        background,
    })
}

/// Embeds what the first search would otherwise wait for, behind the documents of a busy server.
async fn warm_up(embedder: Embedder) {
    if let Err(error) = embedder.baseline().await {
        let error = error_chain(&error);
        tracing::warn!(
            error,
            "embedding the baseline failed; the first search tries again"
        );
    }
}

/// Opens the models without calling them: the server starts even if one does not answer.
fn distiller(
    config: &Config,
    store: &Store,
    secrets: &Secrets,
) -> Result<Arc<Distiller>, ServerError> {
    let distill = &config.distill;
    let longest = distill.calls.total_timeout;
    let budget = TokenBudget::new(store.clone(), distill.daily_token_budget, longest);
    // Sentences are compared by their words: vectors would compete with indexing,
    // and make what is kept depend on how busy the machine is.
    let keys = Arc::new(TenantKeys::new(secrets.clone()));
    Distiller::open("distill", distill, Arc::new(budget), None)
        .map(|distiller| Arc::new(distiller.with_keys(keys)))
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
fn objects(config: &Config) -> Result<Option<Objects>, ServerError> {
    if config.objects.url.is_empty() {
        return Ok(None);
    }
    let connections = config.database.pool_size + config.database.max_overflow;
    Objects::open(&config.objects, connections)
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

fn index_error(error: IndexError) -> ServerError {
    match error {
        IndexError::Config { key, problem } => config_error(key, problem),
        IndexError::Directory { path, source } => ServerError::IndexDirectory { path, source },
        other => ServerError::Index(other),
    }
}

/// Describes what is missing. An invalid configuration is an error instead.
fn missing_model(error: EmbedError) -> Result<String, ServerError> {
    match error {
        EmbedError::Config { key, problem } => Err(config_error(key, problem)),
        error @ EmbedError::ModelMissing { .. } => Ok(format!(
            "{error}; `scripts/setup model` makes it, embedding.kind = \"none\" does without"
        )),
        other => Ok(format!(
            "the embedding model cannot be used: {}; `scripts/setup model` makes the local one again",
            error_chain(&other)
        )),
    }
}

/// A server that could not search the next index would miss the switch.
fn missing_next_model(error: EmbedError) -> ServerError {
    let problem = format!(
        "its model cannot be used: {}; install it, or remove embedding_next",
        error_chain(&error)
    );
    config_error("embedding_next", problem)
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
