//! Runs commands that end by themselves.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::process::{bare_command, send_signal};
use crate::{Key, recollect_binary};

const LIMIT: Duration = Duration::from_secs(180);

/// A command that has ended.
#[derive(Debug)]
pub struct Finished {
    /// The exit code; none after a signal, or after the time limit.
    pub code: Option<i32>,
    /// What it printed.
    pub stdout: String,
    /// What it printed on standard error.
    pub stderr: String,
}

impl Finished {
    /// Checks that it went well.
    ///
    /// # Panics
    /// If it did not.
    #[track_caller]
    pub fn ok(self) -> Self {
        assert_eq!(self.code, Some(0), "{self:#?}");
        self
    }

    /// Its output as JSON.
    ///
    /// # Panics
    /// If it is not JSON.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("not JSON: {error}: {self:#?}"))
    }

    /// Its output as one JSON value a line.
    ///
    /// # Panics
    /// If a line is not JSON.
    #[track_caller]
    pub fn json_lines(&self) -> Vec<Value> {
        let lines = self.stdout.lines().filter(|line| !line.trim().is_empty());
        lines
            .map(|line| {
                serde_json::from_str(line)
                    .unwrap_or_else(|error| panic!("not JSON: {error}: {line}"))
            })
            .collect()
    }
}

/// A command that runs until it is stopped.
pub struct Spawned {
    child: Child,
    lines: Receiver<String>,
}

impl Spawned {
    /// Starts the binary with some arguments and environment variables.
    pub fn start(args: &[&str], env: &[(&str, &str)]) -> Self {
        let mut child = bare_command(&recollect_binary())
            .args(args)
            .envs(env.iter().copied())
            .env("NO_COLOR", "1")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        Self { child, lines }
    }

    /// The next line that it prints.
    ///
    /// # Panics
    /// If it prints none within the time limit.
    pub fn line(&self) -> String {
        self.lines.recv_timeout(LIMIT).unwrap()
    }

    /// Stops it as Ctrl-C does.
    pub fn interrupt(&self) {
        send_signal(self.child.id().try_into().unwrap(), Signal::INT);
    }

    /// The exit code; none after a signal.
    pub fn code(mut self) -> Option<i32> {
        let start = Instant::now();
        while start.elapsed() < LIMIT {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status.code();
            }
            thread::sleep(Duration::from_millis(10));
        }
        panic!("it did not end within {LIMIT:?}")
    }
}

impl Drop for Spawned {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Runs a client command against a server.
pub fn recollect_at(addr: &str, key: Key, args: &[&str]) -> Finished {
    let addr = format!("http://{addr}");
    let key = key.secret();
    let env = [
        ("RECOLLECT_ADDR", addr.as_str()),
        ("RECOLLECT_API_KEY", key.as_str()),
    ];
    recollect(args, &env)
}

/// Runs a client command against a server, with this on its standard input.
pub fn recollect_reading(addr: &str, key: Key, args: &[&str], input: &str) -> Finished {
    let addr = format!("http://{addr}");
    let key = key.secret();
    let env = [
        ("RECOLLECT_ADDR", addr.as_str()),
        ("RECOLLECT_API_KEY", key.as_str()),
    ];
    run(&recollect_binary(), args, &env, Some(input))
}

/// Runs the binary with some arguments and environment variables, in an empty
/// directory, until it ends.
///
/// # Panics
/// If it does not end within three minutes.
pub fn recollect(args: &[&str], env: &[(&str, &str)]) -> Finished {
    run_to_end(&recollect_binary(), args, env)
}

/// Runs a binary to its end.
///
/// # Panics
/// If it does not end within three minutes.
pub fn run_to_end(binary: &Path, args: &[&str], env: &[(&str, &str)]) -> Finished {
    run(binary, args, env, None)
}

fn run(binary: &Path, args: &[&str], env: &[(&str, &str)], input: Option<&str>) -> Finished {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| -> PathBuf { dir.path().join(name) };
    let create = |name: &str| fs::File::create(path(name)).unwrap();
    let stdin = input.map_or_else(Stdio::null, |input| {
        fs::write(path("stdin"), input).unwrap();
        fs::File::open(path("stdin")).unwrap().into()
    });
    let mut child = bare_command(binary)
        .args(args)
        .envs(env.iter().copied())
        .env("NO_COLOR", "1")
        .current_dir(dir.path())
        .stdin(stdin)
        .stdout(create("stdout"))
        .stderr(create("stderr"))
        .spawn()
        .unwrap();
    let start = Instant::now();
    let code = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status.code();
        }
        if start.elapsed() > LIMIT {
            let _ = child.kill();
            let _ = child.wait();
            panic!(
                "{binary:?} {args:?} did not end within {LIMIT:?}: {}",
                fs::read_to_string(path("stderr")).unwrap_or_default()
            );
        }
        thread::sleep(Duration::from_millis(10));
    };
    let read = |name: &str| String::from_utf8_lossy(&fs::read(path(name)).unwrap()).into_owned();
    Finished {
        code,
        stdout: read("stdout"),
        stderr: read("stderr"),
    }
}
