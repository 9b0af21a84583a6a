//! The published schemas of the providers' requests. `scripts/provider-schemas` writes them
//! from the types of the providers' own packages; a field that a provider does not define
//! fails.

use std::fs;

use boon::{Compiler, Schemas};
use memory_contract::proto::ProviderFormat;
use serde_json::Value;

use crate::project_dir;

/// Checks a request to a language model. `provider` is the name in the configuration.
///
/// # Panics
/// If the provider's schema refuses the request.
#[track_caller]
pub fn check_model_request(provider: &str, body: &Value) {
    let name = match provider {
        "openai" | "openai_compatible" => "openai_chat",
        "anthropic" => "anthropic_messages",
        "bedrock" => "bedrock_converse",
        other => panic!("no schema of {other}"),
    };
    check("memory-distill", name, body);
}

/// Checks a context that is rendered for a provider.
///
/// # Panics
/// If the provider's schema refuses it.
#[track_caller]
pub fn check_rendered(format: ProviderFormat, body: &Value) {
    let name = match format {
        ProviderFormat::OpenaiChat => "openai_chat",
        ProviderFormat::OpenaiResponses => "openai_responses",
        ProviderFormat::AnthropicMessages => "anthropic_messages",
        ProviderFormat::Gemini => "gemini",
        other => panic!("no schema of {other:?}"),
    };
    let mut body = body.clone();
    if format == ProviderFormat::OpenaiChat {
        for message in body["messages"].as_array_mut().into_iter().flatten() {
            // Fields of compatible APIs, which OpenAI's own schema lacks.
            let message = message.as_object_mut().unwrap();
            message.remove("reasoning_content");
            message.remove("reasoning_details");
        }
    }
    check("memory-formats", name, &body);
}

#[track_caller]
fn check(owner: &str, name: &str, body: &Value) {
    let path = format!("crates/{owner}/tests/schemas/{name}.json");
    let schema = fs::read_to_string(project_dir().join(path)).unwrap();
    let schema = serde_json::from_str(&schema).unwrap();
    let url = "https://schemas.invalid/request.json";
    let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
    compiler.add_resource(url, schema).unwrap();
    let schema = compiler.compile(url, &mut schemas).unwrap();
    if let Err(error) = schemas.validate(body, schema) {
        panic!("{name}: {error:#}\n{body:#}");
    }
}
