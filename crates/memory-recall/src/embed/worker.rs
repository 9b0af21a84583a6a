//! The model's threads.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc as std_mpsc;
use std::thread;
use std::time::Instant;

use fastembed::TextEmbedding;
use tokio::sync::{mpsc, oneshot};

use super::model::Model;
use crate::error::RecallError;

/// How much documents give way to everything else on the machine.
const NICE: i32 = 10;

/// Something to embed, and who waits for it.
pub(super) struct Job<I, O> {
    pub(super) input: I,
    pub(super) reply: oneshot::Sender<Result<O, RecallError>>,
}

/// A thread's work.
pub(super) trait Work: Send + 'static {
    type Input: Send;
    type Output: Send;
    const NAME: &'static str;
    fn model(&self) -> &Model;
    fn threads(&self) -> usize;
    fn settle(&self) {}
    fn embed(
        &self,
        model: &mut TextEmbedding,
        input: Self::Input,
    ) -> Result<Self::Output, RecallError>;
}

/// Single queries, as they come. A quantized vector depends a little on its
/// batch, so a query is always a batch of its own.
pub(super) struct Queries {
    pub(super) model: Model,
    pub(super) threads: usize,
}

/// Documents in batches of like length, because all of a batch cost as much as
/// its longest.
pub(super) struct Documents {
    pub(super) model: Model,
    pub(super) threads: usize,
    pub(super) batch: usize,
}

impl Work for Queries {
    type Input = String;
    type Output = Vec<f32>;
    const NAME: &'static str = "embed-queries";

    fn model(&self) -> &Model {
        &self.model
    }

    fn threads(&self) -> usize {
        self.threads
    }

    fn embed(&self, model: &mut TextEmbedding, text: String) -> Result<Vec<f32>, RecallError> {
        let mut vectors = infer(&self.model, model, &[text.as_str()], "query")?;
        vectors.pop().ok_or_else(|| nothing(&self.model))
    }
}

impl Work for Documents {
    type Input = Vec<String>;
    type Output = Vec<Vec<f32>>;
    const NAME: &'static str = "embed-documents";

    fn model(&self) -> &Model {
        &self.model
    }

    fn threads(&self) -> usize {
        self.threads
    }

    /// Called before the model is loaded: its own threads inherit the priority.
    fn settle(&self) {
        // On Linux "this process" is this thread alone.
        if let Err(error) = rustix::process::setpriority_process(None, NICE) {
            tracing::debug!(%error, "indexing runs with the usual priority");
        }
    }

    fn embed(
        &self,
        model: &mut TextEmbedding,
        texts: Vec<String>,
    ) -> Result<Vec<Vec<f32>>, RecallError> {
        let mut order: Vec<usize> = (0..texts.len()).collect();
        order.sort_by_key(|&place| texts[place].len());
        let mut vectors = vec![Vec::new(); texts.len()];
        for places in order.chunks(self.batch) {
            let batch: Vec<&str> = places.iter().map(|&place| texts[place].as_str()).collect();
            let found = infer(&self.model, model, &batch, "document")?;
            if found.len() != places.len() {
                return Err(nothing(&self.model));
            }
            for (&place, vector) in places.iter().zip(found) {
                vectors[place] = vector;
            }
        }
        Ok(vectors)
    }
}

/// Starts a thread with a model, waits until it is loaded, and tells the size of
/// its vectors.
pub(super) fn start<W: Work>(
    work: W,
    mut jobs: mpsc::Receiver<Job<W::Input, W::Output>>,
) -> Result<usize, RecallError> {
    let (ready, loaded) = std_mpsc::channel();
    let name = work.model().name.clone();
    thread::Builder::new()
        .name(W::NAME.to_owned())
        .spawn(move || {
            work.settle();
            let mut model = match load(&work) {
                Ok((model, dimensions)) => {
                    let _ = ready.send(Ok(dimensions));
                    model
                }
                Err(error) => {
                    let _ = ready.send(Err(error));
                    return;
                }
            };
            while let Some(Job { input, reply }) = jobs.blocking_recv() {
                // Whoever asked may have given up meanwhile.
                if !reply.is_closed() {
                    let _ = reply.send(work.embed(&mut model, input));
                }
            }
        })
        .map_err(|source| RecallError::ModelBroken {
            model: name,
            source: source.into(),
        })?;
    loaded.recv().map_err(|_| RecallError::EmbedderStopped)?
}

/// Loads the model and tries it: a first inference is slower than all others.
fn load<W: Work>(work: &W) -> Result<(TextEmbedding, usize), RecallError> {
    let started = Instant::now();
    let mut model = work.model().load(work.threads())?;
    let vectors = infer(work.model(), &mut model, &["The first words."], "warm_up")?;
    let dimensions = vectors.first().map_or(0, Vec::len);
    if dimensions == 0 {
        return Err(nothing(work.model()));
    }
    tracing::debug!(
        model = work.model().name,
        thread = W::NAME,
        duration_ms = started.elapsed().as_millis() as u64,
        "embedding model loaded"
    );
    Ok((model, dimensions))
}

fn infer(
    model: &Model,
    session: &mut TextEmbedding,
    texts: &[&str],
    kind: &'static str,
) -> Result<Vec<Vec<f32>>, RecallError> {
    let started = Instant::now();
    let texts: Vec<&str> = texts.iter().map(|text| model.clip(text)).collect();
    // The size is given, so that a quantized model takes it too.
    let vectors = survive(&model.name, || {
        let found = session.embed(&texts, Some(texts.len()));
        found.map_err(|source| RecallError::EmbeddingFailed {
            model: model.name.clone(),
            source: source.into(),
        })
    })?;
    metrics::histogram!("recollect_embed_seconds", "kind" => kind)
        .record(started.elapsed().as_secs_f64());
    metrics::histogram!("recollect_embed_batch_size", "kind" => kind).record(texts.len() as f64);
    Ok(vectors)
}

/// Runs an inference; one that panics fails alone, and the thread lives on.
fn survive<T>(
    model: &str,
    inference: impl FnOnce() -> Result<T, RecallError>,
) -> Result<T, RecallError> {
    // A session keeps nothing of an inference, so none is left half done.
    catch_unwind(AssertUnwindSafe(inference)).unwrap_or_else(|_| {
        // What it panicked with may hold what a person said.
        Err(RecallError::EmbeddingFailed {
            model: model.to_owned(),
            source: "it panicked".into(),
        })
    })
}

fn nothing(model: &Model) -> RecallError {
    RecallError::EmbeddingFailed {
        model: model.name.clone(),
        source: "it gave no vector".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inference_that_panics_fails_alone() {
        let error = survive::<()>("small", || panic!("a secret")).unwrap_err();
        assert!(matches!(&error, RecallError::EmbeddingFailed { model, .. } if model == "small"));
        assert!(!format!("{error:?}").contains("secret"));
        assert_eq!(survive("small", || Ok(1)).unwrap(), 1);
    }
}
