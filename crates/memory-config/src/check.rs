//! Checks values that the types accept, such as ranges and combinations.

use std::ops::RangeInclusive;
use std::time::Duration;

use memory_contract::duration_text::format_duration;
use memory_contract::{check, limits};
use memory_index::BackendChoice;
use memory_server::{JwtConfig, KeyConfig, check_origin};
use memory_store::{Keyring, StoreError};
use secrecy::ExposeSecret;
use tracing_subscriber::EnvFilter;

use crate::config::Config;
use crate::error::ConfigError;
use crate::roles::Roles;

pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(24 * 3_600);

impl Config {
    /// Checks every value that could be wrong by itself. [`Config::load`] and
    /// `memory_process::start` do it too.
    ///
    /// # Errors
    /// The first key whose value cannot be used.
    pub fn check(&self) -> Result<(), ConfigError> {
        let server = &self.server;
        let minutes = |n: u64| Duration::from_secs(60 * n);
        span(
            "server.call_timeout",
            server.call_timeout,
            Duration::from_millis(100)..=minutes(10),
        )?;
        count(
            "server.max_connections",
            server.max_connections,
            16..=1_000_000,
        )?;
        count(
            "server.max_connections_per_address",
            server.max_connections_per_address,
            1..=1_000_000,
        )?;
        span("server.stream_timeout", server.stream_timeout, SECOND..=DAY)?;
        count("server.max_calls", server.max_calls, 1..=100_000)?;
        count("server.max_streams", server.max_streams, 1..=10_000)?;
        count("server.max_watches", server.max_watches, 1..=10_000)?;
        for (key, share) in [
            ("server.tenant_share", server.tenant_share),
            ("server.key_share", server.key_share),
        ] {
            if !(share > 0.0 && share <= 1.0) {
                return Err(ConfigError::value(
                    key,
                    "must be more than 0.0 and at most 1.0",
                ));
            }
        }
        for (key, calls) in [
            (
                "server.tenant_calls_per_second",
                server.tenant_calls_per_second,
            ),
            ("server.key_calls_per_second", server.key_calls_per_second),
        ] {
            count(key, calls as usize, 0..=1_000_000)?;
        }
        for (key, quota) in [
            ("server.tenant_messages", server.tenant_messages),
            ("server.tenant_bytes", server.tenant_bytes),
        ] {
            count(key, quota as usize, 0..=1 << 53)?;
        }
        span(
            "server.stream_idle_timeout",
            server.stream_idle_timeout,
            SECOND..=DAY,
        )?;
        span(
            "server.grace_period",
            server.grace_period,
            Duration::ZERO..=minutes(10),
        )?;
        span(
            "server.max_connection_age",
            server.max_connection_age,
            SECOND..=DAY,
        )?;
        span(
            "server.keepalive_interval",
            server.keepalive_interval,
            SECOND..=HOUR,
        )?;
        span(
            "server.keepalive_timeout",
            server.keepalive_timeout,
            SECOND..=minutes(10),
        )?;
        for origin in &server.cors_origins {
            if check_origin(origin).is_err() {
                return Err(ConfigError::value(
                    "server.cors_origins",
                    format!(
                        "must be origins such as https://app.example.com, without a path, or *; \
                         {origin:?} is neither"
                    ),
                ));
            }
        }
        for (index, key) in self.auth.keys.iter().enumerate() {
            check_key(index, key)?;
            let same = |other: &KeyConfig| other.sha256.eq_ignore_ascii_case(&key.sha256);
            if self.auth.keys[..index].iter().any(same) {
                return Err(ConfigError::value(
                    "auth.keys",
                    format!("item {index}: an earlier item has this sha256; a key has one caller"),
                ));
            }
        }
        check_jwt(&self.auth.jwt)?;
        self.check_secrets()?;
        self.check_database()?;
        self.check_memory()?;
        self.policy.policy()?;
        self.check_objects()?;
        self.check_recall()?;
        self.check_distill()?;
        let worker = &self.worker;
        span(
            "worker.expiry_interval",
            worker.expiry_interval,
            SECOND..=DAY,
        )?;
        span(
            "worker.request_sweep_interval",
            worker.request_sweep_interval,
            SECOND..=DAY,
        )?;
        span(
            "worker.forget_interval",
            worker.forget_interval,
            SECOND..=DAY,
        )?;
        span(
            "worker.nodes.flush_after",
            worker.nodes.flush_after,
            Duration::from_millis(10)..=DAY,
        )?;
        span(
            "worker.nodes.interval",
            worker.nodes.interval,
            Duration::from_millis(10)..=HOUR,
        )?;
        let distill = &worker.distill;
        count("worker.distill.lanes", distill.lanes as usize, 1..=64)?;
        span(
            "worker.distill.poll_interval",
            distill.poll_interval,
            Duration::from_millis(10)..=minutes(1),
        )?;
        span("worker.distill.lease", distill.lease, SECOND..=HOUR)?;
        count(
            "worker.distill.model_attempts",
            usize::try_from(distill.model_attempts).unwrap_or(0),
            1..=100,
        )?;
        span(
            "worker.distill.quiet",
            distill.quiet,
            Duration::from_millis(10)..=HOUR,
        )?;
        let indexer = &worker.indexer;
        count("worker.indexer.batch_size", indexer.batch_size, 1..=4_096)?;
        count("worker.indexer.lanes", indexer.lanes, 1..=64)?;
        span("worker.indexer.lease", indexer.lease, SECOND..=HOUR)?;
        span(
            "worker.indexer.linger",
            indexer.linger,
            Duration::ZERO..=minutes(1),
        )?;
        span(
            "worker.indexer.poll_interval",
            indexer.poll_interval,
            Duration::from_millis(10)..=minutes(1),
        )?;
        count(
            "worker.indexer.max_attempts",
            indexer.max_attempts as usize,
            1..=1_000,
        )?;
        span(
            "worker.indexer.retry_base",
            indexer.retry_base,
            Duration::from_millis(1)..=HOUR,
        )?;
        span(
            "worker.indexer.retry_max",
            indexer.retry_max,
            indexer.retry_base..=DAY,
        )?;
        let telemetry = &self.telemetry;
        if let Err(error) = EnvFilter::try_new(&telemetry.log_level) {
            return Err(ConfigError::value(
                "telemetry.log_level",
                format!("must be a level such as `info`, or directives: {error}"),
            ));
        }
        if let Some(endpoint) = &telemetry.otlp_endpoint {
            url("telemetry.otlp_endpoint", endpoint)?;
        }
        Ok(())
    }

    /// Checks what only matters to a process with these roles. `memory_process::start`
    /// does it before anything else.
    ///
    /// # Errors
    /// The first key whose value cannot be used.
    pub fn check_roles(&self, roles: Roles) -> Result<(), ConfigError> {
        if self.database.url.expose_secret().is_empty() {
            return Err(ConfigError::value(
                "database.url",
                "is required, such as postgres://user:password@host/recollect; \
                 `recollect dev` starts a private Postgres",
            ));
        }
        if roles.api && self.auth.open() && self.server.cors_origins.iter().any(|one| one == "*") {
            return Err(ConfigError::value(
                "server.cors_origins",
                "must not be * while auth.keys is empty: every web page that is opened on this \
                 machine could read and delete everything; name the origins, or give at least \
                 one key in auth.keys",
            ));
        }
        if roles.api && self.auth.open() && !self.server.listen.ip().is_loopback() {
            return Err(ConfigError::value(
                "server.listen",
                format!(
                    "{} is reachable from other machines and auth.keys is empty: \
                     listen on 127.0.0.1, give at least one key in auth.keys, or set \
                     auth.database and make one with `recollect keys create`",
                    self.server.listen
                ),
            ));
        }
        if self.uses_embedded_index() {
            if self.index.path.is_none() {
                return Err(ConfigError::value(
                    "index.path",
                    "is required by the embedded engine: the directory of its files; \
                     or set index.url to use a Qdrant cluster",
                ));
            }
            if !(roles.api && roles.worker) {
                return Err(ConfigError::value(
                    "index.backend",
                    "the embedded engine lives in one process: let this one serve and work, \
                     or set index.url to use a Qdrant cluster",
                ));
            }
        }
        Ok(())
    }

    /// Whether the index is the embedded engine.
    pub fn uses_embedded_index(&self) -> bool {
        self.index.uses_edge()
    }

    fn check_database(&self) -> Result<(), ConfigError> {
        let database = &self.database;
        count("database.pool_size", database.pool_size, 1..=1_000)?;
        count("database.max_overflow", database.max_overflow, 0..=1_000)?;
        count(
            "database.worker_pool_size",
            database.worker_pool_size,
            1..=1_000,
        )?;
        span(
            "database.pool_timeout",
            database.pool_timeout,
            Duration::from_millis(10)..=HOUR,
        )?;
        span(
            "database.connect_timeout",
            database.connect_timeout,
            Duration::from_millis(10)..=HOUR,
        )?;
        span("database.recycle", database.recycle, SECOND..=DAY)?;
        span(
            "database.statement_timeout",
            database.statement_timeout,
            Duration::from_millis(10)..=HOUR,
        )?;
        span(
            "database.request_retention",
            database.request_retention,
            DAY..=DAY * 365,
        )?;
        span(
            "database.transaction_retention",
            database.transaction_retention,
            DAY..=DAY * 3_653,
        )
    }

    fn check_memory(&self) -> Result<(), ConfigError> {
        const TIB: usize = 1 << 40;
        let bytes = |bytes: u64| usize::try_from(bytes).unwrap_or(usize::MAX);
        count("cache.max_bytes", bytes(self.cache.max_bytes), 65_536..=TIB)?;
        span("cache.idle", self.cache.idle, SECOND..=DAY)?;
        let ephemeral = &self.ephemeral;
        count("ephemeral.max_bytes", bytes(ephemeral.max_bytes), 0..=TIB)?;
        count(
            "ephemeral.max_threads",
            ephemeral.max_threads,
            0..=1_000_000,
        )?;
        span(
            "ephemeral.idle_ttl",
            ephemeral.idle_ttl,
            Duration::from_millis(100)..=DAY * 7,
        )?;
        span(
            "ephemeral.server_grace",
            ephemeral.server_grace,
            SECOND..=DAY,
        )
    }

    fn check_secrets(&self) -> Result<(), ConfigError> {
        match Keyring::new(&self.secrets) {
            Ok(_) => Ok(()),
            Err(StoreError::Config { key, why }) => {
                Err(ConfigError::value(&format!("secrets.{key}"), why))
            }
            Err(error) => Err(ConfigError::value("secrets", error.to_string())),
        }
    }

    fn check_objects(&self) -> Result<(), ConfigError> {
        let objects = &self.objects;
        span(
            "objects.timeout",
            objects.timeout,
            Duration::from_millis(10)..=HOUR,
        )?;
        count(
            "objects.compress_above",
            objects.compress_above,
            0..=1 << 30,
        )?;
        count(
            "objects.max_object_bytes",
            objects.max_object_bytes,
            1_024..=1 << 30,
        )?;
        span(
            "objects.url_lifetime",
            objects.url_lifetime,
            Duration::from_secs(60)..=Duration::from_secs(7 * 24 * 3_600),
        )?;
        // A part of its own, so that no tenant's files begin as another one's do.
        let prefix = &objects.file_prefix;
        match prefix.matches("{tenant}/").count() == 1 && prefix.ends_with('/') {
            true => Ok(()),
            false => Err(ConfigError::value(
                "objects.file_prefix",
                "must contain {tenant}/ once and end with /",
            )),
        }
    }

    fn check_recall(&self) -> Result<(), ConfigError> {
        let index = &self.index;
        for address in index.url.iter().flat_map(|all| all.split(',')) {
            url("index.url", address.trim())?;
        }
        if index.backend == BackendChoice::Qdrant && index.url.is_none() {
            return Err(ConfigError::value(
                "index.url",
                "is required by index.backend = \"qdrant\"",
            ));
        }
        let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == '_';
        if index.alias.is_empty() || index.alias.len() > 64 || !index.alias.chars().all(plain) {
            return Err(ConfigError::value(
                "index.alias",
                "must be 1 to 64 of a-z, 0-9, - and _",
            ));
        }
        span(
            "index.connect_timeout",
            index.connect_timeout,
            Duration::from_millis(10)..=HOUR,
        )?;
        span(
            "index.search_timeout",
            index.search_timeout,
            Duration::from_millis(10)..=HOUR,
        )?;
        span(
            "index.write_timeout",
            index.write_timeout,
            Duration::from_millis(10)..=HOUR,
        )?;
        count("index.shards", index.shards as usize, 1..=1_024)?;
        count("index.replicas", index.replicas as usize, 1..=64)?;
        count(
            "index.write_consistency",
            index.write_consistency as usize,
            1..=index.replicas as usize,
        )?;
        self.check_embeddings()?;
        count("recall.candidates", self.recall.candidates, 10..=10_000)
    }
}

fn check_jwt(jwt: &JwtConfig) -> Result<(), ConfigError> {
    if !jwt.enabled() {
        return match jwt.issuer.is_empty() && jwt.audience.is_empty() {
            true => Ok(()),
            false => Err(ConfigError::value(
                "auth.jwt.keys_url",
                "is required with an issuer: the address of its public keys (jwks_uri), or \
                 their file in auth.jwt.keys_file",
            )),
        };
    }
    let required = [
        ("auth.jwt.issuer", &jwt.issuer),
        ("auth.jwt.audience", &jwt.audience),
        ("auth.jwt.tenant_claim", &jwt.tenant_claim),
        ("auth.jwt.scope_claim", &jwt.scope_claim),
        ("auth.jwt.bounds_claim", &jwt.bounds_claim),
    ];
    let user_claim = jwt.user_claim.iter();
    let required = required.into_iter();
    for (key, value) in required.chain(user_claim.map(|claim| ("auth.jwt.user_claim", claim))) {
        if value.is_empty() {
            return Err(ConfigError::value(key, "is required for tokens"));
        }
    }
    if let Some(address) = &jwt.keys_url {
        url("auth.jwt.keys_url", address)?;
        if jwt.keys_file.is_some() {
            return Err(ConfigError::value(
                "auth.jwt.keys_file",
                "is set beside auth.jwt.keys_url: unset one of the two",
            ));
        }
    }
    Ok(())
}

fn check_key(index: usize, key: &KeyConfig) -> Result<(), ConfigError> {
    let problem = |what: &str| {
        Err(ConfigError::value(
            "auth.keys",
            format!("item {index}: {what}"),
        ))
    };
    if let Err(invalid) = check::key_name("name", key.name.clone()) {
        return problem(&format!("name {}", invalid.problem));
    }
    let tenant = &key.tenant;
    if tenant.is_empty()
        || tenant.chars().count() > limits::TENANT_CHARS
        || tenant.contains(char::is_control)
    {
        return problem("tenant must be 1 to 128 characters");
    }
    if !key.scopes.suit(&key.bounds) {
        return problem("scopes must not have admin, which is for the whole tenant, beside bounds");
    }
    if key.scopes.is_empty() {
        return problem("scopes must have at least one of read, write, delete and admin");
    }
    if key.sha256.len() != 64 || !key.sha256.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return problem(
            "sha256 must be 64 hexadecimal digits, as `printf %s KEY | sha256sum` prints them",
        );
    }
    Ok(())
}

fn url(key: &'static str, value: &str) -> Result<(), ConfigError> {
    let valid = value.parse::<http::Uri>().is_ok_and(|uri| {
        uri.host().is_some() && matches!(uri.scheme_str(), Some("http" | "https"))
    });
    if valid {
        return Ok(());
    }
    Err(ConfigError::value(
        key,
        "must be a URL such as http://host:6334",
    ))
}

pub(crate) fn count(
    key: &str,
    value: usize,
    range: RangeInclusive<usize>,
) -> Result<(), ConfigError> {
    if range.contains(&value) {
        return Ok(());
    }
    Err(ConfigError::value(
        key,
        format!("must be {} to {}, is {value}", range.start(), range.end()),
    ))
}

pub(crate) fn span(
    key: &str,
    value: Duration,
    range: RangeInclusive<Duration>,
) -> Result<(), ConfigError> {
    if range.contains(&value) {
        return Ok(());
    }
    Err(ConfigError::value(
        key,
        format!(
            "must be {} to {}, is {}",
            format_duration(*range.start()),
            format_duration(*range.end()),
            format_duration(value)
        ),
    ))
}
