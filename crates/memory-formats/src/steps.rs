//! Pairs tool calls with their results, and says which parts a provider is sent.
//!
//! In a conversation a result may come after other messages, a call may have no result,
//! and an id may repeat. Providers require exactly one result right after each call, under
//! a unique id.

use std::collections::{HashMap, HashSet};

use sha2::{Digest as _, Sha256};

use crate::format::Said;
use crate::image::base64_of;
use memory_contract::{
    file::{FileLocation, FileRef, FileType},
    message::{Content, Opaque, Provider, Reasoning, Role, ToolCall, ToolOutput, ToolResult},
    text,
};

/// What a provider accepts as ids of calls and names of tools, besides letters and digits.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    pub(crate) provider: Provider,
    /// The longest id of a call.
    pub(crate) id_chars: usize,
    /// The longest name of a tool.
    pub(crate) name_chars: usize,
    /// The further characters in ids and names.
    pub(crate) marks: &'static str,
}

/// A message with the results of its calls. Its role is user, assistant or system.
#[derive(Debug)]
pub(crate) struct Step<'a> {
    pub(crate) role: Role,
    pub(crate) name: &'a str,
    pub(crate) pieces: Vec<Piece<'a>>,
}

/// A part of a message as a provider is sent it.
#[derive(Debug)]
pub(crate) struct Piece<'a> {
    pub(crate) content: PieceContent<'a>,
    /// Gemini's signature; empty for none.
    pub(crate) signature: &'a str,
}

/// What a piece is.
#[derive(Debug)]
pub(crate) enum PieceContent<'a> {
    Text(String),
    /// A file that the provider can fetch, in a message of the user.
    File(&'a FileRef, &'a str),
    Call(Answered<'a>),
    /// Reasoning of this provider.
    Reasoning(&'a Reasoning),
    /// A piece of this provider's format.
    Opaque(&'a Opaque),
}

/// A call and its result.
#[derive(Debug)]
pub(crate) struct Answered<'a> {
    /// An id that is unique among the messages.
    pub(crate) id: String,
    /// The tool's name as the provider takes it.
    pub(crate) tool: String,
    pub(crate) call: &'a ToolCall,
    pub(crate) result: &'a ToolResult,
}

impl<'a> Step<'a> {
    /// The step's calls, in order.
    pub(crate) fn calls(&self) -> impl Iterator<Item = &Answered<'a>> {
        self.pieces.iter().filter_map(|piece| match &piece.content {
            PieceContent::Call(answered) => Some(answered),
            _ => None,
        })
    }
}

impl Answered<'_> {
    /// The arguments as JSON of an object: as the model wrote them where they are one, else
    /// the text in an object.
    pub(crate) fn object(&self) -> String {
        let written = self.call.arguments.trim();
        match written {
            "" => "{}".to_owned(),
            _ if written.starts_with('{') && self.call.is_json() => written.to_owned(),
            _ => crate::json::Object::with("arguments", &self.call.arguments).finish(),
        }
    }
}

/// The output of a tool as text. A failure without words is put into some: Anthropic refuses an
/// error without content, and the other formats would not show that the tool has failed.
pub(crate) fn output_text(result: &ToolResult) -> String {
    let text = text::of_output(result);
    match result.is_error && text.trim().is_empty() {
        true => "The tool failed without a message.".to_owned(),
        false => text,
    }
}

/// Pairs calls with their results, as [`answers`] says. A call without a result,
/// and a result without a call, become text. Reasoning and opaque parts of other providers
/// are left out; `files` says which files the provider fetches.
pub(crate) fn steps<'a>(
    messages: &[Said<'a>],
    rules: Rules,
    files: impl Fn(&FileRef) -> bool,
) -> Vec<Step<'a>> {
    let answers = answers(messages);
    let answered: HashSet<*const ToolResult> = answers
        .values()
        .map(|result| std::ptr::from_ref(*result))
        .collect();
    let mut ids = Ids::default();
    let mut steps = Vec::with_capacity(messages.len());
    for said in messages {
        let role = match said.role {
            // Text of a tool, and results without a call.
            Role::Tool => Role::User,
            role => role,
        };
        let mut pieces = Vec::with_capacity(said.parts.len());
        for part in said.parts {
            let content = match &part.content {
                Content::ToolCall(call) => match answers.get(&std::ptr::from_ref(call)) {
                    Some(&result) => PieceContent::Call(Answered {
                        id: ids.next(&call.id, rules),
                        tool: plain(&call.name, rules.name_chars, rules.marks),
                        call,
                        result,
                    }),
                    None => PieceContent::Text(text::of_call(call)),
                },
                Content::ToolResult(result) if answered.contains(&std::ptr::from_ref(result)) => {
                    continue;
                }
                Content::File(file) => match &file.location {
                    FileLocation::Url(url) if role == Role::User && files(file) => {
                        PieceContent::File(file, url)
                    }
                    _ => PieceContent::Text(text::of_file(file)),
                },
                Content::Reasoning(reasoning) if reasoning.provider == rules.provider => {
                    PieceContent::Reasoning(reasoning)
                }
                Content::Opaque(opaque) if opaque.provider == rules.provider => {
                    PieceContent::Opaque(opaque)
                }
                _ => match text::of_part(part) {
                    Some(text) => PieceContent::Text(text),
                    None => continue,
                },
            };
            pieces.push(Piece {
                content,
                signature: &part.signature,
            });
        }
        if !pieces.is_empty() || said.parts.is_empty() {
            steps.push(Step {
                role,
                name: said.name,
                pieces,
            });
        }
    }
    steps
}

/// The number of reasoning and opaque parts in messages.
pub(crate) fn provider_parts(messages: &[Said<'_>]) -> usize {
    let parts = messages.iter().flat_map(|said| said.parts);
    parts
        .map(|part| match &part.content {
            Content::Reasoning(_) | Content::Opaque(_) => 1,
            Content::ToolResult(result) => {
                let opaque = |output: &&ToolOutput| matches!(output, ToolOutput::Opaque(_));
                result.output.iter().filter(opaque).count()
            }
            Content::Text(_) | Content::Json(_) | Content::ToolCall(_) | Content::File(_) => 0,
        })
        .sum()
}

/// The result of each call that has one, by the address of the call. Results answer the nearest
/// calls of their id before them, in order: of calls with one id, the first result answers the
/// first call.
fn answers<'a>(messages: &[Said<'a>]) -> HashMap<*const ToolCall, &'a ToolResult> {
    let mut open: HashMap<&str, Exchange<'a>> = HashMap::new();
    let mut answers = HashMap::new();
    for part in messages.iter().flat_map(|said| said.parts) {
        match &part.content {
            Content::ToolCall(call) => {
                let exchange = open.entry(&call.id).or_default();
                if !exchange.results.is_empty() {
                    answers.extend(std::mem::take(exchange).pairs());
                }
                exchange.calls.push(call);
            }
            Content::ToolResult(result) => {
                if let Some(exchange) = open.get_mut(result.call_id.as_str()) {
                    exchange.results.push(result);
                }
            }
            _ => {}
        }
    }
    answers.extend(open.into_values().flat_map(Exchange::pairs));
    answers
}

/// Calls with one id, and the results that follow them.
#[derive(Default)]
struct Exchange<'a> {
    calls: Vec<&'a ToolCall>,
    results: Vec<&'a ToolResult>,
}

impl<'a> Exchange<'a> {
    fn pairs(self) -> impl Iterator<Item = (*const ToolCall, &'a ToolResult)> {
        let unanswered = self.calls.len().saturating_sub(self.results.len());
        let answered = self.calls.into_iter().skip(unanswered);
        answered.map(std::ptr::from_ref).zip(self.results)
    }
}

/// Whether a file is an image on the web, or one that its URL contains.
pub(crate) fn is_web_image(file: &FileRef) -> bool {
    let is_sent = match &file.location {
        FileLocation::Url(url) => {
            let on_the_web = url.starts_with("https://") || url.starts_with("http://");
            on_the_web || base64_of(url).is_some_and(|(kind, _)| kind.starts_with("image/"))
        }
        FileLocation::UploadFileId(_) | FileLocation::ToolFileId(_) => false,
    };
    is_sent && file.kind == FileType::Image
}

/// Unique ids of calls. An id that the provider accepts is kept the first time it occurs.
#[derive(Default)]
struct Ids(HashSet<String>);

impl Ids {
    fn next(&mut self, id: &str, rules: Rules) -> String {
        let mut own = id.to_owned();
        let mut again = 0_u32;
        while own.len() > rules.id_chars || !is_plain(&own, rules.marks) || self.0.contains(&own) {
            let digest = Sha256::digest(format!("{again} {id}"));
            own = format!("call_{}", hex::encode(&digest[..16]));
            again += 1;
        }
        self.0.insert(own.clone());
        own
    }
}

/// A name in letters, digits and `marks`; other characters become `_`.
pub(crate) fn plain(name: &str, max_chars: usize, marks: &str) -> String {
    name.chars()
        .take(max_chars)
        .map(|c| {
            if is_plain(c.encode_utf8(&mut [0; 4]), marks) {
                c
            } else {
                '_'
            }
        })
        .collect()
}

fn is_plain(text: &str, marks: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || marks.contains(c);
    !text.is_empty() && text.chars().all(plain)
}
