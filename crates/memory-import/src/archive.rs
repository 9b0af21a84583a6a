//! The files of an export: of a folder, or of a zip archive.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use flate2::bufread::MultiGzDecoder;
use zip::ZipArchive;

/// Folders within each other that are looked into: an export has its channels in folders, and
/// is unpacked into one.
const DEPTH: usize = 3;

/// The files of an export.
pub(crate) enum Archive {
    /// A folder.
    Folder(PathBuf),
    /// A zip archive.
    Zip(Box<ZipArchive<File>>),
}

impl Archive {
    /// # Errors
    /// The file is no zip archive, or a broken one.
    pub(crate) fn zip(file: File) -> Result<Self, String> {
        let archive = ZipArchive::new(file);
        let archive =
            archive.map_err(|error| format!("the zip archive cannot be read: {error}"))?;
        Ok(Self::Zip(Box::new(archive)))
    }

    /// What it is, in words.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Folder(_) => "folder",
            Self::Zip(_) => "zip archive",
        }
    }

    /// The names of its files in order, with `/` between folders.
    ///
    /// # Errors
    /// A folder cannot be read.
    pub(crate) fn names(&self) -> Result<Vec<String>, String> {
        let mut names = match self {
            Self::Folder(folder) => {
                let mut names = Vec::new();
                list(folder, "", DEPTH, &mut names)?;
                names
            }
            Self::Zip(archive) => {
                let names = archive.file_names();
                let names = names.map(|name| name.map(std::borrow::Cow::into_owned));
                let names: Result<_, _> = names.collect();
                names.map_err(|error| format!("the zip archive cannot be read: {error}"))?
            }
        };
        names.retain(|name| !name.ends_with('/') && !name.starts_with("__MACOSX/"));
        names.sort();
        Ok(names)
    }

    /// Opens a file, and decompresses it if its name ends with `.gz`.
    ///
    /// # Errors
    /// It cannot be opened.
    pub(crate) fn open(&mut self, name: &str) -> Result<Box<dyn BufRead + '_>, String> {
        let problem = |error: String| format!("it cannot be opened: {error}");
        let content: Box<dyn BufRead + '_> = match self {
            Self::Folder(folder) => {
                let file = File::open(folder.join(name));
                let file = file.map_err(|error| problem(error.to_string()))?;
                Box::new(BufReader::new(file))
            }
            Self::Zip(archive) => {
                let file = archive.by_name(name);
                let file = file.map_err(|error| problem(error.to_string()))?;
                Box::new(BufReader::new(file))
            }
        };
        Ok(match name.ends_with(".gz") {
            true => Box::new(BufReader::new(MultiGzDecoder::new(content))),
            false => content,
        })
    }
}

fn list(folder: &Path, prefix: &str, depth: usize, names: &mut Vec<String>) -> Result<(), String> {
    let problem = |error: std::io::Error| format!("the folder cannot be read: {error}");
    for entry in fs::read_dir(folder).map_err(problem)? {
        let entry = entry.map_err(problem)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}{name}");
        // Links are not followed.
        let kind = entry.file_type().map_err(problem)?;
        if kind.is_file() {
            names.push(path);
        } else if kind.is_dir() && depth > 1 && !name.starts_with('.') {
            list(&entry.path(), &format!("{path}/"), depth - 1, names)?;
        }
    }
    Ok(())
}
