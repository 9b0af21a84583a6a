//! Connections that send no request.

use std::time::{Duration, Instant};

use memory_contract::proto::GetServerInfoRequest;
use recollect_tests::{
    HTTP_2_GREETING, Key, Options, Server, apply, http_get, trial_with_own_server,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// More than the server takes of one address.
const SOCKETS: usize = 300;
/// The server's limit of a connection without a request, twice over.
const CLOSED: Duration = Duration::from_secs(20);

async fn open(address: &str, sent: &[u8]) -> Vec<TcpStream> {
    let mut sockets = Vec::new();
    for _ in 0..SOCKETS {
        let mut socket = TcpStream::connect(address).await.unwrap();
        // One that the server closed already has made room for another.
        let _ = socket.write_all(sent).await;
        sockets.push(socket);
    }
    sockets
}

async fn all_close(sockets: Vec<TcpStream>) {
    let begin = Instant::now();
    for mut socket in sockets {
        let left = CLOSED.saturating_sub(begin.elapsed());
        let read = timeout(left, socket.read_to_end(&mut Vec::new())).await;
        assert!(read.is_ok(), "a socket without a request stays open");
    }
}

#[apply(trial_with_own_server)]
async fn sockets_that_send_no_whole_request_close_and_keep_no_caller_out() {
    let lines = [
        "server.max_connections = 100",
        "server.max_connections_per_address = 64",
    ];
    let (_dir, server, client) = Server::start_own(&Options::with(&lines)).await;
    let addr = server.ready().addr.clone();
    let mut sockets = Vec::new();
    for sent in [&b""[..], b"P", b"POST / HTTP/1.1\r\nhost: recollect\r\n"] {
        sockets.extend(open(&addr, sent).await);
        // A caller that was there before, and a new one.
        client.call(GetServerInfoRequest {}).await;
        let begin = Instant::now();
        let new = server.client(Key::Acme).await;
        new.call(GetServerInfoRequest {}).await;
        // Sockets close by themselves after 10 s.
        assert!(begin.elapsed() < Duration::from_secs(9));
    }
    all_close(sockets).await;
    // Connections of HTTP/2 stay open without a request; clients connect in spite of them.
    let waiting = open(&addr, HTTP_2_GREETING).await;
    client.call(GetServerInfoRequest {}).await;
    let new = server.client(Key::Acme).await;
    new.call(GetServerInfoRequest {}).await;
    drop(waiting);
    client.call(GetServerInfoRequest {}).await;
}

#[apply(trial_with_own_server)]
async fn idle_sockets_at_the_metrics_keep_no_probe_out() {
    let (_dir, server, _client) = Server::start_own(&Options::default()).await;
    let addr = server.ready().metrics_addr.clone();
    let _sockets = open(&addr, b"G").await;
    let (status, _) = http_get(&addr, "/readyz").await;
    assert_eq!(status, 200);
    let (_, metrics) = http_get(&addr, "/metrics").await;
    assert!(
        metrics.contains("recollect_connections{listener=\"metrics\"} 256"),
        "{metrics}"
    );
    let evicted = "recollect_connections_closed_total{listener=\"metrics\",reason=\"evicted\"} ";
    assert!(metrics.contains(evicted), "{metrics}");
}
