//! Configuration of object storage.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use reqwest::Url;
use secrecy::SecretString;
use serde::{Deserialize, Serialize, Serializer};

/// Settings of object storage.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ObjectsConfig {
    /// The object storage: `file:///directory`, `s3://bucket/prefix`,
    /// `gs://bucket/prefix`, `az://container/prefix`, or `memory:///`, which
    /// forgets. Empty by default: then memories of nodes are not available,
    /// unless `recollect dev` provides a directory.
    pub url: String,
    /// Options of the storage client, by its names, such as
    /// `aws_endpoint` and `aws_region`. The usual variables of the environment,
    /// such as `AWS_ACCESS_KEY_ID`, are read too. Default: nothing.
    #[serde(serialize_with = "masked")]
    pub options: BTreeMap<String, SecretString>,
    /// How long one read or one write may take. Default 10s.
    #[serde(with = "memory_contract::duration_text")]
    pub timeout: Duration,
    /// Objects whose JSON is larger are compressed with zstd, in bytes. Default
    /// 16,384.
    pub compress_above: usize,
    /// The largest memory of a node, as JSON, in bytes. Default 33,554,432.
    pub max_object_bytes: usize,
    /// How long a signed URL of an object is valid. Default 15m.
    #[serde(with = "memory_contract::duration_text")]
    pub url_lifetime: Duration,
    /// Where the callers' own files are in the store: the beginning of their storage keys,
    /// with `{tenant}` for the tenant's name. Other objects are neither signed nor read for a
    /// file. Default `{tenant}/files/`.
    pub file_prefix: String,
}

impl Default for ObjectsConfig {
    fn default() -> Self {
        Self {
            url: String::new(),
            options: BTreeMap::new(),
            timeout: Duration::from_secs(10),
            compress_above: 16 * 1024,
            max_object_bytes: 32 * 1024 * 1024,
            url_lifetime: Duration::from_secs(15 * 60),
            file_prefix: "{tenant}/files/".to_owned(),
        }
    }
}

impl ObjectsConfig {
    /// Keeps objects in a directory, given as an absolute path.
    pub fn use_directory(&mut self, path: &Path) {
        if let Ok(url) = Url::from_directory_path(path) {
            self.url = url.into();
        }
    }

    /// The directory, where objects are kept in one.
    pub fn directory(&self) -> Option<PathBuf> {
        let url = Url::parse(&self.url).ok()?;
        (url.scheme() == "file").then(|| url.to_file_path().ok())?
    }
}

/// Any of them may be a secret: only the names are shown.
fn masked<S: Serializer>(
    options: &BTreeMap<String, SecretString>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(options.keys().map(|key| (key, "********")))
}
