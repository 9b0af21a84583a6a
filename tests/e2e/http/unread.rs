//! An answer that its client does not read.

use memory_contract::proto::Role;
use recollect_tests::{Key, Options, SOON, Server, apply, eventually, say, trial_with_own_server};
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpSocket;

const HEAD: &[u8] = b"HTTP/1.1 200 OK";

#[apply(trial_with_own_server)]
async fn a_connection_whose_client_reads_nothing_is_closed() {
    let (_dir, server, client) = Server::start_own(&Options::with(&[
        "embedding.kind = \"none\"",
        "server.call_timeout = \"5m\"",
        "server.stream_idle_timeout = \"5s\"",
    ]))
    .await;
    let thread_id = client.thread("app").await;
    // In JSON two have 3 MB: more than the buffers of the connection take.
    let text = "\u{1}".repeat(250_000);
    for _ in 0..2 {
        let message = say(Role::User, &text);
        client.append(&thread_id, vec![message]).await;
    }

    let addr = server.ready().addr.clone();
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4_096).unwrap();
    let mut unread = socket.connect(addr.parse().unwrap()).await.unwrap();
    let body =
        json!({"target": {"thread": {"thread_id": thread_id}}, "page_size": 100}).to_string();
    let request = format!(
        "POST /recollect.v1.MessageService/ListMessages HTTP/1.1\r\nhost: {addr}\r\n\
         authorization: Bearer {}\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        Key::Acme.secret(),
        body.len()
    );
    unread.write_all(request.as_bytes()).await.unwrap();
    let mut head = [0; HEAD.len()];
    unread.read_exact(&mut head).await.unwrap();
    assert_eq!(head, HEAD);

    // A server that has closed the connection answers further bytes with a reset.
    unread.write_all(b"\r\n").await.unwrap();
    let unread = tokio::sync::Mutex::new(unread);
    eventually("the connection is closed", SOON, async || {
        unread.lock().await.write_all(b"\r\n").await.is_err()
    })
    .await;
}
