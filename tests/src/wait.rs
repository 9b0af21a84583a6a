//! Waits for conditions, with a time limit.

use std::time::{Duration, Instant};

use memory_contract::proto::{
    BuildContextRequest, BuildContextResponse, Degradation, DegradationReason, Freshness,
    RecallRequest, RecallResponse, SearchMemoriesRequest, SearchMemoriesResponse, SearchRequest,
    SearchResponse, freshness::Requirement,
};

use crate::calls::Call;
use crate::client::Client;
use crate::freshness::fresh_wait;

const PAUSE: Duration = Duration::from_millis(25);

/// Time limit of conditions without a promised time: long, because the
/// machine may be busy.
pub const SOON: Duration = Duration::from_secs(60);

/// How long the index may lag behind what a test has stored. The changes of all
/// tests of a server are in one queue.
const FRESH: Duration = Duration::from_secs(200);

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

/// A question that may wait for the index.
pub(crate) trait Waits {
    /// Which changes it has to see.
    fn freshness(&self) -> Option<&Freshness>;
}

macro_rules! waits {
    ($($request:ty),+) => {$(
        impl Waits for $request {
            fn freshness(&self) -> Option<&Freshness> {
                self.freshness.as_ref()
            }
        }
    )+};
}

waits!(
    RecallRequest,
    SearchRequest,
    BuildContextRequest,
    SearchMemoriesRequest
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
    let insists = request.freshness().is_some_and(|fresh| {
        matches!(fresh.requirement, Some(Requirement::AtLeastAsFresh(_)))
            && fresh.max_wait == Some(fresh_wait())
    });
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
