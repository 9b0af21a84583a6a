//! Reading a warm window: from the service's memory, and from its database.

use std::time::Instant;

use memory_contract::proto::GetHistoryRequest;
use serde::Serialize;

use super::history::fill;
use crate::{
    Failure, progress,
    service::{Clients, Service},
    stats::{Latencies, Quantiles, rounded},
};

/// Messages in the thread, of which the default history returns as many as fit.
const MESSAGES: usize = 200;
/// Windows read from each service.
const READS: usize = 400;
/// Reads before the measurement, which fill caches.
const WARM_UP: usize = 20;

/// Latencies of the same history with the cache of windows and without.
#[derive(Serialize)]
pub struct Measured {
    /// Messages in each history.
    returned_messages: usize,
    cached: Quantiles,
    uncached: Quantiles,
}

impl Measured {
    /// The cached median to the uncached one.
    pub fn ratio(&self) -> f64 {
        rounded(self.cached.p50_ms / self.uncached.p50_ms.max(0.001), 2)
    }

    /// A line for people.
    pub fn line(&self) -> String {
        format!(
            "{} messages cached: p50 {:.2} ms, p95 {:.2} ms; not cached: p50 {:.2} ms, p95 {:.2} ms",
            self.returned_messages,
            self.cached.p50_ms,
            self.cached.p95_ms,
            self.uncached.p50_ms,
            self.uncached.p95_ms
        )
    }
}

/// Fills a thread in each of two services, which differ in their cache alone,
/// and reads from them in turn.
pub async fn measure(cached: &Service, uncached: &Service) -> Result<Measured, Failure> {
    let mut sides = [side(cached).await?, side(uncached).await?];
    let bar = progress::count("reading windows", (READS + WARM_UP) as u64);
    let mut latencies = [Latencies::new()?, Latencies::new()?];
    let mut returned = 0;
    for read in 0..READS + WARM_UP {
        for ((clients, thread), latencies) in sides.iter_mut().zip(&mut latencies) {
            let request = GetHistoryRequest {
                thread_id: thread.clone(),
                ..Default::default()
            };
            let begin = Instant::now();
            let history = clients.messages.get_history(request).await?.into_inner();
            if read >= WARM_UP {
                latencies.add(begin.elapsed());
            }
            returned = history.messages.len();
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    let [cached, uncached] = latencies;
    Ok(Measured {
        returned_messages: returned,
        cached: cached.quantiles(),
        uncached: uncached.quantiles(),
    })
}

async fn side(service: &Service) -> Result<(Clients, String), Failure> {
    let mut clients = service.connect().await?;
    let app = format!("bench-{}", uuid::Uuid::now_v7());
    let thread = fill(&mut clients, &app, "window", MESSAGES).await?;
    crate::importing::indexed(&mut clients).await?;
    Ok((clients, thread))
}
