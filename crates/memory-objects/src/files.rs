//! Content of files: stored once, read, and named by signed URLs.

use std::sync::Arc;
use std::time::Instant;

use memory_contract::TenantId;
use object_store::path::Path;
use object_store::signer::Method;
use object_store::{Attribute, AttributeValue, Attributes, Error, GetOptions, PutMode, PutOptions};

use crate::key::{file_prefix, path_of};
use crate::{Backend, Objects, ObjectsError};

impl Objects {
    /// Whether the store signs URLs.
    pub fn signs(&self) -> bool {
        self.0.signer.is_some()
    }

    /// The key of a file in the caller's own storage as a key of this store; `None` if it is
    /// not among the files of the tenant.
    pub fn file_key(&self, tenant: &TenantId, storage_key: &str) -> Option<String> {
        let prefix = file_prefix(&self.0.config.file_prefix, tenant);
        let within = storage_key.strip_prefix(&prefix)?;
        // A path with `..` or empty parts is not canonical, and none of the tenant's.
        let canonical = Path::parse(storage_key).is_ok_and(|path| path.as_ref() == storage_key);
        (canonical && !within.is_empty()).then(|| storage_key.to_owned())
    }

    /// A URL at which anyone can read an object until `objects.url_lifetime` has passed, and
    /// at least for half of that time; `None` where the store signs none. The object need not
    /// exist.
    pub async fn signed_url(
        &self,
        key: &str,
        deadline: Option<Instant>,
    ) -> Result<Option<Arc<str>>, ObjectsError> {
        let Some(signed) = &self.0.signer else {
            return Ok(None);
        };
        let path = path_of(key)?;
        if let Some(url) = signed.urls.get(&path) {
            return Ok(Some(url));
        }
        let sign = signed
            .signer
            .signed_url(Method::GET, &path, signed.lifetime);
        let url = self.bounded("sign", deadline, sign).await?;
        let url: Arc<str> = url
            .map_err(|error| ObjectsError::failed("sign", error))?
            .as_str()
            .into();
        signed.urls.insert(path, Arc::clone(&url));
        Ok(Some(url))
    }

    /// Stores content under a key that no other content ever has. Idempotent.
    pub async fn put_content(
        &self,
        key: &str,
        bytes: Vec<u8>,
        mime_type: &str,
    ) -> Result<(), ObjectsError> {
        let path = path_of(key)?;
        let mut options = PutOptions::from(PutMode::Create);
        if let Backend::S3 | Backend::Gcs | Backend::Azure = self.0.backend
            && mime_type.is_ascii()
        {
            let mime_type = AttributeValue::from(mime_type.to_owned());
            options.attributes = Attributes::from_iter([(Attribute::ContentType, mime_type)]);
        }
        let put = self.0.store.put_opts(&path, bytes.into(), options);
        match self.bounded("write", None, put).await? {
            Ok(_) | Err(Error::AlreadyExists { .. } | Error::Precondition { .. }) => Ok(()),
            Err(error) => Err(ObjectsError::failed("write", error)),
        }
    }

    /// Reads content of at most `limit` bytes; `None` if it does not exist or is larger.
    pub async fn read_content(
        &self,
        key: &str,
        limit: usize,
        deadline: Option<Instant>,
    ) -> Result<Option<Vec<u8>>, ObjectsError> {
        let path = path_of(key)?;
        let limit = u64::try_from(limit).unwrap_or(u64::MAX);
        let read = async {
            let found = self.0.store.get_opts(&path, GetOptions::default()).await?;
            match found.meta.size > limit {
                true => Ok(None),
                false => Ok(Some(found.bytes().await?.to_vec())),
            }
        };
        match self.bounded("read", deadline, read).await? {
            Ok(bytes) => Ok(bytes),
            Err(Error::NotFound { .. }) => Ok(None),
            Err(error) => Err(ObjectsError::failed("read", error)),
        }
    }
}
