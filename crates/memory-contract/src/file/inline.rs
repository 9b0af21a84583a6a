//! Content that a message carries itself, in a `data:` URL (RFC 2397), and the names under
//! which it is stored: `ni:` URLs (RFC 6920), which contain its SHA-256.

use std::fmt::{self, Debug, Display, Formatter};

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use sha2::{Digest as _, Sha256};

use super::{FileExtent, FileType};

/// How names of stored content begin.
const NAME: &str = "ni:///sha-256;";

/// The SHA-256 of content.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentDigest([u8; 32]);

/// The content of a `data:` URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InlineContent {
    /// The media type, such as `image/png`, without parameters.
    pub mime_type: String,
    /// The content itself.
    pub bytes: Vec<u8>,
}

impl ContentDigest {
    /// The digest of content.
    pub fn of(bytes: &[u8]) -> Self {
        Self(Sha256::digest(bytes).into())
    }

    /// The digest in a URL that names stored content; `None` for another URL.
    pub fn from_url(url: &str) -> Option<Self> {
        let digest = BASE64_URL_SAFE_NO_PAD
            .decode(url.strip_prefix(NAME)?)
            .ok()?;
        digest.try_into().ok().map(Self)
    }

    /// The digest of these bytes of a row; `None` if they are not 32.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// The digest itself.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// The URL that names the content: `ni:///sha-256;` and the digest in base64url.
    pub fn url(&self) -> String {
        format!("{NAME}{}", BASE64_URL_SAFE_NO_PAD.encode(self.0))
    }
}

/// In hexadecimal.
impl Display for ContentDigest {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl Debug for ContentDigest {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        Display::fmt(self, f)
    }
}

impl InlineContent {
    /// Reads a `data:` URL; `None` for another URL, and for one that is malformed.
    pub fn from_url(url: &str) -> Option<Self> {
        let (head, data) = split(url)?;
        let (media, bytes) = match head.strip_suffix(";base64") {
            Some(media) => (media, BASE64_STANDARD.decode(data.trim()).ok()?),
            None => (head, percent_decoded(data)?),
        };
        let mime_type = match media.split(';').next().unwrap_or_default() {
            "" => "text/plain".to_owned(),
            mime_type if is_media_type(mime_type) => mime_type.to_ascii_lowercase(),
            _ => "application/octet-stream".to_owned(),
        };
        Some(Self { mime_type, bytes })
    }

    /// The `data:` URL of the content, in base64.
    pub fn url(&self) -> String {
        let Self { mime_type, bytes } = self;
        format!("data:{mime_type};base64,{}", BASE64_STANDARD.encode(bytes))
    }

    /// The media type of an image that providers take, by its bytes; `None` for other
    /// content.
    pub fn image_type(bytes: &[u8]) -> Option<&'static str> {
        match imagesize::image_type(bytes).ok()? {
            imagesize::ImageType::Gif => Some("image/gif"),
            imagesize::ImageType::Jpeg => Some("image/jpeg"),
            imagesize::ImageType::Png => Some("image/png"),
            imagesize::ImageType::Webp => Some("image/webp"),
            _ => None,
        }
    }

    /// How large the content is, where its bytes say so: width and height of a PNG, JPEG, GIF
    /// or WebP image.
    pub fn extent(&self, kind: FileType) -> FileExtent {
        let size = match kind {
            FileType::Image => imagesize::blob_size(&self.bytes).ok(),
            FileType::Audio | FileType::Video | FileType::Document | FileType::Custom => None,
        };
        let pixels = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        size.map_or_else(FileExtent::default, |size| FileExtent {
            width: pixels(size.width),
            height: pixels(size.height),
            ..FileExtent::default()
        })
    }
}

/// Whether a URL contains the content itself.
pub fn is_inline(url: &str) -> bool {
    split(url).is_some()
}

/// Whether this is a type and a subtype, as HTTP headers take them (RFC 9110): tokens of
/// together at most 255 characters.
fn is_media_type(text: &str) -> bool {
    let is_token = |part: &str| {
        let special = |byte| b"!#$%&'*+-.^_`|~".contains(&byte);
        let is_allowed = |byte: u8| byte.is_ascii_alphanumeric() || special(byte);
        !part.is_empty() && part.bytes().all(is_allowed)
    };
    text.len() <= 255
        && text
            .split_once('/')
            .is_some_and(|(kind, subtype)| is_token(kind) && is_token(subtype))
}

/// Media type with parameters, and data of a `data:` URL.
fn split(url: &str) -> Option<(&str, &str)> {
    let scheme = url.get(..5)?;
    scheme
        .eq_ignore_ascii_case("data:")
        .then(|| url[5..].split_once(','))?
}

fn percent_decoded(text: &str) -> Option<Vec<u8>> {
    let mut bytes = text.bytes();
    let mut decoded = Vec::with_capacity(text.len());
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'%' => {
                let mut digit = || char::from(bytes.next()?).to_digit(16);
                let (high, low) = (digit()?, digit()?);
                u8::try_from(16 * high + low).ok()?
            }
            byte => byte,
        });
    }
    Some(decoded)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A PNG image of 1 × 1 pixels.
    const PIXEL: &str = "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

    #[test]
    fn content_in_a_url_comes_back() {
        let content = InlineContent::from_url(PIXEL).unwrap();
        assert_eq!(content.mime_type, "image/png");
        assert_eq!(content.url(), PIXEL);
        let extent = content.extent(FileType::Image);
        assert_eq!((extent.width, extent.height), (1, 1));
        assert!(content.extent(FileType::Document).is_unknown());
        assert_eq!(InlineContent::image_type(&content.bytes), Some("image/png"));
        assert_eq!(InlineContent::image_type(b"<svg/>"), None);
    }

    #[test]
    fn urls_are_read_in_all_their_forms() {
        for (url, mime_type, bytes) in [
            ("data:,a%20b", "text/plain", &b"a b"[..]),
            ("data:text/html;charset=utf-8,<p>", "text/html", b"<p>"),
            ("DATA:Image/PNG;base64,AAE=", "image/png", &[0, 1]),
            ("data:;base64,", "text/plain", b""),
        ] {
            let content = InlineContent::from_url(url).unwrap();
            assert_eq!(
                (&*content.mime_type, &*content.bytes),
                (mime_type, bytes),
                "{url}"
            );
            assert!(is_inline(url), "{url}");
        }
        for url in [
            "https://a.org/,",
            "data:image/png",
            "data:;base64,%%",
            "data:,%4",
            "",
            "datä:,",
        ] {
            assert_eq!(InlineContent::from_url(url), None, "{url}");
        }
    }

    #[test]
    fn a_malformed_media_type_is_replaced() {
        let long = format!("image/{}", "x".repeat(250));
        for media in [
            "image",
            "image/",
            "/png",
            "a/b/c",
            "image/p ng",
            "x/é",
            "a/b\r\nX: y",
            &long,
        ] {
            let content = InlineContent::from_url(&format!("data:{media};base64,AAE=")).unwrap();
            assert_eq!(content.mime_type, "application/octet-stream", "{media}");
            assert_eq!(content.bytes, [0, 1]);
        }
        let content = InlineContent::from_url("data:image/svg+xml;a=b,x").unwrap();
        assert_eq!(content.mime_type, "image/svg+xml");
    }

    #[test]
    fn names_contain_the_digest() {
        let digest = ContentDigest::of(b"Hello World!");
        // The example of RFC 6920.
        assert_eq!(
            digest.url(),
            "ni:///sha-256;f4OxZX_x_FO5LcGBSKHWXfwtSx-j1ncoSt3SABJtkGk"
        );
        assert_eq!(ContentDigest::from_url(&digest.url()), Some(digest));
        for url in ["ni:///sha-256;f4Ox", "ni:///sha-512;AA", "https://a.org"] {
            assert_eq!(ContentDigest::from_url(url), None, "{url}");
        }
    }
}
