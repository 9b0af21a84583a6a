//! References to files, which are parts of messages. They are stored as the JSON that serde gives
//! them.

use serde::{Deserialize, Serialize};

use super::{FileExtent, FileType, InlineContent};
use crate::limits;

/// A reference to a file, whose bytes are stored outside Recollect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileRef {
    /// What the file contains.
    #[serde(rename = "type")]
    pub kind: FileType,
    /// The location of the bytes.
    pub location: FileLocation,
    /// The file name for display; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The media type, such as `image/png`; may be empty.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mime_type: String,
    /// Size in bytes; 0 if unknown.
    #[serde(default)]
    pub size_bytes: i64,
    /// A description of the content; may be empty. Search and summaries use it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub caption: String,
    /// How large the content is, which its tokens depend on.
    #[serde(default, skip_serializing_if = "FileExtent::is_unknown")]
    pub extent: FileExtent,
}

/// The place of a file's bytes. Recollect does not read them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileLocation {
    /// The id of an upload by a person.
    UploadFileId(String),
    /// The id of a file that a tool created.
    ToolFileId(String),
    /// A URL at which the file can be downloaded.
    Url(String),
}

impl FileRef {
    /// Takes size, and where they are unset, media type, width and height from the content
    /// if the reference contains it.
    pub(crate) fn describe_content(&mut self) {
        let content = match &self.location {
            FileLocation::Url(url) => InlineContent::from_url(url),
            FileLocation::UploadFileId(_) | FileLocation::ToolFileId(_) => None,
        };
        let Some(content) = content else {
            return;
        };
        self.size_bytes = i64::try_from(content.bytes.len()).unwrap_or(i64::MAX);
        if self.extent.is_unknown() {
            self.extent = content.extent(self.kind);
        }
        let fits = content.mime_type.chars().count() <= limits::MIME_TYPE_CHARS;
        if self.mime_type.is_empty() && fits {
            self.mime_type = content.mime_type;
        }
    }

    /// The texts that the file is found by: caption and name.
    pub fn words(&self) -> impl Iterator<Item = &str> {
        [self.caption.as_str(), self.name.as_str()]
            .into_iter()
            .filter(|words| !words.is_empty())
    }
}
