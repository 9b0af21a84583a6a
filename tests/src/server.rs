//! Runs the service as users do: the real binary with its own data directory and
//! Postgres.

use std::ffi::OsString;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{OnceLock, mpsc};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::postgres::bin_dir;
use crate::process::{bare_command, send_signal};
use crate::{Client, DataDir, Key, clusters, free_addr, recollect_binary, runs};

const START_LIMIT: Duration = Duration::from_secs(60);
const STOP_LIMIT: Duration = Duration::from_secs(120);
const DROP_LIMIT: Duration = Duration::from_secs(3);
const PAUSE: Duration = Duration::from_millis(10);

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
    /// A program with arguments that executes the command that follows. Empty: none.
    pub under: Vec<String>,
    /// The API keys in the configuration. None: no authentication.
    pub keys: Vec<Key>,
    /// Only for `dev`: without a configuration file and without `--data-dir`.
    pub bare: bool,
    /// Only for `serve`: where it listens. None: a free port.
    pub listen: Option<String>,
    /// Only for `dev`: makes a new cluster of Postgres in an empty data directory, instead of
    /// a copy of a migrated one.
    pub new_cluster: bool,
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
            under: Vec::new(),
            keys: Key::ALL.to_vec(),
            bare: false,
            listen: None,
            new_cluster: false,
        }
    }
}

/// The model of a test's own server that sets nothing of `embedding`: it loads in a quarter of the
/// default model's time. The shared server has the default model. A question is waited for on a busy
/// machine.
const SMALL_MODEL: &str =
    "embedding.model = \"all-minilm-l6-v2\"\nembedding.query_timeout = \"20s\"";

impl Options {
    /// The defaults with further lines of configuration.
    pub fn with(lines: &[&str]) -> Self {
        let mut options = Self::default();
        options.config.extend(lines.iter().map(|&line| line.into()));
        options
    }

    /// `serve` on an external database.
    pub fn serve(database_url: &str, lines: &[&str]) -> Self {
        let options = Self {
            command: "serve",
            ..Self::with(lines)
        };
        options.env("DATABASE_URL", database_url)
    }

    /// Sets an environment variable.
    pub fn env(mut self, name: &str, value: &str) -> Self {
        self.env.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Adds a line of configuration.
    pub fn line(mut self, line: String) -> Self {
        self.config.push(line);
        self
    }

    /// Keeps an index in a directory.
    pub fn index(self, dir: &DataDir, name: &str) -> Self {
        let path = dir.path().join(name);
        self.line(format!("index.path = \"{}\"", path.display()))
    }

    /// Keeps objects in a directory.
    pub fn objects(self, dir: &DataDir) -> Self {
        let path = dir.path().join("objects");
        self.line(format!("objects.url = \"file://{}\"", path.display()))
    }

    /// Without workers. An embedded index needs one, so the index is unavailable.
    pub fn without_worker(mut self) -> Self {
        self.args.push("--no-worker".to_owned());
        self.line("index.url = \"http://127.0.0.1:1\"".to_owned())
    }

    /// The configuration file.
    fn toml(&self, metrics: Option<&str>) -> String {
        let metrics = metrics.unwrap_or("127.0.0.1:0");
        let keys: String = self.keys.iter().map(|key| key.toml()).collect();
        let is_model = |line: &String| line.starts_with("embedding.");
        let model = match self.config.iter().any(is_model) {
            true => "",
            false => SMALL_MODEL,
        };
        format!(
            "telemetry.metrics_listen = \"{metrics}\"\n{model}\n{}\n\n{keys}",
            self.config.join("\n")
        )
    }
}

/// Runs a command until standard input ends.
pub const GUARD: &str = "\"$@\" < /dev/null > /dev/null & pid=$!; echo \"{\\\"pid\\\": $pid}\"; \
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
    /// Starts a server and waits until it is ready.
    ///
    /// # Panics
    /// If it ends or takes too long; the message has the end of its log.
    pub fn start(dir: &DataDir, options: &Options) -> Self {
        Self::try_start(dir, options).unwrap_or_else(|problem| panic!("{problem}"))
    }

    /// Starts a server in a new directory. Returns the directory, the server, and its
    /// administrator's client.
    pub async fn start_own(options: &Options) -> (DataDir, Self, Client) {
        let dir = DataDir::new();
        let server = Self::start(&dir, options);
        let client = server.client(Key::Acme).await;
        (dir, server, client)
    }

    /// Starts a server and waits until it is ready.
    ///
    /// # Errors
    /// How it ended, with the end of its log.
    pub fn try_start(dir: &DataDir, options: &Options) -> Result<Self, String> {
        let started = Self::try_start_once(dir, options);
        match &started {
            // Another process took a port after it was found free.
            Err(problem)
                if options.listen.is_none() && problem.contains("Address already in use") =>
            {
                Self::try_start_once(dir, options)
            }
            _ => started,
        }
    }

    fn try_start_once(dir: &DataDir, options: &Options) -> Result<Self, String> {
        let config = dir.path().join(format!("{}.toml", options.command));
        let guarded = options.command != "dev";
        if !guarded && !options.bare && !options.new_cluster {
            put_cluster_into(&dir.data());
        }
        let listen =
            (options.command == "serve").then(|| options.listen.clone().unwrap_or_else(free_addr));
        let metrics = guarded.then(free_addr);
        if !options.bare {
            fs::write(&config, options.toml(metrics.as_deref())).unwrap();
        }
        let log = fs::OpenOptions::new()
            .create(true)
            .append(true)
            .open(dir.path().join("server.log"))
            .unwrap();
        // These do not watch their standard input: a shell does it for them.
        let shell = ["/bin/sh", "-c", GUARD, "sh"].map(OsString::from);
        let mut words = Vec::from_iter(shell.into_iter().filter(|_| guarded));
        words.extend(options.under.iter().map(OsString::from));
        words.push(recollect_binary().into());
        let mut command = bare_command(Path::new(&words[0]));
        command.args(&words[1..]).arg(options.command);
        if options.bare {
            // Other servers may have the usual port.
            command.env("RECOLLECT_TELEMETRY__METRICS_LISTEN", "127.0.0.1:0");
        } else {
            command.arg("--config").arg(&config);
        }
        if let Some(addr) = &listen {
            command.args(["--listen", addr]);
        }
        if !guarded {
            if !options.bare {
                command.arg("--data-dir").arg(dir.data());
            }
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
        let ready = Self::when_ready(child, listen, metrics).inspect(|server| {
            dir.remember_socket(server.ready.line["postgres"].as_str().unwrap_or_default());
        });
        ready.map_err(|problem| {
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
        let own_pid = pid_of(&child);
        let mut server = Self {
            stdin: child.stdin.take(),
            child,
            ready: Ready {
                addr: String::new(),
                metrics_addr: String::new(),
                // Behind a shell it is known once the shell has printed it.
                pid: if metrics.is_none() { own_pid } else { 0 },
                line: Value::Null,
            },
        };
        // Dropping the server on an error stops it.
        let line = line?;
        server.ready = Ready {
            addr: listen.clone().unwrap_or_else(|| text(&line, "addr")),
            metrics_addr: metrics
                .clone()
                .unwrap_or_else(|| text(&line, "metrics_addr")),
            pid: line["pid"]
                .as_i64()
                .and_then(|pid| pid.try_into().ok())
                .unwrap_or(0),
            line,
        };
        assert!(server.ready.pid > 0, "{:?}", server.ready);
        if let Some(addr) = metrics {
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
        send_signal(self.ready.pid, Signal::KILL);
        self.stdin.take();
        self.child.wait().unwrap();
    }

    /// Stops it gracefully, as the end of its terminal would. The callers'
    /// connections have to go on meanwhile: the server waits for them.
    pub async fn stop(mut self) -> ExitStatus {
        self.stdin.take();
        self.ended().await
    }

    /// Stops it gracefully, as Kubernetes would.
    pub async fn terminate(mut self) -> ExitStatus {
        send_signal(self.ready.pid, Signal::TERM);
        let start = Instant::now();
        while runs(self.ready.pid) && start.elapsed() < STOP_LIMIT {
            tokio::time::sleep(PAUSE).await;
        }
        self.stdin.take();
        self.ended().await
    }

    /// As [`Server::stop`], where no runtime is left.
    pub(crate) fn stop_blocking(mut self) -> ExitStatus {
        self.stdin.take();
        let start = Instant::now();
        while start.elapsed() < STOP_LIMIT {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            thread::sleep(PAUSE);
        }
        self.end()
    }

    async fn ended(&mut self) -> ExitStatus {
        let start = Instant::now();
        while start.elapsed() < STOP_LIMIT {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            tokio::time::sleep(PAUSE).await;
        }
        self.end()
    }

    fn end(&mut self) -> ExitStatus {
        // Once it has been waited for, its number may be another's.
        if let Ok(None) = self.child.try_wait() {
            send_signal(self.ready.pid, Signal::KILL);
        }
        self.stdin.take();
        self.child.wait().unwrap()
    }
}

impl Drop for Server {
    /// A test that is over has no use for a graceful end, which would wait for
    /// connections that are no longer served: a second signal cuts it short.
    fn drop(&mut self) {
        let start = Instant::now();
        let mut signals_sent = 0;
        while let Ok(None) = self.child.try_wait() {
            let waited = start.elapsed();
            if waited > DROP_LIMIT {
                break;
            }
            if signals_sent == 0 || (signals_sent == 1 && waited > DROP_LIMIT / 10) {
                send_signal(self.ready.pid, Signal::TERM);
                signals_sent += 1;
            }
            if !runs(self.ready.pid) {
                // The shell around it may end too.
                self.stdin.take();
            }
            thread::sleep(PAUSE);
        }
        self.end();
    }
}

/// Puts a copy of a migrated cluster into the data directory of `recollect dev`, if the
/// directory does not exist yet.
fn put_cluster_into(data: &Path) {
    if data.exists() {
        return;
    }
    static TEMPLATE: OnceLock<PathBuf> = OnceLock::new();
    let template = TEMPLATE.get_or_init(make_embedded);
    fs::create_dir(data).unwrap();
    fs::set_permissions(data, fs::Permissions::from_mode(0o700)).unwrap();
    clusters::copy(&template.join("postgres"), &data.join("postgres"));
}

/// A new cluster, as a first start of `recollect dev` leaves it, without the record of an index.
fn make_embedded() -> PathBuf {
    let dir = DataDir::unlimited();
    let options = Options {
        new_cluster: true,
        ..Options::with(&["embedding.kind = \"none\""])
    };
    let server = Server::start(&dir, &options);
    let url = server.ready().line["postgres"].as_str().unwrap();
    let psql = Command::new(bin_dir().join("psql"))
        .args(["--quiet", "--no-psqlrc", "--dbname", url])
        .args(["--command", "DELETE FROM recollect.index_collections"])
        .status();
    assert!(psql.unwrap().success());
    assert!(server.stop_blocking().success(), "{}", dir.log());
    clusters::keep(&dir.data().join("postgres"))
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
                .map_err(|error| format!("said {line:?}, which is not JSON: {error}"));
        }
        if let Some(status) = child.try_wait().unwrap() {
            return Err(format!("ended with {status}"));
        }
        if start.elapsed() > START_LIMIT {
            return Err(format!("was not ready after {START_LIMIT:?}"));
        }
    }
}

/// Waits until a process says that it is ready, or degraded.
fn answers(metrics_addr: &str, pid: i32) -> Result<(), String> {
    let start = Instant::now();
    while ready_code(metrics_addr) != Some(200) {
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

/// The HTTP status of readiness. Blocking: no runtime is at hand here.
fn ready_code(addr: &str) -> Option<u16> {
    let mut stream = TcpStream::connect(addr).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    let request = format!("GET /readyz HTTP/1.1\r\nHost: {addr}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).ok()?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line).ok()?;
    line.split(' ').nth(1)?.parse().ok()
}

fn pid_of(child: &Child) -> i32 {
    child.id().try_into().unwrap_or(0)
}

fn text(line: &Value, key: &str) -> String {
    line[key].as_str().unwrap_or_default().to_owned()
}

fn tail(log: &str) -> String {
    let lines: Vec<&str> = log.lines().collect();
    lines[lines.len().saturating_sub(30)..].join("\n")
}
