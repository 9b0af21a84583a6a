//! How images reach a model in the rendered formats: by URL, by a signed URL, or inline.
//! Only objects of the caller's tenant are signed or read, and no URL is fetched.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Instant;

use memory_contract::{
    file::{
        ContentDigest, FileDelivery, FileLocation, FileRef, FileType, InlineContent, is_inline,
    },
    limits,
    message::{Content, Part, Provider, ToolOutput},
    policy::ResolvedPolicy,
    text,
};
use memory_formats::{Format, Labels, Rendered, Said, render};
use memory_objects::Objects;
use memory_runtime::error_chain;
use memory_store::{Caller, Lookup, Store, StoreError};

use crate::files::KnownFiles;
use crate::inline::digest_of;

/// How the files of one context are sent.
#[derive(Debug)]
pub(crate) struct Sending {
    delivery: FileDelivery,
    types: Vec<FileType>,
    /// Images in object storage.
    sources: HashMap<FileLocation, Source>,
}

/// An image in object storage.
#[derive(Debug, Default)]
struct Source {
    /// A signed URL.
    url: Option<Arc<str>>,
    /// A `data:` URL.
    data: Option<String>,
}

impl Sending {
    /// Prepares the files that a context may refer to, the most important first. Files that
    /// object storage does not give now are described in text.
    ///
    /// # Errors
    /// Only those of the database.
    pub(crate) async fn prepare<'a>(
        store: &Store,
        caller: &Caller,
        policy: &ResolvedPolicy,
        formats: &[Format],
        known: &KnownFiles,
        files: impl Iterator<Item = &'a FileRef>,
        deadline: Instant,
    ) -> Result<Self, StoreError> {
        let mut sending = Self {
            delivery: policy.file_delivery,
            types: policy.file_types.clone(),
            sources: HashMap::new(),
        };
        let renders = formats.iter().any(|format| *format != Format::Text);
        let sends = renders && sending.delivery != FileDelivery::Text;
        let Some(objects) = store.objects().filter(|_| sends) else {
            return Ok(sending);
        };
        let mut seen = HashSet::new();
        let wanted: Vec<&FileRef> = files
            .filter(|file| file.kind == FileType::Image && sending.types.contains(&file.kind))
            .filter(|file| seen.insert(&file.location))
            .take(limits::SENT_FILES)
            .collect();
        let digests: Vec<ContentDigest> =
            wanted.iter().filter_map(|file| digest_of(file)).collect();
        let contents = store.contents(caller).find(&digests).await?;
        let reads = match sending.delivery {
            FileDelivery::Auto => {
                !objects.signs() || formats.contains(&Format::Provider(Provider::Gemini))
            }
            FileDelivery::Inline => true,
            FileDelivery::Url | FileDelivery::Text => false,
        };
        let signs = sending.delivery != FileDelivery::Inline;
        let mut room = limits::SENT_FILE_BYTES / formats.len().max(1);
        for file in wanted {
            let key = match digest_of(file) {
                Some(digest) => contents.get(&digest).cloned(),
                None => match known.get(&file.location) {
                    Lookup::Known(known) => {
                        objects.file_key(&caller.tenant, &known.file.storage_key)
                    }
                    Lookup::Unknown | Lookup::Unread => None,
                },
            };
            let Some(key) = key else {
                continue;
            };
            let source = Source {
                url: match signs {
                    true => signed(objects, &key, deadline).await,
                    false => None,
                },
                data: match reads {
                    true => read(objects, &key, file, &mut room, deadline).await,
                    false => None,
                },
            };
            sending.sources.insert(file.location.clone(), source);
        }
        Ok(sending)
    }

    /// Renders messages in each of `formats`.
    pub(crate) fn render(
        &self,
        formats: &[Format],
        messages: &[Said<'_>],
        labels: &Labels,
    ) -> Vec<Rendered> {
        let rendered = formats.iter().map(|format| {
            let parts = messages.iter().map(|one| self.parts(*format, one.parts));
            let parts: Vec<Cow<'_, [Part]>> = parts.collect();
            let said = messages
                .iter()
                .zip(&parts)
                .map(|(one, parts)| Said { parts, ..*one });
            render(*format, &said.collect::<Vec<_>>(), labels)
        });
        rendered.collect()
    }

    /// Parts as a format is to have them: a file that is sent has the URL that it is sent by,
    /// and a file that must not be sent is text.
    fn parts<'a>(&self, format: Format, parts: &'a [Part]) -> Cow<'a, [Part]> {
        let Format::Provider(provider) = format else {
            return Cow::Borrowed(parts);
        };
        if parts.iter().all(|part| part.files().next().is_none()) {
            return Cow::Borrowed(parts);
        }
        let mut parts = parts.to_vec();
        for part in &mut parts {
            match &mut part.content {
                Content::File(file) => {
                    if let Some(text) = self.send(provider, file) {
                        part.content = Content::Text(text);
                    }
                }
                Content::ToolResult(result) => {
                    for output in &mut result.output {
                        if let ToolOutput::File(file) = output
                            && let Some(text) = self.send(provider, file)
                        {
                            *output = ToolOutput::Text(text);
                        }
                    }
                }
                Content::Text(_)
                | Content::Json(_)
                | Content::ToolCall(_)
                | Content::Reasoning(_)
                | Content::Opaque(_) => {}
            }
        }
        Cow::Owned(parts)
    }

    /// Sets the URL that a file is sent by, or returns the text to send instead.
    fn send(&self, provider: Provider, file: &mut FileRef) -> Option<String> {
        let in_text = Some(text::of_file(file));
        if self.delivery == FileDelivery::Text || !self.types.contains(&file.kind) {
            return in_text;
        }
        let own = match &file.location {
            FileLocation::Url(url) => Some(url.as_str()),
            FileLocation::UploadFileId(_) | FileLocation::ToolFileId(_) => None,
        };
        let contains_itself = own.is_some_and(is_inline);
        let on_the_web =
            own.is_some_and(|url| url.starts_with("https://") || url.starts_with("http://"));
        let source = self.sources.get(&file.location);
        let signed = source.and_then(|source| source.url.as_deref());
        let data = source.and_then(|source| source.data.as_deref());
        let takes_urls = provider != Provider::Gemini;
        let url = signed.filter(|_| takes_urls && !on_the_web);
        let sent = match self.delivery {
            FileDelivery::Url if contains_itself => return in_text,
            _ if contains_itself => None,
            FileDelivery::Url => url,
            FileDelivery::Inline => data,
            FileDelivery::Auto if on_the_web && takes_urls => None,
            FileDelivery::Auto => url.or(data),
            FileDelivery::Text => None,
        };
        if let Some(sent) = sent {
            file.location = FileLocation::Url(sent.to_owned());
        }
        None
    }
}

async fn signed(objects: &Objects, key: &str, deadline: Instant) -> Option<Arc<str>> {
    objects
        .signed_url(key, Some(deadline))
        .await
        .unwrap_or_else(|error| {
            tracing::warn!(error = %error_chain(&error), "the URL of an image could not be signed");
            None
        })
}

/// A `data:` URL of an image that fits into the room, which becomes smaller. Content that was
/// sent as an image keeps its media type; of other objects only images are read.
async fn read(
    objects: &Objects,
    key: &str,
    file: &FileRef,
    room: &mut usize,
    deadline: Instant,
) -> Option<String> {
    let bytes = match objects.read_content(key, *room, Some(deadline)).await {
        Ok(bytes) => bytes?,
        Err(error) => {
            tracing::warn!(error = %error_chain(&error), "an image could not be read");
            return None;
        }
    };
    let sent_as = Some(file.mime_type.as_str());
    let sent_as = sent_as.filter(|kind| kind.starts_with("image/") && digest_of(file).is_some());
    let mime_type = sent_as.or_else(|| InlineContent::image_type(&bytes))?;
    let mime_type = mime_type.to_owned();
    *room -= bytes.len();
    Some(InlineContent { mime_type, bytes }.url())
}
