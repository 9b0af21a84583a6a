//! Profiles: a page about a user, of bounded size, made of the facts that hold.
//!
//! It is made anew for each read and stored nowhere, so it is never older than the memories.

mod facts;
mod page;

use memory_budget::Tokenizer;
use memory_contract::memory::MemoryTimes;
use memory_store::{Caller, MemoryOwners, Store};

pub(crate) use self::facts::{Fact, Facts};
pub use self::page::{Profile, ProfileEntry};

use crate::counting::counting;
use crate::error::ContextError;

/// Reads the profile of one user, or of an app and no user: a page of at most `max_tokens`, as of
/// `times`.
///
/// # Errors
/// The database fails.
pub async fn read_profile(
    store: &Store,
    caller: &Caller,
    owners: &MemoryOwners,
    times: MemoryTimes,
    max_tokens: i32,
    tokenizer: Tokenizer,
) -> Result<Profile, ContextError> {
    let facts = Facts::read(store, caller, owners, times).await?;
    let bytes = facts.bytes();
    let write = move || Profile::of(&facts, max_tokens, tokenizer);
    Ok(counting(bytes, tokenizer, write).await?)
}
