//! Compares what was acknowledged with what is stored.

use std::collections::HashMap;

use memory_contract::proto::{Message, SearchMethod, SearchRequest};

use super::report::Report;
use super::writers::Sent;
use recollect_tests::{Client, search_request, text_of};

/// Replays and searches at the end of a scenario.
const SAMPLES: usize = 200;

/// Differences between the requests and the stored messages.
#[derive(Default)]
struct Findings {
    acknowledged: usize,
    stored: usize,
    lost: usize,
    moved: usize,
    doubled: usize,
    gaps: usize,
    apart: usize,
    overtaken: usize,
    halves: usize,
    unknown: usize,
    unacknowledged_stored: usize,
    unacknowledged_absent: usize,
}

/// Reads every thread and adds to the report how it differs from what was sent.
pub(super) async fn compare(
    client: &Client,
    threads: &[String],
    sent: &[Sent],
    report: &mut Report,
) {
    let mut found = Findings::default();
    let mut stored = Vec::new();
    for (index, thread_id) in threads.iter().enumerate() {
        let messages = client.all_messages(thread_id).await;
        let sent: Vec<&Sent> = sent.iter().filter(|sent| sent.thread == index).collect();
        found.add(&sent, &messages);
        stored.push(messages);
    }
    report.figure("messages stored", found.stored);
    report.figure("messages acknowledged", found.acknowledged);
    report.zero("acknowledged messages lost", found.lost);
    report.zero(
        "acknowledged messages with another id or place",
        found.moved,
    );
    report.zero("messages stored twice", found.doubled);
    report.zero("gaps in seq", found.gaps);
    report.zero(
        "requests whose messages are not in order, together",
        found.apart,
    );
    report.zero(
        "requests before an earlier one of their writer",
        found.overtaken,
    );
    report.zero("requests stored in part", found.halves);
    report.zero("messages that were never sent", found.unknown);
    report.figure(
        "unacknowledged requests: all stored",
        found.unacknowledged_stored,
    );
    report.figure(
        "unacknowledged requests: nothing stored",
        found.unacknowledged_absent,
    );
    report.zero(
        "replays with another answer",
        other_replays(client, threads, sent).await,
    );
}

impl Findings {
    /// Compares the requests of one thread with its messages.
    fn add(&mut self, sent: &[&Sent], messages: &[Message]) {
        self.stored += messages.len();
        let mut expected = 1;
        let mut by_text: HashMap<String, Vec<&Message>> = HashMap::new();
        for message in messages {
            self.gaps += usize::from(message.seq != expected);
            expected = message.seq + 1;
            by_text.entry(text_of(message)).or_default().push(message);
        }
        self.doubled += by_text.values().map(|same| same.len() - 1).sum::<usize>();

        // By writer: the seq of the newest acknowledged message.
        let mut newest: HashMap<usize, i64> = HashMap::new();
        for sent in sent {
            let texts: Vec<_> = sent.texts().map(|text| by_text.remove(&text)).collect();
            let there: Vec<&Message> = texts.iter().flatten().map(|same| same[0]).collect();
            let together = there.windows(2).all(|pair| pair[1].seq == pair[0].seq + 1);
            self.apart += usize::from(!together);
            let Some(acknowledged) = &sent.acknowledged else {
                match there.len() {
                    0 => self.unacknowledged_absent += 1,
                    all if all == sent.parts => self.unacknowledged_stored += 1,
                    _ => self.halves += 1,
                }
                continue;
            };
            self.acknowledged += acknowledged.len();
            self.lost += texts.iter().filter(|text| text.is_none()).count();
            self.moved += there
                .iter()
                .filter(|message| {
                    let place = (message.seq, message.message_id.clone());
                    !acknowledged.contains(&place)
                })
                .count();
            let before = newest.entry(sent.writer).or_default();
            for (seq, _) in acknowledged {
                self.overtaken += usize::from(seq <= before);
                *before = *seq;
            }
        }
        self.unknown += by_text.values().map(Vec::len).sum::<usize>();
    }
}

/// Sends a sample of the acknowledged requests again; how many are not answered as they were.
async fn other_replays(client: &Client, threads: &[String], sent: &[Sent]) -> usize {
    let mut others = 0;
    for sent in sample(sent) {
        let Some(acknowledged) = &sent.acknowledged else {
            continue;
        };
        let again = client.call(sent.request(&threads[sent.thread])).await;
        let same = again.replayed
            && again
                .messages
                .iter()
                .map(|message| (message.seq, message.message_id.clone()))
                .eq(acknowledged.iter().cloned());
        others += usize::from(!same);
    }
    others
}

/// How many of a sample of acknowledged messages a search by their words does not find.
pub(super) async fn not_found(client: &Client, threads: &[String], sent: &[Sent]) -> usize {
    let mut missing = 0;
    for sent in sample(sent) {
        let Some(acknowledged) = &sent.acknowledged else {
            continue;
        };
        let text = sent.texts().next().unwrap_or_default();
        let word = text.split(' ').next().unwrap_or_default();
        let search = SearchRequest {
            method: SearchMethod::Lexical.into(),
            top_k: Some(3),
            ..search_request(&threads[sent.thread], word, "")
        };
        let found = client.search(search).await;
        let first = found.matches.first().and_then(|hit| hit.message.as_ref());
        let right = found.degradations.is_empty()
            && first.is_some_and(|message| message.message_id == acknowledged[0].1);
        missing += usize::from(!right);
    }
    missing
}

fn sample(sent: &[Sent]) -> impl Iterator<Item = &Sent> {
    sent.iter().step_by((sent.len() / SAMPLES).max(1))
}
