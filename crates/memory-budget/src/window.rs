//! The context windows of models.

/// Windows in tokens by prefix of a model's name; the longest matching prefix counts.
///
/// Source: the makers' model pages in November 2026. A name without a version counts
/// as the smallest of its family.
const WINDOWS: &[(&str, i32)] = &[
    ("gpt-3.5-turbo", 16_385),
    ("gpt-3.5-turbo-instruct", 4_096),
    ("gpt-4", 8_192),
    ("gpt-4-32k", 32_768),
    ("gpt-4-turbo", 128_000),
    ("gpt-4-0125-preview", 128_000),
    ("gpt-4-1106", 128_000),
    ("gpt-4-vision", 128_000),
    ("gpt-4.1", 1_047_576),
    ("gpt-4.5", 128_000),
    ("gpt-4o", 128_000),
    ("chatgpt-4o", 128_000),
    ("gpt-5", 400_000),
    ("gpt-5-chat", 128_000),
    ("gpt-oss", 131_072),
    ("o1", 200_000),
    ("o1-mini", 128_000),
    ("o1-preview", 128_000),
    ("o3", 200_000),
    ("o4-mini", 200_000),
    ("claude-2", 100_000),
    ("claude-2.1", 200_000),
    ("claude-instant", 100_000),
    ("claude-3", 200_000),
    ("claude-sonnet-4", 200_000),
    ("claude-opus-4", 200_000),
    ("claude-haiku-4", 200_000),
    ("gemini-1.5-flash", 1_048_576),
    ("gemini-1.5-pro", 2_097_152),
    ("gemini-2", 1_048_576),
    ("llama-3", 8_192),
    ("llama-3.1", 131_072),
    ("llama-3.2", 131_072),
    ("llama-3.3", 131_072),
    ("llama3", 8_192),
    ("llama3.1", 131_072),
    ("llama3.2", 131_072),
    ("llama3.3", 131_072),
    ("mistral-7b", 32_768),
    ("mistral-large", 131_072),
    ("mistral-nemo", 131_072),
    ("mixtral-8x7b", 32_768),
    ("mixtral-8x22b", 65_536),
    ("qwen2.5", 131_072),
    ("deepseek-chat", 65_536),
    ("deepseek-reasoner", 65_536),
    ("command-r", 128_000),
];

/// The context window of a model in tokens; `None` for an unknown model.
///
/// Names are those of [`Tokenizer::for_model`](crate::Tokenizer::for_model): with or
/// without a date, the prefix of a gateway (`openai/gpt-4o`) or fine-tuning
/// (`ft:gpt-4o:acme::1`). Case is ignored.
pub fn context_window(model: &str) -> Option<i32> {
    let name = bare_name(model);
    let name = name.as_str();
    WINDOWS
        .iter()
        .filter(|(beginning, _)| begins_with(name, beginning))
        .max_by_key(|(beginning, _)| beginning.len())
        .map(|(_, window)| *window)
}

/// The name of a model in lower case, without the prefixes of gateways, platforms and
/// fine-tuning.
pub(crate) fn bare_name(model: &str) -> String {
    let model = model.to_ascii_lowercase();
    let name = model
        .rsplit_once('/')
        .map_or(model.as_str(), |(_, name)| name);
    let name = name.strip_prefix("ft:").unwrap_or(name);
    // Bedrock's names: `anthropic.claude-3-5-sonnet-20241022-v2:0`.
    let makers = [
        "anthropic.",
        "meta.",
        "mistral.",
        "us.anthropic.",
        "eu.anthropic.",
    ];
    let name = makers
        .iter()
        .find_map(|maker| name.strip_prefix(maker))
        .unwrap_or(name);
    name.to_owned()
}

/// Whether a name starts with a prefix that ends at the end of a word or number: `gpt-4`
/// is not a prefix of `gpt-42`.
fn begins_with(name: &str, beginning: &str) -> bool {
    let Some(rest) = name.strip_prefix(beginning) else {
        return false;
    };
    !rest.starts_with(|c: char| c.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_is_known_by_the_beginning_of_the_name() {
        for (model, window) in [
            ("gpt-4o", 128_000),
            ("gpt-4o-2024-08-06", 128_000),
            ("GPT-4o-mini", 128_000),
            ("gpt-4", 8_192),
            ("gpt-4-0613", 8_192),
            ("gpt-4-turbo-2024-04-09", 128_000),
            ("gpt-4.1-nano", 1_047_576),
            ("gpt-3.5-turbo-0125", 16_385),
            ("o1", 200_000),
            ("o1-mini-2024-09-12", 128_000),
            ("o3-mini", 200_000),
            ("o4-mini", 200_000),
            ("openai/gpt-4o", 128_000),
            ("ft:gpt-4o:acme::1", 128_000),
            ("claude-3-5-sonnet-20241022", 200_000),
            ("anthropic.claude-3-5-sonnet-20241022-v2:0", 200_000),
            ("claude-sonnet-4-20250514", 200_000),
            ("meta-llama/Llama-3.1-8B-Instruct", 131_072),
            ("llama3.2:3b", 131_072),
            ("llama3:8b", 8_192),
            ("gemini-2.5-pro", 1_048_576),
            ("qwen2.5:7b", 131_072),
            ("mistral-large-latest", 131_072),
        ] {
            assert_eq!(context_window(model), Some(window), "{model}");
        }
    }

    #[test]
    fn an_unknown_model_has_no_window() {
        for model in ["", "gpt-42", "o1x", "my-model", "cl100k_base", "/", "ft:"] {
            assert_eq!(context_window(model), None, "{model}");
        }
    }
}
