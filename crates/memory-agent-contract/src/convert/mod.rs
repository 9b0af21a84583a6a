//! Conversions between the generated types and the domain types, one file a noun.
//! Receiving checks every limit; sending cannot fail.

mod checkpoint;
mod document;
mod memory_file;
mod node;
mod plan;

pub use checkpoint::{
    checkpoint_from, checkpoint_id_from, checkpoint_namespace_from, checkpoint_writes_from,
    metadata_filter_from, optional_checkpoint_id_from,
};
pub use node::{node_parent_from, node_place_from, node_turn_from};
pub use plan::{attempt_from, events_from, plan_from, step_status_from};
