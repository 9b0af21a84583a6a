//! Reads page sizes and page tokens.

use std::hash::Hash;

use memory_contract::{Invalid, PageToken, page_size};

/// Reads `page_size` as the store counts.
pub(in crate::services) fn page_limit(requested: i32) -> Result<u32, Invalid> {
    page_size(requested).map(|size| u32::try_from(size).unwrap_or(u32::MAX))
}

/// The token of the next page; empty after the last one. `identity` is all of the request
/// that decides which entries are listed.
pub(in crate::services) fn next_token(identity: &impl Hash, next: Option<i64>) -> String {
    next.map(|key| PageToken::after(identity, key))
        .unwrap_or_default()
}
