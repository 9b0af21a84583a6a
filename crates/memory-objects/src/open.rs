//! Opens an object store by its URL.

use std::env;
use std::fs;
use std::iter;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path as FilePath;
use std::str::FromStr as _;
use std::sync::Arc;

use object_store::ObjectStore;
use object_store::ObjectStoreScheme as Scheme;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::prefix::PrefixStore;
use object_store::signer::Signer;
use reqwest::Url;
use secrecy::ExposeSecret as _;

use super::local::Locks;
use crate::{Backend, ObjectsConfig, ObjectsError};

/// A store and what is known of it.
pub(super) struct Opened {
    pub(super) store: Arc<dyn ObjectStore>,
    /// What signs URLs of objects, if the store can.
    pub(super) signer: Option<Arc<dyn Signer>>,
    pub(super) backend: Backend,
    /// Locks that replace conditional writes if the store has none.
    pub(super) locks: Option<Locks>,
}

/// Opens the store. A missing directory is created; a remote store is not contacted.
pub(super) fn open(config: &ObjectsConfig) -> Result<Opened, ObjectsError> {
    let url = Url::parse(&config.url).map_err(|_| {
        wrong(
            "url",
            "must be a URL such as file:///var/lib/recollect/objects",
        )
    })?;
    let (scheme, prefix) = Scheme::parse(&url).map_err(|_| {
        wrong(
            "url",
            "must begin with file://, s3://, gs://, az:// or memory:",
        )
    })?;
    let backend = match scheme {
        Scheme::Local => return directory(&url),
        Scheme::Memory => {
            return Ok(Opened {
                store: Arc::new(InMemory::new()),
                signer: None,
                backend: Backend::Memory,
                locks: None,
            });
        }
        Scheme::AmazonS3 => Backend::S3,
        Scheme::GoogleCloudStorage => Backend::Gcs,
        Scheme::MicrosoftAzure => Backend::Azure,
        _ => {
            return Err(wrong(
                "url",
                "must begin with file://, s3://, gs://, az:// or memory:",
            ));
        }
    };
    // It fails only where a provider is installed already.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let known = |key: &str| match backend {
        Backend::S3 => AmazonS3ConfigKey::from_str(key).is_ok(),
        Backend::Gcs => GoogleConfigKey::from_str(key).is_ok(),
        _ => AzureConfigKey::from_str(key).is_ok(),
    };
    if let Some(key) = config
        .options
        .keys()
        .find(|key| !known(&key.to_lowercase()))
    {
        return Err(wrong(
            "options",
            format!(
                "`{key}` is not an option of {scheme} object storage",
                scheme = url.scheme()
            ),
        ));
    }
    // One object at a time is erased, which every provider can.
    let own = ("aws_disable_bulk_delete".to_owned(), "true".to_owned());
    #[expect(clippy::disallowed_methods, reason = "object_store's own variables")]
    let environment = env::vars_os().filter_map(|(name, value)| {
        let name = name.to_str()?.to_lowercase();
        let ours = ["aws_", "google_", "azure_"]
            .iter()
            .any(|prefix| name.starts_with(prefix));
        Some((name.clone(), value.to_str()?.to_owned())).filter(|_| ours)
    });
    let options = config
        .options
        .iter()
        .map(|(key, value)| (key.to_lowercase(), value.expose_secret().to_owned()));
    let options = iter::once(own).chain(environment).chain(options);
    // Its words may repeat an option.
    let failed = |_| wrong("options", "the store cannot be opened with these options");
    let opened = match backend {
        Backend::S3 => {
            let builder = AmazonS3Builder::new().with_url(url.as_str());
            let set = |builder: AmazonS3Builder, (key, value): (String, String)| match key.parse() {
                Ok(key) => builder.with_config(key, value),
                Err(_) => builder,
            };
            remote(options.fold(builder, set).build().map_err(failed)?, prefix)
        }
        Backend::Gcs => {
            let builder = GoogleCloudStorageBuilder::new().with_url(url.as_str());
            let set = |builder: GoogleCloudStorageBuilder, (key, value): (String, String)| match key
                .parse()
            {
                Ok(key) => builder.with_config(key, value),
                Err(_) => builder,
            };
            remote(options.fold(builder, set).build().map_err(failed)?, prefix)
        }
        _ => {
            let builder = MicrosoftAzureBuilder::new().with_url(url.as_str());
            let set = |builder: MicrosoftAzureBuilder, (key, value): (String, String)| match key
                .parse()
            {
                Ok(key) => builder.with_config(key, value),
                Err(_) => builder,
            };
            remote(options.fold(builder, set).build().map_err(failed)?, prefix)
        }
    };
    Ok(Opened { backend, ..opened })
}

/// A store of a provider, which signs URLs. The caller sets the backend.
fn remote<S: ObjectStore + Signer>(store: S, prefix: Path) -> Opened {
    let store = Arc::new(PrefixStore::new(store, prefix));
    Opened {
        store: Arc::clone(&store) as Arc<dyn ObjectStore>,
        signer: Some(store),
        backend: Backend::S3,
        locks: None,
    }
}

fn directory(url: &Url) -> Result<Opened, ObjectsError> {
    let path = url
        .to_file_path()
        .map_err(|()| wrong("url", "must name a directory: file:///directory"))?;
    let unusable = |error: &dyn std::fmt::Display| {
        wrong("url", format!("{} cannot be used: {error}", path.display()))
    };
    make(&path).map_err(|error| unusable(&error))?;
    let locks = Locks::new(&path).map_err(|error| unusable(&error))?;
    let store = LocalFileSystem::new_with_prefix(&path)
        .map_err(|error| unusable(&error))?
        .with_fsync(true)
        .with_automatic_cleanup(true);
    Ok(Opened {
        store: Arc::new(store),
        signer: None,
        backend: Backend::File,
        locks: Some(locks),
    })
}

fn make(path: &FilePath) -> std::io::Result<()> {
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
}

fn wrong(key: &'static str, why: impl Into<String>) -> ObjectsError {
    ObjectsError::Config {
        key,
        why: why.into(),
    }
}
