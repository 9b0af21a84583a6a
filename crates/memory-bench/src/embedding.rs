//! The embedding model of the services that this run starts.

use memory_embed::EmbedderConfig;

/// The default configuration with the model of the environment, as the services read it.
pub fn embedding() -> EmbedderConfig {
    let mut embedding = EmbedderConfig::default();
    if let Ok(model) = std::env::var("RECOLLECT_EMBEDDING__MODEL") {
        embedding.model = model;
    }
    embedding
}
