#![doc = include_str!("../README.md")]

pub mod check;
mod checkpoint;
mod convert;
mod deletion;
mod document;
mod domain;
pub mod duration_text;
mod file;
mod file_kind;
pub mod heap;
mod ids;
mod inline;
mod invalid;
mod json_object;
mod key;
pub mod limits;
mod listing;
mod memory;
mod memory_space;
mod naming;
mod node;
mod page;
mod part;
mod plan;
mod policy;
mod policy_fields;
mod policy_settings;
mod policy_values;
mod precondition;
pub mod proto;
mod quoted;
mod revision;
mod session;
mod size;
pub mod text;

pub use checkpoint::{ChannelValue, Checkpoint, Encoded, NewCheckpoint, TaskWrite};
pub use convert::{
    Outcome, ReportedChange, UpdateMask, action_from, action_name, attempt_from, bare_part,
    bare_reference, change_of, check_period, checkpoint_from, checkpoint_id_from,
    checkpoint_namespace_from, checkpoint_writes_from, conditions_from, document_names_from,
    document_query_from, documents_from, duration, duration_in, event_from, events_from,
    exact_duration, exported_document_from, file_location_from, file_ref_from, filter_from,
    key_scopes_from, memories_from, memory_change_from, memory_filter_from, memory_from,
    messages_from, metadata_filter_from, metadata_from, namespace_query_from, new_file_from,
    node_parent_from, node_place_from, node_turn_from, nothing_to_change, object_from,
    optional_checkpoint_id_from, optional_float, outcome_from, paths_from, plan_from,
    policy_change_from, policy_from, precondition_from, provider_from, scope_from, session_from,
    step_status_from, stored_memories_from, text_origin, timestamp, timestamp_of,
    transfer_method_from, unknown_path, user_parts_from, working_data_from, working_messages_from,
    working_records_from, working_summary_from,
};
pub use deletion::{DeletionScope, ErasedPlace, Receipt};
pub use document::{
    Document, DocumentCondition, DocumentName, DocumentQuery, NamespaceQuery, NewDocument,
    OwnedDocument,
};
pub use domain::{
    AppendedMessage, Branch, Message, MessageFilter, NewMessage, Parent, Role, Session, Thread,
};
pub use file::{File, FileDelivery, ImageDetail, NewFile, TransferMethod};
pub use file_kind::{FileExtent, FileType};
pub use ids::{
    AppId, MemoryId, MessageId, MessageName, RequestId, SessionKey, TenantId, ThreadId, UserId,
};
pub use inline::{ContentDigest, InlineContent, is_inline};
pub use invalid::{Fields, Invalid, InvalidFields};
pub use json_object::{JsonObject, Members, canonical_json, is_scalar};
pub use key::{ApiKey, KeyScope, KeyScopes};
pub use listing::{App, ThreadOrder, User};
pub use memory::{
    Memory, MemoryChange, MemoryFilter, MemoryOrigin, MemoryOwner, MemoryType, NewMemory,
    normalized,
};
pub use memory_space::MemorySpace;
pub use node::{NewNodeMessage, NodeMessage, NodeParent, NodePlace};
pub use page::{Cursor, PageToken, page_size};
pub use part::{
    Content, FileLocation, FileRef, Opaque, Part, Provider, Reasoning, ToolCall, ToolOutput,
    ToolResult,
};
pub use plan::{
    AgentEvent, Attempt, EventQuery, LoggedEvents, NewAgentEvent, NewAttempt, NewPlan, Plan,
    PlanStep, PlanStepStatus,
};
pub use policy::{MemoryPolicy, PolicyChange, PolicyFields, ResolvedPolicy};
pub use policy_settings::{DurationText, PolicySettings, Setting};
pub use policy_values::{
    ContextBudget, ExtractionStrategy, InputWording, Instructions, Lifetime, MemoryMode,
    MemoryScope, MinScore, PolicyLevel,
};
pub use precondition::Precondition;
pub use quoted::{json_line, to_the_second};
pub use revision::{InvalidRevision, Revision};
pub use session::{KeySource, SESSION_METADATA, SessionNames};
pub use size::{file_bytes, fit_metadata, memory_bytes, message_bytes, message_bytes_at_most};
pub use text::{of_file as text_of_file, text_of_parts};
