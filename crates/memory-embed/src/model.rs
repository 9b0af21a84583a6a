//! Loads an embedding model.

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::OnceLock;

use fastembed::{
    EmbeddingModel as HubModel, InitOptionsUserDefined, Pooling, QuantizationMode, TextEmbedding,
    TextInitOptions, TokenizerFiles, UserDefinedEmbeddingModel,
};
use ort::environment::Environment;

use crate::config::{
    EmbedderConfig, EmbedderKind, ModelPrecision, default_hub_dir, default_model_dir,
    default_runtime_library,
};
use crate::error::EmbedError;
use crate::profile::profile;

/// ONNX Runtime is loaded once in a process.
static RUNTIME: OnceLock<Environment> = OnceLock::new();

/// The files of a model.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) name: String,
    source: ModelSource,
    max_length: usize,
    query_prefix: String,
    document_prefix: String,
    runtime: PathBuf,
}

#[derive(Clone, Debug)]
enum ModelSource {
    Local {
        directory: PathBuf,
        file: &'static str,
        quantized: bool,
    },
    Hub {
        model: HubModel,
        cache: PathBuf,
    },
}

/// The files of a local model, without its graph.
const FILES: [&str; 4] = [
    "tokenizer.json",
    "config.json",
    "special_tokens_map.json",
    "tokenizer_config.json",
];

/// Upper bound of the bytes in nearly every token.
const BYTES_PER_TOKEN: usize = 32;

impl Model {
    /// Locates the model's files; `None` for [`EmbedderKind::None`].
    pub(crate) fn locate(config: &EmbedderConfig) -> Result<Option<Self>, EmbedError> {
        let source = match config.kind {
            EmbedderKind::None => return Ok(None),
            EmbedderKind::Local => local(config)?,
            EmbedderKind::Hub => hub(config)?,
        };
        let name = match (&source, config.precision) {
            (ModelSource::Local { .. }, ModelPrecision::Int8) => format!("{}-int8", config.model),
            (ModelSource::Local { .. }, ModelPrecision::Fp32) => format!("{}-fp32", config.model),
            (ModelSource::Hub { .. }, _) => config.model.clone(),
        };
        let runtime = config
            .runtime_library
            .clone()
            .or_else(default_runtime_library);
        let runtime = runtime.ok_or_else(|| no_home("embedding.runtime_library"))?;
        present("ONNX Runtime", &runtime)?;
        let profile = profile(&config.model);
        let prefix = |set: &Option<String>, known: &str| match set {
            Some(prefix) => prefix.clone(),
            None => known.to_owned(),
        };
        Ok(Some(Self {
            name,
            source,
            query_prefix: prefix(&config.query_prefix, profile.query_prefix),
            document_prefix: prefix(&config.document_prefix, profile.document_prefix),
            max_length: config.max_length,
            runtime,
        }))
    }

    /// Loads the model for inference on this many threads, the calling one included.
    pub(crate) fn load(&self, threads: usize) -> Result<TextEmbedding, EmbedError> {
        let environment = self.environment()?;
        // Spinning threads would occupy a core while they wait.
        let spin = ("session.intra_op.allow_spinning", "0");
        match &self.source {
            ModelSource::Local {
                directory,
                file,
                quantized,
            } => {
                let tokenizer_files = TokenizerFiles {
                    tokenizer_file: self.read(directory, FILES[0])?,
                    config_file: self.read(directory, FILES[1])?,
                    special_tokens_map_file: self.read(directory, FILES[2])?,
                    tokenizer_config_file: self.read(directory, FILES[3])?,
                };
                let quantization = if *quantized {
                    QuantizationMode::Dynamic
                } else {
                    QuantizationMode::None
                };
                let model =
                    UserDefinedEmbeddingModel::new(self.read(directory, file)?, tokenizer_files)
                        .with_pooling(Pooling::Mean)
                        .with_quantization(quantization);
                let options = InitOptionsUserDefined::new()
                    .with_environment(environment)
                    .with_max_length(self.max_length)
                    .with_session_config(spin.0, spin.1)
                    .with_intra_threads(threads);
                TextEmbedding::try_new_from_user_defined(model, options)
            }
            ModelSource::Hub { model, cache } => {
                let options = TextInitOptions::new(model.clone())
                    .with_environment(environment)
                    .with_cache_dir(cache.clone())
                    .with_max_length(self.max_length)
                    .with_session_config(spin.0, spin.1)
                    .with_intra_threads(threads);
                TextEmbedding::try_new(options)
            }
        }
        .map_err(|source| self.broken(source))
    }

    /// The beginning of a text, which is all that the model reads. It saves tokenizing
    /// the rest of a long text.
    pub(crate) fn clip<'a>(&self, text: &'a str) -> &'a str {
        let bytes = self.max_length.saturating_mul(BYTES_PER_TOKEN);
        &text[..text.floor_char_boundary(bytes)]
    }

    /// The beginning of a text that is embedded as a query or as a document, with its prefix.
    pub(crate) fn prefixed<'a>(&self, text: &'a str, is_query: bool) -> Cow<'a, str> {
        let prefix = match is_query {
            true => &self.query_prefix,
            false => &self.document_prefix,
        };
        match prefix.is_empty() {
            true => self.clip(text).into(),
            false => format!("{prefix}{}", self.clip(text)).into(),
        }
    }

    fn environment(&self) -> Result<Environment, EmbedError> {
        if let Some(environment) = RUNTIME.get() {
            return Ok(environment.clone());
        }
        let made = ort::init_from(&self.runtime)
            .map_err(|error| self.broken(error.to_string()))?
            .with_name("recollect")
            .build()
            .map_err(|error| self.broken(error.to_string()))?;
        Ok(RUNTIME.get_or_init(|| made).clone())
    }

    fn read(&self, directory: &Path, file: &str) -> Result<Vec<u8>, EmbedError> {
        fs::read(directory.join(file)).map_err(|source| self.broken(source))
    }

    fn broken(&self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> EmbedError {
        EmbedError::ModelBroken {
            model: self.name.clone(),
            source: source.into(),
        }
    }
}

fn local(config: &EmbedderConfig) -> Result<ModelSource, EmbedError> {
    let directory = config
        .model_dir
        .clone()
        .or_else(|| default_model_dir(&config.model));
    let directory = directory.ok_or_else(|| no_home("embedding.model_dir"))?;
    let (file, quantized) = match config.precision {
        ModelPrecision::Fp32 => ("model.onnx", false),
        ModelPrecision::Int8 => ("model-int8.onnx", true),
    };
    for file in FILES.into_iter().chain([file]) {
        present("a file of the embedding model", &directory.join(file))?;
    }
    Ok(ModelSource::Local {
        directory,
        file,
        quantized,
    })
}

fn hub(config: &EmbedderConfig) -> Result<ModelSource, EmbedError> {
    let model = HubModel::from_str(&config.model).map_err(|_| EmbedError::Config {
        key: "embedding.model",
        problem: format!("fastembed knows no model {:?}", config.model),
    })?;
    let cache = config.hub_cache_dir.clone().or_else(default_hub_dir);
    let cache = cache.ok_or_else(|| no_home("embedding.hub_cache_dir"))?;
    Ok(ModelSource::Hub { model, cache })
}

fn present(what: &'static str, path: &Path) -> Result<(), EmbedError> {
    if path.is_file() {
        Ok(())
    } else {
        Err(EmbedError::ModelMissing {
            what,
            path: path.to_owned(),
        })
    }
}

fn no_home(key: &'static str) -> EmbedError {
    EmbedError::Config {
        key,
        problem: "must be set, because the home directory is unknown".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_and_documents_get_their_prefixes_and_are_cut() {
        let model = Model {
            name: "e5".to_owned(),
            source: ModelSource::Local {
                directory: PathBuf::new(),
                file: "model.onnx",
                quantized: false,
            },
            max_length: 1,
            query_prefix: "query: ".to_owned(),
            document_prefix: String::new(),
            runtime: PathBuf::new(),
        };
        assert_eq!(model.prefixed("Who?", true), "query: Who?");
        assert_eq!(model.prefixed("Ada", false), "Ada");
        let long = "ü".repeat(BYTES_PER_TOKEN);
        assert_eq!(
            model.prefixed(&long, false),
            "ü".repeat(BYTES_PER_TOKEN / 2)
        );
    }
}
