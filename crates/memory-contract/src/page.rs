//! Paging by keyset: a token holds the last key of the page before, and a
//! fingerprint of the query that it belongs to.

use std::hash::{DefaultHasher, Hash, Hasher};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

use crate::{Invalid, check, limits};

const VERSION: u8 = 1;
const LENGTH: usize = 1 + 8 + 8;

/// The number of entries that a page may have, from a request's `page_size`:
/// 0 means 50, more than 500 counts as 500.
///
/// # Errors
/// A negative size is invalid.
pub fn page_size(requested: i32) -> Result<usize, Invalid> {
    check::size(
        "page_size",
        requested,
        limits::PAGE_SIZE,
        limits::PAGE_SIZE_MAX,
    )
}

/// An opaque place in a list. It is no secret and no proof: a forged one can
/// only start the caller's own list elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageToken;

impl PageToken {
    /// The token that continues after `key` for a query with this identity
    /// (every field but page size and token).
    pub fn after(query: &impl Hash, key: i64) -> String {
        let mut bytes = [0; LENGTH];
        bytes[0] = VERSION;
        bytes[1..9].copy_from_slice(&fingerprint(query).to_be_bytes());
        bytes[9..].copy_from_slice(&key.to_be_bytes());
        URL_SAFE_NO_PAD.encode(bytes)
    }

    /// The key to continue after; none for an empty token.
    ///
    /// # Errors
    /// A token that is not one, or that belongs to another query.
    pub fn key(query: &impl Hash, token: &str) -> Result<Option<i64>, Invalid> {
        let invalid = |problem| Invalid::new("page_token", problem);
        if token.is_empty() {
            return Ok(None);
        }
        let bytes: [u8; LENGTH] = URL_SAFE_NO_PAD
            .decode(token)
            .ok()
            .and_then(|bytes| bytes.try_into().ok())
            .filter(|bytes: &[u8; LENGTH]| bytes[0] == VERSION)
            .ok_or_else(|| invalid("is not a token that this service gave out"))?;
        let (head, key) = bytes.split_at(9);
        if head[1..] != fingerprint(query).to_be_bytes() {
            return Err(invalid(
                "belongs to another query; start again without it, or repeat the fields of the query that gave it",
            ));
        }
        let mut number = [0; 8];
        number.copy_from_slice(key);
        Ok(Some(i64::from_be_bytes(number)))
    }
}

/// `DefaultHasher::new` has fixed keys, so every server process agrees.
fn fingerprint(query: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    query.hash(&mut hasher);
    hasher.finish()
}
