//! Ports that are bound before anything else starts.

use std::net::SocketAddr;

use tokio::net::TcpListener;

use crate::error::ServerError;

/// A bound port and its address.
pub(crate) type Listener = (TcpListener, SocketAddr);

pub(crate) async fn bind(key: &'static str, addr: SocketAddr) -> Result<Listener, ServerError> {
    let bound = async {
        let listener = TcpListener::bind(addr).await?;
        let addr = listener.local_addr()?;
        Ok((listener, addr))
    };
    bound
        .await
        .map_err(|source| ServerError::Bind { key, addr, source })
}
