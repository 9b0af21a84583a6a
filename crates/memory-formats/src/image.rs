//! Images at URLs and in `data:` URLs.

use memory_contract::{
    file::{InlineContent, is_inline},
    proto,
};

/// A reference to an image at a URL.
pub(crate) fn image(url: String) -> proto::FileRef {
    proto::FileRef {
        r#type: proto::FileType::Image.into(),
        location: Some(proto::file_ref::Location::Url(url)),
        ..Default::default()
    }
}

/// Whether a URL is one that Recollect keeps as a reference: on the web, or a `data:` URL
/// with the content itself. Others stay in opaque parts.
pub(crate) fn is_reference(url: &str) -> bool {
    url.starts_with("https://") || url.starts_with("http://") || is_inline(url)
}

/// An image in base64 as a `data:` URL; `None` for other content, and for text that is not
/// base64.
pub(crate) fn data_url(mime_type: &str, base64: &str) -> Option<String> {
    let url = format!("data:{mime_type};base64,{base64}");
    let is_image = mime_type.starts_with("image/") && InlineContent::from_url(&url).is_some();
    is_image.then_some(url)
}

/// Media type and base64 of a `data:` URL in base64.
pub(crate) fn base64_of(url: &str) -> Option<(&str, &str)> {
    let (head, data) = url.strip_prefix("data:")?.split_once(',')?;
    Some((head.strip_suffix(";base64")?.split(';').next()?, data))
}
