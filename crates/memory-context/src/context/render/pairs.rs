//! Pairs tool calls with their results.
//!
//! In a conversation a result may come after other messages, a call may have no result,
//! and an id may repeat. Chat formats require exactly one result right after each call,
//! under a unique id.

use std::collections::{HashMap, HashSet};

use memory_contract::{FileLocation, FileRef, FileType, Part, Role, ToolCall, ToolResult, text};
use sha2::{Digest as _, Sha256};

use crate::context::block::ContextMessage;

/// The longest id and the longest tool name that providers accept.
const ID_CHARS: usize = 40;
const NAME_CHARS: usize = 64;

/// A message with the results of its calls. Its role is user, assistant or system.
pub(super) struct Step<'a> {
    pub(super) role: Role,
    pub(super) name: &'a str,
    pub(super) pieces: Vec<PartContent<'a>>,
    /// Empty unless the role is assistant.
    pub(super) calls: Vec<Answered<'a>>,
}

/// The content of a part.
pub(super) enum PartContent<'a> {
    Text(String),
    /// An image on the web, in a message of the user.
    Image {
        url: &'a str,
        caption: &'a str,
    },
}

/// A call and its result.
pub(super) struct Answered<'a> {
    /// An id that is unique in the context.
    pub(super) id: String,
    /// The tool's name as providers take it.
    pub(super) tool: String,
    pub(super) call: &'a ToolCall,
    pub(super) result: &'a ToolResult,
}

/// Pairs each result with the nearest earlier call of its id. A call without a result,
/// and a result without a call, become text.
pub(super) fn steps<'a>(messages: &[&'a ContextMessage]) -> Vec<Step<'a>> {
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
                // Text of a tool, and results without a call.
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
                    None => step.pieces.push(PartContent::Text(text::of_call(call))),
                },
                Part::ToolResult(result) if answered.contains(&std::ptr::from_ref(result)) => {}
                Part::File(file) => step.pieces.push(piece_of(file, step.role)),
                other => step.pieces.push(PartContent::Text(text::of_part(other))),
            }
        }
        if !step.pieces.is_empty() || !step.calls.is_empty() || said.parts.is_empty() {
            steps.push(step);
        }
    }
    steps
}

/// The result of each call that has one, by the address of the call.
fn answers<'a>(messages: &[&'a ContextMessage]) -> HashMap<*const ToolCall, &'a ToolResult> {
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

/// A file: an image that a provider can fetch, or text.
fn piece_of(file: &FileRef, role: Role) -> PartContent<'_> {
    match (&file.location, file.kind) {
        (FileLocation::Url(url), FileType::Image)
            if role == Role::User
                && (url.starts_with("https://") || url.starts_with("http://")) =>
        {
            PartContent::Image {
                url,
                caption: &file.caption,
            }
        }
        _ => PartContent::Text(text::of_file(file)),
    }
}

/// Unique ids of calls. An id that providers accept is kept the first time it occurs.
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

/// A name in the characters that providers accept; others become `_`.
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
