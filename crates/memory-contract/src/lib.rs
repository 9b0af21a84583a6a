#![doc = include_str!("../README.md")]

pub mod check;
mod convert;
mod domain;
mod ids;
mod invalid;
pub mod limits;
mod node;
mod page;
mod policy;
pub mod proto;

pub use convert::{
    duration, duration_in, file_ref_from, filter_from, new_messages_from, node_parent_from,
    node_turn_from, object_from, optional_float, policy_from, scope_from, session_from,
    thread_choice, timestamp, timestamp_of,
};
pub use domain::{
    AppendedMessage, Branch, FileLocation, FileRef, FileType, Message, MessageFilter, NewMessage,
    Parent, Part, Role, Session, Thread, ToolCall, ToolOutput, ToolResult, text_of_parts,
};
pub use ids::{AppId, MessageId, RequestId, SessionKey, TenantId, ThreadId, UserId};
pub use invalid::{Invalid, InvalidFields};
pub use node::{NewNodeMessage, NodeMessage, NodeParent};
pub use page::{PageToken, page_size};
pub use policy::{
    EffectivePolicy, ExtractionStrategy, MemoryMode, MemoryPolicy, MemoryScope, PolicyLevel,
};
