//! The import of one file.

use memory_import::Source;

/// A file to import.
#[derive(Debug)]
pub struct Job {
    /// The file.
    pub source: Source,
    /// Whether policies, files and plans of the file replace existing ones.
    pub replace: bool,
    /// Whether the stored threads are to be compared with an export's file.
    pub check: bool,
}
