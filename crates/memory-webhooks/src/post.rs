//! Sends one batch.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use memory_outbound::{direct, retry_after};
use memory_runtime::error_chain;
use memory_store::{EventBatch, Webhook};
use reqwest::{Client, StatusCode, header::CONTENT_TYPE};

use crate::address::{Resolver, check_literal, receiver_url};
use crate::body::body;
use crate::signature::signatures;

/// How long a receiver has to answer, connecting included.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(10);
const USER_AGENT: &str = concat!("recollect/", env!("CARGO_PKG_VERSION"));

/// Why a batch was not taken.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Failed {
    /// The receiver wants no more of them.
    Gone,
    /// For this reason, and not before this time has passed, if it says so.
    Later(String, Option<Duration>),
}

/// Sends batches. Clones share the connections.
#[derive(Clone)]
pub(crate) struct Sender {
    client: Client,
    allow_private: bool,
}

impl Sender {
    /// A sender, with or without receivers whose addresses are not public. It follows no redirect
    /// and uses no proxy: both would reach addresses that were not checked.
    ///
    /// # Errors
    /// The machine has no usable certificates.
    pub(crate) fn new(allow_private: bool) -> Result<Self, reqwest::Error> {
        let client = direct(TIMEOUT)
            .dns_resolver(Resolver { allow_private })
            .user_agent(USER_AGENT)
            .pool_max_idle_per_host(1)
            .build()?;
        Ok(Self {
            client,
            allow_private,
        })
    }

    /// Sends a batch. Only the answer's status is read.
    pub(crate) async fn send(
        &self,
        webhook: &Webhook,
        subscription: &str,
        batch: &EventBatch,
    ) -> Result<(), Failed> {
        let failed = |why: String| Failed::Later(why, None);
        let url = receiver_url(&webhook.url).map_err(|why| failed(format!("the URL {why}")))?;
        check_literal(&url, self.allow_private).map_err(|error| failed(error.to_string()))?;
        let body = body(subscription, batch).map_err(|error| failed(error.to_string()))?;
        let id = batch.id.to_string();
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let now = now.unwrap_or_default().as_secs().cast_signed();
        let signature = signatures(&webhook.secrets, &id, now, &body)
            .ok_or_else(|| failed("the secret is none; rotate it".to_owned()))?;
        let request = self
            .client
            .post(url)
            .header(CONTENT_TYPE, "application/json")
            .header("webhook-id", id)
            .header("webhook-timestamp", now)
            .header("webhook-signature", signature)
            .body(body);
        let answer = request.send().await.map_err(|error| failed(told(error)))?;
        match answer.status() {
            status if status.is_success() => Ok(()),
            StatusCode::GONE => Err(Failed::Gone),
            status => Err(Failed::Later(
                format!("the receiver answered {}", status.as_u16()),
                retry_after(answer.headers(), SystemTime::now()),
            )),
        }
    }
}

/// An error without the URL, which may be secret.
fn told(error: reqwest::Error) -> String {
    match error.is_timeout() {
        true => format!(
            "the receiver did not answer in {} seconds",
            TIMEOUT.as_secs()
        ),
        false => error_chain(&error.without_url()),
    }
}
