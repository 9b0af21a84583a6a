//! Blocks of calls: closed loops, arrivals at a fixed rate, and figures over rounds.

use std::{
    future::Future,
    time::{Duration, Instant},
};

use serde::{Deserialize, Serialize};
use tokio::task::JoinSet;

use crate::{
    Failure,
    meter::{Meter, Used},
    processor::{ProcessorFigures, ProcessorTime},
    stages::{StageFigures, StageTimes, stage_figures},
    stats::{Latencies, Spread, rounded},
};

/// Calls of each caller before a block, which fill caches that other blocks evicted.
pub const WARM_UP: u64 = 4;

/// A caller that makes one kind of call again and again.
pub trait Call: Clone + Send + 'static {
    /// Makes one call, each time with another question or message.
    fn call(&mut self) -> impl Future<Output = Result<(), Failure>> + Send;
}

/// What one block measured.
pub struct Block {
    /// The latency of each call.
    pub latencies: Latencies,
    elapsed: Duration,
    used: Used,
}

impl Block {
    /// A block from its latencies and its length. What was used is not known.
    pub fn new(latencies: Latencies, elapsed: Duration) -> Self {
        Self {
            latencies,
            elapsed,
            used: Used::default(),
        }
    }

    /// Calls per second.
    pub fn per_s(&self) -> f64 {
        let count = u32::try_from(self.latencies.quantiles().count).unwrap_or(u32::MAX);
        f64::from(count) / self.elapsed.as_secs_f64().max(1e-9)
    }
}

/// Calls one after the other by each caller. A caller waits for an answer before its next
/// call, so slow answers are under-represented: see [`open`].
pub async fn closed<C: Call>(
    meter: &Meter,
    callers: &[C],
    length: Duration,
) -> Result<Block, Failure> {
    warm_up(callers).await?;
    let before = meter.begin().await?;
    let begin = Instant::now();
    let mut running = JoinSet::new();
    for mut caller in callers.iter().cloned() {
        running.spawn(async move {
            let mut latencies = Latencies::new()?;
            while begin.elapsed() < length {
                let called = Instant::now();
                caller.call().await?;
                latencies.add(called.elapsed());
            }
            Ok::<_, Failure>(latencies)
        });
    }
    let mut latencies = Latencies::new()?;
    while let Some(caller) = running.join_next().await {
        latencies.merge(&caller??)?;
    }
    let elapsed = begin.elapsed();
    Ok(Block {
        latencies,
        elapsed,
        used: meter.end(before).await?,
    })
}

/// Calls at fixed intervals, whether or not earlier ones were answered. A latency begins when
/// its call is due, so that calls which had to wait behind a slow one count as slow.
pub async fn open<C: Call>(
    meter: &Meter,
    callers: &[C],
    rate: u32,
    length: Duration,
) -> Result<Block, Failure> {
    warm_up(callers).await?;
    let calls = (length.as_secs_f64() * f64::from(rate)) as u32;
    let own = callers.to_vec();
    let runtime = tokio::runtime::Handle::current();
    let before = meter.begin().await?;
    let begin = Instant::now();
    // A thread, because tokio's timers wake up to a millisecond late.
    let pacing = tokio::task::spawn_blocking(move || {
        let mut running = JoinSet::new();
        for (number, caller) in (0..calls).zip(own.iter().cycle()) {
            let due = begin + Duration::from_secs(1) * number / rate;
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            let mut caller = caller.clone();
            let call = async move {
                caller.call().await?;
                Ok::<_, Failure>(due.elapsed())
            };
            running.spawn_on(call, &runtime);
        }
        running
    });
    let mut running = pacing.await?;
    let mut latencies = Latencies::new()?;
    while let Some(call) = running.join_next().await {
        latencies.add(call??);
    }
    let elapsed = begin.elapsed();
    Ok(Block {
        latencies,
        elapsed,
        used: meter.end(before).await?,
    })
}

async fn warm_up<C: Call>(callers: &[C]) -> Result<(), Failure> {
    let Some(mut caller) = callers.first().cloned() else {
        return Err("a block needs a caller".into());
    };
    for _ in 0..WARM_UP {
        caller.call().await?;
    }
    Ok(())
}

/// The blocks of one kind of call, one a round.
pub struct Series {
    rates: Vec<f64>,
    p50s: Vec<f64>,
    p95s: Vec<f64>,
    all: Latencies,
    /// Of each process, for a call.
    processor: Vec<ProcessorTime>,
    stages: Vec<StageTimes>,
}

impl Series {
    /// No blocks yet.
    pub fn new() -> Result<Self, Failure> {
        Ok(Self {
            rates: Vec::new(),
            p50s: Vec::new(),
            p95s: Vec::new(),
            all: Latencies::new()?,
            processor: Vec::new(),
            stages: Vec::new(),
        })
    }

    /// Adds a round's block.
    pub fn add(&mut self, block: &Block) -> Result<(), Failure> {
        let of_block = block.latencies.quantiles();
        self.rates.push(block.per_s());
        self.p50s.push(of_block.p50_ms);
        self.p95s.push(of_block.p95_ms);
        self.processor
            .push(block.used.processor.per_call(of_block.count));
        self.stages.push(block.used.stages.clone());
        self.all.merge(&block.latencies)
    }

    /// Calls per second, by round.
    pub fn rates(&self) -> &[f64] {
        &self.rates
    }

    /// Medians in milliseconds, by round.
    pub fn p50s(&self) -> &[f64] {
        &self.p50s
    }

    /// 95th percentiles in milliseconds, by round.
    pub fn p95s(&self) -> &[f64] {
        &self.p95s
    }

    /// The time of each stage, for blocks of recall; nothing for others.
    pub fn stages(&self) -> Vec<StageFigures> {
        stage_figures(&self.stages)
    }

    /// The figures over all rounds.
    pub fn figures(&self) -> Figures {
        let all = self.all.quantiles();
        Figures {
            per_s: Spread::of(&self.rates, 1),
            p50_ms: Spread::of(&self.p50s, 2),
            p95_ms: Spread::of(&self.p95s, 2),
            p99_ms: rounded(all.p99_ms, 2),
            count: all.count,
            processor_ms: ProcessorFigures::of(&self.processor),
        }
    }
}

/// The figures of one kind of call. A spread is over rounds; the 99th percentile is of all
/// calls, because a block has too few.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Figures {
    /// Calls per second.
    pub per_s: Spread,
    /// Half are faster.
    pub p50_ms: Spread,
    /// 95 of 100 are faster.
    pub p95_ms: Spread,
    /// 99 of 100 are faster.
    pub p99_ms: f64,
    /// Calls of all rounds.
    pub count: u64,
    /// Processor milliseconds of a call, by process.
    #[serde(default)]
    pub processor_ms: ProcessorFigures,
}

impl Figures {
    /// The headings of [`Figures::cells`].
    pub const HEADINGS: [&str; 5] = ["calls/s", "p50 ms", "p95 ms", "p99 ms", "calls"];

    /// A table's cells.
    pub fn cells(&self) -> [String; 5] {
        [
            self.per_s.to_string(),
            self.p50_ms.to_string(),
            self.p95_ms.to_string(),
            format!("{:.2}", self.p99_ms),
            self.count.to_string(),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers after a pause, one call at a time.
    #[derive(Clone)]
    struct Slow(std::sync::Arc<tokio::sync::Mutex<Duration>>);

    impl Call for Slow {
        async fn call(&mut self) -> Result<(), Failure> {
            let pause = self.0.lock().await;
            tokio::time::sleep(*pause).await;
            Ok(())
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn arrivals_at_a_fixed_rate_show_the_wait_behind_slow_calls() {
        let slow = [Slow(std::sync::Arc::new(Duration::from_millis(20).into()))];
        let length = Duration::from_millis(400);
        let meter = Meter::default();
        let closed = closed(&meter, &slow, length).await.unwrap();
        let closed = closed.latencies.quantiles();
        // Arrivals twice as fast as answers: the last one waits about as long as the block.
        let open = open(&meter, &slow, 100, length).await.unwrap();
        let open = open.latencies.quantiles();
        assert_eq!(open.count, 40);
        assert!(open.p95_ms > 5.0 * closed.p50_ms, "{open:?} {closed:?}");
    }
}
