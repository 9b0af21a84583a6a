//! The sources of a configuration: defaults, file, environment, flags.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::{fmt, fs};

use figment::value::{Dict, Value};
use figment::{
    Figment,
    providers::{Format, Toml},
};
use serde::{Serialize, Serializer};

use crate::error::ConfigError;
use crate::keys;

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
    /// The configuration file.
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
pub(crate) struct Setting {
    pub key: String,
    pub value: Value,
    pub source: ValueSource,
}

/// An environment variable that sets a key.
struct Variable {
    name: String,
    key: String,
    text: String,
}

/// Names that others have given to keys of ours, the later ones stronger.
const FOREIGN_NAMES: [(&str, &str); 4] = [
    ("DATABASE_URL", "database.url"),
    ("OTEL_EXPORTER_OTLP_ENDPOINT", "telemetry.otlp_endpoint"),
    (
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
        "telemetry.otlp_endpoint",
    ),
    ("RUST_LOG", "telemetry.log_level"),
];
const PREFIX: &str = "RECOLLECT_";
const SEPARATOR: &str = "__";
/// Of a variable that names a file with the value, such as a mounted secret.
const FILE_SUFFIX: &str = "_FILE";
const FILE_VARIABLE: &str = "RECOLLECT_CONFIG";
const FILE_NAME: &str = "recollect.toml";

impl Sources {
    /// All settings, the stronger ones later.
    pub(crate) fn settings(&self) -> Result<Vec<Setting>, ConfigError> {
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
        let mut settings = Vec::new();
        for Variable { name, key, text } in self.variables(known)? {
            let source = ValueSource::Env(name);
            require_known(&key, &source, known)?;
            // A password may be all digits: where the key takes text, the value
            // is never read as anything else.
            let value = match known.get(&key) {
                Some(serde_json::Value::String(_) | serde_json::Value::Null) | None => {
                    Value::from(text)
                }
                Some(_) => structured(&text),
            };
            settings.push(Setting { key, value, source });
        }
        Ok(settings)
    }

    /// The environment variables that set a key, the stronger ones later.
    fn variables(
        &self,
        known: &BTreeMap<String, serde_json::Value>,
    ) -> Result<Vec<Variable>, ConfigError> {
        let mut variables = Vec::new();
        for (name, key) in FOREIGN_NAMES {
            if let Some(text) = self.set(name) {
                variables.push(Variable::new(name, key, text.to_owned()));
            }
            variables.extend(self.read_file(name, key)?);
        }
        for (name, text) in &self.env {
            let Some(rest) = name
                .strip_prefix(PREFIX)
                .filter(|rest| rest.contains(SEPARATOR))
            else {
                continue;
            };
            let key_of = |rest: &str| rest.to_lowercase().replace(SEPARATOR, ".");
            let whole = name.strip_suffix(FILE_SUFFIX);
            let key = rest.strip_suffix(FILE_SUFFIX).map(key_of);
            match whole.zip(key.filter(|key| known.contains_key(key))) {
                Some((whole, key)) => variables.extend(self.read_file(whole, &key)?),
                None => variables.push(Variable::new(name, &key_of(rest), text.clone())),
            }
        }
        Ok(variables)
    }

    /// A variable that is set, and not empty.
    fn set(&self, name: &str) -> Option<&str> {
        let text = self.env.get(name)?;
        (!text.is_empty()).then_some(text)
    }

    /// The content of the file that the variable `NAME_FILE` names, if it is set.
    fn read_file(&self, name: &str, key: &str) -> Result<Option<Variable>, ConfigError> {
        let file_name = format!("{name}{FILE_SUFFIX}");
        let Some(path) = self.set(&file_name) else {
            return Ok(None);
        };
        let wrong = |problem| ConfigError::Value {
            key: key.to_owned(),
            origin: ValueSource::Env(file_name.clone()).to_string(),
            problem,
        };
        if self.set(name).is_some() {
            return Err(wrong(format!("{name} is set too: unset one of the two")));
        }
        let content = fs::read_to_string(path)
            .map_err(|error| wrong(format!("the file {path} cannot be read: {error}")))?;
        let text = content.trim_end_matches(['\r', '\n']).to_owned();
        Ok(Some(Variable::new(&file_name, key, text)))
    }
}

impl Variable {
    fn new(name: &str, key: &str, text: String) -> Self {
        Self {
            name: name.to_owned(),
            key: key.to_owned(),
            text,
        }
    }
}

/// A list, table, number or flag as JSON, or as figment writes it; else a text.
fn structured(text: &str) -> Value {
    let json = serde_json::from_str(text).ok();
    json.or_else(|| text.parse().ok())
        .unwrap_or_else(|| Value::from(text.to_owned()))
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
