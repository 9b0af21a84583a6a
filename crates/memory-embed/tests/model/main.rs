//! Tests that need the embedding model which `scripts/setup` makes. Where it is missing they
//! are reported as ignored, with the reason: hence a `main` of their own.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test that fails may say so by panicking"
)]

use std::pin::pin;
use std::process::ExitCode;
use std::time::Duration;

use futures::future::{Either, join_all, select};
use libtest_mimic::{Arguments, Completion, Trial};
use memory_embed::{EmbedError, Embedder, EmbedderConfig, ModelPrecision, Urgency};
use tokio::runtime::Runtime;

/// The model of which both precisions exist.
const ENGLISH_MODEL: &str = "all-minilm-l6-v2";
/// Limit for queries that wait; long, because the machine may be busy.
const TIMEOUT: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    let trials = vec![
        trial(
            "the_model_gives_the_reference_vectors",
            the_model_gives_the_reference_vectors,
        ),
        trial(
            "queries_that_wait_together_have_the_vectors_of_single_ones",
            queries_that_wait_together_have_the_vectors_of_single_ones,
        ),
        trial(
            "new_documents_do_not_wait_for_those_of_an_import",
            new_documents_do_not_wait_for_those_of_an_import,
        ),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// A test that is ignored without the model.
fn trial<F: Future<Output = ()>>(
    name: &str,
    test: impl FnOnce(Embedder) -> F + Send + 'static,
) -> Trial {
    Trial::ignorable_test(name, move || {
        let config = EmbedderConfig {
            model: ENGLISH_MODEL.to_owned(),
            query_timeout: TIMEOUT,
            ..EmbedderConfig::default()
        };
        let embedder = match Embedder::start(&config) {
            Ok(embedder) => embedder.unwrap(),
            Err(error @ EmbedError::ModelMissing { .. }) => {
                eprintln!("SKIPPED: {error}");
                return Ok(Completion::ignored_with(error.to_string()));
            }
            Err(error) => panic!("{error}: {:?}", std::error::Error::source(&error)),
        };
        Runtime::new().unwrap().block_on(test(embedder));
        Ok(Completion::Completed)
    })
}

async fn the_model_gives_the_reference_vectors(int8: Embedder) {
    let config = EmbedderConfig {
        model: ENGLISH_MODEL.to_owned(),
        precision: ModelPrecision::Fp32,
        query_timeout: TIMEOUT,
        ..EmbedderConfig::default()
    };
    let fp32 = Embedder::start(&config).unwrap().unwrap();
    assert_eq!(fp32.model().dimensions, 384);
    assert_eq!(int8.model().name, "all-minilm-l6-v2-int8");
    let exact = fp32.query("This is an example sentence").await.unwrap();
    for (found, expected) in exact.iter().zip([0.067_656_9, 0.063_495_9, 0.048_713_1]) {
        assert!((found - expected).abs() < 1e-4, "{found} {expected}");
    }
    let near = int8.query("This is an example sentence").await.unwrap();
    let cosine: f32 = exact
        .iter()
        .zip(&near)
        .map(|(left, right)| left * right)
        .sum();
    assert!(cosine > 0.97, "{cosine}");
    // Vectors come back in the order of the documents, for any lengths.
    let texts: Vec<String> = (0..20).map(|n| "word ".repeat((n * 7) % 20 + 1)).collect();
    let together = fp32.documents(texts.clone(), Urgency::Bulk).await.unwrap();
    for (text, vector) in texts.iter().zip(together) {
        let alone = fp32.query(text).await.unwrap();
        let cosine: f32 = alone
            .iter()
            .zip(&vector)
            .map(|(left, right)| left * right)
            .sum();
        assert!(cosine > 0.999, "{text}: {cosine}");
    }
    assert_eq!(
        fp32.documents(Vec::new(), Urgency::Live).await.unwrap(),
        Vec::<Vec<f32>>::new()
    );
    assert_eq!(fp32.query("").await.unwrap().len(), 384);
}

async fn queries_that_wait_together_have_the_vectors_of_single_ones(embedder: Embedder) {
    let texts: Vec<String> = (1..40)
        .map(|words| "a longer question about dogs ".repeat(words))
        .collect();
    let together = join_all(texts.iter().map(|text| embedder.query(text))).await;
    for (text, together) in texts.iter().zip(together) {
        let alone = embedder.query(text).await.unwrap();
        let differences = alone.iter().zip(together.unwrap());
        let largest = differences.map(|(one, other)| (one - other).abs());
        assert!(largest.fold(0.0, f32::max) < 1e-4);
    }
}

async fn new_documents_do_not_wait_for_those_of_an_import(embedder: Embedder) {
    let many = (0..1_000).map(|number| format!("Document {number} of an import."));
    let imported = pin!(embedder.documents(many.collect(), Urgency::Bulk));
    let new = async {
        // The import is under way.
        embedder.query("Has it begun?").await.unwrap();
        let new = vec!["A new document.".to_owned()];
        embedder.documents(new, Urgency::Live).await
    };
    match select(imported, pin!(new)).await {
        Either::Left(_) => panic!("the import came first"),
        Either::Right((vectors, imported)) => {
            assert_eq!(vectors.unwrap().len(), 1);
            assert_eq!(imported.await.unwrap().len(), 1_000);
        }
    }
}
