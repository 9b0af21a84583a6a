//! Writers that retry until they are answered, and how soon the service is back for them
//! after a fault.

use std::sync::atomic::Ordering::SeqCst;
use std::time::{Duration, Instant};

use fastrand::Rng;
use memory_contract::proto::{GetIndexStatusRequest, GetThreadRequest, IndexState};
use tokio::time::sleep;
use tonic::Response;

use super::attempts::ANSWERS_OF_FAULTS;
use super::ledger::{compare, not_found};
use super::report::Report;
use super::writers::{Manners, Writers};
use recollect_tests::{Call as _, Client, Key, SOON, by_id, eventually, eventually_some};

/// Time limit of the service's return after a fault.
const BACK_LIMIT: Duration = Duration::from_secs(60);
/// How long the index may stay different before the scenario goes on.
const INDEX_TIMEOUT: Duration = Duration::from_secs(120);
const POLL: Duration = Duration::from_millis(20);
const CONNECTIONS: usize = 16;
const THREADS: usize = 16;

/// Writers that append to several threads of one server.
pub(super) struct Callers {
    client: Client,
    threads: Vec<String>,
    writers: Writers,
    count: usize,
    back: Vec<Duration>,
    equal: Vec<Duration>,
}

impl Callers {
    /// Waits until a server's index is ready, then starts writers.
    pub(super) async fn start(addr: &str, count: usize, rng: &mut Rng) -> Self {
        let client = Client::new(addr, Key::Acme).await;
        eventually("the index is ready", SOON, async || {
            client.index_status().await.state() == IndexState::Ready
        })
        .await;
        let mut threads = Vec::new();
        for _ in 0..THREADS {
            threads.push(client.thread("chaos").await);
        }
        let mut clients = Vec::new();
        for _ in 0..CONNECTIONS {
            clients.push(Client::new(addr, Key::Acme).await);
        }
        let manners = Manners {
            attempts: 1_000,
            first_pause: Duration::from_millis(20),
            cut: 0.05,
            abandon: 0.05,
            reads: false,
            pace: Duration::ZERO,
            retried: &ANSWERS_OF_FAULTS,
        };
        let writers = Writers::start(count, clients, threads.clone(), manners, rng);
        Self {
            client,
            threads,
            writers,
            count,
            back: Vec::new(),
            equal: Vec::new(),
        }
    }

    /// A caller of the server.
    pub(super) fn client(&self) -> &Client {
        &self.client
    }

    /// One of the threads that are written to.
    pub(super) fn first_thread(&self) -> &str {
        &self.threads[0]
    }

    /// Requests acknowledged so far.
    pub(super) fn acknowledged(&self) -> usize {
        self.writers.acknowledged()
    }

    /// Attempts that the server has refused so far.
    pub(super) fn refused(&self) -> usize {
        self.writers.tally().failures.total()
    }

    /// The latencies of the appends acknowledged since the last call.
    pub(super) fn take_latencies(&self) -> Vec<Duration> {
        std::mem::take(&mut self.writers.tally().latencies.lock().unwrap())
    }

    /// After a fault: waits until a further append is acknowledged, then pauses the writers
    /// until the index is equal to the database. The time of the first is counted from
    /// `start`.
    pub(super) async fn recover(&mut self, fault: &str, start: Instant, report: &mut Report) {
        let before = self.acknowledged();
        while self.acknowledged() == before && start.elapsed() <= BACK_LIMIT {
            sleep(POLL).await;
        }
        match self.acknowledged() == before {
            true => report.problem(format!(
                "{fault}: no append was acknowledged within {BACK_LIMIT:?}"
            )),
            false => self.back.push(start.elapsed()),
        }
        let _paused = self.writers.pause().await;
        match self.index_equals().await {
            Ok(time) => self.equal.push(time),
            Err(state) => report.problem(format!("{fault}: {state}")),
        }
    }

    /// Ends the writers, compares what was acknowledged with what is stored and indexed, and
    /// reports that. The index may differ for `index_limit` after a fault.
    pub(super) async fn finish(mut self, index_limit: Duration, report: &mut Report) {
        let sent = self.writers.finish().await;
        report.figure("writers", self.count);
        report.figure("requests acknowledged", self.acknowledged());
        figures(&self.writers, report);
        compare(&self.client, &self.threads, &sent, report).await;
        if let Err(state) = self.index_equals().await {
            report.problem(state);
        }
        report.zero(
            "sampled messages that a search misses",
            not_found(&self.client, &self.threads, &sent).await,
        );
        report.seconds("seconds until an append is acknowledged", &self.back, None);
        report.seconds(
            "seconds until the index is equal",
            &self.equal,
            Some(index_limit),
        );
    }

    /// Waits until the index has as many messages as the database, and no change waits; how
    /// long it took.
    async fn index_equals(&self) -> Result<Duration, String> {
        let mut stored = 0;
        for thread_id in &self.threads {
            let request = GetThreadRequest {
                thread: by_id(thread_id),
            };
            // The connection may have to be made anew.
            stored += eventually_some("a thread is read", BACK_LIMIT, async || {
                let answer = request.clone().send(&self.client).await;
                answer.ok()?.into_inner().thread
            })
            .await
            .message_count;
        }
        let start = Instant::now();
        loop {
            let answer = GetIndexStatusRequest {}.send(&self.client).await;
            let status = answer.map(Response::into_inner);
            let equal = status.as_ref().is_ok_and(|status| {
                status.state() == IndexState::Ready
                    && status.pending_count == 0
                    && status.point_count == stored
            });
            if equal {
                return Ok(start.elapsed());
            }
            if start.elapsed() > INDEX_TIMEOUT {
                return Err(format!(
                    "{stored} messages are stored, and after {INDEX_TIMEOUT:?} the index has: \
                     {status:?}"
                ));
            }
            sleep(POLL).await;
        }
    }
}

/// Adds what the writers saw.
pub(super) fn figures(writers: &Writers, report: &mut Report) {
    let tally = writers.tally();
    report.figure("attempts cut off by the caller", tally.cut.load(SeqCst));
    report.figure("attempts repeated", tally.retried.load(SeqCst));
    tally
        .failures
        .tell("calls that failed in spite of retries", report);
}
