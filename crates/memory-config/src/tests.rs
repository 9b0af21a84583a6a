//! Tests that read the configuration as the binary does.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use memory_contract::key::{KeyBounds, KeyScope, KeyScopes};
use memory_server::KeyConfig;
use secrecy::ExposeSecret as _;
use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::keys;

mod environment;
mod models;

const DEFAULT_TOML: &str = include_str!("default.toml");
const KEY: &str = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08";

/// Sources with nothing of this process in them.
fn sources(file: &str, env: &[(&str, &str)]) -> (Sources, TempDir) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("recollect.toml");
    fs::write(&path, file).unwrap();
    let env = env
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
        .collect();
    (
        Sources {
            file: Some(path),
            env,
            flags: Vec::new(),
        },
        directory,
    )
}

fn load(file: &str, env: &[(&str, &str)]) -> Result<Loaded, ConfigError> {
    let (sources, _directory) = sources(file, env);
    Config::load(&sources)
}

fn error(file: &str, env: &[(&str, &str)]) -> String {
    load(file, env).unwrap_err().to_string()
}

#[test]
fn the_default_file_equals_the_defaults_of_the_code() {
    let loaded = load(DEFAULT_TOML, &[]).unwrap();
    let defaults = keys::values(&Config::default());
    assert_eq!(keys::values(&loaded.config), defaults);
}

#[test]
fn the_default_file_has_every_key() {
    let mut section = String::new();
    let mut documented = BTreeSet::new();
    for line in DEFAULT_TOML.lines() {
        if let Some(name) = line
            .strip_prefix('[')
            .and_then(|rest| rest.strip_suffix(']'))
        {
            section = name.to_owned();
        } else if let Some((key, _)) = line.trim_start_matches("# ").split_once(" = ") {
            documented.insert(format!("{section}.{key}"));
        }
    }
    let missing: Vec<_> = keys::known()
        .into_keys()
        // It has the keys of `embedding`.
        .filter(|key| !key.starts_with("embedding_next."))
        .filter(|key| !documented.contains(key))
        .collect();
    assert_eq!(missing, Vec::<String>::new());
}

#[test]
fn an_unknown_key_is_refused_with_the_one_that_was_meant() {
    let check = |file: &str, env: &[(&str, &str)], parts: &[&str]| {
        let message = error(file, env);
        for part in parts {
            assert!(message.contains(part), "{message:?} lacks {part:?}");
        }
    };
    check(
        "[server]\nlisten_addr = '127.0.0.1:1'",
        &[],
        &[
            "server.listen_addr",
            "recollect.toml",
            "did you mean server.listen?",
        ],
    );
    check("[servr]\nlisten = '127.0.0.1:1'", &[], &["servr", "server"]);
    check(
        "",
        &[("RECOLLECT_SERVER__LISTN", "127.0.0.1:1")],
        &[
            "server.listn",
            "RECOLLECT_SERVER__LISTN",
            "did you mean server.listen?",
        ],
    );
    check(
        "[worker.indexer]\nbatchsize = 3",
        &[],
        &["did you mean worker.indexer.batch_size?"],
    );
    check(
        "zzzzzz = 1",
        &[],
        &["zzzzzz", "`recollect config` lists all keys"],
    );
    check(
        &format!("auth.keys = [{{ name = 'a', tenant = 'a', sha265 = '{KEY}' }}]"),
        &[],
        &["sha265", "did you mean sha256?"],
    );
}

#[test]
fn a_wrong_value_names_its_key_and_its_source() {
    let check = |file: &str, env: &[(&str, &str)], key: &str, source: &str| {
        let message = error(file, env);
        assert!(
            message.starts_with(key),
            "{message:?} does not name {key:?}"
        );
        assert!(
            message.contains(source),
            "{message:?} does not name {source:?}"
        );
    };
    check(
        "[server]\nlisten = 'here'",
        &[],
        "server.listen",
        "recollect.toml",
    );
    check(
        "[server]\nmax_calls = 'many'",
        &[],
        "server.max_calls",
        "recollect.toml",
    );
    check(
        "[server]\nmax_calls = 0",
        &[],
        "server.max_calls",
        "recollect.toml",
    );
    check("server = 1", &[], "server", "recollect.toml");
    check(
        "",
        &[("RECOLLECT_SERVER__CALL_TIMEOUT", "soon")],
        "server.call_timeout",
        "RECOLLECT_SERVER__CALL_TIMEOUT",
    );
    check(
        "",
        &[("RECOLLECT_SERVER__CALL_TIMEOUT", "1ms")],
        "server.call_timeout",
        "RECOLLECT_SERVER__CALL_TIMEOUT",
    );
    check(
        "",
        &[("RECOLLECT_DATABASE__POOL_SIZE", "0")],
        "database.pool_size",
        "RECOLLECT_DATABASE__POOL_SIZE",
    );
    check(
        "[telemetry]\nlog_level = 'a=b=c'",
        &[],
        "telemetry.log_level",
        "recollect.toml",
    );
    check(
        "[telemetry]\nlog_format = 'xml'",
        &[],
        "telemetry.log_format",
        "recollect.toml",
    );
    check(
        "[telemetry]\nmetrics_listen = 'x'",
        &[],
        "telemetry.metrics_listen",
        "recollect.toml",
    );
    check(
        "[cache]\nkind = 'redis'",
        &[],
        "cache.kind",
        "recollect.toml",
    );
    check("[cache]\nmax_bytes = 7", &[], "cache.max_bytes", "toml");
    check("[ephemeral]\nmax_bytes = -1", &[], "ephemeral.max", "toml");
    check(
        "",
        &[("RECOLLECT_EPHEMERAL__IDLE_TTL", "8days")],
        "ephemeral.idle_ttl",
        "RECOLLECT_EPHEMERAL__IDLE_TTL",
    );
    check("[index]\nbackend = 'qdrant'", &[], "index.url", "default");
    check(
        "[index]\nurl = 'qdrant'",
        &[],
        "index.url",
        "recollect.toml",
    );
    check(
        "[embedding]\nprecision = 'int4'",
        &[],
        "embedding.precision",
        "recollect.toml",
    );
    check(
        "[[auth.keys]]\nname = 'a'\ntenant = 'a'\nsha256 = 'no'",
        &[],
        "auth.keys",
        "recollect.toml",
    );
    check(
        "[[auth.keys]]\nname = 'a'\ntenant = ''\nsha256 = '00'",
        &[],
        "auth.keys",
        "recollect.toml",
    );
}

#[test]
fn an_unsupported_cache_is_refused_with_the_supported_ones() {
    let message = error("[cache]\nkind = 'redis'", &[]);
    for part in ["cache.kind", "redis", "memory", "none"] {
        assert!(message.contains(part), "{message:?} lacks {part:?}");
    }
}

#[test]
fn a_file_that_is_missing_or_no_toml_is_named() {
    let (mut sources, directory) = sources("", &[]);
    sources.file = Some(directory.path().join("nowhere.toml"));
    assert!(
        Config::load(&sources)
            .unwrap_err()
            .to_string()
            .contains("nowhere.toml")
    );
    assert!(error("[server", &[]).contains("recollect.toml"));
    let (mut sources, directory) = self::sources("[server]\nmax_calls = 7", &[]);
    let path = sources.file.take().unwrap();
    sources
        .env
        .insert("RECOLLECT_CONFIG".to_owned(), path.display().to_string());
    assert_eq!(Config::load(&sources).unwrap().config.server.max_calls, 7);
    drop(directory);
}

#[test]
fn the_file_beats_the_default_the_environment_the_file_and_a_flag_both() {
    let file = "[server]\nmax_calls = 2\nmax_streams = 2\nlisten = '127.0.0.1:2'";
    let env = [
        ("RECOLLECT_SERVER__MAX_STREAMS", "3"),
        ("RECOLLECT_SERVER__LISTEN", "127.0.0.1:3"),
    ];
    let (mut sources, _directory) = sources(file, &env);
    sources.flags.push((
        "--listen".to_owned(),
        "server.listen".to_owned(),
        json!("127.0.0.1:4"),
    ));
    let loaded = Config::load(&sources).unwrap();
    let server = &loaded.config.server;
    assert_eq!(
        (server.max_calls, server.max_streams, server.listen.port()),
        (2, 3, 4)
    );
    assert_eq!(server.call_timeout, Duration::from_secs(30));
    let source = |key: &str| loaded.provenance.source_of(key);
    assert_eq!(
        source("server.max_calls"),
        ValueSource::File(sources.file.clone().unwrap())
    );
    assert_eq!(
        source("server.max_streams"),
        ValueSource::Env("RECOLLECT_SERVER__MAX_STREAMS".to_owned())
    );
    assert_eq!(
        source("server.listen"),
        ValueSource::Flag("--listen".to_owned())
    );
    assert_eq!(source("server.call_timeout"), ValueSource::Default);
}

#[test]
fn database_url_is_another_name_for_database_url() {
    let check = |env: &[(&str, &str)], expected: &str| {
        let loaded = load("[database]\nurl = 'file'", env).unwrap();
        assert_eq!(loaded.config.database.url.expose_secret(), expected);
    };
    check(&[], "file");
    check(&[("DATABASE_URL", "")], "file");
    check(&[("DATABASE_URL", "foreign")], "foreign");
    check(
        &[
            ("DATABASE_URL", "foreign"),
            ("RECOLLECT_DATABASE__URL", "own"),
        ],
        "own",
    );
}

#[test]
fn a_text_of_digits_in_the_environment_stays_a_text() {
    let loaded = load(
        "",
        &[
            ("RECOLLECT_INDEX__API_KEY", "0123"),
            ("RECOLLECT_DATABASE__URL", "7"),
        ],
    )
    .unwrap();
    assert_eq!(loaded.config.index.api_key.unwrap().expose_secret(), "0123");
    assert_eq!(loaded.config.database.url.expose_secret(), "7");
}

#[test]
fn secrets_are_never_shown() {
    let file = format!(
        "[database]\nurl = 'postgres://me:hunter6@host/db'\nchat_url = 'hunter6'\n[index]\napi_key = 'hunter6'\n\
         [[auth.keys]]\nname = 'backend'\ntenant = 'acme'\nsha256 = '{KEY}'\n"
    );
    let loaded = load(&file, &[]).unwrap();
    let shown = serde_json::to_string(&loaded.effective()).unwrap()
        + &format!("{:?}", loaded.config.database);
    assert!(
        !shown.contains("hunter6") && !shown.contains(KEY),
        "{shown}"
    );
    let rows = loaded.effective();
    let row = |key: &str| rows.iter().find(|row| row.key == key).unwrap();
    assert_eq!(row("database.url").value, "********");
    assert_eq!(row("database.chat_url").value, "********");
    assert_eq!(row("index.api_key").value, "********");
    assert!(
        row("auth.keys").value.contains("backend"),
        "{:?}",
        row("auth.keys")
    );
    assert_eq!(row("server.call_timeout").value, "30s");
    assert_eq!(row("server.call_timeout").source.to_string(), "default");
}

#[test]
fn durations_are_shown_as_people_write_them() {
    let check = |value: &str, shown: &str| {
        let file = format!("[database]\ntransaction_retention = '{value}'");
        let rows = load(&file, &[]).unwrap().effective();
        let key = "database.transaction_retention";
        let row = rows.iter().find(|row| row.key == key).unwrap();
        assert_eq!(row.value, shown);
    };
    check("90d", "90d");
    check("2days", "2d");
    check("1day 12h", "1d12h");
    check("1day 1500ms", "1d1.5s");
    check("1day 1us", "1d0.000001s");
    let refused = error("[database]\nrequest_retention = '400d'", &[]);
    assert!(refused.contains("must be 1d to 365d, is 400d"), "{refused}");
}

#[test]
fn the_user_in_a_url_is_never_shown() {
    let check = |url: &str, shown: &str| {
        let file = format!("[index]\nurl = '{url}'\n[telemetry]\notlp_endpoint = '{url}'");
        let rows = load(&file, &[]).unwrap().effective();
        for key in ["index.url", "telemetry.otlp_endpoint"] {
            let row = rows.iter().find(|row| row.key == key).unwrap();
            assert_eq!(row.value, shown, "{key}");
        }
    };
    check("http://me:hunter6@host:1/a@b", "http://********@host:1/a@b");
    check("https://hunter6@host", "https://********@host");
    check("http://host:1/a@b", "http://host:1/a@b");
    let rows = load("[index]\nurl = 'http://a:1, http://me:hunter6@b:1'", &[]).unwrap();
    let rows = rows.effective();
    let row = rows.iter().find(|row| row.key == "index.url").unwrap();
    assert_eq!(row.value, "http://a:1, http://********@b:1");
}

#[test]
fn an_error_never_repeats_a_secret() {
    let check = |file: &str, env: &[(&str, &str)]| {
        let message = error(file, env);
        assert!(!message.contains("hunter6"), "{message}");
    };
    check("", &[("RECOLLECT_AUTH__KEYS", "hunter6")]);
    check("", &[("RECOLLECT_AUTH__KEYS", "[hunter6]")]);
    check(
        "auth.keys = [{ name = 'a', tenant = 'a', sha256 = ['hunter6'] }]",
        &[],
    );
    check("auth = 'hunter6'", &[]);
    check("", &[("RECOLLECT_INDEX__URL", "hunter6")]);
    check("[index]\nurl = 'http://me:hunter6@ho st'", &[]);
    check("[telemetry]\notlp_endpoint = 'me:hunter6@host'", &[]);
    check("[database]\nurl = ['hunter6']", &[]);
    check("[database]\nchat_url = ['hunter6']", &[]);
    check("[index]\napi_key = ['hunter6']", &[]);
    check("[index]\napi_key = hunter6", &[]);
    check("[secrets]\nkey = 'hunter6'", &[]);
    check("[secrets]\nkey = ['hunter6']", &[]);
    check("", &[("RECOLLECT_SECRETS__KEY", "hunter6")]);
    check("", &[("RECOLLECT_SECRETS__PREVIOUS_KEYS", "hunter6")]);
    check("", &[("RECOLLECT_SECRETS__PREVIOUS_KEYS", "[\"hunter6\"]")]);
}

#[test]
fn the_keys_of_secrets_are_masked_and_checked() {
    let key = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";
    let file = format!("[secrets]\nkey = '{key}'\nprevious_keys = ['{key}']");
    let loaded = load(&file, &[]).unwrap();
    assert_eq!(loaded.config.secrets.key.expose_secret(), key);
    let shown = serde_json::to_string(&loaded.effective()).unwrap()
        + &format!("{:?}", loaded.config.secrets);
    assert!(!shown.contains("MDEy"), "{shown}");
    let of_env = load("", &[("RECOLLECT_SECRETS__KEY", key)]).unwrap();
    assert_eq!(of_env.config.secrets.key.expose_secret(), key);
    let message = error("[secrets]\nkey = 'short'", &[]);
    assert!(message.starts_with("secrets.key"), "{message}");
    assert!(message.contains("openssl rand -base64 32"), "{message}");
    let message = error(&format!("[secrets]\nprevious_keys = ['{key}']"), &[]);
    assert!(message.starts_with("secrets.key"), "{message}");
}

#[test]
fn a_key_may_not_have_the_name_of_a_built_in_actor() {
    for name in ["anonymous", "cli", "worker"] {
        let file = format!("[[auth.keys]]\nname = '{name}'\ntenant = 'acme'\nsha256 = '{KEY}'\n");
        let message = error(&file, &[]);
        assert!(message.starts_with("auth.keys"), "{message}");
    }
}

#[test]
fn a_key_has_one_caller() {
    let key = |tenant: &str, sha256: &str| {
        format!("[[auth.keys]]\nname = 'a'\ntenant = '{tenant}'\nsha256 = '{sha256}'\n")
    };
    let file = key("acme", &KEY.to_lowercase()) + &key("globex", &KEY.to_uppercase());
    let message = error(&file, &[]);
    assert!(message.starts_with("auth.keys"), "{message}");
    assert!(message.contains("item 1"), "{message}");
}

#[test]
fn a_key_has_scopes_of_those_that_there_are() {
    let key = |scopes: &str| {
        format!("[[auth.keys]]\nname = 'a'\ntenant = 'a'\nsha256 = '{KEY}'\n{scopes}\n")
    };
    for wrong in [
        "scopes = []",
        "scopes = ['all']",
        "scopes = 'read'",
        "admin = true",
    ] {
        let message = error(&key(wrong), &[]);
        assert!(message.starts_with("auth.keys"), "{wrong}: {message}");
    }
    for (lines, expected) in [
        ("", KeyScopes::default()),
        ("scopes = ['read']", KeyScopes::from_iter([KeyScope::Read])),
        (
            "scopes = ['admin', 'read']",
            KeyScopes::from_iter([KeyScope::Read, KeyScope::Admin]),
        ),
    ] {
        let config = load(&key(lines), &[]).unwrap().config;
        assert_eq!(config.auth.keys[0].scopes, expected, "{lines}");
    }
}

#[test]
fn a_server_beyond_loopback_needs_keys() {
    let mut config = Config::default();
    config.database.url = "postgres://host/db".into();
    config.index.path = Some(PathBuf::from("index"));
    let check =
        |config: &Config, roles: Roles| config.check_roles(roles).map_err(|e| e.to_string());
    assert_eq!(check(&config, Roles::ALL), Ok(()));
    for listen in ["0.0.0.0:1", "[::]:1", "10.0.0.1:1"] {
        config.server.listen = listen.parse().unwrap();
        let message = check(&config, Roles::ALL).unwrap_err();
        assert!(
            message.contains("server.listen") && message.contains("auth.keys"),
            "{message}"
        );
    }
    config.auth.keys.push(KeyConfig {
        name: "backend".to_owned(),
        tenant: "acme".to_owned(),
        sha256: KEY.to_owned(),
        scopes: KeyScopes::default(),
        bounds: KeyBounds::default(),
    });
    assert_eq!(check(&config, Roles::ALL), Ok(()));
    config.auth.keys.clear();
    config.auth.database = true;
    assert_eq!(check(&config, Roles::ALL), Ok(()));
    config.auth.database = false;
    config.server.listen = "[::1]:1".parse().unwrap();
    assert_eq!(check(&config, Roles::ALL), Ok(()));
}

#[test]
fn the_embedded_index_lives_in_one_process() {
    let mut config = Config::default();
    config.database.url = "postgres://host/db".into();
    let message = |config: &Config, roles| config.check_roles(roles).unwrap_err().to_string();
    assert!(message(&config, Roles::ALL).starts_with("index.path"));
    config.index.path = Some(PathBuf::from("index"));
    assert!(message(&config, Roles::API).starts_with("index.backend"));
    config.index.url = Some("http://qdrant:6334".to_owned());
    assert!(config.check_roles(Roles::API).is_ok());
    config.database.url = "".into();
    assert!(message(&config, Roles::API).starts_with("database.url"));
}
