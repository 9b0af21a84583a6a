//! Tests of the units that files become, with files in the shapes of the products that export
//! them.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write as _;
use std::path::Path;

use memory_contract::proto::{FileRef, Memory, MessageInput, Role, part::Content};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::*;
use crate::format::System;

/// What a file holds.
#[derive(Debug, Default, PartialEq)]
struct Found {
    /// Sessions and titles of threads, in order.
    threads: Vec<(String, String)>,
    /// Messages after their sessions, in order.
    messages: Vec<(String, MessageInput)>,
    /// The external ids of heads that were set.
    heads: Vec<String>,
    memories: Vec<Memory>,
    left_out: BTreeMap<&'static str, u64>,
    /// Problems after their places.
    problems: Vec<String>,
    /// Why it was not read to its end.
    refusal: Option<String>,
}

impl Found {
    /// Each message as `session role name: texts <- parent`, ids without what is common.
    fn said(&self) -> Vec<String> {
        let said = self.messages.iter().map(|(session, message)| {
            let role = message.role().as_str_name().trim_start_matches("ROLE_");
            let parts: Vec<String> = message.parts.iter().map(shown).collect();
            let parent = match &message.parent {
                None => String::new(),
                Some(Parent::Root(())) => " <- root".to_owned(),
                Some(Parent::ParentMessageId(id)) => {
                    let parent = self.messages.iter().find(|(_, one)| one.message_id == *id);
                    format!(" <- {}", parent.map_or("?", |(_, one)| &one.external_id))
                }
            };
            format!(
                "{session} {role} {}: {}{parent}",
                message.name,
                parts.join(" + ")
            )
        });
        said.collect()
    }

    fn of(&self, session: &str) -> Vec<String> {
        let begin = format!("{session} ");
        let said = self.said().into_iter();
        said.filter_map(|one| one.strip_prefix(&begin).map(str::to_owned))
            .collect()
    }
}

fn shown(part: &memory_contract::proto::Part) -> String {
    match part.content.as_ref().unwrap() {
        Content::Text(text) => text.replace('\n', "/"),
        Content::File(FileRef { name, .. }) => format!("[{name}]"),
        Content::ToolCall(call) => {
            format!("{}({})#{}", call.name, call.arguments, call.tool_call_id)
        }
        Content::ToolResult(result) => {
            let content: Vec<String> = result
                .content
                .iter()
                .map(|one| format!("{one:?}"))
                .collect();
            let text = content.join(" ");
            let text = text.split('"').nth(1).unwrap_or_default().to_owned();
            format!("{}#{} = {text}", result.name, result.tool_call_id)
        }
        other => format!("{other:?}"),
    }
}

fn read_as(path: &Path, format: Format) -> Found {
    let source = Source {
        file: path.to_owned(),
        format,
        again: false,
        defaults: Defaults {
            app: "default".to_owned(),
            user: Some("ada".to_owned()),
            session: None,
        },
    };
    let mut found = Found::default();
    let result = source.read(|Placed { place, value }| {
        match value {
            Unit::Thread(thread) => {
                let session = thread.session.unwrap();
                assert_eq!(
                    (session.app_id.as_str(), session.user_id.as_str()),
                    ("default", "ada")
                );
                found.threads.push((session.session_key, thread.title));
            }
            Unit::Batch(batch) => {
                let session = crate::named_session(batch.value.thread.as_ref()).unwrap();
                let key = session.session_key.clone();
                let messages = batch.value.messages.into_iter();
                found
                    .messages
                    .extend(messages.map(|one| (key.clone(), one)));
            }
            Unit::Head(head) => {
                let named = found
                    .messages
                    .iter()
                    .find(|(_, one)| one.message_id == head.head_message_id);
                found.heads.push(named.unwrap().1.external_id.clone());
            }
            Unit::Memory(memory) => found.memories.push(*memory),
            Unit::LeftOut(what, count) => *found.left_out.entry(what).or_default() += count,
            Unit::Problem(problem) => found.problems.push(format!("{place}: {problem}")),
            Unit::Exported(_) | Unit::WorkingMemory(_) => panic!("{place}"),
        }
        true
    });
    found.refusal = result.err();
    found
}

fn read(path: &Path) -> Found {
    read_as(path, Format::Auto)
}

fn export(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/exports")
        .join(name)
}

/// A folder with one file.
fn file(name: &str, content: impl AsRef<[u8]>) -> (TempDir, std::path::PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join(name);
    fs::write(&path, content).unwrap();
    (dir, path)
}

mod chats;
mod refused;
mod rows;
mod workspaces;

fn message(id: &str, parent: &str, text: &str) -> MessageInput {
    MessageInput {
        message_id: id.to_owned(),
        parent: Some(Parent::ParentMessageId(parent.to_owned())),
        role: Role::User.into(),
        parts: vec![Content::Text(text.to_owned()).into()],
        ..Default::default()
    }
}

#[test]
fn the_followers_of_a_refused_message_follow_its_parent() {
    let id = |number: u8| format!("00000000-0000-0000-0000-00000000000{number}");
    let mut refused = Refused::default();
    let long = "x".repeat(256 * 1024 + 1);
    for number in [2, 3] {
        let broken = message(&id(number), &id(number - 1), &long);
        let problem = refused.check(broken).unwrap_err();
        assert!(problem.contains("parts[0].text"), "{problem}");
    }
    let kept = refused.check(message(&id(4), &id(3), "Hi.")).unwrap();
    assert_eq!(kept.parent, Some(Parent::ParentMessageId(id(1))));
}
