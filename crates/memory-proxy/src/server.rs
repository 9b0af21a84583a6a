//! Accepts connections.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use memory_runtime::task;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::handle::Proxy;

/// Until when the headers of a request must have arrived.
const HEADER_TIME: Duration = Duration::from_secs(30);
/// How long answers may go on after the stop.
const DRAIN_TIME: Duration = Duration::from_secs(20);
/// The pause after a connection that could not be accepted, such as for want of open files.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Serves until `stop`; then answers under way end, and turns that wait are stored.
pub async fn serve(listener: TcpListener, proxy: Arc<Proxy>, stop: impl Future<Output = ()>) {
    let (stopping, stopped) = watch::channel(());
    let mut stop = std::pin::pin!(stop);
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = &mut stop => break,
        };
        match accepted {
            Ok((stream, _)) => {
                let connection = connection(stream, Arc::clone(&proxy), stopped.clone());
                task::spawn("proxy_connection", connection);
            }
            Err(error) => {
                tracing::warn!(%error, "a connection cannot be accepted");
                sleep(ACCEPT_PAUSE).await;
            }
        }
    }
    drop((listener, stopped));
    let _ = stopping.send(());
    // Each connection holds a receiver.
    if timeout(DRAIN_TIME, stopping.closed()).await.is_err() {
        tracing::warn!("answers under way were cut off");
    }
    proxy.stop().await;
}

/// Serves one connection. Once the proxy stops, it ends after the answer under way.
async fn connection(stream: TcpStream, proxy: Arc<Proxy>, mut stopped: watch::Receiver<()>) {
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| {
        let proxy = Arc::clone(&proxy);
        async move { Ok::<_, Infallible>(proxy.answer(request).await) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEADER_TIME)
        .serve_connection(TokioIo::new(stream), service);
    let mut connection = std::pin::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        _ = stopped.changed() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended early");
    }
}
