//! Compresses large objects, and decompresses them within a size limit.

use std::io::{self, Read as _};

/// How a zstd frame begins: RFC 8878, 3.1.1.
const MAGIC: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// zstd's own default: fast, and a third of the size for text.
const LEVEL: i32 = 3;

/// Compresses what is larger than `above` bytes.
pub fn pack(json: Vec<u8>, above: usize) -> io::Result<Vec<u8>> {
    if json.len() <= above {
        return Ok(json);
    }
    zstd::encode_all(json.as_slice(), LEVEL)
}

/// Takes both forms. What would be larger than `limit` bytes is refused before
/// it is in memory.
///
/// # Errors
/// What is wrong with it, without any content.
pub fn unpack(bytes: &[u8], limit: usize) -> Result<Vec<u8>, String> {
    let too_large = || format!("is larger than {limit} bytes");
    if !bytes.starts_with(&MAGIC) {
        return if bytes.len() > limit {
            Err(too_large())
        } else {
            Ok(bytes.to_vec())
        };
    }
    let mut json = Vec::new();
    let bound = u64::try_from(limit).unwrap_or(u64::MAX).saturating_add(1);
    zstd::Decoder::with_buffer(bytes)
        .and_then(|decoder| decoder.take(bound).read_to_end(&mut json))
        .map_err(|_| "is not valid zstd".to_owned())?;
    if json.len() > limit {
        return Err(too_large());
    }
    Ok(json)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_come_back() {
        let json = br#"{"version":1,"messages":[]}"#.repeat(100);
        for above in [0, json.len() - 1, json.len()] {
            let packed = pack(json.clone(), above).unwrap();
            assert_eq!(packed.starts_with(&MAGIC), above < json.len());
            assert_eq!(unpack(&packed, json.len()).unwrap(), json);
            assert!(unpack(&packed, json.len() - 1).is_err());
        }
    }

    #[test]
    fn a_bomb_is_refused_by_its_size() {
        let bomb = zstd::encode_all(io::repeat(0).take(64 << 20), LEVEL).unwrap();
        assert!(bomb.len() < 1 << 20);
        assert_eq!(
            unpack(&bomb, 1_000).unwrap_err(),
            "is larger than 1000 bytes"
        );
    }

    #[test]
    fn truncated_data_is_not_valid_zstd() {
        let mut packed = pack(b"x".repeat(1_000), 0).unwrap();
        packed.truncate(packed.len() - 3);
        assert_eq!(unpack(&packed, 10_000).unwrap_err(), "is not valid zstd");
    }
}
