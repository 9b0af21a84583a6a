//! What a file contains, and how large that is.

use serde::{Deserialize, Serialize};

/// What a file contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileType {
    /// A still image.
    Image,
    /// Speech, music or other sound.
    Audio,
    /// Moving images, with or without sound.
    Video,
    /// A document, such as text, a spreadsheet or slides.
    Document,
    /// Anything else.
    Custom,
}

/// How large the content of a file is. 0 is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct FileExtent {
    /// The width of an image in pixels.
    pub width: u32,
    /// The height of an image in pixels.
    pub height: u32,
    /// The length of a recording or video in milliseconds.
    pub duration_ms: u32,
    /// The number of pages of a document.
    pub page_count: u32,
}

impl FileExtent {
    /// Whether nothing is known.
    pub fn is_unknown(&self) -> bool {
        *self == Self::default()
    }
}
