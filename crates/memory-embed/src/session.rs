//! A model in this process.

use std::path::Path;
use std::sync::Arc;

use ort::environment::Environment;
use ort::inputs;
use ort::session::Session;
use ort::session::builder::GraphOptimizationLevel;
use ort::value::Tensor;

use crate::tokenizer::{Batch, Tokenizer};
use crate::vocabulary::Error;

/// A network that embeds the texts of one thread.
pub(crate) struct LocalSession {
    network: Session,
    tokenizer: Arc<Tokenizer>,
    /// The network has an input for the types of tokens, which are all 0.
    has_types: bool,
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
        let Batch { length, ids, mask } = self.tokenizer.encode(texts)?;
        let shape = [texts.len(), length];
        let mut inputs = inputs![
            "input_ids" => Tensor::from_array((shape, ids))?,
            "attention_mask" => Tensor::from_array((shape, mask.clone()))?,
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
        let vectors = mask.chunks_exact(length).zip(tokens).map(|(mask, tokens)| {
            let mut sum = vec![0.0; dimensions];
            for (token, real) in tokens.chunks_exact(dimensions).zip(mask) {
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
