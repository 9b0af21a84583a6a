//! Embeds texts: with a model in this process, or with one behind an endpoint.

use std::borrow::Cow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use crate::endpoint::Endpoint;
use crate::error::EmbedError;
use crate::input::Input;
use crate::kind::Kind;
use crate::model::{Model, Network};
use crate::vectors::TenantText;

/// A model that embeds.
pub(crate) struct Engine {
    model: String,
    input: Input,
    source: Source,
}

enum Source {
    /// In this process; it blocks its thread.
    Local(Network),
    /// Behind an endpoint; it waits.
    Endpoint(Arc<Endpoint>),
}

impl Engine {
    /// Loads a model into this process and runs a first inference, which is the slowest. Returns
    /// also the dimensions of its vectors.
    pub(crate) async fn load(
        model: &Model,
        input: Input,
        threads: usize,
    ) -> Result<(Self, usize), EmbedError> {
        let mut engine = Self {
            model: model.name.clone(),
            input,
            source: Source::Local(model.load(threads)?),
        };
        let words = TenantText::from("The first words.");
        let vectors = engine.embed(&[&words], Kind::WarmUp).await?;
        match vectors.first().map_or(0, Vec::len) {
            0 => Err(no_vector(&engine.model)),
            dimensions => Ok((engine, dimensions)),
        }
    }

    pub(crate) fn of_endpoint(model: String, input: Input, endpoint: Arc<Endpoint>) -> Self {
        Self {
            model,
            input,
            source: Source::Endpoint(endpoint),
        }
    }

    /// Embeds texts as vectors of length 1, one for each.
    pub(crate) async fn embed(
        &mut self,
        texts: &[&TenantText],
        kind: Kind,
    ) -> Result<Vec<Vec<f32>>, EmbedError> {
        let started = Instant::now();
        let is_query = kind == Kind::Query;
        let input = &self.input;
        let vectors = match &mut self.source {
            Source::Local(network) => {
                let given: Vec<_> = texts
                    .iter()
                    .map(|one| input.prefixed(&one.text, is_query))
                    .collect();
                infer(&self.model, network, &given)?
            }
            Source::Endpoint(endpoint) => {
                let given = texts.iter().map(|one| TenantText {
                    tenant: one.tenant.clone(),
                    text: input.prefixed(&one.text, is_query).into_owned(),
                });
                endpoint.embed(given.collect(), kind).await?
            }
        };
        if vectors.len() != texts.len() {
            return Err(no_vector(&self.model));
        }
        metrics::histogram!("recollect_embed_seconds", "kind" => kind.label())
            .record(started.elapsed().as_secs_f64());
        metrics::histogram!("recollect_embed_batch_size", "kind" => kind.label())
            .record(texts.len() as f64);
        Ok(vectors)
    }
}

fn infer(
    model: &str,
    network: &mut Network,
    texts: &[Cow<'_, str>],
) -> Result<Vec<Vec<f32>>, EmbedError> {
    catch_panic(model, || {
        let texts: Vec<&str> = texts.iter().map(|text| &**text).collect();
        let found = match network {
            Network::Local(session) => session.embed(&texts),
            Network::Hub(session) => session.embed(&texts, None).map_err(Into::into),
        };
        found.map_err(|source| EmbedError::InferenceFailed {
            model: model.to_owned(),
            source,
        })
    })
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

fn no_vector(model: &str) -> EmbedError {
    EmbedError::InferenceFailed {
        model: model.to_owned(),
        source: "it did not return one vector for each text".into(),
    }
}

/// Describes this crate's metrics to the global recorder.
pub fn describe_metrics() {
    metrics::describe_histogram!(
        "recollect_embed_seconds",
        metrics::Unit::Seconds,
        "Duration of one inference of the embedding model, or of one request to its endpoint with \
         its repetitions, by kind: query, document or warm_up."
    );
    metrics::describe_histogram!(
        "recollect_embed_batch_size",
        metrics::Unit::Count,
        "Texts in one inference or request of the embedding model, by kind: query, document or \
         warm_up."
    );
    crate::endpoint::describe_metrics();
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
