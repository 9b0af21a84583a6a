//! `recollect mcp`.

use memory_mcp::{Fixed, Transport, serve_stdio};

use super::signals::Stop;
use crate::cli::args::McpArgs;
use crate::cli::client::Client;
use crate::cli::failure::Failure;

/// Serves the Model Context Protocol until standard input ends.
///
/// # Errors
/// When an argument is wrong, or the client does not speak the protocol.
pub async fn run(args: McpArgs) -> Result<(), Failure> {
    let mut stop = Stop::listen(false)?;
    let fixed = Fixed::new(args.app, args.user).map_err(Failure::Usage)?;
    let transport = Transport::new(Client::lazy(&args.server)?);
    tokio::select! {
        _ = stop.wait() => Ok(()),
        served = serve_stdio(transport, fixed) => {
            served.map_err(|error| Failure::machine(error.to_string(), ""))
        }
    }
}
