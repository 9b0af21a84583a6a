//! Signals that stop a command.

use std::io::Read;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::mpsc;

use crate::cli::failure::{Failure, chain};

const STDIN: &str = "the end of standard input";

/// Ctrl-C, SIGTERM, and the end of standard input where that counts.
#[derive(Debug)]
pub struct Stop {
    interrupt: Signal,
    terminate: Signal,
    stdin: Option<mpsc::Receiver<()>>,
}

impl Stop {
    /// Listens from now on.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn listen(with_stdin: bool) -> Result<Self, Failure> {
        let listen = |kind| {
            signal(kind).map_err(|error| {
                Failure::machine(format!("cannot listen for signals: {}", chain(&error)), "")
            })
        };
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            stdin: with_stdin.then(stdin_end),
        })
    }

    /// Waits for one of them, and says which.
    pub async fn wait(&mut self) -> &'static str {
        let stdin = async {
            match &mut self.stdin {
                Some(end) => drop(end.recv().await),
                None => std::future::pending().await,
            }
        };
        let reason = tokio::select! {
            _ = self.interrupt.recv() => "Ctrl-C",
            _ = self.terminate.recv() => "SIGTERM",
            () = stdin => STDIN,
        };
        // Standard input ends only once; a signal may come again.
        if reason == STDIN {
            self.stdin = None;
        }
        reason
    }
}

/// Signals the end of standard input. Reads on a separate thread: a read of a terminal
/// cannot be canceled, and must not keep the runtime from ending.
fn stdin_end() -> mpsc::Receiver<()> {
    let (end, ended) = mpsc::channel(1);
    std::thread::spawn(move || {
        let mut buffer = [0; 1024];
        while std::io::stdin()
            .read(&mut buffer)
            .is_ok_and(|bytes| bytes > 0)
        {}
        let _ = end.blocking_send(());
    });
    ended
}
