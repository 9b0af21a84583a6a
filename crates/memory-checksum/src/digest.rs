//! The digest of a unit, and how records enter it.

use std::fmt::{self, Display, Formatter};

use memory_contract::json::canonical_json;
use serde_json::value::RawValue;
use sha2::{Digest as _, Sha256};

/// The digest of one policy, file, thread, memory or document. It is shown in hex.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct UnitDigest(pub(crate) [u8; 32]);

impl Display for UnitDigest {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

/// JSON text of an object whose digest does not depend on how it is written; empty without
/// members.
pub fn canonical_object(object: &str) -> String {
    match serde_json::from_str::<&RawValue>(object) {
        Ok(value) => match canonical_json(value) {
            text if text == "{}" => String::new(),
            text => text,
        },
        Err(_) => object.to_owned(),
    }
}

/// Adds a record: its kind, its length, and its encoding.
pub(crate) fn put(hash: &mut Sha256, kind: &[u8], content: &impl prost::Message) {
    let bytes = content.encode_to_vec();
    hash.update(kind);
    hash.update((bytes.len() as u64).to_be_bytes());
    hash.update(&bytes);
}
