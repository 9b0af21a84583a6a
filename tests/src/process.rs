//! Processes, ports, and HTTP.

use std::fs;
use std::path::Path;
use std::process::Command;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// Whether a process is there and has not ended.
pub fn runs(pid: i32) -> bool {
    // The state follows the name, which is in parentheses.
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ")
        .next()
        .is_some_and(|rest| !rest.is_empty() && !rest.starts_with(['Z', 'X']))
}

/// An address of this machine that no process listens on.
pub fn free_addr() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

/// What a connection of HTTP/2 begins with: the preface, and settings without an entry.
pub const HTTP_2_GREETING: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

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

/// A command without the settings of the developer's own environment.
pub fn bare_command(program: &Path) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("RECOLLECT_") || text == "DATABASE_URL" || text == "RUST_LOG" {
            command.env_remove(&name);
        }
    }
    command
}

pub fn send_signal(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        let _ = kill_process(pid, signal);
    }
}
