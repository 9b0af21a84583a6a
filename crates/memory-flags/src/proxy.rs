//! Flags of `recollect proxy`.

use std::net::SocketAddr;
use std::time::Duration;

use clap::{Args, value_parser};

use crate::target::ServerArgs;

/// `recollect proxy`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  recollect proxy
  recollect proxy --upstream http://127.0.0.1:11434 --app chat
  recollect proxy --user ada    for one person, such as in front of a coding agent

An application changes its base URL to http://127.0.0.1:50061/v1 (OpenAI) or
http://127.0.0.1:50061 (Anthropic) and names its user in the header x-recollect-user.
The keys of the providers pass through. docs/proxy.md has the details.")]
pub struct ProxyArgs {
    /// The address that HTTP listens on; port 0 takes a free one.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:50061")]
    pub listen: SocketAddr,
    /// A host name by which requests may reach the proxy, besides localhost and IP addresses;
    /// may be repeated.
    #[arg(long = "host", value_name = "NAME")]
    pub hosts: Vec<String>,
    /// The provider of all requests, instead of both below.
    #[arg(
        long,
        value_name = "URL",
        conflicts_with_all = ["openai_upstream", "anthropic_upstream"]
    )]
    pub upstream: Option<String>,
    /// The provider of all requests but those for Anthropic's API.
    #[arg(long, value_name = "URL", default_value = "https://api.openai.com")]
    pub openai_upstream: String,
    /// The provider of /v1/messages, and of requests with the header anthropic-version.
    #[arg(long, value_name = "URL", default_value = "https://api.anthropic.com")]
    pub anthropic_upstream: String,
    /// The app of requests without the header x-recollect-app.
    #[arg(
        long,
        env = "RECOLLECT_APP",
        value_name = "APP",
        default_value = "default"
    )]
    pub app: String,
    /// The user of requests without the header x-recollect-user. [default: the one that the
    /// request's body names]
    #[arg(long, env = "RECOLLECT_USER", value_name = "USER")]
    pub user: Option<String>,
    /// The longest that a request waits for memory, such as 300ms.
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = time)]
    pub recall_timeout: Duration,
    /// About how many tokens of memory a request gets at most.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 4_000,
        value_parser = value_parser!(u32).range(1..=1_000_000)
    )]
    pub memory_tokens: u32,
    #[command(flatten)]
    pub server: ServerArgs,
}

fn time(text: &str) -> Result<Duration, String> {
    use memory_contract::duration_text::parse_duration;

    let time = parse_duration(text).map_err(|problem| problem.to_string())?;
    match (Duration::from_millis(1)..=Duration::from_secs(60)).contains(&time) {
        true => Ok(time),
        false => Err("must be 1ms to 60s".to_owned()),
    }
}
