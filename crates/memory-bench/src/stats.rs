//! Latencies and their quantiles.

use std::time::Duration;

use hdrhistogram::Histogram;
use serde::Serialize;

use crate::Failure;

/// Latencies of one kind of call, 1 µs to 60 s, to three significant digits.
pub struct Latencies(Histogram<u64>);

impl Latencies {
    /// No latencies yet.
    pub fn new() -> Result<Self, Failure> {
        Ok(Self(Histogram::new_with_bounds(1, 60_000_000, 3)?))
    }

    /// Adds a latency; over 60 s counts as 60 s.
    pub fn add(&mut self, latency: Duration) {
        let micros = u64::try_from(latency.as_micros()).unwrap_or(u64::MAX);
        self.0.saturating_record(micros.max(1));
    }

    /// Adds all latencies of another.
    pub fn merge(&mut self, other: &Self) -> Result<(), Failure> {
        Ok(self.0.add(&other.0)?)
    }

    /// The quantiles, in milliseconds.
    pub fn quantiles(&self) -> Quantiles {
        let ms = |quantile| {
            let micros = u32::try_from(self.0.value_at_quantile(quantile)).unwrap_or(u32::MAX);
            f64::from(micros) / 1_000.0
        };
        Quantiles {
            p50_ms: ms(0.5),
            p95_ms: ms(0.95),
            p99_ms: ms(0.99),
            count: self.0.len(),
        }
    }
}

/// Latencies in milliseconds.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Quantiles {
    /// Half are faster.
    pub p50_ms: f64,
    /// 95 of 100 are faster.
    pub p95_ms: f64,
    /// 99 of 100 are faster.
    pub p99_ms: f64,
    /// How many were measured.
    pub count: u64,
}

/// Rounds to so many decimals.
pub fn rounded(value: f64, digits: i32) -> f64 {
    let scale = 10_f64.powi(digits);
    (value * scale).round() / scale
}
