//! Flags of `recollect health`.

use std::net::SocketAddr;
use std::time::Duration;

use clap::Args;
use memory_contract::duration_text::parse_duration;

/// `recollect health`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  recollect health
  recollect health --service all
  recollect health --service recollect.v1.MemoryService --addr https://memory.example
  recollect health --ready 127.0.0.1:9464     for a worker, which has no gRPC

A server that accepts calls is serving even while Postgres is away: its calls fail with
UNAVAILABLE, and the services that need the database are reported as not serving. It needs
no API key.

Exit codes: 0 serving, 1 not serving, 3 no answer, 4 no such service.")]
pub struct HealthArgs {
    /// Ask for this service, by its full name, instead of the whole server; may be
    /// repeated; `all` means each.
    #[arg(long = "service", value_name = "NAME", conflicts_with = "ready")]
    pub services: Vec<String>,
    /// Ask /readyz of this metrics address over HTTP instead of gRPC. An unspecified
    /// address, such as `0.0.0.0:9464`, means this machine.
    #[arg(long, value_name = "ADDR")]
    pub ready: Option<SocketAddr>,
    /// How long to wait for an answer.
    #[arg(long, value_name = "DURATION", default_value = "3s", value_parser = parse_duration)]
    pub timeout: Duration,
    /// The server's gRPC address.
    #[arg(
        long,
        env = "RECOLLECT_ADDR",
        default_value = "http://127.0.0.1:50051",
        value_name = "URL",
        help_heading = "Server"
    )]
    pub addr: String,
    /// Print one JSON object a service: `service`, `status`.
    #[arg(long)]
    pub json: bool,
}
