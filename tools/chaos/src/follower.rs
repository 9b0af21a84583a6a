//! Watches a thread while faults come and go: which appends were reported.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use memory_contract::proto::watch_thread_response::Event;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout_at};
use tonic::{Code, Status};

use super::report::Report;
use recollect_tests::{Client, Failure, watch_request};

/// After this time a stream is ended, and another one resumes from its cursor.
const STREAM_TIME: Duration = Duration::from_secs(2);
/// How long reports may come after what they report.
const REPORT_LIMIT: Duration = Duration::from_secs(30);
const POLL: Duration = Duration::from_millis(50);

/// A watch of a thread that begins again and again where it was.
pub(super) struct Follower {
    client: Client,
    thread_id: String,
    seen: Arc<Mutex<Seen>>,
    task: JoinHandle<()>,
}

#[derive(Default)]
struct Seen {
    /// Seqs of the messages reported.
    seqs: BTreeSet<i64>,
    cursor: String,
    streams: usize,
    /// Cursors that were refused.
    refused: usize,
}

impl Follower {
    /// Starts to watch a thread.
    pub(super) fn start(client: &Client, thread_id: &str) -> Self {
        let seen: Arc<Mutex<Seen>> = Arc::default();
        let task = tokio::spawn({
            let (client, thread_id) = (client.clone(), thread_id.to_owned());
            let seen = Arc::clone(&seen);
            async move {
                loop {
                    let followed = follow(&client, &thread_id, &seen).await;
                    if let Err(status) = followed {
                        let refused = Failure::from(status).code == Code::InvalidArgument;
                        seen.lock().unwrap().refused += usize::from(refused);
                        sleep(POLL).await;
                    }
                }
            }
        });
        Self {
            client: client.clone(),
            thread_id: thread_id.to_owned(),
            seen,
            task,
        }
    }

    /// Waits for the reports of all messages stored since the watch began; adds what is
    /// missing to the report. Some writer goes on meanwhile.
    pub(super) async fn finish(self, report: &mut Report) {
        let stored = self.client.get_thread(&self.thread_id).await.message_count;
        let start = Instant::now();
        let missing = loop {
            let missing = self.seen.lock().unwrap().missing(stored);
            if missing == 0 || start.elapsed() > REPORT_LIMIT {
                break missing;
            }
            sleep(POLL).await;
        };
        self.task.abort();
        let seen = self.seen.lock().unwrap();
        report.figure("messages that a watch reported", seen.seqs.len());
        report.figure("streams of the watch", seen.streams);
        report.zero("messages that the watch missed", missing);
        report.zero("cursors of the watch refused", seen.refused);
    }
}

impl Seen {
    /// How many messages up to a seq were not reported after the first that was.
    fn missing(&self, last: i64) -> usize {
        match self.seqs.first() {
            None => usize::try_from(last).unwrap_or(0),
            Some(first) => (*first..=last)
                .filter(|seq| !self.seqs.contains(seq))
                .count(),
        }
    }
}

/// Follows one stream for its time.
async fn follow(client: &Client, thread_id: &str, seen: &Mutex<Seen>) -> Result<(), Status> {
    let request = watch_request(thread_id, &seen.lock().unwrap().cursor.clone());
    let end = tokio::time::Instant::now() + STREAM_TIME;
    let mut stream = client.threads().watch_thread(request).await?.into_inner();
    seen.lock().unwrap().streams += 1;
    while let Ok(next) = timeout_at(end, stream.message()).await {
        let Some(response) = next? else { break };
        let mut seen = seen.lock().unwrap();
        seen.cursor = response.cursor;
        if let Some(Event::MessagesAppended(appended)) = response.event {
            let end = appended.first_seq + appended.message_count;
            seen.seqs.extend(appended.first_seq..end);
        }
    }
    Ok(())
}
