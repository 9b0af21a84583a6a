//! Looks up the metadata of files that messages refer to.

use std::time::Duration;

use memory_contract::{
    file::FileLocation,
    message::{Message, Part},
    size::file_bytes,
};
use memory_runtime::error_chain;
use memory_store::{Caller, FoundFiles, Lookup, Store, StoreError};
use tokio::time::timeout;

/// How long a call waits for the main database where conversations have their own.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(2);

/// The metadata of files that the messages of an answer refer to.
#[derive(Debug, Default)]
pub struct KnownFiles(FoundFiles);

impl KnownFiles {
    /// Looks up the references of messages, the most important first.
    ///
    /// # Errors
    /// The database fails. Where it is not that of the conversations and is unavailable,
    /// files count as not looked up instead.
    pub async fn of_messages(
        store: &Store,
        caller: &Caller,
        messages: impl Iterator<Item = &Message>,
    ) -> Result<Self, StoreError> {
        let parts = messages.flat_map(|message| &message.parts);
        let locations: Vec<&FileLocation> = parts.flat_map(locations).collect();
        Self::of(store, caller, locations.into_iter()).await
    }

    /// Looks up references, the most important first.
    ///
    /// # Errors
    /// As for [`KnownFiles::of_messages`].
    pub async fn of(
        store: &Store,
        caller: &Caller,
        locations: impl Iterator<Item = &FileLocation>,
    ) -> Result<Self, StoreError> {
        let lookup = store.files(caller).files_of(locations);
        if !store.has_chat_database() {
            return Ok(Self(lookup.await?));
        }
        let found = match timeout(LOOKUP_TIMEOUT, lookup).await {
            Ok(Err(error)) if error.retryable() => {
                tracing::warn!(error = %error_chain(&error), "files could not be looked up");
                FoundFiles::default()
            }
            Ok(found) => found?,
            Err(_elapsed) => {
                let timeout_ms = LOOKUP_TIMEOUT.as_millis();
                tracing::warn!(timeout_ms, "files could not be looked up in time");
                FoundFiles::default()
            }
        };
        Ok(Self(found))
    }

    /// The bytes that the metadata of the files among `parts` adds to an answer.
    pub fn bytes_of(&self, parts: &[Part]) -> usize {
        let locations = parts.iter().flat_map(locations);
        locations
            .map(|location| match self.0.get(location) {
                Lookup::Known(file) => file_bytes(file),
                Lookup::Unknown | Lookup::Unread => 0,
            })
            .sum()
    }

    /// Looks up the file at a location.
    pub fn get(&self, location: &FileLocation) -> Lookup<'_> {
        self.0.get(location)
    }
}

/// The locations of the files that a part refers to.
pub(crate) fn locations(part: &Part) -> impl Iterator<Item = &FileLocation> {
    part.files().map(|file| &file.location)
}
