//! The one place where filters are made. A tenant is always in them.

use memory_contract::{MemoryFilter, MemoryOwner, MessageFilter, TenantId, ThreadId};
use memory_store::Scope;
use serde_json::Value;
use sha2::{Digest, Sha256};
use time::OffsetDateTime;
use uuid::Uuid;

use super::Subject;

/// Names of payload fields. What a caller names lies under [`field::META`], as
/// values and never as names, so it cannot stand in for one of ours.
pub(crate) mod field {
    pub(crate) const TENANT: &str = "tenant";
    pub(crate) const APP: &str = "app";
    pub(crate) const USER: &str = "user";
    pub(crate) const THREAD: &str = "thread";
    pub(crate) const MESSAGE: &str = "message";
    pub(crate) const MEMORY: &str = "memory";
    pub(crate) const KIND: &str = "kind";
    pub(crate) const ROLE: &str = "role";
    pub(crate) const NAME: &str = "name";
    pub(crate) const BRANCH: &str = "branch";
    pub(crate) const SEQ: &str = "seq";
    pub(crate) const DEPTH: &str = "depth";
    pub(crate) const QUESTION: &str = "question";
    pub(crate) const SHORT: &str = "short";
    pub(crate) const SAID: &str = "said";
    pub(crate) const META: &str = "meta";
}

/// What a point stands for, as the payload tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Message,
    Memory,
}

impl Kind {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Message => "message",
            Self::Memory => "memory",
        }
    }
}

/// What of a memory is kept as tags, beside a message's metadata: the kind of the
/// point keeps the two apart.
pub(crate) mod label {
    pub(crate) const TYPE: &str = "type";
    pub(crate) const TOPIC: &str = "topic";
    pub(crate) const ENTITY: &str = "entity";
    pub(crate) const ORIGIN: &str = "origin";
    pub(crate) const HOLDS: &str = "holds";
}

/// Which points of one tenant are meant.
#[derive(Clone, Debug, PartialEq)]
pub struct Selection {
    tenant: TenantId,
    conditions: Vec<Condition>,
}

/// A condition that a point has to meet, next to belonging to the tenant.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Condition {
    /// The field has one of these values.
    AnyOf(&'static str, Vec<String>),
    /// The field's whole number is at least the first and below the second.
    Between(&'static str, Option<i64>, Option<i64>),
}

impl Selection {
    /// All points of a tenant, whatever they stand for.
    pub fn tenant(tenant: &TenantId) -> Self {
        Self {
            tenant: tenant.clone(),
            conditions: Vec::new(),
        }
    }

    /// The messages of a tenant within a scope that a filter keeps.
    pub fn new(tenant: &TenantId, scope: &Scope, filter: &MessageFilter) -> Self {
        let mut selection = Self::of(tenant, Kind::Message);
        match scope {
            Scope::Thread(thread) => selection.is(field::THREAD, thread.to_string()),
            Scope::User { app, user } => {
                selection.is(field::APP, app.as_str());
                selection.is(field::USER, user.as_str());
            }
            Scope::App(app) => selection.is(field::APP, app.as_str()),
        }
        if !filter.roles.is_empty() {
            let roles = filter
                .roles
                .iter()
                .map(|role| role.as_str().to_owned())
                .collect();
            selection
                .conditions
                .push(Condition::AnyOf(field::ROLE, roles));
        }
        if !filter.names.is_empty() {
            selection
                .conditions
                .push(Condition::AnyOf(field::NAME, filter.names.clone()));
        }
        if filter.start.is_some() || filter.end.is_some() {
            selection.conditions.push(Condition::Between(
                field::SAID,
                filter.start.map(micros),
                filter.end.map(micros),
            ));
        }
        for (key, value) in &filter.metadata {
            // A value that cannot be filtered by matches nothing.
            selection.is(field::META, tag(key, value).unwrap_or_default());
        }
        selection
    }

    /// The memories of one user of a tenant that a filter keeps. An empty user is
    /// one of its own.
    pub fn memories(tenant: &TenantId, owner: &MemoryOwner, filter: &MemoryFilter) -> Self {
        let MemoryFilter {
            kind,
            topics,
            entities,
            thread,
            origins,
            after,
            before,
            superseded,
        } = filter;
        let mut selection = Self::of(tenant, Kind::Memory);
        selection.is(field::APP, owner.app.as_str());
        selection.is(field::USER, owner.user.as_str());
        if let Some(thread) = thread {
            selection.is(field::THREAD, thread.to_string());
        }
        if !superseded {
            selection.any(label::HOLDS, ["true"]);
        }
        selection.any(label::TYPE, kind.map(|kind| kind.as_str()));
        selection.any(label::TOPIC, topics.iter().map(String::as_str));
        selection.any(label::ENTITY, entities.iter().map(String::as_str));
        selection.any(label::ORIGIN, origins.iter().map(|origin| origin.as_str()));
        if after.is_some() || before.is_some() {
            selection.conditions.push(Condition::Between(
                field::SAID,
                after.map(micros),
                before.map(micros),
            ));
        }
        selection
    }

    /// The messages of a thread up to a seq, itself included.
    pub(crate) fn purge(tenant: &TenantId, thread: ThreadId, up_to_seq: i64) -> Self {
        let mut selection = Self::of(tenant, Kind::Message);
        selection.is(field::THREAD, thread.to_string());
        selection.conditions.push(Condition::Between(
            field::SEQ,
            None,
            Some(up_to_seq.saturating_add(1)),
        ));
        selection
    }

    /// Whose points are meant.
    pub(crate) fn tenant_id(&self) -> &TenantId {
        &self.tenant
    }

    /// What the points have to meet next to belonging to the tenant.
    pub(crate) fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    /// All points of a tenant that stand for one kind of thing.
    fn of(tenant: &TenantId, kind: Kind) -> Self {
        let mut selection = Self::tenant(tenant);
        selection.is(field::KIND, kind.as_str());
        selection
    }

    /// Keeps the memories that have any of these labels; none keep all.
    fn any<'a>(&mut self, name: &str, labels: impl IntoIterator<Item = &'a str>) {
        let tags: Vec<String> = labels.into_iter().map(|text| labeled(name, text)).collect();
        if !tags.is_empty() {
            self.conditions.push(Condition::AnyOf(field::META, tags));
        }
    }

    fn is(&mut self, field: &'static str, value: impl Into<String>) {
        self.conditions
            .push(Condition::AnyOf(field, vec![value.into()]));
    }
}

/// The point of a message or a memory. A message's id is unique within its tenant
/// only, and a caller may choose it, so it cannot be the point's id itself: one
/// tenant could overwrite another's point, or a message a memory's.
pub(crate) fn point_id(tenant: &TenantId, subject: Subject) -> Uuid {
    let (kind, id) = match subject {
        Subject::Message(id) => (Kind::Message, id.uuid()),
        Subject::Memory(id) => (Kind::Memory, id.uuid()),
    };
    let mut hash = Sha256::new();
    hash.update(id.as_bytes());
    hash.update(kind.as_str().as_bytes());
    hash.update(tenant.as_str().as_bytes());
    let digest = hash.finalize();
    let mut bytes = [0_u8; 16];
    bytes.copy_from_slice(&digest[..16]);
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
}

/// A label of a memory as a tag.
pub(crate) fn labeled(name: &str, text: &str) -> String {
    tag(name, &Value::String(text.to_owned())).unwrap_or_default()
}

/// Microseconds since 1970.
pub(crate) fn micros(time: OffsetDateTime) -> i64 {
    i64::try_from(time.unix_timestamp_nanos() / 1_000).unwrap_or(i64::MAX)
}

/// One entry of metadata as a keyword, so that any key can be filtered by
/// through one payload index. `None` for what cannot be filtered by: fractions,
/// lists, objects, nulls.
pub(crate) fn tag(key: &str, value: &Value) -> Option<String> {
    let text = match value {
        Value::String(text) => Value::String(text.clone()).to_string(),
        Value::Bool(value) => value.to_string(),
        Value::Number(number) => whole(number)?.to_string(),
        Value::Null | Value::Array(_) | Value::Object(_) => return None,
    };
    if text.len() <= TAG_BYTES {
        return Some(format!("{key}={text}"));
    }
    let digest = Sha256::digest(text.as_bytes());
    Some(format!(
        "{key}#{}",
        Uuid::from_slice(&digest[..16]).unwrap_or_default()
    ))
}

/// Longer values are indexed by their hash.
const TAG_BYTES: usize = 256;

fn whole(number: &serde_json::Number) -> Option<i64> {
    number.as_i64().or_else(|| {
        let float = number.as_f64()?;
        (float.fract() == 0.0 && float.abs() < 9.0e15).then_some(float as i64)
    })
}
