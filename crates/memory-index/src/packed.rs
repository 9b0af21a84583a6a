//! The fields of a [`Candidate`] as one text, which its point stores beside the fields that
//! selections filter by. A search reads hundreds of points, and an engine finds, sends and
//! converts one field of each in much less time than fourteen.

use memory_contract::{ThreadId, message::Role};
use memory_text::Form;
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::candidate::{Candidate, Passage};

/// What the text has, as JSON.
#[derive(Serialize, Deserialize)]
enum Packed {
    Memory(Uuid),
    Message(PackedMessage),
}

/// The id, the thread, `seq`, `branch`, `depth`, role and name of a message, whether it is a
/// question, whether it is short, when it was said, its form, and the number of a passage with the
/// number of all passages.
#[derive(Serialize, Deserialize)]
struct PackedMessage(
    Uuid,
    Uuid,
    i64,
    i32,
    i32,
    String,
    String,
    bool,
    bool,
    i64,
    String,
    Option<(u16, u16)>,
);

/// Packs a candidate, without its score.
pub(crate) fn pack(candidate: &Candidate) -> String {
    let Candidate {
        id,
        thread,
        seq,
        branch,
        depth,
        role,
        name,
        question,
        short,
        said,
        form,
        passage,
        score: _,
    } = candidate;
    written(&Packed::Message(PackedMessage(
        *id,
        thread.uuid(),
        *seq,
        *branch,
        *depth,
        role.as_str().to_owned(),
        name.as_ref().to_owned(),
        *question,
        *short,
        *said,
        form.as_ref().map(Form::encode).unwrap_or_default(),
        passage.map(|passage| (passage.number, passage.of)),
    )))
}

/// Packs the candidate of a memory.
pub(crate) fn pack_memory(id: Uuid) -> String {
    written(&Packed::Memory(id))
}

fn written(packed: &Packed) -> String {
    // No field fails to serialize: none is a map or has an implementation of its own.
    serde_json::to_string(packed).unwrap_or_default()
}

/// Reads a candidate without a score; `None` for a text of another form.
pub(crate) fn unpack(text: &str) -> Option<Candidate> {
    let message = match serde_json::from_str(text).ok()? {
        Packed::Memory(id) => return Some(of_memory(id)),
        Packed::Message(message) => message,
    };
    let PackedMessage(
        id,
        thread,
        seq,
        branch,
        depth,
        role,
        name,
        question,
        short,
        said,
        form,
        passage,
    ) = message;
    Some(Candidate {
        id,
        thread: ThreadId::from(thread),
        seq,
        branch,
        depth,
        role: Role::from_name(&role)?,
        name: name.into(),
        question,
        short,
        said,
        form: Form::decode(&form),
        passage: passage.map(|(number, of)| Passage { number, of }),
        score: 0.0,
    })
}

/// A candidate of a memory, which has no place in a thread.
pub(crate) fn of_memory(id: Uuid) -> Candidate {
    Candidate {
        id,
        thread: ThreadId::from(Uuid::nil()),
        seq: 0,
        branch: 0,
        depth: 0,
        role: Role::User,
        name: "".into(),
        question: false,
        short: false,
        said: 0,
        form: None,
        passage: None,
        score: 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_packed_is_read_again() {
        let message = Candidate {
            id: Uuid::from_u128(7),
            thread: ThreadId::from(Uuid::from_u128(8)),
            seq: i64::MAX,
            branch: 2,
            depth: 9,
            role: Role::Assistant,
            name: "Zoë \"Z\"\n\\".into(),
            question: true,
            short: false,
            said: -1,
            form: Some(Form::default()),
            passage: Some(Passage { number: 2, of: 3 }),
            score: 0.0,
        };
        assert_eq!(unpack(&pack(&message)), Some(message));
        let memory = Uuid::from_u128(9);
        assert_eq!(unpack(&pack_memory(memory)), Some(of_memory(memory)));
        for other in ["", "{}", "{\"Message\":[]}", "null"] {
            assert_eq!(unpack(other), None, "{other}");
        }
    }
}
