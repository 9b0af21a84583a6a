//! Runs the embedding model on its own threads.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError, mpsc as std_mpsc};
use std::thread;
use std::time::Instant;

use fastembed::TextEmbedding;
use memory_runtime::{error_chain, lower_thread_priority};
use tokio::sync::{mpsc, oneshot};

use crate::error::EmbedError;
use crate::model::Model;
use crate::vectors::{TenantText, Vectors};

/// Most queries in one inference.
const QUERIES: usize = 16;
/// Queries are embedded together if the longest has at most this many times the bytes of the
/// shortest, or of [`SHORT`].
const SIMILAR: usize = 2;
const SHORT: usize = 64;
/// Two vectors count as equal if no number differs by more.
const EQUAL: f32 = 1e-4;

/// What an inference embeds.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Query,
    Document,
    WarmUp,
}

impl Kind {
    /// The label of metrics.
    fn label(self) -> &'static str {
        match self {
            Self::Query => "query",
            Self::Document => "document",
            Self::WarmUp => "warm_up",
        }
    }
}

/// A request to a thread.
pub(crate) struct Job<I, O> {
    pub(crate) input: I,
    pub(crate) reply: oneshot::Sender<Result<O, EmbedError>>,
}

/// The requests that wait for one of the threads that share them.
pub(crate) type Jobs<I, O> = Arc<Mutex<mpsc::Receiver<Job<I, O>>>>;

/// A batch of documents to embed.
pub(crate) type DocumentJob = Job<Texts, Vec<Vec<f32>>>;

type Texts = Vec<TenantText>;

/// The work of one thread.
pub(crate) trait Work: Send + 'static {
    type Input: Send;
    type Output: Send;
    const NAME: &'static str;
    fn model(&self) -> &Model;
    fn threads(&self) -> usize;
    fn lower_priority(&self) {}
    /// Called once, after the model is loaded.
    fn begin(&mut self, _model: &mut TextEmbedding) -> Result<(), EmbedError> {
        Ok(())
    }
    /// Answers a request, and others of `waiting` as it sees fit.
    fn answer(
        &self,
        model: &mut TextEmbedding,
        first: Job<Self::Input, Self::Output>,
        waiting: &Jobs<Self::Input, Self::Output>,
    );
}

/// Embeds queries. Waiting queries are embedded together, unless the vectors depend on the batch, as
/// with dynamically quantized models.
pub(crate) struct Queries {
    model: Model,
    threads: usize,
    /// Most queries in one inference.
    batch: usize,
}

/// Embeds documents in batches of similar length, because each text costs as much as
/// the longest in its batch. Texts that a search waits for come before each batch, and
/// urgent documents before each batch of others.
pub(crate) struct Documents {
    pub(crate) model: Model,
    pub(crate) threads: usize,
    pub(crate) batch: usize,
    pub(crate) vectors: Vectors,
    pub(crate) urgent: Jobs<Vec<TenantText>, Vec<Vec<f32>>>,
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

    /// Embeds two queries together and alone, to find out whether a batch changes the vectors.
    fn begin(&mut self, model: &mut TextEmbedding) -> Result<(), EmbedError> {
        let texts = ["Who?", "When did they last go to the mountains together?"];
        let together = infer(&self.model, model, &texts, Kind::WarmUp)?;
        let mut alone = Vec::new();
        for text in texts {
            alone.extend(infer(&self.model, model, &[text], Kind::WarmUp)?);
        }
        let is_equal = |(one, other): (&f32, &f32)| (one - other).abs() < EQUAL;
        let mut numbers = together.iter().flatten().zip(alone.iter().flatten());
        if together.len() == alone.len() && numbers.all(is_equal) {
            self.batch = QUERIES;
        }
        Ok(())
    }

    fn answer(
        &self,
        model: &mut TextEmbedding,
        first: Job<String, Vec<f32>>,
        waiting: &Jobs<String, Vec<f32>>,
    ) {
        let mut jobs = vec![first];
        {
            let mut waiting = waiting.lock().unwrap_or_else(PoisonError::into_inner);
            while jobs.len() < self.batch
                && let Ok(job) = waiting.try_recv()
            {
                jobs.push(job);
            }
        }
        // The callers may have timed out.
        jobs.retain(|job| !job.reply.is_closed());
        // A text costs as much as the longest in its batch.
        jobs.sort_by_key(|job| job.input.len());
        while !jobs.is_empty() {
            let longest = SIMILAR * jobs[0].input.len().max(SHORT);
            let similar = jobs.partition_point(|job| job.input.len() <= longest);
            let others = jobs.split_off(similar);
            self.embed_together(model, std::mem::replace(&mut jobs, others));
        }
    }
}

impl Queries {
    pub(crate) fn new(model: Model, threads: usize) -> Self {
        Self {
            model,
            threads,
            batch: 1,
        }
    }

    fn embed_together(&self, model: &mut TextEmbedding, jobs: Vec<Job<String, Vec<f32>>>) {
        if jobs.len() > 1 {
            let texts: Vec<&str> = jobs.iter().map(|job| job.input.as_str()).collect();
            if let Ok(vectors) = infer(&self.model, model, &texts, Kind::Query)
                && vectors.len() == jobs.len()
            {
                for (job, vector) in jobs.into_iter().zip(vectors) {
                    let _ = job.reply.send(Ok(vector));
                }
                return;
            }
        }
        // A query that cannot be embedded fails alone.
        for Job { input, reply } in jobs {
            let _ = reply.send(self.embed(model, &input));
        }
    }

    fn embed(&self, model: &mut TextEmbedding, text: &str) -> Result<Vec<f32>, EmbedError> {
        let mut vectors = infer(&self.model, model, &[text], Kind::Query)?;
        vectors.pop().ok_or_else(|| no_vector(&self.model))
    }
}

impl Work for Documents {
    type Input = Texts;
    type Output = Vec<Vec<f32>>;
    const NAME: &'static str = "embed-documents";

    fn model(&self) -> &Model {
        &self.model
    }

    fn threads(&self) -> usize {
        self.threads
    }

    /// Called before the model is loaded, because the model's own threads inherit the
    /// priority.
    fn lower_priority(&self) {
        lower_thread_priority();
    }

    fn answer(
        &self,
        model: &mut TextEmbedding,
        first: DocumentJob,
        _: &Jobs<Texts, Vec<Vec<f32>>>,
    ) {
        // Also for a request that only wakes the thread.
        self.embed_first(model);
        let Job { input, reply } = first;
        if !reply.is_closed() {
            let _ = reply.send(self.embed_all(model, input, Self::embed_first));
        }
    }
}

impl Documents {
    /// Embeds the texts that searches wait for, and urgent documents.
    fn embed_first(&self, model: &mut TextEmbedding) {
        self.embed_requested(model);
        while let Some(Job { input, reply }) = self.next_urgent() {
            if !reply.is_closed() {
                let _ = reply.send(self.embed_all(model, input, Self::embed_requested));
            }
        }
    }

    /// Embeds the texts that searches wait for.
    fn embed_requested(&self, model: &mut TextEmbedding) {
        while let Some(request) = self.vectors.next() {
            let texts = request.texts.iter();
            let missing: Vec<&TenantText> =
                texts.filter(|text| self.known(text).is_none()).collect();
            for batch in missing.chunks(self.batch) {
                if request.done.is_closed() && !request.always {
                    break;
                }
                if let Err(error) = self.embed_batch(model, batch) {
                    // The search matches these by word.
                    tracing::warn!(%error, "embedding the newest documents failed");
                }
            }
        }
    }

    fn known(&self, of: &TenantText) -> Option<Vec<f32>> {
        self.vectors.get(of.tenant.as_ref(), &of.text)
    }

    fn next_urgent(&self) -> Option<DocumentJob> {
        let mut urgent = self.urgent.lock().unwrap_or_else(PoisonError::into_inner);
        urgent.try_recv().ok()
    }

    /// Embeds documents; `first` is called before each batch.
    fn embed_all(
        &self,
        model: &mut TextEmbedding,
        texts: Vec<TenantText>,
        first: impl Fn(&Self, &mut TextEmbedding),
    ) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut vectors: Vec<Option<Vec<f32>>> =
            texts.iter().map(|text| self.known(text)).collect();
        let mut order: Vec<usize> = (0..texts.len())
            .filter(|&place| vectors[place].is_none())
            .collect();
        order.sort_by_key(|&place| texts[place].text.len());
        for places in order.chunks(self.batch) {
            first(self, model);
            let batch: Vec<&TenantText> = places.iter().map(|&place| &texts[place]).collect();
            for (&place, vector) in places.iter().zip(self.embed_batch(model, &batch)?) {
                vectors[place] = Some(vector);
            }
        }
        let vectors = vectors.into_iter().collect::<Option<_>>();
        vectors.ok_or_else(|| no_vector(&self.model))
    }

    /// Embeds one batch, and keeps the vectors.
    fn embed_batch(
        &self,
        model: &mut TextEmbedding,
        texts: &[&TenantText],
    ) -> Result<Vec<Vec<f32>>, EmbedError> {
        let plain: Vec<&str> = texts.iter().map(|one| one.text.as_str()).collect();
        let found = infer(&self.model, model, &plain, Kind::Document)?;
        if found.len() != texts.len() {
            return Err(no_vector(&self.model));
        }
        for (text, vector) in texts.iter().zip(&found) {
            self.vectors.put(text, vector);
        }
        Ok(found)
    }
}

/// Describes this crate's metrics to the global recorder.
pub fn describe_metrics() {
    metrics::describe_histogram!(
        "recollect_embed_seconds",
        metrics::Unit::Seconds,
        "Duration of one inference of the embedding model, by kind: query, document or warm_up."
    );
    metrics::describe_histogram!(
        "recollect_embed_batch_size",
        metrics::Unit::Count,
        "Texts in one inference of the embedding model, by kind: query, document or warm_up."
    );
}

/// A model that a thread loads.
pub(crate) struct Loading(std_mpsc::Receiver<Result<usize, EmbedError>>);

impl Loading {
    /// Waits until the model is loaded, and returns the dimensions of its vectors.
    pub(crate) fn dimensions(self) -> Result<usize, EmbedError> {
        self.0.recv().map_err(|_| EmbedError::Stopped)?
    }
}

/// Starts a thread, which loads the model and then answers requests. If it cannot load the model,
/// it logs why and ends.
pub(crate) fn start<W: Work>(
    mut work: W,
    jobs: Jobs<W::Input, W::Output>,
) -> Result<Loading, EmbedError> {
    let (ready, loaded) = std_mpsc::channel();
    let name = work.model().name.clone();
    thread::Builder::new()
        .name(W::NAME.to_owned())
        .spawn(move || {
            work.lower_priority();
            let mut model = match load(&mut work) {
                Ok((model, dimensions)) => {
                    let _ = ready.send(Ok(dimensions));
                    model
                }
                Err(error) => {
                    tracing::error!(
                        error = error_chain(&error),
                        thread = W::NAME,
                        "the embedding model cannot be loaded; start the service again"
                    );
                    let _ = ready.send(Err(error));
                    return;
                }
            };
            while let Some(job) = next(&jobs) {
                work.answer(&mut model, job, &jobs);
            }
        })
        .map_err(|source| EmbedError::ModelBroken {
            model: name,
            source: source.into(),
        })?;
    Ok(Loading(loaded))
}

/// Waits for the next request; `None` after the last sender is dropped.
fn next<I, O>(jobs: &Jobs<I, O>) -> Option<Job<I, O>> {
    jobs.lock()
        .unwrap_or_else(PoisonError::into_inner)
        .blocking_recv()
}

/// Loads the model and runs a first inference, which is the slowest.
fn load<W: Work>(work: &mut W) -> Result<(TextEmbedding, usize), EmbedError> {
    let started = Instant::now();
    let mut model = work.model().load(work.threads())?;
    let vectors = infer(
        work.model(),
        &mut model,
        &["The first words."],
        Kind::WarmUp,
    )?;
    let dimensions = vectors.first().map_or(0, Vec::len);
    if dimensions == 0 {
        return Err(no_vector(work.model()));
    }
    work.begin(&mut model)?;
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
    kind: Kind,
) -> Result<Vec<Vec<f32>>, EmbedError> {
    let started = Instant::now();
    let is_query = kind == Kind::Query;
    let texts: Vec<_> = texts
        .iter()
        .map(|text| model.prefixed(text, is_query))
        .collect();
    // fastembed embeds with a dynamically quantized model only in one batch.
    let vectors = catch_panic(&model.name, || {
        let found = session.embed(&texts, Some(texts.len()));
        found.map_err(|source| EmbedError::InferenceFailed {
            model: model.name.clone(),
            source: source.into(),
        })
    })?;
    metrics::histogram!("recollect_embed_seconds", "kind" => kind.label())
        .record(started.elapsed().as_secs_f64());
    metrics::histogram!("recollect_embed_batch_size", "kind" => kind.label())
        .record(texts.len() as f64);
    Ok(vectors)
}

/// Runs an inference. A panic fails this inference alone.
fn catch_panic<T>(
    model: &str,
    inference: impl FnOnce() -> Result<T, EmbedError>,
) -> Result<T, EmbedError> {
    // A session keeps no state between inferences.
    catch_unwind(AssertUnwindSafe(inference)).unwrap_or_else(|_| {
        // The panic message may contain message text, so it is dropped.
        Err(EmbedError::InferenceFailed {
            model: model.to_owned(),
            source: "it panicked".into(),
        })
    })
}

fn no_vector(model: &Model) -> EmbedError {
    EmbedError::InferenceFailed {
        model: model.name.clone(),
        source: "it returned no vector".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_inference_that_panics_fails_alone() {
        let error = catch_panic::<()>("small", || panic!("a secret")).unwrap_err();
        assert!(matches!(&error, EmbedError::InferenceFailed { model, .. } if model == "small"));
        assert!(!format!("{error:?}").contains("secret"));
        assert_eq!(catch_panic("small", || Ok(1)).unwrap(), 1);
    }
}
