//! Tests of the requests that messages become.

use super::*;
use memory_contract::proto::part::Content;

fn requests(messages: &[(&str, &str)], again: bool) -> Vec<ImportMessagesRequest> {
    let mut batcher = Batcher::new(again);
    let mut requests = Vec::new();
    for (session, text) in messages {
        let session = SessionRef {
            session_key: (*session).to_owned(),
            ..Default::default()
        };
        let message = MessageInput {
            parts: vec![Content::Text((*text).to_owned()).into()],
            ..Default::default()
        };
        requests.extend(batcher.push("line".to_owned(), session, message));
    }
    requests.extend(batcher.take());
    requests.into_iter().map(|batch| batch.value).collect()
}

#[test]
fn the_same_messages_become_the_same_requests() {
    let messages = [("a", "x"), ("a", "x"), ("b", "x"), ("a", "y")];
    let first = requests(&messages, false);
    assert_eq!(first, requests(&messages, false));
    assert_eq!(first.len(), 3, "a session that changes ends a request");
    let mut ids: Vec<_> = first
        .iter()
        .flat_map(|r| r.messages.iter().map(|m| m.message_id.clone()))
        .collect();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), 4, "the same text said twice is two messages");
    assert_ne!(first[0].request_id, requests(&messages, true)[0].request_id);
}

#[test]
fn requests_stay_within_the_limits() {
    let long = "x".repeat(250 * 1024);
    let messages: Vec<_> = (0..250)
        .map(|n| ("a", if n % 10 == 0 { long.as_str() } else { "y" }))
        .collect();
    let requests = requests(&messages, false);
    assert_eq!(
        requests.iter().map(|r| r.messages.len()).sum::<usize>(),
        250
    );
    for request in &requests {
        assert!(request.messages.len() <= MESSAGES && request.encoded_len() <= BYTES);
    }
}

#[test]
fn a_request_becomes_one_a_message_and_says_whose_ids_follow_from_content() {
    let message = |id: &str, text: &str| MessageInput {
        message_id: id.to_owned(),
        parts: vec![Content::Text(text.to_owned()).into()],
        ..Default::default()
    };
    let mut batcher = Batcher::new(false);
    let named = "0192a0b0-5b1d-7e33-8a41-c0ffee000001";
    for one in [message("", "x"), message(named, "y")] {
        let full = batcher.push("line 1".to_owned(), SessionRef::default(), one);
        assert!(full.is_none());
    }
    let batch = batcher.take().unwrap();
    assert!(!batch.is_derived());
    let (thread, messages) = (batch.value.thread.clone(), batch.value.messages.clone());
    let singles = batch.singles();
    let derived: Vec<bool> = singles.iter().map(Batch::is_derived).collect();
    assert_eq!(derived, [true, false]);
    for (single, message) in singles.iter().zip(messages) {
        assert_eq!(single.place, "line 1");
        let expected = ImportMessagesRequest {
            thread: thread.clone(),
            messages: vec![message],
            ..Default::default()
        };
        assert_eq!(single.value, expected);
    }
}
