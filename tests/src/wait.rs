//! Waiting for a condition instead of for a time.

use std::time::{Duration, Instant};

use memory_contract::proto::{
    BuildContextRequest, BuildContextResponse, Degradation, DegradationReason, RecallRequest,
    RecallResponse, SearchMemoriesRequest, SearchMemoriesResponse, SearchRequest, SearchResponse,
};
use tonic::{Response, Status};

use crate::patient;

const PAUSE: Duration = Duration::from_millis(25);

/// What a test waits for that nobody has promised a time for: long, because the
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
            "waited {deadline:?} in vain: {what}"
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
    /// The revision that it has to see; empty: none.
    fn revision(&self) -> &str;
    /// How long it waits.
    fn max_wait(&self) -> Option<prost_types::Duration>;
}

macro_rules! waits {
    ($($request:ty),+) => {$(
        impl Waits for $request {
            fn revision(&self) -> &str {
                &self.at_least_as_fresh
            }

            fn max_wait(&self) -> Option<prost_types::Duration> {
                self.max_wait
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

/// Asks a question; one that waits for a revision for as long as [`patient`] says
/// is asked again while the index lags behind.
///
/// # Panics
/// If the answer is an error, or the index lags behind all the time.
pub(crate) async fn fresh<Q: Waits + Clone, A: Lags>(
    question: Q,
    mut ask: impl AsyncFnMut(Q) -> Result<Response<A>, Status>,
) -> A {
    let insists = !question.revision().is_empty() && question.max_wait() == Some(patient());
    let start = Instant::now();
    loop {
        let answer = ask(question.clone()).await.unwrap().into_inner();
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
