//! `recollect proxy`.

use memory_config::TelemetryConfig;
use memory_process::init_telemetry;
use memory_proxy::{Proxy, ProxyConfig, Recollect, Upstreams, serve};
use tokio::net::TcpListener;

use super::signals::Stop;
use crate::cli::args::ProxyArgs;
use crate::cli::client::Client;
use crate::cli::failure::{Failure, chain};

/// Serves the proxy until a signal.
///
/// # Errors
/// When an argument is wrong, or the address cannot be listened on.
pub async fn run(args: ProxyArgs) -> Result<(), Failure> {
    let mut stop = Stop::listen(false)?;
    let _telemetry = init_telemetry(&TelemetryConfig::default())
        .map_err(|error| Failure::machine(chain(&error), ""))?;
    let (openai, anthropic) = match &args.upstream {
        Some(upstream) => (upstream, upstream),
        None => (&args.openai_upstream, &args.anthropic_upstream),
    };
    let config = ProxyConfig {
        upstreams: Upstreams::new(openai, anthropic).map_err(Failure::Usage)?,
        hosts: args.hosts,
        app: args.app,
        user: args.user,
        recall_timeout: args.recall_timeout,
        memory_tokens: args.memory_tokens,
    };
    let (channel, key) = Client::channel(&args.server)?;
    let proxy = Proxy::start(config, Recollect::new(channel, key))
        .map_err(|problem| Failure::machine(problem, ""))?;
    let cannot = |error| {
        Failure::machine(
            format!("cannot listen on {}: {}", args.listen, chain(&error)),
            "Choose another address with --listen.",
        )
    };
    let listener = TcpListener::bind(args.listen).await.map_err(cannot)?;
    let address = listener.local_addr().map_err(cannot)?;
    if !address.ip().is_loopback() {
        tracing::warn!(
            %address,
            "anyone who reaches this address can read every user's memory by naming the user"
        );
    }
    println!("Listening on http://{address}");
    serve(listener, proxy, async move {
        let reason = stop.wait().await;
        tracing::info!(reason, "stopping");
    })
    .await;
    Ok(())
}
