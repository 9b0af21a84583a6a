//! Stores values compressed, and large ones in chunks, each once.
//!
//! Packed bytes begin with a byte that says how: [`PLAIN`] or [`ZSTD`]. A large value
//! is cut at boundaries that its content determines (FastCDC), so that a change moves only the
//! nearest ones, and each chunk is stored once in its thread. The first bytes are stored separately:
//! encodings begin with a length, which differs each time a list grows.

use std::collections::{HashMap, HashSet};

use fastcdc::v2020::FastCDC;
use memory_database::StoreError;
use sha2::{Digest as _, Sha256};
use zstd::bulk::{Compressor, Decompressor};

/// Marks bytes that are stored as they are.
const PLAIN: u8 = 0;
/// Marks compressed bytes.
const ZSTD: u8 = 1;
/// zstd's own default.
const LEVEL: i32 = 3;
/// Bytes of the largest value that is not cut.
const UNCUT_BYTES: usize = 1_024;
/// Bytes of a cut value that are kept apart from its chunks.
const HEAD_BYTES: usize = 8;
/// Bytes of a digest. Within one thread, 128 bits are as good as unique.
const DIGEST_BYTES: usize = 16;
const BROKEN: &str = "its bytes cannot be decompressed";

/// Values as the columns of a query.
#[derive(Debug, Default)]
pub(super) struct Packed {
    pub(super) sizes: Vec<i64>,
    /// The values, or their beginnings.
    pub(super) data: Vec<Vec<u8>>,
    /// The number of chunks of each.
    pub(super) chunk_counts: Vec<i32>,
    /// The hashes of the chunks of all values in order.
    pub(super) hashes: Vec<Vec<u8>>,
    /// The hash of each different chunk.
    pub(super) chunks: Vec<Vec<u8>>,
    /// The chunks, packed.
    pub(super) contents: Vec<Vec<u8>>,
}

impl Packed {
    pub(super) fn of<'a>(values: impl Iterator<Item = &'a [u8]>) -> Self {
        let mut packed = Self::default();
        let mut packer = Packer::new();
        let mut known = HashSet::new();
        for value in values {
            packed
                .sizes
                .push(i64::try_from(value.len()).unwrap_or(i64::MAX));
            if value.len() <= UNCUT_BYTES {
                packed.data.push(packer.pack(value));
                packed.chunk_counts.push(0);
                continue;
            }
            let (head, rest) = value.split_at(HEAD_BYTES);
            packed.data.push(packer.pack(head));
            let mut count = 0;
            for chunk in chunks(rest) {
                let hash = digest(&[chunk]);
                if known.insert(hash.clone()) {
                    packed.chunks.push(hash.clone());
                    packed.contents.push(packer.pack(chunk));
                }
                packed.hashes.push(hash);
                count += 1;
            }
            packed.chunk_counts.push(count);
        }
        packed
    }
}

/// Cuts a value into chunks. A larger value has larger ones, so that the lists of their hashes
/// grow with the square root of its size. The sizes are powers of two apart, so that a growing
/// value is seldom cut anew.
fn chunks(value: &[u8]) -> impl Iterator<Item = &[u8]> {
    let average = match value.len() {
        0..=65_536 => 1_024,
        65_537..=262_144 => 2_048,
        262_145..=1_048_576 => 4_096,
        _ => 8_192,
    };
    FastCDC::new(value, average / 4, average, average * 8)
        .map(|chunk| &value[chunk.offset..chunk.offset + chunk.length])
}

/// Packs byte strings. It keeps what zstd needs for the next one.
struct Packer(Option<Compressor<'static>>);

impl Packer {
    fn new() -> Self {
        Self(Compressor::new(LEVEL).ok())
    }

    /// Compresses bytes where that makes them smaller.
    fn pack(&mut self, bytes: &[u8]) -> Vec<u8> {
        let compressed = match (&mut self.0, bytes.len()) {
            (Some(zstd), 64..) => zstd.compress(bytes).ok(),
            _ => None,
        };
        let (mark, body) = match &compressed {
            Some(smaller) if smaller.len() < bytes.len() => (ZSTD, smaller.as_slice()),
            _ => (PLAIN, bytes),
        };
        [&[mark], body].concat()
    }
}

/// Compresses bytes where that makes them smaller.
pub(super) fn pack(bytes: &[u8]) -> Vec<u8> {
    Packer::new().pack(bytes)
}

/// Unpacks values whose chunks are known; each chunk is unpacked once.
pub(super) struct Unpacker {
    zstd: Decompressor<'static>,
    chunks: HashMap<Vec<u8>, Vec<u8>>,
}

impl Unpacker {
    pub(super) fn new() -> Result<Self, StoreError> {
        Ok(Self {
            zstd: Decompressor::new().map_err(|_| corrupt(BROKEN))?,
            chunks: HashMap::new(),
        })
    }

    /// Adds a chunk by its hash.
    pub(super) fn add_chunk(&mut self, hash: &[u8], packed: &[u8]) -> Result<(), StoreError> {
        let mut bytes = Vec::new();
        self.unpack(packed, &mut bytes)?;
        self.chunks.insert(hash.to_vec(), bytes);
        Ok(())
    }

    /// The bytes of a value: first its packed bytes, or those it begins with, then the hashes of
    /// the chunks that follow.
    pub(super) fn value(&mut self, parts: &[&[u8]]) -> Result<Vec<u8>, StoreError> {
        let (packed, hashes) = parts.split_first().ok_or_else(|| corrupt(BROKEN))?;
        let mut bytes = Vec::new();
        self.unpack(packed, &mut bytes)?;
        let chunk = |hash: &&[u8]| self.chunks.get(*hash);
        let chunks: Option<Vec<&Vec<u8>>> = hashes.iter().map(chunk).collect();
        let chunks = chunks.ok_or_else(|| corrupt("a part of its bytes is missing"))?;
        bytes.reserve_exact(chunks.iter().map(|chunk| chunk.len()).sum());
        for chunk in chunks {
            bytes.extend_from_slice(chunk);
        }
        Ok(bytes)
    }

    fn unpack(&mut self, packed: &[u8], into: &mut Vec<u8>) -> Result<(), StoreError> {
        match packed.split_first() {
            Some((&PLAIN, body)) => into.extend_from_slice(body),
            Some((&ZSTD, body)) => {
                let length = Decompressor::upper_bound(body).ok_or_else(|| corrupt(BROKEN))?;
                let unpacked = self.zstd.decompress(body, length);
                into.append(&mut unpacked.map_err(|_| corrupt(BROKEN))?);
            }
            _ => return Err(corrupt("its bytes are packed in an unknown way")),
        }
        Ok(())
    }
}

fn corrupt(why: &str) -> StoreError {
    StoreError::Corrupt {
        what: "checkpoint",
        why: why.to_owned(),
    }
}

/// A digest of several byte strings.
pub(super) fn digest(texts: &[&[u8]]) -> Vec<u8> {
    let mut hasher = Sha256::new();
    for text in texts {
        hasher.update((text.len() as u64).to_be_bytes());
        hasher.update(text);
    }
    hasher.finalize()[..DIGEST_BYTES].to_vec()
}

#[cfg(test)]
mod tests;
