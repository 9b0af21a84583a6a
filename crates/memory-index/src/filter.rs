//! Selections of points. Both backends build their filters from these alone, and a
//! selection always has a tenant.

use memory_checksum::digest_id;
use memory_contract::{
    AppId, MessageId, TenantId, ThreadId, UserId,
    deletion::DeletionScope,
    json::{JsonObject, canonical_json, is_scalar},
    memory::{MemoryFilter, MemoryTimes},
    message::MessageFilter,
};
use memory_store::{MemoryOwners, Scope, Space};
use serde_json::{Map, Value};
use sha2::{Digest, Sha256};
use time::OffsetDateTime;
use uuid::Uuid;

use crate::point::Subject;

/// Names of payload fields. Keys of metadata are part of the values of [`field::META`],
/// never field names, so they cannot shadow a field.
pub(crate) mod field {
    pub(crate) const TENANT: &str = "tenant";
    pub(crate) const APP: &str = "app";
    pub(crate) const USER: &str = "user";
    pub(crate) const THREAD: &str = "thread";
    pub(crate) const KIND: &str = "kind";
    pub(crate) const ROLE: &str = "role";
    pub(crate) const NAME: &str = "name";
    /// The user who said it, where the message names one.
    pub(crate) const SAID_BY: &str = "said_by";
    pub(crate) const SEQ: &str = "seq";
    pub(crate) const SAID: &str = "said";
    /// The time of the event that a memory describes.
    pub(crate) const EVENT: &str = "event";
    pub(crate) const VALID_FROM: &str = "valid_from";
    /// The largest number while the memory holds.
    pub(crate) const VALID_UNTIL: &str = "valid_until";
    /// When it was recorded that the memory no longer holds; the largest number while it holds.
    pub(crate) const ENDED: &str = "ended";
    pub(crate) const META: &str = "meta";
    /// What a search returns for the point, see [`crate::packed`].
    pub(crate) const CANDIDATE: &str = "candidate";
    /// The groups of a point, see [`super::Group`].
    pub(crate) const GROUP: &str = "group";
}

/// The kind of a point, in its payload.
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

/// Keys of a memory's tags in [`field::META`]. The kind of the point separates them
/// from metadata.
pub(crate) mod label {
    pub(crate) const TYPE: &str = "type";
    /// The name of the app's own kind.
    pub(crate) const KIND: &str = "kind";
    pub(crate) const TOPIC: &str = "topic";
    pub(crate) const ENTITY: &str = "entity";
    pub(crate) const ORIGIN: &str = "origin";
    pub(crate) const HOLDS: &str = "holds";
    /// Before each key of the caller's metadata.
    pub(crate) const METADATA: &str = "metadata.";
}

/// Points that are searched together. Each large group has a graph of its own for the search
/// by meaning: in the graph of an app, most neighbors of a user's messages are messages of
/// other users, so a search for one user would find few or none of them.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Group<'a> {
    /// The messages of an app.
    App(&'a AppId),
    /// The messages of a user in an app.
    User(&'a AppId, &'a UserId),
    /// The messages of a thread.
    Thread(ThreadId),
    /// The memories of a user in an app that hold.
    Memories(&'a AppId, &'a UserId),
}

impl Group<'_> {
    /// The group's value of [`field::GROUP`]: a hash, also of the tenant, as a UUID, which the
    /// engines compare faster than a text.
    pub(crate) fn value(&self, tenant: &TenantId) -> String {
        let thread;
        let (name, parts) = match self {
            Self::App(app) => ("app", [app.as_str(), ""]),
            Self::User(app, user) => ("user", [app.as_str(), user.as_str()]),
            Self::Thread(id) => {
                thread = id.to_string();
                ("thread", [thread.as_str(), ""])
            }
            Self::Memories(app, user) => ("memories", [app.as_str(), user.as_str()]),
        };
        let mut hash = Sha256::new();
        for part in [name, tenant.as_str()].into_iter().chain(parts) {
            hash.update((part.len() as u64).to_be_bytes());
            hash.update(part.as_bytes());
        }
        digest_id(hash).to_string()
    }
}

/// How the search by meaning finds the selected points.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Graph {
    /// They are a group: by its graph.
    OfGroup,
    /// They are part of this group: by its graph if they are not too small a part of it, because
    /// a path through the graph leads over selected points alone.
    OfLargerGroup(Selection),
    /// By comparing each with the query.
    None,
}

impl Graph {
    /// The smallest part of a group that is searched by its graph, in which a point has 16 to 32
    /// neighbors: at least two to four of them are selected.
    const SMALLEST_PART: u64 = 8;
    /// The engines build graphs of 10 MB of vectors or more: 6,700 of 384 dimensions, 320 of 8,192.
    const LARGE: u64 = 300;

    /// Whether a group may have a graph.
    pub(crate) fn is_large(all: u64) -> bool {
        all > Self::LARGE
    }

    /// Whether `selected` points of a group with `all` are too few for its graph.
    pub(crate) fn is_too_small_a_part(selected: u64, all: u64) -> bool {
        selected.saturating_mul(Self::SMALLEST_PART) < all
    }
}

/// The points of one tenant that meet conditions.
#[derive(Clone, Debug, PartialEq)]
pub struct Selection {
    tenant: TenantId,
    /// The first is the group, if `grouped`.
    conditions: Vec<Condition>,
    grouped: bool,
}

/// A condition on a payload field.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Condition {
    /// The field has one of these values.
    AnyOf(&'static str, Vec<String>),
    /// The field's integer is at least the first and below the second number.
    Between(&'static str, Option<i64>, Option<i64>),
    /// The integer of one of the fields is at least its number.
    AnyFrom([(&'static str, i64); 2]),
}

impl Condition {
    fn holds_for(&self, payload: &Map<String, Value>) -> bool {
        match self {
            Self::AnyOf(field, values) => {
                let found = match payload.get(*field) {
                    Some(Value::Array(list)) => list.as_slice(),
                    Some(one) => std::slice::from_ref(one),
                    None => &[],
                };
                let mut texts = found.iter().filter_map(Value::as_str);
                texts.any(|text| values.iter().any(|value| value == text))
            }
            Self::Between(field, from, below) => number(payload, field).is_some_and(|number| {
                from.is_none_or(|from| from <= number) && below.is_none_or(|below| number < below)
            }),
            Self::AnyFrom(fields) => fields
                .iter()
                .any(|(field, from)| number(payload, field).is_some_and(|number| *from <= number)),
        }
    }
}

fn number(payload: &Map<String, Value>, field: &str) -> Option<i64> {
    payload.get(field)?.as_i64()
}

impl Selection {
    /// All points of a tenant, of every kind.
    pub fn tenant(tenant: &TenantId) -> Self {
        Self {
            tenant: tenant.clone(),
            conditions: Vec::new(),
            grouped: false,
        }
    }

    /// All points of a user, of an app or of the tenant, of every kind.
    pub fn owner(tenant: &TenantId, app: Option<&AppId>, user: Option<&UserId>) -> Self {
        let mut selection = Self::tenant(tenant);
        if let Some(app) = app {
            selection.is(field::APP, app.as_str());
        }
        if let Some(user) = user {
            selection.is(field::USER, user.as_str());
        }
        selection
    }

    /// What a deletion erases: all points of its scope, and the messages that its user said in
    /// threads of others.
    pub fn of_deletion(tenant: &TenantId, scope: &DeletionScope) -> Vec<Self> {
        let (app, user) = (scope.app(), scope.user());
        let said = user.filter(|user| !user.is_empty());
        let said = said.map(|user| Self::said_by(tenant, app, user));
        let owned = Self::owner(tenant, app, user);
        [owned].into_iter().chain(said).collect()
    }

    /// The messages that name a user as the one who said them, of an app or of the tenant.
    fn said_by(tenant: &TenantId, app: Option<&AppId>, user: &UserId) -> Self {
        let mut selection = Self::of_kind(tenant, Kind::Message);
        if let Some(app) = app {
            selection.is(field::APP, app.as_str());
        }
        selection.is(field::SAID_BY, user.as_str());
        selection
    }

    /// All points of some threads.
    pub fn threads(tenant: &TenantId, threads: &[ThreadId]) -> Self {
        let mut selection = Self::tenant(tenant);
        let threads = threads.iter().map(ToString::to_string).collect();
        selection
            .conditions
            .push(Condition::AnyOf(field::THREAD, threads));
        selection
    }

    /// The messages in a scope that pass a filter.
    pub fn new(tenant: &TenantId, scope: &Scope, filter: &MessageFilter) -> Self {
        let mut selection = match scope {
            Scope::Thread(thread) => Self::group(tenant, Group::Thread(*thread)),
            Scope::User { app, user } => Self::group(tenant, Group::User(app, user)),
            Scope::App(app) => Self::group(tenant, Group::App(app)),
            Scope::Space { user, space } => {
                let mut selection = Self::of_kind(tenant, Kind::Message);
                selection.in_space(space);
                selection.is(field::USER, user.as_str());
                selection
            }
        };
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
        if !filter.users.is_empty() {
            let users = filter.users.iter().map(ToString::to_string).collect();
            selection
                .conditions
                .push(Condition::AnyOf(field::SAID_BY, users));
        }
        selection.between(field::SAID, filter.start, filter.end);
        for tag in message_tags(&filter.metadata) {
            selection.is(field::META, tag);
        }
        selection
    }

    /// The memories of some owners that pass a filter.
    pub fn memories(tenant: &TenantId, owners: &MemoryOwners, filter: &MemoryFilter) -> Self {
        let MemoryFilter {
            kind,
            own_kinds,
            topics,
            entities,
            thread,
            origins,
            after,
            before,
            metadata,
            event_from,
            event_until,
            times,
            superseded: _,
        } = filter;
        let any_validity = filter.reaches_superseded();
        let mut selection = match owners {
            MemoryOwners::User(owner) if !any_validity => {
                Self::group(tenant, Group::Memories(&owner.app, &owner.user))
            }
            owners => {
                let mut selection = Self::of_kind(tenant, Kind::Memory);
                if let Some(app) = owners.app() {
                    selection.is(field::APP, app.as_str());
                }
                if let MemoryOwners::Space { space, .. } = owners {
                    selection.in_space(space);
                }
                if let Some(user) = owners.user() {
                    selection.is(field::USER, user.as_str());
                }
                if !any_validity {
                    selection.any(label::HOLDS, ["true"]);
                }
                selection
            }
        };
        if let Some(thread) = thread {
            selection.is(field::THREAD, thread.to_string());
        }
        selection.any(label::TYPE, kind.map(|kind| kind.as_str()));
        selection.any(label::KIND, own_kinds.iter().map(String::as_str));
        selection.any(label::TOPIC, topics.iter().map(String::as_str));
        selection.any(label::ENTITY, entities.iter().map(String::as_str));
        selection.any(label::ORIGIN, origins.iter().map(|origin| origin.as_str()));
        for tag in memory_tags(metadata) {
            selection.is(field::META, tag);
        }
        selection.between(field::SAID, *after, *before);
        selection.between(field::EVENT, *event_from, *event_until);
        selection.at_times(*times);
        selection
    }

    /// The messages of a thread up to a seq, inclusive.
    pub(crate) fn purge(tenant: &TenantId, thread: ThreadId, up_to_seq: i64) -> Self {
        let mut selection = Self::of_kind(tenant, Kind::Message);
        selection.is(field::THREAD, thread.to_string());
        selection.conditions.push(Condition::Between(
            field::SEQ,
            None,
            Some(up_to_seq.saturating_add(1)),
        ));
        selection
    }

    pub(crate) fn tenant_id(&self) -> &TenantId {
        &self.tenant
    }

    /// The conditions, all of which a point of the tenant has to meet.
    pub(crate) fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    /// How the search by meaning finds the points.
    pub(crate) fn graph(&self) -> Graph {
        match self.conditions.as_slice() {
            [_] if self.grouped => Graph::OfGroup,
            [group, ..] if self.grouped => Graph::OfLargerGroup(Self {
                tenant: self.tenant.clone(),
                conditions: vec![group.clone()],
                grouped: true,
            }),
            _ => Graph::None,
        }
    }

    /// Whether a point with this payload is selected.
    pub fn admits(&self, payload: &Map<String, Value>) -> bool {
        let tenant = payload.get(field::TENANT).and_then(Value::as_str);
        tenant == Some(self.tenant.as_str())
            && self.conditions.iter().all(|one| one.holds_for(payload))
    }

    /// All points of a group.
    fn group(tenant: &TenantId, group: Group<'_>) -> Self {
        let mut selection = Self::tenant(tenant);
        selection.is(field::GROUP, group.value(tenant));
        selection.grouped = true;
        selection
    }

    /// All points of one kind.
    fn of_kind(tenant: &TenantId, kind: Kind) -> Self {
        let mut selection = Self::tenant(tenant);
        selection.is(field::KIND, kind.as_str());
        selection
    }

    /// Requires one of these labels, unless there are none.
    fn any<'a>(&mut self, name: &str, labels: impl IntoIterator<Item = &'a str>) {
        let tags: Vec<String> = labels.into_iter().map(|text| labeled(name, text)).collect();
        if !tags.is_empty() {
            self.conditions.push(Condition::AnyOf(field::META, tags));
        }
    }

    /// Requires a time from `from` on and before `below`; `None` is not limited.
    fn between(
        &mut self,
        field: &'static str,
        from: Option<OffsetDateTime>,
        below: Option<OffsetDateTime>,
    ) {
        if from.is_some() || below.is_some() {
            let condition = Condition::Between(field, from.map(micros), below.map(micros));
            self.conditions.push(condition);
        }
    }

    /// Requires memories that were true at a time, that were believed at a time, or that were
    /// believed at one time to be true at the other.
    fn at_times(&mut self, times: MemoryTimes) {
        let MemoryTimes { valid_at, known_at } = times;
        let after = |time: Option<OffsetDateTime>| time.map(|time| micros(time).saturating_add(1));
        let (valid, known) = (after(valid_at), after(known_at));
        if valid.is_some() {
            let from = Condition::Between(field::VALID_FROM, None, valid);
            self.conditions.push(from);
        }
        if known.is_some() {
            let from = Condition::Between(field::SAID, None, known);
            self.conditions.push(from);
        }
        self.conditions.extend(match (valid, known) {
            (Some(valid), Some(known)) => Some(Condition::AnyFrom([
                (field::VALID_UNTIL, valid),
                // Its end was not known yet.
                (field::ENDED, known),
            ])),
            (Some(_), None) => Some(Condition::Between(field::VALID_UNTIL, valid, None)),
            (None, Some(_)) => Some(Condition::Between(field::ENDED, known, None)),
            (None, None) => None,
        });
    }

    /// Requires one of the apps of a space.
    fn in_space(&mut self, space: &Space) {
        let apps = space.apps.iter().map(|app| app.as_str().to_owned());
        self.conditions
            .push(Condition::AnyOf(field::APP, apps.collect()));
    }

    fn is(&mut self, field: &'static str, value: impl Into<String>) {
        self.conditions
            .push(Condition::AnyOf(field, vec![value.into()]));
    }
}

/// The id of a subject's point: a hash of tenant, kind and id. Callers may choose
/// message ids, which are unique within one tenant only; as point ids they would let
/// one tenant overwrite another's point.
pub(crate) fn point_id(tenant: &TenantId, subject: Subject) -> Uuid {
    digest_id(id_hash(tenant, subject))
}

/// The id of the point of a passage after the first one.
pub(crate) fn passage_id(tenant: &TenantId, message: MessageId, number: u16) -> Uuid {
    let mut hash = id_hash(tenant, Subject::Message(message));
    // No tenant has a zero byte.
    hash.update([0]);
    hash.update(number.to_be_bytes());
    digest_id(hash)
}

fn id_hash(tenant: &TenantId, subject: Subject) -> Sha256 {
    let (kind, id) = match subject {
        Subject::Message(id) => (Kind::Message, id.uuid()),
        Subject::Memory(id) => (Kind::Memory, id.uuid()),
    };
    let mut hash = Sha256::new();
    hash.update(id.as_bytes());
    hash.update(kind.as_str().as_bytes());
    hash.update(tenant.as_str().as_bytes());
    hash
}

/// A label of a memory as a tag.
pub(crate) fn labeled(name: &str, text: &str) -> String {
    tag(name, &Value::String(text.to_owned()).to_string())
}

/// The entries of a memory's metadata as tags. Their keys begin as no label does.
pub(crate) fn memory_tags(metadata: &JsonObject) -> impl Iterator<Item = String> {
    tags(label::METADATA, metadata)
}

/// The entries of a message's metadata as tags.
pub(crate) fn message_tags(metadata: &JsonObject) -> impl Iterator<Item = String> {
    tags("", metadata)
}

/// Lists and objects cannot be filtered by, so they have no tag.
fn tags(prefix: &str, metadata: &JsonObject) -> impl Iterator<Item = String> {
    let scalars = metadata
        .members()
        .into_iter()
        .filter(|(_, value)| is_scalar(value));
    scalars.map(move |(key, value)| {
        let key = format!("{prefix}{}", Value::String(key));
        tag(&key, &canonical_json(&value))
    })
}

/// Microseconds since the Unix epoch.
pub(crate) fn micros(time: OffsetDateTime) -> i64 {
    i64::try_from(time.unix_timestamp_nanos() / 1_000).unwrap_or(i64::MAX)
}

/// An entry as the keyword `key=value`, so that one payload index serves every key. A key of
/// metadata is a JSON string, so that no key reads like another key with a value.
fn tag(key: &str, value: &str) -> String {
    let whole = format!("{key}={value}");
    if whole.len() <= TAG_BYTES {
        return whole;
    }
    let digest = Sha256::digest(whole.as_bytes());
    format!("#{}", Uuid::from_slice(&digest[..16]).unwrap_or_default())
}

/// Tags of more bytes are replaced by their hash.
const TAG_BYTES: usize = 256;

#[cfg(test)]
mod tests;
