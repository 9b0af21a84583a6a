//! A model that is asked and does not answer: no other call waits for it. Thresholds are the
//! defaults.

use std::future::Future;
use std::time::{Duration, Instant};

use memory_contract::proto::{
    BuildContextRequest, ContextBlockKind as Kind, GetObservationsRequest, GetObservationsResponse,
    GetWorkingMemoryRequest, MemoryMode, MessageInput, Role, TextOrigin, WorkingMemory,
};
use recollect_tests::{
    Answering, Client, LanguageModel, SOON, app, apply, block, block_texts, by_id, check_context,
    context_request, cut, eventually, eventually_some, history_request, mode, say, text_of,
    tool_call, tool_result, trial_with_own_server, turn,
};
use serde_json::json;

use super::{start, thread};
use crate::distill::ledger::verify;

/// A page of about 1,000 tokens that an agent has fetched.
fn page(number: usize) -> String {
    let line = |line: usize| {
        format!(
            "Row {line} of report {number}: {} parcels for depot {}, {} of them late by {} hours.\n",
            number * 7 % 97 + line,
            line * 13 % 211,
            line % 5,
            number % 9
        )
    };
    (0..36).map(line).collect()
}

fn step(number: usize) -> Vec<MessageInput> {
    let id = format!("call-{number}");
    vec![
        tool_call(&id, "fetch", json!({"report": number})),
        tool_result(&id, &page(number)),
    ]
}

/// Longest duration of a call while the model is held, which lasts until the test ends it.
const MAX_CALL: Duration = Duration::from_secs(25);

/// The response to a call, which must not take longer than [`MAX_CALL`].
async fn bounded<T>(name: &str, call: impl Future<Output = T>) -> T {
    let start = Instant::now();
    let response = call.await;
    let took = start.elapsed();
    assert!(took < MAX_CALL, "{name} took {took:?}");
    response
}

/// Checks that an append, a history and a context are answered while the model is held.
async fn others_go_on(client: &Client, thread_id: &str, model: &LanguageModel, wanted: MemoryMode) {
    assert!(model.in_progress() > 0, "the model is held");
    let added = bounded("append", client.append_text(thread_id, "And what now?")).await;
    let history = bounded("history", client.call(history_request(thread_id))).await;
    assert_eq!(text_of(history.messages.last().unwrap()), "And what now?");
    let request = BuildContextRequest {
        policy: Some(mode(wanted)),
        max_tokens: None,
        ..context_request(thread_id, "")
    };
    let context = bounded("context", client.context(request)).await;
    check_context(&context, i32::MAX);
    // Nothing is lost while it waits: all messages are there, in full.
    let recent = block(&context, Kind::Recent).unwrap();
    let all = client.all_messages(thread_id).await;
    assert_eq!(recent.messages.len(), all.len());
    assert_eq!(cut(&context, Kind::Recent).item_count, 0);
    let last = recent.messages.last().unwrap();
    assert_eq!(last.message_id, added.messages[0].message_id);
    assert!(block(&context, Kind::Distilled).is_none(), "{context:?}");
}

/// A server whose model may be held for longer than a test lasts.
const HELD: [&str; 2] = [
    "distill.generation.timeout = \"10m\"",
    "distill.calls.total_timeout = \"10m\"",
];

async fn observations(client: &Client, thread_id: &str) -> GetObservationsResponse {
    let request = GetObservationsRequest {
        thread: by_id(thread_id),
        ..Default::default()
    };
    client.call(request).await
}

#[apply(trial_with_own_server)]
async fn n08_no_call_waits_while_observations_are_written() {
    let (_dir, model, _server, client) = start(&HELD).await;
    model.answers(Answering::Never);
    let thread_id = thread(&client, mode(MemoryMode::Observational)).await;
    let task = say(
        Role::User,
        "Read the reports, and tell me which depots are late.",
    );
    client.append(&thread_id, vec![task]).await;
    for number in 0..40 {
        client.append(&thread_id, step(number)).await;
    }
    // More than 30,000 tokens: observations are due, and the model is asked for the first.
    eventually("the model is asked", SOON, async || model.in_progress() > 0).await;
    others_go_on(&client, &thread_id, &model, MemoryMode::Observational).await;
    let waiting = bounded("observations", observations(&client, &thread_id)).await;
    assert!(waiting.observations.is_empty(), "{waiting:?}");
    assert_eq!(waiting.ready_message_tokens, 0);
    assert!(waiting.raw_message_tokens > 30_000, "{waiting:?}");
    assert!(model.in_progress() > 0, "the model is still held");

    model.answers(Answering::Words(
        "Depot 12 is late by nine hours.".to_owned(),
    ));
    let found = eventually_some("observations are swapped in", SOON, async || {
        let found = observations(&client, &thread_id).await;
        (found.raw_message_tokens <= 30_000).then_some(found)
    })
    .await;
    assert!(!found.observations.is_empty());
    let by_model = found.observations.iter();
    let by_model = by_model.filter(|one| one.origin() == TextOrigin::Model);
    assert!(by_model.count() > 0, "{found:?}");
    assert!(verify(&client, &thread_id).await.ok);
}

async fn working(client: &Client, thread_id: &str) -> WorkingMemory {
    let request = GetWorkingMemoryRequest {
        thread: by_id(thread_id),
        ..Default::default()
    };
    client.call(request).await.working_memory.unwrap()
}

#[apply(trial_with_own_server)]
async fn r03_no_call_waits_while_a_summary_is_written() {
    let (_dir, model, _server, client) = start(&HELD).await;
    model.answers(Answering::Never);
    let thread_id = client.thread(&app()).await;
    for number in 0..50 {
        let question = format!("What does report {number} say?\n{}", page(number));
        let said = turn(&question, &page(number + 1_000));
        client.append(&thread_id, said).await;
    }
    // More than 0.7 of 128,000 tokens, and less than the window.
    let memory = working(&client, &thread_id).await;
    assert!(
        (89_600..110_000).contains(&memory.message_tokens),
        "{}",
        memory.message_tokens
    );
    assert_eq!(memory.context_percentage_until_summarization, 100.0);
    eventually("the model is asked", SOON, async || model.in_progress() > 0).await;
    others_go_on(&client, &thread_id, &model, MemoryMode::Working).await;
    let waiting = bounded("working memory", working(&client, &thread_id)).await;
    assert_eq!(
        (waiting.summarized_message_count, &*waiting.summary),
        (0, "")
    );
    assert!(model.in_progress() > 0, "the model is still held");

    model.answers(Answering::Words(
        "They read reports about parcels.".to_owned(),
    ));
    eventually("the summary is made", SOON, async || {
        let memory = working(&client, &thread_id).await;
        memory.summary == "They read reports about parcels."
            && memory.context_percentage_until_summarization < 100.0
    })
    .await;
    let request = BuildContextRequest {
        policy: Some(mode(MemoryMode::Working)),
        max_tokens: None,
        ..context_request(&thread_id, "Which depots are late?")
    };
    let context = client.context(request).await;
    let summary = block_texts(&context, Kind::Distilled).remove(0);
    assert!(
        summary.contains("They read reports about parcels."),
        "{summary}"
    );
    assert_eq!(cut(&context, Kind::Recent).item_count, 0);
    assert!(verify(&client, &thread_id).await.ok);
}
