//! Estimates the heap bytes of values: allocations, and the free capacity of maps.

use crate::{
    message::{Message, Part},
    size::message_bytes,
};

/// The overhead of a map's entry: its control bytes, its share of the free capacity, and
/// the allocator's.
pub const ENTRY: usize = 64;

/// The bytes of a message, its heap included.
pub fn of_message(message: &Message) -> usize {
    let parts = message.parts.len() * size_of::<Part>();
    size_of::<Message>()
        + message.external_id.len()
        + parts
        + message.metadata.bytes()
        + message_bytes(message)
}
