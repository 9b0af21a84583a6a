//! TLS towards Postgres.

use std::{path::PathBuf, str::FromStr as _, sync::Arc};

use percent_encoding::percent_decode_str;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    client::{
        WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::{CryptoProvider, ring, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime, pem::PemObject as _},
};
use tokio_postgres::{Config, config::SslMode};
use tokio_postgres_rustls::MakeRustlsConnect;

/// How a connection is encrypted: the parameters `sslmode` and `sslrootcert` of a URL.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Encryption {
    pub(crate) mode: Mode,
    /// Certificates of authorities, in PEM. `None`: those of the machine.
    pub(crate) roots: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Not encrypted.
    Disable,
    /// Encrypted if the server can; its certificate is not checked.
    #[default]
    Prefer,
    /// Encrypted; the certificate's authority is checked.
    VerifyCa,
    /// Encrypted; the certificate's authority and host name are checked.
    VerifyFull,
}

impl Encryption {
    /// Takes both parameters out of a URL, because `tokio_postgres` knows neither the modes
    /// that verify nor the file. Returns the rest of the URL. An address of `key=value`
    /// pairs keeps its mode, `require` included.
    pub(crate) fn take(url: &str) -> Result<(Self, String), String> {
        let mut encryption = Self::default();
        let is_url = url.starts_with("postgres://") || url.starts_with("postgresql://");
        if !is_url {
            let parsed = Config::from_str(url).map(|config| config.get_ssl_mode());
            encryption.mode = match parsed {
                Ok(SslMode::Disable) => Mode::Disable,
                Ok(SslMode::Require) => Mode::VerifyFull,
                _ => Mode::Prefer,
            };
        }
        let Some((address, parameters)) = url.split_once('?').filter(|_| is_url) else {
            return Ok((encryption, url.to_owned()));
        };
        let mut rest = Vec::new();
        for parameter in parameters.split('&') {
            match parameter.split_once('=') {
                Some(("sslmode", mode)) => encryption.mode = Mode::of(mode)?,
                Some(("sslrootcert", path)) => encryption.roots = roots_at(path)?,
                _ => rest.push(parameter),
            }
        }
        let url = match rest.is_empty() {
            true => address.to_owned(),
            false => format!("{address}?{}", rest.join("&")),
        };
        Ok((encryption, url))
    }

    /// Sets the mode of a connection, and returns what encrypts it.
    pub(crate) fn apply(self, postgres: &mut Config) -> Result<MakeRustlsConnect, String> {
        let provider = Arc::new(ring::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| format!("TLS cannot be set up: {error}"))?;
        postgres.ssl_mode(match self.mode {
            Mode::Disable => SslMode::Disable,
            Mode::Prefer => SslMode::Prefer,
            Mode::VerifyCa | Mode::VerifyFull => SslMode::Require,
        });
        let config =
            match self.mode {
                Mode::Disable | Mode::Prefer => builder
                    .dangerous()
                    .with_custom_certificate_verifier(Arc::new(Verifier {
                        authority: None,
                        provider,
                    })),
                Mode::VerifyFull => builder.with_root_certificates(self.read_roots()?),
                Mode::VerifyCa => {
                    let roots = Arc::new(self.read_roots()?);
                    let authority =
                        WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider))
                            .build()
                            .map_err(|error| format!("TLS cannot be set up: {error}"))?;
                    builder
                        .dangerous()
                        .with_custom_certificate_verifier(Arc::new(Verifier {
                            authority: Some(authority),
                            provider,
                        }))
                }
            };
        Ok(MakeRustlsConnect::new(config.with_no_client_auth()))
    }

    fn read_roots(&self) -> Result<RootCertStore, String> {
        let certificates = match &self.roots {
            None => rustls_native_certs::load_native_certs().certs,
            Some(path) => CertificateDer::pem_file_iter(path)
                .and_then(Iterator::collect)
                .map_err(|error| format!("sslrootcert: {} {error}", path.display()))?,
        };
        let mut roots = RootCertStore::empty();
        let (added, _) = roots.add_parsable_certificates(certificates);
        match (added, &self.roots) {
            (0, None) => Err(
                "asks for a checked certificate, but this machine has no trusted \
                 certificates; install ca-certificates, or name a file in sslrootcert"
                    .to_owned(),
            ),
            (0, Some(path)) => Err(format!(
                "sslrootcert: {} has no certificate in PEM",
                path.display()
            )),
            _ => Ok(roots),
        }
    }
}

impl Mode {
    fn of(mode: &str) -> Result<Self, String> {
        match mode {
            "disable" => Ok(Self::Disable),
            "prefer" => Ok(Self::Prefer),
            "verify-ca" => Ok(Self::VerifyCa),
            "require" | "verify-full" => Ok(Self::VerifyFull),
            _ => Err(
                "has an unknown sslmode: disable, prefer, require, verify-ca or verify-full"
                    .to_owned(),
            ),
        }
    }
}

/// `system` stands for the certificates of the machine, as for libpq.
fn roots_at(path: &str) -> Result<Option<PathBuf>, String> {
    if path == "system" {
        return Ok(None);
    }
    let path = percent_decode_str(path)
        .decode_utf8()
        .map_err(|_| "has a sslrootcert that is not UTF-8".to_owned())?;
    Ok(Some(PathBuf::from(path.as_ref())))
}

/// Checks the authority of a certificate, or nothing. Signatures of the handshake are
/// always checked.
#[derive(Debug)]
struct Verifier {
    authority: Option<Arc<WebPkiServerVerifier>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let Some(authority) = &self.authority else {
            return Ok(ServerCertVerified::assertion());
        };
        match authority.verify_server_cert(certificate, intermediates, name, ocsp, now) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        let known = &self.provider.signature_verification_algorithms;
        known.supported_schemes()
    }
}
