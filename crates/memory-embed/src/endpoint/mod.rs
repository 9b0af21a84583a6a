//! A model behind an endpoint of OpenAI's form: OpenAI, Azure, Ollama, vLLM, Text Embeddings
//! Inference, LiteLLM.

mod answer;
pub(crate) mod error;
mod http;
mod lane;

use std::ops::Range;
use std::time::Duration;

use memory_runtime::error_chain;
use tokio::time::{Instant, timeout};

use self::error::EndpointError;
use self::http::Http;
use self::lane::Lane;
use crate::config::EmbedderConfig;
use crate::error::EmbedError;
use crate::kind::Kind;
use crate::profile::Profile;
use crate::usage::UsageCounter;
use crate::vectors::TenantText;

/// Sent to find out what the endpoint answers, and whether it answers.
const PROBE: &str = "The first words.";
/// How long the start waits for an endpoint whose dimensions are known.
const KNOWN_TIMEOUT: Duration = Duration::from_secs(5);
/// How long it waits for one whose dimensions are not known.
const UNKNOWN_TIMEOUT: Duration = Duration::from_secs(30);
/// How often a text that is too long for the model is halved.
const HALVINGS: usize = 2;

/// A model behind an endpoint.
pub(crate) struct Endpoint {
    http: Http,
    model: String,
    dimensions: usize,
    queries: Lane,
    documents: Lane,
    usage: UsageCounter,
}

impl Endpoint {
    /// Opens an endpoint, and asks it once for a vector.
    pub(crate) async fn open(
        config: &EmbedderConfig,
        profile: &Profile,
    ) -> Result<Self, EmbedError> {
        let set = (config.dimensions > 0).then_some(config.dimensions);
        let is_shortened = profile.can_shorten && set != profile.dimensions;
        let http = Http::new(config, set.filter(|_| is_shortened))?;
        let dimensions = match set.or(profile.dimensions) {
            Some(known) => known_dimensions(&http, known).await?,
            None => unknown_dimensions(&http, config).await?,
        };
        Ok(Self {
            http,
            model: config.model.clone(),
            dimensions,
            queries: Lane::new(&config.calls, config.query_timeout),
            documents: Lane::new(&config.calls, config.calls.total_timeout),
            usage: UsageCounter::default(),
        })
    }

    pub(crate) fn dimensions(&self) -> usize {
        self.dimensions
    }

    /// What it has charged.
    pub(crate) fn usage(&self) -> UsageCounter {
        self.usage.clone()
    }

    /// Embeds texts as vectors of length 1.
    pub(crate) async fn embed(
        &self,
        texts: Vec<TenantText>,
        kind: Kind,
    ) -> Result<Vec<Vec<f32>>, EmbedError> {
        let lane = match kind {
            Kind::Query => &self.queries,
            Kind::Document | Kind::WarmUp => &self.documents,
        };
        let embedded = match self.embed_in_parts(lane, texts, kind).await {
            Err(error) if kind == Kind::Document => Err(self.explained(error).await),
            embedded => embedded,
        };
        embedded.map_err(|source| EmbedError::Endpoint {
            model: self.model.clone(),
            source,
        })
    }

    /// Embeds texts with one request, or with more where the endpoint says that it is too long:
    /// first fewer texts at a time, then the beginning of a text.
    async fn embed_in_parts(
        &self,
        lane: &Lane,
        mut texts: Vec<TenantText>,
        kind: Kind,
    ) -> Result<Vec<Vec<f32>>, EndpointError> {
        let end = lane.end();
        let mut vectors = Vec::with_capacity(texts.len());
        let mut parts: Vec<Range<usize>> = std::iter::once(0..texts.len()).collect();
        let mut halvings = 0;
        while let Some(part) = parts.pop() {
            match self.ask(lane, end, &texts[part.clone()], kind).await {
                Ok(found) => {
                    vectors.extend(found);
                    halvings = 0;
                }
                Err(EndpointError::TooLong) if part.len() > 1 => {
                    let middle = part.start + part.len() / 2;
                    parts.extend([middle..part.end, part.start..middle]);
                }
                Err(EndpointError::TooLong) if halvings < HALVINGS => {
                    halvings += 1;
                    let text = &mut texts[part.start].text;
                    text.truncate(text.floor_char_boundary(text.len() / 2));
                    parts.push(part);
                }
                Err(error) => return Err(error),
            }
        }
        Ok(vectors)
    }

    async fn ask(
        &self,
        lane: &Lane,
        end: Instant,
        texts: &[TenantText],
        kind: Kind,
    ) -> Result<Vec<Vec<f32>>, EndpointError> {
        let answer = lane
            .attempt(end, || self.http.embed(texts, Some(self.dimensions)))
            .await
            .inspect_err(|error| {
                if error.was_sent() {
                    self.usage.count(texts, None);
                }
                metrics::counter!("recollect_embed_failures_total", "kind" => kind.label())
                    .increment(1);
            })?;
        self.usage.count(texts, Some(answer.tokens));
        metrics::counter!("recollect_embed_tokens_total", "kind" => kind.label())
            .increment(answer.tokens);
        Ok(answer.vectors)
    }

    /// Finds out whether one of the texts is the cause of an error, by embedding another one: a
    /// change that fails during an outage waits, but one that can never be indexed must not hold
    /// up the others.
    async fn explained(&self, error: EndpointError) -> EndpointError {
        if !error.may_be_of_text() {
            return error;
        }
        let (lane, probe) = (&self.documents, [PROBE.into()]);
        match self.ask(lane, lane.end(), &probe, Kind::WarmUp).await {
            Ok(_) => EndpointError::OneText {
                source: Box::new(error),
            },
            Err(_) => error,
        }
    }
}

/// Compares the dimensions that are known with those of the endpoint, if it answers. Otherwise the
/// server starts without it.
async fn known_dimensions(http: &Http, known: usize) -> Result<usize, EmbedError> {
    let probe = [PROBE.into()];
    let asked = timeout(KNOWN_TIMEOUT, http.embed(&probe, Some(known))).await;
    let after = KNOWN_TIMEOUT;
    match asked.unwrap_or(Err(EndpointError::Timeout { after })) {
        Ok(_) => {}
        Err(EndpointError::Dimensions { expected, found }) => {
            return Err(EmbedError::Config {
                key: "embedding.dimensions",
                problem: format!(
                    "the vectors of embedding.endpoint have {found} numbers, not {expected}: set \
                     it to {found}, or choose another embedding.model"
                ),
            });
        }
        Err(error) => tracing::warn!(
            error = error_chain(&error),
            "embedding.endpoint does not embed yet; until it does, recall matches by word, and \
             changes wait to be indexed"
        ),
    }
    Ok(known)
}

async fn unknown_dimensions(http: &Http, config: &EmbedderConfig) -> Result<usize, EmbedError> {
    let (lane, probe) = (Lane::new(&config.calls, UNKNOWN_TIMEOUT), [PROBE.into()]);
    let asked = lane.attempt(lane.end(), || http.embed(&probe, None)).await;
    let vectors = asked.map(|answer| answer.vectors);
    match vectors {
        Ok(vectors) => Ok(vectors.first().map_or(0, Vec::len)),
        Err(error) => Err(EmbedError::Config {
            key: "embedding.dimensions",
            problem: format!(
                "is unset, embedding.model is not a well-known model, and embedding.endpoint did \
                 not tell ({}): set it to the length of the model's vectors",
                error_chain(&error)
            ),
        }),
    }
}

/// Describes the metrics of endpoints to the global recorder.
pub(crate) fn describe_metrics() {
    metrics::describe_counter!(
        "recollect_embed_tokens_total",
        "Tokens that the endpoint of the embedding model has charged, by kind: query, document or \
         warm_up."
    );
    metrics::describe_counter!(
        "recollect_embed_failures_total",
        "Requests that the endpoint of the embedding model did not answer after all attempts, by \
         kind: query, document or warm_up."
    );
}
