//! Reads requests for working memory.

use std::time::Duration;

use memory_contract::proto::{
    PutWorkingMemoryRequest, WorkingMemoryWarning, put_working_memory_request,
};
use memory_contract::{
    Invalid, InvalidFields, MemoryPolicy, NewMemory, NewMessage, PolicyLevel, Precondition, check,
    duration_in, etag_from, limits, working_context_from, working_data_from, working_messages_from,
    working_records_from,
};
use memory_store::PutDone;
use prost_types::Struct;
use serde_json::{Map, Value};
use tonic::metadata::MetadataMap;

use crate::services::request::{Fields, NamedConversation, policy_at, required_conversation_from};

/// A model and its window.
#[derive(Debug, Default)]
pub(super) struct Model {
    pub(super) name: String,
    pub(super) window: Option<i32>,
}

/// A working memory to store.
pub(super) struct Put {
    pub(super) named: NamedConversation,
    pub(super) messages: Vec<NewMessage>,
    pub(super) context: Option<String>,
    pub(super) memories: Vec<NewMemory>,
    pub(super) data: Map<String, Value>,
    pub(super) ttl: Option<Duration>,
    pub(super) ttl_erases_thread: bool,
    pub(super) policy: Option<MemoryPolicy>,
    pub(super) model: Model,
    pub(super) precondition: Precondition,
}

impl Put {
    pub(super) fn read(
        metadata: &MetadataMap,
        request: PutWorkingMemoryRequest,
    ) -> Result<Self, InvalidFields> {
        let PutWorkingMemoryRequest {
            thread,
            messages,
            context,
            memories,
            data,
            ttl,
            model,
            precondition,
            ttl_erases_thread,
            policy,
        } = request;
        let mut fields = Fields::default();
        let named = fields.get(required_conversation_from(metadata, thread));
        let messages = fields.get_all(working_messages_from(messages));
        let context = fields.take(working_context_from(context));
        let memories = fields.get_all(working_records_from(memories));
        let data = fields.take(working_data_from("data", data));
        let ttl = fields.take(duration_in("ttl", ttl, limits::TTL_MIN, limits::TTL_MAX));
        if ttl_erases_thread && ttl.is_none() {
            let problem = Invalid::new("ttl_erases_thread", "requires ttl");
            fields.take(Err::<(), _>(problem));
        }
        let policy = fields
            .get_all(policy_at(PolicyLevel::Thread, policy))
            .filter(|policy| *policy != MemoryPolicy::default());
        let model = fields.take(model_from(model));
        let precondition = match precondition {
            Some(put_working_memory_request::Precondition::Etag(etag)) => {
                fields.take(etag_from("etag", etag))
            }
            Some(put_working_memory_request::Precondition::Absent(())) => Precondition::Absent,
            None => Precondition::Unchecked,
        };
        let read = named.zip(messages).zip(memories);
        let ((named, messages), memories) = fields.all(read)?;
        Ok(Self {
            named,
            messages,
            context,
            memories,
            data,
            ttl,
            ttl_erases_thread,
            policy,
            model,
            precondition,
        })
    }
}

/// Reads `model`; empty for none.
pub(super) fn model_from(name: String) -> Result<Model, Invalid> {
    let name = check::text("model", name, limits::MODEL_CHARS)?;
    let window = memory_budget::context_window(&name);
    Ok(Model { name, window })
}

pub(super) fn patch_from(patch: Option<Struct>) -> Result<Map<String, Value>, Invalid> {
    match patch {
        Some(patch) => working_data_from("patch", Some(patch)),
        None => Err(Invalid::missing("patch")),
    }
}

/// Warnings about a put that was accepted, in the order of its messages. `untimed` says
/// for each message whether it came without a time.
pub(super) fn warnings(done: &PutDone, untimed: &[bool]) -> Vec<WorkingMemoryWarning> {
    let covered = done.covered.iter().map(|index| WorkingMemoryWarning {
        field: format!("messages[{index}]"),
        message: "was ignored because the context covers it; do not send covered messages"
            .to_owned(),
    });
    let appended = done.appended.iter().filter(|index| untimed[**index]);
    let appended = appended.map(|index| WorkingMemoryWarning {
        field: format!("messages[{index}].create_time"),
        message: "was not given, so the time of the call is used, also for memories that are \
                  extracted from the message; send create_time"
            .to_owned(),
    });
    covered.chain(appended).take(limits::WARNINGS).collect()
}
