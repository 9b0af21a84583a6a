//! A file of an agent, with what is written into it.

use std::path::PathBuf;

use crate::entry::Entry;
use crate::error::ConnectError;
use crate::json::Problem;

/// The character that editors of Windows may begin a file with.
const BYTE_ORDER_MARK: char = '\u{feff}';

/// A file with what is written into it.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) path: PathBuf,
    entries: Vec<Entry>,
}

impl Target {
    pub(crate) fn new(path: PathBuf, entries: impl Into<Vec<Entry>>) -> Self {
        let entries = entries.into();
        Self { path, entries }
    }

    /// The text of the file with all entries.
    pub(crate) fn put(&self, text: &str) -> Result<String, ConnectError> {
        self.edit(text, Entry::put)
    }

    /// The text of the file without what `connect` writes.
    pub(crate) fn remove(&self, text: &str) -> Result<String, ConnectError> {
        self.edit(text, Entry::remove)
    }

    /// The text of the file with the entries of `before`.
    pub(crate) fn restore(&self, text: &str, before: &str) -> Result<String, ConnectError> {
        let before = before.strip_prefix(BYTE_ORDER_MARK).unwrap_or(before);
        self.edit(text, |entry, text| entry.restore(text, before))
    }

    /// Whether nothing is written for want of something to write.
    pub(crate) fn is_empty(&self) -> bool {
        self.entries.iter().all(Entry::is_empty)
    }

    /// Whether a key is written.
    pub(crate) fn is_secret(&self) -> bool {
        self.entries.iter().any(Entry::is_secret)
    }

    /// Changes a text behind its byte order mark, entry by entry.
    fn edit(
        &self,
        text: &str,
        by: impl Fn(&Entry, &str) -> Result<String, Problem>,
    ) -> Result<String, ConnectError> {
        let rest = text.strip_prefix(BYTE_ORDER_MARK);
        let mut edited = rest.unwrap_or(text).to_owned();
        for entry in &self.entries {
            edited = by(entry, &edited).map_err(|problem| ConnectError::Malformed {
                path: self.path.clone(),
                problem,
            })?;
        }
        if rest.is_some() {
            edited.insert(0, BYTE_ORDER_MARK);
        }
        Ok(edited)
    }
}

#[cfg(test)]
mod tests {
    use crate::entry::Server;

    use super::*;

    fn targets() -> [Target; 2] {
        let server = Server {
            command: "recollect".to_owned(),
            addr: "http://a".to_owned(),
            app: "assistant".to_owned(),
            user: Some("ada".to_owned()),
            key: None,
            hooks: true,
        };
        let both = [
            Entry::mcp_servers(&server, |_| None),
            Entry::gemini_hooks(&server),
        ];
        [
            Target::new("settings.json".into(), both),
            Target::new("config.toml".into(), [Entry::codex(&server)]),
        ]
    }

    #[test]
    fn a_byte_order_mark_stays() {
        let [json, toml] = targets();
        for (target, text) in [(json, "{\"a\": 1}"), (toml, "a = 1\n")] {
            let marked = format!("\u{feff}{text}");
            let with = target.put(&marked).unwrap();
            assert_eq!(with, format!("\u{feff}{}", target.put(text).unwrap()));
            assert!(with.contains("recollect"), "{with}");
            let without = target.restore(&with, &marked).unwrap();
            assert!(without.starts_with('\u{feff}'), "{without}");
            assert!(!without.contains("recollect"), "{without}");
        }
    }

    #[test]
    fn an_entry_of_the_users_own_is_put_back_into_a_file_that_changed() {
        let [json, toml] = targets();
        for (target, before) in [
            (
                json,
                "{\"mcpServers\": {\"recollect\": {\"command\": \"mine\", /* y */ \"args\": [\"mcp\"]}}}",
            ),
            (
                toml,
                "[mcp_servers.recollect]\ncommand = \"mine\"\nargs = [\"mcp\"]\n\n[mcp_servers.recollect.env]\nA = \"1\"\n",
            ),
        ] {
            let with = target.put(before).unwrap();
            assert!(!with.contains("mine"), "{with}");
            // `connect` would not write it, so it is not removed either.
            assert_eq!(target.remove(before).unwrap(), before);
            let back = target.restore(&with, before).unwrap();
            assert!(back.contains("\"mine\""), "{back}");
            assert!(!back.contains("--addr"), "{back}");
            assert!(!target.restore(&with, "").unwrap().contains("recollect"));
        }
    }
}
