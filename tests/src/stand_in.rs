//! Runs the HTTP servers that stand in for others.

use std::net::SocketAddr;
use std::sync::mpsc;
use std::thread::JoinHandle;

use axum::Router;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

/// A running server, which ends when it is dropped.
pub(crate) struct StandIn {
    pub(crate) addr: SocketAddr,
    stop: Option<(oneshot::Sender<()>, JoinHandle<()>)>,
}

impl StandIn {
    /// Listens at an address; the port 0 is a free one.
    pub(crate) fn start(addr: SocketAddr, routes: Router) -> Self {
        let (sender, receiver) = mpsc::channel();
        let (stop, stopped) = oneshot::channel::<()>();
        // On a separate thread: a test that waits for a process must not keep
        // it from answering.
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                let listener = TcpListener::bind(addr).await.unwrap();
                sender.send(listener.local_addr().unwrap()).unwrap();
                tokio::select! {
                    served = axum::serve(listener, routes) => served.unwrap(),
                    _ = stopped => {}
                }
            });
        });
        Self {
            addr: receiver.recv().unwrap(),
            stop: Some((stop, thread)),
        }
    }

    /// Listens at a free port of this machine.
    pub(crate) fn on_free_port(routes: Router) -> Self {
        Self::start(SocketAddr::from(([127, 0, 0, 1], 0)), routes)
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.stop.take() {
            let _ = stop.send(());
            let _ = thread.join();
        }
    }
}
