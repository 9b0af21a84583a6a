//! A newest turn that alone is larger than the budget.

use memory_contract::proto::{GetHistoryRequest, Message, OversizedTurnPolicy, Role};
use prost::Message as _;
use recollect_tests::{
    Client, app, apply, history_request, ids, say, text_of, tool_call, tool_result, trial,
};
use serde_json::json;
use tonic::Code;

use super::budgets::{pairs, tokens};
use crate::{bulk, plain};

/// A small turn, and then one of about 1,200 tokens.
async fn oversized(client: &Client) -> (String, Vec<Message>) {
    let thread_id = client.thread(&app()).await;
    client.append_turn(&thread_id, "Small?", "Small.").await;
    let said = vec![
        say(Role::User, &"A long question about the sea. ".repeat(100)),
        tool_call("call-1", "lookup", json!({"subject": "sea"})),
        tool_result("call-1", &"The sea is deep and wide. ".repeat(60)),
        say(Role::Assistant, &"An answer about the sea. ".repeat(40)),
    ];
    client.append(&thread_id, said).await;
    let all = client.all_messages(&thread_id).await;
    (thread_id, all)
}

/// A turn of a question, many steps of a call and its result, and an answer.
async fn long_turn(client: &Client) -> (String, Vec<Message>) {
    let thread_id = client.thread(&app()).await;
    client.append_turn(&thread_id, "Small?", "Small.").await;
    let mut said = vec![say(Role::User, "Find the cheapest train.")];
    for step in 0..30 {
        let id = format!("call-{step}");
        said.push(tool_call(&id, "trains", json!({"hour": step})));
        said.push(tool_result(
            &id,
            &format!("At {step} it costs {} crowns.", step * 7),
        ));
    }
    said.push(say(Role::Assistant, "The one at midnight."));
    client.append(&thread_id, said).await;
    let all = client.all_messages(&thread_id).await;
    (thread_id, all[2..].to_vec())
}

#[apply(trial)]
async fn d06_an_oversized_turn_is_shortened() {
    let client = plain().await;
    let (thread_id, all) = oversized(&client).await;
    for (max_tokens, kept) in [
        (100, [0, 3].as_slice()),
        (300, &[0, 3]),
        (900, &[0, 1, 2, 3]),
    ] {
        for policy in [
            OversizedTurnPolicy::Unspecified,
            OversizedTurnPolicy::TruncateContent,
        ] {
            let request = GetHistoryRequest {
                max_tokens: Some(max_tokens),
                oversized_turn: policy.into(),
                ..history_request(&thread_id)
            };
            let history = client.call(request).await;
            assert!(history.truncated && history.content_truncated);
            assert!(
                history.total_tokens <= max_tokens,
                "{}",
                history.total_tokens
            );
            assert!(
                history.total_tokens > max_tokens * 3 / 4,
                "{} of {max_tokens} tokens used",
                history.total_tokens
            );
            let kept: Vec<Message> = kept.iter().map(|index| all[2 + index].clone()).collect();
            assert_eq!(ids(&history.messages), ids(&kept));
            pairs(&history.messages);
            for (short, long) in history.messages.iter().zip(&kept) {
                assert!(text_of(long).starts_with(&text_of(short)));
                let least = text_of(long).len().min(100);
                assert!(text_of(short).len() >= least, "{}", text_of(short));
                assert_eq!(short.parts.len(), long.parts.len());
            }
            let whole = kept.len() > 2;
            assert_eq!(
                history.messages[0] == kept[0],
                whole,
                "the question is whole"
            );
        }
    }
    // The stored messages are unchanged.
    assert_eq!(client.all_messages(&thread_id).await, all);
}

#[apply(trial)]
async fn d06_an_oversized_turn_is_dropped_on_request() {
    let client = plain().await;
    let (thread_id, all) = oversized(&client).await;
    let read = async |max_tokens| {
        let request = GetHistoryRequest {
            max_tokens: Some(max_tokens),
            oversized_turn: OversizedTurnPolicy::Drop.into(),
            ..history_request(&thread_id)
        };
        client.call(request).await
    };
    let dropped = read(100).await;
    assert!(
        dropped.messages.is_empty(),
        "an older turn must not replace the newest"
    );
    assert!(dropped.truncated && !dropped.content_truncated);
    assert_eq!(dropped.total_tokens, 0);
    assert_eq!(read(tokens(&all[2..])).await.messages, all[2..]);
}

#[apply(trial)]
async fn d06_an_oversized_turn_fails_on_request() {
    let client = plain().await;
    let (thread_id, all) = oversized(&client).await;
    let request = |max_tokens| GetHistoryRequest {
        max_tokens: Some(max_tokens),
        oversized_turn: OversizedTurnPolicy::Fail.into(),
        ..history_request(&thread_id)
    };
    let failure = client.refused(request(100)).await;
    let failure = failure.is(Code::FailedPrecondition, "TURN_TOO_LARGE");
    let needed: i32 = failure.metadata["needed_tokens"].parse().unwrap();
    assert_eq!(needed, tokens(&all[2..]));
    assert_eq!(client.call(request(needed)).await.messages, all[2..]);
}

#[apply(trial)]
async fn d06_an_oversized_turn_keeps_its_question_and_its_newest_steps() {
    let client = plain().await;
    let (thread_id, turn) = long_turn(&client).await;
    let read = async |max_tokens, max_messages| {
        let request = GetHistoryRequest {
            max_tokens: Some(max_tokens),
            max_messages: Some(max_messages),
            ..history_request(&thread_id)
        };
        let history = client.call(request).await;
        assert!(history.truncated);
        assert!(history.total_tokens <= max_tokens);
        let kept = ids(&history.messages);
        assert_eq!(kept[0], turn[0].message_id, "the question is kept");
        let newest = &turn[turn.len() + 1 - kept.len()..];
        assert_eq!(kept[1..], ids(newest), "the newest steps are kept");
        pairs(&history.messages);
        history
    };
    let whole = tokens(&turn);
    let mut lengths = Vec::new();
    for max_tokens in (10..whole).step_by(23) {
        lengths.push(read(max_tokens, 500).await.messages.len());
    }
    assert!(
        lengths.is_sorted(),
        "a larger budget keeps no less: {lengths:?}"
    );
    lengths.dedup();
    assert!(
        lengths.len() > 5,
        "the budgets cut in too few places: {lengths:?}"
    );

    // The answer is a step of one message, the others are of two.
    for (max_messages, kept) in [(1, 1), (2, 2), (3, 2), (4, 4), (5, 4), (61, 60)] {
        let history = read(1_000_000, max_messages).await;
        assert_eq!(history.messages.len(), kept, "of at most {max_messages}");
        assert!(!history.content_truncated);
    }
}

#[apply(trial)]
async fn d06_a_budget_below_one_frame_gives_nothing() {
    let client = plain().await;
    let (thread_id, _) = oversized(&client).await;
    for max_tokens in [1, 2] {
        let request = GetHistoryRequest {
            max_tokens: Some(max_tokens),
            ..history_request(&thread_id)
        };
        let history = client.call(request).await;
        assert!(
            history.messages.is_empty() && history.truncated,
            "at {max_tokens}: {history:?}"
        );
        assert_eq!(history.total_tokens, 0);
    }
}

#[apply(trial)]
async fn a_history_of_structured_data_fits_into_an_answer() {
    let client = bulk().await;
    let thread_id = client.thread(&app()).await;
    for _ in 0..20 {
        let rows = json!({"rows": ["x ".repeat(120_000)]});
        let said = vec![say(Role::User, "Look."), tool_call("c", "table", rows)];
        client.append(&thread_id, said).await;
    }
    let request = GetHistoryRequest {
        max_tokens: Some(10_000_000),
        ..history_request(&thread_id)
    };
    let history = client.call(request).await;
    assert!(history.truncated);
    assert!(
        history.encoded_len() <= 3_670_016,
        "{}",
        history.encoded_len()
    );
}
