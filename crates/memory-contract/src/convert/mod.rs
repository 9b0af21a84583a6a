//! Conversions between the generated types and the domain types, one file a noun.
//! Receiving checks every limit; sending cannot fail.

mod audit;
mod file;
mod filter;
mod json;
mod key;
mod kind;
mod memory;
mod message;
mod part;
mod policy;
mod scalar;
mod stored_memory;
mod text_origin;
mod thread;
mod update;
mod working;

pub use audit::{
    Outcome, ReportedChange, action_from, action_name, actions_from, change_of, event_from,
    outcome_from,
};
pub use file::{file_location_from, file_ref_from, new_file_from, transfer_method_from};
pub use filter::{conditions_from, filter_from};
pub use json::{
    metadata_from, object as object_from, storable, storable_object, text as json_text,
};
pub use key::{key_bounds_from, key_scopes_from};
pub use kind::attributes_have_kind;
pub use memory::{
    memories_from, memory_change_from, memory_filter_from, memory_from, memory_times_from,
};
pub use message::messages_from;
pub use part::{bare_part, bare_reference, provider_from, user_parts_from};
pub use policy::{policy_change_from, policy_from, scope_from};
pub use scalar::{
    check_period, check_period_of, duration, duration_in, exact_duration, optional_float,
    timestamp, timestamp_of,
};
pub use stored_memory::stored_memories_from;
pub use text_origin::text_origin;
pub use thread::session_from;
pub use update::{UpdateMask, nothing_to_change, paths_from, precondition_from, unknown_path};
pub use working::{
    working_data_from, working_messages_from, working_records_from, working_summary_from,
};
