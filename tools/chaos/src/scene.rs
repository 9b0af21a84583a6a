//! The processes of a scenario: Postgres, an index, servers and workers.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use fastrand::Rng;
use recollect_tests::{Cluster, DataDir, Options, Qdrant, S3, Server};

/// Where a scenario's servers run.
pub(super) struct Scene {
    pub(super) cluster: Cluster,
    /// The lines of a configuration that choose the index.
    index: String,
    _qdrant: Option<Qdrant>,
    /// The database's URL for its owner.
    pub(super) url: String,
    /// The same for servers; it may lead through a proxy.
    pub(super) server_url: String,
    dir: Arc<DataDir>,
}

impl Scene {
    /// A Postgres with the service's schema, and an empty index.
    pub(super) async fn new(dir: DataDir) -> Self {
        Self::with_postgres_env(dir, Vec::new()).await
    }

    /// The same with environment variables of Postgres.
    pub(super) async fn with_postgres_env(dir: DataDir, env: Vec<(String, String)>) -> Self {
        let (cluster, url) = Cluster::migrated_with(env).await;
        let qdrant = Qdrant::new();
        Self {
            cluster,
            index: qdrant.config(),
            _qdrant: Some(qdrant),
            dir: Arc::new(dir),
            server_url: url.clone(),
            url,
        }
    }

    /// The same with the index that lines of a configuration choose.
    pub(super) async fn with_index(dir: DataDir, index: String) -> Self {
        let (cluster, url) = Cluster::migrated().await;
        Self {
            cluster,
            index,
            _qdrant: None,
            dir: Arc::new(dir),
            server_url: url.clone(),
            url,
        }
    }

    /// Messages stored, of all tenants.
    pub(super) async fn stored(&self) -> i64 {
        let database = self.cluster.superuser().await;
        let count = "SELECT count(*) FROM recollect.messages";
        database.query_one(count, &[]).await.unwrap().get(0)
    }

    /// A server at an address, without a model.
    pub(super) fn server(&self, addr: &str, lines: &[&str]) -> Options {
        let mut options = Options::serve(&self.server_url, lines).line(NO_MODEL.to_owned());
        options.listen = Some(addr.to_owned());
        options
    }

    /// A server at an address, without a model, whose index is in Qdrant.
    pub(super) fn server_on_qdrant(&self, addr: &str) -> Options {
        self.server(addr, &[&self.index])
    }

    /// A server at an address, without a model, whose index is in its own process.
    pub(super) fn server_with_index(&self, addr: &str) -> Options {
        let options = self.server(addr, &[]).index(&self.dir, INDEX);
        options.objects(&self.dir)
    }

    /// The same with objects in S3.
    pub(super) fn server_on_s3(&self, addr: &str, s3: &S3, lines: &[&str]) -> Options {
        let mut options = self.server(addr, lines).index(&self.dir, INDEX);
        options.config.extend(s3.config());
        options
    }

    /// A worker that indexes into Qdrant.
    pub(super) fn worker(&self) -> Options {
        let options = Options {
            command: "worker",
            ..Options::with(&[&self.index, NO_MODEL])
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

    /// The directory of the embedded index.
    pub(super) fn index_path(&self) -> PathBuf {
        self.dir.path().join(INDEX)
    }

    /// Overwrites every file of the embedded index.
    pub(super) fn spoil_index(&self) {
        overwrite(&self.index_path());
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

/// The kind of a scenario's fault: the first faults take each kind in turn, later ones are random.
pub(super) fn kind_of_fault<T: Copy>(kinds: &[T], number: usize, rng: &mut Rng) -> T {
    let random = rng.usize(0..kinds.len());
    kinds[if number < kinds.len() { number } else { random }]
}

pub(super) const NO_MODEL: &str = "embedding.kind = \"none\"";
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
