//! Tests of the checksum.

use super::*;
use memory_contract::proto::{
    ExtractionStrategy, File, Memory, Message, Part, Thread, part::Content,
};

fn thread(key: &str, head: &str) -> Kind {
    Kind::Thread(Thread {
        session_key: key.to_owned(),
        head_message_id: head.to_owned(),
        ..Default::default()
    })
}

fn message(id: &str, text: &str) -> Kind {
    Kind::Message(Message {
        message_id: id.to_owned(),
        parts: vec![Part {
            content: Some(Content::Text(text.to_owned())),
            ..Default::default()
        }],
        ..Default::default()
    })
}

fn checksum(records: &[Kind]) -> String {
    let mut checksum = ExportChecksum::default();
    for record in records {
        checksum.see(record);
    }
    checksum.summary().checksum
}

#[test]
fn the_order_of_threads_does_not_count_and_that_of_messages_does() {
    let (one, two) = (thread("one", "a"), thread("two", ""));
    let (a, b) = (message("a", "A"), message("b", "B"));
    let all = checksum(&[one.clone(), a.clone(), b.clone(), two.clone()]);
    assert_eq!(
        all,
        checksum(&[two.clone(), one.clone(), a.clone(), b.clone()])
    );
    for other in [
        vec![one.clone(), b.clone(), a.clone(), two.clone()],
        vec![one.clone(), a.clone(), two.clone(), b.clone()],
        vec![one.clone(), a.clone(), b.clone()],
        vec![thread("one", "b"), a.clone(), b.clone(), two.clone()],
        vec![one.clone(), message("a", "A!"), b.clone(), two.clone()],
    ] {
        assert_ne!(all, checksum(&other), "{other:?}");
    }
}

#[test]
fn a_head_that_is_not_there_is_the_last_message() {
    let messages = [message("a", "A"), message("b", "B")];
    let with = |head: &str| {
        let [a, b] = messages.clone();
        checksum(&[thread("one", head), a, b])
    };
    assert_eq!(with("erased"), with("b"));
    assert_eq!(with(""), with("b"));
    assert_ne!(with("a"), with("b"));
}

#[test]
fn fields_that_an_import_changes_are_not_in_the_checksum() {
    let Kind::Message(said) = message("a", "A") else {
        panic!()
    };
    let moved = Message {
        thread_id: "other".to_owned(),
        seq: 7,
        branch: 3,
        depth: 2,
        token_count: 9,
        ..said.clone()
    };
    assert_eq!(
        checksum(&[thread("one", ""), Kind::Message(said)]),
        checksum(&[thread("one", ""), Kind::Message(moved)])
    );
}

#[test]
fn the_checksum_of_a_memory_covers_its_sources_and_not_its_use() {
    let memory = Memory {
        text: "Likes tea".to_owned(),
        ..Default::default()
    };
    let sum = |memory: &Memory| checksum(&[Kind::Memory(memory.clone())]);
    let used = Memory {
        thread_id: "other".to_owned(),
        last_use_time: Some(prost_types::Timestamp::default()),
        persist_time: Some(prost_types::Timestamp::default()),
        etag: "7".to_owned(),
        ..memory.clone()
    };
    assert_eq!(sum(&used), sum(&memory));
    let proved = Memory {
        source_message_ids: vec!["a".to_owned()],
        ..memory.clone()
    };
    assert_ne!(sum(&proved), sum(&memory));
    let extracted = Memory {
        extraction_strategy: ExtractionStrategy::Summary.into(),
        ..memory.clone()
    };
    assert_ne!(sum(&extracted), sum(&memory));
    let superseded = Memory {
        known_until: Some(prost_types::Timestamp::default()),
        ..memory.clone()
    };
    assert_ne!(sum(&superseded), sum(&memory));
}

#[test]
fn a_file_that_came_twice_counts_once() {
    let file = Kind::File(File {
        storage_key: "k".to_owned(),
        ..Default::default()
    });
    let mut twice = ExportChecksum::default();
    twice.see(&file);
    twice.see(&file);
    let summary = twice.summary();
    assert_eq!(summary.file_count, 1);
    assert_eq!(summary.checksum, checksum(&[file]));
}
