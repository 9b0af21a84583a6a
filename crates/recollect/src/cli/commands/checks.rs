//! The checks of `recollect doctor`.

use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use memory_config::Config;
use memory_contract::duration_text::format_duration;
use memory_distill::{ModelConfig, Provider};
use memory_embed::{EmbedError, Embedder, EmbedderKind, ModelPrecision};
use memory_objects::Objects;
use serde::Serialize;
use time::OffsetDateTime;

use crate::cli::failure::chain;
use memory_embedded::{DataDir, EmbeddedError};

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// A check without a problem.
    Ok,
    /// It works, with less than it could.
    Warn,
    /// A check that found a failure.
    Fail,
}

/// One line of the doctor's report.
#[derive(Debug, Clone, Serialize)]
pub struct Finding {
    /// The subject of the check.
    pub check: &'static str,
    /// The result of the check.
    pub verdict: Verdict,
    /// The result.
    pub found: String,
    /// How to fix it; empty if nothing is wrong.
    pub fix: String,
}

impl Finding {
    /// A check without a problem.
    pub fn ok(check: &'static str, found: impl Into<String>) -> Self {
        Self {
            check,
            verdict: Verdict::Ok,
            found: found.into(),
            fix: String::new(),
        }
    }

    /// It works, with less than it could.
    pub fn warn(check: &'static str, found: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            check,
            verdict: Verdict::Warn,
            found: found.into(),
            fix: fix.into(),
        }
    }

    /// A check that found a failure.
    pub fn fail(check: &'static str, found: impl Into<String>, fix: impl Into<String>) -> Self {
        Self {
            check,
            verdict: Verdict::Fail,
            found: found.into(),
            fix: fix.into(),
        }
    }
}

/// How long something may take to answer.
pub const PROBE_TIMEOUT: Duration = Duration::from_secs(3);
/// How long an embedding model behind an endpoint may take, which may have to be loaded there.
const ENDPOINT_TIMEOUT: Duration = Duration::from_secs(15);
/// Below this, Postgres and the index soon stop.
const LEAST_DISK: u64 = 256 << 20;
const GOOD_DISK: u64 = 2 << 30;

/// Checks the clock alone, when there is no database to compare it with.
pub fn own_clock() -> Finding {
    let now = OffsetDateTime::now_utc();
    match now.year() {
        2025..=2100 => Finding::ok("clock", format!("{} UTC", now.date())),
        year => Finding::fail(
            "clock",
            format!("it says the year {year}"),
            "Set the clock.",
        ),
    }
}

/// The data directory of `recollect dev`.
pub fn data_dir(path: &Path) -> Finding {
    let check = "data directory";
    if !path.exists() {
        return Finding::ok(check, format!("{} will be made", path.display()));
    }
    match DataDir::lock(path) {
        Ok(data) => Finding::ok(check, format!("{} is free", data.path().display())),
        Err(error @ EmbeddedError::InUse { .. }) => Finding::ok(check, error.to_string()),
        Err(error) => Finding::fail(check, chain(&error), error.next_step()),
    }
}

/// The embedding model with its languages, and ONNX Runtime.
pub fn model(config: &Config) -> Vec<Finding> {
    let mut findings = model_files(config);
    let profile = memory_embed::profile(&config.embedding.model);
    let languages = match config.embedding.kind {
        EmbedderKind::None => return findings,
        _ if profile.is_english_only() => Finding::warn(
            "languages",
            format!(
                "{} finds by meaning in English alone, and by keyword in other languages",
                config.embedding.model
            ),
            "For other languages, run `scripts/setup model multilingual-e5-small` and set \
             embedding.model = \"multilingual-e5-small\", or use an endpoint.",
        ),
        _ if profile.languages.is_empty() => Finding::ok(
            "languages",
            format!("those of {} are not known", config.embedding.model),
        ),
        _ => Finding::ok("languages", profile.languages),
    };
    findings.push(languages);
    findings
}

fn model_files(config: &Config) -> Vec<Finding> {
    let embedding = &config.embedding;
    match embedding.kind {
        EmbedderKind::None => {
            return vec![Finding::warn(
                "model",
                "none is configured: recall matches by keyword only",
                "Set embedding.kind = \"local\".",
            )];
        }
        EmbedderKind::Hub => {
            let found = format!(
                "{} is fetched from a hub at the first start",
                embedding.model
            );
            return vec![Finding::ok("model", found), runtime(config)];
        }
        // `endpoint` calls it.
        EmbedderKind::OpenaiCompatible => return Vec::new(),
        EmbedderKind::Local => {}
    }
    let dir = embedding
        .model_dir
        .clone()
        .or_else(|| memory_embed::default_model_dir(&embedding.model))
        .unwrap_or_default();
    let weights = match embedding.precision {
        ModelPrecision::Fp32 => "model.onnx",
        ModelPrecision::Int8 => "model-int8.onnx",
    };
    let files = [weights, "tokenizer.json", "tokenizer_config.json"];
    let missing: Vec<&str> = files
        .into_iter()
        .filter(|file| !dir.join(file).is_file())
        .collect();
    let model = match missing.is_empty() {
        true => Finding::ok("model", format!("{} in {}", embedding.model, dir.display())),
        false => Finding::warn(
            "model",
            format!(
                "{} lacks {}: recall matches by keyword only",
                dir.display(),
                missing.join(", ")
            ),
            "Run `scripts/setup model`, or set embedding.model_dir.",
        ),
    };
    vec![model, runtime(config)]
}

/// Lets the model of this machine or behind an endpoint embed one word. Nothing for one of a hub,
/// and where files are missing.
pub async fn embedding(config: &Config) -> Option<Finding> {
    let embedding = &config.embedding;
    let endpoint = embedding.endpoint.as_deref().unwrap_or_default();
    let (check, at, fix) = match embedding.kind {
        EmbedderKind::None | EmbedderKind::Hub => return None,
        EmbedderKind::OpenaiCompatible => (
            "model",
            format!("{} at {endpoint}", embedding.model),
            "Check embedding.endpoint, embedding.api_key and embedding.model: without it recall \
             matches by keyword only.",
        ),
        EmbedderKind::Local => {
            let mut files = model_files(config).into_iter();
            if files.any(|finding| finding.verdict != Verdict::Ok) {
                return None;
            }
            (
                "embedding",
                embedding.model.clone(),
                "Run `scripts/setup --verify`: without the model recall matches by keyword only.",
            )
        }
    };
    let settings = embedding.clone();
    let ask = async move {
        let opened = tokio::task::spawn_blocking(move || Embedder::start(&settings)).await;
        let embedder = opened.map_err(|_| EmbedError::Stopped)??;
        let Some(embedder) = embedder else {
            return Err(EmbedError::Stopped);
        };
        let started = Instant::now();
        let vector = embedder.query("hello").await?;
        Ok((vector.len(), started.elapsed()))
    };
    Some(match tokio::time::timeout(ENDPOINT_TIMEOUT, ask).await {
        Ok(Ok((dimensions, took))) => {
            let took = took.as_millis();
            let found = format!("{at} answers in {took} ms, with {dimensions} dimensions");
            Finding::ok(check, found)
        }
        Ok(Err(error)) => Finding::warn(check, format!("{at}: {}", chain(&error)), fix),
        Err(_) => {
            let limit = format_duration(ENDPOINT_TIMEOUT);
            Finding::warn(check, format!("{at}: no answer within {limit}"), fix)
        }
    })
}

/// The models that summarize, observe and extract. The check does not call them, because
/// calls cost money.
pub fn distilling(config: &Config) -> Finding {
    let generation = &config.distill.generation;
    let observer = config.distill.observer.inherit(generation);
    let observer = observer.as_ref().unwrap_or(generation);
    let named = |model: &ModelConfig| match model.provider {
        Provider::None => "the extractive distiller, which needs no model".to_owned(),
        provider => format!("{} ({})", model.model, provider.as_str()),
    };
    let (one, other) = (named(generation), named(observer));
    let found = match one == other {
        true => format!("by {one}"),
        false => format!("by {one}; observations by {other}"),
    };
    Finding::ok("summaries and facts", found)
}

fn runtime(config: &Config) -> Finding {
    let library = config
        .embedding
        .runtime_library
        .clone()
        .or_else(memory_embed::default_runtime_library)
        .unwrap_or_default();
    match library.is_file() {
        true => Finding::ok("ONNX Runtime", library.display().to_string()),
        false => Finding::warn(
            "ONNX Runtime",
            format!(
                "{} does not exist: recall matches by keyword only",
                library.display()
            ),
            "Run `scripts/setup model`, or set embedding.runtime_library.",
        ),
    }
}

/// The index: a directory to write to, or a Qdrant that answers.
pub async fn index(config: &Config, data_dir: &Path) -> Finding {
    let directory = || {
        let configured = config.index.path.clone();
        configured.unwrap_or_else(|| data_dir.join("index"))
    };
    if config.index.uses_edge() {
        return writable("index", "index.path", &directory());
    }
    let fix = "Check index.url; it is Qdrant's gRPC port, usually 6334.";
    for url in config.index.addresses() {
        let address = url
            .split_once("://")
            .map_or(url, |(_, rest)| rest)
            .trim_end_matches('/');
        let address = match address.contains(':') {
            true => address.to_owned(),
            false => format!("{address}:6334"),
        };
        let trying = tokio::net::TcpStream::connect(address);
        match tokio::time::timeout(PROBE_TIMEOUT, trying).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => return Finding::fail("index", format!("{url}: {error}"), fix),
            Err(_) => return Finding::fail("index", format!("{url}: no answer within 3s"), fix),
        }
    }
    let all: Vec<&str> = config.index.addresses().collect();
    Finding::ok("index", format!("something listens at {}", all.join(", ")))
}

/// Checks the object storage of memories of nodes: writes, reads and deletes an object. A
/// missing directory is not created.
pub async fn objects(config: &Config, data_dir: &Path) -> Finding {
    let (check, config) = ("object storage", &config.objects);
    let directory = match config.url.is_empty() {
        true => Some(data_dir.join("objects")),
        false => config.directory().filter(|path| !path.exists()),
    };
    if let Some(path) = directory {
        return writable(check, "objects.url", &path);
    }
    let fix = "Check objects.url, objects.options and the rights of their account: \
                memories of nodes are there.";
    let failed = |found: String| Finding::fail(check, format!("{}: {found}", config.url), fix);
    let objects = match Objects::open(config, 1) {
        Ok(objects) => objects,
        Err(error) => return failed(chain(&error)),
    };
    match tokio::time::timeout(config.timeout, objects.probe()).await {
        Ok(Ok(())) => Finding::ok(check, format!("{} can be written", config.url)),
        Ok(Err(error)) => failed(chain(&error)),
        Err(_) => failed(format!(
            "no answer within {}",
            format_duration(config.timeout)
        )),
    }
}

fn writable(check: &'static str, key: &str, path: &Path) -> Finding {
    let there = nearest(path);
    match tempfile::tempfile_in(&there) {
        Ok(_) => Finding::ok(check, format!("{} can be written", path.display())),
        Err(error) => Finding::fail(
            check,
            format!("{} cannot be written: {error}", there.display()),
            format!("Give this user the right to write there, or set {key}."),
        ),
    }
}

/// The port of gRPC or of the metrics.
pub fn port(check: &'static str, key: &str, addr: SocketAddr) -> Finding {
    match TcpListener::bind(addr) {
        Ok(_) => Finding::ok(check, format!("{addr} is free")),
        Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => Finding::warn(
            check,
            format!("something listens at {addr}"),
            format!("If that is not a running Recollect, stop it or set {key}."),
        ),
        Err(error) => Finding::fail(check, format!("{addr}: {error}"), format!("Set {key}.")),
    }
}

/// The disk under the data directory.
pub fn disk(path: &Path) -> Finding {
    let there = nearest(path);
    let free = match rustix::fs::statvfs(&there) {
        Ok(stat) => stat.f_bavail.saturating_mul(stat.f_frsize),
        Err(errno) => {
            let found = format!("{}: {errno}", there.display());
            return Finding::warn("disk", found, "Check the disk.");
        }
    };
    let found = format!(
        "{:.1} GiB free at {}",
        free as f64 / f64::from(1 << 30),
        there.display()
    );
    match free {
        free if free < LEAST_DISK => Finding::fail("disk", found, "Make room: 2 GiB or more."),
        free if free < GOOD_DISK => Finding::warn("disk", found, "Make room: 2 GiB or more."),
        _ => Finding::ok("disk", found),
    }
}

/// Checks that the usual address, `localhost`, resolves.
pub fn loopback() -> Option<Finding> {
    match ("localhost", 0).to_socket_addrs() {
        Ok(_) => None,
        Err(error) => Some(Finding::warn(
            "localhost",
            format!("it does not resolve: {error}"),
            "Add `127.0.0.1 localhost` to /etc/hosts, or use 127.0.0.1.",
        )),
    }
}

/// The path itself, or the nearest directory above it that is there.
fn nearest(path: &Path) -> PathBuf {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    absolute
        .ancestors()
        .find(|path| path.is_dir())
        .unwrap_or(Path::new("/"))
        .to_owned()
}
