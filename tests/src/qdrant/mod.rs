//! A Qdrant for the tests: the one that `QDRANT_URL` names, or else the test server of
//! `memory-test-qdrant`. Either runs, or is reached, on a separate thread: a test that waits for a
//! process must not keep it from answering.

mod proxy;

use std::env;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

pub use memory_test_qdrant::Fault;
use memory_test_qdrant::{RemoteCollections, TestQdrant};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

use crate::Skipped;
use proxy::Proxy;

/// The gRPC address of a Qdrant that may be written to.
const URL: &str = "QDRANT_URL";

/// A Qdrant with collections of its own.
pub struct Qdrant {
    faults: Option<Faults>,
    url: String,
    alias: String,
    collections: RemoteCollections,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

/// What lets it fail.
enum Faults {
    Server(TestQdrant),
    Proxy(Proxy),
}

impl Qdrant {
    /// Starts the test server, or a proxy to the real one.
    #[expect(clippy::new_without_default, reason = "it starts a server")]
    pub fn new() -> Self {
        let (sender, receiver) = mpsc::channel();
        let (stop, stopped) = oneshot::channel();
        let real = real_url();
        let alias = match real {
            Some(_) => format!("recollect-test-{}", uuid::Uuid::new_v4().simple()),
            None => "recollect".to_owned(),
        };
        let thread = thread::spawn(move || {
            runtime().block_on(async {
                let faults = match real {
                    Some(url) => Faults::Proxy(Proxy::start(&url).await),
                    None => Faults::Server(TestQdrant::start().await.unwrap()),
                };
                sender.send(faults).unwrap();
                let _ = stopped.await;
            });
        });
        let faults = receiver.recv().unwrap();
        let url = match &faults {
            Faults::Server(server) => server.url(),
            Faults::Proxy(proxy) => proxy.url(),
        };
        Self {
            collections: RemoteCollections::at(&url, &*alias).unwrap(),
            faults: Some(faults),
            url,
            alias,
            stop: Some(stop),
            thread: Some(thread),
        }
    }

    /// Its URL.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// The lines of a configuration that choose it.
    pub fn config(&self) -> String {
        format!(
            "index.url = \"{}\"\nindex.alias = \"{}\"",
            self.url, self.alias
        )
    }

    /// The alias, with which the names of the collections begin.
    pub fn alias(&self) -> &str {
        &self.alias
    }

    /// Sets the fault of all further calls.
    ///
    /// # Panics
    /// If it is a fault of writes, of which a real Qdrant has none: ask
    /// [`Qdrant::refuses_writes`] before.
    pub fn set_fault(&self, fault: Fault) {
        match self.faults.as_ref().unwrap() {
            Faults::Server(server) => server.set_fault(fault),
            Faults::Proxy(proxy) => proxy.set_fault(fault),
        }
    }

    /// Whether it can be made to refuse writes.
    ///
    /// # Errors
    /// It is a real one.
    pub fn refuses_writes(&self) -> Result<(), Skipped> {
        match self.faults {
            Some(Faults::Server(_)) => Ok(()),
            _ => Err(Skipped("a real Qdrant refuses no writes".to_owned())),
        }
    }

    /// The names of its collections, sorted.
    pub async fn collections(&self) -> Vec<String> {
        self.collections.names().await.unwrap()
    }

    /// Its aliases with their collections.
    pub async fn aliases(&self) -> Vec<(String, String)> {
        self.collections.aliases().await.unwrap()
    }

    /// The number of points of a collection, its state point included.
    pub async fn point_count(&self, collection: &str) -> u64 {
        self.collections.point_count(collection).await.unwrap()
    }

    /// Deletes its collections and aliases.
    pub async fn lose_everything(&self) {
        self.collections.delete().await.unwrap();
    }
}

impl Drop for Qdrant {
    fn drop(&mut self) {
        if let Some(Faults::Proxy(proxy)) = &self.faults {
            proxy.set_fault(Fault::None);
            remove(self.url.clone(), self.alias.clone());
        }
        self.faults.take();
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The address in the environment.
fn real_url() -> Option<String> {
    env::var(URL).ok().filter(|url| !url.is_empty())
}

/// The lines of a configuration that choose the Qdrant of `QDRANT_URL`, if set, with
/// collections whose names begin with the returned alias.
pub(crate) fn real_config() -> Option<(String, String)> {
    let url = real_url()?;
    let alias = format!("recollect-test-{}", uuid::Uuid::new_v4().simple());
    let lines = format!("index.url = \"{url}\"\nindex.alias = \"{alias}\"");
    Some((lines, alias))
}

/// Removes the collections with an alias from the Qdrant of `QDRANT_URL`.
pub(crate) fn remove_real(alias: &str) {
    if let Some(url) = real_url() {
        remove(url, alias.to_owned());
    }
}

/// Removes collections. The calling thread may have a runtime, which cannot wait.
fn remove(url: String, alias: String) {
    let removing = thread::spawn(move || {
        runtime().block_on(async {
            let collections = RemoteCollections::at(&url, alias).unwrap();
            if let Err(error) = collections.delete().await {
                eprintln!("collections stay in {url}: {error}");
            }
        });
    });
    let _ = removing.join();
}

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().unwrap()
}
