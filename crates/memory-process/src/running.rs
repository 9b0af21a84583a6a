//! A running server: its tasks, and how they stop.

use std::fmt;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use memory_config::{Config, ConfigError};
use memory_embedded::rewrite_files;
use memory_index::{Collections, Indexes};
use memory_runtime::error_chain;
use memory_runtime::task::supervised;
use memory_server::health::{self, Health, Readiness, Watched};
use memory_server::{BoundedListener, Server, Services, Tls};
use memory_store::Presence;
use memory_worker::{Rewrite, Worker};
use metrics_exporter_prometheus::PrometheusHandle;
use secrecy::{ExposeSecret as _, SecretString};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::embedding_usage::EmbeddingUsageRecorder;
use crate::error::ServerError;
use crate::listener::Listener;
use crate::parts::{self, Parts};

/// How long the last batch of the index may take to be written.
const INDEX_GRACE: Duration = Duration::from_secs(30);
/// How often metrics are tidied.
const UPKEEP: Duration = Duration::from_secs(5);

/// A server at work. Dropped without [`Running::stop`], it stops without
/// waiting for calls under way; nothing acknowledged is lost by that.
pub struct Running {
    addr: Option<SocketAddr>,
    metrics_addr: Option<SocketAddr>,
    health: Health,
    failure: Arc<watch::Sender<Option<(&'static str, String)>>>,
    /// Ends calls and the watch over the parts.
    stop_calls: Stopper,
    /// Ends indexing and the jobs.
    stop_work: Stopper,
    /// Ends the HTTP endpoints and the upkeep of metrics.
    stop_rest: Stopper,
    calls: Option<JoinHandle<()>>,
    watching: TaskTracker,
    work: TaskTracker,
    /// Records what is left of the usage after the work.
    embedding_usage: Option<Arc<EmbeddingUsageRecorder>>,
    rest: TaskTracker,
    /// The index, which has to be written out at the end. The database's
    /// connections close with the last task that has them.
    indexes: Option<Indexes>,
    /// Shows other servers that this one is alive.
    presence: Option<Presence>,
    grace: Duration,
}

impl Running {
    /// The address of gRPC; `None` without that role.
    pub fn addr(&self) -> Option<SocketAddr> {
        self.addr
    }

    /// The address of `/metrics`, `/livez` and `/readyz`; `None` where that is
    /// switched off.
    pub fn metrics_addr(&self) -> Option<SocketAddr> {
        self.metrics_addr
    }

    /// Waits until the start is over, and returns the readiness then.
    pub async fn wait_ready(&self) -> Readiness {
        let mut state = self.health.follow();
        match state.wait_for(|state| *state != Readiness::Starting).await {
            Ok(state) => state.clone(),
            Err(_closed) => self.health.now(),
        }
    }

    /// Waits until one of its parts ends by itself, which is always an error. Await it
    /// together with the signal to stop.
    pub async fn failed(&self) -> ServerError {
        let mut failure = self.failure.subscribe();
        let ended = failure
            .wait_for(Option::is_some)
            .await
            .ok()
            .and_then(|ended| ended.clone());
        match ended {
            Some((part, reason)) => ServerError::Ended { part, reason },
            None => std::future::pending().await,
        }
    }

    /// Stops: it says that it no longer serves and takes no new connections;
    /// calls under way may end within `server.grace_period`; the batch at hand
    /// is indexed and the index written out; connections are closed.
    pub async fn stop(self) {
        let Self {
            stop_calls,
            stop_work,
            stop_rest,
            calls,
            watching,
            work,
            embedding_usage,
            indexes,
            presence,
            grace,
            ..
        } = self;
        tracing::info!("stopping");
        drop(stop_calls);
        watching.close();
        watching.wait().await;
        if let Some(mut calls) = calls
            && timeout(grace, &mut calls).await.is_err()
        {
            tracing::warn!(
                grace_ms = grace.as_millis(),
                "calls under way did not end in time"
            );
            calls.abort();
        }
        drop(stop_work);
        work.close();
        if timeout(INDEX_GRACE, work.wait()).await.is_err() {
            tracing::warn!(
                grace_ms = INDEX_GRACE.as_millis(),
                "background work did not end in time; it is taken up again at the next start"
            );
        }
        if let Some(usage) = embedding_usage {
            usage.record().await;
        }
        if let Some(indexes) = indexes
            && timeout(INDEX_GRACE, indexes.stop()).await.is_err()
        {
            tracing::warn!("the index did not close in time");
        }
        if let Some(presence) = presence {
            presence.end().await;
        }
        drop(stop_rest);
        tracing::info!("stopped");
    }

    /// A server of which only the HTTP endpoints run; it is starting.
    pub(crate) fn new(config: &Config, metrics: PrometheusHandle, http: Option<Listener>) -> Self {
        let running = Self {
            addr: None,
            metrics_addr: http.as_ref().map(|(_, addr)| *addr),
            health: Health::default(),
            failure: Arc::new(watch::Sender::new(None)),
            stop_calls: Stopper::default(),
            stop_work: Stopper::default(),
            stop_rest: Stopper::default(),
            calls: None,
            watching: TaskTracker::new(),
            work: TaskTracker::new(),
            embedding_usage: None,
            rest: TaskTracker::new(),
            indexes: None,
            presence: None,
            grace: config.server.grace_period,
        };
        if let Some((listener, _)) = http {
            let routes = health::routes(running.health.clone(), metrics.clone());
            let stop = running.stop_rest.token();
            let failure = Arc::clone(&running.failure);
            running.rest.spawn(async move {
                let listener = BoundedListener::new("metrics", listener);
                let served =
                    axum::serve(listener, routes).with_graceful_shutdown(stop.cancelled_owned());
                if let Err(error) = served.await {
                    failure.send_replace(Some(("the metrics listener", error_chain(&error))));
                }
            });
        }
        let stop = running.stop_rest.token();
        running.rest.spawn(upkeep(metrics, stop));
        running
    }

    pub(crate) fn health(&self) -> &Health {
        &self.health
    }

    /// Runs the parts. From here on it is no longer starting.
    pub(crate) async fn start(
        &mut self,
        config: Config,
        mut parts: Parts,
        grpc: Option<Listener>,
    ) -> Result<(), ServerError> {
        let presence = Presence::begin(&config.database, config.ephemeral.server_grace).await;
        self.presence = Some(presence.map_err(ServerError::Store)?);
        let services = Services {
            store: parts.store.clone(),
            recall: parts.recall.clone(),
            indexes: parts.indexes.clone(),
            indexer: parts.indexer_handle.clone(),
            background: parts.background.clone(),
            distiller: Arc::clone(&parts.distiller),
            secrets: parts.secrets.clone(),
            daily_token_budget: config.distill.daily_token_budget,
            transaction_retention: config.database.transaction_retention,
        };
        let tls = Tls::load(&config.server.tls).map_err(|error| ConfigError::Value {
            key: error.key.to_owned(),
            origin: String::new(),
            problem: error.to_string(),
        })?;
        let server = Server::new(
            config.server,
            config.auth,
            tls,
            services,
            self.stop_calls.token(),
        )
        .map_err(|error| ServerError::Ended {
            part: "reflection",
            reason: error.to_string(),
        })?;
        if parts.indexes.serving().permanent_error().is_none() {
            let collections = Collections {
                store: parts.store.clone(),
                outbox: parts
                    .workers
                    .as_ref()
                    .map(|workers| workers.outbox().clone()),
                indexes: parts.indexes.clone(),
            };
            // Before the first search.
            collections.adopt().await.map_err(ServerError::Store)?;
            let health = self.health.clone();
            let report = move |problem| health.set_flaw("collection", problem);
            let stop = self.stop_calls.token();
            let follow = move |collections: Arc<Collections>, stop| {
                let report = report.clone();
                async move { collections.run(stop, report).await }
            };
            let collections = Arc::new(collections);
            let following = supervised("collections", stop, collections, follow);
            self.watching.spawn(following);
        }
        if let Some(workers) = &parts.workers {
            let works = !parts.indexers.is_empty();
            let private = config.database.private.then_some(config.database.url);
            let worker = Worker {
                config: config.worker,
                store: parts.store.clone(),
                workers: workers.clone(),
                subscriptions: parts.secrets.subscriptions(),
                indexers: std::mem::take(&mut parts.indexers),
                indexes: parts.indexes.clone(),
                rewrite: private.map(rewriting),
                recall: parts.recall.clone(),
                distiller: Arc::clone(&parts.distiller),
                background: parts.background.clone(),
            };
            worker.spawn(&self.work, &self.stop_work.token());
            if works {
                parts::wait_for(parts.indexes.serving()).await;
            }
        }
        let watched = Watched {
            health: self.health.clone(),
            store: parts.store.clone(),
            workers: parts.workers.clone(),
            indexes: parts.indexes.clone(),
            reporter: server.health_reporter(),
            services: server.service_names().to_vec(),
        };
        let usage = Arc::new(parts.embedding_usage);
        self.embedding_usage = Some(Arc::clone(&usage));
        let record =
            |usage: Arc<EmbeddingUsageRecorder>, stop| async move { usage.run(stop).await };
        let stop = self.stop_work.token();
        self.work
            .spawn(supervised("embedding_usage", stop, usage, record));
        watched.look().await;
        let watch = |watched: Arc<Watched>, stop| async move { watched.run(stop).await };
        let stop = self.stop_calls.token();
        let watching = supervised("health", stop, Arc::new(watched), watch);
        self.watching.spawn(watching);
        self.indexes = Some(parts.indexes);
        if let Some(listener) = grpc {
            self.addr = Some(listener.1);
            // It writes for the last time once the calls have ended.
            self.work
                .spawn(server.write_refusals(self.stop_work.token()));
            let failure = Arc::clone(&self.failure);
            let stop = self.stop_calls.token();
            self.calls = Some(self.rest.spawn(async move {
                let reason = match server.serve(listener.0).await {
                    Err(error) => error_chain(&error),
                    Ok(()) if stop.is_cancelled() => return,
                    Ok(()) => "it accepts no more connections".to_owned(),
                };
                failure.send_replace(Some(("the gRPC listener", reason)));
            }));
        }
        let shown = |addr: Option<SocketAddr>| addr.map(tracing::field::display);
        tracing::info!(
            addr = shown(self.addr),
            metrics_addr = shown(self.metrics_addr),
            "started"
        );
        Ok(())
    }
}

/// Signals tasks to stop, at the latest when it is dropped.
#[derive(Default)]
struct Stopper(CancellationToken);

impl Stopper {
    fn token(&self) -> CancellationToken {
        self.0.clone()
    }
}

impl Drop for Stopper {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Running")
            .field("addr", &self.addr)
            .field("metrics_addr", &self.metrics_addr)
            .field("readiness", &self.health.now())
            .finish_non_exhaustive()
    }
}

async fn upkeep(metrics: PrometheusHandle, stop: CancellationToken) {
    let mut ticks = interval(UPKEEP);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            _ = ticks.tick() => metrics.run_upkeep(),
        }
    }
}

/// Rewrites the files of the private database.
fn rewriting(url: SecretString) -> Rewrite {
    type Rewritten = Pin<Box<dyn Future<Output = Result<(), String>> + Send>>;
    Arc::new(move || -> Rewritten {
        let url = url.clone();
        Box::pin(async move { rewrite_files(url.expose_secret()).await })
    })
}
