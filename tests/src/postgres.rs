//! A Postgres cluster for tests with an external database: used by URL and password, with
//! an owner who is not a superuser.

use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use tempfile::TempDir;
use tokio::sync::OnceCell;
use tokio_postgres::NoTls;

use crate::{Certificate, SOON, clusters, eventually, eventually_some, recollect};

const OWNER: &str = "recollect_owner";
const DATABASE: &str = "memories";
const PASSWORD: &str = "correct horse";
/// The directory of the cluster's owner, in the one of the test.
const HOME: &str = "cluster";
/// What Postgres logs, in the directory of the test.
const LOG: &str = "postgres.log";

/// A running cluster. It ends when this is dropped or the test process ends.
pub struct Cluster {
    dir: TempDir,
    guard: Child,
    port: u16,
    /// Environment variables of Postgres.
    env: Vec<(String, String)>,
}

impl Cluster {
    /// Starts an empty cluster with a database and its owner.
    pub async fn start() -> Self {
        Self::copy_of(empty().await, Vec::new()).await
    }

    /// Starts a cluster with the service's schema; the cluster and its URL.
    pub async fn migrated() -> (Self, String) {
        Self::migrated_with(Vec::new()).await
    }

    /// The same with environment variables of Postgres.
    pub async fn migrated_with(env: Vec<(String, String)>) -> (Self, String) {
        let cluster = Self::copy_of(migrated().await, env).await;
        let url = cluster.url();
        (cluster, url)
    }

    /// Starts a copy of a stopped cluster.
    async fn copy_of(template: &Path, env: Vec<(String, String)>) -> Self {
        let dir = cluster_dir();
        clusters::copy(&template.join(HOME), &dir.path().join(HOME));
        let mut cluster = Self::run_in(dir, env);
        cluster.answers().await;
        cluster
    }

    /// Makes a cluster with `initdb`, and a database with its owner.
    async fn make() -> Self {
        let dir = cluster_dir();
        let owner = unprivileged();
        let home = dir.path().join(HOME);
        fs::create_dir(&home).unwrap();
        if let Some((user, group)) = owner {
            chown(&home, Some(user), Some(group)).unwrap();
        }
        let password = dir.path().join("password");
        fs::write(&password, PASSWORD).unwrap();
        fs::set_permissions(&password, fs::Permissions::from_mode(0o644)).unwrap();

        let made = as_user(&bin_dir().join("initdb"), owner)
            .arg("--pgdata")
            .arg(home.join("data"))
            .arg("--pwfile")
            .arg(&password)
            .args(["--username=postgres", "--auth=scram-sha-256", "--no-sync"])
            .args(["--encoding=UTF8", "--locale=C.UTF-8"])
            .output()
            .unwrap();
        assert!(made.status.success(), "initdb: {made:?}");
        let mut cluster = Self::run_in(dir, Vec::new());
        cluster.make_database().await;
        cluster
    }

    fn run_in(dir: TempDir, env: Vec<(String, String)>) -> Self {
        let port = free_port();
        Self {
            guard: run(dir.path(), port, &env),
            dir,
            port,
            env,
        }
    }

    /// Stops it so that a copy starts without recovery; where its directory is kept.
    fn into_template(self) -> PathBuf {
        let data = self.dir.path().join(HOME).join("data");
        let stopped = as_user(&bin_dir().join("pg_ctl"), unprivileged())
            .args(["stop", "--silent", "--mode=fast", "--pgdata"])
            .arg(data)
            .status();
        assert!(stopped.unwrap().success(), "pg_ctl stop");
        clusters::keep(&self.dir.path().join(HOME))
    }

    /// Dumps the roles and the database into a directory, as deploy/README.md says.
    pub async fn back_up(&self, dir: &Path) {
        let roles = dir.join("roles.sql");
        let dump = dir.join("recollect.dump");
        let url = self.url_of("postgres", DATABASE);
        self.program(
            "pg_dumpall",
            &["--roles-only", "--dbname", &url, "--file"],
            &roles,
        )
        .await;
        self.program("pg_dump", &["-Fc", "--dbname", &url, "--file"], &dump)
            .await;
    }

    /// Restores a backup into this cluster, whose database is empty.
    pub async fn restore(&self, dir: &Path) {
        let url = self.url_of("postgres", DATABASE);
        // Roles that exist are reported, and stay.
        self.program(
            "psql",
            &["--quiet", "--dbname", &url, "--file"],
            &dir.join("roles.sql"),
        )
        .await;
        let restore = ["--exit-on-error", "--dbname", &url];
        self.program("pg_restore", &restore, &dir.join("recollect.dump"))
            .await;
    }

    /// Runs one of Postgres's programs on a file.
    async fn program(&self, name: &str, args: &[&str], file: &Path) {
        let output = tokio::process::Command::new(bin_dir().join(name))
            .args(args)
            .arg(file)
            .output()
            .await
            .unwrap();
        assert!(
            output.status.success(),
            "{name}: {}",
            String::from_utf8_lossy(&output.stderr)
        );
    }

    /// Ends every process of the cluster at once, as a crash would.
    pub fn crash(&mut self) {
        let file = self.dir.path().join("cluster/data/postmaster.pid");
        let text = fs::read_to_string(file).unwrap();
        let pid = text.lines().next().unwrap().trim().parse().unwrap();
        crate::process::send_signal(pid, rustix::process::Signal::KILL);
        drop(self.guard.stdin.take());
        let _ = self.guard.wait();
    }

    /// Starts the cluster after a crash.
    pub async fn restart(&mut self) {
        let url = self.url();
        eventually_some("Postgres recovers", Duration::from_secs(30), async || {
            // It refuses while processes of the crashed one are still there.
            if !matches!(self.guard.try_wait(), Ok(None)) || self.guard.stdin.is_none() {
                self.guard = run(self.dir.path(), self.port, &self.env);
            }
            connect(&url).await.ok()
        })
        .await;
    }

    /// The database's URL for its owner, who is not a superuser.
    pub fn url(&self) -> String {
        self.url_of(OWNER, DATABASE)
    }

    /// Where it listens.
    pub fn addr(&self) -> SocketAddr {
        ([127, 0, 0, 1], self.port).into()
    }

    /// Lets the cluster encrypt connections with a certificate, from the next connection on.
    pub async fn enable_tls(&self, certificate: &Certificate) {
        let data = self.dir.path().join("cluster/data");
        let files = [
            ("server.crt", &certificate.certificate),
            ("server.key", &certificate.key),
        ];
        for (name, text) in files {
            let path = data.join(name);
            fs::write(&path, text).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
            if let Some((user, group)) = unprivileged() {
                chown(&path, Some(user), Some(group)).unwrap();
            }
        }
        let admin = self.superuser().await;
        admin
            .batch_execute("ALTER SYSTEM SET ssl = on")
            .await
            .unwrap();
        admin
            .batch_execute("SELECT pg_reload_conf()")
            .await
            .unwrap();
        eventually_some("Postgres speaks TLS", Duration::from_secs(30), async || {
            let row = admin.query_one("SHOW ssl", &[]).await.unwrap();
            (row.get::<_, String>(0) == "on").then_some(())
        })
        .await;
    }

    /// Starts a streaming standby. From now on this cluster acknowledges a commit once the standby
    /// has it.
    pub async fn standby(&self) -> Self {
        let dir = cluster_dir();
        let home = dir.path().join(HOME);
        fs::create_dir(&home).unwrap();
        if let Some((user, group)) = unprivileged() {
            chown(&home, Some(user), Some(group)).unwrap();
        }
        let copied = as_user(&bin_dir().join("pg_basebackup"), unprivileged())
            .arg("--pgdata")
            .arg(home.join("data"))
            .args(["--dbname", &self.url_of("postgres", "postgres")])
            .args(["--write-recovery-conf", "--checkpoint=fast", "--no-sync"])
            .output()
            .unwrap();
        assert!(copied.status.success(), "pg_basebackup: {copied:?}");
        let mut standby = Self::run_in(dir, Vec::new());
        standby.answers().await;
        let admin = self.superuser().await;
        for statement in [
            "ALTER SYSTEM SET synchronous_standby_names = '*'",
            "SELECT pg_reload_conf()",
        ] {
            admin.batch_execute(statement).await.unwrap();
        }
        eventually("the standby follows", SOON, async || {
            let following = "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'";
            let row = admin.query_one(following, &[]).await.unwrap();
            row.get::<_, i64>(0) == 1
        })
        .await;
        standby
    }

    /// Makes a standby the primary.
    pub async fn promote(&self) {
        let admin = self.superuser().await;
        admin.batch_execute("SELECT pg_promote()").await.unwrap();
    }

    /// A connection of the superuser, who sees everything.
    pub async fn superuser(&self) -> tokio_postgres::Client {
        connect(&self.url_of("postgres", DATABASE)).await.unwrap()
    }

    fn url_of(&self, user: &str, database: &str) -> String {
        let password = PASSWORD.replace(' ', "%20");
        format!(
            "postgres://{user}:{password}@127.0.0.1:{}/{database}",
            self.port
        )
    }

    /// Waits until Postgres answers; the superuser's connection.
    ///
    /// # Panics
    /// If Postgres ends instead; the message is what it has logged.
    async fn answers(&mut self) -> tokio_postgres::Client {
        let url = self.url_of("postgres", "postgres");
        eventually_some("Postgres answers", SOON, async || {
            if let Some(status) = self.guard.try_wait().unwrap() {
                let log = fs::read_to_string(self.dir.path().join(LOG)).unwrap();
                panic!("Postgres ended with {status}: {log}");
            }
            connect(&url).await.ok()
        })
        .await
    }

    async fn make_database(&mut self) {
        let client = self.answers().await;
        for statement in [
            format!("CREATE ROLE {OWNER} LOGIN CREATEROLE PASSWORD '{PASSWORD}'"),
            format!("CREATE DATABASE {DATABASE} OWNER {OWNER}"),
        ] {
            client.batch_execute(&statement).await.unwrap();
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        drop(self.guard.stdin.take());
        let _ = self.guard.wait();
    }
}

/// A stopped cluster with an empty database and its owner, made once.
async fn empty() -> &'static Path {
    static EMPTY: OnceCell<PathBuf> = OnceCell::const_new();
    let make = async || Cluster::make().await.into_template();
    EMPTY.get_or_init(|| Box::pin(make())).await
}

/// The same with the service's schema in the database.
async fn migrated() -> &'static Path {
    static MIGRATED: OnceCell<PathBuf> = OnceCell::const_new();
    let migrate = async || {
        let cluster = Cluster::start().await;
        recollect(&["migrate"], &[("DATABASE_URL", &cluster.url())]).ok();
        cluster.into_template()
    };
    MIGRATED.get_or_init(|| Box::pin(migrate())).await
}

fn cluster_dir() -> TempDir {
    let dir = tempfile::Builder::new()
        .prefix("recollect-pg-")
        .tempdir()
        .unwrap();
    // Postgres runs as another user, who has to enter it.
    fs::set_permissions(dir.path(), fs::Permissions::from_mode(0o755)).unwrap();
    dir
}

/// Starts Postgres. The shell ends it as soon as its standard input ends, and
/// ends when Postgres does.
fn run(dir: &Path, port: u16, env: &[(String, String)]) -> Child {
    let home = dir.join(HOME);
    let script = format!(
        "'{}' -D '{}' -k '{}' -h 127.0.0.1 -p {port} -c fsync=off & pid=$!; \
         (cat > /dev/null; kill -QUIT $pid) <&3 & wait $pid",
        bin_dir().join("postgres").display(),
        home.join("data").display(),
        home.display(),
    );
    as_user(Path::new("/bin/sh"), unprivileged())
        .args(["-c", &format!("exec 3<&0; {script}")])
        .envs(env.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(fs::File::create(dir.join(LOG)).unwrap())
        .spawn()
        .unwrap()
}

async fn connect(url: &str) -> Result<tokio_postgres::Client, tokio_postgres::Error> {
    let (client, connection) = tokio_postgres::connect(url, NoTls).await?;
    tokio::spawn(connection);
    Ok(client)
}

/// Postgres refuses to run as root: the user and group to run it as then.
fn unprivileged() -> Option<(u32, u32)> {
    if !rustix::process::getuid().is_root() {
        return None;
    }
    let passwd = fs::read_to_string("/etc/passwd").unwrap();
    let find = |name: &str| {
        let line = passwd
            .lines()
            .find(|line| line.split(':').next() == Some(name))?;
        let mut ids = line.split(':').skip(2).map(|id| id.parse().unwrap());
        Some((ids.next()?, ids.next()?))
    };
    Some(
        find("postgres")
            .or_else(|| find("nobody"))
            .expect("there is no user to run Postgres as"),
    )
}

fn as_user(program: &Path, owner: Option<(u32, u32)>) -> Command {
    let mut command = Command::new(program);
    command.current_dir("/");
    if let Some((user, group)) = owner {
        command.uid(user).gid(group);
    }
    command
}

/// The newest of the system's Postgres versions.
pub(crate) fn bin_dir() -> PathBuf {
    let versions = fs::read_dir("/usr/lib/postgresql")
        .expect("Postgres is not installed; scripts/setup says how")
        .filter_map(Result::ok)
        .map(|entry| entry.path().join("bin"))
        .filter(|dir| dir.join("initdb").is_file());
    let number = |dir: &PathBuf| -> u32 {
        let version = dir.parent().and_then(Path::file_name).unwrap();
        version.to_string_lossy().parse().unwrap_or(0)
    };
    versions
        .max_by_key(number)
        .expect("Postgres is not installed; scripts/setup says how")
}

/// A port for one cluster of this process, below those that the system hands to
/// connections and to servers that ask for any: another program could take one of those
/// before Postgres listens.
fn free_port() -> u16 {
    static TRIED: AtomicU32 = AtomicU32::new(0);
    const FIRST: u32 = 20_000;
    const PORTS: u32 = 12_000;
    loop {
        // Test programs that run side by side begin at different ports.
        let offset = std::process::id() * 97 + TRIED.fetch_add(1, Ordering::Relaxed);
        let port = u16::try_from(FIRST + offset % PORTS).unwrap();
        if std::net::TcpListener::bind(("127.0.0.1", port)).is_ok() {
            return port;
        }
    }
}
