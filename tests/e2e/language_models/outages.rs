//! Models that do not answer, answer wrongly, or cost too much.

use memory_contract::proto::{BreakerState, ExtractionStrategy, MemoryOrigin};
use recollect_tests::{
    ANSWER_COSTS, Answering, AskedModel, DataDir, Key, LanguageModel, SOON, app, apply, eventually,
    recollect_at, trial_with_own_server,
};

use super::{extract, extracting, known, server, set, start, status, usage};

const SAID: &str = "I live in Bergen. FACT(Ada lives in Bergen.)";

#[apply(trial_with_own_server)]
async fn b10_the_breaker_opens_and_the_extractive_distiller_takes_over() {
    let lines = [
        "distill.calls.breaker_failures = 1",
        "distill.calls.breaker_pause = \"1h\"",
        "worker.distill.model_attempts = 1",
    ];
    let (_dir, model, server, client, app) = extracting(ExtractionStrategy::Discrete, &lines).await;
    model.answers(Answering::Status(500));
    let thread_id = client.thread(&app).await;
    client.append_turn(&thread_id, SAID, "Good.").await;
    let fact = known(&client, &app, "ada", "Bergen").await;
    assert_eq!(
        (fact.origin(), fact.made_by.as_str()),
        (MemoryOrigin::Extracted, "")
    );
    let generation = status(&client).await.models[0].clone();
    assert_eq!(
        (generation.model.as_str(), generation.breaker()),
        ("large", BreakerState::Open)
    );
    assert!(generation.last_error.contains("500"), "{generation:?}");
    // The call may have been for another tenant: administrators alone see its error.
    let colleague = server.client(Key::AcmeToo).await;
    let generation = status(&colleague).await.models[0].clone();
    assert_eq!(generation.breaker(), BreakerState::Open);
    assert_eq!(generation.last_error, "");
    // It is left alone now, also where it would answer.
    model.answers(Answering::Well);
    let before = model.asked().len();
    client
        .append_turn(&thread_id, "I work as a baker.", "Good.")
        .await;
    known(&client, &app, "ada", "baker").await;
    assert_eq!(model.asked().len(), before);
    // One call was made, and gave nothing.
    let used = usage(&client).await;
    let [large] = &used.usage[..] else {
        panic!("{used:?}")
    };
    assert_eq!(
        (large.model.as_str(), large.call_count, large.failed_count),
        ("large", 1, 1)
    );

    let cli = |command| {
        recollect_at(&server.ready().addr, Key::Acme, &[command])
            .ok()
            .stdout
    };
    let shown = cli("status");
    assert!(
        shown.contains("large") && shown.contains("paused (open)"),
        "{shown}"
    );
    let shown = cli("usage");
    assert!(
        shown.contains("large") && shown.contains("no daily budget"),
        "{shown}"
    );
}

#[apply(trial_with_own_server)]
async fn b10_a_spent_budget_stops_spending_and_not_the_service() {
    // A call sets its prompt and its longest answer aside: two never fit.
    let lines = [
        "distill.daily_token_budget = 3000",
        "distill.generation.max_output_tokens = 2000",
        "worker.distill.lanes = 4",
    ];
    let (_dir, model, server, client, app) = extracting(ExtractionStrategy::Discrete, &lines).await;
    let (input, output) = ANSWER_COSTS;
    let mut number = 0;
    eventually("the budget is spent", SOON * 2, async || {
        // Several at once: they do not spend the same tokens.
        for _ in 0..4 {
            number += 1;
            let thread_id = client.thread_of(&app, &format!("u{number}")).await;
            client.append_turn(&thread_id, SAID, "Good.").await;
        }
        let mut makers = Vec::new();
        for user in number - 3..=number {
            makers.push(
                known(&client, &app, &format!("u{user}"), "Bergen")
                    .await
                    .made_by,
            );
        }
        let used = usage(&client).await;
        assert!(used.tokens_today <= 3_000, "{used:?}");
        assert_eq!(used.daily_token_budget, 3_000);
        // Until the day ends, the extractive distiller does it.
        makers.iter().all(|maker| maker.is_empty())
    })
    .await;
    let used = usage(&client).await;
    let [large] = &used.usage[..] else {
        panic!("{used:?}")
    };
    assert!(large.call_count > 0);
    assert_eq!(large.failed_count, 0);
    assert_eq!(large.input_tokens, large.call_count * input);
    assert_eq!(large.output_tokens, large.call_count * output);
    assert_eq!(used.tokens_today, large.input_tokens + large.output_tokens);
    assert_eq!(
        large.call_count,
        i64::try_from(model.asked().len()).unwrap()
    );
    // It is the tenant's own.
    let other = server.client(Key::Globex).await;
    assert_eq!(usage(&other).await.tokens_today, 0);
    extract(&other, &app, ExtractionStrategy::Discrete).await;
    let thread_id = other.thread(&app).await;
    other.append_turn(&thread_id, SAID, "Good.").await;
    assert_eq!(known(&other, &app, "ada", "Bergen").await.made_by, "large");
}

#[apply(trial_with_own_server)]
async fn b10_each_try_of_a_model_that_does_not_answer_is_paid_for() {
    // Three such tries leave too little for a fourth.
    let lines = [
        "distill.daily_token_budget = 8000",
        "distill.generation.max_output_tokens = 2000",
        "distill.generation.timeout = \"1s\"",
        "distill.calls.first_pause = \"1ms\"",
        "distill.calls.longest_pause = \"1ms\"",
        "distill.calls.max_attempts = 9",
        "distill.calls.breaker_failures = 99",
    ];
    let (_dir, model, _server, client, app) =
        extracting(ExtractionStrategy::Discrete, &lines).await;
    model.answers(Answering::Never);
    let thread_id = client.thread(&app).await;
    client.append_turn(&thread_id, SAID, "Good.").await;
    let fact = known(&client, &app, "ada", "Bergen").await;
    assert_eq!(
        (fact.origin(), fact.made_by.as_str()),
        (MemoryOrigin::Extracted, "")
    );
    let used = usage(&client).await;
    let [large] = &used.usage[..] else {
        panic!("{used:?}")
    };
    let tries = i64::try_from(model.asked().len()).unwrap();
    assert!(tries > 1, "{tries}");
    assert_eq!((large.call_count, large.failed_count), (tries, tries));
    assert_eq!(large.output_tokens, tries * 2_000);
    assert!(large.input_tokens >= tries * 100, "{large:?}");
    assert!(used.tokens_today <= 8_000, "{used:?}");
    assert!(used.tokens_today + 2_000 + large.input_tokens / tries > 8_000);
}

#[apply(trial_with_own_server)]
async fn b10_an_answer_that_cannot_be_read_changes_nothing_and_is_counted() {
    let (dir, model, server, client, app) = extracting(
        ExtractionStrategy::Discrete,
        &["worker.distill.model_attempts = 2"],
    )
    .await;
    let secret = "the answer is a secret";
    model.answers(Answering::Words(secret.to_owned()));
    let thread_id = client.thread(&app).await;
    client.append_turn(&thread_id, SAID, "Good.").await;
    eventually("it is counted", SOON, async || {
        let status = status(&client).await;
        status.malformed_answer_count > 0 && status.failing_thread_count == 1
    })
    .await;
    let failing = status(&client).await;
    assert!(!failing.last_error.contains("secret"), "{failing:?}");
    // It is tried again, and then done without.
    let fact = known(&client, &app, "ada", "Bergen").await;
    assert_eq!(
        (fact.origin(), fact.made_by.as_str()),
        (MemoryOrigin::Extracted, "")
    );
    // Each of the two tries asks for an answer, and once for a better one.
    let asked = model.asked_about("Bergen");
    let asks_again = |asked: &AskedModel| asked.system.contains("could not be used");
    let reported: Vec<bool> = asked.iter().map(asks_again).collect();
    assert_eq!(reported, [false, true, false, true]);
    assert_eq!(status(&client).await.malformed_answer_count, 2);
    let colleague = server.client(Key::AcmeToo).await;
    assert_eq!(status(&colleague).await.malformed_answer_count, 0);
    eventually("nothing fails any more", SOON, async || {
        let status = status(&client).await;
        (status.failing_thread_count, status.waiting_thread_count) == (0, 0)
    })
    .await;
    assert!(!dir.log().contains(secret));
}

#[apply(trial_with_own_server)]
async fn b10_work_that_needs_a_model_waits_for_it() {
    let (_dir, model, _server, client) = start(&["worker.distill.model_attempts = 5"]).await;
    let app = app();
    set(
        &client,
        &app,
        ExtractionStrategy::Custom,
        Some("Take towns."),
    )
    .await;
    model.answers(Answering::Status(503));
    let thread_id = client.thread(&app).await;
    client.append_turn(&thread_id, SAID, "Good.").await;
    eventually("it fails", SOON, async || {
        status(&client).await.failing_thread_count == 1
    })
    .await;
    assert!(client.all_memories(&app, "ada").await.is_empty());
    model.answers(Answering::Well);
    let fact = known(&client, &app, "ada", "Bergen").await;
    assert_eq!(fact.made_by, "large");
}

#[apply(trial_with_own_server)]
async fn b10_a_worker_that_ends_during_a_model_call_loses_and_doubles_nothing() {
    let (dir, model) = (DataDir::new(), LanguageModel::new());
    let lines = ["worker.distill.lease = \"3s\""];
    let mut running = server(&dir, &model, &lines);
    let mut client = running.client(Key::Acme).await;
    let app = app();
    extract(&client, &app, ExtractionStrategy::Discrete).await;
    let thread_id = client.thread(&app).await;
    for (round, word) in ["bees", "hens"].into_iter().enumerate() {
        model.answers(Answering::Never);
        let text = format!("FACT(Ada keeps {word}.)");
        client.append_turn(&thread_id, &text, "How nice.").await;
        eventually("the model works", SOON, async || {
            !model.asked_about(word).is_empty()
        })
        .await;
        match round {
            0 => running.kill(),
            _ => assert!(running.stop().await.success()),
        }
        model.answers(Answering::Well);
        running = server(&dir, &model, &lines);
        client = running.client(Key::Acme).await;
        known(&client, &app, "ada", word).await;
        assert_eq!(client.all_memories(&app, "ada").await.len(), round + 1);
    }
    eventually("nothing is left to do", SOON, async || {
        status(&client).await.waiting_thread_count == 0
    })
    .await;
    assert_eq!(client.all_memories(&app, "ada").await.len(), 2);
}
