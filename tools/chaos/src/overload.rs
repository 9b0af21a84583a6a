//! A server gets several times the load that it can sustain: it goes on serving, refuses
//! the rest quickly, stays within its memory, and recovers.

mod load;
mod meter;

use std::sync::Arc;
use std::time::{Duration, Instant};

use load::Load;
use meter::{Meter, WINDOW};

use super::memory::Memory;
use super::progress::Progress;
use super::report::{Report, rounded};
use recollect_tests::{DataDir, Options, Server};

/// Numbers of callers of which the one with the highest throughput is sustainable.
const CALLERS: [usize; 3] = [16, 32, 64];
/// How much more memory than under sustainable load the server may take, in MiB.
const MEMORY_GROWTH: u64 = 256;
/// How quickly 99 % of the refusals have to arrive.
const REFUSAL_LIMIT: Duration = Duration::from_secs(1);
/// Time until goodput is back.
const RECOVERY_LIMIT: Duration = Duration::from_secs(5);
/// Windows over which goodput is compared after the overload: a second.
const RECOVERED_WINDOWS: usize = 4;

/// What to do.
#[derive(Clone, Copy, Debug)]
pub struct Overload {
    /// Determines the requests.
    pub seed: u64,
    /// Duration of the overload. Measuring the sustainable load takes half of it, and the
    /// recovery a quarter, but at least six seconds.
    pub time: Duration,
    /// How many times the sustainable load.
    pub factor: f64,
    /// The callers' deadline.
    pub deadline: Duration,
    /// Share of the sustainable throughput that has to be served.
    pub goodput: f64,
    /// Share of the load that this machine has to offer in fact.
    pub offered: f64,
    /// What the limits of refusals and of the recovery are multiplied by, for machines that
    /// do something else too.
    pub slack: u32,
}

/// Overloads a server.
///
/// # Panics
/// If the server cannot be prepared.
pub async fn overload(dir: DataDir, options: &Overload, progress: &Progress) -> Report {
    let mut report = Report::new("overload", options.seed);
    let refusal_limit = REFUSAL_LIMIT * options.slack;
    let recovery_limit = RECOVERY_LIMIT * options.slack;
    progress.say("overload: starting a server");
    let server = Server::start(&dir, &Options::with(&["embedding.kind = \"none\""]));
    let load = Arc::new(Load::new(&server.ready().addr, options.seed, options.deadline).await);
    let memory = Memory::watch(server.ready().pid);

    let begin = Instant::now();
    let share = options.time / 2 / (CALLERS.len() as u32 + 1);
    progress.say("overload: warming up");
    load.closed(CALLERS[0], share, &Meter::new()).await;
    let (mut sustainable, mut callers) = (0.0, CALLERS[0]);
    let mut latency = Duration::ZERO;
    for count in CALLERS {
        progress.say(format!("overload: measuring {count} callers"));
        let meter = Meter::new();
        load.closed(count, share, &meter).await;
        if meter.rate(share) > sustainable {
            (sustainable, callers) = (meter.rate(share), count);
            latency = meter.served(0.99);
        }
    }
    let sustained = memory.peak(begin, Instant::now());

    progress.say(format!(
        "overload: {:.0} calls a second",
        sustainable * options.factor
    ));
    let (begin, meter) = (Instant::now(), Meter::new());
    let offered = load
        .open(sustainable * options.factor, options.time, &meter)
        .await;
    let end = Instant::now();
    let goodput = meter.rate(options.time);

    progress.say("overload: recovering");
    let after = Meter::new();
    let time = (options.time / 4).max(recovery_limit + Duration::from_secs(1));
    load.closed(callers, time, &after).await;
    let enough = sustainable * options.goodput * WINDOW.as_secs_f64();
    let windows = after.windows(time);
    let recovered = windows
        .windows(RECOVERED_WINDOWS)
        .position(|several| several.iter().sum::<u64>() as f64 >= enough * several.len() as f64)
        .map(|number| WINDOW * u32::try_from(number).unwrap_or(u32::MAX));

    report.figure("sustainable calls a second", sustainable.round());
    report.figure("sustainable callers", callers);
    report.figure("sustainable p99, seconds", rounded(latency));
    report.figure("seconds of overload", rounded(options.time));
    report.figure("offered calls a second", offered.round());
    report.limited(
        "offered, times the sustainable load",
        (offered / sustainable * 10.0).round() / 10.0,
        format!("≥ {}", options.factor * options.offered),
        offered >= sustainable * options.factor * options.offered,
    );
    report.limited(
        "goodput, share of the sustainable load",
        (goodput / sustainable * 100.0).round() / 100.0,
        format!("≥ {}", options.goodput),
        goodput >= sustainable * options.goodput,
    );
    let served = meter.served(0.99);
    report.limited(
        "p99 of served calls, seconds",
        rounded(served),
        format!("≤ {}", options.deadline.as_secs_f64()),
        served <= options.deadline,
    );
    report.figure("calls refused", meter.refused_count());
    let refused = meter.refused(0.99);
    report.limited(
        "p99 of refusals, seconds",
        rounded(refused),
        format!("≤ {}", refusal_limit.as_secs_f64()),
        refused <= refusal_limit,
    );
    report.zero("refusals without RetryInfo", meter.unhinted());
    report.zero("calls past their deadline", meter.late());
    for (name, count) in meter.others() {
        report.zero(format!("other failures: {name}"), count);
    }
    report.figure("MiB under sustainable load", sustained);
    let peak = memory.peak(begin, end);
    report.limited(
        "MiB under overload",
        peak,
        format!("≤ {}", sustained + MEMORY_GROWTH),
        peak <= sustained + MEMORY_GROWTH,
    );
    report.limited(
        "seconds until goodput is back",
        recovered.map_or_else(|| "never".into(), |time| serde_json::json!(rounded(time))),
        format!("≤ {}", recovery_limit.as_secs_f64()),
        recovered.is_some_and(|time| time <= recovery_limit),
    );
    report.zero("panics", dir.log().matches("panicked at").count());
    report
}
