//! Standard input and output.

use rmcp::serve_server;
use rmcp::service::{QuitReason, ServerInitializeError};
use rmcp::transport::stdio;

use crate::api::Transport;
use crate::owner::Fixed;
use crate::server::MemoryServer;

/// Why serving on standard input and output ended early.
#[derive(Debug, thiserror::Error)]
pub enum StdioError {
    /// The client did not open a session of the protocol.
    #[error("the client does not speak the Model Context Protocol: {0}")]
    Open(String),
    /// The server failed.
    #[error("the server stopped: {0}")]
    Stopped(String),
}

/// Serves on standard input and output until the input ends.
///
/// # Errors
/// If the client does not speak the protocol. An input that ends at once is no error.
pub async fn serve_stdio(transport: Transport, fixed: Fixed) -> Result<(), StdioError> {
    let server = MemoryServer::of_one(transport, fixed);
    let running = match serve_server(server, stdio()).await {
        Ok(running) => running,
        Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
        Err(error) => return Err(StdioError::Open(error.to_string())),
    };
    match running.waiting().await {
        Ok(QuitReason::JoinError(error)) | Err(error) => {
            Err(StdioError::Stopped(error.to_string()))
        }
        Ok(_) => Ok(()),
    }
}
