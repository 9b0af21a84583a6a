//! A listener for axum, within bounds.

use std::io;
use std::net::SocketAddr;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::serve::Listener;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::WaitForCancellationFutureOwned;

use super::accept;
use super::admission::{Admission, Bounds, Place};

/// Connections at a time.
const CONNECTIONS: usize = 256;

/// Listens for short requests, such as those of probes and of Prometheus: beyond 256 connections,
/// the oldest is closed for a new one.
pub struct BoundedListener {
    listener: TcpListener,
    admission: Admission,
}

/// A connection that closes when its place is needed.
pub struct Short {
    connection: TcpStream,
    close: Pin<Box<WaitForCancellationFutureOwned>>,
    _place: Place,
}

impl BoundedListener {
    /// Bounds the connections of a listener; `name` is the label `listener` of its metrics.
    pub fn new(name: &'static str, listener: TcpListener) -> Self {
        let bounds = Bounds {
            all: CONNECTIONS,
            of_address: CONNECTIONS,
            idle: CONNECTIONS,
        };
        Self {
            listener,
            admission: Admission::new(name, bounds),
        }
    }
}

impl Listener for BoundedListener {
    type Io = Short;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Short, SocketAddr) {
        loop {
            let (connection, address) = accept(&self.listener).await;
            if let Some(place) = self.admission.admit(address.ip()) {
                let short = Short {
                    connection,
                    close: Box::pin(place.close().clone().cancelled_owned()),
                    _place: place,
                };
                return (short, address);
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

impl Short {
    /// Fails if its place is needed.
    fn check(&mut self, cx: &mut Context<'_>) -> io::Result<()> {
        match self.close.as_mut().poll(cx) {
            Poll::Ready(()) => Err(io::ErrorKind::ConnectionAborted.into()),
            Poll::Pending => Ok(()),
        }
    }
}

impl AsyncRead for Short {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        self.check(cx)?;
        Pin::new(&mut self.connection).poll_read(cx, buffer)
    }
}

impl AsyncWrite for Short {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        data: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check(cx)?;
        Pin::new(&mut self.connection).poll_write(cx, data)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.check(cx)?;
        Pin::new(&mut self.connection).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.connection).poll_shutdown(cx)
    }
}
