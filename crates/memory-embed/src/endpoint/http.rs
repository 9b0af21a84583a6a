//! One request to an endpoint.

use std::time::{Duration, SystemTime};

use memory_outbound::{is_set, retry_after};
use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, Response, StatusCode, Url};
use secrecy::{ExposeSecret, SecretString};
use serde::Serialize;

use super::answer::{self, Answer};
use super::error::EndpointError;
use crate::config::EmbedderConfig;
use crate::error::EmbedError;
use crate::vectors::TenantText;

/// The most dimensions that are looked for where they are not known.
const MOST_DIMENSIONS: usize = 16_384;
/// The most bytes of an error that are looked at.
const ERROR_BYTES: usize = 64 * 1024;
/// Sent instead of a blank text, which OpenAI rejects.
const BLANK: &str = ".";

/// The address of an endpoint and what it is asked for.
pub(super) struct Http {
    client: Client,
    url: Url,
    key: Option<SecretString>,
    model: String,
    /// Dimensions that vectors are shortened to.
    shortened: Option<usize>,
    timeout: Duration,
}

#[derive(Serialize)]
struct Request<'a> {
    model: &'a str,
    input: Vec<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dimensions: Option<usize>,
}

impl Http {
    pub(super) fn new(
        config: &EmbedderConfig,
        shortened: Option<usize>,
    ) -> Result<Self, EmbedError> {
        let wrong = |problem| EmbedError::Config {
            key: "embedding.endpoint",
            problem,
        };
        let endpoint = config.endpoint.as_deref().unwrap_or_default();
        if endpoint.is_empty() {
            return Err(wrong(
                "set the base URL of the server, such as https://api.openai.com/v1 or \
                 http://localhost:11434/v1"
                    .to_owned(),
            ));
        }
        let endpoint = memory_outbound::endpoint_url(endpoint).map_err(wrong)?;
        let client = memory_outbound::client(&endpoint, config.calls.timeout)
            .ok_or_else(|| wrong("the HTTP client cannot be created".to_owned()))?;
        let url = endpoint
            .join("embeddings")
            .map_err(|_| wrong("must be a URL".to_owned()))?;
        Ok(Self {
            client,
            url,
            key: config.api_key.clone().filter(is_set),
            model: config.model.clone(),
            shortened,
            timeout: config.calls.timeout,
        })
    }

    /// Embeds texts with one request. `dimensions`: those of the model, if known.
    pub(super) async fn embed(
        &self,
        texts: &[TenantText],
        dimensions: Option<usize>,
    ) -> Result<Answer, EndpointError> {
        let input = texts.iter().map(|one| match one.text.trim().is_empty() {
            true => BLANK,
            false => one.text.as_str(),
        });
        let request = Request {
            model: &self.model,
            input: input.collect(),
            dimensions: self.shortened,
        };
        // Strings and a number can always be written.
        let body = serde_json::to_vec(&request).map_err(|_| EndpointError::Unreadable)?;
        let mut request = self
            .client
            .post(self.url.clone())
            .header(CONTENT_TYPE, "application/json")
            .body(body);
        if let Some(key) = &self.key {
            request = request.bearer_auth(key.expose_secret());
        }
        let response = request.send().await.map_err(|error| self.failed(&error))?;
        let status = response.status();
        if !status.is_success() {
            return Err(self.refused(status, response).await);
        }
        let most = answer::most_bytes(texts.len(), dimensions.unwrap_or(MOST_DIMENSIONS));
        let body = self.body(response, most).await?;
        answer::read(&body, texts.len(), dimensions)
    }

    /// The body of an answer, of at most this many bytes.
    async fn body(&self, mut response: Response, most: usize) -> Result<Vec<u8>, EndpointError> {
        let mut body = Vec::new();
        while let Some(part) = response
            .chunk()
            .await
            .map_err(|error| self.failed(&error))?
        {
            if body.len() + part.len() > most {
                return Err(EndpointError::TooLarge { most });
            }
            body.extend_from_slice(&part);
        }
        Ok(body)
    }

    fn failed(&self, error: &reqwest::Error) -> EndpointError {
        match error {
            // Includes connection timeouts.
            error if error.is_connect() => EndpointError::Unreachable,
            error if error.is_timeout() => EndpointError::Timeout {
                after: self.timeout,
            },
            // The key cannot be in a header.
            error if error.is_builder() => EndpointError::Unauthorized,
            _ => EndpointError::Disconnected,
        }
    }

    async fn refused(&self, status: StatusCode, response: Response) -> EndpointError {
        let status = status.as_u16();
        match status {
            300..=399 => return EndpointError::Redirected { status },
            401 | 403 => return EndpointError::Unauthorized,
            408 | 504 => {
                return EndpointError::Timeout {
                    after: self.timeout,
                };
            }
            429 => {
                return EndpointError::RateLimited {
                    retry_after: retry_after(response.headers(), SystemTime::now()),
                };
            }
            _ => {}
        }
        let body = self.body(response, ERROR_BYTES).await.unwrap_or_default();
        match status {
            _ if answer::is_too_long(status, &body) => EndpointError::TooLong,
            500.. => EndpointError::Failed { status },
            _ => EndpointError::Rejected { status },
        }
    }
}
