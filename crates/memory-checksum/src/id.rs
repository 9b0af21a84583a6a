//! Ids made of digests.

use sha2::{Digest as _, Sha256};
use uuid::Uuid;

/// A UUID (version 8) of the first 16 bytes of a digest.
pub fn digest_id(hash: Sha256) -> Uuid {
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash.finalize()[..16]);
    uuid::Builder::from_custom_bytes(bytes).into_uuid()
}

/// A UUID (version 8) of parts: the same for the same parts in the same order.
pub fn id_of(parts: &[&[u8]]) -> Uuid {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    digest_id(hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_depends_on_where_a_part_ends() {
        assert_eq!(id_of(&[b"ab", b"c"]), id_of(&[b"ab", b"c"]));
        assert_ne!(id_of(&[b"ab", b"c"]), id_of(&[b"a", b"bc"]));
        assert_eq!(id_of(&[]).get_version_num(), 8);
    }
}
