//! Counts equal those of Python's tiktoken. `scripts/golden-tokens` writes them.

use std::collections::BTreeMap;

use memory_budget::Tokenizer;
use serde_json::Value;

#[test]
fn models_have_the_tokenizers_and_counts_of_tiktoken() {
    let golden: Value = serde_json::from_str(include_str!("golden/tokens.json")).unwrap();
    for (model, encoding) in golden["models"].as_object().unwrap() {
        let (tokenizer, known) = Tokenizer::for_model(model);
        assert!(known, "{model}");
        assert_eq!(tokenizer.name(), encoding, "{model}");
    }
    let mut checked = 0;
    for entry in golden["texts"].as_array().unwrap() {
        let text = entry["text"].as_str().unwrap();
        let counted: BTreeMap<&str, i32> = Tokenizer::ALL
            .into_iter()
            .map(|tokenizer| (tokenizer.name(), tokenizer.count(text)))
            .collect();
        assert_eq!(serde_json::json!(counted), entry["tokens"], "{text:?}");
        checked += 1;
    }
    assert!(checked > 40);
}
