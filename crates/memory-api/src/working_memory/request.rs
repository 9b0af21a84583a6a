//! Reads requests for working memory.

use std::time::Duration;

use memory_contract::proto::{PutWorkingMemoryRequest, WorkingMemoryWarning};
use memory_contract::{
    Invalid, InvalidFields, check,
    convert::{
        duration_in, paths_from, precondition_from, unknown_path, working_data_from,
        working_messages_from, working_records_from, working_summary_from,
    },
    json::JsonObject,
    limits,
    memory::ListedMemory,
    message::NewMessage,
    policy::{MemoryPolicy, PolicyLevel},
    precondition::Precondition,
};
use memory_store::PutDone;
use tonic::metadata::MetadataMap;

use memory_grpc::request::{Fields, NamedConversation, policy_at, required_conversation_from};

/// A model and its window.
#[derive(Debug, Default)]
pub(super) struct Model {
    pub(super) name: String,
    pub(super) window: Option<i32>,
}

/// A working memory to store.
pub(super) struct Put {
    pub(super) named: NamedConversation,
    pub(super) messages: Option<Vec<NewMessage>>,
    pub(super) summary: Option<String>,
    pub(super) memories: Option<Vec<ListedMemory>>,
    pub(super) data: Option<JsonObject>,
    pub(super) ttl: Option<Option<Duration>>,
    pub(super) ttl_deletes_thread: bool,
    pub(super) policy: Option<MemoryPolicy>,
    pub(super) model: Option<Model>,
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
            summary,
            memories,
            data,
            ttl,
            model,
            precondition,
            ttl_deletes_thread,
            policy,
            update_mask,
        } = request;
        let mut fields = Fields::default();
        let named = fields.get(required_conversation_from(metadata, thread));
        let replaced = Replaced::of(&mut fields, &paths_from(update_mask)?);
        let is_given = |name: &str, is_set: bool| match &replaced {
            Some(Replaced(names)) => names.contains(&name),
            None => is_set,
        };
        let of_messages = is_given("messages", !messages.is_empty());
        let messages = fields.get_all(working_messages_from(messages));
        let of_summary = is_given("summary", summary.is_some());
        let summary = fields.take(working_summary_from(summary));
        let of_memories = is_given("memories", !memories.is_empty());
        let memories = fields.get_all(working_records_from(memories));
        let of_data = is_given("data", data.is_some());
        let data = fields.take(working_data_from("data", data.unwrap_or_default()));
        let of_ttl = is_given("ttl", ttl.is_some());
        let ttl = fields.take(duration_in("ttl", ttl, limits::TTL_MIN, limits::TTL_MAX));
        if ttl_deletes_thread && ttl.is_none() {
            let problem = Invalid::new("ttl_deletes_thread", "requires ttl");
            fields.take(Err::<(), _>(problem));
        }
        let policy = fields
            .get_all(policy_at(PolicyLevel::Thread, policy))
            .filter(|policy| *policy != MemoryPolicy::default());
        let of_model = is_given("model", !model.is_empty());
        let model = fields.take(model_from(model));
        let precondition = fields.take(precondition_from(precondition, true));
        let read = named.zip(messages).zip(memories);
        let ((named, messages), memories) = fields.all(read)?;
        Ok(Self {
            named,
            messages: of_messages.then_some(messages),
            summary: of_summary.then(|| summary.unwrap_or_default()),
            memories: of_memories.then_some(memories),
            data: of_data.then_some(data),
            ttl: of_ttl.then_some(ttl),
            ttl_deletes_thread,
            policy,
            model: of_model.then_some(model),
            precondition,
        })
    }
}

/// The fields of a working memory that a put replaces.
const REPLACEABLE: &[&str] = &["messages", "summary", "memories", "data", "ttl", "model"];

/// The fields that a mask names.
struct Replaced(Vec<&'static str>);

impl Replaced {
    /// `None` without a mask.
    fn of(fields: &mut Fields, paths: &[String]) -> Option<Self> {
        let mut names = Vec::new();
        for (index, path) in paths.iter().enumerate() {
            match REPLACEABLE.iter().find(|name| *name == path) {
                Some(name) => names.push(*name),
                None if path == "*" => names.extend(REPLACEABLE),
                None => fields.take(Err(unknown_path(index, path, REPLACEABLE))),
            }
        }
        (!paths.is_empty()).then_some(Self(names))
    }
}

/// Reads `model`; empty for none.
pub(super) fn model_from(name: String) -> Result<Model, Invalid> {
    let name = check::text("model", name, limits::MODEL_CHARS)?;
    let window = memory_budget::context_window(&name);
    Ok(Model { name, window })
}

pub(super) fn patch_from(patch: String) -> Result<JsonObject, Invalid> {
    match patch.is_empty() {
        true => Err(Invalid::missing("patch")),
        false => working_data_from("patch", patch),
    }
}

/// Warnings about a put that was accepted, in the order of its messages. `untimed` says
/// for each message whether it came without a time.
pub(super) fn warnings(done: &PutDone, untimed: &[bool]) -> Vec<WorkingMemoryWarning> {
    let covered = done.covered.iter().map(|index| WorkingMemoryWarning {
        field: format!("messages[{index}]"),
        message: "was ignored because the summary covers it; do not send covered messages"
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
