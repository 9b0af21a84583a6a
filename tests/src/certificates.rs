//! Certificates for tests of TLS.

use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};

/// An authority that issues certificates. No machine trusts it.
pub struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// A certificate and its private key, both in PEM.
#[derive(Clone, Debug)]
pub struct Certificate {
    pub certificate: String,
    pub key: String,
}

impl Authority {
    /// A new authority.
    pub fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        Self {
            issuer: CertifiedIssuer::self_signed(params, key).unwrap(),
        }
    }

    /// Its own certificate, in PEM.
    pub fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// A certificate for host names and addresses.
    pub fn issue(&self, names: &[&str]) -> Certificate {
        let names: Vec<String> = names.iter().map(|&name| name.to_owned()).collect();
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(names)
            .unwrap()
            .signed_by(&key, &self.issuer)
            .unwrap();
        Certificate {
            certificate: certificate.pem(),
            key: key.serialize_pem(),
        }
    }
}

impl Default for Authority {
    fn default() -> Self {
        Self::new()
    }
}
