#![doc = include_str!("../README.md")]

mod baseline;
mod config;
mod embedder;
mod endpoint;
mod engine;
mod error;
mod input;
mod kind;
mod model;
mod passages;
mod profile;
mod session;
mod similarity;
mod tokenizer;
mod usage;
mod vectors;
mod vocabulary;
mod weight;
mod worker;

pub use baseline::{Baseline, QueryBaseline};
pub use config::{
    EmbedderConfig, EmbedderKind, EmbeddingCalls, ModelPrecision, default_model_dir,
    default_runtime_library,
};
pub use embedder::{Embedder, EmbeddingModel, Urgency};
pub use endpoint::error::EndpointError;
pub use engine::describe_metrics;
pub use error::EmbedError;
pub use profile::{Profile, profile};
pub use similarity::dot;
pub use usage::EmbeddingUsage;
pub use vectors::{TenantText, TextKey};
