//! `recollect dev`: one process with Postgres and the index of its own.

use std::{path::Path, process::Stdio, time::Instant};

use serde::Deserialize;
use tokio::{
    io::{AsyncBufReadExt as _, BufReader},
    process::Command,
};

use super::started::{DATA, Program, START, Started};
use crate::{Failure, processor::Processes};

/// The line that `recollect dev --json` prints when it is ready.
#[derive(Deserialize)]
struct Ready {
    addr: String,
    pid: u32,
    postgres: String,
    #[serde(default)]
    postgres_pid: Option<u32>,
    metrics_addr: Option<String>,
}

/// Starts it on the data of the directory, with its configuration.
pub async fn start(recollect: &Path, dir: &Path) -> Result<Started, Failure> {
    let begin = Instant::now();
    let mut program = Program::new(Command::new(recollect), dir, "dev", "stderr")?;
    program
        .command
        .args(["--json", "--stop-with-stdin", "--listen", "127.0.0.1:0"])
        .arg("--data-dir")
        .arg(dir.join(DATA))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped());
    let mut starting = program.spawn()?;
    let stdout = starting.child.stdout.take();
    let mut lines = BufReader::new(stdout.ok_or("the service has no output")?).lines();
    let line = tokio::time::timeout(START, lines.next_line()).await;
    let took = begin.elapsed();
    let Ok(Ok(Some(line))) = line else {
        return Err(starting.failed());
    };
    // The pipe stays open, so that the service can write to it.
    tokio::spawn(async move { while let Ok(Some(_)) = lines.next_line().await {} });
    let ready: Ready = serde_json::from_str(&line)?;
    Ok(Started {
        addr: format!("http://{}", ready.addr),
        database_url: ready.postgres,
        log: starting.log,
        metrics: ready.metrics_addr.into_iter().collect(),
        processes: Processes {
            server: Some(ready.pid),
            postgres: ready.postgres_pid,
            ..Processes::default()
        },
        took,
        children: vec![starting.child],
        postgres: None,
    })
}
