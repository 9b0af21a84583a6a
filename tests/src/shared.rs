//! The servers that most tests share. Each test uses its own app ids.

use std::fs;
use std::path::PathBuf;
use std::sync::{Mutex, OnceLock};

use memory_contract::proto::IndexState;
use tokio::sync::OnceCell;

use crate::data_dir::DataDir;
use crate::qdrant::{real_config, remove_real};
use crate::server::{Options, Ready, Server};
use crate::wait::{SOON, eventually};
use crate::{Client, Key};

/// A server that starts when the first test asks for it.
pub struct Shared {
    config: &'static [&'static str],
    running: OnceLock<Running>,
}

struct Running {
    dir: DataDir,
    /// In the Qdrant of `QDRANT_URL`.
    alias: Option<String>,
    index_is_ready: OnceCell<()>,
    server: Mutex<Option<Server>>,
    ready: Ready,
}

/// The embedded default, for tests of recall. Only its timeouts are longer, as those of the others: the
/// machine may be busy, and what becomes of a slow model or index is tested
/// elsewhere.
pub static SHARED: Shared = Shared::new(&[
    "server.call_timeout = \"2m\"",
    "embedding.query_timeout = \"20s\"",
    "index.search_timeout = \"20s\"",
]);

/// A server without a model, for tests of everything else: indexing takes it no
/// time, so that tests which wait for the index do not wait for those.
pub static PLAIN: Shared = Shared::new(&[
    "server.call_timeout = \"2m\"",
    "embedding.kind = \"none\"",
    "index.search_timeout = \"20s\"",
]);

/// A server for tests that store so much that the index is behind for a while:
/// no test waits for it here.
pub static BULK: Shared =
    Shared::new(&["server.call_timeout = \"2m\"", "embedding.kind = \"none\""]);

impl Shared {
    const fn new(config: &'static [&'static str]) -> Self {
        Self {
            config,
            running: OnceLock::new(),
        }
    }

    /// A caller.
    pub async fn client(&self, key: Key) -> Client {
        let client = Client::new(&self.ready().addr, key).await;
        let running = self.running();
        if running.alias.is_some() {
            // A new collection of a real Qdrant takes a while; until then answers are degraded.
            let is_ready = async || client.index_status().await.state() == IndexState::Ready;
            let ready = eventually("the index is ready", SOON, is_ready);
            running.index_is_ready.get_or_init(|| ready).await;
        }
        client
    }

    /// Where it listens.
    pub fn ready(&self) -> &Ready {
        &self.running().ready
    }

    /// Its data directory.
    pub fn data(&self) -> PathBuf {
        self.running().dir.data()
    }

    /// What it has logged.
    pub fn log(&self) -> String {
        self.running().dir.log()
    }

    fn running(&self) -> &Running {
        self.running.get_or_init(|| {
            let dir = DataDir::unlimited();
            let mut options = Options::with(self.config);
            let alias = real_config().map(|(lines, alias)| {
                options.config.push(lines);
                alias
            });
            let server = Server::start(&dir, &options);
            Running {
                alias,
                index_is_ready: OnceCell::new(),
                ready: server.ready().clone(),
                server: Mutex::new(Some(server)),
                dir,
            }
        })
    }

    /// Stops it if it runs.
    pub(crate) fn stop(&self) -> Result<(), String> {
        let Some(running) = self.running.get() else {
            return Ok(());
        };
        let Some(server) = running.server.lock().unwrap().take() else {
            return Ok(());
        };
        let status = server.stop_blocking();
        if let Some(alias) = &running.alias {
            remove_real(alias);
        }
        let log = running.dir.log();
        let _ = fs::remove_dir_all(running.dir.path());
        if status.success() {
            return Ok(());
        }
        Err(format!("{status}; its log:\n{log}"))
    }
}
