//! Appends to a service that distills, compared with one that does not.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use memory_contract::proto::{
    AppendMessagesRequest, GetObservationsRequest, MemoryMode, MemoryPolicy,
};
use serde::Serialize;

use super::{rounds::Rounds, tool_log};
use crate::{
    Failure,
    blocks::{Block, Figures, Series},
    clients::{Clients, new_app},
    progress,
    random::Random,
    service::Service,
    stats::{Latencies, Spread},
};

/// Concurrent callers, each with a separate thread.
const CALLERS: usize = 4;
/// The pause of a caller after an append, as an agent waits for its model. Without it the
/// callers alone would saturate the machine.
const PAUSE: Duration = Duration::from_millis(20);

/// Latencies of the same appends on two services.
#[derive(Serialize)]
pub struct ContentionFigures {
    /// The 95th percentile with distilling to that without.
    pub p95_ratio: Spread,
    distilling: Figures,
    not_distilling: Figures,
    /// Observations made during the measurement.
    observations: usize,
}

impl ContentionFigures {
    /// A summary in one line.
    pub fn line(&self) -> String {
        format!(
            "{CALLERS} callers while {} observations are made: p50 {} ms, p95 {} ms; while none is: p50 {} ms, p95 {} ms",
            self.observations,
            self.distilling.p50_ms,
            self.distilling.p95_ms,
            self.not_distilling.p50_ms,
            self.not_distilling.p95_ms
        )
    }
}

/// Appends to two services, of which only one distills, in random order. The other one is
/// suspended meanwhile.
pub async fn measure(
    distilling: &Service,
    not_distilling: &Service,
    rounds: &Rounds,
    random: &mut Random,
) -> Result<ContentionFigures, Failure> {
    let services = [distilling, not_distilling];
    let threads = [threads(distilling).await?, threads(not_distilling).await?];
    let mut series = [Series::new()?, Series::new()?];
    let mut places = [0, 1];
    for _ in 0..rounds.count {
        random.shuffle(&mut places);
        for place in places {
            services[place].drained().await?;
            let _suspended = services[1 - place].suspend()?;
            let step = progress::step("appending while the worker distills, and while none does");
            let clients = services[place].connect().await?;
            let begin = Instant::now();
            let measured = append(&clients, &threads[place], rounds.block).await?;
            series[place].add(&Block::new(measured, begin.elapsed()))?;
            step.finish_and_clear();
        }
    }
    let mut clients = distilling.connect().await?;
    let mut observations = 0;
    for thread_id in &threads[0] {
        let request = GetObservationsRequest {
            thread: Some(thread_id.clone().into()),
            include_replaced: true,
            ..Default::default()
        };
        let found = clients.observations.get_observations(request).await?;
        let found = found.into_inner();
        observations += found.observations.len() + found.replaced.len();
    }
    let [with, without] = series;
    Ok(ContentionFigures {
        p95_ratio: Spread::of_ratios(with.p95s(), without.p95s()),
        distilling: with.figures(),
        not_distilling: without.figures(),
        observations,
    })
}

/// Creates threads that are observed every few messages.
async fn threads(service: &Service) -> Result<Vec<String>, Failure> {
    let mut clients = service.connect().await?;
    let app = new_app();
    let mut threads = Vec::with_capacity(CALLERS);
    for caller in 0..CALLERS {
        let policy = MemoryPolicy {
            mode: MemoryMode::Observational.into(),
            observer_tokens: Some(10_000),
            ..Default::default()
        };
        let (user, key) = (format!("user-{caller}"), format!("session:{caller}"));
        threads.push(
            clients
                .thread_with_policy(&app, &user, &key, policy)
                .await?,
        );
    }
    Ok(threads)
}

async fn append(
    clients: &Clients,
    threads: &[String],
    length: Duration,
) -> Result<Latencies, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let callers: Vec<_> = threads
        .iter()
        .map(|thread| tokio::spawn(caller(clients.clone(), thread.clone(), Arc::clone(&stop))))
        .collect();
    tokio::time::sleep(length).await;
    stop.store(true, Ordering::Relaxed);
    let mut latencies = Latencies::new()?;
    for caller in callers {
        latencies.merge(&caller.await??)?;
    }
    Ok(latencies)
}

async fn caller(
    mut clients: Clients,
    thread_id: String,
    stop: Arc<AtomicBool>,
) -> Result<Latencies, Failure> {
    let mut latencies = Latencies::new()?;
    let mut number = 0;
    while !stop.load(Ordering::Relaxed) {
        let request = AppendMessagesRequest {
            thread: Some(thread_id.clone().into()),
            messages: tool_log::step(number).messages,
            request_id: uuid::Uuid::now_v7().to_string(),
            ..Default::default()
        };
        let begin = Instant::now();
        clients.messages.append_messages(request).await?;
        latencies.add(begin.elapsed());
        number += 1;
        tokio::time::sleep(PAUSE).await;
    }
    Ok(latencies)
}
