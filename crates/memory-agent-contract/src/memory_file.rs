//! Text files of agents.
//!
//! Each is a document of its user: the directories of its path are the namespace, below a label of
//! Recollect's own, and its name is the key. The texts that it had are documents in a namespace of
//! its id, which a rename leaves.

use std::fmt;

use memory_contract::{Invalid, limits};
use time::OffsetDateTime;

use crate::document::DocumentName;

/// What the first label of each namespace of Recollect's own begins with.
pub const RESERVED: &str = "recollect.";
/// The first label of the namespaces of files.
pub const FILES: &str = "recollect.files";
/// The first label of the namespaces of what is left of deleted files.
pub const DELETED_FILES: &str = "recollect.deleted_files";
/// The first label of the namespaces of versions.
pub const FILE_VERSIONS: &str = "recollect.file_versions";

/// The path of a file or a directory: the names of directories, and its own. The root has none.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FilePath(Vec<String>);

impl FilePath {
    /// Reads a path, such as `/projects/garden.md`; `/` is the root.
    ///
    /// # Errors
    /// A path that is not absolute, has an empty name, `.` or `..`, a backslash or a control
    /// character in it, or is over a limit.
    pub fn parse(field: &str, path: &str) -> Result<Self, Invalid> {
        let wrong = |problem: String| Err(Invalid::new(field, problem));
        let Some(names) = path.strip_prefix('/') else {
            return wrong("is required: an absolute path, such as /projects/garden.md".to_owned());
        };
        if names.is_empty() {
            return Ok(Self::default());
        }
        if path.len() > limits::MEMORY_FILE_PATH_BYTES {
            return wrong(format!(
                "must have at most {} bytes",
                limits::MEMORY_FILE_PATH_BYTES
            ));
        }
        let names: Vec<&str> = names.split('/').collect();
        if names.len() > limits::MEMORY_FILE_NAMES {
            return wrong(format!(
                "must have at most {} names",
                limits::MEMORY_FILE_NAMES
            ));
        }
        let is_wrong = |name: &&str| {
            name.is_empty()
                || name.len() > limits::MEMORY_FILE_NAME_BYTES
                || [".", ".."].contains(name)
        };
        if names.iter().any(is_wrong) {
            return wrong(format!(
                "must have names of 1 to {} bytes, none of them `.` or `..`, after single slashes",
                limits::MEMORY_FILE_NAME_BYTES
            ));
        }
        if path.contains(|c: char| c == '\\' || c.is_control()) {
            return wrong("must not contain backslashes or control characters".to_owned());
        }
        Ok(Self(names.into_iter().map(str::to_owned).collect()))
    }

    /// Reads the path of a file, which is not the root.
    ///
    /// # Errors
    /// As [`FilePath::parse`].
    pub fn parse_file(field: &str, path: &str) -> Result<Self, Invalid> {
        let parsed = Self::parse(field, path)?;
        match parsed.is_root() {
            true => Err(Invalid::new(
                field,
                "must have a name after the first slash",
            )),
            false => Ok(parsed),
        }
    }

    /// The path of a document in a namespace of files, or of deleted ones.
    pub fn of_document(name: &DocumentName) -> Self {
        let directories = name.namespace.iter().skip(1);
        Self(directories.chain([&name.key]).cloned().collect())
    }

    /// The names, the outermost first.
    pub fn names(&self) -> &[String] {
        &self.0
    }

    /// Whether it is the root.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// The names below a directory, of a path in it.
    pub fn below(&self, directory: &Self) -> Option<&[String]> {
        self.0.strip_prefix(directory.0.as_slice())
    }

    /// The path with further names after it.
    #[must_use]
    pub fn join(&self, names: &[String]) -> Self {
        Self([self.0.as_slice(), names].concat())
    }

    /// Whether it is within the limits, as those that were read are.
    pub fn fits(&self) -> bool {
        let bytes: usize = self.0.iter().map(|name| name.len() + 1).sum();
        self.0.len() <= limits::MEMORY_FILE_NAMES && bytes <= limits::MEMORY_FILE_PATH_BYTES
    }

    /// The namespace below a label that has what is in this directory.
    pub fn namespace(&self, label: &str) -> Vec<String> {
        let mut namespace = vec![label.to_owned()];
        namespace.extend_from_slice(&self.0);
        namespace
    }

    /// The name of the document below a label. The root has none, and gets an empty key.
    pub fn document(&self, label: &str) -> DocumentName {
        let (key, directories) = match self.0.split_last() {
            Some((key, directories)) => (key.clone(), directories),
            None => (String::new(), &[] as &[String]),
        };
        let mut namespace = vec![label.to_owned()];
        namespace.extend_from_slice(directories);
        DocumentName { namespace, key }
    }
}

impl fmt::Display for FilePath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}", self.0.join("/"))
    }
}

/// A stored file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryFile {
    /// Where it is.
    pub path: FilePath,
    /// What stays when it is renamed.
    pub id: String,
    /// The number of the version.
    pub version: i64,
    /// The text.
    pub text: String,
    /// When it was created; `None` for an earlier version.
    pub created: Option<OffsetDateTime>,
    /// When the text was last changed; `None` for an earlier version.
    pub updated: Option<OffsetDateTime>,
}

impl MemoryFile {
    /// What identifies this version of this file.
    pub fn etag(&self) -> String {
        format!("{}.{}", self.id, self.version)
    }
}

/// Lines of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileLines {
    /// The number of the first, from 1.
    pub first: usize,
    /// The lines with their line breaks.
    pub text: String,
}

impl FileLines {
    /// The lines of a text from one number to another, both from 1 and included, as far as there
    /// are.
    pub fn of(text: &str, first: usize, last: usize) -> Self {
        let first = first.max(1);
        let lines = text.split_inclusive('\n').skip(first - 1);
        Self {
            first,
            text: lines
                .take(last.saturating_add(1).saturating_sub(first))
                .collect(),
        }
    }
}

/// A change of a file's text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileEdit {
    /// The whole text; a file that does not exist is created.
    Put {
        /// The text.
        text: String,
    },
    /// A text in the place of one that occurs once.
    Replace {
        /// The text that occurs once.
        old: String,
        /// The text in its place.
        new: String,
    },
    /// Lines after a line.
    Insert {
        /// The number of the line; 0: the beginning.
        line: usize,
        /// The lines.
        text: String,
    },
    /// The text of a version.
    Restore {
        /// The number of the version; `None`: the newest one.
        version: Option<i64>,
    },
}

impl FileEdit {
    /// How a version came about, as it is stored.
    pub fn change(&self) -> &'static str {
        match self {
            Self::Put { .. } => "put",
            Self::Replace { .. } => "replace",
            Self::Insert { .. } => "insert",
            Self::Restore { .. } => "restore",
        }
    }

    /// Whether a text is one of those that [`FileEdit::change`] returns.
    pub fn is_change(text: &str) -> bool {
        ["put", "replace", "insert", "restore"].contains(&text)
    }

    /// The action that the audit log records.
    pub fn action(&self) -> &'static str {
        match self {
            Self::Put { .. } => "put_memory_file",
            Self::Replace { .. } => "replace_in_memory_file",
            Self::Insert { .. } => "insert_into_memory_file",
            Self::Restore { .. } => "restore_memory_file",
        }
    }
}

/// A version of a file, without its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileVersion {
    /// The number.
    pub version: i64,
    /// How it came about, as [`FileEdit::change`] says.
    pub change: String,
    /// Bytes of the text.
    pub bytes: i64,
    /// When it came about.
    pub created: OffsetDateTime,
    /// When it is erased, because the file was deleted.
    pub expires: Option<OffsetDateTime>,
}

/// The number of lines of a text. A line break at its end begins no line.
pub fn line_count(text: &str) -> usize {
    text.split_inclusive('\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_nowhere_else() {
        let parse = |path: &str| FilePath::parse("path", path).map(|path| path.to_string());
        for path in [
            "/",
            "/a",
            "/projects/garden.md",
            "/.hidden",
            "/%2e%2e/a",
            "/ é/…",
            "/..a",
        ] {
            assert_eq!(parse(path).as_deref(), Ok(path));
        }
        let long = format!("/{}", "a".repeat(257));
        let deep = "/d".repeat(16);
        let many = format!("/{}", ["a".repeat(250).as_str(); 4].join("/"));
        for path in [
            "",
            "a",
            "./a",
            "//a",
            "/a/",
            "/a//b",
            "/.",
            "/..",
            "/a/../b",
            "/a/./b",
            "/..\\a",
            "/a\0b",
            "/a\nb",
            "/a\u{85}b",
            &long,
            &deep,
            &many,
        ] {
            assert!(parse(path).is_err(), "{path:?}");
        }
        assert!(FilePath::parse_file("path", "/").is_err());
        assert!(parse(&"/d".repeat(15)).is_ok());
    }

    #[test]
    fn a_document_has_the_path_in_its_name() {
        let path = FilePath::parse("path", "/projects/2026/garden.md").unwrap();
        let name = path.document(FILES);
        assert_eq!(name.namespace, [FILES, "projects", "2026"]);
        assert_eq!(name.key, "garden.md");
        assert_eq!(FilePath::of_document(&name), path);
        let directory = FilePath::parse("path", "/projects").unwrap();
        assert_eq!(path.below(&directory).unwrap(), ["2026", "garden.md"]);
        assert_eq!(directory.below(&path), None);
    }

    #[test]
    fn lines_are_counted_and_cut_with_their_breaks() {
        assert_eq!(line_count(""), 0);
        assert_eq!(line_count("a"), 1);
        assert_eq!(line_count("a\n"), 1);
        assert_eq!(line_count("a\n\nb"), 3);
        let lines = |first, last| FileLines::of("a\nb\nc", first, last);
        assert_eq!(lines(2, 3).text, "b\nc");
        assert_eq!(lines(1, 1).text, "a\n");
        assert_eq!(lines(0, 2).first, 1);
        assert_eq!(lines(4, 9).text, "");
        assert_eq!(lines(2, 1).text, "");
    }
}
