//! The embedding model.

use std::pin::pin;

use futures::future::{Either, select};
use memory_recall::{Embedder, EmbedderConfig, EmbedderKind, ModelPrecision, RecallError, Urgency};

/// The model that `scripts/setup` makes; `None`, with a note, where it is missing.
pub fn model() -> Option<Embedder> {
    match Embedder::start(&EmbedderConfig::default()) {
        Ok(embedder) => embedder,
        Err(error @ RecallError::ModelMissing { .. }) => {
            eprintln!("skipped: {error}");
            None
        }
        Err(error) => panic!("{error}: {:?}", std::error::Error::source(&error)),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_model_gives_the_reference_vectors() {
    let Some(int8) = model() else { return };
    let config = EmbedderConfig {
        precision: ModelPrecision::Fp32,
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

#[tokio::test(flavor = "multi_thread")]
async fn new_documents_do_not_wait_for_those_of_an_import() {
    let Some(embedder) = model() else { return };
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

#[test]
fn a_model_that_is_not_there_names_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let config = EmbedderConfig {
        model_dir: Some(directory.path().to_owned()),
        ..EmbedderConfig::default()
    };
    let Err(error) = Embedder::start(&config) else {
        panic!("it started")
    };
    assert!(matches!(error, RecallError::ModelMissing { .. }), "{error}");
    assert!(error.to_string().contains("tokenizer.json"), "{error}");
    let none = EmbedderConfig {
        kind: EmbedderKind::None,
        ..EmbedderConfig::default()
    };
    assert!(Embedder::start(&none).unwrap().is_none());
}
