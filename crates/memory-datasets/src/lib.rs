#![doc = include_str!("../README.md")]

mod beam;
mod dialogue;
mod realmem;
mod shape;
mod xquad;

use std::{
    fs,
    path::{Path, PathBuf},
};

pub use shape::{Conversation, Failure, Question, evidence_id, text_of};

/// The directory of the conversations to use: `dir`, or else the example of memory-bench.
///
/// # Errors
/// No directory was named, and the working directory lacks the example.
pub fn dir_or_example(dir: Option<&PathBuf>) -> Result<PathBuf, Failure> {
    if let Some(dir) = dir {
        return Ok(dir.clone());
    }
    let example = PathBuf::from("crates/memory-bench/example");
    match example.is_dir() {
        true => Ok(example),
        false => Err("no conversations to use: name a directory with --conversations".into()),
    }
}

/// Reads the conversations of a directory's `*.json`, in order of name.
///
/// # Errors
/// A file that cannot be read, with its path, or a directory without one.
pub fn read_all(dir: &Path) -> Result<Vec<Conversation>, Failure> {
    let entries = fs::read_dir(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    let mut files: Vec<PathBuf> = entries
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_, std::io::Error>>()?;
    files.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "json")
            && !beam::has_questions(path)
    });
    files.sort();
    if files.is_empty() {
        return Err(format!("{}: has no *.json conversations", dir.display()).into());
    }
    let mut conversations = files
        .iter()
        .map(|path| {
            read(path).map_err(|error| Failure::from(format!("{}: {error}", path.display())))
        })
        .collect::<Result<Vec<_>, Failure>>()?;
    xquad::ask_across_languages(&mut conversations);
    Ok(conversations)
}

fn read(path: &Path) -> Result<Conversation, Failure> {
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    let file: serde_json::Value = serde_json::from_str(&fs::read_to_string(path)?)?;
    if beam::is_beam(&file) {
        beam::read(&name, file, path)
    } else if realmem::is_realmem(&file) {
        realmem::parse(&name, file)
    } else if xquad::is_xquad(&file) {
        xquad::parse(&name, file)
    } else if dialogue::is_dialogue(&file) {
        dialogue::parse(&name, &file)
    } else {
        Err("is no conversation in the format of LoCoMo, REALTALK, BEAM, RealMem or XQuAD".into())
    }
}
