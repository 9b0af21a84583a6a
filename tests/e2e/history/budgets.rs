//! Histories: budgets, limits, whole turns.

use std::collections::HashMap;

use memory_contract::proto::{
    GetHistoryRequest, GetHistoryResponse, Message, MessageInput, OversizedTurnPolicy, Role, part,
};
use recollect_tests::{
    app, apply, by_id, history_request, say, texts, tool_call, tool_result, trial, turn,
};
use serde_json::json;
use tonic::Code;

use crate::plain;

#[apply(trial)]
async fn d03_history_is_the_conversation_as_it_was_appended() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let said = [
        turn("My bicycle has a flat tyre.", "Shall I find a repair shop?"),
        turn("Yes, near the station.", "There is one in Mill Lane."),
    ];
    client.append(&thread_id, said.concat()).await;
    let history = client.call(history_request(&thread_id)).await;
    assert_eq!(history.messages, client.all_messages(&thread_id).await);
    assert_eq!(
        texts(&history.messages),
        [
            "My bicycle has a flat tyre.",
            "Shall I find a repair shop?",
            "Yes, near the station.",
            "There is one in Mill Lane.",
        ]
    );
    assert!(!history.truncated && !history.content_truncated);
    assert_eq!(history.tokenizer, "o200k_base");
    assert_eq!(history.total_tokens, tokens(&history.messages));
}

#[apply(trial)]
async fn d05_history_has_a_default_budget_and_limit() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    for chunk in 0..3 {
        let said: Vec<MessageInput> = (0..110)
            .flat_map(|number| turn(&format!("q {chunk} {number}"), "a"))
            .collect();
        client.append(&thread_id, said).await;
    }
    let read = async |max_tokens, max_messages| {
        let request = GetHistoryRequest {
            max_tokens,
            max_messages,
            ..history_request(&thread_id)
        };
        client.call(request).await
    };
    let short = read(None, None).await;
    assert_eq!(short.messages.len(), 100);
    assert!(short.truncated && short.total_tokens <= 2_000);
    let long = read(Some(1_000_000), Some(500)).await;
    assert_eq!(long.messages.len(), 500);

    let thread_id = client.thread(&app()).await;
    let long = "word ".repeat(150);
    let said: Vec<MessageInput> = (0..20).flat_map(|_| turn(&long, &long)).collect();
    client.append(&thread_id, said).await;
    let request = GetHistoryRequest {
        thread: by_id(thread_id),
        ..Default::default()
    };
    let cut = client.call(request).await;
    assert!(cut.truncated);
    assert!((1_600..=2_000).contains(&cut.total_tokens), "{cut:?}");
}

/// A conversation with a system message, runs of user messages, tool calls one
/// by one and in parallel, and turns without an answer.
fn mixed() -> Vec<MessageInput> {
    let mut said = vec![say(Role::System, "You are a helpful travel agent.")];
    for number in 0..12 {
        said.push(say(
            Role::User,
            &format!("Question {number}: {}", "why ".repeat(number)),
        ));
        if number % 4 == 1 {
            said.push(say(Role::User, "And one thing more."));
        }
        if number % 3 == 0 {
            let (a, b) = (format!("call-{number}-a"), format!("call-{number}-b"));
            said.push(tool_call(
                &a,
                "weather",
                json!({"city": "Oslo", "day": number}),
            ));
            said.push(tool_call(&b, "trains", json!({"to": "Oslo"})));
            said.push(tool_result(&b, "Two trains today, at nine and at five."));
            said.push(tool_result(&a, &"rain ".repeat(number + 1)));
        }
        if number % 5 != 4 {
            said.push(say(
                Role::Assistant,
                &format!("Answer {number}: {}", "so ".repeat(20 - number)),
            ));
        }
    }
    said
}

#[apply(trial)]
async fn d06_whole_turns_are_dropped_oldest_first_for_every_budget() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    client.append(&thread_id, mixed()).await;
    let all = client.all_messages(&thread_id).await;
    let total = tokens(&all);
    let newest = tokens(&all[starts(&all).last().copied().unwrap()..]);
    let least = tokens(&all[..1]) + newest;
    let mut lengths = Vec::new();
    for max_tokens in (least..total + 20).step_by(13).chain([total - 1, total]) {
        let request = GetHistoryRequest {
            max_tokens: Some(max_tokens),
            ..history_request(&thread_id)
        };
        let history = client.call(request).await;
        check(&all, &history, max_tokens);
        lengths.push(history.messages.len());
    }
    assert!(lengths.contains(&all.len()));
    lengths.dedup();
    assert!(
        lengths.len() > 8,
        "the budgets cut in too few places: {lengths:?}"
    );
}

/// Checks that the history has the instructions, and as many whole turns as fit.
fn check(all: &[Message], history: &GetHistoryResponse, max_tokens: i32) {
    let kept = &history.messages;
    let at = format!("at {max_tokens} tokens: {:?}", texts(kept));
    assert!(history.total_tokens <= max_tokens, "{at}");
    assert_eq!(history.total_tokens, tokens(kept), "{at}");
    assert!(!history.content_truncated, "{at}");
    assert_eq!(history.truncated, kept.len() < all.len(), "{at}");
    let system = all.iter().take_while(|one| one.role() == Role::System);
    let (instructions, all) = all.split_at(system.count());
    let (begin, kept) = kept.split_at(instructions.len());
    assert_eq!(begin, instructions, "{at}");
    let max_tokens = max_tokens - tokens(instructions);
    let from = all.len() - kept.len();
    assert_eq!(kept, &all[from..], "not the newest messages {at}");
    assert!(!kept.is_empty(), "{at}");
    let starts = starts(all);
    assert!(starts.contains(&from), "torn turn {at}");
    let before = starts.iter().rev().find(|&&start| start < from);
    if let Some(&before) = before {
        assert!(
            tokens(&all[before..]) > max_tokens,
            "one more turn would fit {at}"
        );
    }
    pairs(kept);
}

/// The places where turns begin: the conversation's beginning, and user messages.
fn starts(all: &[Message]) -> Vec<usize> {
    (0..all.len())
        .filter(|&index| index == 0 || all[index].role() == Role::User)
        .collect()
}

/// Every tool call has its result and every result its call.
pub fn pairs(messages: &[Message]) {
    let mut open: HashMap<&str, i32> = HashMap::new();
    for part in messages.iter().flat_map(|message| &message.parts) {
        match &part.content {
            Some(part::Content::ToolCall(call)) => {
                *open.entry(&call.tool_call_id).or_default() += 1
            }
            Some(part::Content::ToolResult(result)) => {
                *open.entry(&result.tool_call_id).or_default() -= 1;
            }
            _ => {}
        }
    }
    open.retain(|_, count| *count != 0);
    assert!(open.is_empty(), "torn: {open:?}");
}

pub fn tokens(messages: &[Message]) -> i32 {
    messages.iter().map(|message| message.token_count).sum()
}

#[apply(trial)]
async fn d06_tool_results_that_come_late_stay_with_their_call() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let said = vec![
        say(Role::User, "Order a taxi for six."),
        tool_call("taxi-1", "order_taxi", json!({"time": "18:00"})),
        say(Role::User, "Are you still there?"),
        tool_result("taxi-1", "A taxi comes at six."),
        say(Role::Assistant, "It is ordered."),
        say(Role::User, "Thank you!"),
        say(Role::Assistant, "You are welcome."),
    ];
    client.append(&thread_id, said).await;
    let all = client.all_messages(&thread_id).await;
    for max_tokens in tokens(&all[5..])..=tokens(&all) {
        let request = GetHistoryRequest {
            max_tokens: Some(max_tokens),
            ..history_request(&thread_id)
        };
        let history = client.call(request).await;
        pairs(&history.messages);
        let expected = if max_tokens < tokens(&all) { 2 } else { 7 };
        assert_eq!(history.messages.len(), expected, "at {max_tokens} tokens");
    }
}

#[apply(trial)]
async fn l10_the_number_of_history_messages_can_be_set() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let said: Vec<MessageInput> = (0..10)
        .flat_map(|number| turn(&format!("q{number}"), &format!("a{number}")))
        .collect();
    client.append(&thread_id, said).await;
    let read = async |max_messages| {
        let request = GetHistoryRequest {
            max_messages: Some(max_messages),
            ..history_request(&thread_id)
        };
        client.call(request).await
    };
    assert_eq!(texts(&read(4).await.messages), ["q8", "a8", "q9", "a9"]);
    let odd = read(5).await;
    assert_eq!(
        texts(&odd.messages),
        ["q8", "a8", "q9", "a9"],
        "no turn is torn"
    );
    assert!(odd.truncated);
    let whole = read(20).await;
    assert_eq!(whole.messages.len(), 20);
    assert!(!whole.truncated);

    // A turn of two messages does not fit into one.
    let request = GetHistoryRequest {
        max_messages: Some(1),
        oversized_turn: OversizedTurnPolicy::Drop.into(),
        ..history_request(&thread_id)
    };
    assert!(client.call(request.clone()).await.messages.is_empty());
    let request = GetHistoryRequest {
        oversized_turn: OversizedTurnPolicy::Fail.into(),
        ..request
    };
    let failure = client.refused(request).await;
    failure.is(Code::FailedPrecondition, "TURN_TOO_LARGE");
}

#[apply(trial)]
async fn history_counts_with_the_tokens_of_the_model() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let words = "Donaudampfschifffahrtsgesellschaft および 天気予報 сегодня ".repeat(20);
    client.append_turn(&thread_id, &words, &words).await;
    let read = async |model: &str, max_tokens| {
        let request = GetHistoryRequest {
            model: model.to_owned(),
            max_tokens: Some(max_tokens),
            ..history_request(&thread_id)
        };
        client.call(request).await
    };
    let new = read("gpt-4o", 100_000).await;
    let old = read("gpt-4", 100_000).await;
    let unknown = read("an-unknown-model", 100_000).await;
    assert_eq!(new.tokenizer, "o200k_base");
    assert_eq!(old.tokenizer, "cl100k_base");
    assert_eq!(unknown.tokenizer, "o200k_base");
    assert_eq!(new.total_tokens, tokens(&new.messages));
    assert_eq!(new.total_tokens, unknown.total_tokens);
    assert!(
        old.total_tokens > new.total_tokens,
        "the older encoding needs more"
    );

    let budget = new.total_tokens;
    assert!(!read("gpt-4o", budget).await.content_truncated);
    let cut = read("gpt-4", budget).await;
    assert!(cut.content_truncated && cut.total_tokens <= budget);
}

#[apply(trial)]
async fn history_of_an_empty_thread_is_empty() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let history = client.call(history_request(&thread_id)).await;
    assert_eq!(history.messages, []);
    assert!(!history.truncated && history.total_tokens == 0);
}
