//! Calls beside their results. Conversations may have a result that comes after
//! other messages, a call that was never answered, an id that is used again: chat
//! formats have none of that. They want each call answered at once, just once,
//! under an id of its own.

use std::collections::{HashMap, HashSet};

use memory_contract::{FileLocation, FileRef, FileType, Part, Role, ToolCall, ToolResult};
use sha2::{Digest as _, Sha256};

use super::words;
use crate::services::context::block::Said;

/// The longest id and the longest name of a tool that providers take.
const ID_CHARS: usize = 40;
const NAME_CHARS: usize = 64;

/// A message with all of its calls answered. Its role is user, assistant or
/// system.
pub(super) struct Step<'a> {
    pub(super) role: Role,
    pub(super) name: &'a str,
    pub(super) pieces: Vec<Piece<'a>>,
    /// Only an assistant has them.
    pub(super) calls: Vec<Answered<'a>>,
}

/// A piece of what is said.
pub(super) enum Piece<'a> {
    Text(String),
    /// A picture on the net, which users can show.
    Image {
        url: &'a str,
        caption: &'a str,
    },
}

/// A call and its result.
pub(super) struct Answered<'a> {
    /// An id that no other call of the context has.
    pub(super) id: String,
    /// The tool's name as providers take it.
    pub(super) tool: String,
    pub(super) call: &'a ToolCall,
    pub(super) result: &'a ToolResult,
}

/// Puts each result beside its call: the nearest one with its id before it. A
/// call without a result, and a result without a call, are given in words.
pub(super) fn steps<'a>(messages: &[&'a Said]) -> Vec<Step<'a>> {
    let answers = answers(messages);
    let answered: HashSet<*const ToolResult> = answers
        .values()
        .map(|result| std::ptr::from_ref(*result))
        .collect();
    let mut ids = Ids::default();
    let mut steps = Vec::with_capacity(messages.len());
    for said in messages {
        let mut step = Step {
            role: match said.role {
                // What a tool says beside results, or without a call.
                Role::Tool => Role::User,
                role => role,
            },
            name: &said.name,
            pieces: Vec::new(),
            calls: Vec::new(),
        };
        for part in &said.parts {
            match part {
                Part::ToolCall(call) => match answers.get(&std::ptr::from_ref(call)) {
                    Some(&result) => step.calls.push(Answered {
                        id: ids.next(&call.id),
                        tool: plain(&call.name, NAME_CHARS),
                        call,
                        result,
                    }),
                    None => step.pieces.push(Piece::Text(words::of_call(call))),
                },
                Part::ToolResult(result) if answered.contains(&std::ptr::from_ref(result)) => {}
                Part::File(file) => step.pieces.push(piece_of(file, step.role)),
                other => step.pieces.push(Piece::Text(words::of_part(other))),
            }
        }
        if !step.pieces.is_empty() || !step.calls.is_empty() || said.parts.is_empty() {
            steps.push(step);
        }
    }
    steps
}

/// The result of each call that has one.
fn answers<'a>(messages: &[&'a Said]) -> HashMap<*const ToolCall, &'a ToolResult> {
    let mut nearest: HashMap<&str, &ToolCall> = HashMap::new();
    let mut answers: HashMap<*const ToolCall, &ToolResult> = HashMap::new();
    for part in messages.iter().flat_map(|said| &said.parts) {
        match part {
            Part::ToolCall(call) => {
                nearest.insert(&call.id, call);
            }
            Part::ToolResult(result) => {
                if let Some(call) = nearest.get(result.call_id.as_str()) {
                    answers.entry(std::ptr::from_ref(*call)).or_insert(result);
                }
            }
            Part::Text(_) | Part::Json(_) | Part::File(_) => {}
        }
    }
    answers
}

/// A file: a picture that a provider can fetch, or words.
fn piece_of(file: &FileRef, role: Role) -> Piece<'_> {
    match (&file.location, file.kind) {
        (FileLocation::Url(url), FileType::Image)
            if role == Role::User
                && (url.starts_with("https://") || url.starts_with("http://")) =>
        {
            Piece::Image {
                url,
                caption: &file.caption,
            }
        }
        _ => Piece::Text(words::of_file(file)),
    }
}

/// Ids of calls. Those that providers take stay as they are the first time.
#[derive(Default)]
struct Ids(HashSet<String>);

impl Ids {
    fn next(&mut self, id: &str) -> String {
        let mut own = id.to_owned();
        let mut again = 0_u32;
        while own.len() > ID_CHARS || !is_plain(&own) || self.0.contains(&own) {
            let digest = Sha256::digest(format!("{again} {id}"));
            let digits: String = digest[..16]
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            own = format!("call_{digits}");
            again += 1;
        }
        self.0.insert(own.clone());
        own
    }
}

/// A name in the characters that providers take: others become `_`.
pub(super) fn plain(name: &str, max_chars: usize) -> String {
    name.chars()
        .take(max_chars)
        .map(|c| {
            if is_plain(c.encode_utf8(&mut [0; 4])) {
                c
            } else {
                '_'
            }
        })
        .collect()
}

fn is_plain(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    !text.is_empty() && text.bytes().all(plain)
}
