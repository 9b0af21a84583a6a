//! Health of the server: over gRPC for load balancers, over HTTP for people,
//! orchestrators and Prometheus.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use memory_contract::TenantId;
use memory_contract::duration_text::format_duration;
use memory_index::{Backend, IndexState, Indexes};
use memory_runtime::error_chain;
use memory_store::{PoolStatus, Store, StoreError, WorkerStore};
use metrics::{describe_gauge, gauge};
use metrics_exporter_prometheus::PrometheusHandle;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_util::sync::CancellationToken;
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;

/// How often the parts are probed.
const PERIOD: Duration = Duration::from_secs(2);
/// How long the database may take to answer before it counts as unavailable.
const PROBE_TIMEOUT: Duration = Duration::from_secs(2);

/// The services whose data is in the main database, which may be another one than that
/// of conversations.
const OF_MAIN_DATABASE: [&str; 3] = [
    "recollect.v1.FileService",
    "recollect.v1.KeyService",
    "recollect.v1.SecretService",
];

/// How a server is doing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Readiness {
    /// It is not ready yet.
    Starting,
    /// Everything works.
    Ready,
    /// It serves, with less than was asked for, for these reasons.
    Degraded(Vec<String>),
    /// It cannot serve, for these reasons.
    Unavailable(Vec<String>),
}

impl Readiness {
    /// Whether calls are answered.
    pub fn serves(&self) -> bool {
        match self {
            Self::Ready | Self::Degraded(_) => true,
            Self::Starting | Self::Unavailable(_) => false,
        }
    }

    /// `starting`, `ready`, `degraded` or `unavailable`.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Starting => "starting",
            Self::Ready => "ready",
            Self::Degraded(_) => "degraded",
            Self::Unavailable(_) => "unavailable",
        }
    }

    /// Why it is less than ready.
    pub fn reasons(&self) -> &[String] {
        match self {
            Self::Starting | Self::Ready => &[],
            Self::Degraded(reasons) | Self::Unavailable(reasons) => reasons,
        }
    }
}

/// The health of the server. Clones share it.
#[derive(Clone, Debug)]
pub struct Health {
    state: Arc<watch::Sender<Readiness>>,
    /// Permanent problems, by the part's name.
    flaws: Arc<Mutex<BTreeMap<&'static str, String>>>,
}

impl Default for Health {
    /// The health of a server that is starting.
    fn default() -> Self {
        Self {
            state: Arc::new(watch::Sender::new(Readiness::Starting)),
            flaws: Arc::default(),
        }
    }
}

impl Health {
    /// The current readiness.
    pub fn now(&self) -> Readiness {
        self.state.borrow().clone()
    }

    /// Subscribes to changes of the readiness.
    pub fn follow(&self) -> watch::Receiver<Readiness> {
        self.state.subscribe()
    }

    /// Records a permanent problem of a part.
    pub fn flaw(&self, part: &'static str, reason: impl Into<String>) {
        self.set_flaw(part, Some(reason.into()));
    }

    /// Records a problem of a part, or that it is over.
    pub fn set_flaw(&self, part: &'static str, reason: Option<String>) {
        let mut flaws = self.flaws.lock().unwrap_or_else(PoisonError::into_inner);
        match reason {
            Some(reason) => flaws.insert(part, reason),
            None => flaws.remove(part),
        };
    }

    fn set(&self, new: Readiness) {
        let level = match &new {
            Readiness::Ready => 2.0,
            Readiness::Degraded(_) => 1.0,
            Readiness::Starting | Readiness::Unavailable(_) => 0.0,
        };
        gauge!("recollect_ready").set(level);
        self.state.send_if_modified(|old| {
            if *old == new {
                return false;
            }
            let (before, now) = (old.as_str(), new.as_str());
            match new.reasons() {
                [] => tracing::info!(before, now, "readiness changed"),
                reasons => {
                    tracing::warn!(
                        before,
                        now,
                        reasons = reasons.join("; "),
                        "readiness changed"
                    );
                }
            }
            *old = new;
            true
        });
    }
}

/// Checks the parts of a server every two seconds and reports the result.
pub struct Watched {
    /// Where the result is kept.
    pub health: Health,
    /// The conversations' database, and the main one where it is another.
    pub store: Store,
    /// The worker's connections; `None` in a process that runs no worker.
    pub workers: Option<WorkerStore>,
    /// Probed; without it recall is degraded.
    pub indexes: Indexes,
    /// The gRPC health service.
    pub reporter: HealthReporter,
    /// The full names of the gRPC services that it reports.
    pub services: Vec<String>,
}

impl Watched {
    /// Probes everything once and publishes the result.
    pub async fn look(&self) {
        let main = async {
            match self.store.has_chat_database() {
                true => problem_of("the main database", self.store.ping_main()).await,
                false => None,
            }
        };
        let (chat, main) = tokio::join!(problem_of("the database", self.store.ping()), main);
        self.report(chat.is_none(), main.is_none()).await;
        let away: Vec<String> = chat.into_iter().collect();
        let flaws = self
            .health
            .flaws
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let mut less: Vec<String> = flaws.into_values().collect();
        match self.index_state().await {
            IndexState::Ready => {}
            IndexState::Rebuilding => less.push("the index is being rebuilt".to_owned()),
            IndexState::Unavailable if less.is_empty() => {
                less.push("the index does not answer".to_owned());
            }
            IndexState::Unavailable => {}
        }
        // Conversations are read and written without it.
        if let Some(problem) = main {
            less.push(format!(
                "files, API keys and secrets are unavailable: {problem}"
            ));
        }
        let readiness = if !away.is_empty() {
            Readiness::Unavailable(away)
        } else if less.is_empty() {
            Readiness::Ready
        } else {
            Readiness::Degraded(less)
        };
        self.health.set(readiness);
        measure_pool("service", self.store.pool_status());
        if self.store.has_chat_database() {
            measure_pool("main", self.store.main_pool_status());
        }
        if let Some(workers) = &self.workers {
            measure_pool("worker", workers.pool_status());
        }
    }

    /// Looks again and again until the server stops; then it says that it no
    /// longer serves.
    pub async fn run(&self, stop: CancellationToken) {
        let mut ticks = interval(PERIOD);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                _ = ticks.tick() => self.look().await,
            }
        }
        self.set("", false).await;
        self.report(false, false).await;
        let stopping = vec!["the server is stopping".to_owned()];
        self.health
            .state
            .send_replace(Readiness::Unavailable(stopping));
        // Ends health watches, which would keep their connections open.
        let mut reporter = self.reporter.clone();
        for service in self.services.iter().map(String::as_str).chain([""]) {
            reporter.clear_service_status(service).await;
        }
    }

    /// The state of the index. A cluster is probed, so that an outage is known before a
    /// call meets it; the embedded engine knows its own state.
    async fn index_state(&self) -> IndexState {
        let index = self.indexes.serving();
        match index.backend() {
            Backend::Edge => index.last_state(),
            Backend::Qdrant => {
                let no_tenant = TenantId::default();
                let status = timeout(PROBE_TIMEOUT, index.status(&no_tenant)).await;
                status.map_or(IndexState::Unavailable, |status| status.state)
            }
        }
    }

    /// Reports each service by its database. The server as a whole serves until it
    /// stops: it answers UNAVAILABLE while a database is away, and taking it from a
    /// load balancer would leave callers without any answer.
    async fn report(&self, chat: bool, main: bool) {
        for service in &self.services {
            let serves = match OF_MAIN_DATABASE.contains(&service.as_str()) {
                true => chat && main,
                false => chat,
            };
            self.set(service, serves).await;
        }
    }

    async fn set(&self, service: &str, serves: bool) {
        let status = match serves {
            true => ServingStatus::Serving,
            false => ServingStatus::NotServing,
        };
        self.reporter.set_service_status(service, status).await;
    }
}

/// What is wrong with a database that is asked for an answer.
async fn problem_of(
    name: &str,
    answer: impl Future<Output = Result<(), StoreError>>,
) -> Option<String> {
    match timeout(PROBE_TIMEOUT, answer).await {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(format!("{name} does not answer: {}", error_chain(&error))),
        Err(_elapsed) => Some(format!(
            "{name} did not answer within {}",
            format_duration(PROBE_TIMEOUT)
        )),
    }
}

/// `/metrics`, `/livez` and `/readyz`.
pub fn routes(health: Health, metrics: PrometheusHandle) -> Router {
    Router::new()
        .route(
            "/metrics",
            get(|State(metrics): State<PrometheusHandle>| async move {
                let kind = [(
                    header::CONTENT_TYPE,
                    "text/plain; version=0.0.4; charset=utf-8",
                )];
                (kind, metrics.render())
            }),
        )
        .with_state(metrics)
        .route("/livez", get(async || answer(StatusCode::OK, "alive", &[])))
        .merge(
            Router::new()
                .route("/readyz", get(ready))
                .with_state(health),
        )
}

async fn ready(State(health): State<Health>) -> Response {
    let now = health.now();
    let code = if now.serves() {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    answer(code, now.as_str(), now.reasons())
}

fn answer(code: StatusCode, status: &str, reasons: &[String]) -> Response {
    let body = json!({ "status": status, "reasons": reasons }).to_string();
    (code, [(header::CONTENT_TYPE, "application/json")], body).into_response()
}

fn measure_pool(pool: &'static str, status: PoolStatus) {
    let PoolStatus {
        open,
        idle,
        waiting,
        max,
    } = status;
    gauge!("recollect_pool_open", "pool" => pool).set(open as f64);
    gauge!("recollect_pool_idle", "pool" => pool).set(idle as f64);
    gauge!("recollect_pool_waiting", "pool" => pool).set(waiting as f64);
    gauge!("recollect_pool_max", "pool" => pool).set(max as f64);
}

pub(crate) fn describe_metrics() {
    describe_gauge!(
        "recollect_ready",
        "Readiness: 2 is ready, 1 is degraded, 0 is starting or unavailable."
    );
    describe_gauge!("recollect_pool_open", "Open database connections, by pool.");
    describe_gauge!("recollect_pool_idle", "Idle database connections, by pool.");
    describe_gauge!(
        "recollect_pool_waiting",
        "Callers waiting for a database connection, by pool."
    );
    describe_gauge!(
        "recollect_pool_max",
        "Limit of open database connections, by pool."
    );
}
