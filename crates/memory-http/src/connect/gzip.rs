//! Compression of bodies and envelopes.

use std::io::{Read as _, Write as _};

use bytes::Bytes;
use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;

/// Shorter messages are sent as they are.
pub(super) const WORTHWHILE: usize = 1_024;

/// Why something cannot be decompressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unzippable {
    /// It is not gzip.
    Broken,
    /// It is longer than allowed.
    TooLong,
}

/// Compresses; `None` if that fails.
pub(crate) fn compress(data: &[u8]) -> Option<Bytes> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(data).ok()?;
    encoder.finish().ok().map(Bytes::from)
}

/// Decompresses to at most `max` bytes.
pub(super) fn decompress(data: &[u8], max: usize) -> Result<Bytes, Unzippable> {
    let mut plain = Vec::new();
    let limit = u64::try_from(max).unwrap_or(u64::MAX).saturating_add(1);
    let mut decoder = MultiGzDecoder::new(data).take(limit);
    decoder
        .read_to_end(&mut plain)
        .map_err(|_| Unzippable::Broken)?;
    match plain.len() > max {
        true => Err(Unzippable::TooLong),
        false => Ok(plain.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decompressing_stops_at_the_limit() {
        let zeros = vec![0; 1_000_000];
        let small = compress(&zeros).unwrap();
        assert!(small.len() < 10_000);
        assert_eq!(decompress(&small, 1_000_000).unwrap(), zeros);
        assert_eq!(decompress(&small, 999_999), Err(Unzippable::TooLong));
        assert_eq!(decompress(b"plain", 10), Err(Unzippable::Broken));
    }
}
