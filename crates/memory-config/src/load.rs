//! Reads the configuration, and records the source of each value.

use std::collections::BTreeMap;

use figment::error::Kind;
use figment::{Figment, providers::Serialized};
use serde::Serialize;
use serde_json::Value;

use crate::config::Config;
use crate::error::ConfigError;
use crate::keys;
use crate::sources::{Setting, Sources, ValueSource};

/// A configuration that has been read and checked.
#[derive(Debug, Clone)]
pub struct Loaded {
    /// The values.
    pub config: Config,
    /// Where they came from.
    pub provenance: Provenance,
}

/// Where each value came from.
#[derive(Debug, Clone, Default)]
pub struct Provenance(BTreeMap<String, ValueSource>);

/// One row of `recollect config`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EffectiveValue {
    /// The key, such as `server.listen`.
    pub key: String,
    /// The value as text, secrets masked; empty where it is unset.
    pub value: String,
    /// Where it came from.
    pub source: ValueSource,
}

impl Config {
    /// Reads and checks the configuration: the built-in defaults, then the
    /// file, then the environment (`RECOLLECT_SECTION__KEY`, and `DATABASE_URL`
    /// for `database.url`), then flags.
    ///
    /// # Errors
    /// [`ConfigError`], which names the key and where its value came from.
    pub fn load(sources: &Sources) -> Result<Loaded, ConfigError> {
        let mut figment = Figment::new();
        let mut provenance = Provenance::default();
        for Setting { key, value, source } in sources.settings()? {
            figment = figment.merge(Serialized::default(&key, value));
            provenance.0.insert(key, source);
        }
        let config: Self = figment
            .extract()
            .map_err(|error| provenance.explain(error))?;
        config.check().map_err(|error| provenance.locate(error))?;
        Ok(Loaded { config, provenance })
    }
}

impl Loaded {
    /// Every key with its value, secrets masked, and where it came from, in
    /// alphabetical order.
    pub fn effective(&self) -> Vec<EffectiveValue> {
        keys::values(&self.config)
            .into_iter()
            .map(|(key, value)| EffectiveValue {
                source: self.provenance.source_of(&key),
                value: match value {
                    Value::Null => String::new(),
                    Value::String(text) => text,
                    other => other.to_string(),
                },
                key,
            })
            .collect()
    }
}

impl Provenance {
    /// Where the value of a key came from.
    pub fn source_of(&self, key: &str) -> ValueSource {
        self.0.get(key).cloned().unwrap_or(ValueSource::Default)
    }

    /// Adds to an error of [`Config::check`] or of `Server::start` where the
    /// value came from.
    pub fn locate(&self, error: ConfigError) -> ConfigError {
        match error {
            ConfigError::Value { key, problem, .. } => ConfigError::Value {
                origin: self.source_of(&key).to_string(),
                key,
                problem,
            },
            other => other,
        }
    }

    /// Says in our words what serde did not like.
    fn explain(&self, error: figment::Error) -> ConfigError {
        let path = error.path.join(".");
        // Below a list there are no keys of ours, only items.
        let key = self
            .0
            .keys()
            .find(|key| path == **key || path.starts_with(&format!("{key}.")));
        let origin = key
            .map_or(ValueSource::Default, |key| self.source_of(key))
            .to_string();
        match error.kind {
            Kind::UnknownField(field, expected) => ConfigError::UnknownKey {
                suggestion: keys::nearest(&field, expected.iter().copied()).map(str::to_owned),
                key: keys::join(&path, &field),
                origin,
            },
            kind => ConfigError::Value {
                problem: match keys::secret(&path) {
                    true => without_value(kind),
                    false => kind.to_string(),
                },
                key: path,
                origin,
            },
        }
    }
}

/// The problem of a value that must not be shown.
fn without_value(kind: Kind) -> String {
    match kind {
        Kind::MissingField(field) => format!("missing field `{field}`"),
        Kind::InvalidType(_, expected) => format!("has the wrong type, expected {expected}"),
        Kind::InvalidValue(_, expected) => format!("cannot be used, expected {expected}"),
        _ => "cannot be used".to_owned(),
    }
}
