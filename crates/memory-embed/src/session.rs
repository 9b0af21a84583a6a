//! A model in this process: its network, and the tokenizer that all its sessions share.

use std::path::Path;
use std::sync::Arc;

use ort::environment::Environment;
use ort::inputs;
use ort::session::Session;
use ort::session::builder::GraphOptimizationLevel;
use ort::value::Tensor;
use serde::Deserialize;
use tokenizers::{PaddingParams, Tokenizer, TruncationParams};

/// Any error of ONNX Runtime or of the tokenizer.
type Error = Box<dyn std::error::Error + Send + Sync>;

/// A network that embeds the texts of one thread.
pub(crate) struct LocalSession {
    network: Session,
    tokenizer: Arc<Tokenizer>,
    /// The network has an input for the types of tokens, which are all 0.
    has_types: bool,
}

#[derive(Deserialize)]
struct ModelFile {
    pad_token_id: u32,
}

#[derive(Deserialize)]
struct TokenizerFile {
    pad_token: String,
}

/// Reads the tokenizer of the model in a directory. It cuts texts to `max_length` tokens. One of a
/// hundred languages takes 280 MB of memory.
pub(crate) fn read_tokenizer(directory: &Path, max_length: usize) -> Result<Tokenizer, Error> {
    let read = |file| std::fs::read(directory.join(file));
    let model: ModelFile = serde_json::from_slice(&read("config.json")?)?;
    let settings: TokenizerFile = serde_json::from_slice(&read("tokenizer_config.json")?)?;
    let mut tokenizer = Tokenizer::from_bytes(read("tokenizer.json")?)?;
    tokenizer.with_padding(Some(PaddingParams {
        pad_id: model.pad_token_id,
        pad_token: settings.pad_token,
        ..PaddingParams::default()
    }));
    tokenizer.with_truncation(Some(TruncationParams {
        max_length,
        ..TruncationParams::default()
    }))?;
    Ok(tokenizer)
}

impl LocalSession {
    /// Loads a network for inference on this many threads, the calling one included.
    pub(crate) fn load(
        environment: &Environment,
        network: &Path,
        tokenizer: Arc<Tokenizer>,
        threads: usize,
    ) -> Result<Self, Error> {
        let network = Session::builder(environment)?
            .with_optimization_level(GraphOptimizationLevel::Level3)
            .map_err(|error| error.to_string())?
            .with_intra_threads(threads)
            .map_err(|error| error.to_string())?
            // Spinning threads would occupy a core while they wait.
            .with_config_entry("session.intra_op.allow_spinning", "0")
            .map_err(|error| error.to_string())?
            .commit_from_file(network)?;
        let names = network.inputs().iter();
        let has_types = names
            .map(|input| input.name())
            .any(|name| name == "token_type_ids");
        Ok(Self {
            network,
            tokenizer,
            has_types,
        })
    }

    /// Embeds texts in one batch, as vectors of length 1: the mean of the vectors of their tokens.
    pub(crate) fn embed(&mut self, texts: &[&str]) -> Result<Vec<Vec<f32>>, Error> {
        let encoded = self.tokenizer.encode_batch(texts.to_vec(), true)?;
        let length = encoded.first().map_or(0, |one| one.len());
        let shape = [texts.len(), length];
        let ids = encoded.iter().flat_map(|one| one.get_ids());
        let ids: Vec<i64> = ids.map(|id| i64::from(*id)).collect();
        let mask = encoded.iter().flat_map(|one| one.get_attention_mask());
        let mask: Vec<i64> = mask.map(|real| i64::from(*real)).collect();
        let mut inputs = inputs![
            "input_ids" => Tensor::from_array((shape, ids))?,
            "attention_mask" => Tensor::from_array((shape, mask))?,
        ];
        if self.has_types {
            let types = Tensor::from_array((shape, vec![0_i64; texts.len() * length]))?;
            inputs.push(("token_type_ids".into(), types.into()));
        }
        let outputs = self.network.run(inputs)?;
        let (shape, values) = outputs[0].try_extract_tensor::<f32>()?;
        let [_, _, dimensions] = shape[..] else {
            return Err(format!("the network returned a tensor of shape {shape:?}").into());
        };
        let dimensions = usize::try_from(dimensions)?;
        let tokens = values.chunks_exact(length * dimensions);
        let vectors = encoded.iter().zip(tokens).map(|(text, tokens)| {
            let mut sum = vec![0.0; dimensions];
            let tokens = tokens.chunks_exact(dimensions);
            for (token, real) in tokens.zip(text.get_attention_mask()) {
                if *real == 1 {
                    for (sum, value) in sum.iter_mut().zip(token) {
                        *sum += value;
                    }
                }
            }
            normalized(sum)
        });
        Ok(vectors.collect())
    }
}

/// The vector with length 1, which has the direction of the mean as well.
fn normalized(mut vector: Vec<f32>) -> Vec<f32> {
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
    for value in &mut vector {
        *value /= length.max(f32::MIN_POSITIVE);
    }
    vector
}
