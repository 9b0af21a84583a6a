//! Signed URLs of objects.

use std::sync::Arc;
use std::time::Duration;

use moka::sync::Cache;
use object_store::path::Path;
use object_store::signer::Signer;

/// Signed URLs that are kept.
const KEPT_URLS: u64 = 10_000;

/// Signs URLs of objects. A URL is given again for half of its lifetime, so that contexts
/// with it stay the same and prompt caches match. [`Signer`] always signs with the current
/// time, so other processes give other URLs.
pub(crate) struct Signed {
    pub(crate) signer: Arc<dyn Signer>,
    pub(crate) lifetime: Duration,
    pub(crate) urls: Cache<Path, Arc<str>>,
}

impl Signed {
    pub(crate) fn new(signer: Arc<dyn Signer>, lifetime: Duration) -> Self {
        let urls = Cache::builder()
            .max_capacity(KEPT_URLS)
            .time_to_live(lifetime / 2)
            .build();
        Self {
            signer,
            lifetime,
            urls,
        }
    }
}
