//! Adds the metadata of files to the references in answers.

use memory_context::KnownFiles;
use memory_contract::proto::{self, FileRef, part, tool_result_part};
use memory_contract::{file::FileLocation, message::Message};
use memory_grpc::ApiError;
use memory_store::{Caller, Lookup, Store};

/// Adds to each reference the metadata that the tenant has registered, and flags those
/// that refer to no file. At most one query, none without references.
///
/// An answer with room for `message_bytes_at_most` of its messages has room for what is
/// added here.
pub(crate) async fn annotate(
    store: &Store,
    caller: &Caller,
    references: Vec<&mut FileRef>,
) -> Result<(), ApiError> {
    let locations: Vec<FileLocation> = references
        .iter()
        .filter_map(|reference| reference.location.clone())
        .map(FileLocation::from)
        .collect();
    let files = KnownFiles::of(store, caller, locations.iter()).await?;
    for reference in references {
        add_metadata(reference, &files);
    }
    Ok(())
}

/// The references in a message.
pub(crate) fn references(message: &mut proto::Message) -> impl Iterator<Item = &mut FileRef> {
    references_in(&mut message.parts)
}

/// The references in parts.
pub(crate) fn references_in(parts: &mut [proto::Part]) -> impl Iterator<Item = &mut FileRef> {
    parts.iter_mut().flat_map(|part| {
        let (own, output) = match &mut part.content {
            Some(part::Content::File(file)) => (Some(file), &mut [][..]),
            Some(part::Content::ToolResult(result)) => (None, result.content.as_mut_slice()),
            _ => (None, &mut [][..]),
        };
        let output = output
            .iter_mut()
            .filter_map(|piece| match &mut piece.content {
                Some(tool_result_part::Content::File(file)) => Some(file),
                _ => None,
            });
        own.into_iter().chain(output)
    })
}

/// A message for an answer, with the metadata of its files.
pub(crate) fn with_metadata(message: Message, files: &KnownFiles) -> proto::Message {
    let mut message = proto::Message::from(message);
    references(&mut message).for_each(|reference| add_metadata(reference, files));
    message
}

/// Adds to a reference what is known of its file.
pub(crate) fn add_metadata(reference: &mut FileRef, files: &KnownFiles) {
    let Some(location) = reference.location.clone().map(FileLocation::from) else {
        return;
    };
    match (files.get(&location), location) {
        (Lookup::Known(file), _) => reference.file = Some(file.clone().into()),
        (Lookup::Unknown, FileLocation::UploadFileId(_) | FileLocation::ToolFileId(_)) => {
            reference.dangling = true;
        }
        (Lookup::Unknown, FileLocation::Url(_)) | (Lookup::Unread, _) => {}
    }
}
