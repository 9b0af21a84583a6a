//! What is known of the files that messages refer to.

use time::OffsetDateTime;

use crate::{FileLocation, FileType};

/// How a file is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TransferMethod {
    /// A person uploaded it.
    LocalFile,
    /// It is on the net.
    RemoteUrl,
    /// A tool made it.
    ToolFile,
}

impl TransferMethod {
    /// All methods.
    pub const ALL: [Self; 3] = [Self::LocalFile, Self::RemoteUrl, Self::ToolFile];

    /// Reads a stored name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.as_str() == name)
    }

    /// The name that is stored.
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

    /// The name that is stored.
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
    /// How a file of this location is reached.
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

    /// The location of this method with this id or URL.
    pub fn new(method: TransferMethod, reference: String) -> Self {
        match method {
            TransferMethod::LocalFile => Self::UploadFileId(reference),
            TransferMethod::RemoteUrl => Self::Url(reference),
            TransferMethod::ToolFile => Self::ToolFileId(reference),
        }
    }
}

/// A file to register. Every limit has been checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewFile {
    /// How references name it.
    pub location: FileLocation,
    /// What kind of file it is.
    pub kind: FileType,
    /// Where the caller's storage keeps it; may be empty for a URL.
    pub storage_key: String,
    /// Its name for people; may be empty.
    pub name: String,
    /// Its media type; may be empty.
    pub mime_type: String,
    /// Its size in bytes; 0 where unknown.
    pub size_bytes: i64,
}

/// A registered file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// What is known of it.
    pub file: NewFile,
    /// When it was registered.
    pub created: OffsetDateTime,
    /// When it was last registered anew.
    pub updated: OffsetDateTime,
}

impl File {
    /// The bytes of its texts, of which an answer repeats all.
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
