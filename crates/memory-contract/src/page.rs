//! Keyset paging: a token holds the last key of the previous page and a fingerprint of
//! its query. A stream's cursor works in the same way.

use std::hash::{DefaultHasher, Hash, Hasher};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

use crate::{Invalid, check, limits};

const VERSION: u8 = 1;
const FINGERPRINT_BYTES: usize = 8;
/// The request field that invalid tokens are reported for.
const FIELD: &str = "page_token";

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

/// An opaque position in a list. It needs no signature: a forged token can only start the
/// caller's own list elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageToken;

impl PageToken {
    /// The error about a token whose place does not exist.
    pub fn foreign() -> Invalid {
        foreign(FIELD)
    }

    /// The token that continues after `key` for a query with this identity
    /// (every field but page size and token).
    pub fn after(query: &impl Hash, key: i64) -> String {
        encode(query, &key.to_be_bytes())
    }

    /// The key to continue after; `None` for an empty token.
    ///
    /// # Errors
    /// A malformed token, or one of another query.
    pub fn key(query: &impl Hash, token: &str) -> Result<Option<i64>, Invalid> {
        let Some(key) = decode(FIELD, query, token)? else {
            return Ok(None);
        };
        let key = key.try_into().map_err(|_| foreign(FIELD))?;
        Ok(Some(i64::from_be_bytes(key)))
    }

    /// As [`PageToken::after`], for a list that is ordered by several numbers.
    pub fn after_place<const N: usize>(query: &impl Hash, place: [i64; N]) -> String {
        encode(query, place.map(i64::to_be_bytes).as_flattened())
    }

    /// As [`PageToken::key`], for a list that is ordered by several numbers.
    ///
    /// # Errors
    /// As [`PageToken::key`].
    pub fn place<const N: usize>(
        query: &impl Hash,
        token: &str,
    ) -> Result<Option<[i64; N]>, Invalid> {
        numbers(FIELD, query, token)
    }

    /// As [`PageToken::after`], for a list that is ordered by name.
    pub fn after_name(query: &impl Hash, name: &str) -> String {
        encode(query, name.as_bytes())
    }

    /// As [`PageToken::key`], for a list that is ordered by name.
    ///
    /// # Errors
    /// As [`PageToken::key`].
    pub fn name(query: &impl Hash, token: &str) -> Result<Option<String>, Invalid> {
        let Some(name) = decode(FIELD, query, token)? else {
            return Ok(None);
        };
        let name = String::from_utf8(name).map_err(|_| foreign(FIELD))?;
        check::no_nul(FIELD, &name).map_err(|_| foreign(FIELD))?;
        Ok(Some(name))
    }
}

/// An opaque position in a stream, for a field `cursor`. It needs no signature either.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cursor;

impl Cursor {
    /// The cursor that continues from two numbers in a stream with this identity.
    pub fn at(stream: &impl Hash, place: [i64; 2]) -> String {
        encode(stream, place.map(i64::to_be_bytes).as_flattened())
    }

    /// The numbers to continue from; `None` for an empty cursor.
    ///
    /// # Errors
    /// A malformed cursor, or one of another stream.
    pub fn place(stream: &impl Hash, cursor: &str) -> Result<Option<[i64; 2]>, Invalid> {
        numbers("cursor", stream, cursor)
    }
}

fn numbers<const N: usize>(
    field: &str,
    query: &impl Hash,
    token: &str,
) -> Result<Option<[i64; N]>, Invalid> {
    let Some(bytes) = decode(field, query, token)? else {
        return Ok(None);
    };
    let (numbers, rest) = bytes.as_chunks();
    match <[[u8; size_of::<i64>()]; N]>::try_from(numbers) {
        Ok(numbers) if rest.is_empty() => Ok(Some(numbers.map(i64::from_be_bytes))),
        _ => Err(foreign(field)),
    }
}

fn encode(query: &impl Hash, key: &[u8]) -> String {
    let mut bytes = vec![VERSION];
    bytes.extend_from_slice(&fingerprint(query).to_be_bytes());
    bytes.extend_from_slice(key);
    URL_SAFE_NO_PAD.encode(bytes)
}

fn decode(field: &str, query: &impl Hash, token: &str) -> Result<Option<Vec<u8>>, Invalid> {
    if token.is_empty() {
        return Ok(None);
    }
    let foreign = || foreign(field);
    let bytes = URL_SAFE_NO_PAD.decode(token).map_err(|_| foreign())?;
    let (version, rest) = bytes.split_first().ok_or_else(foreign)?;
    let (own, key) = rest
        .split_at_checked(FINGERPRINT_BYTES)
        .ok_or_else(foreign)?;
    if *version != VERSION {
        return Err(foreign());
    }
    if own != fingerprint(query).to_be_bytes() {
        return Err(Invalid::new(
            field,
            "belongs to another query; start again without it, or repeat the fields of the query that gave it",
        ));
    }
    Ok(Some(key.to_vec()))
}

fn foreign(field: &str) -> Invalid {
    Invalid::new(field, "must be empty or a value that this service returned")
}

/// `DefaultHasher::new` has fixed keys, so every server process agrees.
fn fingerprint(query: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    query.hash(&mut hasher);
    hasher.finish()
}
