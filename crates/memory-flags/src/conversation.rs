//! Flags of the commands that change a conversation.

use clap::{Args, Subcommand, ValueEnum};
use memory_contract::proto::{Role, ThreadRef};
use uuid::Uuid;

use crate::object::parse_object;
use crate::target::{ClientArgs, Named, thread_of};

/// `recollect append`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  recollect append --user ada --session 42 \"My dog is called Pixel.\"
  recollect append --user ada --session 42 \"How old is he?\" --reply \"Three.\"
  recollect append --user ada --session 42 < messages.jsonl

Without TEXT, standard input has one message a line, in OpenAI's chat format, such as
{\"role\": \"user\", \"content\": \"Hello!\", \"created_at\": \"2025-03-01T09:00:00Z\"};
`external_id`, `name` and `said_by`, a user, are read too. All messages of a call are stored,
or none: 1 to 256. A conversation that does not exist is created. To repeat a call safely, give it a
--request-id: with the same id and messages it stores nothing twice for 24 hours.")]
pub struct AppendArgs {
    /// The text of one message; without it, messages are read from standard input.
    #[arg(value_name = "TEXT")]
    pub text: Option<String>,
    /// The thread's id; or name the conversation with --app, --user, --session.
    #[arg(long, value_name = "ID", conflicts_with_all = ["user", "session"])]
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
    /// Who says TEXT.
    #[arg(long, value_enum, default_value_t = RoleArg::User, requires = "text")]
    pub role: RoleArg,
    /// The name of the speaker of TEXT.
    #[arg(long, requires = "text", default_value = "", hide_default_value = true)]
    pub name: String,
    /// The user who says TEXT, where several take part; facts in it belong to this user.
    /// [default: the user of the conversation]
    #[arg(
        long,
        value_name = "USER",
        requires = "text",
        default_value = "",
        hide_default_value = true
    )]
    pub said_by: String,
    /// An id of your own for the message; the same message with this id is stored once.
    #[arg(
        long,
        value_name = "ID",
        requires = "text",
        conflicts_with = "reply",
        default_value = "",
        hide_default_value = true
    )]
    pub external_id: String,
    /// Your own data about the message, such as `{"channel": "mail"}`.
    #[arg(long, value_name = "JSON", requires = "text", value_parser = parse_object)]
    pub metadata: Option<String>,
    /// The assistant's answer to TEXT, stored with it as one turn.
    #[arg(long, value_name = "TEXT", requires = "text")]
    pub reply: Option<String>,
    /// A UUID that makes it safe to repeat the call. [default: none]
    #[arg(long, value_name = "UUID")]
    pub request_id: Option<Uuid>,
    #[command(flatten)]
    pub client: ClientArgs,
}

impl AppendArgs {
    /// The thread as a request names it.
    pub fn thread(&self) -> Option<ThreadRef> {
        let (app, user) = (self.app.clone(), self.user.clone());
        thread_of(self.thread.clone(), app, user, self.session.clone())
    }
}

/// The role of a message with text alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RoleArg {
    /// The person in the conversation.
    User,
    /// The model.
    Assistant,
    /// An instruction to the model.
    System,
}

impl From<RoleArg> for Role {
    fn from(role: RoleArg) -> Self {
        match role {
            RoleArg::User => Self::User,
            RoleArg::Assistant => Self::Assistant,
            RoleArg::System => Self::System,
        }
    }
}

/// `recollect thread`.
#[derive(Debug, Clone, Args)]
pub struct ThreadArgs {
    /// What to do.
    #[command(subcommand)]
    pub command: ThreadCommand,
}

/// The commands for one conversation.
#[derive(Debug, Clone, Subcommand)]
pub enum ThreadCommand {
    /// Delete a conversation with its messages and all text derived from them.
    Delete(DeleteThreadArgs),
}

/// `recollect thread delete`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  recollect thread delete 0197b6a0-5f0e-7c3e-9a39-5d6c2e1f0a11
  recollect thread delete --user ada --session 42 --yes

The conversation is unreadable at once and cannot be restored. Extracted memories that no
other conversation supports are deleted too; pinned and added ones stay. The API key needs
the scope `delete`. Without a terminal to ask on, --yes is required.")]
pub struct DeleteThreadArgs {
    #[command(flatten)]
    pub named: Named,
    /// Delete without asking.
    #[arg(long, short)]
    pub yes: bool,
    #[command(flatten)]
    pub client: ClientArgs,
}
