//! Answers requests one after the other with an engine: on a thread of its own, or in a task.

use std::sync::{Arc, mpsc as std_mpsc};
use std::thread;
use std::time::Instant;

use futures::FutureExt as _;
use futures::executor::block_on;
use futures::future::BoxFuture;
use memory_runtime::{error_chain, lower_thread_priority};
use tokio::runtime::Handle;
use tokio::sync::{Mutex, mpsc, oneshot, watch};

use crate::engine::Engine;
use crate::error::EmbedError;
use crate::input::Input;
use crate::kind::Kind;
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

/// A request to a worker.
pub(crate) struct Job<I, O> {
    pub(crate) input: I,
    pub(crate) reply: oneshot::Sender<Result<O, EmbedError>>,
}

/// The requests that wait for one of the workers that share them.
pub(crate) type Jobs<I, O> = Arc<Mutex<mpsc::Receiver<Job<I, O>>>>;

/// A batch of documents to embed.
pub(crate) type DocumentJob = Job<Texts, Vec<Vec<f32>>>;

type Texts = Vec<TenantText>;

/// The work of one worker.
pub(crate) trait Work: Send + Sync + 'static {
    type Input: Send;
    type Output: Send;
    const NAME: &'static str;
    /// Called before a model is loaded, because the model's own threads inherit the priority.
    fn lower_priority(&self) {}
    /// Called once, after a model is loaded.
    fn begin(
        &mut self,
        _engine: &mut Engine,
    ) -> impl Future<Output = Result<(), EmbedError>> + Send {
        async { Ok(()) }
    }
    /// Answers a request, and others of `waiting` as it sees fit.
    fn answer(
        &self,
        engine: &mut Engine,
        first: Job<Self::Input, Self::Output>,
        waiting: &Jobs<Self::Input, Self::Output>,
    ) -> impl Future<Output = ()> + Send;
}

/// Embeds queries. Waiting queries are embedded together, unless the vectors depend on the batch, as
/// with dynamically quantized models, or the model is behind an endpoint, which several workers ask
/// at once.
pub(crate) struct Queries {
    /// Most queries in one inference.
    batch: usize,
}

/// Embeds documents in batches of similar length, because each text costs as much as
/// the longest in its batch. Texts that a search waits for come before each batch, and
/// urgent documents before each batch of others.
#[derive(Clone)]
pub(crate) struct Documents {
    /// Most documents in one inference or request.
    pub(crate) batch: usize,
    pub(crate) vectors: Vectors,
    pub(crate) urgent: Jobs<Texts, Vec<Vec<f32>>>,
}

impl Work for Queries {
    type Input = TenantText;
    type Output = Vec<f32>;
    const NAME: &'static str = "embed-queries";

    /// Embeds two queries together and alone, to find out whether a batch changes the vectors.
    async fn begin(&mut self, engine: &mut Engine) -> Result<(), EmbedError> {
        let texts = ["Who?", "When did they last go to the mountains together?"];
        let texts = texts.map(TenantText::from);
        let together = engine.embed(&texts.each_ref(), Kind::WarmUp).await?;
        let mut alone = Vec::new();
        for text in &texts {
            alone.extend(engine.embed(&[text], Kind::WarmUp).await?);
        }
        let is_equal = |(one, other): (&f32, &f32)| (one - other).abs() < EQUAL;
        let mut numbers = together.iter().flatten().zip(alone.iter().flatten());
        if numbers.all(is_equal) {
            self.batch = QUERIES;
        }
        Ok(())
    }

    async fn answer(
        &self,
        engine: &mut Engine,
        first: Job<TenantText, Vec<f32>>,
        waiting: &Jobs<TenantText, Vec<f32>>,
    ) {
        let mut jobs = vec![first];
        // Where it is locked, another worker waits for the next query.
        if let Ok(mut waiting) = waiting.try_lock() {
            while jobs.len() < self.batch
                && let Ok(job) = waiting.try_recv()
            {
                jobs.push(job);
            }
        }
        // The callers may have timed out.
        jobs.retain(|job| !job.reply.is_closed());
        // A text costs as much as the longest in its batch.
        jobs.sort_by_key(|job| job.input.text.len());
        while !jobs.is_empty() {
            let longest = SIMILAR * jobs[0].input.text.len().max(SHORT);
            let similar = jobs.partition_point(|job| job.input.text.len() <= longest);
            let others = jobs.split_off(similar);
            embed_together(engine, std::mem::replace(&mut jobs, others)).await;
        }
    }
}

impl Queries {
    pub(crate) fn new() -> Self {
        Self { batch: 1 }
    }
}

async fn embed_together(engine: &mut Engine, jobs: Vec<Job<TenantText, Vec<f32>>>) {
    if jobs.len() > 1 {
        let texts: Vec<&TenantText> = jobs.iter().map(|job| &job.input).collect();
        if let Ok(vectors) = engine.embed(&texts, Kind::Query).await {
            for (job, vector) in jobs.into_iter().zip(vectors) {
                let _ = job.reply.send(Ok(vector));
            }
            return;
        }
    }
    // A query that cannot be embedded fails alone.
    for Job { input, reply } in jobs {
        let embedded = engine.embed(&[&input], Kind::Query).await;
        let _ = reply.send(embedded.map(|mut vectors| vectors.pop().unwrap_or_default()));
    }
}

impl Work for Documents {
    type Input = Texts;
    type Output = Vec<Vec<f32>>;
    const NAME: &'static str = "embed-documents";

    fn lower_priority(&self) {
        lower_thread_priority();
    }

    async fn answer(
        &self,
        engine: &mut Engine,
        first: DocumentJob,
        _: &Jobs<Texts, Vec<Vec<f32>>>,
    ) {
        // Also for a request that only wakes the worker.
        self.embed_first(engine).await;
        let Job { input, reply } = first;
        if !reply.is_closed() {
            let _ = reply.send(self.embed_all(engine, input, First::Urgent).await);
        }
    }
}

/// What comes before each batch of documents.
#[derive(Clone, Copy)]
enum First {
    /// Texts that searches wait for.
    Requested,
    /// These, and urgent documents.
    Urgent,
}

impl Documents {
    /// Embeds the texts that searches wait for, and urgent documents.
    fn embed_first<'a>(&'a self, engine: &'a mut Engine) -> BoxFuture<'a, ()> {
        async move {
            self.embed_requested(engine).await;
            while let Some(Job { input, reply }) = self.next_urgent().await {
                if !reply.is_closed() {
                    let _ = reply.send(self.embed_all(engine, input, First::Requested).await);
                }
            }
        }
        .boxed()
    }

    /// Embeds the texts that searches wait for.
    async fn embed_requested(&self, engine: &mut Engine) {
        while let Some(request) = self.vectors.next() {
            let texts = request.texts.iter();
            let missing: Vec<&TenantText> =
                texts.filter(|text| self.known(text).is_none()).collect();
            for batch in missing.chunks(self.batch) {
                if request.done.is_closed() && !request.always {
                    break;
                }
                if let Err(error) = self.embed_batch(engine, batch).await {
                    // The search matches these by word.
                    tracing::warn!(
                        error = error_chain(&error),
                        "embedding the newest documents failed"
                    );
                    if error.retryable() {
                        break;
                    }
                }
            }
        }
    }

    fn known(&self, of: &TenantText) -> Option<Vec<f32>> {
        self.vectors
            .get(&self.vectors.key(of.tenant.as_ref(), &of.text))
    }

    async fn next_urgent(&self) -> Option<DocumentJob> {
        self.urgent.lock().await.try_recv().ok()
    }

    /// Embeds documents.
    async fn embed_all(
        &self,
        engine: &mut Engine,
        texts: Vec<TenantText>,
        first: First,
    ) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut vectors: Vec<Option<Vec<f32>>> =
            texts.iter().map(|text| self.known(text)).collect();
        let mut order: Vec<usize> = (0..texts.len())
            .filter(|&place| vectors[place].is_none())
            .collect();
        order.sort_by_key(|&place| texts[place].text.len());
        for places in order.chunks(self.batch) {
            match first {
                First::Requested => self.embed_requested(engine).await,
                First::Urgent => self.embed_first(engine).await,
            }
            let batch: Vec<&TenantText> = places.iter().map(|&place| &texts[place]).collect();
            for (&place, vector) in places.iter().zip(self.embed_batch(engine, &batch).await?) {
                vectors[place] = Some(vector);
            }
        }
        // Each place was known or in a batch.
        Ok(vectors.into_iter().flatten().collect())
    }

    /// Embeds one batch, and keeps the vectors.
    async fn embed_batch(
        &self,
        engine: &mut Engine,
        texts: &[&TenantText],
    ) -> Result<Vec<Vec<f32>>, EmbedError> {
        let found = engine.embed(texts, Kind::Document).await?;
        for (text, vector) in texts.iter().zip(&found) {
            self.vectors.put(text, vector);
        }
        Ok(found)
    }
}

/// A model that a thread loads.
pub(crate) struct Loading(std_mpsc::Receiver<Result<usize, EmbedError>>);

impl Loading {
    /// Waits until the model is loaded, and returns the dimensions of its vectors.
    pub(crate) fn dimensions(self) -> Result<usize, EmbedError> {
        self.0.recv().map_err(|_| EmbedError::Stopped)?
    }
}

/// How a thread gets its model.
#[derive(Clone)]
pub(crate) struct Loader {
    pub(crate) model: Model,
    pub(crate) input: Input,
    /// Threads of ONNX Runtime.
    pub(crate) threads: usize,
}

/// Starts a worker on a thread, which loads its model once at least `rank` workers of its kind are
/// wanted. If it cannot load the model, it logs why and ends.
pub(crate) fn start<W: Work>(
    mut work: W,
    loader: Loader,
    jobs: Jobs<W::Input, W::Output>,
    mut wanted: watch::Receiver<usize>,
    rank: usize,
) -> Result<Loading, EmbedError> {
    let (ready, loaded) = std_mpsc::channel();
    let model = loader.model.name.clone();
    let run = async move {
        if wanted.wait_for(|wanted| *wanted >= rank).await.is_err() {
            return;
        }
        work.lower_priority();
        let mut engine = match load(&mut work, &loader).await {
            Ok((engine, dimensions)) => {
                let _ = ready.send(Ok(dimensions));
                engine
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
        serve(&work, &mut engine, &jobs).await;
    };
    thread::Builder::new()
        .name(W::NAME.to_owned())
        .spawn(move || block_on(run))
        .map_err(|source| EmbedError::ModelBroken {
            model,
            source: source.into(),
        })?;
    Ok(Loading(loaded))
}

/// Starts a worker in a task.
pub(crate) fn spawn<W: Work>(
    runtime: &Handle,
    work: W,
    mut engine: Engine,
    jobs: Jobs<W::Input, W::Output>,
) {
    runtime.spawn(async move { serve(&work, &mut engine, &jobs).await });
}

/// Answers requests until the last sender is dropped.
async fn serve<W: Work>(work: &W, engine: &mut Engine, jobs: &Jobs<W::Input, W::Output>) {
    loop {
        let next = jobs.lock().await.recv().await;
        let Some(job) = next else { return };
        work.answer(engine, job, jobs).await;
    }
}

/// Loads the model.
async fn load<W: Work>(work: &mut W, loader: &Loader) -> Result<(Engine, usize), EmbedError> {
    let started = Instant::now();
    let input = loader.input.clone();
    let (mut engine, dimensions) = Engine::load(&loader.model, input, loader.threads).await?;
    work.begin(&mut engine).await?;
    tracing::debug!(
        model = loader.model.name,
        thread = W::NAME,
        duration_ms = started.elapsed().as_millis() as u64,
        "embedding model loaded"
    );
    Ok((engine, dimensions))
}
