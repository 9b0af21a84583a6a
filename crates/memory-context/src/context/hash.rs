//! Hashes of contexts: a caller compares them to see what a provider's prompt cache can
//! reuse.

use sha2::{Digest as _, Sha256};

use super::block::Block;

impl Block {
    /// The SHA-256 of its messages in hexadecimal: equal messages have equal hashes.
    ///
    /// It is made of one line for each message: the JSON array of its role, name and
    /// parts. JSON is unambiguous, and the keys of objects have one order. The metadata of
    /// files is not included, because a model is not given it.
    pub fn hash(&self) -> &str {
        self.hash.get_or_init(|| self.digest())
    }

    fn digest(&self) -> String {
        let mut digest = Sha256::new();
        for message in &self.messages {
            let content = (message.role, &message.name, &message.parts);
            // Keys are strings and numbers are finite, so this serializes.
            digest.update(serde_json::to_vec(&content).unwrap_or_default());
            digest.update(b"\n");
        }
        hex::encode(digest.finalize())
    }
}

/// The SHA-256 of the hashes of blocks, one a line.
pub(super) fn of_blocks<'a>(hashes: impl IntoIterator<Item = &'a str>) -> String {
    let mut digest = Sha256::new();
    for hash in hashes {
        digest.update(hash);
        digest.update(b"\n");
    }
    hex::encode(digest.finalize())
}
