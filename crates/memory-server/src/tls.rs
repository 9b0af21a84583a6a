//! TLS of the gRPC listener. The files are read again when they change.

use std::fmt::Display;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::{RootCertStore, ServerConfig};
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::config::TlsConfig;

/// How often the files are compared with what was read.
const FILE_INTERVAL: Duration = Duration::from_secs(5);
const REFUSED: &str = "recollect_tls_handshakes_failed_total";
const RELOADS: &str = "recollect_tls_reloads_total";

/// Certificates that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{problem}")]
pub struct TlsError {
    /// The key of the configuration that names the file.
    pub key: &'static str,
    problem: String,
}

/// The server's certificate and key, and the authorities of clients' certificates.
pub struct Tls {
    files: TlsFiles,
    pem: Pem,
    current: watch::Sender<Arc<ServerConfig>>,
}

struct TlsFiles {
    certificate: PathBuf,
    key: PathBuf,
    client_ca: Option<PathBuf>,
}

/// The content of the files.
#[derive(PartialEq, Eq)]
struct Pem {
    certificate: Vec<u8>,
    key: Vec<u8>,
    client_ca: Option<Vec<u8>>,
}

impl Tls {
    /// Reads the files; `None` if none is configured, and the server does not speak TLS.
    ///
    /// # Errors
    /// If only one of `certificate` and `key` is configured, or a file cannot be used.
    pub fn load(config: &TlsConfig) -> Result<Option<Self>, TlsError> {
        let (certificate, key) = match (&config.certificate, &config.key) {
            (Some(certificate), Some(key)) => (certificate.clone(), key.clone()),
            (None, None) if config.client_ca.is_none() => return Ok(None),
            (None, _) => return Err(missing("server.tls.certificate")),
            (_, None) => return Err(missing("server.tls.key")),
        };
        let files = TlsFiles {
            certificate,
            key,
            client_ca: config.client_ca.clone(),
        };
        let pem = files.read()?;
        let current = watch::Sender::new(Arc::new(files.server_config(&pem)?));
        Ok(Some(Self {
            files,
            pem,
            current,
        }))
    }

    /// What handshakes use, now and after the files have changed.
    pub(crate) fn configuration(&self) -> watch::Receiver<Arc<ServerConfig>> {
        self.current.subscribe()
    }

    /// Reads the files again when they change, until `stop`. If they cannot be used, the
    /// server goes on with the former ones.
    pub(crate) async fn follow_files(mut self, stop: CancellationToken) {
        let mut ticks = interval(FILE_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut failed = None;
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                _ = ticks.tick() => {}
            }
            let outcome = match self.reload() {
                Ok(false) => continue,
                Ok(true) => {
                    tracing::info!("the TLS certificates were read again");
                    failed = None;
                    "ok"
                }
                Err(error) => {
                    let problem = error.to_string();
                    if failed.as_ref() == Some(&problem) {
                        continue;
                    }
                    tracing::warn!(
                        key = error.key,
                        problem,
                        "the TLS certificates have changed and cannot be used; the former \
                         ones stay in use"
                    );
                    failed = Some(problem);
                    "failed"
                }
            };
            metrics::counter!(RELOADS, "outcome" => outcome).increment(1);
        }
    }

    /// Whether the files have changed and are in use now.
    fn reload(&mut self) -> Result<bool, TlsError> {
        let pem = self.files.read()?;
        if pem == self.pem {
            return Ok(false);
        }
        let config = self.files.server_config(&pem)?;
        self.pem = pem;
        self.current.send_replace(Arc::new(config));
        Ok(true)
    }
}

impl TlsFiles {
    fn read(&self) -> Result<Pem, TlsError> {
        let read = |key, path: &Path| {
            fs::read(path).map_err(|error| unusable(key, path, format!("cannot be read: {error}")))
        };
        Ok(Pem {
            certificate: read("server.tls.certificate", &self.certificate)?,
            key: read("server.tls.key", &self.key)?,
            client_ca: match &self.client_ca {
                Some(path) => Some(read("server.tls.client_ca", path)?),
                None => None,
            },
        })
    }

    fn server_config(&self, pem: &Pem) -> Result<ServerConfig, TlsError> {
        let of_certificate =
            |problem: String| unusable("server.tls.certificate", &self.certificate, problem);
        let of_key = |problem: String| unusable("server.tls.key", &self.key, problem);
        let chain = certificates(&pem.certificate).map_err(of_certificate)?;
        let key = PrivateKeyDer::from_pem_slice(&pem.key)
            .map_err(|_| of_key("has no private key in PEM".to_owned()))?;
        let provider = Arc::new(ring::default_provider());
        let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| of_certificate(error.to_string()))?;
        let builder = match (&pem.client_ca, &self.client_ca) {
            (Some(pem), Some(path)) => {
                let wrong = |problem| unusable("server.tls.client_ca", path, problem);
                let mut roots = RootCertStore::empty();
                for certificate in certificates(pem).map_err(wrong)? {
                    roots
                        .add(certificate)
                        .map_err(|error| wrong(error.to_string()))?;
                }
                let verifier =
                    WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider)
                        .build()
                        .map_err(|error| wrong(error.to_string()))?;
                builder.with_client_cert_verifier(verifier)
            }
            _ => builder.with_no_client_auth(),
        };
        let mut config = builder
            .with_single_cert(chain, key)
            .map_err(|error| of_key(format!("does not fit the certificate: {error}")))?;
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(config)
    }
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, String> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        _ => Err("has no certificate in PEM".to_owned()),
    }
}

fn missing(key: &'static str) -> TlsError {
    TlsError {
        key,
        problem: "is required: server.tls needs a certificate and its key".to_owned(),
    }
}

fn unusable(key: &'static str, path: &Path, problem: impl Display) -> TlsError {
    TlsError {
        key,
        problem: format!("{} {problem}", path.display()),
    }
}

/// Counts a handshake that failed, which ends its connection alone.
pub(crate) fn handshake_failed(problem: &str) {
    metrics::counter!(REFUSED).increment(1);
    tracing::debug!(problem, "a TLS handshake failed");
}

/// Describes this file's metrics.
pub(crate) fn describe_metrics() {
    metrics::describe_counter!(
        REFUSED,
        "TLS handshakes that failed: no common version, no accepted client certificate, or \
         too slow"
    );
    metrics::describe_counter!(
        RELOADS,
        "Times that changed TLS certificates were read, by outcome: ok or failed"
    );
}
