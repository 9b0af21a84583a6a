//! Runs the Qdrant test server of `memory-recall` on a separate thread: a test that waits
//! for a process must not keep it from answering.

use std::sync::mpsc;
use std::thread::JoinHandle;

pub use memory_recall::testing::Fault;
use memory_recall::testing::TestQdrant;
use tokio::sync::oneshot;

/// A running test server.
pub struct Qdrant {
    server: Option<TestQdrant>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Qdrant {
    /// Starts it.
    #[expect(clippy::new_without_default, reason = "it starts a server")]
    pub fn new() -> Self {
        let (sender, receiver) = mpsc::channel();
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                sender.send(TestQdrant::start().await.unwrap()).unwrap();
                let _ = stopped.await;
            });
        });
        Self {
            server: Some(receiver.recv().unwrap()),
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// The line of a configuration that chooses it.
    pub fn config(&self) -> String {
        format!("index.url = \"{}\"", self.server().url())
    }

    /// The server itself, to look into it and to let it fail.
    pub fn server(&self) -> &TestQdrant {
        self.server.as_ref().unwrap()
    }
}

impl Drop for Qdrant {
    fn drop(&mut self) {
        self.server.take();
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}
