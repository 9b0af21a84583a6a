//! Converts files and references to them.

use std::time::Duration;

use uuid::Uuid;

use super::{duration_in, exact_duration, timestamp};
use crate::{
    Fields, Invalid, InvalidFields, check,
    file::{
        File, FileDelivery, FileExtent, FileLocation, FileRef, FileType, ImageDetail, NewFile,
        TransferMethod,
    },
    limits, proto,
};

/// Reads a reference to a file. Fields that only answers set are ignored.
///
/// # Errors
/// A missing type or location, and texts over their limits.
pub fn file_ref_from(file: proto::FileRef) -> Result<FileRef, InvalidFields> {
    let proto::FileRef {
        r#type,
        location,
        name,
        mime_type,
        size_bytes,
        caption,
        file: _,
        dangling: _,
        width,
        height,
        duration,
        page_count,
    } = file;
    let mut fields = Fields::default();
    let kind = fields.get(kind_from(r#type));
    let location = fields.get(match location.map(FileLocation::from) {
        Some(FileLocation::Url(url)) if !url.is_empty() => {
            check::long_text("url", url, limits::MESSAGE_BYTES).map(FileLocation::Url)
        }
        location => file_location_from(location),
    });
    let size_bytes = fields.take(size_from(size_bytes));
    let name = fields.take(check::text("name", name, limits::FILE_NAME_CHARS));
    let mime_type = fields.take(check::text("mime_type", mime_type, limits::MIME_TYPE_CHARS));
    let caption = fields.take(check::text("caption", caption, limits::CAPTION_CHARS));
    let duration = duration_in("duration", duration, Duration::ZERO, limits::RECORDING_MAX);
    let milliseconds = |time: Duration| u32::try_from(time.as_millis()).unwrap_or(u32::MAX);
    let extent = FileExtent {
        width: fields.take(number_from("width", width, limits::IMAGE_PIXELS)),
        height: fields.take(number_from("height", height, limits::IMAGE_PIXELS)),
        duration_ms: fields.take(duration).map_or(0, milliseconds),
        page_count: fields.take(number_from(
            "page_count",
            page_count,
            limits::DOCUMENT_PAGES,
        )),
    };
    let (kind, location) = fields.all(kind.zip(location))?;
    let mut file = FileRef {
        kind,
        location,
        size_bytes,
        name,
        mime_type,
        caption,
        extent,
    };
    file.describe_content();
    Ok(file)
}

/// Reads a file to register, and names every wrong field with the path below
/// `field`. An id that is set and empty becomes a new UUID.
///
/// # Errors
/// A file, type, location or storage key that is missing, and values over their limits.
pub fn new_file_from(field: &str, file: Option<proto::File>) -> Result<NewFile, InvalidFields> {
    let Some(proto::File {
        location,
        transfer_method: _,
        r#type,
        storage_key,
        name,
        mime_type,
        size_bytes,
        create_time: _,
        update_time: _,
    }) = file
    else {
        return Err(Invalid::missing(field).into());
    };
    let location = file_location_from(location.map(FileLocation::from).map(named));
    let kind = kind_from(r#type);
    let storage_key = match &location {
        // Whether a key is required depends on the location.
        Ok(FileLocation::Url(_)) | Err(_) => {
            check::text("storage_key", storage_key, limits::STORAGE_KEY_CHARS)
        }
        Ok(FileLocation::UploadFileId(_) | FileLocation::ToolFileId(_)) => {
            check::required_text("storage_key", storage_key, limits::STORAGE_KEY_CHARS)
        }
    };
    let name = check::text("name", name, limits::FILE_NAME_CHARS);
    let mime_type = check::text("mime_type", mime_type, limits::MIME_TYPE_CHARS);
    let size_bytes = size_from(size_bytes);
    match (location, kind, storage_key, name, mime_type, size_bytes) {
        (Ok(location), Ok(kind), Ok(storage_key), Ok(name), Ok(mime_type), Ok(size_bytes)) => {
            Ok(NewFile {
                location,
                kind,
                storage_key,
                name,
                mime_type,
                size_bytes,
            })
        }
        (location, kind, storage_key, name, mime_type, size_bytes) => {
            let problems = [
                location.err(),
                kind.err(),
                storage_key.err(),
                name.err(),
                mime_type.err(),
                size_bytes.err(),
            ];
            let problems = problems.into_iter().flatten();
            Err(InvalidFields(
                problems.map(|invalid| invalid.within(field)).collect(),
            ))
        }
    }
}

/// Checks a location.
///
/// # Errors
/// A location that is missing, empty or over its limit.
pub fn file_location_from(location: Option<FileLocation>) -> Result<FileLocation, Invalid> {
    let id = |field, id| check::required_text(field, id, limits::FILE_ID_CHARS);
    Ok(match location {
        None => {
            return Err(Invalid::new(
                "location",
                "is required: upload_file_id, tool_file_id or url",
            ));
        }
        Some(FileLocation::UploadFileId(value)) => {
            FileLocation::UploadFileId(id("upload_file_id", value)?)
        }
        Some(FileLocation::ToolFileId(value)) => {
            FileLocation::ToolFileId(id("tool_file_id", value)?)
        }
        Some(FileLocation::Url(url)) => {
            FileLocation::Url(check::required_text("url", url, limits::URL_CHARS)?)
        }
    })
}

/// Reads a transfer method; unspecified is `None`.
///
/// # Errors
/// An unknown number.
pub fn transfer_method_from(number: i32) -> Result<Option<TransferMethod>, Invalid> {
    match proto::TransferMethod::try_from(number) {
        Ok(proto::TransferMethod::Unspecified) => Ok(None),
        Ok(proto::TransferMethod::LocalFile) => Ok(Some(TransferMethod::LocalFile)),
        Ok(proto::TransferMethod::RemoteUrl) => Ok(Some(TransferMethod::RemoteUrl)),
        Ok(proto::TransferMethod::ToolFile) => Ok(Some(TransferMethod::ToolFile)),
        Err(_) => Err(Invalid::new(
            "transfer_method",
            "must be TRANSFER_METHOD_LOCAL_FILE, _REMOTE_URL or _TOOL_FILE",
        )),
    }
}

/// Names a file that has no name after its location.
fn named(location: FileLocation) -> FileLocation {
    let new = |id: String| match id.is_empty() {
        true => Uuid::now_v7().to_string(),
        false => id,
    };
    match location {
        FileLocation::UploadFileId(id) => FileLocation::UploadFileId(new(id)),
        FileLocation::ToolFileId(id) => FileLocation::ToolFileId(new(id)),
        url @ FileLocation::Url(_) => url,
    }
}

fn number_from(field: &str, number: i32, max: i32) -> Result<u32, Invalid> {
    Ok(check::range(field, number, 0, max)?.unsigned_abs())
}

fn size_from(bytes: i64) -> Result<i64, Invalid> {
    match bytes {
        ..0 => Err(Invalid::new(
            "size_bytes",
            "must not be negative; 0 means unknown",
        )),
        bytes => Ok(bytes),
    }
}

/// The contract generates one type of location for each message that has one.
macro_rules! locations {
    ($($message:ident)*) => {$(
        impl From<proto::$message::Location> for FileLocation {
            fn from(location: proto::$message::Location) -> Self {
                use proto::$message::Location;

                match location {
                    Location::UploadFileId(id) => Self::UploadFileId(id),
                    Location::ToolFileId(id) => Self::ToolFileId(id),
                    Location::Url(url) => Self::Url(url),
                }
            }
        }

        impl From<FileLocation> for proto::$message::Location {
            fn from(location: FileLocation) -> Self {
                match location {
                    FileLocation::UploadFileId(id) => Self::UploadFileId(id),
                    FileLocation::ToolFileId(id) => Self::ToolFileId(id),
                    FileLocation::Url(url) => Self::Url(url),
                }
            }
        }
    )*};
}

locations! { file_ref file get_file_request delete_file_request }

/// Reads a required kind of file.
fn kind_from(number: i32) -> Result<FileType, Invalid> {
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

impl From<TransferMethod> for proto::TransferMethod {
    fn from(method: TransferMethod) -> Self {
        match method {
            TransferMethod::LocalFile => Self::LocalFile,
            TransferMethod::RemoteUrl => Self::RemoteUrl,
            TransferMethod::ToolFile => Self::ToolFile,
        }
    }
}

impl From<FileRef> for proto::FileRef {
    fn from(file: FileRef) -> Self {
        let FileRef {
            kind,
            location,
            name,
            mime_type,
            size_bytes,
            caption,
            extent:
                FileExtent {
                    width,
                    height,
                    duration_ms,
                    page_count,
                },
        } = file;
        let number = |number: u32| i32::try_from(number).unwrap_or(i32::MAX);
        let duration = Duration::from_millis(duration_ms.into());
        Self {
            width: number(width),
            height: number(height),
            duration: (!duration.is_zero()).then(|| exact_duration(duration)),
            page_count: number(page_count),
            r#type: proto::FileType::from(kind).into(),
            location: Some(location.into()),
            name,
            mime_type,
            size_bytes,
            caption,
            file: None,
            dangling: false,
        }
    }
}

impl From<File> for proto::File {
    fn from(file: File) -> Self {
        let File {
            file:
                NewFile {
                    location,
                    kind,
                    storage_key,
                    name,
                    mime_type,
                    size_bytes,
                },
            created,
            updated,
        } = file;
        Self {
            transfer_method: proto::TransferMethod::from(location.transfer_method()).into(),
            location: Some(location.into()),
            r#type: proto::FileType::from(kind).into(),
            storage_key,
            name,
            mime_type,
            size_bytes,
            create_time: Some(timestamp(created)),
            update_time: Some(timestamp(updated)),
        }
    }
}

/// Reads how images reach a model; unspecified is `None`.
pub(super) fn delivery_from(field: &str, delivery: i32) -> Result<Option<FileDelivery>, Invalid> {
    match proto::FileDelivery::try_from(delivery) {
        Ok(proto::FileDelivery::Unspecified) => Ok(None),
        Ok(proto::FileDelivery::Auto) => Ok(Some(FileDelivery::Auto)),
        Ok(proto::FileDelivery::Url) => Ok(Some(FileDelivery::Url)),
        Ok(proto::FileDelivery::Inline) => Ok(Some(FileDelivery::Inline)),
        Ok(proto::FileDelivery::Text) => Ok(Some(FileDelivery::Text)),
        Err(_) => Err(Invalid::new(
            field,
            "must be FILE_DELIVERY_AUTO, _URL, _INLINE or _TEXT",
        )),
    }
}

/// Reads kinds of files; none are `None`.
pub(super) fn file_types_from(
    field: &str,
    numbers: Vec<i32>,
) -> Result<Option<Vec<FileType>>, Invalid> {
    let mut types = Vec::new();
    for number in numbers {
        let kind = kind_from(number).map_err(|invalid| Invalid {
            field: field.to_owned(),
            ..invalid
        })?;
        if !types.contains(&kind) {
            types.push(kind);
        }
    }
    Ok((!types.is_empty()).then_some(types))
}

/// Reads the detail of images; unspecified is `None`.
pub(super) fn detail_from(field: &str, detail: i32) -> Result<Option<ImageDetail>, Invalid> {
    match proto::ImageDetail::try_from(detail) {
        Ok(proto::ImageDetail::Unspecified) => Ok(None),
        Ok(proto::ImageDetail::Auto) => Ok(Some(ImageDetail::Auto)),
        Ok(proto::ImageDetail::Low) => Ok(Some(ImageDetail::Low)),
        Ok(proto::ImageDetail::High) => Ok(Some(ImageDetail::High)),
        Err(_) => Err(Invalid::new(
            field,
            "must be IMAGE_DETAIL_AUTO, _LOW or _HIGH",
        )),
    }
}

impl From<FileDelivery> for proto::FileDelivery {
    fn from(delivery: FileDelivery) -> Self {
        match delivery {
            FileDelivery::Auto => Self::Auto,
            FileDelivery::Url => Self::Url,
            FileDelivery::Inline => Self::Inline,
            FileDelivery::Text => Self::Text,
        }
    }
}

impl From<ImageDetail> for proto::ImageDetail {
    fn from(detail: ImageDetail) -> Self {
        match detail {
            ImageDetail::Auto => Self::Auto,
            ImageDetail::Low => Self::Low,
            ImageDetail::High => Self::High,
        }
    }
}
