//! Contexts: the instructions that a stored conversation begins with, and the request of a long
//! loop.

use memory_contract::proto::{
    ContextBlockKind as Kind, GetHistoryRequest, MemoryMode, MemoryPolicy, MessageInput,
    OversizedTurnPolicy, ProviderFormat, Role,
};
use recollect_tests::{
    Client, SOON, app, apply, block, chat_messages, check_context, context_request, cut,
    eventually, history_request, ids, kinds, mode, records, say, tool_call, tool_result, trial,
};
use serde_json::{Value, json};

use crate::{plain, working};

const FRENCH: &str = "Answer in French.";

/// Instructions, and then turns of two messages.
fn french(turns: usize) -> Vec<MessageInput> {
    let mut said = vec![say(Role::System, FRENCH)];
    for turn in 0..turns {
        said.push(say(Role::User, &format!("Question {turn} about trains?")));
        said.push(say(
            Role::Assistant,
            &format!("Answer {turn} about trains."),
        ));
    }
    said
}

/// A request and the steps of an agent.
fn port_a_module(steps: usize) -> Vec<MessageInput> {
    let mut said = vec![
        say(Role::System, FRENCH),
        say(Role::User, "Port this module"),
    ];
    for step in 0..steps {
        let id = format!("call-{step}");
        let file = json!({"path": format!("src/file{step}.rs"), "n": step});
        said.push(tool_call(&id, "edit_file", file));
        let result = format!("edited src/file{step}.rs, 0 warnings, 0 errors");
        said.push(tool_result(&id, &result));
    }
    said
}

async fn chat(client: &Client, thread_id: &str, policy: MemoryPolicy) -> Vec<Value> {
    let mut request = context_request(thread_id, "next");
    request.policy = Some(policy);
    request.formats = vec![ProviderFormat::OpenaiChat.into()];
    let context = client.call(request).await;
    check_context(&context, context.max_tokens);
    let first = kinds(&context)[0];
    assert_eq!(first, Kind::Instructions, "{:?}", kinds(&context));
    chat_messages(&context)
}

fn is_french(message: &Value) -> bool {
    message == &json!({"role": "system", "content": FRENCH})
}

#[apply(trial)]
async fn instructions_that_the_window_has_left_behind_are_in_each_context() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    client.append(&thread_id, french(30)).await;
    let window = |window_size| MemoryPolicy {
        window_size: Some(window_size),
        ..mode(MemoryMode::Window)
    };
    let without_recent = MemoryPolicy {
        recent_window: Some(0),
        ..MemoryPolicy::default()
    };
    for policy in [
        MemoryPolicy::default(),
        without_recent,
        window(4),
        window(500),
        mode(MemoryMode::Working),
        mode(MemoryMode::Observational),
    ] {
        let messages = chat(&client, &thread_id, policy).await;
        assert!(is_french(&messages[0]), "{messages:?}");
        let others = messages.iter().filter(|one| is_french(one)).count();
        assert_eq!(others, 1, "{messages:?}");
    }
    // The window has as many messages as without instructions.
    let messages = chat(&client, &thread_id, window(4)).await;
    assert_eq!(messages.len(), 1 + 4 + 1, "{messages:?}");
}

#[apply(trial)]
async fn instructions_begin_a_history_whatever_else_is_left_out() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let stored = client.append(&thread_id, french(30)).await;
    let all = client.all_messages(&thread_id).await;
    for (max_tokens, max_messages) in [(None, Some(20)), (Some(100), None), (Some(30), Some(2))] {
        let request = GetHistoryRequest {
            max_tokens,
            max_messages,
            ..history_request(&thread_id)
        };
        // The second read is answered by the cache.
        for _ in 0..2 {
            let history = client.call(request.clone()).await;
            let kept = ids(&history.messages);
            assert_eq!(kept[0], all[0].message_id);
            assert_eq!(kept[1..], ids(&all[all.len() + 1 - kept.len()..]));
            assert!(history.truncated && history.total_tokens <= max_tokens.unwrap_or(2_000));
            if let Some(most) = max_messages {
                assert_eq!(kept.len(), 1 + usize::try_from(most).unwrap());
            }
            let omitted = i64::try_from(all.len() - kept.len()).unwrap();
            assert_eq!(history.omitted_message_count, omitted);
        }
    }
    // Instructions that leave no room for the conversation are left out, and counted.
    let other = client.thread(&app()).await;
    let mut long = french(3);
    long[0] = say(Role::System, &"Answer in French. ".repeat(100));
    client.append(&other, long).await;
    let request = GetHistoryRequest {
        max_tokens: Some(100),
        ..history_request(&other)
    };
    let history = client.call(request).await;
    assert_eq!(history.messages.len(), 6);
    assert!(history.truncated);
    assert_eq!(history.omitted_message_count, 1);
    // An erased instruction is in none.
    client
        .delete_message(&thread_id, &stored.messages[0].message_id)
        .await;
    let history = client.call(history_request(&thread_id)).await;
    assert_eq!(ids(&history.messages), ids(&all[1..]));
}

#[apply(trial)]
async fn several_instructions_stay_together_whatever_was_read_before() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let mut said = vec![say(Role::System, "You help."), say(Role::System, FRENCH)];
    said.extend(french(2).into_iter().skip(1));
    client.append(&thread_id, said).await;
    let all = client.all_messages(&thread_id).await;
    for most in [4, 2, 3, 1, 4, 100] {
        let request = GetHistoryRequest {
            max_messages: Some(most),
            ..history_request(&thread_id)
        };
        let history = client.call(request).await;
        // Whole turns of two messages; of one alone, the question.
        let expected = match most {
            1 => vec![0, 1, 4],
            2 | 3 => vec![0, 1, 4, 5],
            _ => vec![0, 1, 2, 3, 4, 5],
        };
        let expected: Vec<_> = expected
            .into_iter()
            .map(|at: usize| all[at].clone())
            .collect();
        assert_eq!(ids(&history.messages), ids(&expected), "at most {most}");
        assert_eq!(history.truncated, expected.len() < 6, "at most {most}");
    }
    let request = GetHistoryRequest {
        oversized_turn: OversizedTurnPolicy::Drop.into(),
        max_tokens: Some(all[4..].iter().map(|one| one.token_count).sum()),
        ..history_request(&thread_id)
    };
    let history = client.call(request).await;
    assert_eq!(
        ids(&history.messages),
        ids(&all[4..]),
        "a turn that fits is not dropped"
    );
}

#[apply(trial)]
async fn instructions_are_not_turned_into_a_quotation_by_a_summary() {
    let client = plain().await;
    let policy = MemoryPolicy {
        context_window: Some(1_000),
        summarization_threshold: Some(0.3),
        ..mode(MemoryMode::Working)
    };
    let thread_id = working::thread_with(&client, &app(), policy).await;
    client.append(&thread_id, french(40)).await;
    eventually("turns are summarized", SOON, async || {
        working::get(&client, &thread_id)
            .await
            .summarized_message_count
            > 20
    })
    .await;
    let messages = chat(&client, &thread_id, MemoryPolicy::default()).await;
    assert!(is_french(&messages[0]), "{messages:?}");
    let quoted = messages[1]["content"].as_str().unwrap();
    assert!(quoted.contains("\"record\":\"summary\""), "{quoted}");
}

#[apply(trial)]
async fn the_older_steps_of_a_long_turn_are_summarized_and_its_request_stays() {
    let client = plain().await;
    let policy = MemoryPolicy {
        context_window: Some(4_000),
        summarization_threshold: Some(0.5),
        ..mode(MemoryMode::Working)
    };
    let thread_id = working::thread_with(&client, &app(), policy).await;
    for said in port_a_module(300).chunks(100) {
        client.append(&thread_id, said.to_vec()).await;
    }
    eventually("older steps are summarized", SOON, async || {
        let memory = working::get(&client, &thread_id).await;
        memory.summarized_message_count > 300
            && memory.context_percentage_until_summarization < 100.0
    })
    .await;
    let mut request = context_request(&thread_id, "");
    request.max_tokens = None;
    request.formats = vec![ProviderFormat::OpenaiChat.into()];
    let context = client.call(request).await;
    check_context(&context, context.max_tokens);
    assert_eq!(
        kinds(&context)[..3],
        [Kind::Instructions, Kind::Distilled, Kind::Recent]
    );
    assert!(!records(&context).is_empty());
    assert_eq!(cut(&context, Kind::Recent), Default::default());
    let recent = block(&context, Kind::Recent).unwrap();
    assert!(recent.messages.len() > 20 && !recent.content_truncated);
    let messages = chat_messages(&context);
    assert!(is_french(&messages[0]), "{messages:?}");
    let request = json!({"role": "user", "content": "Port this module"});
    assert_eq!(messages[2], request);
    let newest = messages.iter().rfind(|one| one["role"] == "tool").unwrap();
    let result = "edited src/file299.rs, 0 warnings, 0 errors";
    assert_eq!(
        (newest["role"].as_str(), newest["content"].as_str()),
        (Some("tool"), Some(result))
    );
}

#[apply(trial)]
async fn a_long_turn_over_the_budget_keeps_its_request_and_the_texts_of_its_newest_steps() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    client.append(&thread_id, port_a_module(40)).await;
    for max_tokens in [500, 900] {
        let mut request = context_request(&thread_id, "");
        request.max_tokens = Some(max_tokens);
        request.formats = vec![ProviderFormat::OpenaiChat.into()];
        request.policy = Some(MemoryPolicy {
            window_enabled: Some(false),
            ..mode(MemoryMode::Window)
        });
        let context = client.call(request).await;
        check_context(&context, context.max_tokens);
        let messages = chat_messages(&context);
        assert!(is_french(&messages[0]), "{messages:?}");
        assert_eq!(messages[1]["content"], "Port this module");
        assert!(messages.len() > 20, "{messages:?}");
        let results = messages.iter().filter(|one| one["role"] == "tool");
        let empty = results.filter(|one| one["content"] == "").count();
        assert_eq!(empty, 0, "{messages:?}");
        let cut = cut(&context, Kind::Recent);
        let shown = i64::try_from(messages.len()).unwrap();
        assert_eq!(cut.item_count + shown, 82);
    }
}
