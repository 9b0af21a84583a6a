//! What a point carries besides its vectors. Both backends write and read it as
//! JSON.

use memory_contract::{MessageId, ThreadId};
use serde_json::{Map, Value};
use uuid::Uuid;

use super::filter::{field, micros, tag};
use super::{Candidate, Point};

/// The fields that a candidate is read from.
pub(crate) const CANDIDATE: [&str; 8] = [
    field::MESSAGE,
    field::THREAD,
    field::SEQ,
    field::BRANCH,
    field::DEPTH,
    field::NAME,
    field::QUESTION,
    field::SHORT,
];

/// How a field is indexed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldIndex {
    /// Text, compared as a whole, by which points of one tenant are kept
    /// together.
    Tenant,
    /// Text, compared as a whole.
    Keyword,
    /// A whole number, compared by range.
    Integer,
}

/// The fields that are filtered by.
pub(crate) const INDEXES: [(&str, FieldIndex); 9] = [
    (field::TENANT, FieldIndex::Tenant),
    (field::APP, FieldIndex::Keyword),
    (field::USER, FieldIndex::Keyword),
    (field::THREAD, FieldIndex::Keyword),
    (field::ROLE, FieldIndex::Keyword),
    (field::NAME, FieldIndex::Keyword),
    (field::META, FieldIndex::Keyword),
    (field::SEQ, FieldIndex::Integer),
    (field::SAID, FieldIndex::Integer),
];

/// The one kind of point that there is so far.
const KIND: &str = "message";

/// The payload of a point.
pub(crate) fn payload(point: &Point) -> Map<String, Value> {
    let Point {
        message,
        tenant,
        app,
        user,
        thread,
        seq,
        branch,
        depth,
        question,
        short,
        role,
        name,
        said,
        metadata,
        dense: _,
        lexical: _,
    } = point;
    let mut payload = Map::new();
    let mut put = |field: &str, value: Value| payload.insert(field.to_owned(), value);
    put(field::TENANT, tenant.as_str().into());
    put(field::APP, app.as_str().into());
    put(field::USER, user.as_str().into());
    put(field::THREAD, thread.to_string().into());
    put(field::MESSAGE, message.to_string().into());
    put(field::KIND, KIND.into());
    put(field::ROLE, role.as_str().into());
    if !name.is_empty() {
        put(field::NAME, name.as_str().into());
    }
    put(field::SEQ, (*seq).into());
    put(field::BRANCH, (*branch).into());
    put(field::DEPTH, (*depth).into());
    if *question {
        put(field::QUESTION, true.into());
    }
    if *short {
        put(field::SHORT, true.into());
    }
    put(field::SAID, micros(*said).into());
    let tags: Vec<Value> = metadata
        .iter()
        .filter_map(|(key, value)| tag(key, value))
        .map(Value::from)
        .collect();
    if !tags.is_empty() {
        put(field::META, tags.into());
    }
    payload
}

/// The candidate that [`candidate`] would read from the point's payload.
pub(crate) fn candidate_of(point: &Point) -> Candidate {
    Candidate {
        message: point.message,
        thread: point.thread,
        seq: point.seq,
        branch: point.branch,
        depth: point.depth,
        name: point.name.as_str().into(),
        question: point.question,
        short: point.short,
        score: 0.0,
    }
}

/// Reads a candidate; `None` where the point is not one of ours.
pub(crate) fn candidate(payload: &Map<String, Value>, score: f32) -> Option<Candidate> {
    let text = |field: &str| payload.get(field).and_then(Value::as_str);
    let number = |field: &str| payload.get(field).and_then(Value::as_i64);
    let flag = |field: &str| {
        payload
            .get(field)
            .and_then(Value::as_bool)
            .unwrap_or_default()
    };
    Some(Candidate {
        message: MessageId::from(Uuid::parse_str(text(field::MESSAGE)?).ok()?),
        thread: ThreadId::from(Uuid::parse_str(text(field::THREAD)?).ok()?),
        seq: number(field::SEQ)?,
        branch: i32::try_from(number(field::BRANCH)?).ok()?,
        depth: i32::try_from(number(field::DEPTH)?).ok()?,
        name: text(field::NAME).unwrap_or_default().into(),
        question: flag(field::QUESTION),
        short: flag(field::SHORT),
        score,
    })
}
