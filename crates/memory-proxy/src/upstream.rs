//! Calls of providers: addresses, headers, and what passes unchanged.

use std::error::Error;

use bytes::Bytes;
use http::header::{
    ACCEPT_ENCODING, CONNECTION, CONTENT_LENGTH, HOST, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE,
    TRAILER, TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, HeaderName, HeaderValue, Method, Response, Uri};
use http_body_util::combinators::UnsyncBoxBody;
use memory_outbound::builder;
use reqwest::{Body, Client, Url};

use crate::api::is_anthropic;
use crate::config::{ANSWER_TIME, Upstreams};
use crate::whose::OWN_HEADERS;

/// The body of an answer.
pub(crate) type Passing = UnsyncBoxBody<Bytes, PassingError>;

/// Why an answer ended early.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PassingError {
    /// The provider broke off.
    #[error("the provider's answer ended early")]
    Provider(#[from] reqwest::Error),
    /// The provider sent nothing for too long.
    #[error("the provider sends nothing")]
    Idle,
}

/// The headers of one connection, which are not passed on
/// (<https://www.rfc-editor.org/rfc/rfc9110#section-7.6.1>).
const OF_CONNECTION: [HeaderName; 9] = [
    CONNECTION,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    PROXY_AUTHENTICATE,
    PROXY_AUTHORIZATION,
    TE,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
];

/// The providers.
#[derive(Debug)]
pub(crate) struct Providers {
    openai: (Url, Client),
    anthropic: (Url, Client),
}

/// A request as it goes on.
#[derive(Debug)]
pub(crate) struct Onward {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Body,
}

impl Providers {
    /// Clients of both. `None` if the machine has no usable certificates.
    pub(crate) fn new(upstreams: &Upstreams) -> Option<Self> {
        // One connection for each call: over HTTP/2 all calls would share one, and its failure.
        let client = |url: &Url| builder(url, ANSWER_TIME).http1_only().build().ok();
        let with_client = |url: &Url| Some((url.clone(), client(url)?));
        Some(Self {
            openai: with_client(&upstreams.openai)?,
            anthropic: with_client(&upstreams.anthropic)?,
        })
    }

    /// Sends a request to its provider, and returns as soon as the answer begins.
    ///
    /// # Errors
    /// What is wrong with the address or the connection, in words without the request.
    pub(crate) async fn send(&self, request: Onward) -> Result<Response<Body>, String> {
        let path = request.uri.path();
        let (base, client) = match is_anthropic(path, &request.headers) {
            true => &self.anthropic,
            false => &self.openai,
        };
        let mut url = base.clone();
        url.set_path(&format!("{}{path}", base.path().trim_end_matches('/')));
        url.set_query(request.uri.query());
        let sent = client
            .request(request.method, url)
            .headers(onward(request.headers))
            .body(request.body)
            .send()
            .await;
        match sent {
            Ok(response) => {
                let mut response = Response::from(response);
                remove_of_connection(response.headers_mut());
                // The connection to the application is one of HTTP/1.1.
                *response.version_mut() = http::Version::HTTP_11;
                Ok(response)
            }
            Err(error) => {
                let host = base.host_str().unwrap_or_default();
                let problem = in_words(&error.without_url());
                Err(format!(
                    "the provider at {host} cannot be reached: {problem}"
                ))
            }
        }
    }
}

/// Asks for an answer that is not compressed, which can be read as it passes.
pub(crate) fn ask_for_plain(headers: &mut HeaderMap) {
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
}

/// The headers that a provider gets.
fn onward(mut headers: HeaderMap) -> HeaderMap {
    remove_of_connection(&mut headers);
    headers.remove(HOST);
    let own: Vec<HeaderName> = headers
        .keys()
        .filter(|name| name.as_str().starts_with(OWN_HEADERS))
        .cloned()
        .collect();
    for name in own {
        headers.remove(name);
    }
    headers
}

/// The length of a body that was replaced is not the one that the application named.
pub(crate) fn remove_length(headers: &mut HeaderMap) {
    headers.remove(CONTENT_LENGTH);
}

fn remove_of_connection(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    for name in named.iter().chain(&OF_CONNECTION) {
        headers.remove(name);
    }
}

fn in_words(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_gets_the_headers_of_the_request_alone() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("authorization", "Bearer k"),
            ("host", "127.0.0.1:50061"),
            ("connection", "keep-alive, x-hop"),
            ("keep-alive", "5"),
            ("x-hop", "1"),
            ("te", "trailers"),
            ("x-recollect-user", "ada"),
            ("x-recollect-anything", "1"),
            ("x-stainless-lang", "python"),
        ] {
            headers.insert(name, HeaderValue::from_static(value));
        }
        let names = onward(headers);
        let mut names: Vec<&str> = names.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(names, ["authorization", "x-stainless-lang"]);
    }
}
