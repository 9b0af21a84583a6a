//! History from the head, whose cost must not depend on the length of the thread.

use std::time::Instant;

use memory_contract::proto::{
    AppendMessagesRequest, GetHistoryRequest, MessageInput, Part, Role, part,
};
use serde::Serialize;

use crate::{
    Failure,
    clients::{Clients, new_app},
    progress,
    service::Service,
    stats::{Latencies, Quantiles, rounded},
};

/// Messages in the short thread.
const SHORT: usize = 100;
/// Histories read from each thread.
const READS: usize = 400;
/// Reads before the measurement, which fill caches.
const WARM_UP: usize = 20;

/// Latencies of the same history from a long and a short thread.
#[derive(Serialize)]
pub struct HistoryFigures {
    long_thread_messages: usize,
    short_thread_messages: usize,
    /// Messages in each history.
    returned_messages: usize,
    long: Quantiles,
    short: Quantiles,
}

impl HistoryFigures {
    /// The ratio of the long thread's median to the short one's.
    pub fn ratio(&self) -> f64 {
        rounded(self.long.p50_ms / self.short.p50_ms.max(0.001), 2)
    }

    /// A summary in one line.
    pub fn line(&self) -> String {
        format!(
            "{} messages from a thread of {}: p50 {:.2} ms, p95 {:.2} ms; of {}: p50 {:.2} ms, p95 {:.2} ms",
            self.returned_messages,
            self.long_thread_messages,
            self.long.p50_ms,
            self.long.p95_ms,
            self.short_thread_messages,
            self.short.p50_ms,
            self.short.p95_ms
        )
    }
}

/// Fills two threads and reads them alternately.
pub async fn measure(service: &Service, long: usize) -> Result<HistoryFigures, Failure> {
    let mut clients = service.connect().await?;
    let app = new_app();
    let long_thread = fill(&mut clients, &app, "long", long).await?;
    let short_thread = fill(&mut clients, &app, "short", SHORT).await?;
    crate::indexed::indexed(&mut clients).await?;

    let sides = [(clients.clone(), long_thread), (clients, short_thread)];
    let (returned, [long_latencies, short_latencies]) =
        alternate("reading histories", sides).await?;
    Ok(HistoryFigures {
        long_thread_messages: long,
        short_thread_messages: SHORT,
        returned_messages: returned,
        long: long_latencies.quantiles(),
        short: short_latencies.quantiles(),
    })
}

/// Reads the history of two threads alternately: the messages in each history, and the
/// latencies of both sides.
pub async fn alternate(
    label: &'static str,
    mut sides: [(Clients, String); 2],
) -> Result<(usize, [Latencies; 2]), Failure> {
    let bar = progress::count(label, (READS + WARM_UP) as u64);
    let mut latencies = [Latencies::new()?, Latencies::new()?];
    let mut returned = 0;
    for read in 0..READS + WARM_UP {
        for ((clients, thread), latencies) in sides.iter_mut().zip(&mut latencies) {
            let request = GetHistoryRequest {
                thread: Some(thread.clone().into()),
                ..Default::default()
            };
            let begin = Instant::now();
            let history = clients.messages.get_history(request).await?.into_inner();
            if read >= WARM_UP {
                latencies.add(begin.elapsed());
            }
            returned = history.messages.len();
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    Ok((returned, latencies))
}

/// Fills a thread with so many messages.
pub async fn fill(
    clients: &mut Clients,
    app: &str,
    key: &str,
    messages: usize,
) -> Result<String, Failure> {
    let thread_id = clients.thread(app, "bench", key).await?;
    let bar = progress::count(format!("filling a thread of {messages}"), messages as u64);
    let mut stored = 0;
    while stored < messages {
        let batch = (messages - stored).min(256);
        let request = AppendMessagesRequest {
            thread: Some(thread_id.clone().into()),
            messages: (stored..stored + batch).map(message).collect(),
            ..Default::default()
        };
        clients.messages.append_messages(request).await?;
        stored += batch;
        bar.inc(batch as u64);
    }
    bar.finish_and_clear();
    Ok(thread_id)
}

fn message(number: usize) -> MessageInput {
    let role = if number.is_multiple_of(2) {
        Role::User
    } else {
        Role::Assistant
    };
    MessageInput {
        role: role.into(),
        parts: vec![Part {
            content: Some(part::Content::Text(format!(
                "This is message {number} of a long conversation about nothing much."
            ))),
            ..Default::default()
        }],
        ..Default::default()
    }
}
