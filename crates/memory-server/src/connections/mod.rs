//! Accepts connections, within bounds.

mod admission;
mod connection;
mod listener;

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures::{Stream, StreamExt as _};
use memory_runtime::{open_files, task};
use rustls::ServerConfig as RustlsConfig;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::either::Either;
use tokio_util::sync::CancellationToken;

use self::admission::{Admission, Bounds};
pub(crate) use self::admission::{Place, describe_metrics};
use self::connection::Connection;
pub use self::listener::BoundedListener;
use crate::config::ServerConfig;
use crate::tls;

/// Connections without a request at a time.
const IDLE: usize = 1_024;
/// A client that has not completed the handshake of TLS by then is disconnected.
const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(5);
/// Accepted connections that wait to be served.
const ACCEPTED: usize = 64;
/// Pause after an error that is about all connections, such as too many open files.
const ERROR_PAUSE: Duration = Duration::from_millis(100);

const TCP_KEEPALIVE: Duration = Duration::from_secs(60);

/// A connection in the clear or with TLS.
type Transport = Either<TcpStream, Box<TlsStream<TcpStream>>>;

/// How connections are accepted.
#[derive(Clone)]
pub(crate) struct Acceptor {
    admission: Admission,
    tls: Option<watch::Receiver<Arc<RustlsConfig>>>,
    unread_limit: Duration,
}

impl Acceptor {
    pub(crate) fn new(
        config: &ServerConfig,
        tls: Option<watch::Receiver<Arc<RustlsConfig>>>,
    ) -> Self {
        let bounds = Bounds {
            // Postgres, the index and files need some too.
            all: config.max_connections.min(open_files() / 4 * 3),
            of_address: config.max_connections_per_address,
            idle: IDLE,
        };
        Self {
            admission: Admission::new("grpc", bounds),
            tls,
            unread_limit: config.stream_idle_timeout,
        }
    }

    /// Connections that are ready to be served, until `stop`.
    pub(crate) fn incoming(
        self,
        listener: TcpListener,
        stop: CancellationToken,
    ) -> impl Stream<Item = io::Result<Connection<Transport>>> {
        let (ready, mut accepted) = mpsc::channel(ACCEPTED);
        task::spawn("accept", async move {
            let accepting = async {
                loop {
                    let (connection, address) = accept(&listener).await;
                    let Some(place) = self.admission.admit(address.ip()) else {
                        continue;
                    };
                    task::spawn(
                        "connect",
                        self.clone().begin(connection, place, ready.clone()),
                    );
                }
            };
            tokio::select! {
                () = stop.cancelled() => {}
                () = ready.closed() => {}
                () = accepting => {}
            }
        });
        futures::stream::poll_fn(move |cx| accepted.poll_recv(cx)).map(Ok)
    }

    /// Begins a connection: with the handshake of TLS, if that is configured.
    async fn begin(
        self,
        connection: TcpStream,
        place: Place,
        ready: mpsc::Sender<Connection<Transport>>,
    ) {
        let transport = match &self.tls {
            None => Either::Left(connection),
            Some(tls) => {
                let acceptor = TlsAcceptor::from(Arc::clone(&tls.borrow()));
                let handshake = timeout(HANDSHAKE_TIMEOUT, acceptor.accept(connection));
                let shaken = tokio::select! {
                    () = place.close().cancelled() => Err("the room was needed".to_owned()),
                    shaken = handshake => match shaken {
                        Ok(Ok(stream)) => Ok(stream),
                        Ok(Err(error)) => Err(error.to_string()),
                        Err(_) => Err("it took too long".to_owned()),
                    },
                };
                match shaken {
                    Ok(stream) => Either::Right(Box::new(stream)),
                    Err(problem) => return tls::handshake_failed(&problem),
                }
            }
        };
        // The receiver is gone when the server stops.
        let _ = ready
            .send(Connection::new(transport, place, self.unread_limit))
            .await;
    }
}

/// Accepts a connection. An error of one connection is passed over; after another one it pauses,
/// because it would come again at once.
async fn accept(listener: &TcpListener) -> (TcpStream, SocketAddr) {
    loop {
        let error = match listener.accept().await {
            Ok((connection, address)) => match set_options(&connection) {
                Ok(()) => return (connection, address),
                // The client is gone.
                Err(_) => continue,
            },
            Err(error) => error,
        };
        if !matches!(
            error.kind(),
            io::ErrorKind::ConnectionAborted
                | io::ErrorKind::ConnectionRefused
                | io::ErrorKind::ConnectionReset
                | io::ErrorKind::Interrupted
        ) {
            tracing::warn!(%error, "no connection can be accepted; the server tries again");
            sleep(ERROR_PAUSE).await;
        }
    }
}

/// Sends at once, and notices a client that is gone without having closed the connection.
fn set_options(connection: &TcpStream) -> io::Result<()> {
    connection.set_nodelay(true)?;
    let keepalive = socket2::TcpKeepalive::new().with_time(TCP_KEEPALIVE);
    socket2::SockRef::from(connection).set_tcp_keepalive(&keepalive)
}
