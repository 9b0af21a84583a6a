//! What is written into the files of agents.

use std::path::Path;

use serde_json::{Map, Value, json};

use crate::json::{self, Problem};
use crate::toml;

/// The name of the MCP server.
pub(crate) const NAME: &str = "recollect";
/// The variable that `recollect mcp` reads its key from, ...
pub(crate) const KEY: &str = "RECOLLECT_API_KEY";
/// ... and that in which it finds its user.
pub(crate) const USER: &str = "RECOLLECT_USER";
/// How long an agent waits for a hook, in seconds.
const HOOK_SECONDS: u32 = 10;

/// How an agent starts `recollect mcp`.
#[derive(Clone, Debug)]
pub struct Server {
    /// The program.
    pub command: String,
    /// The address of Recollect.
    pub addr: String,
    /// The app of all calls.
    pub app: String,
    /// The user of all calls; `None`: the program reads it from `RECOLLECT_USER`.
    pub user: Option<String>,
    /// The API key, if the server asks for one. It is written only where an agent cannot
    /// refer to the environment.
    pub key: Option<String>,
    /// Whether hooks are written too.
    pub hooks: bool,
}

/// What is written into a file.
#[derive(Clone, Debug)]
pub(crate) enum Entry {
    /// A value in JSON, in objects with these names.
    Json {
        within: &'static str,
        value: Value,
        /// Whether the value has a key in it.
        is_secret: bool,
    },
    /// Commands for events of the agent.
    Hooks(Vec<(&'static str, Value)>),
    /// A table of Codex's configuration.
    Codex {
        command: String,
        args: Vec<String>,
        variables: Vec<String>,
    },
}

impl Entry {
    /// An entry of `mcpServers`. `reference` is how the agent writes a variable; `None`: the
    /// program inherits it.
    pub(crate) fn mcp_servers(server: &Server, reference: impl Fn(&str) -> Option<String>) -> Self {
        Self::Json {
            within: "mcpServers",
            value: mcp_server(server, server.environment(reference)),
            is_secret: false,
        }
    }

    /// The same with the key itself.
    pub(crate) fn mcp_servers_with_key(server: &Server) -> Self {
        Self::Json {
            within: "mcpServers",
            value: mcp_server(
                server,
                server.environment(|name| server.key.clone().filter(|_| name == KEY)),
            ),
            is_secret: server.key.is_some(),
        }
    }

    /// An entry of OpenCode's `mcp`.
    pub(crate) fn open_code(server: &Server) -> Self {
        let command: Vec<String> = [server.command.clone()]
            .into_iter()
            .chain(server.args())
            .collect();
        let mut value = Map::new();
        value.insert("type".to_owned(), json!("local"));
        value.insert("command".to_owned(), json!(command));
        let environment = server.environment(|name| Some(format!("{{env:{name}}}")));
        if !environment.is_empty() {
            value.insert("environment".to_owned(), Value::Object(environment));
        }
        value.insert("enabled".to_owned(), json!(true));
        Self::Json {
            within: "mcp",
            value: Value::Object(value),
            is_secret: false,
        }
    }

    /// The table of Codex, which passes variables on by their names.
    pub(crate) fn codex(server: &Server) -> Self {
        Self::Codex {
            command: server.command.clone(),
            args: server.args(),
            variables: server.variables().map(str::to_owned).collect(),
        }
    }

    /// `recollect hook` for the events of Claude Code and Codex that bring memory: before a prompt
    /// is read, and after the answer.
    pub(crate) fn hooks(server: &Server) -> Self {
        Self::hooks_for(server, ["UserPromptSubmit", "Stop"], HOOK_SECONDS)
    }

    /// The same for Gemini CLI, which counts milliseconds.
    pub(crate) fn gemini_hooks(server: &Server) -> Self {
        Self::hooks_for(server, ["BeforeAgent", "AfterAgent"], HOOK_SECONDS * 1000)
    }

    fn hooks_for(server: &Server, events: [&'static str; 2], timeout: u32) -> Self {
        if !server.hooks {
            return Self::Hooks(Vec::new());
        }
        let words = [server.command.clone(), "hook".to_owned()];
        // One word each: a value that begins with `-` is no flag.
        let flags = server
            .flags()
            .map(|(flag, value)| format!("{flag}={value}"));
        let words = words.into_iter().chain(flags);
        let command = words
            .map(|word| quoted(&word))
            .collect::<Vec<_>>()
            .join(" ");
        let group = json!({"hooks": [
            {"type": "command", "command": command, "timeout": timeout}
        ]});
        Self::Hooks(events.map(|event| (event, group.clone())).into())
    }

    /// The text of a file with the entry.
    pub(crate) fn put(&self, text: &str) -> Result<String, Problem> {
        match self {
            Self::Json { within, value, .. } => json::put(text, within, NAME, value),
            // Those of an earlier call, which are not wanted any more.
            Self::Hooks(events) if events.is_empty() => self.remove(text),
            Self::Hooks(events) => json::put_hooks(text, events, is_own),
            Self::Codex {
                command,
                args,
                variables,
            } => toml::put(text, command, args, variables),
        }
    }

    /// The text of a file without what `connect` writes. An entry of the same name that `connect`
    /// would not write is the user's own, and stays.
    pub(crate) fn remove(&self, text: &str) -> Result<String, Problem> {
        let removed = match self {
            Self::Json { within, .. } => match json::value(text, within, NAME)? {
                Some(server) if is_of_connect(&words(&server)) => json::remove(text, within, NAME)?,
                _ => None,
            },
            Self::Hooks(_) => json::remove_hooks(text, is_own)?,
            Self::Codex { .. } => match toml::server(text)? {
                Some(server) if is_of_connect(&toml::words(&server)) => toml::remove(text)?,
                _ => None,
            },
        };
        Ok(removed.unwrap_or_else(|| text.to_owned()))
    }

    /// The text of a file with the entry that `before` has in the place of its own, or without an
    /// entry if `before` has none.
    pub(crate) fn restore(&self, text: &str, before: &str) -> Result<String, Problem> {
        let restored = match self {
            Self::Json { within, .. } => {
                let is_there = json::value(text, within, NAME)?.is_some();
                match json::value(before, within, NAME)? {
                    Some(server) if is_there => Some(json::put(text, within, NAME, &server)?),
                    _ => json::remove(text, within, NAME)?,
                }
            }
            Self::Hooks(_) => json::remove_hooks(text, is_own)?,
            Self::Codex { .. } => {
                let is_there = toml::server(text)?.is_some();
                match toml::server(before)? {
                    Some(server) if is_there => Some(toml::restore(text, server)?),
                    _ => toml::remove(text)?,
                }
            }
        };
        Ok(restored.unwrap_or_else(|| text.to_owned()))
    }

    /// Whether nothing is written for want of something to write.
    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::Hooks(events) if events.is_empty())
    }

    pub(crate) fn is_secret(&self) -> bool {
        matches!(
            self,
            Self::Json {
                is_secret: true,
                ..
            }
        )
    }
}

impl Server {
    /// The arguments of the program.
    fn args(&self) -> Vec<String> {
        ["mcp".to_owned()]
            .into_iter()
            .chain(self.connection())
            .collect()
    }

    fn connection(&self) -> impl Iterator<Item = String> {
        self.flags()
            .flat_map(|(flag, value)| [flag.to_owned(), value.to_owned()])
    }

    fn flags(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let user = self.user.as_deref().map(|user| ("--user", user));
        [("--addr", &*self.addr), ("--app", &*self.app)]
            .into_iter()
            .chain(user)
    }

    /// The variables that the program reads.
    fn variables(&self) -> impl Iterator<Item = &'static str> {
        let key = self.key.as_ref().map(|_| KEY);
        let user = self.user.is_none().then_some(USER);
        key.into_iter().chain(user)
    }

    /// These with their values, as the agent writes them.
    fn environment(&self, value: impl Fn(&str) -> Option<String>) -> Map<String, Value> {
        self.variables()
            .filter_map(|name| Some((name.to_owned(), json!(value(name)?))))
            .collect()
    }
}

fn mcp_server(server: &Server, environment: Map<String, Value>) -> Value {
    let mut value = Map::new();
    value.insert("command".to_owned(), json!(server.command));
    value.insert("args".to_owned(), json!(server.args()));
    if !environment.is_empty() {
        value.insert("env".to_owned(), Value::Object(environment));
    }
    Value::Object(value)
}

/// The program of a server and its arguments, which some agents want in one list.
fn words(server: &Value) -> Vec<&str> {
    let lists = [&server["command"], &server["args"]];
    let words = lists.into_iter().flat_map(|list| match list {
        Value::Array(words) => words.as_slice(),
        word => std::slice::from_ref(word),
    });
    words.filter_map(Value::as_str).collect()
}

/// Whether a server is one that `connect` writes: for a user with the path of the program, and in
/// the files of a project by its name and without a user. Each has all flags, in this order.
fn is_of_connect(words: &[&str]) -> bool {
    match words {
        [program, "mcp", "--addr", _, "--app", _] => *program == NAME,
        [program, "mcp", "--addr", _, "--app", _, "--user", _] => Path::new(program).is_absolute(),
        _ => false,
    }
}

/// Whether a hook is Recollect's own: its command is `recollect hook`.
fn is_own(hook: &Value) -> bool {
    let command = hook["command"].as_str().unwrap_or_default();
    let is_hook = |flag: &str| command.contains(&format!(" hook {flag}"));
    command.contains("recollect") && ["--addr ", "--addr=", "'--addr="].into_iter().any(is_hook)
}

/// A word for a shell.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-:=@%+,".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_hooks_are_known_however_their_flags_are_written() {
        for command in [
            "/usr/bin/recollect hook --addr=http://a --user=ada",
            "recollect hook --addr http://a --user ada",
            "'/opt/my tools/recollect' hook '--addr=http://a b'",
        ] {
            assert!(is_own(&json!({"command": command})), "{command}");
        }
        for command in ["beep", "recollect recall", "other hook --addr=a"] {
            assert!(!is_own(&json!({"command": command})), "{command}");
        }
    }

    #[test]
    fn an_entry_of_connect_is_known_by_its_command() {
        let server = |user: Option<&str>| Server {
            command: match user {
                Some(_) => "/usr/bin/recollect".to_owned(),
                None => "recollect".to_owned(),
            },
            addr: "http://a".to_owned(),
            app: "assistant".to_owned(),
            user: user.map(str::to_owned),
            key: None,
            hooks: false,
        };
        for user in [None, Some("ada")] {
            let server = server(user);
            for entry in [
                Entry::mcp_servers(&server, |_| None),
                Entry::open_code(&server),
                Entry::codex(&server),
            ] {
                let with = entry.put("").unwrap();
                assert!(with.contains("recollect"), "{with}");
                assert!(!entry.remove(&with).unwrap().contains("recollect"));
            }
        }
        for own in [
            json!({"command": "mine", "args": ["mcp"]}),
            json!({"command": "/bin/recollect", "args": ["mcp", "--app", "assistant"]}),
            // As docs/mcp.md shows it.
            json!({"command": "recollect", "args": [
                "mcp", "--addr", "http://a", "--app", "assistant", "--user", "ada"
            ]}),
            json!({"type": "remote", "url": "http://127.0.0.1:50051/mcp"}),
            json!({"command": ["recollect", "mcp"]}),
        ] {
            assert!(!is_of_connect(&words(&own)), "{own}");
        }
    }

    #[test]
    fn words_are_quoted_for_a_shell() {
        for (word, expected) in [
            ("/usr/bin/recollect", "/usr/bin/recollect"),
            ("http://127.0.0.1:50051", "http://127.0.0.1:50051"),
            ("Ada Byron", "'Ada Byron'"),
            ("it's", r"'it'\''s'"),
            ("$(id)", "'$(id)'"),
            ("", "''"),
        ] {
            assert_eq!(quoted(word), expected);
        }
    }
}
