//! A server and workers as processes of their own, as operators run them: with a Postgres that
//! this process starts, and the index in a Qdrant server.

use std::{path::Path, time::Instant};

use memory_embedded::{Cluster, DataDir};
use serde::Deserialize;

use super::started::{DATA, Program, Started, Starting, guarded};
use crate::{Failure, listening::listening, metrics::get, processor::Processes};

/// The line of the log with the addresses that a process listens on.
#[derive(Deserialize)]
struct Listens {
    message: String,
    addr: Option<String>,
    metrics_addr: Option<String>,
}

/// Starts `recollect serve --no-worker` and so many `recollect worker` on the data of the
/// directory, with its configuration. `qdrant` has the addresses of the Qdrant server.
pub async fn start(
    recollect: &Path,
    dir: &Path,
    workers: usize,
    qdrant: &str,
) -> Result<Started, Failure> {
    let begin = Instant::now();
    let data = DataDir::lock(&dir.join(DATA))?;
    let mut cluster = Cluster::start(&data, None, |_| ()).await?;
    cluster.settle().await?;
    let database_url = cluster.url().to_owned();
    let objects = format!("file://{}", data.objects().display());
    let program = |subcommand: &str, log: &str| {
        let mut program = Program::new(guarded(recollect), dir, subcommand, log)?;
        program
            .command
            .env("RECOLLECT_DATABASE__URL", &database_url)
            .env("RECOLLECT_OBJECTS__URL", &objects)
            .env("RECOLLECT_TELEMETRY__LOG_FORMAT", "json")
            .env("RECOLLECT_TELEMETRY__LOG_LEVEL", "info");
        Ok::<_, Failure>(program)
    };
    let mut migrating = program("migrate", "migrate.log")?.spawn()?;
    if !migrating.child.wait().await?.success() {
        return Err(migrating.failed());
    }
    let mut server = program("serve", "server.log")?;
    server
        .command
        .args(["--no-worker", "--listen", "127.0.0.1:0"]);
    let mut starting = vec![server.spawn()?];
    for number in 1..=workers {
        starting.push(program("worker", &format!("worker-{number}.log"))?.spawn()?);
    }
    let log = starting[0].log.clone();
    let (mut children, mut listens) = (Vec::new(), Vec::new());
    for mut process in starting {
        listens.push(ready(&mut process).await?);
        children.push(process.child);
    }
    let addr = listens.first().and_then(|server| server.addr.as_ref());
    let addr = addr.ok_or("the server does not say where it listens")?;
    let pids: Vec<u32> = children.iter().filter_map(|child| child.id()).collect();
    let (server, workers) = pids.split_first().ok_or("the server has ended")?;
    Ok(Started {
        addr: format!("http://{addr}"),
        database_url,
        metrics: listens
            .iter()
            .filter_map(|process| process.metrics_addr.clone())
            .collect(),
        log,
        processes: Processes {
            server: Some(*server),
            workers: workers.to_vec(),
            postgres: u32::try_from(cluster.pid()).ok(),
            qdrant: listening(qdrant, "qdrant"),
        },
        took: begin.elapsed(),
        children,
        postgres: Some((cluster, data)),
    })
}

/// Waits until a process is ready, and returns where it listens.
async fn ready(process: &mut Starting) -> Result<Listens, Failure> {
    let listens = process.until(async |log: &str| addresses(log)).await?;
    let metrics = listens.metrics_addr.clone();
    let metrics = metrics.ok_or("a process does not say where its metrics are")?;
    process
        .until(async |_: &str| get(&metrics, "/readyz").await.ok().flatten())
        .await?;
    Ok(listens)
}

/// The addresses in a log; `None` if it does not have them yet.
fn addresses(log: &str) -> Option<Listens> {
    let mut lines = log
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    lines.find(|line: &Listens| line.message == "started")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_addresses_are_in_the_line_that_says_started() {
        let log = "{\"message\":\"applied\"}\nno JSON\n\
            {\"level\":\"INFO\",\"message\":\"started\",\"addr\":\"127.0.0.1:1\",\"metrics_addr\":\"127.0.0.1:2\"}\n\
            {\"message\":\"rea";
        let found = addresses(log).unwrap();
        assert_eq!(found.addr.as_deref(), Some("127.0.0.1:1"));
        assert_eq!(found.metrics_addr.as_deref(), Some("127.0.0.1:2"));
        assert!(addresses("{\"message\":\"applied\"}").is_none());
    }
}
