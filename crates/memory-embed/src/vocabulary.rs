//! A model's vocabulary, and a copy of it that is read in a quarter of the time.
//!
//! The 250,000 words of a model of a hundred languages take half a second to read from
//! `tokenizer.json`. The first process that reads them writes them beside it in kitoken's own
//! format.

use std::fs;
use std::path::Path;

use kitoken::Kitoken;
use sha2::{Digest as _, Sha256};

/// Any error of ONNX Runtime or of the tokenizer.
pub(crate) type Error = Box<dyn std::error::Error + Send + Sync>;

/// The copy: a SHA-256 of this program's version, of `tokenizer.json` and of the rest, then the rest.
const COPY: &str = "tokenizer.kitoken";
const DIGEST_BYTES: usize = 32;

/// Reads the vocabulary of the model in a directory. A copy that is missing, damaged, of another
/// `tokenizer.json` or of another version of this program is written anew; where that fails, the next
/// process tries again.
pub(crate) fn read(directory: &Path) -> Result<Kitoken, Error> {
    let original = fs::read(directory.join("tokenizer.json"))?;
    let path = directory.join(COPY);
    if let Some(vocabulary) = fs::read(&path)
        .ok()
        .and_then(|copy| of_copy(&original, &copy))
    {
        return Ok(vocabulary);
    }
    let vocabulary = Kitoken::from_tokenizers_slice(&original)?;
    let body = vocabulary.to_vec();
    let copy = [&digest(&original, &body)[..], &body].concat();
    if let Err(error) = write(&path, &copy) {
        tracing::debug!(%error, "the vocabulary was not copied");
    }
    Ok(vocabulary)
}

fn of_copy(original: &[u8], copy: &[u8]) -> Option<Kitoken> {
    let (written, body) = copy.split_at_checked(DIGEST_BYTES)?;
    if written != digest(original, body) {
        return None;
    }
    Kitoken::from_slice(body).ok()
}

fn digest(original: &[u8], body: &[u8]) -> [u8; DIGEST_BYTES] {
    // Another version may read the original differently, or write another format.
    Sha256::new()
        .chain_update(env!("CARGO_PKG_VERSION"))
        .chain_update(original)
        .chain_update(body)
        .finalize()
        .into()
}

/// Writes a file that others see whole or not at all.
fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let part = path.with_extension(format!("{}.part", std::process::id()));
    let written = fs::write(&part, bytes).and_then(|()| fs::rename(&part, path));
    if written.is_err() {
        let _ = fs::remove_file(&part);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A vocabulary of a few words.
    const ORIGINAL: &str = r###"{"version":"1.0","truncation":null,"padding":null,"added_tokens":[{"id":0,"content":"?","single_word":false,
        "lstrip":false,"rstrip":false,"normalized":false,"special":true}],
        "normalizer":null,"pre_tokenizer":{"type":"Whitespace"},"post_processor":null,"decoder":null,
        "model":{"type":"WordPiece","unk_token":"?","continuing_subword_prefix":"##",
        "max_input_chars_per_word":100,"vocab":{"?":0,"boat":1,"house":2}}}"###;

    fn directory(original: &str) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("tokenizer.json"), original).unwrap();
        directory
    }

    fn boat(directory: &Path) -> Vec<u32> {
        read(directory).unwrap().encode("boat", false).unwrap()
    }

    #[test]
    fn a_copy_reads_like_the_original() {
        let directory = directory(ORIGINAL);
        let first = boat(directory.path());
        assert_eq!(first, [1]);
        let copy = fs::read(directory.path().join(COPY)).unwrap();
        assert!(
            of_copy(
                &fs::read(directory.path().join("tokenizer.json")).unwrap(),
                &copy
            )
            .is_some()
        );
        assert_eq!(boat(directory.path()), first);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 2);
    }

    #[test]
    fn a_copy_that_is_damaged_or_of_another_vocabulary_is_written_anew() {
        let directory = directory(ORIGINAL);
        let path = directory.path().join(COPY);
        boat(directory.path());
        let good = fs::read(&path).unwrap();
        let mut damaged = good.clone();
        *damaged.last_mut().unwrap() ^= 1;
        for bad in [&damaged[..], &good[..10], b""] {
            fs::write(&path, bad).unwrap();
            assert_eq!(boat(directory.path()), [1]);
            assert_eq!(fs::read(&path).unwrap(), good);
        }
        let other = ORIGINAL.replace(r#""boat":1,"house":2"#, r#""house":1,"boat":2"#);
        fs::write(directory.path().join("tokenizer.json"), other).unwrap();
        assert_eq!(boat(directory.path()), [2]);
        assert_ne!(fs::read(&path).unwrap(), good);
    }

    #[test]
    fn a_directory_that_cannot_be_written_to_is_enough() {
        let directory = directory(ORIGINAL);
        // No file can take this place.
        fs::create_dir_all(directory.path().join(COPY).join("taken")).unwrap();
        assert_eq!(boat(directory.path()), [1]);
    }
}
