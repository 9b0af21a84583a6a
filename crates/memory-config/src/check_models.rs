//! Checks the configuration of language models and embedding models.

use std::sync::Arc;
use std::time::Duration;

use memory_distill::{Distiller, Provider, UnlimitedTokens};
use memory_embed::{EmbedderConfig, EmbedderKind};

use crate::check::{HOUR, SECOND, count, span};
use crate::config::Config;
use crate::error::ConfigError;

fn check_embedding(section: &str, embedding: &EmbedderConfig) -> Result<(), ConfigError> {
    let key = |name: &str| format!("{section}.{name}");
    if embedding.model.is_empty() || embedding.model.len() > 128 {
        return Err(ConfigError::value(
            &key("model"),
            "must be 1 to 128 characters",
        ));
    }
    for (name, value, range) in [
        ("query_threads", embedding.query_threads, 1..=256),
        ("document_threads", embedding.document_threads, 1..=256),
        ("document_sessions", embedding.document_sessions, 1..=64),
        ("batch_size", embedding.batch_size, 0..=1_024),
        ("dimensions", embedding.dimensions, 0..=16_384),
        ("query_queue", embedding.query_queue, 1..=100_000),
    ] {
        count(&key(name), value, range)?;
    }
    if embedding.max_length != 0 {
        count(&key("max_length"), embedding.max_length, 8..=8_192)?;
    }
    let pause = Duration::from_millis(1)..=HOUR;
    span(&key("query_timeout"), embedding.query_timeout, pause)?;
    check_embedding_calls(section, embedding)
}

/// Checks how an embedding model behind an endpoint is called.
fn check_embedding_calls(section: &str, embedding: &EmbedderConfig) -> Result<(), ConfigError> {
    let key = |name: &str| format!("{section}.{name}");
    let calls = &embedding.calls;
    count(&key("calls.max_queries"), calls.max_queries, 1..=1_000)?;
    count(&key("calls.max_attempts"), calls.max_attempts, 1..=20)?;
    count(
        &key("calls.breaker_failures"),
        calls.breaker_failures as usize,
        1..=1_000,
    )?;
    let pause = Duration::from_millis(1)..=HOUR;
    for (name, value, range) in [
        ("calls.timeout", calls.timeout, SECOND..=HOUR),
        ("calls.total_timeout", calls.total_timeout, SECOND..=HOUR),
        ("calls.first_pause", calls.first_pause, pause.clone()),
        (
            "calls.longest_pause",
            calls.longest_pause,
            calls.first_pause..=HOUR,
        ),
        ("calls.breaker_pause", calls.breaker_pause, pause),
    ] {
        span(&key(name), value, range)?;
    }
    let endpoint = embedding.endpoint.as_deref().unwrap_or_default();
    match (embedding.kind, endpoint) {
        (EmbedderKind::OpenaiCompatible, "") => Err(ConfigError::value(
            &key("endpoint"),
            "is required by openai_compatible: set the base URL of the server, such as \
             https://api.openai.com/v1 or http://localhost:11434/v1",
        )),
        (EmbedderKind::OpenaiCompatible, endpoint) => memory_outbound::endpoint_url(endpoint)
            .map(drop)
            .map_err(|problem| ConfigError::value(&key("endpoint"), problem)),
        _ => Ok(()),
    }
}

impl Config {
    pub(crate) fn check_embeddings(&self) -> Result<(), ConfigError> {
        check_embedding("embedding", &self.embedding)?;
        match &self.embedding_next {
            Some(next) => check_embedding("embedding_next", next),
            None => Ok(()),
        }
    }

    pub(crate) fn check_distill(&self) -> Result<(), ConfigError> {
        const MOST_TOKENS: usize = 10_000_000;
        let distill = &self.distill;
        let size = |tokens: i32| usize::try_from(tokens).unwrap_or(0);
        let call = SECOND..=HOUR;
        let (generation, observer) = (&distill.generation, &distill.observer);
        span(
            "distill.generation.timeout",
            generation.timeout,
            call.clone(),
        )?;
        let timeout = observer.timeout.unwrap_or(generation.timeout);
        span("distill.observer.timeout", timeout, call.clone())?;
        let output = 256..=MOST_TOKENS;
        let window = 4_096..=MOST_TOKENS;
        for (key, tokens, range) in [
            (
                "distill.generation.max_output_tokens",
                generation.max_output_tokens,
                &output,
            ),
            (
                "distill.generation.context_window",
                generation.context_window,
                &window,
            ),
            (
                "distill.observer.max_output_tokens",
                observer.max_output_tokens,
                &output,
            ),
            (
                "distill.observer.context_window",
                observer.context_window,
                &window,
            ),
        ] {
            let as_generation = tokens == 0 && key.starts_with("distill.observer");
            if !as_generation {
                count(key, size(tokens), range.clone())?;
            }
        }
        let calls = &distill.calls;
        count(
            "distill.calls.max_concurrent",
            calls.max_concurrent,
            1..=1_000,
        )?;
        count("distill.calls.max_attempts", calls.max_attempts, 1..=20)?;
        span("distill.calls.total_timeout", calls.total_timeout, call)?;
        let pause = Duration::from_millis(1)..=HOUR;
        span(
            "distill.calls.first_pause",
            calls.first_pause,
            pause.clone(),
        )?;
        span(
            "distill.calls.longest_pause",
            calls.longest_pause,
            calls.first_pause..=HOUR,
        )?;
        count(
            "distill.calls.breaker_failures",
            calls.breaker_failures as usize,
            1..=1_000,
        )?;
        span("distill.calls.breaker_pause", calls.breaker_pause, pause)?;
        let budget = distill.daily_token_budget;
        let observing = observer.inherit(generation);
        for (key, model) in [
            ("generation", Some(generation)),
            ("observer", observing.as_ref()),
        ] {
            let Some(model) = model.filter(|model| model.provider != Provider::None) else {
                continue;
            };
            let answer = model.max_output_tokens;
            if budget > 0 && usize::try_from(budget).is_ok_and(|budget| budget <= size(answer)) {
                return Err(ConfigError::value(
                    "distill.daily_token_budget",
                    format!(
                        "must be 0 or more than distill.{key}.max_output_tokens ({answer}), \
                         or no call fits into it"
                    ),
                ));
            }
        }
        // What else can be wrong is known where models are opened, which calls
        // none of them.
        Distiller::open("distill", distill, Arc::new(UnlimitedTokens), None)
            .map(drop)
            .map_err(|error| ConfigError::value(&error.key, error.problem))
    }
}
