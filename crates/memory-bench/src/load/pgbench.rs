//! pgbench, which calls the SQL function of an append without the service.

use std::{path::PathBuf, process::Stdio, time::Duration};

use tokio::process::Command;

use crate::{Failure, progress};

/// Appends per second of pgbench with as many clients through the same SQL function and
/// with the same role.
pub async fn run(url: &str, clients: usize, length: Duration) -> Result<f64, Failure> {
    let step = progress::step(format!("pgbench with {clients} clients"));
    let dir = tempfile::tempdir()?;
    let script = dir.path().join("append.sql");
    std::fs::write(&script, memory_store::PGBENCH_APPEND)?;
    let output = Command::new(program("pgbench"))
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
pub async fn prepare(url: &str) -> Result<(), Failure> {
    let output = Command::new(program("psql"))
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
fn program(name: &str) -> PathBuf {
    let mut found: Vec<PathBuf> = std::fs::read_dir("/usr/lib/postgresql")
        .into_iter()
        .flatten()
        .filter_map(|entry| Some(entry.ok()?.path().join("bin").join(name)))
        .filter(|path| path.exists())
        .collect();
    found.sort();
    found.pop().unwrap_or_else(|| name.into())
}
