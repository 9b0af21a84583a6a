//! Admits requests that are no calls, but make calls. Their own calls pass all layers.

use std::sync::Arc;

use http::HeaderMap;
use memory_grpc::ApiError;

use super::Auth;
use super::concurrency::{Limit, Permit};
use crate::config::ServerConfig;

/// Lets requests with a valid credential in, as many at a time as calls. So one tenant or key
/// that sends its requests slowly leaves room for others.
#[derive(Clone, Debug)]
pub(crate) struct Gate {
    auth: Auth,
    limit: Arc<Limit>,
}

impl Gate {
    /// A gate for one kind of requests, in the plural.
    pub(crate) fn new(kind: &'static str, auth: Auth, config: &ServerConfig) -> Self {
        let limit = Limit::new(kind, config.max_calls, config);
        Self { auth, limit }
    }

    /// Admits a request by its headers. It counts until the permit is dropped.
    ///
    /// # Errors
    /// An invalid credential, and too many requests under way.
    pub(crate) async fn admit(self, headers: HeaderMap) -> Result<Permit, ApiError> {
        let caller = self.auth.check(headers).await?;
        self.limit.admit(Some(&caller))
    }
}
