//! Rewriting the files of a private database.

use std::sync::Arc;

use futures::future::BoxFuture;

/// Rewrites the files of a database of our own, so that erased rows leave no bytes in them.
pub type Rewrite = Arc<dyn Fn() -> BoxFuture<'static, Result<(), String>> + Send + Sync>;
