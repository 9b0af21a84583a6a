//! Opens the configured index.

use std::sync::Arc;

use crate::config::IndexConfig;
use crate::edge::EdgeIndex;
use crate::error::IndexError;
use crate::index::Index;
use crate::qdrant::QdrantIndex;
use crate::schema::IndexSchema;

/// Opens the configured index without contacting or loading it; [`Index::prepare`] does
/// that.
///
/// # Errors
/// [`IndexError::Config`] if the backend's settings are missing or invalid,
/// [`IndexError::Directory`] if the embedded engine's directory cannot be created
/// or is in use.
pub fn open_index(config: &IndexConfig, schema: IndexSchema) -> Result<Arc<dyn Index>, IndexError> {
    if config.uses_edge() {
        Ok(Arc::new(EdgeIndex::open(config, schema)?))
    } else {
        Ok(Arc::new(QdrantIndex::connect(config, schema)?))
    }
}

/// Opens two indexes with the same configuration and different schemas, without contacting or
/// loading them.
///
/// # Errors
/// As [`open_index`].
pub fn open_indexes(
    config: &IndexConfig,
    first: IndexSchema,
    next: IndexSchema,
) -> Result<[Arc<dyn Index>; 2], IndexError> {
    if config.uses_edge() {
        let first = EdgeIndex::open(config, first)?;
        let next = first.open_beside(config, next)?;
        Ok([Arc::new(first), Arc::new(next)])
    } else {
        Ok([open_index(config, first)?, open_index(config, next)?])
    }
}
