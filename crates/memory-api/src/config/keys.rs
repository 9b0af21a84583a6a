//! Which keys there are.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Config;

/// Every key with its default; secrets are masked, and unset ones are null.
pub(super) fn known() -> BTreeMap<String, Value> {
    values(&Config::default())
}

/// Every key with its value in this configuration; secrets are masked, and
/// unset ones are null.
pub(super) fn values(config: &Config) -> BTreeMap<String, Value> {
    let mut keys = BTreeMap::new();
    if let Ok(value) = serde_json::to_value(config) {
        flatten("", value, &mut keys);
    }
    keys
}

/// The known name that is most like a wrong one, if any is like it at all.
pub(super) fn nearest<'a>(
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
pub(super) fn join(path: &str, segment: &str) -> String {
    if path.is_empty() {
        segment.to_owned()
    } else {
        format!("{path}.{segment}")
    }
}

fn flatten(path: &str, value: Value, keys: &mut BTreeMap<String, Value>) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                flatten(&join(path, &name), value, keys);
            }
        }
        leaf => {
            keys.insert(path.to_owned(), leaf);
        }
    }
}
