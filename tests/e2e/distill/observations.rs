//! Observations of long-running work.

use memory_contract::proto::{
    GetObservationsResponse, LedgerKind, MemoryMode, MemoryPolicy, Role, TextOrigin,
};
use recollect_tests::{
    Client, SOON, apply, eventually, eventually_some, reply, say, text_of, tool_call, tool_result,
    trial,
};
use serde_json::json;

use super::ledger::{counts, observations, verify};
use super::{looked_at, plain_database, talk, texts_of, thread};
use crate::plain;

/// Messages may have 1,000 tokens, ranges have 200; observations 1,000.
fn observed() -> MemoryPolicy {
    MemoryPolicy {
        mode: MemoryMode::Observational.into(),
        observer_tokens: Some(1_000),
        reflector_tokens: Some(1_000),
        ..Default::default()
    }
}

async fn block(client: &Client, thread_id: &str) -> GetObservationsResponse {
    observations(client, thread_id, false).await
}

/// Appends turns one by one until the messages have some tokens more.
async fn say_tokens(client: &Client, thread_id: &str, word: &str, tokens: i64) {
    let size = |messages: Vec<memory_contract::proto::Message>| -> i64 {
        messages.iter().map(|one| i64::from(one.token_count)).sum()
    };
    let before = size(client.all_messages(thread_id).await);
    let mut number = 0;
    while size(client.all_messages(thread_id).await) < before + tokens {
        client
            .append(thread_id, talk(word, number..number + 1))
            .await;
        number += 1;
    }
}

/// Fifty steps of an agent: a question, a call, and a long answer in which one line
/// matters.
fn tool_log() -> Vec<memory_contract::proto::MessageInput> {
    let mut log = vec![say(Role::User, "Find out why the nightly build fails.")];
    for step in 0..50 {
        let id = format!("c{step}");
        let noise = |line: usize| format!("[{line:03}] compiling module_{line} ... ok, {line} ms");
        let mut lines: Vec<String> = (0..40).map(noise).collect();
        lines[17] = format!("ERROR: job {step} failed with code E{}", 7_000 + step);
        log.push(tool_call(&id, "read_log", json!({"job": step})));
        log.push(tool_result(&id, &lines.join("\n")));
    }
    log
}

#[apply(trial)]
async fn n07_a_log_of_tools_is_at_least_five_times_smaller() {
    let client = plain().await;
    let thread_id = thread(
        &client,
        MemoryPolicy {
            reflector_tokens: Some(100_000),
            ..observed()
        },
    )
    .await;
    client.append(&thread_id, tool_log()).await;
    let found = eventually_some("the log is observed", SOON, async || {
        let found = block(&client, &thread_id).await;
        (found.raw_message_tokens <= 1_000).then_some(found)
    })
    .await;
    let covered: i64 = found
        .observations
        .iter()
        .map(|one| one.message_tokens)
        .sum();
    assert!(covered > 20_000, "{covered}");
    assert!(
        covered >= 5 * i64::from(found.observation_tokens),
        "{covered} to {}",
        found.observation_tokens
    );
    // The important facts are still there.
    let text: String = found
        .observations
        .iter()
        .map(|one| one.text.as_str())
        .collect();
    let observed = found
        .observations
        .iter()
        .map(|one| one.message_count)
        .sum::<i64>()
        / 2;
    let kept = (0..observed).filter(|step| text.contains(&format!("E{}", 7_000 + step)));
    let kept = kept.count();
    assert!(
        kept * 10 >= 8 * usize::try_from(observed).unwrap(),
        "{kept} of {observed}: {text}"
    );
    assert!(verify(&client, &thread_id).await.ok);
}

#[apply(trial)]
async fn n08_observations_are_ready_before_they_are_needed() {
    let client = plain().await;
    let thread_id = thread(&client, observed()).await;
    say_tokens(&client, &thread_id, "aunt", 700).await;
    eventually("three ranges are ready", SOON, async || {
        block(&client, &thread_id).await.ready_message_tokens >= 600
    })
    .await;
    let found = block(&client, &thread_id).await;
    assert!(found.observations.is_empty(), "{found:?}");
    assert_eq!(found.observation_tokens, 0);
    let messages = client.all_messages(&thread_id).await;
    assert_eq!(found.raw_message_count, messages.len() as i64);
    let verified = verify(&client, &thread_id).await;
    assert!(verified.ok, "{verified:?}");
    assert_eq!(counts(&verified, LedgerKind::Observation, 1)[2], 0);
}

#[apply(trial)]
async fn n04_old_messages_are_swapped_for_observations() {
    let client = plain().await;
    let thread_id = thread(&client, observed()).await;
    say_tokens(&client, &thread_id, "aunt", 1_100).await;
    let found = eventually_some("observations are swapped in", SOON, async || {
        let found = block(&client, &thread_id).await;
        (!found.observations.is_empty()).then_some(found)
    })
    .await;
    assert!(
        (200..=1_000).contains(&found.raw_message_tokens),
        "{found:?}"
    );
    let messages = client.all_messages(&thread_id).await;
    let mut seen = 0;
    for one in &found.observations {
        assert_eq!(one.origin(), TextOrigin::Extractive);
        assert!(!one.text.is_empty() && !one.reflection, "{one:?}");
        assert!(
            i64::from(one.token_count) <= (one.message_tokens / 8).max(32),
            "{one:?}"
        );
        assert!(one.message_tokens >= 200, "{one:?}");
        // Without a gap, and in order.
        let first = &messages[usize::try_from(seen).unwrap()];
        assert_eq!(one.first_message_id, first.message_id);
        seen += one.message_count;
    }
    assert_eq!(seen + found.raw_message_count, messages.len() as i64);
    let verified = verify(&client, &thread_id).await;
    assert!(verified.ok, "{verified:?}");
    assert_eq!(counts(&verified, LedgerKind::Observation, 1)[2], seen);

    // The block only grows at its end.
    say_tokens(&client, &thread_id, "uncle", 900).await;
    let more = eventually_some("more are swapped in", SOON, async || {
        let more = block(&client, &thread_id).await;
        (more.observations.len() > found.observations.len()).then_some(more)
    })
    .await;
    assert_eq!(
        more.observations[..found.observations.len()],
        found.observations
    );
}

#[apply(trial)]
async fn n05_observations_are_condensed() {
    let client = plain().await;
    let thread_id = thread(&client, observed()).await;
    let mut numbers: Vec<i64> = Vec::new();
    let mut round = 0;
    let found = eventually_some("a reflection is swapped in", 4 * SOON, async || {
        let found = block(&client, &thread_id).await;
        if found.observations.iter().any(|one| one.reflection) {
            return Some(found);
        }
        // Between reflections the block only grows at its end.
        let now: Vec<i64> = found.observations.iter().map(|one| one.number).collect();
        assert_eq!(now[..numbers.len()], numbers);
        numbers = now;
        if found.raw_message_tokens <= 1_000 {
            let word = format!("cousin{round}");
            client.append(&thread_id, talk(&word, 0..30)).await;
            round += 1;
        }
        None
    })
    .await;
    let reflection = &found.observations[0];
    assert!(reflection.reflection, "the oldest are condensed");
    assert!(reflection.token_count <= 250, "{reflection:?}");
    assert!(found.observation_tokens < 1_000, "{found:?}");
    let all = observations(&client, &thread_id, true).await;
    let replaced: i64 = all.replaced.iter().map(|one| one.message_count).sum();
    assert_eq!(replaced, reflection.message_count);
    let tokens: i32 = all.replaced.iter().map(|one| one.token_count).sum();
    assert!(tokens >= 500, "{tokens}");
    let verified = verify(&client, &thread_id).await;
    assert!(verified.ok, "{verified:?}");
}

#[apply(trial)]
async fn b06_a_regenerated_branch_does_not_inherit_observations() {
    let client = plain().await;
    let thread_id = thread(&client, observed()).await;
    let shared = client.append(&thread_id, talk("shared", 0..1)).await;
    let shared = shared.messages[1].message_id.clone();
    client.append(&thread_id, talk("walrus", 0..20)).await;
    let found = async || block(&client, &thread_id).await.observations;
    eventually("the old branch is observed", SOON, async || {
        !found().await.is_empty()
    })
    .await;
    let other = reply(&shared, Role::User, "Let us talk of something else.");
    client.append(&thread_id, vec![other]).await;
    assert!(found().await.is_empty());
    client.append(&thread_id, talk("otter", 0..20)).await;
    eventually("the new branch is observed", SOON, async || {
        !found().await.is_empty()
    })
    .await;
    let texts: Vec<String> = found().await.into_iter().map(|one| one.text).collect();
    let text = texts.join("\n");
    assert!(text.contains("otter") && !text.contains("walrus"), "{text}");
    let verified = verify(&client, &thread_id).await;
    assert!(verified.ok, "{verified:?}");
}

#[apply(trial)]
async fn messages_freed_by_an_erasure_are_observed_again() {
    let client = plain().await;
    let database = plain_database().await;
    let thread_id = thread(&client, observed()).await;
    let mut said = talk("aunt", 0..20);
    said[2] = say(
        Role::User,
        "Remember: the password is always swordfish, and nothing else.",
    );
    let stored = client.append(&thread_id, said).await;
    eventually("it is observed", SOON, async || {
        !block(&client, &thread_id).await.observations.is_empty()
    })
    .await;
    looked_at(&database, &thread_id).await;
    let before = block(&client, &thread_id).await;
    client
        .delete_message(&thread_id, &stored.messages[2].message_id)
        .await;
    let after = eventually_some("what is left of it is observed", SOON, async || {
        let after = block(&client, &thread_id).await;
        (after.raw_message_count == before.raw_message_count).then_some(after)
    })
    .await;
    let first = &after.observations[0];
    assert_eq!(first.first_message_id, stored.messages[0].message_id);
    assert_eq!(
        first.message_count,
        before.observations[0].message_count - 1
    );
    assert_eq!(after.observations[1..], before.observations[1..]);
    looked_at(&database, &thread_id).await;
    let made = texts_of(&database, &thread_id).await;
    assert!(
        made.iter().all(|(text, ..)| !text.contains("swordfish")),
        "{made:?}"
    );
    let verified = verify(&client, &thread_id).await;
    assert!(verified.ok, "{verified:?}");
}

#[apply(trial)]
async fn a_tool_call_is_observed_with_its_result() {
    let client = plain().await;
    let database = plain_database().await;
    let thread_id = thread(&client, observed()).await;
    let long = "The station says that it is windy, with 17 degrees and some rain. ".repeat(8);
    client.append_text(&thread_id, "Watch the weather.").await;
    for number in 0..12 {
        let call = format!("call-{number}");
        let called = tool_call(&call, "weather", json!({"reading": number}));
        client.append(&thread_id, vec![called]).await;
        // A worker that runs now sees a call without a result.
        looked_at(&database, &thread_id).await;
        client
            .append(&thread_id, vec![tool_result(&call, &long)])
            .await;
    }
    eventually("it is observed", SOON, async || {
        !block(&client, &thread_id).await.observations.is_empty()
    })
    .await;
    looked_at(&database, &thread_id).await;
    let messages = client.all_messages(&thread_id).await;
    for one in block(&client, &thread_id).await.observations {
        let last = messages
            .iter()
            .find(|message| message.message_id == one.last_message_id);
        assert_eq!(last.unwrap().role(), Role::Tool, "{one:?}");
    }
    assert!(verify(&client, &thread_id).await.ok);
}

#[apply(trial)]
async fn only_observational_threads_are_observed() {
    let client = plain().await;
    let policy = MemoryPolicy {
        mode: MemoryMode::Hybrid.into(),
        ..observed()
    };
    let thread_id = thread(&client, policy).await;
    client.append(&thread_id, talk("aunt", 0..20)).await;
    let database = plain_database().await;
    looked_at(&database, &thread_id).await;
    let found = block(&client, &thread_id).await;
    assert_eq!(
        (found.observations.len(), found.ready_message_tokens),
        (0, 0)
    );
    assert!(texts_of(&database, &thread_id).await.is_empty());
    let said = client.all_messages(&thread_id).await;
    assert!(text_of(&said[0]).contains("aunt"));
}
