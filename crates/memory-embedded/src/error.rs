//! Errors of the embedded default, each with its next step.

use std::io;
use std::path::PathBuf;

/// Why the embedded default could not be started or stopped.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmbeddedError {
    /// A file or directory could not be used.
    #[error("cannot {doing} {}", path.display())]
    Path {
        /// The operation, such as `create`.
        doing: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// What the system answered.
        #[source]
        source: io::Error,
    },
    /// Another process has the data directory.
    #[error("the data directory {} is in use by another recollect process{}", path.display(), holder(*pid))]
    InUse {
        /// The data directory.
        path: PathBuf,
        /// The process that has it, where it is known.
        pid: Option<i32>,
    },
    /// No Postgres was found.
    #[error("no Postgres server programs (initdb and postgres{}) were found; looked in {searched}", needed(*major))]
    NoPostgres {
        /// The major version that the cluster needs; `None` for a new cluster.
        major: Option<u32>,
        /// Where it was looked for.
        searched: String,
    },
    /// This machine has no account that Postgres can run as.
    #[error(
        "Postgres refuses to run as root, and this machine has neither a user `postgres` nor a user `nobody`"
    )]
    NoAccount,
    /// An existing file or directory prevents the start.
    #[error("{} {problem}", path.display())]
    Unsafe {
        /// The directory.
        path: PathBuf,
        /// The problem.
        problem: String,
    },
    /// A program could not be started.
    #[error("cannot start {}", program.display())]
    Spawn {
        /// Its path.
        program: PathBuf,
        /// What the system answered.
        #[source]
        source: io::Error,
    },
    /// The cluster could not be made.
    #[error("initdb failed ({status}):\n{output}")]
    Initdb {
        /// How it ended.
        status: String,
        /// The end of what it said.
        output: String,
    },
    /// Postgres ended while it was starting.
    #[error("Postgres did not start ({status}):\n{log}")]
    Exited {
        /// How it ended.
        status: String,
        /// The end of its log.
        log: String,
    },
    /// Postgres did not answer in time.
    #[error("Postgres did not answer within {seconds} seconds:\n{log}")]
    NotReady {
        /// How long it had.
        seconds: u64,
        /// The end of its log.
        log: String,
    },
    /// A Postgres that an earlier process left behind does not end.
    #[error("the Postgres that an earlier process left behind (process {pid}) does not end")]
    Orphan {
        /// Its process id.
        pid: i32,
    },
    /// This process received a signal to stop meanwhile.
    #[error("interrupted while the embedded Postgres was starting")]
    Interrupted,
    /// The database could not be created.
    #[error("cannot prepare the database")]
    Database(#[source] tokio_postgres::Error),
}

impl EmbeddedError {
    /// Names the file that an I/O error is about.
    pub(super) fn path(
        doing: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Path {
            doing,
            path,
            source,
        }
    }

    /// What to do about it, as a full sentence.
    pub fn next_step(&self) -> String {
        match self {
            Self::Path { .. } => {
                "Check that you may write there, or choose another place with --data-dir.".to_owned()
            }
            Self::InUse { pid: Some(pid), .. } => format!(
                "Use the running one (recollect status), stop it with `kill {pid}`, or start this \
                 one elsewhere with --data-dir DIR."
            ),
            Self::InUse { pid: None, .. } => {
                "Stop the other process, or choose another place with --data-dir.".to_owned()
            }
            Self::NoPostgres { major, .. } => {
                let package = match major {
                    Some(major) => format!("postgresql-{major}"),
                    None => "postgresql".to_owned(),
                };
                format!(
                    "Install it (Debian and Ubuntu: apt-get install {package}; macOS: brew install \
                     {}), or name the directory of its programs with --postgres-bin DIR.",
                    package.replace('-', "@")
                )
            }
            Self::NoAccount => {
                "Start recollect as an ordinary user, or add one: useradd --system postgres."
                    .to_owned()
            }
            Self::Unsafe { .. } => {
                "Look at what it is, then move it away or choose another place with --data-dir."
                    .to_owned()
            }
            Self::Spawn { .. } => {
                "Check that the file can be executed; `recollect doctor` shows what was found."
                    .to_owned()
            }
            Self::Initdb { .. } | Self::Exited { .. } | Self::NotReady { .. } => {
                "The whole log is postgres.log in the data directory; `recollect doctor` checks the \
                 machine."
                    .to_owned()
            }
            Self::Orphan { pid } => {
                format!("Look at process {pid}, end it with `kill -QUIT {pid}`, then start again.")
            }
            Self::Interrupted => "Start it again.".to_owned(),
            Self::Database(_) => "The log is postgres.log in the data directory.".to_owned(),
        }
    }
}

fn holder(pid: Option<i32>) -> String {
    pid.map(|pid| format!(" (process {pid})"))
        .unwrap_or_default()
}

fn needed(major: Option<u32>) -> String {
    major
        .map(|major| format!(" of version {major}, which made the cluster"))
        .unwrap_or_default()
}
