//! A proxy between a server and Postgres that removes conditions on the tenant from queries.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// The condition of every query, as memory-store writes it.
const CONDITION: &str = "tenant_id = $1";
/// What replaces it. It is true, and the parameter keeps its type.
const TRUE: &str = "$1::text IS NOT NULL";
/// The first message of the protocol that is not about encryption.
const STARTUP: u32 = 196_608;

/// A running proxy. It ends when this is dropped.
pub(super) struct PostgresProxy {
    /// The database's URL through the proxy.
    pub(super) url: String,
    rewritten: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl PostgresProxy {
    /// Starts a proxy to the database at a URL with a host and a port.
    pub(super) async fn start(url: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (before, rest) = url.split_once('@').unwrap();
        let (target, database) = rest.split_once('/').unwrap();
        let url = format!("{before}@{}/{database}", listener.local_addr().unwrap());
        let (target, rewritten) = (target.to_owned(), Arc::new(AtomicUsize::new(0)));
        let counter = Arc::clone(&rewritten);
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (target, counter) = (target.clone(), Arc::clone(&counter));
                tokio::spawn(async move {
                    // The end of a connection is no error.
                    let _ = connect(client, &target, &counter).await;
                });
            }
        });
        Self {
            url,
            rewritten,
            task,
        }
    }

    /// How many queries were changed.
    pub(super) fn rewritten(&self) -> usize {
        self.rewritten.load(Ordering::Relaxed)
    }
}

impl Drop for PostgresProxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn connect(client: TcpStream, target: &str, counter: &AtomicUsize) -> io::Result<()> {
    let server = TcpStream::connect(target).await?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (from_client, mut to_client) = client.into_split();
    let (mut from_server, to_server) = server.into_split();
    let answers = tokio::spawn(async move { copy(&mut from_server, &mut to_client).await });
    let forwarded = forward(from_client, to_server, counter).await;
    answers.abort();
    forwarded
}

/// Forwards the messages of the client until it ends the connection.
async fn forward(
    mut from: OwnedReadHalf,
    mut to: OwnedWriteHalf,
    counter: &AtomicUsize,
) -> io::Result<()> {
    loop {
        let body = body(&mut from).await?;
        send(&mut to, None, &body).await?;
        if body.starts_with(&STARTUP.to_be_bytes()) {
            break;
        }
    }
    loop {
        let kind = from.read_u8().await?;
        let mut body = body(&mut from).await?;
        if kind == b'P'
            && let Some(rewritten) = rewrite(&body)
        {
            counter.fetch_add(1, Ordering::Relaxed);
            body = rewritten;
        }
        send(&mut to, Some(kind), &body).await?;
    }
}

async fn body(from: &mut OwnedReadHalf) -> io::Result<Vec<u8>> {
    let length = from.read_u32().await? as usize;
    let mut body = vec![0; length.saturating_sub(4)];
    from.read_exact(&mut body).await?;
    Ok(body)
}

async fn send(to: &mut OwnedWriteHalf, kind: Option<u8>, body: &[u8]) -> io::Result<()> {
    let mut message = Vec::with_capacity(body.len() + 5);
    message.extend(kind);
    message.extend((body.len() as u32 + 4).to_be_bytes());
    message.extend(body);
    to.write_all(&message).await
}

/// The message that prepares a statement, with a changed query. None: nothing to change.
fn rewrite(body: &[u8]) -> Option<Vec<u8>> {
    let mut parts = body.splitn(3, |byte| *byte == 0);
    let (name, query, rest) = (parts.next()?, parts.next()?, parts.next()?);
    let query = without_conditions(std::str::from_utf8(query).ok()?)?;
    Some([name, query.as_bytes(), rest].join(&0))
}

/// A query without its conditions on the tenant. None: it has none.
fn without_conditions(query: &str) -> Option<String> {
    let mut pieces = query.split(CONDITION);
    let mut changed = pieces.next()?.to_owned();
    let mut found = false;
    for piece in pieces {
        if piece.starts_with(|next: char| next.is_ascii_digit()) {
            // Another parameter, such as $12.
            changed.push_str(CONDITION);
        } else {
            // The name of the table, as in `m.tenant_id`.
            let qualifier = |last: char| last == '.' || last == '_' || last.is_ascii_alphanumeric();
            changed.truncate(changed.trim_end_matches(qualifier).len());
            changed.push_str(TRUE);
            found = true;
        }
        changed.push_str(piece);
    }
    found.then_some(changed)
}
