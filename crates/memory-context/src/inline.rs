//! Content that messages contain in `data:` URLs: stored once, and named in its place.

use std::collections::HashMap;

use memory_agent_contract::node::NewNodeMessage;
use memory_contract::{
    Invalid, MessageId,
    file::{ContentDigest, FileLocation, FileRef, InlineContent},
    message::NewMessage,
};
use memory_runtime::error_chain;
use memory_store::{Caller, HeldContent, Hold, Store, StoreError};

use crate::error::ContextError;

/// Moves the content of messages to object storage. Without one it stays in the messages.
/// Returns what holds it, for [`erase_unwritten`].
///
/// # Errors
/// A message names content that is not stored, or database or object storage fails.
pub async fn store_contents(
    store: &Store,
    caller: &Caller,
    messages: &mut [NewMessage],
) -> Result<Hold, ContextError> {
    let mut contents = Contents::default();
    if store.objects().is_some() {
        for (index, message) in messages.iter_mut().enumerate() {
            contents.take_message(message.id, index, message);
        }
    }
    contents.hold(store, caller).await
}

/// Erases the content of an attempt that was not written and cannot be any more. Where that
/// fails, and where another attempt holds it, too, workers erase it later.
pub async fn erase_unwritten(store: &Store, caller: &Caller, hold: &Hold) {
    let erased = store.contents(caller).release_unwritten(hold).await;
    if let Err(error) = erased {
        tracing::debug!(error = %error_chain(&error), "workers have to erase the content");
    }
}

/// As [`store_contents`], for messages whose ids the write chooses. Returns the claims that
/// keep their content until then, with the places of the messages, and what holds it.
///
/// # Errors
/// As [`store_contents`].
pub async fn claim_contents(
    store: &Store,
    caller: &Caller,
    messages: &mut [NewMessage],
) -> Result<(Vec<(usize, MessageId)>, Hold), ContextError> {
    let (mut contents, mut claims) = (Contents::default(), Vec::new());
    if store.objects().is_some() {
        for (index, message) in messages.iter_mut().enumerate() {
            let claim = MessageId::new();
            if contents.take_message(claim, index, message) {
                claims.push((index, claim));
            }
        }
    }
    Ok((claims, contents.hold(store, caller).await?))
}

/// Moves the content of a node's messages to object storage. Returns the claim that keeps it
/// until the turn is added, `None` where they have none, and what holds it.
///
/// # Errors
/// As [`store_contents`].
pub async fn claim_node_contents(
    store: &Store,
    caller: &Caller,
    messages: &mut [NewNodeMessage; 2],
) -> Result<(Option<MessageId>, Hold), ContextError> {
    let mut contents = Contents::default();
    let claim = MessageId::new();
    if store.objects().is_some() {
        for (message, name) in messages.iter_mut().zip(["user", "assistant"]) {
            for (index, file) in message.files.iter_mut().enumerate() {
                contents.take(claim, || format!("{name}.files[{index}]"), file);
            }
        }
    }
    let any = !contents.held.is_empty();
    Ok((any.then_some(claim), contents.hold(store, caller).await?))
}

/// The contents of one request.
#[derive(Default)]
struct Contents {
    held: Vec<HeldContent>,
    /// What is only named, with the place in the request.
    named: Vec<(ContentDigest, String)>,
}

impl Contents {
    /// Takes the content of a message. Returns whether it has any.
    fn take_message(&mut self, holder: MessageId, index: usize, message: &mut NewMessage) -> bool {
        let before = self.held.len();
        for (place, part) in message.parts.iter_mut().enumerate() {
            for file in part.files_mut() {
                self.take(holder, || format!("messages[{index}].parts[{place}]"), file);
            }
        }
        self.held.len() > before
    }

    /// Takes the content of a file, if it has any, and names it there instead.
    fn take(&mut self, holder: MessageId, path: impl Fn() -> String, file: &mut FileRef) {
        let FileLocation::Url(url) = &file.location else {
            return;
        };
        let content = InlineContent::from_url(url);
        let digest = match &content {
            Some(content) => Some(ContentDigest::of(&content.bytes)),
            None => ContentDigest::from_url(url),
        };
        let Some(digest) = digest else {
            return;
        };
        match &content {
            Some(_) => file.location = FileLocation::Url(digest.url()),
            None => self.named.push((digest, path())),
        }
        self.held.push(HeldContent {
            holder,
            digest,
            content,
        });
    }

    /// Stores the contents. Returns what holds them. After an invalid request nothing does;
    /// after a failure workers erase what was held, since another attempt with the same ids may
    /// be under way.
    async fn hold(self, store: &Store, caller: &Caller) -> Result<Hold, ContextError> {
        if self.held.is_empty() {
            return Ok(Hold::default());
        }
        let (hold, missing) = store.contents(caller).hold(self.held).await?;
        let mut named = self.named.into_iter();
        let Some((digest, path)) = named.find(|(digest, _)| missing.contains(digest)) else {
            return Ok(hold);
        };
        erase_unwritten(store, caller, &hold).await;
        let problem = format!("names content that is not stored: {}", digest.url());
        Err(Invalid::new(path, problem).into())
    }
}

/// Reads stored contents, in the order of `digests`, until they have `max_bytes` together.
/// Contents that are not stored are missing.
///
/// # Errors
/// Database or object storage fails.
pub async fn read_contents(
    store: &Store,
    caller: &Caller,
    digests: &[ContentDigest],
    max_bytes: usize,
) -> Result<HashMap<ContentDigest, Vec<u8>>, StoreError> {
    let mut contents = HashMap::new();
    let Some(objects) = store.objects() else {
        return Ok(contents);
    };
    let keys = store.contents(caller).find(digests).await?;
    let mut room = max_bytes;
    for digest in digests {
        let Some(key) = keys.get(digest).filter(|_| !contents.contains_key(digest)) else {
            continue;
        };
        if let Some(bytes) = objects.read_content(key, room, None).await? {
            room -= bytes.len();
            contents.insert(*digest, bytes);
        }
    }
    Ok(contents)
}

/// Puts stored content back into references to it, as `data:` URLs, the first ones first
/// and at most `max_bytes` of content.
///
/// # Errors
/// As [`read_contents`].
pub async fn restore_contents(
    store: &Store,
    caller: &Caller,
    files: Vec<&mut FileRef>,
    max_bytes: usize,
) -> Result<(), StoreError> {
    let digests: Vec<ContentDigest> = files.iter().filter_map(|file| digest_of(file)).collect();
    if digests.is_empty() {
        return Ok(());
    }
    let contents = read_contents(store, caller, &digests, max_bytes).await?;
    for file in files {
        if let Some(bytes) = digest_of(file).and_then(|digest| contents.get(&digest)) {
            let mime_type = match file.mime_type.as_str() {
                "" => "application/octet-stream".to_owned(),
                mime_type => mime_type.to_owned(),
            };
            let bytes = bytes.clone();
            file.location = FileLocation::Url(InlineContent { mime_type, bytes }.url());
        }
    }
    Ok(())
}

/// The digest of the stored content that a file refers to.
pub(crate) fn digest_of(file: &FileRef) -> Option<ContentDigest> {
    match &file.location {
        FileLocation::Url(url) => ContentDigest::from_url(url),
        FileLocation::UploadFileId(_) | FileLocation::ToolFileId(_) => None,
    }
}
