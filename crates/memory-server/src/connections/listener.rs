//! A listener for axum, within bounds.

use std::io;
use std::net::SocketAddr;

use axum::serve::Listener;
use tokio::net::{TcpListener, TcpStream};

use super::accept;
use super::admission::{Admission, Bounds};
use super::connection::Connection;

/// Connections at a time.
const CONNECTIONS: usize = 256;

/// Listens for short requests, such as those of probes and of Prometheus: beyond 256 connections,
/// the oldest is closed for a new one.
pub struct BoundedListener {
    listener: TcpListener,
    admission: Admission,
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
    type Io = Connection<TcpStream>;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Connection<TcpStream>, SocketAddr) {
        loop {
            let (connection, address) = accept(&self.listener).await;
            if let Some(place) = self.admission.admit(address.ip()) {
                return (Connection::unhurried(connection, place), address);
            }
        }
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}
