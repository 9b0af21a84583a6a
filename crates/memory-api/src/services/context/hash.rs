//! Fingerprints of contexts, by which a caller sees what a provider's prompt cache
//! may find again.

use std::fmt::Write as _;

use memory_contract::proto::ContextBlock;
use sha2::{Digest as _, Sha256};

use super::block::Said;

/// The fingerprint of messages: the SHA-256 of one line for each, the JSON array
/// of its role, name and parts as they are stored. JSON tells apart what differs,
/// and objects' keys are in one order. What is known of files at the moment is
/// not in it, because a model is not given it.
pub(super) fn of_messages(messages: &[Said]) -> String {
    let mut digest = Sha256::new();
    for said in messages {
        let content = (said.role, &said.name, &said.parts);
        // Keys are strings and numbers are finite: it always serializes.
        digest.update(serde_json::to_vec(&content).unwrap_or_default());
        digest.update(b"\n");
    }
    hexadecimal(digest)
}

/// The fingerprint of a context: the SHA-256 of its blocks' fingerprints, one a
/// line.
pub(super) fn of_blocks(blocks: &[ContextBlock]) -> String {
    let mut digest = Sha256::new();
    for block in blocks {
        digest.update(&block.hash);
        digest.update(b"\n");
    }
    hexadecimal(digest)
}

fn hexadecimal(digest: Sha256) -> String {
    digest
        .finalize()
        .iter()
        .fold(String::with_capacity(64), |mut text, byte| {
            let _ = write!(text, "{byte:02x}");
            text
        })
}
