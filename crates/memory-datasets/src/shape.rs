//! What all formats are read into.

use std::collections::{BTreeMap, BTreeSet};

use memory_contract::{
    limits,
    proto::{self, part},
};
use prost_types::Timestamp;

/// Why a file or directory cannot be read.
pub type Failure = Box<dyn std::error::Error + Send + Sync>;

/// The metadata key of the id that questions name as evidence.
const EVIDENCE_ID: &str = "evidence_id";

/// The id, in a message's metadata, that questions name as evidence.
pub fn evidence_id(metadata: &str) -> Option<String> {
    let metadata: serde_json::Value = serde_json::from_str(metadata).ok()?;
    Some(metadata[EVIDENCE_ID].as_str()?.to_owned())
}

pub(super) fn metadata_of(evidence_id: &str) -> String {
    serde_json::json!({ EVIDENCE_ID: evidence_id }).to_string()
}

/// One conversation with its questions.
pub struct Conversation {
    /// The file's name without extension: the user that it is stored under.
    pub name: String,
    /// The ISO 639-1 code of its language.
    pub language: String,
    /// Sessions by number, in order; each becomes a thread.
    pub sessions: BTreeMap<u32, Vec<proto::MessageInput>>,
    /// Questions that have evidence in the conversation.
    pub questions: Vec<Question>,
    /// Questions left out because none of their evidence exists.
    pub without_evidence: usize,
}

/// One question and what answers it.
#[derive(Clone)]
pub struct Question {
    /// The question.
    pub text: String,
    /// The expected answer; may be empty.
    pub answer: String,
    /// The ids of the messages, or sessions, that answer it.
    pub evidence: BTreeSet<String>,
    /// Its kind, in the words of the data set.
    pub category: String,
    /// Whose conversation answers it.
    pub user: String,
    /// The session before which it is asked: later ones are not stored yet. None: all are.
    pub before: Option<u32>,
}

impl Conversation {
    /// When a question is asked: at its last message before a session, or of all. `None`: the data
    /// set has no times.
    pub fn asked_at(&self, before: Option<u32>) -> Option<Timestamp> {
        let told = self.sessions.range(..before.unwrap_or(u32::MAX));
        let messages = told.flat_map(|(_, messages)| messages);
        let times = messages.filter_map(|message| message.create_time);
        times.max_by_key(|time| time.seconds)
    }

    /// All messages of all sessions.
    pub fn message_count(&self) -> usize {
        self.sessions.values().map(Vec::len).sum()
    }
}

/// The text of a message: its text parts and the captions of its files.
pub fn text_of(message: &proto::MessageInput) -> String {
    let texts = message.parts.iter().filter_map(|part| match &part.content {
        Some(part::Content::Text(text)) => Some(text.as_str()),
        Some(part::Content::File(file)) => Some(file.caption.as_str()),
        _ => None,
    });
    texts.collect::<Vec<_>>().join("\n")
}

/// A message of a text, in as many parts as the limit of a part asks for.
pub(super) fn message(role: proto::Role, text: &str, evidence_id: &str) -> proto::MessageInput {
    let mut parts = Vec::new();
    let mut rest = text;
    loop {
        let (part, after) = rest.split_at(rest.floor_char_boundary(limits::TEXT_BYTES));
        parts.push(part::Content::Text(part.to_owned()).into());
        if after.is_empty() {
            break;
        }
        rest = after;
    }
    proto::MessageInput {
        role: role.into(),
        parts,
        metadata: metadata_of(evidence_id),
        ..Default::default()
    }
}
