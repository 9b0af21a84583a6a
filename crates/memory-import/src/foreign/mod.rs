//! Reads what other memory systems hold, in the JSON of their APIs: mem0, Zep, and Redis's
//! agent memory server.
//!
//! Fields that have a place here take it; the others become metadata. Ids follow from those
//! of the source, so that reading the same file again stores nothing twice.

mod fields;
mod mem0;
mod reader;
mod redis;
#[cfg(test)]
mod tests;
mod zep;

use serde_json::Value;

use crate::defaults::Defaults;
use crate::format::System;
use crate::record::Read;
use reader::Reader;

/// Reads one document of a system: a whole file, or one of its lines. Returns whether more
/// is wanted.
pub(crate) fn document(
    system: System,
    json: Value,
    place: &str,
    defaults: &Defaults,
    each: &mut dyn FnMut(Read) -> bool,
) -> bool {
    let mut reader = Reader::new(place, defaults, each);
    match system {
        System::Mem0 => mem0::read(&mut reader, json),
        System::Zep => zep::read(&mut reader, json),
        System::Redis => redis::read(&mut reader, json),
    }
    reader.is_open()
}
