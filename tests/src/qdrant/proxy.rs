//! A proxy to a real Qdrant that can fail.

use std::net::SocketAddr;

use memory_test_qdrant::Fault;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;

/// A running proxy. It ends when this is dropped.
pub(super) struct Proxy {
    address: SocketAddr,
    fault: watch::Sender<Fault>,
    task: JoinHandle<()>,
}

impl Proxy {
    /// Starts a proxy to the server at an address such as `http://localhost:6334`.
    pub(super) async fn start(url: &str) -> Self {
        let target = url.split_once("://").map_or(url, |(_, rest)| rest);
        let target = target.trim_end_matches('/').to_owned();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (fault, faults) = watch::channel(Fault::None);
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(connect(client, target.clone(), faults.clone()));
            }
        });
        Self {
            address,
            fault,
            task,
        }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Ends all connections; later ones have the fault.
    pub(super) fn set_fault(&self, fault: Fault) {
        assert!(
            matches!(fault, Fault::None | Fault::Unavailable | Fault::Slow(_)),
            "a real Qdrant has no such fault: {fault:?}"
        );
        self.fault.send_replace(fault);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn connect(mut client: TcpStream, target: String, mut faults: watch::Receiver<Fault>) {
    let fault = faults.borrow_and_update().clone();
    let forward = async {
        match fault {
            Fault::Unavailable => return,
            Fault::Slow(pause) => sleep(pause).await,
            _ => {}
        }
        if let Ok(mut server) = TcpStream::connect(target).await {
            let _ = client.set_nodelay(true);
            let _ = server.set_nodelay(true);
            // The end of a connection is no error.
            let _ = copy_bidirectional(&mut client, &mut server).await;
        }
    };
    tokio::select! {
        () = forward => {}
        _ = faults.changed() => {}
    }
}
