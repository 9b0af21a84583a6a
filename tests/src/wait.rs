//! Waits for conditions, with a time limit.

use std::time::{Duration, Instant};

use memory_contract::proto::{
    BuildContextRequest, BuildContextResponse, Degradation, DegradationReason, RecallRequest,
    RecallResponse, SearchMemoriesRequest, SearchMemoriesResponse, SearchRequest, SearchResponse,
    build_context_request, recall_request, search_memories_request, search_request,
};

use crate::calls::Call;
use crate::{Client, fresh_wait};

const PAUSE: Duration = Duration::from_millis(25);

/// Time limit of conditions without a promised time: long, because the
/// machine may be busy.
pub const SOON: Duration = Duration::from_secs(60);

/// How long the index may lag behind what a test has stored. The changes of all
/// tests of a server are in one queue.
const FRESH: Duration = Duration::from_secs(120);

/// Asks again and again until `check` gives a value.
///
/// # Panics
/// If it has not by the deadline; the message names what was waited for.
pub async fn eventually_some<T>(
    what: &str,
    deadline: Duration,
    mut check: impl AsyncFnMut() -> Option<T>,
) -> T {
    let start = Instant::now();
    loop {
        if let Some(value) = check().await {
            return value;
        }
        assert!(
            start.elapsed() < deadline,
            "not within {deadline:?}: {what}"
        );
        tokio::time::sleep(PAUSE).await;
    }
}

/// Asks again and again until `check` is true.
///
/// # Panics
/// If it is not by the deadline; the message names what was waited for.
pub async fn eventually(what: &str, deadline: Duration, mut check: impl AsyncFnMut() -> bool) {
    eventually_some(what, deadline, async || check().await.then_some(())).await;
}

/// The `freshness` of any request: [`at_least`] and [`eventual`] make it.
pub trait Fresh {
    /// Everything up to a revision.
    fn at_least(revision: String) -> Self;
    /// Only what is indexed.
    fn eventual() -> Self;
}

/// Everything up to a revision; an empty one stands for the default, the newest changes.
pub fn at_least<F: Fresh>(revision: impl Into<String>) -> Option<F> {
    let revision = revision.into();
    (!revision.is_empty()).then(|| F::at_least(revision))
}

/// Only what is indexed.
pub fn eventual<F: Fresh>() -> Option<F> {
    Some(F::eventual())
}

/// A question that may wait for the index.
pub(crate) trait Waits {
    /// The revision that it has to see; empty: none.
    fn revision(&self) -> &str;
    /// How long it waits.
    fn max_wait(&self) -> Option<prost_types::Duration>;
}

macro_rules! waits {
    ($($request:ty: $freshness:ident),+) => {$(
        impl Waits for $request {
            fn revision(&self) -> &str {
                match &self.freshness {
                    Some($freshness::Freshness::AtLeastAsFresh(revision)) => revision,
                    Some($freshness::Freshness::Eventual(())) | None => "",
                }
            }

            fn max_wait(&self) -> Option<prost_types::Duration> {
                self.max_wait
            }
        }

        impl Fresh for $freshness::Freshness {
            fn at_least(revision: String) -> Self {
                Self::AtLeastAsFresh(revision)
            }

            fn eventual() -> Self {
                Self::Eventual(())
            }
        }
    )+};
}

waits!(
    RecallRequest: recall_request,
    SearchRequest: search_request,
    BuildContextRequest: build_context_request,
    SearchMemoriesRequest: search_memories_request
);

/// An answer that may lag behind.
pub(crate) trait Lags {
    /// In which ways it is less than was asked for.
    fn degradations(&self) -> &[Degradation];
}

macro_rules! lags {
    ($($response:ty),+) => {$(
        impl Lags for $response {
            fn degradations(&self) -> &[Degradation] {
                &self.degradations
            }
        }
    )+};
}

lags!(
    RecallResponse,
    SearchResponse,
    BuildContextResponse,
    SearchMemoriesResponse
);

/// Sends a request. One that waits for a revision for as long as [`fresh_wait`] says is
/// sent again while the index lags behind.
///
/// # Panics
/// If the answer is an error, or the index lags behind all the time.
pub(crate) async fn fresh<R>(client: &Client, request: R) -> R::Response
where
    R: Call<Response: Lags> + Waits + Clone,
{
    let insists = !request.revision().is_empty() && request.max_wait() == Some(fresh_wait());
    let start = Instant::now();
    loop {
        let answer = client.call(request.clone()).await;
        let lags = |one: &Degradation| one.reason() == DegradationReason::IndexLagging;
        if !insists || !answer.degradations().iter().any(lags) {
            return answer;
        }
        assert!(
            start.elapsed() < FRESH,
            "the index has not seen the revision after {FRESH:?}"
        );
    }
}
