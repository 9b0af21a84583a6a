//! The service that is measured.

use std::path::PathBuf;

use clap::Args;

/// The service to measure.
#[derive(Args, Clone)]
pub struct Target {
    /// Measure this service, such as http://127.0.0.1:50051, instead of starting one.
    #[arg(long, global = true, env = "RECOLLECT_ADDR")]
    pub addr: Option<String>,
    /// API key for --addr.
    #[arg(long, global = true, env = "RECOLLECT_API_KEY", hide_env_values = true)]
    pub api_key: Option<String>,
    /// Database of --addr, for the floors of append and recall. Without it they are left out.
    #[arg(long, global = true)]
    pub database_url: Option<String>,
    /// Start services as operators run them: `recollect serve` and `recollect worker` apart,
    /// with a Postgres of their own, and this Qdrant, such as http://127.0.0.1:6334. Their
    /// collections are removed in the end. Default: `recollect dev`, with the embedded index.
    #[arg(long, global = true, conflicts_with = "addr")]
    pub qdrant: Option<String>,
    /// Workers of each service that is started with --qdrant: 1 or more.
    #[arg(long, global = true, default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    pub workers: u16,
    /// The recollect binary to start. Default: the one in the directory of memory-bench.
    #[arg(long, global = true)]
    pub recollect: Option<PathBuf>,
}

impl Target {
    /// The index of services that are started: `embedded` or `qdrant`.
    pub(crate) fn index(&self) -> &'static str {
        match self.qdrant {
            Some(_) => "qdrant",
            None => "embedded",
        }
    }

    /// How many workers of such a service are processes of their own.
    pub(crate) fn workers_apart(&self) -> u16 {
        match self.qdrant {
            Some(_) => self.workers,
            None => 0,
        }
    }
}
