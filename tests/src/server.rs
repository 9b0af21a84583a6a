//! Running the service as its users do: the real binary, its own data directory,
//! its own Postgres.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Condvar, Mutex, OnceLock, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::{Client, Key, recollect_binary};

const START_LIMIT: Duration = Duration::from_secs(60);
const STOP_LIMIT: Duration = Duration::from_secs(30);

/// Servers of their own that run at a time, besides the shared one.
const SLOTS: usize = 3;

static SHARED: OnceLock<(DataDir, Mutex<Option<Server>>, Ready)> = OnceLock::new();
static SLOTS_TAKEN: Mutex<usize> = Mutex::new(0);
static SLOT_FREE: Condvar = Condvar::new();

/// How a server is started.
#[derive(Clone, Debug)]
pub struct Options {
    /// `dev`, `serve` or `worker`.
    pub command: &'static str,
    /// Lines of the configuration file, each a dotted key with its value.
    pub config: Vec<String>,
    /// Environment variables.
    pub env: Vec<(String, String)>,
    /// Further arguments.
    pub args: Vec<String>,
    /// The API keys in the configuration. None: no authentication.
    pub keys: Vec<Key>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            command: "dev",
            config: vec![
                // A worker that was killed holds its lease until it ends.
                "worker.indexer.lease = \"3s\"".to_owned(),
                "telemetry.log_level = \"info\"".to_owned(),
            ],
            env: Vec::new(),
            args: Vec::new(),
            keys: Key::ALL.to_vec(),
        }
    }
}

impl Options {
    /// The defaults with further lines of configuration.
    pub fn with(lines: &[&str]) -> Self {
        let mut options = Self::default();
        options.config.extend(lines.iter().map(|&line| line.into()));
        options
    }

    /// The configuration file.
    fn toml(&self, metrics: Option<&str>) -> String {
        let metrics = metrics.unwrap_or("127.0.0.1:0");
        let keys: String = self.keys.iter().map(|key| key.toml()).collect();
        format!(
            "telemetry.metrics_listen = \"{metrics}\"\n{}\n\n{keys}",
            self.config.join("\n")
        )
    }
}

/// A directory for a server's data, configuration and log. While it lives it
/// holds one of few slots, so that many tests do not start servers at once.
pub struct DataDir {
    dir: TempDir,
    slot: bool,
}

impl DataDir {
    /// An empty directory that root alone can enter.
    #[expect(clippy::new_without_default, reason = "it makes a directory")]
    pub fn new() -> Self {
        let mut taken = SLOTS_TAKEN.lock().unwrap();
        while *taken >= SLOTS {
            taken = SLOT_FREE.wait(taken).unwrap();
        }
        *taken += 1;
        Self {
            dir: temp_dir(),
            slot: true,
        }
    }

    /// The directory around everything.
    pub fn path(&self) -> &Path {
        self.dir.path()
    }

    /// What is given to `--data-dir`.
    pub fn data(&self) -> PathBuf {
        self.dir.path().join("data")
    }

    /// The log of the servers that ran here.
    pub fn log(&self) -> String {
        fs::read_to_string(self.path().join("server.log")).unwrap_or_default()
    }

    /// The process id of the private Postgres.
    pub fn postgres_pid(&self) -> Option<i32> {
        let file = find(&self.data(), "postmaster.pid")?;
        let text = fs::read_to_string(file).ok()?;
        text.lines().next()?.trim().parse().ok()
    }

    /// Kills the private Postgres without a warning.
    pub fn kill_postgres(&self) {
        let pid = self.postgres_pid().expect("Postgres is not running");
        kill(pid, Signal::KILL);
    }

    /// The first file or directory of this name under the data directory.
    pub fn find(&self, name: &str) -> Option<PathBuf> {
        find(&self.data(), name)
    }
}

impl Drop for DataDir {
    fn drop(&mut self) {
        // After kill -9 the private Postgres is nobody's.
        if let Some(pid) = self.postgres_pid() {
            kill(pid, Signal::QUIT);
            let start = Instant::now();
            while self.postgres_pid().is_some() && start.elapsed() < Duration::from_secs(3) {
                thread::sleep(Duration::from_millis(20));
            }
        }
        if self.slot {
            *SLOTS_TAKEN.lock().unwrap() -= 1;
            SLOT_FREE.notify_one();
        }
    }
}

/// Runs a command until standard input ends.
const GUARD: &str = "\"$@\" < /dev/null > /dev/null & pid=$!; echo \"{\\\"pid\\\": $pid}\"; \
     cat > /dev/null; kill -TERM $pid 2> /dev/null; wait $pid";

/// What a server says on its standard output once it is ready.
#[derive(Clone, Debug)]
pub struct Ready {
    /// Where gRPC listens.
    pub addr: String,
    /// Where metrics and readiness listen.
    pub metrics_addr: String,
    /// The server's process id.
    pub pid: i32,
    /// The whole line.
    pub line: Value,
}

/// A running server. It stops when this is dropped, or when the test process
/// ends in any way, because it watches the pipe that is its standard input.
pub struct Server {
    child: Child,
    stdin: Option<ChildStdin>,
    ready: Ready,
}

impl Server {
    /// A caller of the server that most tests share.
    pub async fn shared(key: Key) -> Client {
        Client::new(&Self::shared_ready().addr, key).await
    }

    /// Where the shared server listens.
    pub fn shared_ready() -> &'static Ready {
        let (_, _, ready) = SHARED.get_or_init(|| {
            let dir = DataDir {
                dir: temp_dir(),
                slot: false,
            };
            let server = Self::start(&dir, &Options::default());
            let ready = server.ready.clone();
            (dir, Mutex::new(Some(server)), ready)
        });
        ready
    }

    /// What the shared server has logged.
    pub fn shared_log() -> String {
        SHARED.get().map(|(dir, ..)| dir.log()).unwrap_or_default()
    }

    /// Stops the shared server if it runs.
    pub fn stop_shared() -> Result<(), String> {
        let Some((dir, server, _)) = SHARED.get() else {
            return Ok(());
        };
        let Some(server) = server.lock().unwrap().take() else {
            return Ok(());
        };
        let status = server.stop();
        let _ = fs::remove_dir_all(dir.path());
        if status.success() {
            return Ok(());
        }
        Err(format!("{status}; the end of its log:\n{}", tail(&dir.log())))
    }

    /// Starts a server and waits until it is ready.
    ///
    /// # Panics
    /// If it ends or takes too long; the message has the end of its log.
    pub fn start(dir: &DataDir, options: &Options) -> Self {
        Self::try_start(dir, options).unwrap_or_else(|problem| panic!("{problem}"))
    }

    /// Starts a server and waits until it is ready.
    ///
    /// # Errors
    /// How it ended, with the end of its log.
    pub fn try_start(dir: &DataDir, options: &Options) -> Result<Self, String> {
        let config = dir.path().join(format!("{}.toml", options.command));
        let guarded = options.command != "dev";
        let listen = (options.command == "serve").then(free_addr);
        let metrics = guarded.then(free_addr);
        fs::write(&config, options.toml(metrics.as_deref())).unwrap();
        let log = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(dir.path().join("server.log"))
            .unwrap();
        let mut command = if guarded {
            // These do not watch their standard input: a shell does it for them.
            let mut shell = bare(Path::new("/bin/sh"));
            shell.args(["-c", GUARD, "sh"]).arg(recollect_binary());
            shell
        } else {
            bare(&recollect_binary())
        };
        command.arg(options.command).arg("--config").arg(&config);
        if let Some(addr) = &listen {
            command.args(["--listen", addr]);
        }
        if !guarded {
            command.arg("--data-dir").arg(dir.data());
            command.args(["--listen", "127.0.0.1:0", "--json", "--stop-with-stdin"]);
        }
        let child = command
            .args(&options.args)
            .envs(options.env.iter().map(|(key, value)| (key, value)))
            .current_dir(dir.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(log)
            .spawn()
            .unwrap();
        Self::when_ready(child, listen, metrics).map_err(|problem| {
            format!(
                "recollect {} {problem}; the end of its log:\n{}",
                options.command,
                tail(&dir.log())
            )
        })
    }

    fn when_ready(
        mut child: Child,
        listen: Option<String>,
        metrics: Option<String>,
    ) -> Result<Self, String> {
        let line = first_line(&mut child);
        let mut server = Self {
            stdin: child.stdin.take(),
            child,
            ready: Ready {
                addr: String::new(),
                metrics_addr: String::new(),
                pid: 0,
                line: Value::Null,
            },
        };
        // Dropping the server on an error stops it.
        let line = line?;
        server.ready = Ready {
            addr: listen.clone().unwrap_or_else(|| text(&line, "addr")),
            metrics_addr: metrics.clone().unwrap_or_else(|| text(&line, "metrics_addr")),
            pid: line["pid"].as_i64().and_then(|pid| pid.try_into().ok()).unwrap_or(0),
            line,
        };
        assert!(server.ready.pid > 0, "{:?}", server.ready);
        if let Some(addr) = listen.or(metrics) {
            answers(&addr, server.ready.pid)?;
        }
        Ok(server)
    }

    /// What it said when it was ready.
    pub fn ready(&self) -> &Ready {
        &self.ready
    }

    /// A caller of this server.
    pub async fn client(&self, key: Key) -> Client {
        Client::new(&self.ready.addr, key).await
    }

    /// Ends the process at once, as a crash would.
    pub fn kill(mut self) {
        kill(self.ready.pid, Signal::KILL);
        self.stdin.take();
        self.child.wait().unwrap();
    }

    /// Stops it gracefully, as the end of its terminal would.
    pub fn stop(mut self) -> ExitStatus {
        self.stdin.take();
        self.wait_or_kill()
    }

    /// Stops it gracefully, as Kubernetes would.
    pub fn terminate(mut self) -> ExitStatus {
        kill(self.ready.pid, Signal::TERM);
        let start = Instant::now();
        while runs(self.ready.pid) && start.elapsed() < STOP_LIMIT {
            thread::sleep(Duration::from_millis(20));
        }
        self.stdin.take();
        self.wait_or_kill()
    }

    fn wait_or_kill(&mut self) -> ExitStatus {
        let start = Instant::now();
        while start.elapsed() < STOP_LIMIT {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            thread::sleep(Duration::from_millis(20));
        }
        kill(self.ready.pid, Signal::KILL);
        let _ = self.child.kill();
        self.child.wait().unwrap()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stdin.take();
        self.wait_or_kill();
    }
}

/// Whether a process is there and has not ended.
pub fn runs(pid: i32) -> bool {
    // The state stands behind the name, which is in brackets.
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(['Z', 'X']))
}

/// An address of this machine that nobody listens on.
pub fn free_addr() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

/// Asks the metrics listener for a path; the HTTP status and the body.
pub async fn http_get(addr: &str, path: &str) -> (u16, String) {
    let mut stream = tokio::net::TcpStream::connect(addr).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: {addr}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    let status = answer.split(' ').nth(1).and_then(|code| code.parse().ok());
    let body = answer.split_once("\r\n\r\n").map(|(_, body)| body);
    (status.unwrap_or(0), body.unwrap_or_default().to_owned())
}

/// A command without the settings of whoever runs the tests.
pub(crate) fn bare(program: &Path) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("RECOLLECT_") || text == "DATABASE_URL" || text == "RUST_LOG" {
            command.env_remove(&name);
        }
    }
    command
}

pub(crate) fn kill(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = kill_process(pid, signal);
    }
}

fn temp_dir() -> TempDir {
    tempfile::Builder::new()
        .prefix("recollect-e2e-")
        .tempdir()
        .unwrap()
}

/// The first line of the server's standard output, as JSON. The rest is read
/// and thrown away, so that the server never waits for a full pipe.
fn first_line(child: &mut Child) -> Result<Value, String> {
    let stdout = child.stdout.take().unwrap();
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            let _ = sender.send(line);
        }
    });
    let start = Instant::now();
    loop {
        if let Ok(line) = receiver.recv_timeout(Duration::from_millis(50)) {
            return serde_json::from_str(&line)
                .map_err(|error| format!("said {line:?}, which is no JSON: {error}"));
        }
        if let Some(status) = child.try_wait().unwrap() {
            return Err(format!("ended with {status}"));
        }
        if start.elapsed() > START_LIMIT {
            return Err(format!("was not ready after {START_LIMIT:?}"));
        }
    }
}

/// Waits until somebody listens.
fn answers(addr: &str, pid: i32) -> Result<(), String> {
    let start = Instant::now();
    while std::net::TcpStream::connect(addr).is_err() {
        if !runs(pid) {
            return Err("ended".to_owned());
        }
        if start.elapsed() > START_LIMIT {
            return Err(format!("was not ready after {START_LIMIT:?}"));
        }
        thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

fn text(line: &Value, key: &str) -> String {
    line[key].as_str().unwrap_or_default().to_owned()
}

fn tail(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(30)..].join("\n")
}

fn find(dir: &Path, name: &str) -> Option<PathBuf> {
    let mut below = Vec::new();
    for entry in fs::read_dir(dir).ok()?.filter_map(Result::ok) {
        if entry.file_name() == name {
            return Some(entry.path());
        }
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            below.push(entry.path());
        }
    }
    below.iter().find_map(|dir| find(dir, name))
}
