//! Single-message appends, compared with pgbench calling the same SQL function on the same
//! cluster.

use std::{
    path::PathBuf,
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use memory_contract::proto::{AppendMessagesRequest, MessageInput, Part, Role, part};
use serde::Serialize;
use tokio::process::Command;

use crate::{
    Failure, progress,
    service::{Clients, Service, new_app},
    stats::{Latencies, Quantiles, rounded},
};

/// The message that each caller and pgbench append repeatedly.
const TEXT: &str = "My dog is called Pixel, and he likes to swim in the lake behind our house.";
/// Rounds of a measurement and its floor, so that both run under the same conditions.
const ROUNDS: u32 = 2;
/// Callers that share a connection, as a backend's requests do.
const CALLERS_PER_CONNECTION: usize = 16;

/// Throughput and latency of appends at one number of callers.
#[derive(Serialize)]
pub struct Measured {
    messages_per_s: f64,
    pgbench_per_s: Option<f64>,
    pub ratio_to_pgbench: Option<f64>,
    #[serde(flatten)]
    latency: Quantiles,
}

impl Measured {
    /// A table's row, after the number of callers.
    pub fn row(&self) -> [String; 6] {
        let or_dash = |value: Option<f64>, digits: usize| {
            value.map_or("-".to_owned(), |value| format!("{value:.digits$}"))
        };
        [
            or_dash(self.ratio_to_pgbench, 2),
            format!("{:.0}", self.messages_per_s),
            or_dash(self.pgbench_per_s, 0),
            format!("{:.2}", self.latency.p50_ms),
            format!("{:.2}", self.latency.p95_ms),
            format!("{:.2}", self.latency.p99_ms),
        ]
    }
}

/// Measures alternately: pgbench, the service, pgbench, the service.
pub async fn measure(
    service: &Service,
    callers: usize,
    length: Duration,
) -> Result<Measured, Failure> {
    let threads = threads(service, callers).await?;
    if let Some(url) = &service.database_url {
        prepare_pgbench(url).await?;
    }
    let round = length / ROUNDS;
    let mut latencies = Latencies::new()?;
    let mut appended = 0;
    let mut elapsed = Duration::ZERO;
    let mut floors = Vec::new();
    for _ in 0..ROUNDS {
        if let Some(url) = &service.database_url {
            floors.push(pgbench(url, callers, round).await?);
        }
        let step = progress::step(format!("appending with {callers} callers"));
        let (count, time) = append(service, &threads, round, &mut latencies).await?;
        step.finish_and_clear();
        appended += count;
        elapsed += time;
    }
    let rate = appended as f64 / elapsed.as_secs_f64();
    let floor = (!floors.is_empty()).then(|| floors.iter().sum::<f64>() / floors.len() as f64);
    Ok(Measured {
        messages_per_s: rounded(rate, 0),
        pgbench_per_s: floor.map(|floor| rounded(floor, 0)),
        ratio_to_pgbench: floor.map(|floor| rounded(rate / floor, 2)),
        latency: latencies.quantiles(),
    })
}

/// One thread for each caller.
async fn threads(service: &Service, callers: usize) -> Result<Vec<String>, Failure> {
    let mut clients = service.connect().await?;
    let app = new_app();
    let mut threads = Vec::with_capacity(callers);
    for caller in 0..callers {
        let (user, key) = (format!("user-{caller}"), format!("session:{caller}"));
        threads.push(clients.thread(&app, &user, &key).await?);
    }
    Ok(threads)
}

async fn append(
    service: &Service,
    threads: &[String],
    length: Duration,
    latencies: &mut Latencies,
) -> Result<(u64, Duration), Failure> {
    let mut connections = Vec::new();
    for _ in 0..threads.len().div_ceil(CALLERS_PER_CONNECTION) {
        connections.push(service.connect().await?);
    }
    let stop = Arc::new(AtomicBool::new(false));
    let begin = Instant::now();
    let callers: Vec<_> = threads
        .iter()
        .enumerate()
        .map(|(index, thread)| {
            let clients = connections[index / CALLERS_PER_CONNECTION].clone();
            tokio::spawn(caller(clients, thread.clone(), Arc::clone(&stop)))
        })
        .collect();
    tokio::time::sleep(length).await;
    stop.store(true, Ordering::Relaxed);
    let mut count = 0;
    for caller in callers {
        let measured = caller.await??;
        count += measured.quantiles().count;
        latencies.merge(&measured)?;
    }
    Ok((count, begin.elapsed()))
}

async fn caller(
    mut clients: Clients,
    thread_id: String,
    stop: Arc<AtomicBool>,
) -> Result<Latencies, Failure> {
    let request = AppendMessagesRequest {
        thread: Some(thread_id.into()),
        messages: vec![MessageInput {
            role: Role::User.into(),
            parts: vec![Part {
                content: Some(part::Content::Text(TEXT.to_owned())),
                ..Default::default()
            }],
            ..Default::default()
        }],
        ..Default::default()
    };
    let mut latencies = Latencies::new()?;
    while !stop.load(Ordering::Relaxed) {
        // Each append has a request id, as recommended.
        let mut request = request.clone();
        request.request_id = uuid::Uuid::now_v7().to_string();
        let begin = Instant::now();
        clients.messages.append_messages(request).await?;
        latencies.add(begin.elapsed());
    }
    Ok(latencies)
}

/// Appends per second of pgbench with as many clients, each on its own thread, through
/// the same SQL function and with the same role.
async fn pgbench(url: &str, clients: usize, length: Duration) -> Result<f64, Failure> {
    let step = progress::step(format!("pgbench with {clients} clients"));
    let dir = tempfile::tempdir()?;
    let script = dir.path().join("append.sql");
    std::fs::write(&script, memory_store::PGBENCH_APPEND)?;
    let output = Command::new(postgres_program("pgbench"))
        .args(["--no-vacuum", "--protocol=prepared", "--jobs=2"])
        .arg(format!("--client={clients}"))
        .arg(format!("--time={}", length.as_secs().max(1)))
        .arg("--file")
        .arg(&script)
        .arg(url)
        .env("PGOPTIONS", "-c role=recollect_service")
        .stdin(Stdio::null())
        .output()
        .await
        .map_err(|error| format!("pgbench could not be run: {error}"))?;
    step.finish_and_clear();
    let said = String::from_utf8_lossy(&output.stdout);
    said.lines()
        .find_map(|line| line.strip_prefix("tps = "))
        .and_then(|rest| rest.split(' ').next())
        .and_then(|rate| rate.parse().ok())
        .filter(|_| output.status.success())
        .ok_or_else(|| {
            let complaint = String::from_utf8_lossy(&output.stderr);
            format!("pgbench failed: {complaint}").into()
        })
}

/// Creates the threads that pgbench appends to. Idempotent.
async fn prepare_pgbench(url: &str) -> Result<(), Failure> {
    let output = Command::new(postgres_program("psql"))
        .args([
            "--no-psqlrc",
            "--quiet",
            "--set=ON_ERROR_STOP=1",
            "--command",
        ])
        .arg(memory_store::PGBENCH_SETUP)
        .arg(url)
        .stdin(Stdio::null())
        .output()
        .await
        .map_err(|error| format!("psql could not be run: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    Err(format!("the threads for pgbench could not be made: {complaint}").into())
}

/// Debian keeps some of Postgres's programs off the PATH.
fn postgres_program(name: &str) -> PathBuf {
    let mut found: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path().join("bin").join(name)))
        .filter(|path| path.exists())
        .collect();
    found.sort();
    found.pop().unwrap_or_else(|| name.into())
}
