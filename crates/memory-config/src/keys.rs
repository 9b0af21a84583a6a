//! The known keys of the configuration.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::config::Config;

const MASK: &str = "********";

/// Every key with its default, also of sections that are unset by default. Secrets and the
/// users in URLs are masked, and unset keys are null.
pub(crate) fn known() -> BTreeMap<String, Value> {
    let mut config = Config::default();
    config.embedding_next = Some(config.embedding.clone());
    values(&config)
}

/// Every key with its value in this configuration; secrets are masked, and
/// unset ones are null.
pub(crate) fn values(config: &Config) -> BTreeMap<String, Value> {
    let mut keys = BTreeMap::new();
    if let Ok(value) = serde_json::to_value(config) {
        flatten("", value, &mut keys);
    }
    keys
}

/// Whether a value of this key may be a secret or have one in it. Messages do
/// not repeat such a value.
pub(crate) fn secret(key: &str) -> bool {
    key.starts_with("auth.")
        || key.starts_with("secrets.")
        || key.starts_with("objects.options")
        || [".url", "chat_url", "api_key", "endpoint"]
            .iter()
            .any(|end| key.ends_with(end))
}

/// The known name that is most similar to a wrong one; `None` if none is similar.
pub(crate) fn nearest<'a>(
    wrong: &str,
    known: impl IntoIterator<Item = &'a str>,
) -> Option<&'a str> {
    known
        .into_iter()
        .map(|key| (strsim::jaro_winkler(wrong, key), key))
        .filter(|(likeness, _)| *likeness > 0.8)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, key)| key)
}

/// A path with another segment.
pub(crate) fn join(path: &str, segment: &str) -> String {
    if path.is_empty() {
        segment.to_owned()
    } else {
        format!("{path}.{segment}")
    }
}

fn flatten(path: &str, value: Value, keys: &mut BTreeMap<String, Value>) {
    match value {
        // A table without entries is a value: its entries have no names of ours.
        Value::Object(fields) if !fields.is_empty() => {
            for (name, value) in fields {
                flatten(&join(path, &name), value, keys);
            }
        }
        Value::String(text) => {
            let urls: Vec<String> = text.split(',').map(without_user).collect();
            keys.insert(path.to_owned(), Value::String(urls.join(",")));
        }
        leaf => {
            keys.insert(path.to_owned(), leaf);
        }
    }
}

/// A URL with its user and password masked; any other text unchanged.
fn without_user(text: &str) -> String {
    let Some((scheme, rest)) = text.split_once("://") else {
        return text.to_owned();
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    match rest[..end].rfind('@') {
        Some(at) => format!("{scheme}://{MASK}{}", &rest[at..]),
        None => text.to_owned(),
    }
}
