//! Agents, and the files that they read.

use std::path::{Path, PathBuf};

use etcetera::{BaseStrategy as _, choose_base_strategy};

use crate::entry::{Entry, Server, USER};
use crate::error::ConnectError;
use crate::target::Target;

/// An agent whose configuration Recollect can be written into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agent {
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
    OpenCode,
    /// Windsurf.
    Windsurf,
}

/// Whose configuration is changed.
#[derive(Clone, Debug, Default)]
pub struct Place {
    /// The directory of a project; `None`: the user's own configuration.
    pub project: Option<PathBuf>,
    /// Codex's directory; `None`: `.codex` in the home directory.
    pub codex_home: Option<PathBuf>,
    /// Claude Code's directory; `None`: the home directory and `.claude` in it.
    pub claude_home: Option<PathBuf>,
}

impl Agent {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::ClaudeCode,
        Self::ClaudeDesktop,
        Self::Codex,
        Self::Cursor,
        Self::GeminiCli,
        Self::OpenCode,
        Self::Windsurf,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::ClaudeDesktop => "Claude Desktop",
            Self::Codex => "Codex",
            Self::Cursor => "Cursor",
            Self::GeminiCli => "Gemini CLI",
            Self::OpenCode => "OpenCode",
            Self::Windsurf => "Windsurf",
        }
    }

    /// Whether hooks are written, by which memory comes without a call of the model.
    pub fn has_hooks(self, place: &Place) -> bool {
        match self {
            Self::ClaudeCode => true,
            // All who work on a project share its files: hooks would store what others say, and
            // fail where Recollect is not installed.
            Self::Codex | Self::GeminiCli => place.project.is_none(),
            Self::ClaudeDesktop | Self::Cursor | Self::OpenCode | Self::Windsurf => false,
        }
    }

    /// Whether its configuration can name a key by an environment variable.
    pub fn refers_to_environment(self) -> bool {
        self != Self::ClaudeDesktop
    }

    /// Whether it seems to be installed: its directory exists.
    ///
    /// # Errors
    /// [`ConnectError::NoHome`].
    pub fn is_found(self, place: &Place) -> Result<bool, ConnectError> {
        let home = home()?;
        let directory = match self {
            Self::ClaudeCode => place.claude_home.clone().unwrap_or(home.join(".claude")),
            Self::ClaudeDesktop => claude_desktop(&home)?,
            Self::Codex => place.codex_home.clone().unwrap_or(home.join(".codex")),
            Self::Cursor => home.join(".cursor"),
            Self::GeminiCli => home.join(".gemini"),
            Self::OpenCode => config_home()?.join("opencode"),
            Self::Windsurf => home.join(".codeium/windsurf"),
        };
        Ok(directory.is_dir())
    }

    /// The files that are changed, and what is written into each.
    pub(crate) fn targets(
        self,
        place: &Place,
        server: &Server,
    ) -> Result<Vec<Target>, ConnectError> {
        let home = home()?;
        let target = |path: PathBuf, entry: Entry| vec![Target::new(path, [entry])];
        let project = place.project.as_deref();
        Ok(match (self, project) {
            // https://code.claude.com/docs/en/mcp: "MCP installation scopes" and "Environment
            // variable expansion"; https://code.claude.com/docs/en/hooks: "Hook locations".
            (Self::ClaudeCode, Some(project)) => vec![
                Target::new(
                    project.join(".mcp.json"),
                    [Entry::mcp_servers(server, |name| {
                        Some(format!("${{{name}}}"))
                    })],
                ),
                // The one of both settings that is not shared.
                Target::new(
                    project.join(".claude/settings.local.json"),
                    [Entry::hooks(server)],
                ),
            ],
            (Self::ClaudeCode, None) => {
                let (state, settings) = match &place.claude_home {
                    Some(directory) => (
                        directory.join(".claude.json"),
                        directory.join("settings.json"),
                    ),
                    None => (
                        home.join(".claude.json"),
                        home.join(".claude/settings.json"),
                    ),
                };
                vec![
                    Target::new(
                        state,
                        [Entry::mcp_servers(server, |name| {
                            Some(format!("${{{name}}}"))
                        })],
                    ),
                    Target::new(settings, [Entry::hooks(server)]),
                ]
            }
            // https://modelcontextprotocol.io/docs/develop/connect-local-servers
            (Self::ClaudeDesktop, None) => target(
                claude_desktop(&home)?.join("claude_desktop_config.json"),
                Entry::mcp_servers_with_key(server),
            ),
            // https://developers.openai.com/codex/mcp: `mcp_servers` of config.toml, and
            // `env_vars`, the variables that Codex passes on.
            (Self::Codex, project) => {
                let directory = match (project, &place.codex_home) {
                    (Some(project), _) => project.join(".codex"),
                    (None, Some(directory)) => directory.clone(),
                    (None, None) => home.join(".codex"),
                };
                let mut targets = target(directory.join("config.toml"), Entry::codex(server));
                // https://developers.openai.com/codex/hooks: "Where Codex looks for hooks".
                if self.has_hooks(place) {
                    let hooks = Entry::hooks(server);
                    targets.push(Target::new(directory.join("hooks.json"), [hooks]));
                }
                targets
            }
            // https://cursor.com/docs/mcp: "Configuration locations", "Config interpolation".
            (Self::Cursor, project) => target(
                project.unwrap_or(&home).join(".cursor/mcp.json"),
                Entry::mcp_servers(server, |name| Some(format!("${{env:{name}}}"))),
            ),
            // https://geminicli.com/docs/reference/configuration: settings files, and
            // variables in them.
            (Self::GeminiCli, project) => {
                // A reference to a variable that is not set stays as it is written, and would be
                // the name of a user. The program inherits the variable.
                let reference = |name: &str| (name != USER).then(|| format!("${name}"));
                let mut entries = vec![Entry::mcp_servers(server, reference)];
                // https://geminicli.com/docs/hooks/reference
                if self.has_hooks(place) {
                    entries.push(Entry::gemini_hooks(server));
                }
                let directory = project.unwrap_or(&home);
                vec![Target::new(
                    directory.join(".gemini/settings.json"),
                    entries,
                )]
            }
            // https://opencode.ai/docs/config and https://opencode.ai/docs/mcp-servers
            (Self::OpenCode, project) => {
                let directory = match project {
                    Some(project) => project.to_owned(),
                    None => config_home()?.join("opencode"),
                };
                target(either(&directory), Entry::open_code(server))
            }
            // https://docs.windsurf.com/windsurf/cascade/mcp
            (Self::Windsurf, None) => target(
                home.join(".codeium/windsurf/mcp_config.json"),
                Entry::mcp_servers(server, |name| Some(format!("${{env:{name}}}"))),
            ),
            (Self::ClaudeDesktop | Self::Windsurf, Some(_)) => {
                return Err(ConnectError::NoProject(self.name()));
            }
        })
    }
}

/// The file of OpenCode that exists, with comments or without.
fn either(directory: &Path) -> PathBuf {
    let with_comments = directory.join("opencode.jsonc");
    match with_comments.is_file() {
        true => with_comments,
        false => directory.join("opencode.json"),
    }
}

fn claude_desktop(home: &Path) -> Result<PathBuf, ConnectError> {
    Ok(match cfg!(target_os = "macos") {
        true => home.join("Library/Application Support/Claude"),
        false => config_home()?.join("Claude"),
    })
}

fn home() -> Result<PathBuf, ConnectError> {
    etcetera::home_dir().map_err(|_| ConnectError::NoHome)
}

/// `$XDG_CONFIG_HOME`, or `.config` in the home directory.
fn config_home() -> Result<PathBuf, ConnectError> {
    let strategy = choose_base_strategy().map_err(|_| ConnectError::NoHome)?;
    Ok(strategy.config_dir())
}
