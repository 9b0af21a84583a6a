//! Kinds of object storage.

/// A kind of object storage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// A directory.
    File,
    /// Amazon S3, or a service with its API.
    S3,
    /// Google Cloud Storage.
    Gcs,
    /// Azure Blob Storage.
    Azure,
    /// The memory of this process.
    Memory,
}
