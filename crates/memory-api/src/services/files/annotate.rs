//! Looking references up.

use std::time::Duration;

use memory_contract::proto::{self, FileRef, part};
use memory_contract::{FileLocation, Message, Part, TenantId, file_bytes};
use memory_store::{FoundFiles, Lookup, Store};
use tokio::time::timeout;

use crate::error::ApiError;
use memory_store::error_chain;

/// How long conversations wait for a database that is not theirs.
const PATIENCE: Duration = Duration::from_secs(2);

/// Puts what the tenant has registered beside each reference, and flags those
/// that lead nowhere. One query at the most; none without references.
///
/// An answer that has room for `message_bytes_at_most` of its messages has room
/// for what is added here.
pub(in crate::services) async fn annotate(
    store: &Store,
    tenant: &TenantId,
    references: Vec<&mut FileRef>,
) -> Result<(), ApiError> {
    let locations: Vec<FileLocation> = references
        .iter()
        .filter_map(|reference| reference.location.clone())
        .map(FileLocation::from)
        .collect();
    let known = KnownFiles::of(store, tenant, locations.iter()).await?;
    for reference in references {
        known.put(reference);
    }
    Ok(())
}

/// The references in a message's parts.
pub(in crate::services) fn references(
    message: &mut proto::Message,
) -> impl Iterator<Item = &mut FileRef> {
    message
        .parts
        .iter_mut()
        .filter_map(|part| match &mut part.content {
            Some(part::Content::File(file)) => Some(file),
            _ => None,
        })
}

/// What is known of the files that the messages of an answer refer to.
#[derive(Debug, Default)]
pub(in crate::services) struct KnownFiles(FoundFiles);

impl KnownFiles {
    /// Looks up the references of messages, what is wanted most first.
    pub(in crate::services) async fn of_messages(
        store: &Store,
        tenant: &TenantId,
        messages: impl Iterator<Item = &Message>,
    ) -> Result<Self, ApiError> {
        let parts = messages.flat_map(|message| &message.parts);
        let locations: Vec<&FileLocation> = parts.filter_map(location).collect();
        Self::of(store, tenant, locations.into_iter()).await
    }

    /// Looks up references, what is wanted most first.
    pub(in crate::services) async fn of(
        store: &Store,
        tenant: &TenantId,
        locations: impl Iterator<Item = &FileLocation>,
    ) -> Result<Self, ApiError> {
        let lookup = store.files_of(tenant, locations);
        if !store.has_chat_database() {
            return Ok(Self(lookup.await?));
        }
        // Conversations do without the other database while it is away.
        let found = match timeout(PATIENCE, lookup).await {
            Ok(Err(error)) if error.retryable() => {
                tracing::warn!(error = %error_chain(&error), "files could not be looked up");
                FoundFiles::default()
            }
            Ok(found) => found?,
            Err(_elapsed) => {
                let timeout_ms = PATIENCE.as_millis();
                tracing::warn!(timeout_ms, "files could not be looked up in time");
                FoundFiles::default()
            }
        };
        Ok(Self(found))
    }

    /// The bytes that the files among a message's parts add to an answer.
    pub(in crate::services) fn bytes_of(&self, parts: &[Part]) -> usize {
        let locations = parts.iter().filter_map(location);
        locations
            .map(|location| match self.0.get(location) {
                Lookup::Known(file) => file_bytes(file),
                Lookup::Unknown | Lookup::Unread => 0,
            })
            .sum()
    }

    /// A message for an answer, with what is known of its files.
    pub(in crate::services) fn message(&self, message: Message) -> proto::Message {
        let mut message = proto::Message::from(message);
        references(&mut message).for_each(|reference| self.put(reference));
        message
    }

    /// Puts what is known of its file beside a reference.
    pub(in crate::services) fn put(&self, reference: &mut FileRef) {
        let Some(location) = reference.location.clone().map(FileLocation::from) else {
            return;
        };
        match (self.0.get(&location), location) {
            (Lookup::Known(file), _) => reference.file = Some(file.clone().into()),
            (Lookup::Unknown, FileLocation::UploadFileId(_) | FileLocation::ToolFileId(_)) => {
                reference.dangling = true;
            }
            (Lookup::Unknown, FileLocation::Url(_)) | (Lookup::Unread, _) => {}
        }
    }
}

/// Where the file is that a part refers to.
pub(in crate::services) fn location(part: &Part) -> Option<&FileLocation> {
    match part {
        Part::File(file) => Some(&file.location),
        Part::Text(_) | Part::Json(_) | Part::ToolCall(_) | Part::ToolResult(_) => None,
    }
}
