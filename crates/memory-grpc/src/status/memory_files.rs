//! The statuses of errors of files of agents.

use memory_contract::proto::ErrorReason;
use memory_contract::{Invalid, limits};
use memory_store::MemoryFileError;
use tonic::Code;

use super::Answer;

impl Answer {
    /// What goes wrong with files of agents alone.
    pub(super) fn memory_file(error: &MemoryFileError) -> Self {
        let not_found =
            |message: &str| Self::new(Code::NotFound, ErrorReason::MemoryFileNotFound, message);
        let not_a_file = |message: &str| {
            Self::new(
                Code::FailedPrecondition,
                ErrorReason::NotAMemoryFile,
                message,
            )
        };
        let full = |message: String| {
            Self::new(
                Code::FailedPrecondition,
                ErrorReason::MemoryFilesFull,
                message,
            )
        };
        match error {
            MemoryFileError::NotFound => not_found(
                "there is no such file or directory; GetMemoryFile with the path `/` lists what \
                 there is",
            ),
            MemoryFileError::VersionNotFound => not_found(
                "the file has no such version; ListMemoryFileVersions lists those that it has",
            ),
            MemoryFileError::IsDirectory => {
                not_a_file("the path names a directory; choose the path of a file")
            }
            MemoryFileError::BelowFile => not_a_file(
                "the path leads through a file as if it were a directory; choose another path, or \
                 rename that file",
            ),
            MemoryFileError::Exists => Self::new(
                Code::AlreadyExists,
                ErrorReason::MemoryFileAlreadyExists,
                "there is a file or a directory at new_path; choose another, or delete it first",
            ),
            MemoryFileError::IntoItself => Self::invalid(vec![Invalid::new(
                "new_path",
                "must not be in the directory that is renamed",
            )]),
            MemoryFileError::PathTooLong => Self::invalid(vec![Invalid::new(
                "new_path",
                format!(
                    "must leave the files in the directory paths of at most {} names and {} bytes",
                    limits::MEMORY_FILE_NAMES,
                    limits::MEMORY_FILE_PATH_BYTES
                ),
            )]),
            MemoryFileError::TextNotFound => Self::new(
                Code::FailedPrecondition,
                ErrorReason::TextNotFound,
                "old_text does not occur in the file; read the file, and copy the text with its \
                 white space",
            ),
            MemoryFileError::TextNotUnique { lines } => {
                let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
                Self::new(
                    Code::FailedPrecondition,
                    ErrorReason::TextNotUnique,
                    format!(
                        "old_text occurs more than once, in lines {}; add the text around the one \
                         to replace",
                        lines.join(", ")
                    ),
                )
                .with("lines", lines.join(","))
            }
            MemoryFileError::LineOutOfRange { lines } => Self::invalid(vec![Invalid::new(
                "line",
                format!("must be 0 to {lines}, the number of lines of the file"),
            )])
            .with("line_count", lines),
            MemoryFileError::TooLarge => Self::invalid(vec![Invalid::new(
                "text",
                format!(
                    "must leave the file at most {} bytes, and with its escapes as JSON {}; divide \
                     it into several files",
                    limits::MEMORY_FILE_BYTES,
                    limits::DOCUMENT_BYTES
                ),
            )]),
            MemoryFileError::TooMany => full(format!(
                "the user has {} files, the most; delete files that are not needed",
                limits::MEMORY_FILES
            )),
            MemoryFileError::TooManyBytes => full(format!(
                "the user's files would have more than {} bytes together; delete files that are \
                 not needed, or shorten some",
                limits::MEMORY_FILES_BYTES
            )),
        }
    }
}
