//! Latencies and their quantiles.

use std::{fmt, time::Duration};

use hdrhistogram::Histogram;
use serde::{Deserialize, Serialize};

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

    /// Each latency in milliseconds, ascending.
    pub fn each_ms(&self) -> Vec<f64> {
        let recorded = self.0.iter_recorded();
        let each = recorded.flat_map(|value| {
            let ms = value.value_iterated_to() as f64 / 1_000.0;
            let count = usize::try_from(value.count_at_value()).unwrap_or(usize::MAX);
            std::iter::repeat_n(ms, count)
        });
        each.collect()
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

/// A figure over several rounds.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Spread {
    /// The median of the rounds.
    pub median: f64,
    /// The lowest.
    pub min: f64,
    /// The highest.
    pub max: f64,
    /// Decimals to print; 2 for a spread that was read from a file.
    #[serde(skip, default = "two")]
    digits: usize,
}

fn two() -> usize {
    2
}

impl Spread {
    /// The spread of the rounds' figures, rounded to so many decimals; 0 without any.
    pub fn of(rounds: &[f64], digits: u8) -> Self {
        let mut sorted = rounds.to_vec();
        sorted.sort_by(f64::total_cmp);
        let at = |place: usize| sorted.get(place).copied().unwrap_or_default();
        let last = sorted.len().saturating_sub(1);
        let median = f64::midpoint(at(last / 2), at(last.div_ceil(2)));
        let rounded = |value| rounded(value, digits.into());
        Self {
            median: rounded(median),
            min: rounded(at(0)),
            max: rounded(at(last)),
            digits: digits.into(),
        }
    }

    /// The spread of the ratios of two figures of the same rounds.
    pub fn of_ratios(above: &[f64], below: &[f64]) -> Self {
        let ratios = above.iter().zip(below);
        let ratios: Vec<f64> = ratios.map(|(a, b)| a / b.max(1e-9)).collect();
        Self::of(&ratios, 2)
    }
}

impl fmt::Display for Spread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            median,
            min,
            max,
            digits,
        } = self;
        write!(f, "{median:.digits$} ({min:.digits$}–{max:.digits$})")
    }
}

/// Rounds to so many decimals.
pub fn rounded(value: f64, digits: i32) -> f64 {
    let scale = 10_f64.powi(digits);
    (value * scale).round() / scale
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_has_the_median_of_the_rounds() {
        let odd = Spread::of(&[3.0, 1.0, 2.0], 1);
        assert_eq!(odd.to_string(), "2.0 (1.0–3.0)");
        let even = Spread::of(&[4.0, 1.0, 2.0, 3.0], 1);
        assert_eq!(even.to_string(), "2.5 (1.0–4.0)");
        let ratios = Spread::of_ratios(&[2.0, 9.0], &[1.0, 3.0]);
        assert_eq!(ratios.to_string(), "2.50 (2.00–3.00)");
    }
}
