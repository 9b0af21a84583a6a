//! The payload of points, which both backends write and read as JSON.

use memory_contract::TenantId;
use memory_store::MemoryRecord;
use memory_text::LexicalVector;
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::candidate::{Candidate, Passage};
use crate::filter::{
    Group, Kind, Selection, field, label, labeled, memory_tags, message_tags, micros, passage_id,
    point_id,
};
use crate::packed::{of_memory, pack, pack_memory, unpack};
use crate::point::{Change, MOST_PASSAGES, MemoryPoint, Point, Subject};
use crate::vocabulary::Vocabulary;

/// How a field is indexed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldIndex {
    /// A keyword that groups the points of one tenant in storage.
    Tenant,
    /// A UUID; each of its frequent values has a graph of its points.
    Group,
    Keyword,
    /// An integer with range conditions.
    Integer,
}

/// The payload fields that selections filter by.
pub(crate) const INDEXES: [(&str, FieldIndex); 16] = [
    (field::TENANT, FieldIndex::Tenant),
    (field::GROUP, FieldIndex::Group),
    (field::KIND, FieldIndex::Keyword),
    (field::APP, FieldIndex::Keyword),
    (field::USER, FieldIndex::Keyword),
    (field::THREAD, FieldIndex::Keyword),
    (field::ROLE, FieldIndex::Keyword),
    (field::NAME, FieldIndex::Keyword),
    (field::SAID_BY, FieldIndex::Keyword),
    (field::META, FieldIndex::Keyword),
    (field::SEQ, FieldIndex::Integer),
    (field::SAID, FieldIndex::Integer),
    (field::EVENT, FieldIndex::Integer),
    (field::VALID_FROM, FieldIndex::Integer),
    (field::VALID_UNTIL, FieldIndex::Integer),
    (field::ENDED, FieldIndex::Integer),
];

/// A point in the form that both backends write.
pub struct EncodedPoint {
    /// The point's id, a hash of the tenant and the message's or memory's id.
    pub(crate) id: Uuid,
    /// The candidate that a search returns for the point, with score 0.
    pub candidate: Candidate,
    /// The fields to filter by, and the packed candidate.
    pub payload: Map<String, Value>,
    /// Dense vector of length 1; `None` in an index without a model.
    pub dense: Option<Vec<f32>>,
    /// BM25 weights of its words.
    pub lexical: LexicalVector,
    /// Numbers the words of `lexical` for the index.
    pub(crate) vocabulary: Vocabulary,
}

/// A run of changes that one request to an index applies.
pub(crate) enum Batch {
    Upsert(Vec<EncodedPoint>),
    Delete(Vec<Uuid>),
    /// Deletes the selected points.
    Purge(Selection),
}

/// Groups adjacent changes of a kind, in order.
pub(crate) fn batches(changes: Vec<Change>) -> Vec<Batch> {
    let mut batches = Vec::new();
    for change in changes {
        let encoded: Vec<EncodedPoint> = match change {
            Change::Upsert(mut point) => {
                let passages = std::mem::take(&mut point.passages);
                let tenant = point.tenant.clone();
                let whole: EncodedPoint = (*point).into();
                let mut encoded = encoded_passages(&whole, &tenant, passages);
                encoded.push(whole);
                encoded
            }
            Change::UpsertMemory(point) => vec![(*point).into()],
            Change::Delete { tenant, subject } => {
                let removed = point_ids(&tenant, subject);
                match batches.last_mut() {
                    Some(Batch::Delete(ids)) => ids.extend(removed),
                    _ => batches.push(Batch::Delete(removed.collect())),
                }
                continue;
            }
            Change::Purge {
                tenant,
                thread,
                up_to_seq,
            } => {
                let selection = Selection::purge(&tenant, thread, up_to_seq);
                batches.push(Batch::Purge(selection));
                continue;
            }
        };
        match batches.last_mut() {
            Some(Batch::Upsert(points)) => points.extend(encoded),
            _ => batches.push(Batch::Upsert(encoded)),
        }
    }
    batches
}

/// The points that a message or memory may have.
fn point_ids(tenant: &TenantId, subject: Subject) -> impl Iterator<Item = Uuid> + use<> {
    let whole = point_id(tenant, subject);
    let passages: Vec<Uuid> = match subject {
        Subject::Message(message) => (2..=MOST_PASSAGES + 1)
            .map(|number| passage_id(tenant, message, number))
            .collect(),
        Subject::Memory(_) => Vec::new(),
    };
    std::iter::once(whole).chain(passages)
}

/// The points of the passages of a message after the first one.
fn encoded_passages(
    whole: &EncodedPoint,
    tenant: &TenantId,
    passages: Vec<Vec<f32>>,
) -> Vec<EncodedPoint> {
    let of = u16::try_from(passages.len() + 1).unwrap_or(u16::MAX);
    let numbered = (2_u16..).zip(passages).take(usize::from(MOST_PASSAGES));
    let encoded = numbered.map(|(number, vector)| {
        let candidate = Candidate {
            passage: Some(Passage { number, of }),
            ..whole.candidate.clone()
        };
        let mut payload = whole.payload.clone();
        payload.insert(field::CANDIDATE.to_owned(), pack(&candidate).into());
        EncodedPoint {
            id: passage_id(tenant, candidate.id.into(), number),
            candidate,
            payload,
            dense: Some(vector),
            lexical: LexicalVector::default(),
            vocabulary: whole.vocabulary,
        }
    });
    encoded.collect()
}

impl From<Point> for EncodedPoint {
    fn from(mut point: Point) -> Self {
        let candidate = candidate_of(&point);
        Self {
            id: point_id(&point.tenant, Subject::Message(point.message)),
            dense: point.dense.take(),
            lexical: std::mem::take(&mut point.lexical),
            vocabulary: Vocabulary::new(&point.tenant),
            payload: payload(&point, &candidate),
            candidate,
        }
    }
}

impl From<MemoryPoint> for EncodedPoint {
    fn from(mut point: MemoryPoint) -> Self {
        Self {
            id: point_id(&point.tenant, Subject::Memory(point.memory.id)),
            dense: point.dense.take(),
            lexical: std::mem::take(&mut point.lexical),
            vocabulary: Vocabulary::new(&point.tenant),
            candidate: of_memory(point.memory.id.uuid()),
            payload: memory_payload(&point),
        }
    }
}

fn memory_payload(point: &MemoryPoint) -> Map<String, Value> {
    let MemoryRecord {
        id,
        owner,
        text: _,
        kind,
        topics,
        entities,
        origin,
        thread,
        valid_from,
        valid_until,
        ended,
        event,
        created,
        version: _,
        metadata,
        own_kind,
    } = &point.memory;
    let (app, user) = (owner.app.as_str(), owner.user.as_str());
    let mut payload = common(&point.tenant, app, user, Kind::Memory);
    let mut put = |field: &str, value: Value| payload.insert(field.to_owned(), value);
    put(field::CANDIDATE, pack_memory(id.uuid()).into());
    if let Some(thread) = thread {
        put(field::THREAD, thread.to_string().into());
    }
    put(field::SAID, micros(*created).into());
    put(field::VALID_FROM, micros(*valid_from).into());
    for (field, end) in [(field::VALID_UNTIL, valid_until), (field::ENDED, ended)] {
        put(field, end.map_or(i64::MAX, micros).into());
    }
    if let Some(event) = event {
        put(field::EVENT, micros(*event).into());
    }
    let holds = valid_until.is_none();
    if holds {
        let group = Group::Memories(&owner.app, &owner.user);
        put(field::GROUP, group.value(&point.tenant).into());
    }
    let mut tags = vec![
        labeled(label::TYPE, kind.as_str()),
        labeled(label::ORIGIN, origin.as_str()),
    ];
    if holds {
        tags.push(labeled(label::HOLDS, "true"));
    }
    if !own_kind.is_empty() {
        tags.push(labeled(label::KIND, own_kind));
    }
    tags.extend(topics.iter().map(|topic| labeled(label::TOPIC, topic)));
    tags.extend(entities.iter().map(|name| labeled(label::ENTITY, name)));
    tags.extend(memory_tags(metadata));
    put(field::META, tags.into());
    payload
}

fn common(tenant: &TenantId, app: &str, user: &str, kind: Kind) -> Map<String, Value> {
    let fields = [
        (field::TENANT, tenant.as_str()),
        (field::APP, app),
        (field::USER, user),
        (field::KIND, kind.as_str()),
    ];
    fields
        .into_iter()
        .map(|(field, value)| (field.to_owned(), value.into()))
        .collect()
}

fn payload(point: &Point, candidate: &Candidate) -> Map<String, Value> {
    let Point {
        message: _,
        tenant,
        app,
        user,
        thread,
        seq,
        branch: _,
        depth: _,
        question: _,
        short: _,
        role,
        name,
        said_by,
        said,
        form: _,
        metadata,
        dense: _,
        passages: _,
        lexical: _,
    } = point;
    let mut payload = common(tenant, app.as_str(), user.as_str(), Kind::Message);
    let mut put = |field: &str, value: Value| payload.insert(field.to_owned(), value);
    let groups = [
        Group::App(app),
        Group::User(app, user),
        Group::Thread(*thread),
    ];
    let groups: Vec<Value> = groups.map(|group| group.value(tenant).into()).into();
    put(field::GROUP, groups.into());
    put(field::THREAD, thread.to_string().into());
    put(field::ROLE, role.as_str().into());
    if !name.is_empty() {
        put(field::NAME, name.as_str().into());
    }
    if !said_by.is_empty() {
        put(field::SAID_BY, said_by.as_str().into());
    }
    put(field::SEQ, (*seq).into());
    put(field::SAID, micros(*said).into());
    put(field::CANDIDATE, pack(candidate).into());
    let tags: Vec<Value> = message_tags(metadata).map(Value::from).collect();
    if !tags.is_empty() {
        put(field::META, tags.into());
    }
    payload
}

fn candidate_of(point: &Point) -> Candidate {
    Candidate {
        id: point.message.uuid(),
        thread: point.thread,
        seq: point.seq,
        branch: point.branch,
        depth: point.depth,
        role: point.role,
        name: point.name.as_str().into(),
        question: point.question,
        short: point.short,
        said: micros(point.said),
        form: Some(point.form.clone()),
        passage: None,
        score: 0.0,
    }
}

/// Reads a candidate without a score from a payload; `None` for a payload of another form.
pub(crate) fn candidate(payload: &Map<String, Value>) -> Option<Candidate> {
    unpack(payload.get(field::CANDIDATE)?.as_str()?)
}
