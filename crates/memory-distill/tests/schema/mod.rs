//! Requests against the published schemas of the providers.
//!
//! `tests/schemas/` is written by `scripts/provider-schemas` from the types of the
//! providers' own packages. A field that a provider does not define fails.

use boon::{Compiler, Schemas};
use memory_distill::Provider;
use serde_json::{Value, json};

fn error(provider: Provider, body: &Value) -> Option<String> {
    let schema = match provider {
        Provider::Openai | Provider::OpenaiCompatible => {
            include_str!("../schemas/openai_chat.json")
        }
        Provider::Anthropic => include_str!("../schemas/anthropic_messages.json"),
        Provider::Bedrock => include_str!("../schemas/bedrock_converse.json"),
        Provider::None => panic!("no provider, no request"),
    };
    let url = "https://schemas.invalid/request.json";
    let mut schemas = Schemas::new();
    let mut compiler = Compiler::new();
    let schema = serde_json::from_str(schema).unwrap();
    compiler.add_resource(url, schema).unwrap();
    let schema = compiler.compile(url, &mut schemas).unwrap();
    let result = schemas.validate(body, schema);
    result.err().map(|error| format!("{error:#}"))
}

/// Checks the body of a request, and that the schema refuses it with an unknown field and
/// with a message that has no role.
#[track_caller]
pub fn matches(provider: Provider, body: &Value) {
    assert_eq!(error(provider, body), None, "{body:#}");
    let mut unknown = body.clone();
    unknown["surprise"] = json!(true);
    assert!(error(provider, &unknown).is_some(), "{provider:?}");
    let mut nobody = body.clone();
    nobody["messages"][0]
        .as_object_mut()
        .unwrap()
        .remove("role");
    assert!(error(provider, &nobody).is_some(), "{provider:?}");
}
