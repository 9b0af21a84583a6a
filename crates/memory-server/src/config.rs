//! The server's sections of the configuration.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use memory_contract::key::{KeyBounds, KeyScopes};
use serde::{Deserialize, Serialize, Serializer};

/// The gRPC listener and its limits.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServerConfig {
    /// The address that gRPC listens on; port 0 takes a free one. Default:
    /// `127.0.0.1:50051`.
    pub listen: SocketAddr,
    /// The most open connections. When all are taken, a new connection closes one that has no
    /// request; if each has a request, the new one is closed. At most three quarters of the
    /// files that the process may open. 16 to 1,000,000. Default: 8192.
    pub max_connections: usize,
    /// Those of one address, an IPv6 /64 being one. 1 to 1,000,000. Default: 1024.
    pub max_connections_per_address: usize,
    /// The longest that a call may take; a caller's own deadline may be
    /// shorter. 100ms to 10m. Default: 30s.
    #[serde(with = "memory_contract::duration_text")]
    pub call_timeout: Duration,
    /// The longest that an import, an export or a watch may take. 1s to 24h.
    /// Default: 1h.
    #[serde(with = "memory_contract::duration_text")]
    pub stream_timeout: Duration,
    /// Calls under way at a time, over all connections; more are refused with
    /// RESOURCE_EXHAUSTED. 1 to 100,000. Default: 1024.
    pub max_calls: usize,
    /// Imports and exports under way at a time, counted apart from the calls. 1
    /// to 10,000. Default: 64.
    pub max_streams: usize,
    /// Watches of threads under way at a time, counted apart from both. 1 to
    /// 10,000. Default: 256.
    pub max_watches: usize,
    /// The share of `max_calls`, `max_streams` and `max_watches` that one tenant may use at
    /// a time, rounded up. More than 0, at most 1. Default: 0.75.
    pub tenant_share: f64,
    /// The share of each that one API key may use. More than 0, at most 1. Default: 0.75.
    pub key_share: f64,
    /// Calls of one tenant per second, a stream being one; 0: no limit. Default: 0.
    pub tenant_calls_per_second: u32,
    /// Calls of one API key per second; 0: no limit. Default: 0.
    pub key_calls_per_second: u32,
    /// Messages that a tenant may store; 0: no limit. Default: 0.
    pub tenant_messages: u64,
    /// Bytes that a tenant may store; 0: no limit. Default: 0.
    pub tenant_bytes: u64,
    /// How long an import or export may stay without progress, and a client without reading
    /// anything of what its connection is sent. 1s to 24h. Default: 5m.
    #[serde(with = "memory_contract::duration_text")]
    pub stream_idle_timeout: Duration,
    /// How long calls under way may take to end when the server stops. 0s to
    /// 10m. Default: 20s.
    #[serde(with = "memory_contract::duration_text")]
    pub grace_period: Duration,
    /// The age at which a connection is asked to reconnect, so that load
    /// balancers can rebalance. 1s to 24h. Default: 30m.
    #[serde(with = "memory_contract::duration_text")]
    pub max_connection_age: Duration,
    /// The pause between two HTTP/2 pings on a connection. 1s to 1h. Default:
    /// 1m.
    #[serde(with = "memory_contract::duration_text")]
    pub keepalive_interval: Duration,
    /// How long a ping may stay unanswered before the connection is closed. 1s
    /// to 10m. Default: 20s.
    #[serde(with = "memory_contract::duration_text")]
    pub keepalive_timeout: Duration,
    /// Origins whose pages may call from a browser, such as `https://app.example.com`; `*`:
    /// all. Default: none.
    pub cors_origins: Vec<String>,
    /// Whether to serve the console, a static web page, at `/console/`. Default: true.
    pub console: bool,
    /// TLS. Default: none.
    pub tls: TlsConfig,
}

/// TLS of the gRPC listener. The files are in PEM and are read again within seconds after
/// they change.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TlsConfig {
    /// The server's certificate, followed by those between it and a root. With it, the
    /// server refuses connections in the clear. Default: unset.
    pub certificate: Option<PathBuf>,
    /// The certificate's private key. Default: unset.
    pub key: Option<PathBuf>,
    /// Certificates of authorities. With it, a client needs a certificate of one of them,
    /// besides its API key. Default: unset.
    pub client_ca: Option<PathBuf>,
}

impl Default for ServerConfig {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 50051)),
            max_connections: 8_192,
            max_connections_per_address: 1_024,
            call_timeout: Duration::from_secs(30),
            stream_timeout: Duration::from_secs(3_600),
            max_calls: 1_024,
            max_streams: 64,
            max_watches: 256,
            tenant_share: 0.75,
            key_share: 0.75,
            tenant_calls_per_second: 0,
            key_calls_per_second: 0,
            tenant_messages: 0,
            tenant_bytes: 0,
            stream_idle_timeout: Duration::from_secs(5 * 60),
            grace_period: Duration::from_secs(20),
            max_connection_age: Duration::from_secs(30 * 60),
            keepalive_interval: Duration::from_secs(60),
            keepalive_timeout: Duration::from_secs(20),
            cors_origins: Vec::new(),
            console: true,
            tls: TlsConfig::default(),
        }
    }
}

/// Authentication of calls by API keys.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct AuthConfig {
    /// The API keys. Default: none. Then, unless `database` is set, every caller
    /// is the tenant `default`, and the server listens on loopback only.
    pub keys: Vec<KeyConfig>,
    /// Whether calls need a key also where `keys` is empty: one of those that
    /// the database keeps. Default: false. With `keys` they always do, and the
    /// database's are taken too.
    pub database: bool,
    /// Tokens of an issuer, besides API keys. Default: none.
    pub jwt: JwtConfig,
}

impl AuthConfig {
    /// Whether calls need no credential.
    pub fn open(&self) -> bool {
        self.keys.is_empty() && !self.database && !self.jwt.enabled()
    }
}

/// JSON Web Tokens that are accepted like API keys. Their claims name the tenant and the
/// scopes; `sub` is the actor in the audit log.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct JwtConfig {
    /// The claim `iss` of accepted tokens. Required with keys. Default: empty.
    pub issuer: String,
    /// A value of the claim `aud` of accepted tokens. Required with keys. Default: empty.
    pub audience: String,
    /// A file with the issuer's public keys, a JSON Web Key Set. Default: unset.
    pub keys_file: Option<PathBuf>,
    /// The address of the issuer's public keys, as `jwks_uri` of OpenID Connect. Default:
    /// unset.
    pub keys_url: Option<String>,
    /// The claim with the tenant. Default: `tenant`.
    pub tenant_claim: String,
    /// The claim with the scopes `read`, `write`, `delete` and `admin`: a list, or words
    /// with spaces between them. Default: `scope`.
    pub scope_claim: String,
    /// The claim with the id of the only user whose data the token reaches, such as `sub`. A token
    /// without it is refused. Default: unset, which means no such claim.
    pub user_claim: Option<String>,
    /// The claim with the apps and users that the token reaches: an object with the lists
    /// `app_ids`, `app_id_prefixes`, `user_ids`, `user_id_prefixes`. A token without it
    /// reaches the whole tenant, or the user of `user_claim`. Default: `bounds`.
    pub bounds_claim: String,
}

impl Default for JwtConfig {
    fn default() -> Self {
        Self {
            issuer: String::new(),
            audience: String::new(),
            keys_file: None,
            keys_url: None,
            tenant_claim: "tenant".to_owned(),
            scope_claim: "scope".to_owned(),
            user_claim: None,
            bounds_claim: "bounds".to_owned(),
        }
    }
}

impl JwtConfig {
    /// Whether tokens are accepted.
    pub fn enabled(&self) -> bool {
        self.keys_file.is_some() || self.keys_url.is_some()
    }
}

/// One API key.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeyConfig {
    /// The key's name, which the audit log shows: 1 to 128 characters; not
    /// `anonymous`, `cli` or `worker`.
    pub name: String,
    /// The tenant that the key selects: 1 to 128 characters.
    pub tenant: String,
    /// The SHA-256 of the key, 64 hexadecimal digits.
    #[serde(serialize_with = "masked")]
    pub sha256: String,
    /// The calls that it allows: `read`, `write`, `delete`, and `admin`, which includes
    /// them and also allows managing keys and secrets and reading the audit log. Default:
    /// all but `admin`.
    #[serde(default)]
    pub scopes: KeyScopes,
    /// The apps and users that it reaches: lists `app_ids`, `app_id_prefixes`, `user_ids` and
    /// `user_id_prefixes`. A bound key cannot have the scope `admin`. Default: the whole tenant.
    #[serde(default, skip_serializing_if = "KeyBounds::is_unbound")]
    pub bounds: KeyBounds,
}

fn masked<S: Serializer>(_secret: &str, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str("********")
}
