//! Connections through a proxy that can cut all of them at once.

use std::io;

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A running proxy. It ends when this is dropped.
pub(super) struct Wire {
    /// Where it listens.
    pub(super) addr: String,
    cuts: watch::Sender<u64>,
    task: JoinHandle<()>,
}

impl Wire {
    /// Starts a proxy to an address.
    pub(super) async fn to(target: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let addr = listener.local_addr().unwrap().to_string();
        let cuts = watch::Sender::new(0);
        let (target, cut) = (target.to_owned(), cuts.subscribe());
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let target = target.clone();
                // Cuts before now concern other connections.
                let mut cut = cut.clone();
                cut.mark_unchanged();
                tokio::spawn(async move {
                    tokio::select! {
                        _ = cut.changed() => {}
                        // The end of a connection is no error.
                        _ = connect(client, &target) => {}
                    }
                });
            }
        });
        Self { addr, cuts, task }
    }

    /// Starts a proxy to the host and port of a URL; the URL through the proxy.
    pub(super) async fn to_url(url: &str) -> (Self, String) {
        let (before, rest) = url.split_once('@').unwrap();
        let (target, after) = rest.split_once('/').unwrap();
        let wire = Self::to(target).await;
        let url = format!("{before}@{}/{after}", wire.addr);
        (wire, url)
    }

    /// Ends all connections, whatever is under way.
    pub(super) fn cut(&self) {
        self.cuts.send_modify(|cuts| *cuts += 1);
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        self.task.abort();
        self.cut();
    }
}

async fn connect(mut client: TcpStream, target: &str) -> io::Result<()> {
    let mut server = TcpStream::connect(target).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    copy_bidirectional(&mut client, &mut server).await?;
    Ok(())
}
