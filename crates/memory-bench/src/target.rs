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
    /// Let the services that this run starts use this Qdrant, such as
    /// http://127.0.0.1:6334, instead of the embedded index. Their collections are removed
    /// in the end.
    #[arg(long, global = true, conflicts_with = "addr")]
    pub qdrant: Option<String>,
    /// The recollect binary to start. Default: the one in the directory of memory-bench.
    #[arg(long, global = true)]
    pub recollect: Option<PathBuf>,
}
