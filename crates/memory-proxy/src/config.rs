//! How a proxy is set up.

use std::time::Duration;

use memory_outbound::endpoint_url;
use reqwest::Url;

/// The most requests under way; further ones get the status 503.
pub(crate) const CALLS: usize = 1_024;
/// The largest request that memory is added to. Larger ones pass as they are.
pub(crate) const REQUEST_BYTES: usize = 32 * 1024 * 1024;
/// How many bytes the requests under way with memory have together. Further ones pass as they
/// are.
pub(crate) const REQUESTS_BYTES: usize = 512 * 1024 * 1024;
/// The largest answer that is stored.
pub(crate) const ANSWER_BYTES: usize = 16 * 1024 * 1024;
/// Until when a request must have arrived.
pub(crate) const REQUEST_TIME: Duration = Duration::from_secs(60);
/// The longest that a provider may send nothing, and ...
pub(crate) const IDLE_TIME: Duration = Duration::from_secs(600);
/// ... that it may take for an answer. The clients of both providers end a call after ten minutes.
pub(crate) const ANSWER_TIME: Duration = Duration::from_secs(3_600);

/// The settings of a proxy.
#[derive(Clone, Debug)]
pub struct ProxyConfig {
    /// Where requests go.
    pub upstreams: Upstreams,
    /// Host names, besides `localhost` and IP addresses, by which requests may reach the proxy.
    pub hosts: Vec<String>,
    /// The app of requests that name none.
    pub app: String,
    /// The user of requests that name none in a header; `None`: the body may name one.
    pub user: Option<String>,
    /// The longest that a request waits for memory.
    pub recall_timeout: Duration,
    /// About how many tokens of memory a request gets at most.
    pub memory_tokens: u32,
}

/// The addresses of providers, under which `/v1/…` begins.
#[derive(Clone, Debug)]
pub struct Upstreams {
    pub(crate) openai: Url,
    pub(crate) anthropic: Url,
}

impl Upstreams {
    /// Reads two addresses. A final `/v1` is left out: requests have it.
    ///
    /// # Errors
    /// The problem with an address, which is not repeated.
    pub fn new(openai: &str, anthropic: &str) -> Result<Self, String> {
        let read = |what: &str, text: &str| {
            let text = text.trim_end_matches('/');
            let text = text.strip_suffix("/v1").unwrap_or(text);
            endpoint_url(text).map_err(|problem| format!("{what}: {problem}"))
        };
        Ok(Self {
            openai: read("the address of OpenAI's API", openai)?,
            anthropic: read("the address of Anthropic's API", anthropic)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_may_end_with_the_version() {
        for text in [
            "https://gateway.example/api",
            "https://gateway.example/api/",
            "https://gateway.example/api/v1",
            "https://gateway.example/api/v1/",
        ] {
            let upstreams = Upstreams::new(text, text).unwrap();
            let url = upstreams.openai.join("v1/models").unwrap();
            assert_eq!(url.as_str(), "https://gateway.example/api/v1/models");
        }
        assert!(Upstreams::new("gateway.example", "https://a").is_err());
    }
}
