//! Settings of embedding models.

use super::{error, load};

#[test]
fn the_next_embedding_model_is_unset_and_has_the_keys_and_limits_of_the_present_one() {
    assert!(load("", &[]).unwrap().config.embedding_next.is_none());
    let file = "[embedding_next]\nprecision = 'fp32'";
    let env = [("RECOLLECT_EMBEDDING_NEXT__BATCH_SIZE", "4")];
    let next = load(file, &env).unwrap().config.embedding_next.unwrap();
    assert_eq!(next.precision, memory_embed::ModelPrecision::Fp32);
    assert_eq!((next.batch_size, next.query_queue), (4, 256));
    let env = [("RECOLLECT_EMBEDDING_NEXT__BATCH_SIZE", "2000")];
    let message = error("", &env);
    assert!(message.contains("embedding_next.batch_size"), "{message}");
    let message = error("embedding_next.precison = 'fp32'", &[]);
    assert!(message.contains("embedding_next.precision"), "{message}");
}

#[test]
fn an_embedding_endpoint_is_required_and_checked_and_its_key_is_never_shown() {
    let kind = "[embedding]\nkind = 'openai_compatible'\n";
    let message = error(kind, &[]);
    assert!(message.contains("embedding.endpoint"), "{message}");
    assert!(message.contains("https://api.openai.com/v1"), "{message}");
    for wrong in ["hunter2", "http://me:hunter2@host/v1"] {
        let message = error(&format!("{kind}endpoint = '{wrong}'"), &[]);
        assert!(message.contains("embedding.endpoint"), "{message}");
        assert!(!message.contains("hunter2"), "{message}");
    }
    let file = format!("{kind}endpoint = 'http://localhost:11434/v1'\nmodel = 'bge-m3'");
    let env = [
        ("RECOLLECT_EMBEDDING__API_KEY", "12345678"),
        ("RECOLLECT_EMBEDDING__DIMENSIONS", "512"),
        ("RECOLLECT_EMBEDDING__CALLS__TIMEOUT", "5s"),
    ];
    let loaded = load(&file, &env).unwrap();
    assert_eq!(loaded.config.embedding.dimensions, 512);
    let shown = format!("{:?} {:?}", loaded.effective(), loaded.config);
    assert!(!shown.contains("12345678"), "{shown}");
    let message = error("[embedding.calls]\nmax_attempts = 0", &[]);
    assert!(
        message.contains("embedding.calls.max_attempts"),
        "{message}"
    );
}
