//! A working memory to store, and the parameters of `working/put`.

use std::time::Duration;

use memory_contract::{
    MessageId, ThreadId,
    json::JsonObject,
    memory::{ListedMemory, MemoryOwner},
    policy::MemoryPolicy,
    precondition::Precondition,
    thread::Session,
};
use memory_conversations::{CountedMessage, NewRows};
use memory_database::EphemeralConfig;
use memory_postgres::Caller;
use serde_json::{Value, json};
use tokio_postgres::types::{Json, ToSql};
use uuid::Uuid;

use super::read::NamedModel;
use crate::memories::{items, new_item, scope_of};

/// The thread or session whose working memory is replaced.
#[derive(Clone, Debug, PartialEq)]
pub enum WorkingTarget {
    /// The working memory of a thread.
    Thread(ThreadId),
    /// The working memory of a session, whose thread is created if it does not exist.
    Session(Session),
}

/// A working memory to store.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkingPut<'a> {
    /// The whole working set, in order; `None` keeps the stored one. One whose id the caller
    /// chose, or with an external id, may be there already.
    pub messages: Option<Vec<CountedMessage>>,
    /// The claims to the content of messages, with the places of the messages.
    pub contents: Vec<(usize, MessageId)>,
    /// The summary with its size in tokens; `None` keeps the stored one.
    pub context: Option<(String, i32)>,
    /// The memories of the session; `None` keeps the stored ones.
    pub memories: Option<Vec<ListedMemory>>,
    /// The session's own data; `None` keeps the stored data.
    pub data: Option<JsonObject>,
    /// How long it lives from now, `Some(None)` without end; `None` keeps the stored expiry.
    pub ttl: Option<Option<Duration>>,
    /// Whether the thread expires with it. Only with `ttl`.
    pub ttl_erases_thread: bool,
    /// The fields of the thread's policy to set; `None` for none.
    pub policy: Option<MemoryPolicy>,
    /// The model that counts from now on; `None` keeps the stored one.
    pub model: Option<NamedModel<'a>>,
    /// The condition that the stored working memory must meet. An empty one does not exist, but has
    /// an etag.
    pub precondition: Precondition,
}

impl WorkingPut<'_> {
    /// The messages of the request; none if the stored ones stay.
    pub(super) fn given(&self) -> &[CountedMessage] {
        self.messages.as_deref().unwrap_or_default()
    }
}

/// The thread that a working memory is stored in.
pub(super) struct Place<'a> {
    pub(super) thread: ThreadId,
    /// The state that it was made for.
    pub(super) etag: &'a str,
    /// The depth of the first message that stays; `None`: none does.
    pub(super) keep_from: Option<i32>,
    /// The depth at which new messages start a branch; `None`: they follow the head.
    pub(super) branch_at: Option<i32>,
}

/// The parameters of `working/put`.
pub(super) struct PutCall<'a> {
    tenant: &'a str,
    actor: &'a str,
    thread: Uuid,
    etag: &'a str,
    keep_from: i32,
    branch_at: Option<i32>,
    new: NewRows<'a>,
    context: Option<&'a str>,
    context_tokens: i32,
    items: Option<Json<Vec<Value>>>,
    scope: String,
    data: Option<Json<&'a JsonObject>>,
    set_ttl: bool,
    ttl: Option<f64>,
    ttl_erases: bool,
    policy: Option<Json<&'a MemoryPolicy>>,
    model: Option<&'a str>,
    window: Option<i32>,
    max_ephemeral_bytes: i64,
    claims: Vec<String>,
    holders: Vec<Option<String>>,
}

impl<'a> PutCall<'a> {
    pub(super) fn of(
        caller: &'a Caller,
        session: &Session,
        place: Place<'a>,
        put: &'a WorkingPut<'_>,
        // The messages to append, with their places in the request.
        (places, messages): (&[usize], &'a [CountedMessage]),
        limits: &EphemeralConfig,
    ) -> Self {
        let Place {
            thread,
            etag,
            keep_from,
            branch_at,
        } = place;
        let owner = MemoryOwner {
            app: session.app.clone(),
            user: session.user.clone(),
        };
        let holder = |place| {
            let mut appended = places.iter().zip(messages);
            appended.find_map(|(at, one)| (*at == place).then(|| one.message.id.to_string()))
        };
        let contents = put.contents.iter();
        let (claims, holders) = contents
            .map(|(place, claim)| (claim.to_string(), holder(*place)))
            .unzip();
        let item_of = |listed: &ListedMemory| {
            let mut item = new_item(&listed.content).json();
            item["listed"] = json!(listed.id.map(|id| id.uuid()));
            item
        };
        let items_of =
            |memories: &Vec<ListedMemory>| Json(items(caller, memories.iter().map(item_of)));
        Self {
            tenant: caller.tenant.as_str(),
            actor: &caller.actor,
            thread: thread.uuid(),
            etag,
            keep_from: keep_from.unwrap_or(i32::MAX),
            branch_at,
            new: NewRows::of(messages),
            context: put.context.as_ref().map(|(text, _)| text.as_str()),
            context_tokens: put.context.as_ref().map_or(0, |(_, tokens)| *tokens),
            items: put.memories.as_ref().map(items_of),
            scope: scope_of(&caller.tenant, &owner),
            data: put.data.as_ref().map(Json),
            set_ttl: put.ttl.is_some(),
            ttl: put.ttl.flatten().map(|ttl| ttl.as_secs_f64()),
            ttl_erases: put.ttl_erases_thread,
            policy: put.policy.as_ref().map(Json),
            model: put.model.map(|model| model.name),
            window: put.model.and_then(|model| model.window),
            max_ephemeral_bytes: limits.byte_limit(),
            claims,
            holders,
        }
    }

    /// In the order of the query.
    pub(super) fn params(&self) -> [&(dyn ToSql + Sync); 23] {
        let NewRows {
            messages,
            parts,
            words,
        } = &self.new;
        [
            &self.tenant,
            &self.actor,
            &self.thread,
            &self.etag,
            &self.keep_from,
            &self.branch_at,
            messages,
            parts,
            words,
            &self.context,
            &self.context_tokens,
            &self.items,
            &self.scope,
            &self.data,
            &self.set_ttl,
            &self.ttl,
            &self.ttl_erases,
            &self.policy,
            &self.model,
            &self.window,
            &self.max_ephemeral_bytes,
            &self.claims,
            &self.holders,
        ]
    }
}
