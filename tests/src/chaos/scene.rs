//! The processes of a scenario: Postgres, an index, servers and workers.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use crate::{Cluster, DataDir, Options, Qdrant, Server};

/// Where a scenario's servers run.
pub(super) struct Scene {
    pub(super) cluster: Cluster,
    pub(super) qdrant: Qdrant,
    /// The database's URL for its owner.
    pub(super) url: String,
    dir: Arc<DataDir>,
}

impl Scene {
    /// A Postgres with the service's schema, and an empty index.
    pub(super) async fn new(dir: DataDir) -> Self {
        let (cluster, url) = Cluster::migrated().await;
        Self {
            cluster,
            qdrant: Qdrant::new(),
            dir: Arc::new(dir),
            url,
        }
    }

    /// A server at an address, without a model.
    pub(super) fn server(&self, addr: &str, lines: &[&str]) -> Options {
        let mut options = Options::serve(&self.url, lines).line(NO_MODEL.to_owned());
        options.listen = Some(addr.to_owned());
        options
    }

    /// A server at an address, without a model, whose index is in Qdrant.
    pub(super) fn server_on_qdrant(&self, addr: &str) -> Options {
        self.server(addr, &[&self.qdrant.config()])
    }

    /// A server at an address, without a model, whose index is in its own process.
    pub(super) fn server_with_index(&self, addr: &str) -> Options {
        let options = self.server(addr, &[]).index(&self.dir, INDEX);
        options.objects(&self.dir)
    }

    /// A worker that indexes into Qdrant.
    pub(super) fn worker(&self) -> Options {
        let options = Options {
            command: "worker",
            ..Options::with(&[&self.qdrant.config(), NO_MODEL])
        };
        options.env("DATABASE_URL", &self.url)
    }

    /// Starts a process and waits until it is ready, while other tasks go on.
    ///
    /// # Panics
    /// If it ends or takes too long.
    pub(super) async fn start(&self, options: Options) -> Server {
        let dir = Arc::clone(&self.dir);
        tokio::task::spawn_blocking(move || Server::start(&dir, &options))
            .await
            .unwrap()
    }

    /// Overwrites every file of the embedded index.
    pub(super) fn spoil_index(&self) {
        overwrite(&self.dir.path().join(INDEX));
    }

    /// Lets the service's role see all rows, so that only the conditions of queries and
    /// functions are left.
    pub(super) async fn bypass_row_security(&self) {
        let database = self.cluster.superuser().await;
        let statement = "ALTER ROLE recollect_service BYPASSRLS";
        database.batch_execute(statement).await.unwrap();
    }

    /// Removes the conditions on the tenant from all functions; how many had one.
    pub(super) async fn remove_conditions(&self) -> usize {
        let database = self.cluster.superuser().await;
        let functions = "SELECT regexp_replace(pg_get_functiondef(p.oid), \
             '(\\m\\w+\\.)?\\mtenant_id = p_tenant\\M', 'p_tenant IS NOT NULL', 'g') \
             FROM pg_proc p WHERE p.pronamespace = 'recollect'::regnamespace \
             AND p.prokind = 'f' AND p.prosrc ~ '\\mtenant_id = p_tenant\\M'";
        let functions = database.query(functions, &[]).await.unwrap();
        for function in &functions {
            let statement: String = function.get(0);
            database.batch_execute(&statement).await.unwrap();
        }
        functions.len()
    }

    /// Panics in the log of all servers and workers.
    pub(super) fn panics(&self) -> usize {
        self.dir.log().matches("panicked at").count()
    }
}

const NO_MODEL: &str = "embedding.kind = \"none\"";
const INDEX: &str = "index";

fn overwrite(path: &Path) {
    if path.is_file() {
        fs::write(path, "this is no index").unwrap();
        return;
    }
    for entry in fs::read_dir(path).unwrap() {
        overwrite(&entry.unwrap().path());
    }
}
