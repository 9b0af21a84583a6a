#![doc = include_str!("../README.md")]

mod config;
mod embedder;
mod error;
mod model;
mod profile;
mod similarity;
mod vectors;
mod worker;

pub use config::{
    EmbedderConfig, EmbedderKind, ModelPrecision, default_model_dir, default_runtime_library,
};
pub use embedder::{Embedder, EmbeddingModel, Urgency};
pub use error::EmbedError;
pub use similarity::dot;
pub use vectors::TenantText;
pub use worker::describe_metrics;
