//! The address of a service, and the HTTP client that calls it.

use std::net::IpAddr;
use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, Url};

/// Longest time of connecting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The URL in a setting, with a final slash, so that paths can be joined to it.
///
/// # Errors
/// The problem with the text, and what to set instead. It does not repeat the text, which may
/// contain a password.
pub fn endpoint_url(text: &str) -> Result<Url, String> {
    let mut url = Url::parse(text).map_err(|_| "must be a URL".to_owned())?;
    if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
        return Err("must begin with http:// or https://".to_owned());
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err("must not contain a password: set api_key instead".to_owned());
    }
    if url.query().is_some() || url.fragment().is_some() {
        return Err("must not contain ? or #: put a key into api_key".to_owned());
    }
    if !url.path().ends_with('/') {
        let path = format!("{}/", url.path());
        url.set_path(&path);
    }
    Ok(url)
}

/// A client for this address. It follows no redirect, which would send the key and texts to
/// another host. `timeout` is the deadline of one request, its answer included. `None` if the
/// machine has no usable certificates.
pub fn client(endpoint: &Url, timeout: Duration) -> Option<Client> {
    builder(endpoint, timeout).build().ok()
}

/// What [`client`] builds, for one that needs more settings.
pub fn builder(endpoint: &Url, timeout: Duration) -> ClientBuilder {
    match is_loopback(endpoint) {
        true => direct(timeout),
        false => with_deadline(timeout),
    }
}

/// A client that uses no proxy, and follows no redirect.
pub fn direct(timeout: Duration) -> ClientBuilder {
    with_deadline(timeout).no_proxy()
}

fn with_deadline(timeout: Duration) -> ClientBuilder {
    // An error means that one is already installed.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .timeout(timeout)
        .connect_timeout(timeout.min(CONNECT_TIMEOUT))
        .redirect(Policy::none())
}

/// Whether an address names this machine itself.
pub fn is_loopback(endpoint: &Url) -> bool {
    let host = endpoint.host_str().unwrap_or_default();
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    host == "localhost" || address.is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_can_be_joined_to_an_endpoint() {
        for text in ["http://localhost:11434/v1", "http://localhost:11434/v1/"] {
            let url = endpoint_url(text).unwrap().join("embeddings").unwrap();
            assert_eq!(url.as_str(), "http://localhost:11434/v1/embeddings");
        }
    }

    #[test]
    fn a_wrong_endpoint_is_refused_and_not_repeated() {
        for wrong in [
            "localhost",
            "ftp://host/hunter2",
            "http://me:hunter2@host/v1",
            "http://host/v1?key=hunter2",
        ] {
            let problem = endpoint_url(wrong).unwrap_err();
            assert!(!problem.contains("hunter2"), "{problem}");
        }
    }
}
