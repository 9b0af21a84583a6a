//! Contexts while workers derive text.

use memory_contract::proto::{
    BuildContextRequest, BuildContextResponse, ContextBlockKind as Kind, MemoryMode, MemoryPolicy,
    MessageInput, Role,
};
use recollect_tests::{
    Client, SOON, app, apply, block, block_texts, chat_messages, context_request, eventually,
    eventually_some, mode, reply, say, tool_call, tool_result, trial, turn,
};
use serde_json::{Value, json};

use super::{build, in_full, record_texts};
use crate::distill::ledger::verify;
use crate::plain;

/// A thread of an app with a policy.
async fn thread(client: &Client, policy: MemoryPolicy) -> String {
    let app = app();
    client.set_policy(&app, policy).await;
    client.thread(&app).await
}

fn talk(number: usize) -> Vec<MessageInput> {
    turn(
        &format!("Order number {number} has not arrived in Port {number} yet. Where is it now?"),
        &format!(
            "Order number {number} left the warehouse on Monday, and the ship reaches Port \
             {number} in three days. You need not do anything."
        ),
    )
}

/// What the thread's policy gives; nothing else is asked for.
async fn context(client: &Client, thread_id: &str) -> BuildContextResponse {
    let request = BuildContextRequest {
        formats: vec![1],
        ..context_request(thread_id, "")
    };
    build(client, request).await
}

/// The messages for OpenAI before the matches, which come last.
fn openai(context: &BuildContextResponse) -> Vec<Value> {
    let mut messages = chat_messages(context);
    if block(context, Kind::Recalled).is_some() {
        let last = messages.pop().unwrap();
        let quotes = block_texts(context, Kind::Recalled).remove(0);
        assert_eq!(last["content"], quotes);
    }
    messages
}

/// The tokens of all but the matches, whose number the policy limits.
fn kept_tokens(context: &BuildContextResponse) -> i32 {
    let recalled = block(context, Kind::Recalled).map_or(0, |block| block.token_count);
    context.total_tokens - recalled
}

/// Checks that the messages in full are the newest ones, without gaps, and the first of the newest
/// turn.
async fn suffix(client: &Client, thread_id: &str, context: &BuildContextResponse) -> usize {
    let all = client.all_messages(thread_id).await;
    let ids: Vec<String> = all.into_iter().map(|one| one.message_id).collect();
    let kept = in_full(context);
    let newest = match kept[0] == ids[0] {
        true => &kept[1..],
        false => &kept[..],
    };
    assert_eq!(newest, &ids[ids.len() - newest.len()..]);
    ids.len() - newest.len()
}

#[apply(trial)]
async fn r03_a_long_conversation_keeps_fitting_a_small_window() {
    let client = plain().await;
    let policy = MemoryPolicy {
        mode: MemoryMode::Working.into(),
        context_window: Some(1_000),
        ..Default::default()
    };
    let thread_id = thread(&client, policy).await;
    for number in 0..20 {
        client.append(&thread_id, talk(number)).await;
        context(&client, &thread_id).await;
    }
    let short = eventually_some("older turns are summarized", SOON, async || {
        let context = context(&client, &thread_id).await;
        let fits = !record_texts(&context).is_empty() && kept_tokens(&context) < 800;
        fits.then_some(context)
    })
    .await;
    let summarized = suffix(&client, &thread_id, &short).await;
    assert!(summarized > 10, "{summarized} messages");
    assert_eq!(record_texts(&short).len(), 1);
    assert!(record_texts(&short)[0].contains("number"), "{short:?}");
    assert!(in_full(&short).len() >= 2);
    // No caller has to do anything for that to go on.
    for number in 20..40 {
        client.append(&thread_id, talk(number)).await;
        let context = context(&client, &thread_id).await;
        suffix(&client, &thread_id, &context).await;
    }
    eventually("more turns are summarized", SOON, async || {
        let context = context(&client, &thread_id).await;
        suffix(&client, &thread_id, &context).await > summarized && kept_tokens(&context) < 800
    })
    .await;
    assert!(verify(&client, &thread_id).await.ok);

    // Another answer to the first question has nothing of what came after it.
    let first = client.all_messages(&thread_id).await.remove(0).message_id;
    let anew = reply(&first, Role::Assistant, "It was sent back.");
    client.append(&thread_id, vec![anew]).await;
    let other = context(&client, &thread_id).await;
    assert!(record_texts(&other).is_empty(), "{other:?}");
    assert_eq!(block_texts(&other, Kind::Recent).len(), 2);
}

#[apply(trial)]
async fn n06_the_loop_of_an_agent_keeps_its_prefix_but_where_observations_are_swapped_in() {
    let client = plain().await;
    let policy = mode(MemoryMode::Observational);
    let thread_id = thread(&client, policy).await;
    let task = say(Role::User, "Find out why the build fails, and mend it.");
    client.append(&thread_id, vec![task]).await;
    let mut before = context(&client, &thread_id).await;
    let (mut kept, mut swapped) = (0, 0);
    let mut number = 0;
    // Until observations were swapped in twice, and some steps after that.
    let mut left = 200;
    while left > 0 {
        let id = format!("call-{number}");
        let log = (0..120).map(|line| format!("Module {line} compiled in {number} ms.\n"));
        let log = format!(
            "{}ERROR E{number}: disk {number} is full",
            log.collect::<String>()
        );
        let step = vec![
            tool_call(&id, "build", json!({"module": number})),
            tool_result(&id, &log),
        ];
        client.append(&thread_id, step).await;
        let now = context(&client, &thread_id).await;
        suffix(&client, &thread_id, &now).await;
        let record = |context: &BuildContextResponse| {
            block_texts(context, Kind::Distilled)
                .first()
                .cloned()
                .unwrap_or_default()
        };
        let (old, new) = (record(&before), record(&now));
        assert!(new.starts_with(&old), "{old}\n\n{new}");
        let (said, says) = (openai(&before), openai(&now));
        if new == old {
            assert_eq!(says[..said.len()], said);
            assert_eq!(says.len(), said.len() + 2);
            kept += 1;
        } else {
            swapped += 1;
        }
        // Each result has its call, wherever the messages in full begin.
        for message in &says {
            if message["role"] == "tool" {
                let id = &message["tool_call_id"];
                assert!(says.iter().any(|one| &one["tool_calls"][0]["id"] == id));
            }
        }
        before = now;
        number += 1;
        left = match swapped {
            0 | 1 => left - 1,
            _ => (left - 1).min(10),
        };
    }
    eventually("observations are swapped in", SOON, async || {
        !record_texts(&context(&client, &thread_id).await).is_empty()
    })
    .await;
    assert!(kept > swapped, "{kept} kept, {swapped} swapped");
    let last = context(&client, &thread_id).await;
    assert!(
        record_texts(&last).iter().any(|text| text.contains("E1")),
        "{last:?}"
    );
    assert!(verify(&client, &thread_id).await.ok);
}
