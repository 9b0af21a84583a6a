//! Changes by workers that a watch reports.

use std::collections::BTreeMap;

use memory_contract::proto::{
    ExtractionStrategy, MemoryMode, MemoryPolicy, Message, PutWorkingMemoryRequest, Role,
    WatchThreadResponse, watch_thread_response::Event,
};
use recollect_tests::{Key, Reported as _, apply, by_id, plan, put, say, trial, turn};

use super::{small, talk, thread};
use crate::plain;

/// Derived text and memories come with what was made.
fn check_content(event: &WatchThreadResponse) {
    match event.event.as_ref().unwrap() {
        Event::SummaryMade(made) => assert_ne!(made.text, ""),
        Event::ObservationMade(made) => assert_ne!(made.text, ""),
        Event::MemoriesExtracted(extracted) => {
            let found: Vec<&String> = extracted
                .memories
                .iter()
                .map(|one| &one.memory_id)
                .collect();
            assert_eq!(found, extracted.memory_ids.iter().collect::<Vec<_>>());
            assert!(extracted.memories.iter().all(|one| !one.text.is_empty()));
        }
        _ => {}
    }
}

#[apply(trial)]
async fn a_watch_reports_derived_text() {
    let client = plain().await;
    let policy = MemoryPolicy {
        mode: MemoryMode::Observational.into(),
        observer_tokens: Some(1_000),
        extraction: ExtractionStrategy::Discrete.into(),
        ..small()
    };
    let thread_id = thread(&client, policy).await;
    let mut events = client.watch_contents(&thread_id, "").await;
    let said = turn("I live in Bergen.", "How nice.");
    client.append(&thread_id, said).await;
    client.append(&thread_id, talk("aunt", 0..20)).await;

    // The first events by actor, action and count, until all work is done.
    let mut reported: BTreeMap<String, (String, String, i64)> = BTreeMap::new();
    let made = [
        "summarize",
        "observe",
        "activate_observations",
        "extract_memories",
    ];
    while !made.iter().all(|action| reported.contains_key(*action)) {
        let event = events.next().await;
        let change = event.change();
        if !reported.contains_key(&change.action) {
            check_content(&event);
        }
        let first = (event.actor, change.subject, change.count);
        reported.entry(change.action).or_insert(first);
    }
    for action in made {
        let (actor, subject, count) = &reported[action];
        assert_eq!(actor, "worker", "{action}");
        assert!(*count > 0, "{action}: {count}");
        // What was made has a number; memories have ids.
        let first = subject.split(',').next().unwrap();
        match action {
            "extract_memories" => assert!(uuid::Uuid::try_parse(first).is_ok(), "{subject}"),
            _ => assert_eq!(first, "1", "{action}"),
        }
    }
    assert_eq!(reported["append_messages"].0, Key::Acme.name());

    // A caller's changes are reported among those of the workers.
    let goal = put(&thread_id, "", plan("Visit all aunts.", &["Bergen"]));
    client.put_plan(goal).await;
    let last = say(Role::User, "And now?");
    let memory = PutWorkingMemoryRequest {
        thread: by_id(&thread_id),
        messages: vec![Message {
            role: last.role,
            parts: last.parts,
            ..Default::default()
        }],
        ..Default::default()
    };
    client.call(memory).await;
    let mut own = Vec::new();
    while own.last().is_none_or(|last| last != "put_working_memory") {
        let event = events.next().await;
        if event.actor == Key::Acme.name() {
            own.push(event.action());
        } else {
            assert_eq!(event.actor, "worker", "{event:?}");
        }
    }
    // A put appends its messages and sets the missing ones aside.
    let expected = [
        "put_plan",
        "append_messages",
        "summarize",
        "put_working_memory",
    ];
    assert_eq!(own, expected);
}
