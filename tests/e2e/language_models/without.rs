//! Everything works without a language model.

use memory_contract::proto::{
    ExtractMemoriesRequest, ExtractionStrategy, GetModelUsageRequest, MemoryMode, MemoryOrigin,
    MemoryPolicy, ModelProvider, ModelPurpose, TextOrigin,
};
use recollect_tests::{
    SOON, app, apply, by_id, check_context, context_request, eventually, eventually_some,
    known_texts, records, seconds, trial, turn,
};
use tonic::Code;

use super::summaries::summary;
use super::{extract, known, mending, set_policy, small, status, thread, usage};
use crate::distill::ledger::observations;
use crate::plain;

#[apply(trial)]
async fn b10_everything_works_without_any_model() {
    let client = plain().await;
    let app = app();
    let observed = MemoryPolicy {
        mode: MemoryMode::Observational.into(),
        observer_tokens: Some(1_000),
        extraction: ExtractionStrategy::Discrete.into(),
        ..Default::default()
    };
    set_policy(&client, &app, observed).await;
    let observed = client.thread(&app).await;
    let said = turn("I live in Bergen.", "How nice.");
    client.append(&observed, said).await;
    client.append(&observed, mending(0..20)).await;
    let working = MemoryPolicy {
        mode: MemoryMode::Working.into(),
        ..small()
    };
    let summarized = thread(&client, working).await;
    client.append(&summarized, mending(0..12)).await;

    // A summary, observations and a fact come about.
    let reported = summary(&client, &summarized, |_| true).await;
    assert_eq!(reported.origin(), TextOrigin::Extractive);
    assert_eq!(reported.made_by, "");
    assert!(reported.text.contains("sail"), "{reported:?}");
    let seen = eventually_some("observations", SOON, async || {
        let found = observations(&client, &observed, false).await.observations;
        (!found.is_empty()).then_some(found)
    })
    .await;
    assert!(
        seen.iter()
            .all(|one| one.origin() == TextOrigin::Extractive),
        "{seen:?}"
    );
    let fact = known(&client, &app, "ada", "Bergen").await;
    assert_eq!(
        (fact.origin(), fact.made_by.as_str()),
        (MemoryOrigin::Extracted, "")
    );

    // Contexts have them.
    let records_of = |context| -> Vec<String> {
        let records = records(context).into_iter();
        let text = |record: serde_json::Value| record["text"].as_str().unwrap().to_owned();
        records.map(text).collect()
    };
    let request = context_request(&summarized, "And now?");
    let context = client.context(request).await;
    check_context(&context, 1_000_000);
    assert_eq!(records_of(&context), [reported.text.as_str()]);
    let context = eventually_some("the fact is found", SOON, async || {
        let request = context_request(&observed, "What is there to see in Bergen?");
        let context = client.context(request).await;
        known_texts(&context)
            .contains(&fact.text)
            .then_some(context)
    })
    .await;
    check_context(&context, 1_000_000);
    assert_eq!(records_of(&context)[0], seen[0].text);

    // No model was called, and nothing was paid.
    let status = status(&client).await;
    let models: Vec<_> = status
        .models
        .iter()
        .map(|model| (model.purpose(), model.provider(), model.model.as_str()))
        .collect();
    assert_eq!(
        models,
        [
            (ModelPurpose::Generation, ModelProvider::Extractive, ""),
            (ModelPurpose::Observation, ModelProvider::Extractive, "")
        ]
    );
    let used = usage(&client).await;
    assert_eq!(
        (used.usage.len(), used.daily_token_budget, used.tokens_today),
        (0, 0, 0)
    );
    for days in [-1, 0, 367] {
        let request = GetModelUsageRequest { days: Some(days) };
        client
            .refused(request)
            .await
            .is(Code::InvalidArgument, "INVALID_FIELD")
            .names_field("days");
    }
}

#[apply(trial)]
async fn r11_each_fact_of_a_conversation_is_extracted_without_a_model() {
    let client = plain().await;
    let app = app();
    extract(&client, &app, ExtractionStrategy::Discrete).await;
    let thread_id = client.thread(&app).await;
    for (said, answer) in [
        (
            "Hi! We're going to Paris in May for our anniversary.",
            "How lovely! My wife and I love Paris, too.",
        ),
        (
            "Can you find a hotel? My wife uses a wheelchair, and our budget is 3,000 euros.",
            "I prefer the Marais. Is your budget 4,000 euros?",
        ),
        (
            "I prefer window seats, and we're both vegetarian. What if my wife has asthma?",
            "Then I suggest a quiet street.",
        ),
        (
            "If we stay longer, our budget is 5,000 euros.",
            "I will keep that in mind.",
        ),
    ] {
        client.append_turn(&thread_id, said, answer).await;
    }
    let request = ExtractMemoriesRequest {
        thread: by_id(&thread_id),
        max_wait: Some(seconds(10)),
    };
    eventually("all is extracted", SOON, async || {
        client.call(request.clone()).await.complete
    })
    .await;
    let all = client.all_memories(&app, "ada").await;
    let mut texts: Vec<&str> = all.iter().map(|memory| memory.text.as_str()).collect();
    texts.sort();
    assert_eq!(
        texts,
        [
            "User: I prefer window seats.",
            "User: My wife uses a wheelchair.",
            "User: Our budget is 3,000 euros.",
            "User: We're both vegetarian.",
            "User: We're going to Paris in May for our anniversary.",
        ]
    );
}
