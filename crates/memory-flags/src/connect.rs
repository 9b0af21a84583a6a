//! Flags of `recollect connect`, `disconnect` and `hook`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use memory_connect::{Agent, Place};

use crate::target::ServerArgs;

/// The app of agents: what one of them stores, the others find.
const APP: &str = "assistant";

/// `recollect connect`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
Examples:
  recollect connect --list
  recollect connect claude-code --user ada
  recollect connect codex --project . --yes

The changes are shown before anything is written. `recollect disconnect` undoes them.")]
pub struct ConnectArgs {
    /// The agent.
    #[arg(value_enum, value_name = "AGENT", required_unless_present = "list")]
    pub agent: Option<AgentArg>,
    /// List the agents, which of them were found here, and which are connected.
    #[arg(long, conflicts_with = "agent")]
    pub list: bool,
    /// The user whose memory it is. [default: RECOLLECT_USER] The files of a project name no
    /// user: each person sets RECOLLECT_USER.
    #[arg(long, value_name = "USER")]
    pub user: Option<String>,
    /// The user if `--user` is not given, which alone contradicts `--project`.
    #[arg(long, env = "RECOLLECT_USER", hide = true)]
    pub default_user: Option<String>,
    /// The app of the memory. Agents with the same app share it.
    #[arg(long, env = "RECOLLECT_APP", value_name = "APP", default_value = APP)]
    pub app: String,
    /// Only the MCP server, without hooks.
    #[arg(long)]
    pub no_hooks: bool,
    #[command(flatten)]
    pub files: FilesArgs,
    #[command(flatten)]
    pub server: ServerArgs,
}

/// `recollect disconnect`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
A file that nothing else has changed since gets the bytes that it had before. Of others, the
entries of Recollect alone are removed.")]
pub struct DisconnectArgs {
    /// The agent.
    #[arg(value_enum, value_name = "AGENT")]
    pub agent: AgentArg,
    #[command(flatten)]
    pub files: FilesArgs,
}

/// Which files are changed, and how.
#[derive(Debug, Clone, Args)]
pub struct FilesArgs {
    /// The configuration of this project. [default: that of the user]
    #[arg(long, value_name = "DIR")]
    pub project: Option<PathBuf>,
    /// Show the changes and write nothing.
    #[arg(long)]
    pub dry_run: bool,
    /// Do not ask.
    #[arg(long, conflicts_with = "dry_run")]
    pub yes: bool,
    /// The directory of Codex.
    #[arg(long, env = "CODEX_HOME", hide = true)]
    pub codex_home: Option<PathBuf>,
    /// The directory of Claude Code.
    #[arg(long, env = "CLAUDE_CONFIG_DIR", hide = true)]
    pub claude_home: Option<PathBuf>,
}

/// `recollect hook`.
#[derive(Debug, Clone, Args)]
#[command(after_help = "\
It reads the hook's event from standard input. Before a prompt (UserPromptSubmit; of Gemini CLI,
BeforeAgent) it prints what is remembered about it, and stores the prompt. After an answer (Stop,
AfterAgent) it stores the answer. It never keeps the agent from working: if Recollect does not
answer in two seconds, it prints nothing.")]
pub struct HookArgs {
    /// The user whose memory it is.
    #[arg(long, env = "RECOLLECT_USER", value_name = "USER")]
    pub user: String,
    /// The app of the memory.
    #[arg(long, env = "RECOLLECT_APP", value_name = "APP", default_value = APP)]
    pub app: String,
    #[command(flatten)]
    pub server: ServerArgs,
}

/// Agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum AgentArg {
    /// Claude Code.
    ClaudeCode,
    /// Claude Desktop.
    ClaudeDesktop,
    /// OpenAI's Codex.
    Codex,
    /// Cursor.
    Cursor,
    /// Gemini CLI.
    GeminiCli,
    /// OpenCode.
    #[value(name = "opencode")]
    OpenCode,
    /// Windsurf.
    Windsurf,
}

impl AgentArg {
    /// The agent.
    pub fn agent(self) -> Agent {
        match self {
            Self::ClaudeCode => Agent::ClaudeCode,
            Self::ClaudeDesktop => Agent::ClaudeDesktop,
            Self::Codex => Agent::Codex,
            Self::Cursor => Agent::Cursor,
            Self::GeminiCli => Agent::GeminiCli,
            Self::OpenCode => Agent::OpenCode,
            Self::Windsurf => Agent::Windsurf,
        }
    }
}

impl FilesArgs {
    /// Where the files are.
    pub fn place(&self) -> Place {
        // What a file was is remembered by its path, from wherever the command is run.
        let absolute = |path: &Option<PathBuf>| {
            let path = path.as_ref()?;
            Some(std::path::absolute(path).unwrap_or_else(|_| path.clone()))
        };
        Place {
            project: absolute(&self.project),
            codex_home: absolute(&self.codex_home),
            claude_home: absolute(&self.claude_home),
        }
    }
}
