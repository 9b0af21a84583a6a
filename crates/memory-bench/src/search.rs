//! Searches of a running service by native callers, for comparisons with clients of other
//! languages.

use std::{
    fs,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use clap::Args;
use memory_contract::proto::{SearchRequest, UserRef};

use crate::{
    Failure, Target,
    blocks::{self, Call},
    clients::Clients,
    service::Service,
    stats::rounded,
};

/// What to search.
#[derive(Args)]
pub struct Options {
    /// The app.
    #[arg(long)]
    app: String,
    /// The user over whose conversations to search.
    #[arg(long)]
    user: String,
    /// A file of queries, one a line. Each is asked once; the run fails when none is left.
    #[arg(long)]
    queries: PathBuf,
    /// Maximum number of matches: 1 to 100.
    #[arg(long, default_value_t = 10)]
    top_k: i32,
    /// Concurrent callers, each of which waits for its answer.
    #[arg(long, default_value_t = 1)]
    callers: usize,
    /// Seconds to search for.
    #[arg(long, default_value_t = 3.0)]
    seconds: f64,
}

/// Searches, and prints calls a second and latencies.
pub async fn run(target: &Target, options: &Options, json: bool) -> Result<(), Failure> {
    if target.addr.is_none() {
        return Err("name the service to search with --addr".into());
    }
    let queries = fs::read_to_string(&options.queries)?;
    let queries: Arc<Vec<String>> = Arc::new(queries.lines().map(str::to_owned).collect());
    let service = Service::attach_or_start(target).await?;
    let next = Arc::new(AtomicUsize::new(0));
    let searchers = service.callers(options.callers).await?.into_iter();
    let searchers: Vec<Searcher> = searchers
        .map(|clients| Searcher {
            clients,
            user: UserRef {
                app_id: options.app.clone(),
                user_id: options.user.clone(),
            },
            top_k: options.top_k,
            queries: Arc::clone(&queries),
            next: Arc::clone(&next),
        })
        .collect();
    let length = Duration::try_from_secs_f64(options.seconds)?;
    let block = blocks::closed(&service.meter(), &searchers, length).await?;
    let found = block.latencies.quantiles();
    if json {
        let measured = serde_json::json!({
            "per_s": rounded(block.per_s(), 1),
            "latencies_ms": block.latencies.each_ms(),
            "asked": next.load(Ordering::Relaxed),
        });
        println!("{measured}");
    } else {
        println!(
            "{} searches, {:.1} a second: p50 {:.2} ms, p95 {:.2} ms, p99 {:.2} ms",
            found.count,
            block.per_s(),
            found.p50_ms,
            found.p95_ms,
            found.p99_ms
        );
    }
    service.stop().await
}

#[derive(Clone)]
struct Searcher {
    clients: Clients,
    user: UserRef,
    top_k: i32,
    queries: Arc<Vec<String>>,
    next: Arc<AtomicUsize>,
}

impl Call for Searcher {
    async fn call(&mut self) -> Result<(), Failure> {
        let place = self.next.fetch_add(1, Ordering::Relaxed);
        let query = self.queries.get(place).ok_or("no query is left")?;
        let request = SearchRequest {
            target: Some(self.user.clone().into()),
            query: query.clone(),
            top_k: Some(self.top_k),
            ..Default::default()
        };
        let answer = self.clients.recall.search(request).await?.into_inner();
        match answer.degradations.first() {
            Some(degradation) => Err(format!("degraded: {}", degradation.message).into()),
            None => Ok(()),
        }
    }
}
