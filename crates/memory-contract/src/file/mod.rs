//! Domain types of registered files, which messages refer to, and how they reach a model.

mod inline;
mod kind;
mod reference;

use serde::{Deserialize, Serialize};
use time::OffsetDateTime;

pub use inline::{ContentDigest, InlineContent, is_inline};
pub use kind::{FileExtent, FileType};
pub use reference::{FileLocation, FileRef};

/// How the bytes of a file are reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TransferMethod {
    /// Uploaded by a person.
    LocalFile,
    /// Fetched from a URL.
    RemoteUrl,
    /// Created by a tool.
    ToolFile,
}

/// How images reach a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileDelivery {
    /// As they were given; stored ones by a signed URL, else inline.
    #[default]
    Auto,
    /// By URL.
    Url,
    /// Inline what is stored, the others by URL.
    Inline,
    /// Described in text.
    Text,
}

/// In how much detail a model looks at images.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ImageDetail {
    /// The model decides.
    #[default]
    Auto,
    /// At a small copy.
    Low,
    /// At the whole image.
    High,
}

impl ImageDetail {
    /// The name that OpenAI's APIs have for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Low => "low",
            Self::High => "high",
        }
    }
}

impl TransferMethod {
    /// All methods.
    pub const ALL: [Self; 3] = [Self::LocalFile, Self::RemoteUrl, Self::ToolFile];

    /// Reads a stored name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.as_str() == name)
    }

    /// The stored name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::LocalFile => "local_file",
            Self::RemoteUrl => "remote_url",
            Self::ToolFile => "tool_file",
        }
    }
}

impl FileType {
    /// All types.
    pub const ALL: [Self; 5] = [
        Self::Image,
        Self::Audio,
        Self::Video,
        Self::Document,
        Self::Custom,
    ];

    /// Reads a stored name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }

    /// The stored name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Image => "image",
            Self::Audio => "audio",
            Self::Video => "video",
            Self::Document => "document",
            Self::Custom => "custom",
        }
    }
}

impl FileLocation {
    /// How the bytes at this location are reached.
    pub fn transfer_method(&self) -> TransferMethod {
        match self {
            Self::UploadFileId(_) => TransferMethod::LocalFile,
            Self::ToolFileId(_) => TransferMethod::ToolFile,
            Self::Url(_) => TransferMethod::RemoteUrl,
        }
    }

    /// The id or the URL.
    pub fn as_str(&self) -> &str {
        match self {
            Self::UploadFileId(id) | Self::ToolFileId(id) => id,
            Self::Url(url) => url,
        }
    }

    /// The location with this transfer method and this id or URL.
    pub fn new(method: TransferMethod, reference: String) -> Self {
        match method {
            TransferMethod::LocalFile => Self::UploadFileId(reference),
            TransferMethod::RemoteUrl => Self::Url(reference),
            TransferMethod::ToolFile => Self::ToolFileId(reference),
        }
    }
}

/// A file to register. Every value is within its limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewFile {
    /// The location, as references name it.
    pub location: FileLocation,
    /// What the file contains.
    pub kind: FileType,
    /// The key in the caller's own storage; may be empty for a URL.
    pub storage_key: String,
    /// The file name for display; may be empty.
    pub name: String,
    /// The media type, such as `image/png`; may be empty.
    pub mime_type: String,
    /// Size in bytes; 0 if unknown.
    pub size_bytes: i64,
}

/// A registered file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// The registered data.
    pub file: NewFile,
    /// Time of the first registration.
    pub created: OffsetDateTime,
    /// Time of the last registration.
    pub updated: OffsetDateTime,
}

impl File {
    /// Bytes of all texts, which every answer repeats.
    pub fn text_bytes(&self) -> usize {
        let NewFile {
            location,
            kind: _,
            storage_key,
            name,
            mime_type,
            size_bytes: _,
        } = &self.file;
        location.as_str().len() + storage_key.len() + name.len() + mime_type.len()
    }
}
