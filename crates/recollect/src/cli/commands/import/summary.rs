//! The summary of a file's import.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::json;

use crate::cli::failure::Failure;
use crate::cli::output::{Table, count, duration};

/// Errors that are listed; the others are counted.
const LISTED: usize = 20;
/// The place of a problem of a file as a whole.
pub(super) const WHOLE_FILE: &str = "the file";

/// The result of importing one file.
#[derive(Debug, Default)]
pub struct Summary {
    pub file: String,
    /// The threads that got messages, or had them.
    pub threads: BTreeSet<String>,
    /// Messages stored now.
    pub stored: u64,
    /// Messages that were stored by an earlier import.
    pub known: u64,
    /// The other records of an export.
    pub besides: Besides,
    /// Records and requests that were refused; the file itself counts as one
    /// where it cannot be read.
    pub problems: usize,
    /// Whether the file could not be read to its end.
    pub unread: bool,
    /// The first problems, each after its place.
    pub errors: Vec<(String, String)>,
    /// The checksum of the export, if the file is complete and unchanged.
    pub checksum: Option<String>,
    /// Whether the stored data equals the file; `None` if that was not checked.
    pub checked: Option<bool>,
    /// What the file has that nothing here holds, by kind.
    pub left_out: BTreeMap<&'static str, u64>,
    /// Whether the file was only read.
    pub dry_run: bool,
    /// How long it took.
    pub took: Duration,
}

/// Counts of the records other than messages that were stored or existed already.
#[derive(Debug, Default)]
pub struct Besides {
    pub app_policies: u64,
    pub files: u64,
    pub node_turns: u64,
    /// Plans of threads.
    pub plans: u64,
    /// Attempts in the logs of threads.
    pub attempts: u64,
    /// Events of agents.
    pub events: u64,
    /// Checkpoints of agents' runs.
    pub checkpoints: u64,
    /// Long-term memories.
    pub memories: u64,
    /// JSON documents.
    pub documents: u64,
    /// Memories whose text another memory of the user has.
    pub merged: u64,
    /// Places that the policies of apps replaced in texts.
    pub redacted: u64,
    /// Working memories of sessions.
    pub working_memories: u64,
    /// Messages that were stored with their working memory.
    pub put_messages: u64,
    /// Messages that had been stored with their working memory before.
    pub known_messages: u64,
    /// Sources of memories that do not exist.
    pub missing_sources: u64,
}

impl Summary {
    pub(super) fn problem(&mut self, place: String, error: String) {
        self.problems += 1;
        if self.errors.len() < LISTED {
            self.errors.push((place, error));
        }
    }

    pub(super) fn messages(&self) -> u64 {
        self.stored + self.known
    }

    pub(super) fn json(&self, searchable: bool) -> serde_json::Value {
        json!({
            "file": self.file,
            "threads": self.threads.len(),
            "stored": self.stored,
            "known": self.known,
            "app_policies": self.besides.app_policies,
            "files": self.besides.files,
            "node_turns": self.besides.node_turns,
            "plans": self.besides.plans,
            "attempts": self.besides.attempts,
            "events": self.besides.events,
            "checkpoints": self.besides.checkpoints,
            "memories": self.besides.memories,
            "documents": self.besides.documents,
            "working_memories": self.besides.working_memories,
            "merged": self.besides.merged,
            "redacted": self.besides.redacted,
            "left_out": self.left_out,
            "dry_run": self.dry_run,
            "missing_sources": self.besides.missing_sources,
            "refused": self.problems,
            "checked": self.checked,
            "checksum": self.checksum,
            "searchable": searchable,
            "errors": self.errors.iter()
                .map(|(place, error)| json!({"place": place, "error": error}))
                .collect::<Vec<_>>(),
            "ms": self.took.as_millis() as u64,
        })
    }

    fn is_unread(&self) -> bool {
        self.unread && self.messages() == 0 && self.problems == 1
    }

    /// What an export had besides, and whether all of it is there.
    fn print_besides(&self) {
        let Besides {
            app_policies,
            files,
            node_turns,
            plans,
            attempts,
            events,
            checkpoints,
            memories,
            documents,
            merged,
            redacted,
            working_memories,
            put_messages: _,
            known_messages: _,
            missing_sources,
        } = self.besides;
        let besides: Vec<String> = [
            (app_policies, "app's policy", "apps' policies"),
            (files, "file", "files"),
            (node_turns, "turn of a node", "turns of nodes"),
            (plans, "plan", "plans"),
            (attempts, "attempt", "attempts"),
            (events, "event", "events"),
            (checkpoints, "checkpoint", "checkpoints"),
            (memories, "memory", "memories"),
            (documents, "document", "documents"),
            (working_memories, "working memory", "working memories"),
        ]
        .into_iter()
        .filter(|(number, ..)| *number > 0)
        .map(|(number, one, many)| format!("{number} {}", if number == 1 { one } else { many }))
        .collect();
        if !besides.is_empty() {
            println!("{}: also {}.", self.file, besides.join(", "));
        }
        if merged > 0 {
            let memories = if merged == 1 { "memory" } else { "memories" };
            println!(
                "{}: {merged} {memories} merged: another memory of the user has the text, and stays \
                 as it is.",
                self.file
            );
        }
        if redacted > 0 {
            let places = count(redacted, "place");
            println!(
                "{}: {places} replaced in texts, as the policies of the apps say.",
                self.file
            );
        }
        for (what, count) in &self.left_out {
            let what = kind_of(what, *count);
            println!("{}: not carried over: {count} {what}.", self.file);
        }
        if missing_sources > 0 {
            let sources = count(missing_sources, "source");
            println!(
                "{}: {sources} of memories left out: these messages are not there.",
                self.file
            );
        }
        let but_for = if merged > 0 {
            ", but for merged memories"
        } else {
            ""
        };
        match (self.checked, &self.checksum) {
            (Some(true), Some(checksum)) => println!(
                "{}: checked, what is stored is what the file holds{but_for} (checksum {checksum}).",
                self.file
            ),
            (Some(true), None) => println!(
                "{}: checked, what is stored is what the file holds{but_for}.",
                self.file
            ),
            (Some(false), _) => println!(
                "{}: checked, what is stored is not all that the file holds.",
                self.file
            ),
            (None, _) => {}
        }
    }
}

/// Prints the summaries for people; all of them are of dry runs, or none.
pub(super) fn print(summaries: &[Summary]) -> Result<(), Failure> {
    let is_dry = summaries.iter().any(|summary| summary.dry_run);
    // A dry run asks no server what is known already.
    let headings: &[&str] = match is_dry {
        true => &["File", "Threads>", "To store>", "Refused>", "Took>"],
        false => &[
            "File",
            "Threads>",
            "Stored>",
            "Known already>",
            "Refused>",
            "Took>",
        ],
    };
    let mut table = Table::new(headings);
    for summary in summaries.iter().filter(|summary| !summary.is_unread()) {
        let known = (!is_dry).then(|| summary.known.to_string());
        let begin = [
            summary.file.clone(),
            summary.threads.len().to_string(),
            summary.stored.to_string(),
        ];
        let end = [summary.problems.to_string(), duration(summary.took)];
        table.row(begin.into_iter().chain(known).chain(end));
    }
    let has_rows = !table.is_empty();
    if has_rows {
        table.print()?;
    }
    summaries.iter().for_each(Summary::print_besides);
    for summary in summaries {
        for (place, error) in &summary.errors {
            match place.as_str() {
                WHOLE_FILE | "" => eprintln!("{}: {error}", summary.file),
                _ => eprintln!("{}, {place}: {error}", summary.file),
            }
        }
        if summary.problems > summary.errors.len() {
            eprintln!(
                "{}: and {} more",
                summary.file,
                summary.problems - summary.errors.len()
            );
        }
    }
    if is_dry && has_rows {
        println!("Nothing was stored; leave out --dry-run to import.");
    }
    Ok(())
}

/// A kind of things as it is named for so many of them: kinds are written in the plural, and
/// their first plural word is the name of the thing.
fn kind_of(what: &str, count: u64) -> String {
    let mut words = what.split(' ');
    let is_plural = |word: &&str| word.ends_with('s') || *word == "metadata";
    let Some(noun) = words.find(is_plural).filter(|_| count == 1) else {
        return what.to_owned();
    };
    let one = match noun.strip_suffix("ies") {
        Some(stem) => format!("{stem}y"),
        None => noun.trim_end_matches('s').to_owned(),
    };
    what.replacen(noun, &one, 1)
}

/// Messages, counted.
pub(super) fn messages_of(number: u64) -> String {
    count(number, "message")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_that_is_left_out_is_named_in_the_singular() {
        for (many, one) in [
            (
                "conversations without messages",
                "conversation without messages",
            ),
            ("deleted memories", "deleted memory"),
            (
                "hidden messages (system prompts)",
                "hidden message (system prompts)",
            ),
            ("ends of tools' results", "end of tools' results"),
            (
                "extraction strategies (set the policy of the app)",
                "extraction strategy (set the policy of the app)",
            ),
            (
                "metadata above 16 KiB or 5 levels",
                "metadata above 16 KiB or 5 levels",
            ),
        ] {
            assert_eq!(kind_of(many, 1), one);
            assert_eq!(kind_of(many, 2), many);
        }
    }
}
