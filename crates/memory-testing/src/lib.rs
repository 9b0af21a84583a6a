#![doc = include_str!("../README.md")]
#![allow(
    clippy::disallowed_methods,
    clippy::panic,
    clippy::unwrap_used,
    clippy::missing_panics_doc,
    reason = "a test that cannot go on fails"
)]

mod files;

use std::{
    env, fs,
    ops::Range,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
    sync::{
        OnceLock,
        atomic::{AtomicU32, Ordering},
    },
    thread,
    time::Duration,
};

use memory_store::StoreConfig;
use tempfile::TempDir;

pub use files::files_with;

/// The migrated database that the others are copies of.
const TEMPLATE: &str = "template_recollect";

struct Cluster {
    directory: TempDir,
    /// Stops the cluster and removes its directory when the pipe from this process
    /// closes, because a static is never dropped.
    _guard: Child,
}

fn cluster() -> &'static Cluster {
    static CLUSTER: OnceLock<Cluster> = OnceLock::new();
    CLUSTER.get_or_init(|| {
        let directory = tempfile::Builder::new().prefix("recollect-test-").tempdir_in("/tmp").unwrap();
        let data = directory.path().join("data");
        if is_root() {
            run(Command::new("chown").arg("nobody").arg(directory.path()));
        }
        run(unprivileged(&binary("initdb"))
            .args(["--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-locale", "--no-sync", "-D"])
            .arg(&data));
        let options = format!(
            "-c listen_addresses= -c unix_socket_directories={} -c fsync=off -c max_connections=200",
            directory.path().display()
        );
        run(unprivileged(&binary("pg_ctl"))
            .args(["-w", "-D"])
            .arg(&data)
            .arg("-l")
            .arg(directory.path().join("log"))
            .args(["-o", &options, "start"]));
        let stop = format!(
            "cat > /dev/null; {} -D {} -m immediate stop; rm -rf {}",
            binary("pg_ctl").display(),
            data.display(),
            directory.path().display()
        );
        let guard = unprivileged(Path::new("sh"))
            .args(["-c", &stop])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let cluster = Cluster { directory, _guard: guard };
        sql(&cluster, "postgres", &format!("CREATE DATABASE {TEMPLATE}"));
        let template = cluster.url(TEMPLATE);
        // On another thread, because the caller may be inside a runtime.
        thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let reports = runtime.block_on(memory_store::migrate(&StoreConfig {
                url: template.into(),
                ..StoreConfig::default()
            })).unwrap();
            assert!(!reports[0].applied.is_empty());
        })
        .join()
        .unwrap();
        // Postgres copies a database only while it has no connections.
        thread::sleep(Duration::from_millis(100));
        cluster
    })
}

impl Cluster {
    fn url(&self, database: &str) -> String {
        format!(
            "host={} user=postgres dbname={database}",
            self.directory.path().display()
        )
    }
}

/// Creates a migrated database. Returns its connection string.
pub fn database() -> String {
    create(&format!("TEMPLATE {TEMPLATE}"))
}

/// Creates a migrated database whose clock stands still until the test moves it. Returns its connection
/// string. `UPDATE simulated.clock SET since_epoch = since_epoch + $1` moves it on, and
/// `SELECT simulated.clear()` deletes all that is stored and sets it back.
pub fn simulated_database() -> String {
    let url = database();
    execute(&url, include_str!("simulated.sql"));
    let (_, name) = url.rsplit_once('=').unwrap();
    let path = format!("ALTER DATABASE {name} SET search_path = simulated, pg_catalog");
    execute(&url, &path);
    url
}

/// The seeds of a test that generates its input: `few` from 0 on, or as many as `RECOLLECT_SEEDS` says.
/// `RECOLLECT_SEED` names the first one, which is then the only one by default.
pub fn seeds(few: u64) -> Range<u64> {
    let setting = |name: &str| {
        let value = env::var(name).ok()?;
        let number = value.parse::<u64>();
        Some(number.unwrap_or_else(|_| panic!("{name} is a whole number, not {value:?}")))
    };
    let (first, count) = match setting("RECOLLECT_SEED") {
        Some(seed) => (seed, 1),
        None => (0, few),
    };
    first..first + setting("RECOLLECT_SEEDS").unwrap_or(count)
}

/// Closes a database's connections and refuses new ones, or accepts them again: an
/// outage of one test's database.
pub fn set_available(url: &str, available: bool) {
    let (_, database) = url.rsplit_once('=').unwrap();
    let statement = format!("ALTER DATABASE {database} ALLOW_CONNECTIONS {available}");
    sql(cluster(), "postgres", &statement);
    if !available {
        let statement = format!(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}'"
        );
        sql(cluster(), "postgres", &statement);
    }
}

/// Executes a statement in a database as the superuser.
pub fn execute(url: &str, statement: &str) {
    run(Command::new("psql")
        .args(["-X", "-q", "-v", "ON_ERROR_STOP=1"])
        .args(["-d", url, "-c", statement]));
}

/// Creates a database without a schema. Returns its connection string.
pub fn empty_database() -> String {
    create("")
}

fn create(how: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    let name = format!("test_{}", NEXT.fetch_add(1, Ordering::Relaxed));
    sql(
        cluster(),
        "postgres",
        &format!("CREATE DATABASE {name} {how}"),
    );
    cluster().url(&name)
}

/// What a database consists of, without its rows: tables, columns, indexes, constraints,
/// policies, grants, and functions with their bodies.
pub fn catalog(url: &str) -> String {
    let output = Command::new(binary("pg_dump"))
        .args(["--schema-only", "--schema=recollect", "-d", url])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    // Without psql's commands, which have a random key.
    String::from_utf8_lossy(&output.stdout)
        .lines()
        .filter(|line| !line.starts_with('\\'))
        .map(|line| format!("{line}\n"))
        .collect()
}

fn sql(cluster: &Cluster, database: &str, statement: &str) {
    execute(&cluster.url(database), statement);
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

/// Path of a Postgres program of the newest installed version.
fn binary(name: &str) -> PathBuf {
    let mut versions: Vec<PathBuf> = fs::read_dir("/usr/lib/postgresql")
        .map(|entries| entries.map(|entry| entry.unwrap().path()).collect())
        .unwrap_or_default();
    versions.sort_by_key(|path| {
        path.file_name()
            .and_then(|name| name.to_str()?.parse::<u32>().ok())
    });
    match versions.pop() {
        Some(version) => version.join("bin").join(name),
        None => PathBuf::from(name),
    }
}

/// Postgres refuses to run as root.
fn unprivileged(program: &Path) -> Command {
    if is_root() {
        let mut command = Command::new("setpriv");
        command
            .args(["--reuid=nobody", "--regid=nogroup", "--clear-groups"])
            .arg(program);
        command.current_dir("/tmp");
        command
    } else {
        Command::new(program)
    }
}

fn is_root() -> bool {
    fs::metadata("/proc/self")
        .is_ok_and(|metadata| std::os::unix::fs::MetadataExt::uid(&metadata) == 0)
}
