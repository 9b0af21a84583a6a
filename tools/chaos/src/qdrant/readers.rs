//! Readers that append facts and search for them, and record what was answered.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use fastrand::Rng;
use memory_contract::proto::{SearchMethod, SearchRequest};
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tonic::Request;

use crate::report::{Report, rounded};
use recollect_tests::{Client, Failure, Key, search_request, texts};

/// A reader's pause between two searches.
const PAUSE: Duration = Duration::from_millis(20);
/// Every so many searches a reader appends a fact.
const FACT_EVERY: usize = 5;
const CALL_TIMEOUT: Duration = Duration::from_secs(20);

/// Running readers.
pub(super) struct Readers {
    over: Arc<AtomicBool>,
    tasks: Vec<JoinHandle<Vec<Read>>>,
}

/// A search.
struct Read {
    at: Instant,
    took: Duration,
    answer: Answer,
}

enum Answer {
    /// The fact is the best match, in a degraded answer among the best five.
    Found {
        degraded: bool,
    },
    /// Another message, or none.
    Missing {
        degraded: bool,
        text: String,
    },
    Failed(String),
}

/// All searches.
pub(super) struct Reads(Vec<Read>);

impl Readers {
    /// Starts readers, each with a connection and a thread of its own.
    pub(super) async fn start(count: usize, addr: &str, rng: &mut Rng) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let mut tasks = Vec::new();
        for reader in 0..count {
            let client = Client::new(addr, Key::Acme).await;
            let thread_id = client.thread("chaos").await;
            let (over, rng) = (Arc::clone(&over), rng.fork());
            tasks.push(tokio::spawn(read(reader, client, thread_id, rng, over)));
        }
        Self { over, tasks }
    }

    pub(super) async fn finish(self) -> Reads {
        self.over.store(true, Ordering::SeqCst);
        let mut all = Vec::new();
        for task in self.tasks {
            all.extend(task.await.unwrap());
        }
        Reads(all)
    }
}

async fn read(
    reader: usize,
    client: Client,
    thread_id: String,
    mut rng: Rng,
    over: Arc<AtomicBool>,
) -> Vec<Read> {
    let mut facts = Vec::new();
    let mut reads = Vec::new();
    while !over.load(Ordering::SeqCst) {
        if reads.len() % FACT_EVERY == 0 {
            let word = format!("r{reader}f{}x", facts.len());
            let stored = client
                .append_text(&thread_id, &format!("{word} is a fact"))
                .await;
            facts.push((word, stored.messages[0].message_id.clone()));
        }
        let (word, message_id) = &facts[rng.usize(0..facts.len())];
        let mut request = Request::new(SearchRequest {
            method: SearchMethod::Lexical.into(),
            top_k: Some(5),
            freshness: None,
            ..search_request(&thread_id, word, "")
        });
        request.set_timeout(CALL_TIMEOUT);
        let at = Instant::now();
        let answer = match client.recalls().search(request).await {
            Ok(found) => {
                let found = found.into_inner();
                let degraded = !found.degradations.is_empty();
                // While the index is filled, the three messages after it, which have its words
                // as context, may be ranked before it.
                let considered = if degraded { found.matches.len() } else { 1 };
                let best = found.matches.iter().take(considered);
                let mut best = best.filter_map(|hit| hit.message.as_ref());
                match best.any(|best| best.message_id == *message_id) {
                    true => Answer::Found { degraded },
                    false => Answer::Missing {
                        degraded,
                        text: format!(
                            "{word}: {:?}, degraded: {:?}",
                            texts(&found.matches),
                            found.degradations
                        ),
                    },
                }
            }
            Err(status) => {
                let Failure { code, message, .. } = status.into();
                Answer::Failed(format!("{code:?} {message}"))
            }
        };
        reads.push(Read {
            at,
            took: at.elapsed(),
            answer,
        });
        sleep(PAUSE).await;
    }
    reads
}

impl Reads {
    /// Adds what was answered. `faults` have their beginning, their end, and when the index
    /// was equal again.
    pub(super) fn report(
        &self,
        faults: &[(Instant, Instant, Instant)],
        limit: Duration,
        report: &mut Report,
    ) {
        let within = |read: &Read| {
            let span = |(began, _, equal): &(Instant, Instant, Instant)| {
                (*began..=*equal).contains(&read.at)
                    || (read.at < *began && read.at + read.took > *began)
            };
            faults.iter().any(span)
        };
        let count =
            |wanted: fn(&Answer) -> bool| self.0.iter().filter(|read| wanted(&read.answer)).count();
        let degraded = |answer: &Answer| {
            matches!(
                answer,
                Answer::Found { degraded: true } | Answer::Missing { degraded: true, .. }
            )
        };
        report.figure("searches", self.0.len());
        let during = self.0.iter().filter(|read| within(read));
        report.figure("searches during faults", during.clone().count());
        report.figure(
            "of them degraded",
            during.clone().filter(|read| degraded(&read.answer)).count(),
        );
        let outside = self.0.iter().filter(|read| !within(read));
        report.figure(
            "degraded answers without a fault",
            outside.filter(|read| degraded(&read.answer)).count(),
        );
        report.zero(
            "answers without the match that do not say so",
            count(|answer| {
                matches!(
                    answer,
                    Answer::Missing {
                        degraded: false,
                        ..
                    }
                )
            }),
        );
        report.zero(
            "degraded answers without the match",
            count(|answer| matches!(answer, Answer::Missing { degraded: true, .. })),
        );
        let missing = self.0.iter().filter_map(|read| match &read.answer {
            Answer::Missing { text, .. } => Some(text),
            Answer::Found { .. } | Answer::Failed(_) => None,
        });
        for text in missing.take(5) {
            report.problem(text.clone());
        }
        let mut failures: BTreeMap<&str, usize> = BTreeMap::new();
        for read in &self.0 {
            if let Answer::Failed(failure) = &read.answer {
                *failures.entry(failure).or_default() += 1;
            }
        }
        report.zero("searches that failed", failures.values().sum());
        for (failure, count) in failures.into_iter().take(5) {
            report.problem(format!("{count} searches: {failure}"));
        }
        let longest = during.map(|read| read.took).max().unwrap_or_default();
        report.limited(
            "longest search during a fault in seconds",
            rounded(longest),
            format!("≤ {}", limit.as_secs_f64()),
            longest <= limit,
        );
        let flagged = faults.iter().map(|(_, ended, equal)| {
            let after = self
                .0
                .iter()
                .filter(|read| read.at > *ended && read.at < *equal);
            let last = after
                .filter(|read| degraded(&read.answer))
                .map(|read| read.at);
            last.max().map_or(Duration::ZERO, |last| last - *ended)
        });
        let flagged: Vec<Duration> = flagged.collect();
        report.seconds("seconds until no answer is degraded", &flagged, None);
    }
}
