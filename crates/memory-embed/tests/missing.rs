//! A model that is missing, or switched off. `tests/model/` has the tests that need one.

use memory_embed::{EmbedError, Embedder, EmbedderConfig, EmbedderKind};

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
    assert!(matches!(error, EmbedError::ModelMissing { .. }), "{error}");
    assert!(error.to_string().contains("tokenizer.json"), "{error}");
    let none = EmbedderConfig {
        kind: EmbedderKind::None,
        ..EmbedderConfig::default()
    };
    assert!(Embedder::start(&none).unwrap().is_none());
}
