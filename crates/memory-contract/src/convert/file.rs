//! References to files.

use crate::{FileLocation, FileRef, FileType, Invalid, check, limits, proto};

/// Reads a reference to a file. What only answers have is ignored.
///
/// # Errors
/// A missing type or location, and texts over their limits.
pub fn file_ref_from(file: proto::FileRef) -> Result<FileRef, Invalid> {
    use proto::file_ref::Location;

    let proto::FileRef {
        r#type,
        location,
        name,
        mime_type,
        size_bytes,
        caption,
        file: _,
        dangling: _,
    } = file;
    let kind = kind_from(r#type)?;
    let location = match location {
        None => {
            return Err(Invalid::new(
                "location",
                "is required: upload_file_id, tool_file_id or url",
            ));
        }
        Some(Location::UploadFileId(id)) => FileLocation::UploadFileId(check::required_text(
            "upload_file_id",
            id,
            limits::FILE_ID_CHARS,
        )?),
        Some(Location::ToolFileId(id)) => FileLocation::ToolFileId(check::required_text(
            "tool_file_id",
            id,
            limits::FILE_ID_CHARS,
        )?),
        Some(Location::Url(url)) => {
            FileLocation::Url(check::required_text("url", url, limits::URL_CHARS)?)
        }
    };
    if size_bytes < 0 {
        return Err(Invalid::new(
            "size_bytes",
            "must not be negative; 0 means not known",
        ));
    }
    Ok(FileRef {
        kind,
        location,
        name: check::text("name", name, limits::FILE_NAME_CHARS)?,
        mime_type: check::text("mime_type", mime_type, limits::MIME_TYPE_CHARS)?,
        size_bytes,
        caption: check::text("caption", caption, limits::CAPTION_CHARS)?,
    })
}

/// Reads a kind of file by its number on the wire.
pub(super) fn kind_from(number: i32) -> Result<FileType, Invalid> {
    match proto::FileType::try_from(number) {
        Ok(proto::FileType::Image) => Ok(FileType::Image),
        Ok(proto::FileType::Audio) => Ok(FileType::Audio),
        Ok(proto::FileType::Video) => Ok(FileType::Video),
        Ok(proto::FileType::Document) => Ok(FileType::Document),
        Ok(proto::FileType::Custom) => Ok(FileType::Custom),
        Ok(proto::FileType::Unspecified) | Err(_) => Err(Invalid::new(
            "type",
            "is required: FILE_TYPE_IMAGE, _AUDIO, _VIDEO, _DOCUMENT or _CUSTOM",
        )),
    }
}

impl From<FileType> for proto::FileType {
    fn from(kind: FileType) -> Self {
        match kind {
            FileType::Image => Self::Image,
            FileType::Audio => Self::Audio,
            FileType::Video => Self::Video,
            FileType::Document => Self::Document,
            FileType::Custom => Self::Custom,
        }
    }
}

impl From<FileRef> for proto::FileRef {
    fn from(file: FileRef) -> Self {
        use proto::file_ref::Location;

        let FileRef {
            kind,
            location,
            name,
            mime_type,
            size_bytes,
            caption,
        } = file;
        Self {
            r#type: proto::FileType::from(kind).into(),
            location: Some(match location {
                FileLocation::UploadFileId(id) => Location::UploadFileId(id),
                FileLocation::ToolFileId(id) => Location::ToolFileId(id),
                FileLocation::Url(url) => Location::Url(url),
            }),
            name,
            mime_type,
            size_bytes,
            caption,
            file: None,
            dangling: false,
        }
    }
}
