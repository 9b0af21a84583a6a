//! Loads an embedding model into this process.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use fastembed::{EmbeddingModel as HubModel, TextEmbedding, TextInitOptions};
use ort::environment::Environment;

use crate::config::{
    EmbedderConfig, EmbedderKind, ModelPrecision, default_hub_dir, default_model_dir,
    default_runtime_library,
};
use crate::error::EmbedError;
use crate::session::LocalSession;
use crate::tokenizer::Tokenizer;

/// ONNX Runtime is loaded once in a process.
static RUNTIME: OnceLock<Environment> = OnceLock::new();

/// The files of a model.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) name: String,
    source: ModelSource,
    max_length: usize,
    runtime: PathBuf,
    /// The tokenizer of a local model, which its sessions share; `None` until the first one loads.
    tokenizer: Arc<Mutex<Option<Arc<Tokenizer>>>>,
}

/// A network of this process.
pub(crate) enum Network {
    Local(Box<LocalSession>),
    /// fastembed downloads it, and knows what it needs.
    Hub(Box<TextEmbedding>),
}

#[derive(Clone, Debug)]
enum ModelSource {
    Local {
        directory: PathBuf,
        network: &'static str,
    },
    Hub {
        model: HubModel,
        cache: PathBuf,
    },
}

/// The files of a local model, without its network.
const FILES: [&str; 2] = ["tokenizer.json", "tokenizer_config.json"];

/// Tokens of a text that a model in this process reads, unless the configuration says otherwise:
/// more would take longer.
const MAX_LENGTH: usize = 256;

/// Tokens of a text that a model in this process reads.
pub(crate) fn max_length(config: &EmbedderConfig) -> usize {
    match config.max_length {
        0 => MAX_LENGTH,
        set => set,
    }
}

impl Model {
    /// Locates the files of a model of this process.
    pub(crate) fn locate(config: &EmbedderConfig) -> Result<Self, EmbedError> {
        let source = match config.kind == EmbedderKind::Hub {
            true => hub(config)?,
            false => local(config)?,
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
        Ok(Self {
            name,
            source,
            max_length: max_length(config),
            runtime,
            tokenizer: Arc::default(),
        })
    }

    /// Loads the model for inference on this many threads, the calling one included.
    pub(crate) fn load(&self, threads: usize) -> Result<Network, EmbedError> {
        let environment = self.environment()?;
        match &self.source {
            ModelSource::Local { directory, network } => {
                let tokenizer = self.tokenizer(directory)?;
                let network = directory.join(network);
                let session = LocalSession::load(&environment, &network, tokenizer, threads);
                let session = session.map_err(|source| self.broken(source))?;
                Ok(Network::Local(Box::new(session)))
            }
            ModelSource::Hub { model, cache } => {
                let options = TextInitOptions::new(model.clone())
                    .with_environment(environment)
                    .with_cache_dir(cache.clone())
                    .with_max_length(self.max_length)
                    .with_session_config("session.intra_op.allow_spinning", "0")
                    .with_intra_threads(threads);
                let model = TextEmbedding::try_new(options);
                let model = model.map_err(|source| self.broken(source))?;
                Ok(Network::Hub(Box::new(model)))
            }
        }
    }

    fn tokenizer(&self, directory: &Path) -> Result<Arc<Tokenizer>, EmbedError> {
        let mut shared = self
            .tokenizer
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(tokenizer) = &*shared {
            return Ok(Arc::clone(tokenizer));
        }
        let tokenizer = Tokenizer::read(directory, self.max_length);
        let tokenizer = Arc::new(tokenizer.map_err(|source| self.broken(source))?);
        *shared = Some(Arc::clone(&tokenizer));
        Ok(tokenizer)
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
    let network = match config.precision {
        ModelPrecision::Fp32 => "model.onnx",
        ModelPrecision::Int8 => "model-int8.onnx",
    };
    for file in FILES.into_iter().chain([network]) {
        present("a file of the embedding model", &directory.join(file))?;
    }
    Ok(ModelSource::Local { directory, network })
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
