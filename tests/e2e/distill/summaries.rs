//! Summaries of older turns.

use memory_contract::proto::{
    LedgerKind, LedgerState, ListLedgerRequest, MemoryPolicy, Message, Role, SetHeadRequest,
};
use recollect_tests::{
    Client, SOON, apply, by_id, eventually, reply, say, texts, tool_call, tool_result, trial,
};
use serde_json::json;

use super::ledger::{counts, verify};
use super::{looked_at, plain_database, small, states, summarized, talk, texts_of, thread};
use crate::{bulk, plain};

const SUMMARY: LedgerKind = LedgerKind::Summary;
/// The share of a small window at which older turns are summarized.
const LIMIT: i64 = 700;

/// The newest messages that stay: the longest run of turns that fills less than
/// four sevenths of the limit.
fn kept(messages: &[Message]) -> usize {
    let mut starts = (0..messages.len()).filter(|place| messages[*place].role() == Role::User);
    let fits = |start: &usize| {
        let tokens = messages[*start..]
            .iter()
            .map(|one| i64::from(one.token_count));
        tokens.sum::<i64>() * 7 < LIMIT * 4
    };
    messages.len() - starts.clone().find(fits).or(starts.next_back()).unwrap()
}

/// The states of the messages, and the newest summary's number.
async fn first_raw(client: &Client, thread_id: &str) -> String {
    let request = ListLedgerRequest {
        thread: by_id(thread_id),
        kind: SUMMARY.into(),
        page_size: 500,
        ..Default::default()
    };
    let ranges = client.call(request).await.ranges;
    let raw = ranges
        .into_iter()
        .find(|one| one.state() == LedgerState::Raw);
    raw.unwrap().first_message_id
}

#[apply(trial)]
async fn r03_older_turns_are_summarized_and_stay_in_the_archive() {
    let client = plain().await;
    let thread_id = thread(&client, small()).await;
    client.append(&thread_id, talk("aunt", 0..16)).await;
    summarized(&client, &thread_id, 1).await;
    let messages = client.all_messages(&thread_id).await;
    let kept_count = kept(&messages);
    assert!(kept_count > 2 && kept_count < 16, "{kept_count}");
    let older = messages.len() - kept_count;
    assert_eq!(
        states(&client, &thread_id, SUMMARY).await,
        [
            (LedgerState::Summarized, older as i64),
            (LedgerState::Raw, kept_count as i64)
        ]
    );
    assert_eq!(
        first_raw(&client, &thread_id).await,
        messages[older].message_id
    );
    let database = plain_database().await;
    let made = texts_of(&database, &thread_id).await;
    let (text, tokens, by) = &made[0];
    assert!(text.contains("aunt") && *tokens <= 64, "{made:?}");
    assert_eq!(by, "extractive");

    // The next summary continues this one; below the limit none is made.
    looked_at(&database, &thread_id).await;
    client.append(&thread_id, talk("uncle", 0..1)).await;
    looked_at(&database, &thread_id).await;
    assert_eq!(texts_of(&database, &thread_id).await, made);
    client.append(&thread_id, talk("uncle", 1..9)).await;
    summarized(&client, &thread_id, 2).await;
    let all = client.all_messages(&thread_id).await;
    let kept_count = kept(&all);
    assert_eq!(
        states(&client, &thread_id, SUMMARY).await,
        [
            (LedgerState::Summarized, older as i64),
            (
                LedgerState::Summarized,
                (all.len() - older - kept_count) as i64
            ),
            (LedgerState::Raw, kept_count as i64)
        ]
    );
    assert_eq!(texts_of(&database, &thread_id).await.len(), 2);
    // The archive is as it was.
    assert_eq!(all[..messages.len()], messages);
    let said: Vec<String> = texts(&all);
    assert_eq!(said.len(), 50);
    assert!(verify(&client, &thread_id).await.ok);
}

#[apply(trial)]
async fn r03_a_turn_is_summarized_as_a_whole() {
    let client = plain().await;
    let thread_id = thread(&client, small()).await;
    let result = "Windy and 17 degrees, with rain in the evening, says the station on the hill.";
    for number in 0..10 {
        let call = format!("call-{number}");
        let turn = vec![
            say(
                Role::User,
                &format!("What is the weather in town number {number} today?"),
            ),
            tool_call(&call, "weather", json!({"town": number})),
            tool_result(&call, &format!("{result} {result}")),
            say(
                Role::Assistant,
                &format!("In town number {number} it is windy today."),
            ),
        ];
        client.append(&thread_id, turn).await;
    }
    summarized(&client, &thread_id, 1).await;
    looked_at(&plain_database().await, &thread_id).await;
    let first = first_raw(&client, &thread_id).await;
    let messages = client.all_messages(&thread_id).await;
    let first = messages.iter().find(|one| one.message_id == first).unwrap();
    assert_eq!(first.role(), Role::User);
    assert!(verify(&client, &thread_id).await.ok);

    // The newest turn stays, however large it is.
    let long = "It goes on and on. ".repeat(300);
    let turn = vec![say(Role::User, &long), say(Role::Assistant, &long)];
    let newest = client.append(&thread_id, turn).await;
    let newest = &newest.messages[0].message_id;
    eventually("all but the newest turn is summarized", SOON, async || {
        first_raw(&client, &thread_id).await == *newest
    })
    .await;
}

/// Appends a turn of 2,101 messages, more than are read at once.
async fn count_aloud(client: &Client, thread_id: &str) {
    client.append_text(thread_id, "Count!").await;
    for hundred in 0..21 {
        let said = (0..100).map(|n| format!("I am at number {hundred}-{n} now."));
        let said = said.map(|text| say(Role::Assistant, &text));
        client.append(thread_id, said.collect()).await;
    }
}

#[apply(trial)]
async fn r03_a_turn_too_large_to_be_read_at_once_is_summarized_in_parts() {
    let client = bulk().await;
    let thread_id = thread(&client, small()).await;
    count_aloud(&client, &thread_id).await;
    // Of the newest turn, the newest messages stay in full.
    eventually("most of the turn is summarized", SOON, async || {
        let states = states(&client, &thread_id, SUMMARY).await;
        matches!(states.last(), Some((LedgerState::Raw, 1..100)))
    })
    .await;
    let long = "That was a long way, and now I want to hear of something else. ".repeat(30);
    client.append_turn(&thread_id, &long, &long).await;
    eventually("the long turn is summarized", SOON, async || {
        let states = states(&client, &thread_id, SUMMARY).await;
        states.last() == Some(&(LedgerState::Raw, 2))
    })
    .await;
    let states = states(&client, &thread_id, SUMMARY).await;
    assert!(states.len() > 2, "{states:?}");
    assert!(verify(&client, &thread_id).await.ok);
}

#[apply(trial)]
async fn r03_a_message_larger_than_a_piece_does_not_stop_summaries() {
    let client = bulk().await;
    let long = "It goes on and on and on. ".repeat(5_000);
    for said in [
        vec![say(Role::User, &long), say(Role::Assistant, "I see.")],
        vec![
            say(Role::User, "What is in it?"),
            tool_call("c1", "read", json!({})),
            tool_result("c1", &long),
            say(Role::Assistant, "I see."),
        ],
    ] {
        let thread_id = thread(&client, small()).await;
        client.append(&thread_id, said).await;
        client
            .append_turn(&thread_id, "And now?", "Now you know.")
            .await;
        eventually("the long message is summarized", SOON, async || {
            let states = states(&client, &thread_id, SUMMARY).await;
            states.last() == Some(&(LedgerState::Raw, 2))
        })
        .await;
    }
}

#[apply(trial)]
async fn r03_two_turns_too_large_to_be_read_at_once_do_not_hide_each_other() {
    let client = bulk().await;
    let whole = MemoryPolicy {
        summarize: Some(false),
        ..small()
    };
    let thread_id = thread(&client, whole).await;
    for _ in 0..2 {
        count_aloud(&client, &thread_id).await;
    }
    client
        .set_policy(&client.get_thread(&thread_id).await.app_id, small())
        .await;
    // A thread is queued again with its next message.
    let next = vec![say(Role::Assistant, "And on and on.")];
    client.append(&thread_id, next).await;
    eventually("the first turn is summarized", SOON, async || {
        let states = states(&client, &thread_id, SUMMARY).await;
        states.last() == Some(&(LedgerState::Raw, 2_102))
    })
    .await;
    assert!(verify(&client, &thread_id).await.ok);
}

#[apply(trial)]
async fn r03_without_summarize_all_messages_stay_in_full() {
    let client = plain().await;
    let policy = MemoryPolicy {
        summarize: Some(false),
        ..small()
    };
    let thread_id = thread(&client, policy).await;
    client.append(&thread_id, talk("aunt", 0..16)).await;
    let database = plain_database().await;
    looked_at(&database, &thread_id).await;
    assert_eq!(
        states(&client, &thread_id, SUMMARY).await,
        [(LedgerState::Raw, 32)]
    );
    assert!(texts_of(&database, &thread_id).await.is_empty());
}

#[apply(trial)]
async fn b05_every_message_is_in_one_state_at_every_moment_of_summarizing() {
    let client = plain().await;
    let policy = MemoryPolicy {
        mode: memory_contract::proto::MemoryMode::Observational.into(),
        observer_tokens: Some(1_000),
        ..small()
    };
    let thread_id = thread(&client, policy).await;
    let mut said = 0;
    for round in 0..6 {
        let word = format!("cousin{round}");
        let stored = client.append(&thread_id, talk(&word, 0..6)).await;
        said += 12;
        // A message in the middle goes, summarized by now or not.
        let verified = verify(&client, &thread_id).await;
        assert!(verified.ok, "{verified:?}");
        client
            .delete_message(&thread_id, &stored.messages[5].message_id)
            .await;
        for _ in 0..5 {
            let verified = verify(&client, &thread_id).await;
            assert!(verified.ok, "{verified:?}");
            for kind in [SUMMARY, LedgerKind::Observation] {
                let [raw, summarized, observed, erased] = counts(&verified, kind, 1);
                assert_eq!(erased, round + 1, "{verified:?}");
                assert_eq!(raw + summarized + observed + erased, said, "{verified:?}");
            }
        }
    }
    eventually("both kinds cover something", SOON, async || {
        let verified = verify(&client, &thread_id).await;
        let [_, summarized, ..] = counts(&verified, SUMMARY, 1);
        let [_, _, observed, _] = counts(&verified, LedgerKind::Observation, 1);
        verified.ok && summarized > 0 && observed > 0
    })
    .await;
    looked_at(&plain_database().await, &thread_id).await;
    assert!(verify(&client, &thread_id).await.ok);
}

#[apply(trial)]
async fn b06_a_regenerated_branch_does_not_inherit_a_summary() {
    let client = plain().await;
    let thread_id = thread(&client, small()).await;
    let shared = client.append(&thread_id, talk("shared", 0..1)).await;
    let old = client.append(&thread_id, talk("walrus", 0..16)).await;
    let old_head = old.messages[31].message_id.clone();
    summarized(&client, &thread_id, 1).await;
    let database = plain_database().await;
    looked_at(&database, &thread_id).await;
    let before = states(&client, &thread_id, SUMMARY).await;

    let other = reply(
        &shared.messages[1].message_id,
        Role::User,
        "Let us talk of something else.",
    );
    client.append(&thread_id, vec![other]).await;
    assert_eq!(
        states(&client, &thread_id, SUMMARY).await,
        [(LedgerState::Raw, 3)]
    );
    client.append(&thread_id, talk("otter", 0..16)).await;
    summarized(&client, &thread_id, 1).await;
    looked_at(&database, &thread_id).await;
    let made = texts_of(&database, &thread_id).await;
    assert_eq!(made.len(), 2);
    assert!(
        made[0].0.contains("walrus") && !made[0].0.contains("otter"),
        "{made:?}"
    );
    assert!(
        made[1].0.contains("otter") && !made[1].0.contains("walrus"),
        "{made:?}"
    );
    let verified = verify(&client, &thread_id).await;
    assert!(verified.ok, "{verified:?}");

    // Back on the old branch its summaries hold, and none is made again.
    let back = SetHeadRequest {
        thread: by_id(&thread_id),
        head_message_id: old_head,
        expected_head: None,
    };
    client.call(back).await;
    assert_eq!(states(&client, &thread_id, SUMMARY).await, before);
    assert_eq!(texts_of(&database, &thread_id).await, made);
}

#[apply(trial)]
async fn messages_erased_during_a_summary_stay_erased() {
    let client = plain().await;
    let database = plain_database().await;
    let mut threads = Vec::new();
    for number in 0..8 {
        let thread_id = thread(&client, small()).await;
        // The secret is the only message that says so much of itself.
        let mut said = talk("aunt", 0..16);
        let secret = format!("Remember: the password{number} is always swordfish{number}.");
        said[4] = say(Role::User, &secret);
        let stored = client.append(&thread_id, said).await;
        threads.push((thread_id, stored.messages[4].message_id.clone()));
    }
    for (thread_id, secret) in &threads {
        client.delete_message(thread_id, secret).await;
    }
    for (thread_id, _) in &threads {
        summarized(&client, thread_id, 1).await;
        looked_at(&database, thread_id).await;
        let made = texts_of(&database, thread_id).await;
        assert!(
            made.iter().all(|(text, ..)| !text.contains("swordfish")),
            "{made:?}"
        );
        let verified = verify(&client, thread_id).await;
        assert!(verified.ok, "{verified:?}");
        assert_eq!(counts(&verified, SUMMARY, 1)[3], 1);
    }
}

#[apply(trial)]
async fn a_thread_that_is_deleted_while_it_is_summarized_leaves_nothing() {
    let client = plain().await;
    let database = plain_database().await;
    let mut threads = Vec::new();
    for _ in 0..8 {
        let thread_id = thread(&client, small()).await;
        client.append(&thread_id, talk("aunt", 0..16)).await;
        threads.push(thread_id);
    }
    for thread_id in &threads {
        client.delete_thread(thread_id).await;
    }
    for thread_id in &threads {
        looked_at(&database, thread_id).await;
        assert!(texts_of(&database, thread_id).await.is_empty());
    }
}
