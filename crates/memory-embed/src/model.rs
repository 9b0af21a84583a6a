//! Loads an embedding model into this process.

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use fastembed::{
    EmbeddingModel as HubModel, InitOptionsUserDefined, Pooling, QuantizationMode, TextEmbedding,
    TextInitOptions, TokenizerFiles, UserDefinedEmbeddingModel,
};
use ort::environment::Environment;
use tokenizers::Tokenizer;

use crate::config::{
    EmbedderConfig, EmbedderKind, ModelPrecision, default_hub_dir, default_model_dir,
    default_runtime_library,
};
use crate::error::EmbedError;

/// ONNX Runtime is loaded once in a process.
static RUNTIME: OnceLock<Environment> = OnceLock::new();

/// The files of a model.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) name: String,
    source: ModelSource,
    max_length: usize,
    runtime: PathBuf,
    /// A tokenizer for the second thread that loads the model.
    spare: Arc<Mutex<Spare>>,
}

/// To read a large tokenizer from its file takes three quarters of the time of loading a model, so
/// the first thread leaves a copy of its own to the second one.
#[derive(Debug)]
enum Spare {
    /// No thread has loaded the model.
    NotYet,
    Left(Box<Tokenizer>),
    Taken,
}

/// fastembed loads a model only together with a tokenizer; this one is replaced.
const SMALLEST_TOKENIZER: &[u8] =
    br#"{"model": {"type": "WordLevel", "vocab": {"?": 0}, "unk_token": "?"}}"#;

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
            spare: Arc::new(Mutex::new(Spare::NotYet)),
        })
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
                let spare = self.take_spare();
                let tokenizer_files = TokenizerFiles {
                    tokenizer_file: match &spare {
                        Some(_) => SMALLEST_TOKENIZER.to_vec(),
                        None => self.read(directory, FILES[0])?,
                    },
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
                TextEmbedding::try_new_from_user_defined(model, options).map(|mut model| {
                    match spare {
                        Some(tokenizer) => model.tokenizer = tokenizer,
                        None => self.leave_spare(&model.tokenizer),
                    }
                    model
                })
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

    fn take_spare(&self) -> Option<Tokenizer> {
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        match std::mem::replace(&mut *spare, Spare::Taken) {
            Spare::Left(tokenizer) => Some(*tokenizer),
            Spare::Taken => None,
            Spare::NotYet => {
                *spare = Spare::NotYet;
                None
            }
        }
    }

    fn leave_spare(&self, tokenizer: &Tokenizer) {
        let mut spare = self.spare.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*spare, Spare::NotYet) {
            *spare = Spare::Left(Box::new(tokenizer.clone()));
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
