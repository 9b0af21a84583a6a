//! Reads of a warm window, from the cache and from the database.

use serde::Serialize;

use super::history::{alternate, fill};
use crate::{
    Failure,
    clients::{Clients, new_app},
    service::Service,
    stats::{Quantiles, rounded},
};

/// Messages in the thread, of which the default history returns as many as fit.
const MESSAGES: usize = 200;

/// Latencies of the same history with the cache of windows and without.
#[derive(Serialize)]
pub struct WindowFigures {
    /// Messages in each history.
    returned_messages: usize,
    cached: Quantiles,
    uncached: Quantiles,
}

impl WindowFigures {
    /// The ratio of the cached median to the uncached one.
    pub fn ratio(&self) -> f64 {
        rounded(self.cached.p50_ms / self.uncached.p50_ms.max(0.001), 2)
    }

    /// A summary in one line.
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

/// Fills a thread in each of two services, which differ only in their cache, and reads
/// them alternately.
pub async fn measure(cached: &Service, uncached: &Service) -> Result<WindowFigures, Failure> {
    let sides = [side(cached).await?, side(uncached).await?];
    let (returned, [cached, uncached]) = alternate("reading windows", sides).await?;
    Ok(WindowFigures {
        returned_messages: returned,
        cached: cached.quantiles(),
        uncached: uncached.quantiles(),
    })
}

async fn side(service: &Service) -> Result<(Clients, String), Failure> {
    let mut clients = service.connect().await?;
    let app = new_app();
    let thread = fill(&mut clients, &app, "window", MESSAGES).await?;
    crate::indexed::indexed(&mut clients).await?;
    Ok((clients, thread))
}
