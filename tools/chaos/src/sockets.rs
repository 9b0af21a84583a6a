//! Sockets that send no request: a byte each, a header that never ends, the preface of HTTP/2, and
//! resets, from four addresses. Callers from another one are answered as before, and the server's
//! memory stays as it is.

use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use memory_contract::proto::GetServerInfoRequest;
use memory_runtime::raise_open_files;
use recollect_tests::{Client, DataDir, HTTP_2_GREETING, Key, Options, Server};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use super::memory::Memory;
use super::progress::Progress;
use super::report::Report;

/// Pause between two calls.
const CALL_PAUSE: Duration = Duration::from_millis(50);
/// Longest time of nearly all calls.
const CALL_LIMIT: Duration = Duration::from_millis(100);
/// What a server may take more, in MiB: buffers of its connections.
const MORE_MEMORY: u64 = 64;
/// A socket is opened again after it was closed and this pause.
const REOPEN: Duration = Duration::from_secs(1);
/// Addresses that sockets are opened from.
const SOURCES: usize = 4;
/// Tasks that open and reset connections.
const RESETTERS: usize = 16;

/// What to do.
#[derive(Clone, Copy, Debug)]
pub struct Sockets {
    /// Only named in the report.
    pub seed: u64,
    /// Sockets that are open at a time.
    pub count: usize,
    /// How long each kind of socket is there.
    pub time: Duration,
}

#[derive(Clone, Copy)]
enum Kind {
    Byte,
    SlowHeaders,
    Preface,
    Resets,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Byte => "a byte each",
            Self::SlowHeaders => "slow headers",
            Self::Preface => "the preface of HTTP/2",
            Self::Resets => "resets",
        }
    }
}

/// Opens sockets under a caller.
///
/// # Panics
/// If the server does not start.
pub async fn sockets(dir: DataDir, options: &Sockets, progress: &Progress) -> Report {
    let mut report = Report::new("sockets", options.seed);
    raise_open_files();
    progress.say("sockets: starting a server");
    let server = Server::start(&dir, &Options::default());
    let addr = server.ready().addr.clone();
    let old = server.client(Key::Acme).await;
    let memory = Memory::watch(server.ready().pid);
    call(&old).await;
    sleep(Duration::from_secs(2)).await;
    let before = memory.peak(Instant::now() - Duration::from_secs(1), Instant::now());
    report.figure("resident MiB before", before);
    for kind in [Kind::Byte, Kind::SlowHeaders, Kind::Preface, Kind::Resets] {
        let name = kind.name();
        progress.say(format!("sockets: {name}"));
        let begin = Instant::now();
        let opened = Arc::new(AtomicUsize::new(0));
        let attackers = attack(kind, &addr, options.count, &opened);
        let (mut times, mut failed) = (Vec::new(), 0);
        while begin.elapsed() < options.time {
            sleep(CALL_PAUSE).await;
            // On a connection of its own, and on one that was there before.
            let started = Instant::now();
            let answered = timeout(Duration::from_secs(10), async {
                let new = Client::new(&addr, Key::Acme).await;
                call(&new).await && call(&old).await
            });
            match answered.await {
                Ok(true) => times.push(started.elapsed()),
                Ok(false) | Err(_) => failed += 1,
            }
        }
        drop(attackers);
        times.sort();
        let nearly_all = times.get(times.len() * 99 / 100).copied();
        let nearly_all = nearly_all.unwrap_or(Duration::MAX);
        report.figure(
            format!("{name}: sockets opened"),
            opened.load(Ordering::Relaxed),
        );
        report.figure(format!("{name}: calls"), times.len());
        report.zero(format!("{name}: calls that failed"), failed);
        report.limited(
            format!("{name}: p99 of two calls and a connection, ms"),
            nearly_all.as_secs_f64() * 1_000.0,
            format!("≤ {}", CALL_LIMIT.as_millis()),
            nearly_all <= CALL_LIMIT,
        );
        let peak = memory.peak(begin, Instant::now());
        let most = before + MORE_MEMORY;
        report.limited(
            format!("{name}: resident MiB"),
            peak,
            format!("≤ {most}"),
            peak <= most,
        );
        sleep(Duration::from_secs(1)).await;
    }
    report
}

async fn call(client: &Client) -> bool {
    let mut admin = client.admin();
    admin.get_server_info(GetServerInfoRequest {}).await.is_ok()
}

/// Sockets that are there until the result is dropped.
fn attack(kind: Kind, addr: &str, count: usize, opened: &Arc<AtomicUsize>) -> JoinSet<()> {
    let tasks = match kind {
        Kind::Byte | Kind::SlowHeaders | Kind::Preface => count,
        Kind::Resets => RESETTERS,
    };
    let mut attackers = JoinSet::new();
    let addr: SocketAddr = addr.parse().unwrap();
    for number in 0..tasks {
        // The callers have 127.0.0.1.
        let source = Ipv4Addr::new(127, 0, 0, 2 + (number % SOURCES) as u8);
        let opened = Arc::clone(opened);
        attackers.spawn(async move {
            loop {
                if let Ok(socket) = connect(source, addr).await {
                    opened.fetch_add(1, Ordering::Relaxed);
                    hold(kind, socket).await;
                }
                if !matches!(kind, Kind::Resets) {
                    sleep(REOPEN).await;
                }
            }
        });
    }
    attackers
}

async fn connect(source: Ipv4Addr, addr: SocketAddr) -> io::Result<TcpStream> {
    let socket = TcpSocket::new_v4()?;
    socket.bind((source, 0).into())?;
    socket.connect(addr).await
}

/// Keeps a socket until the server closes it.
async fn hold(kind: Kind, mut socket: TcpStream) {
    match kind {
        Kind::Byte => {
            let _ = socket.write_all(b"P").await;
            let _ = socket.readable().await;
        }
        Kind::SlowHeaders => {
            let _ = socket.write_all(b"POST / HTTP/1.1\r\nx-slow: ").await;
            while socket.write_all(b"a").await.is_ok() {
                sleep(Duration::from_secs(1)).await;
            }
        }
        Kind::Preface => {
            let _ = socket.write_all(HTTP_2_GREETING).await;
            let mut read = [0; 256];
            while matches!(socket.read(&mut read).await, Ok(1..)) {}
        }
        // Closing sends a reset, because the answer was not read.
        Kind::Resets => {
            let _ = socket.set_zero_linger();
        }
    }
}
