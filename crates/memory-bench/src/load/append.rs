//! Single-message appends, compared with pgbench calling the same SQL function on the same
//! cluster.

use std::{collections::BTreeMap, sync::Arc};

use memory_contract::proto::{AppendMessagesRequest, MessageInput, Part, Role, part};
use serde::Serialize;
use tonic::transport::Channel;
use tonic_health::pb::{HealthCheckRequest, health_client::HealthClient};

use super::{pgbench, rounds::Rounds};
use crate::{
    Failure,
    blocks::{self, Call, Figures, Series},
    clients::{Clients, new_app},
    progress,
    random::Random,
    service::Service,
    stats::Spread,
};

/// The message that each caller and pgbench append repeatedly.
const TEXT: &str = "My dog is called Pixel, and he likes to swim in the lake behind our house.";
/// Threads of the appends at a fixed rate.
const THREADS: usize = 16;

/// Throughput and latency of appends.
#[derive(Serialize)]
pub struct AppendFigures {
    /// By number of callers.
    pub callers: BTreeMap<usize, AtCallers>,
    /// Appends per second of the arrivals at a fixed rate.
    pub rate: u32,
    /// Latencies of these, from the time that each was due.
    pub at_rate: Figures,
    /// One caller's health checks: what a call takes that does nothing.
    pub health_check: Figures,
}

/// Appends at one number of callers.
#[derive(Serialize)]
pub struct AtCallers {
    pub service: Figures,
    pub pgbench_per_s: Option<Spread>,
    pub ratio_to_pgbench: Option<Spread>,
}

/// A kind of block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Pgbench(usize),
    Service(usize),
    AtRate,
    HealthCheck,
}

/// Measures in blocks, in another random order in each round. Before each block the outbox
/// is empty, and while pgbench runs the service is suspended.
pub async fn measure(
    service: &Service,
    callers: &[usize],
    rate: u32,
    rounds: &Rounds,
    random: &mut Random,
) -> Result<AppendFigures, Failure> {
    let meter = service.meter();
    let mut kinds = vec![Kind::AtRate, Kind::HealthCheck];
    let checks = [HealthCheck(HealthClient::new(service.channel().await?))];
    let mut appenders = BTreeMap::from([(Kind::AtRate, threads(service, THREADS).await?)]);
    for &number in callers {
        let kind = Kind::Service(number);
        appenders.insert(kind, threads(service, number).await?);
        kinds.push(kind);
        if let Some(url) = &service.database_url {
            pgbench::prepare(url).await?;
            kinds.push(Kind::Pgbench(number));
        }
    }
    let mut series = BTreeMap::new();
    for kind in appenders.keys().copied().chain([Kind::HealthCheck]) {
        series.insert(kind, Series::new()?);
    }
    let mut floors: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for _ in 0..rounds.count {
        random.shuffle(&mut kinds);
        for &kind in &kinds {
            service.drained().await?;
            if let (Kind::Pgbench(clients), Some(url)) = (kind, &service.database_url) {
                let suspended = service.suspend()?;
                let floor = pgbench::run(url, clients, rounds.block).await?;
                drop(suspended);
                floors.entry(clients).or_default().push(floor);
                continue;
            }
            let step = progress::step("appending");
            let block = match kind {
                Kind::HealthCheck => blocks::closed(&meter, &checks, rounds.block).await?,
                Kind::AtRate => blocks::open(&meter, &appenders[&kind], rate, rounds.block).await?,
                Kind::Service(_) | Kind::Pgbench(_) => {
                    blocks::closed(&meter, &appenders[&kind], rounds.block).await?
                }
            };
            step.finish_and_clear();
            if let Some(series) = series.get_mut(&kind) {
                series.add(&block)?;
            }
        }
    }
    let mut by_callers = BTreeMap::new();
    for &number in callers {
        let series = series.get(&Kind::Service(number)).ok_or("no rounds")?;
        let floors = floors.get(&number);
        let measured = AtCallers {
            service: series.figures(),
            pgbench_per_s: floors.map(|floors| Spread::of(floors, 0)),
            ratio_to_pgbench: floors.map(|floors| Spread::of_ratios(series.rates(), floors)),
        };
        by_callers.insert(number, measured);
    }
    Ok(AppendFigures {
        callers: by_callers,
        rate,
        at_rate: series.get(&Kind::AtRate).ok_or("no rounds")?.figures(),
        health_check: series.get(&Kind::HealthCheck).ok_or("no rounds")?.figures(),
    })
}

/// One thread for each caller.
async fn threads(service: &Service, callers: usize) -> Result<Vec<Appender>, Failure> {
    let app = new_app();
    let mut appenders = Vec::with_capacity(callers);
    for (number, mut clients) in service.callers(callers).await?.into_iter().enumerate() {
        let (user, key) = (format!("user-{number}"), format!("session:{number}"));
        let thread = clients.thread(&app, &user, &key).await?;
        appenders.push(Appender {
            clients,
            thread: thread.into(),
        });
    }
    Ok(appenders)
}

#[derive(Clone)]
struct HealthCheck(HealthClient<Channel>);

impl Call for HealthCheck {
    async fn call(&mut self) -> Result<(), Failure> {
        self.0.check(HealthCheckRequest::default()).await?;
        Ok(())
    }
}

#[derive(Clone)]
struct Appender {
    clients: Clients,
    thread: Arc<str>,
}

impl Call for Appender {
    async fn call(&mut self) -> Result<(), Failure> {
        let request = AppendMessagesRequest {
            thread: Some(self.thread.to_string().into()),
            messages: vec![MessageInput {
                role: Role::User.into(),
                parts: vec![Part {
                    content: Some(part::Content::Text(TEXT.to_owned())),
                    ..Default::default()
                }],
                ..Default::default()
            }],
            // Each append has a request id, as recommended.
            request_id: uuid::Uuid::now_v7().to_string(),
            ..Default::default()
        };
        self.clients.messages.append_messages(request).await?;
        Ok(())
    }
}
