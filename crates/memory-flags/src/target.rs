//! The server, the conversation or the data directory that a command is about.

use std::path::PathBuf;

use clap::Args;
use memory_contract::proto::{SessionRef, ThreadRef};

/// The server.
#[derive(Debug, Clone, Args)]
pub struct ServerArgs {
    /// The server's gRPC address.
    #[arg(
        long,
        env = "RECOLLECT_ADDR",
        default_value = "http://127.0.0.1:50051",
        value_name = "URL",
        help_heading = "Server"
    )]
    pub addr: String,
    /// The API key; not needed if the server requires none.
    #[arg(
        long,
        env = "RECOLLECT_API_KEY",
        hide_env_values = true,
        value_name = "KEY",
        help_heading = "Server"
    )]
    pub api_key: Option<String>,
}

/// The server, and the format of the output.
#[derive(Debug, Clone, Args)]
pub struct ClientArgs {
    #[command(flatten)]
    pub server: ServerArgs,
    /// Print JSON instead of a table: the messages of the API, one a line.
    #[arg(long)]
    pub json: bool,
}

/// A conversation, by its thread or by the caller's names.
#[derive(Debug, Clone, Args)]
pub struct Named {
    /// The thread's id; or name the conversation with --app, --user, --session.
    #[arg(value_name = "THREAD_ID", conflicts_with_all = ["user", "session"])]
    pub thread: Option<String>,
    /// The app of the conversation.
    #[arg(long, default_value = "default")]
    pub app: String,
    /// The user of the conversation. [default: none]
    #[arg(long, requires = "session")]
    pub user: Option<String>,
    /// The session key of the conversation.
    #[arg(long, value_name = "KEY", required_unless_present = "thread")]
    pub session: Option<String>,
}

impl Named {
    /// The thread as a request names it.
    pub fn thread(self) -> Option<ThreadRef> {
        thread_of(self.thread, self.app, self.user, self.session)
    }
}

/// A thread as a request names it, if its id or a session key is given.
pub(super) fn thread_of(
    thread: Option<String>,
    app: String,
    user: Option<String>,
    session: Option<String>,
) -> Option<ThreadRef> {
    let by_session = |session_key| {
        ThreadRef::from(SessionRef {
            app_id: app,
            user_id: user.unwrap_or_default(),
            session_key,
            agent_session_key: String::new(),
        })
    };
    thread
        .map(ThreadRef::from)
        .or_else(|| session.map(by_session))
}

/// Where `recollect dev` has its data.
#[derive(Debug, Clone, Args)]
pub struct DataDirArgs {
    /// The directory for all data of `recollect dev`.
    #[arg(
        long,
        env = "RECOLLECT_DATA_DIR",
        default_value = "./.recollect",
        value_name = "DIR"
    )]
    pub data_dir: PathBuf,
}
