//! The sources of a configuration: defaults, file, environment, flags.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

use figment::value::{Dict, Value};
use figment::{
    Figment,
    providers::{Format, Toml},
};
use serde::{Serialize, Serializer};

use super::keys;
use super::load::ConfigError;

/// Where a configuration is read from, besides the built-in defaults.
#[derive(Debug, Clone)]
pub struct Sources {
    /// The file named by `--config`; it has to exist. `None`: the file named by
    /// `RECOLLECT_CONFIG`, or else `recollect.toml` in the working directory
    /// where there is one.
    pub file: Option<PathBuf>,
    /// The environment. [`Sources::default`] takes that of the process.
    pub env: BTreeMap<String, String>,
    /// Values of command-line flags: the flag as it is written, such as
    /// `--listen`, the key, such as `server.listen`, and the value.
    pub flags: Vec<(String, String, serde_json::Value)>,
}

impl Default for Sources {
    fn default() -> Self {
        #[expect(clippy::disallowed_methods, reason = "this is the configuration")]
        let env = std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
            .collect();
        Self {
            file: None,
            env,
            flags: Vec::new(),
        }
    }
}

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ValueSource {
    /// The built-in default.
    Default,
    File(PathBuf),
    /// An environment variable.
    Env(String),
    /// A command-line flag.
    Flag(String),
}

impl fmt::Display for ValueSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path) => write!(f, "file {}", path.display()),
            Self::Env(name) => write!(f, "environment variable {name}"),
            Self::Flag(flag) => write!(f, "flag {flag}"),
        }
    }
}

impl Serialize for ValueSource {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// One value of one source.
pub(super) struct Setting {
    pub key: String,
    pub value: Value,
    pub source: ValueSource,
}

/// Names that others have given to keys of ours, the later ones stronger.
const FOREIGN_NAMES: [(&str, &str); 2] = [
    ("DATABASE_URL", "database.url"),
    ("OTEL_EXPORTER_OTLP_ENDPOINT", "telemetry.otlp_endpoint"),
];
const PREFIX: &str = "RECOLLECT_";
const SEPARATOR: &str = "__";
const FILE_VARIABLE: &str = "RECOLLECT_CONFIG";
const FILE_NAME: &str = "recollect.toml";

impl Sources {
    /// All settings, the stronger ones later.
    pub(super) fn settings(&self) -> Result<Vec<Setting>, ConfigError> {
        let known = keys::known();
        let mut settings = self.file_settings(&known)?;
        settings.extend(self.env_settings(&known)?);
        for (flag, key, value) in &self.flags {
            let source = ValueSource::Flag(flag.clone());
            require_known(key, &source, &known)?;
            let value = Value::serialize(value).map_err(|error| ConfigError::Value {
                key: key.clone(),
                origin: source.to_string(),
                problem: error.to_string(),
            })?;
            settings.push(Setting {
                key: key.clone(),
                value,
                source,
            });
        }
        Ok(settings)
    }

    fn file_settings(
        &self,
        known: &BTreeMap<String, serde_json::Value>,
    ) -> Result<Vec<Setting>, ConfigError> {
        let named = self
            .file
            .clone()
            .or_else(|| self.env.get(FILE_VARIABLE).map(PathBuf::from));
        let path = match named {
            Some(path) if path.is_file() => path,
            Some(path) => return Err(ConfigError::FileMissing { path }),
            None if Path::new(FILE_NAME).is_file() => PathBuf::from(FILE_NAME),
            None => return Ok(Vec::new()),
        };
        let dict: Dict = Figment::from(Toml::file_exact(&path))
            .extract()
            .map_err(|error| ConfigError::File {
                path: path.clone(),
                problem: without_excerpt(&error.kind.to_string()),
            })?;
        let source = ValueSource::File(path);
        let mut settings = Vec::new();
        flatten("", dict, &source, known, &mut settings)?;
        Ok(settings)
    }

    fn env_settings(
        &self,
        known: &BTreeMap<String, serde_json::Value>,
    ) -> Result<Vec<Setting>, ConfigError> {
        let foreign = FOREIGN_NAMES.iter().filter_map(|(name, key)| {
            let value = self.env.get(*name).filter(|value| !value.is_empty())?;
            Some(((*name).to_owned(), (*key).to_owned(), value))
        });
        let own = self.env.iter().filter_map(|(name, value)| {
            let key = name
                .strip_prefix(PREFIX)
                .filter(|key| key.contains(SEPARATOR))?;
            Some((
                name.clone(),
                key.to_lowercase().replace(SEPARATOR, "."),
                value,
            ))
        });
        let mut settings = Vec::new();
        for (name, key, text) in foreign.chain(own) {
            let source = ValueSource::Env(name);
            require_known(&key, &source, known)?;
            // A password may be all digits: where the key takes text, the value
            // is never read as anything else.
            let value = match known.get(&key) {
                Some(serde_json::Value::String(_) | serde_json::Value::Null) | None => {
                    Value::from(text.clone())
                }
                Some(_) => text.parse().unwrap_or_else(|_| Value::from(text.clone())),
            };
            settings.push(Setting { key, value, source });
        }
        Ok(settings)
    }
}

/// What TOML's parser says without the line that it quotes: a password that
/// lacks its quotes is there in full.
fn without_excerpt(problem: &str) -> String {
    let quoted = |line: &&str| {
        line.trim_start_matches(|c: char| c == ' ' || c.is_ascii_digit())
            .starts_with('|')
    };
    let lines: Vec<_> = problem.lines().filter(|line| !quoted(line)).collect();
    lines.join(": ")
}

fn flatten(
    path: &str,
    dict: Dict,
    source: &ValueSource,
    known: &BTreeMap<String, serde_json::Value>,
    settings: &mut Vec<Setting>,
) -> Result<(), ConfigError> {
    for (name, value) in dict {
        let key = keys::join(path, &name);
        if known.contains_key(&key) {
            settings.push(Setting {
                key,
                value,
                source: source.clone(),
            });
            continue;
        }
        let section = format!("{key}.");
        let is_section = known.keys().any(|known| known.starts_with(&section));
        match value {
            Value::Dict(_, inner) if is_section => flatten(&key, inner, source, known, settings)?,
            _ if is_section => {
                return Err(ConfigError::Value {
                    key,
                    origin: source.to_string(),
                    problem: "is a section, not a value".to_owned(),
                });
            }
            _ => require_known(&key, source, known)?,
        }
    }
    Ok(())
}

fn require_known(
    key: &str,
    source: &ValueSource,
    known: &BTreeMap<String, serde_json::Value>,
) -> Result<(), ConfigError> {
    if known.contains_key(key) {
        return Ok(());
    }
    Err(ConfigError::UnknownKey {
        key: key.to_owned(),
        origin: source.to_string(),
        suggestion: keys::nearest(key, known.keys().map(String::as_str)).map(str::to_owned),
    })
}
