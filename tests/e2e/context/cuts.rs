//! What a context or a history leaves out is counted.

use memory_contract::proto::{
    AddMemoriesRequest, BuildContextRequest, ContextBlockKind as Kind, GetHistoryRequest,
    GetNodeHistoryRequest, MemoryMode, MemoryPolicy, Message, MessageInput, Role,
};
use recollect_tests::{
    Client, USER_DEFAULT, app, apply, block, by_id, check_context, context_request, cut,
    history_request, memory, mode, node, of_user, reply, say, trial,
};

use crate::plain;

/// Turns of about 25 tokens.
fn talk(turns: usize) -> Vec<MessageInput> {
    let said = |number: usize| {
        let question = format!("What is known about parcel {number} of the second shipment?");
        let answer = format!("Parcel {number} left the harbor.");
        [say(Role::User, &question), say(Role::Assistant, &answer)]
    };
    (0..turns).flat_map(said).collect()
}

/// The number of messages, and their tokens.
fn sum(messages: &[Message]) -> (i64, i64) {
    let tokens = messages.iter().map(|one| i64::from(one.token_count));
    (messages.len() as i64, tokens.sum())
}

/// What the response of a history has and lacks, together.
async fn history(client: &Client, request: GetHistoryRequest) -> (i64, i64) {
    let found = client.call(request).await;
    let (count, tokens) = sum(&found.messages);
    assert_eq!(found.truncated, found.omitted_message_count > 0);
    assert_eq!(tokens, i64::from(found.total_tokens));
    (
        count + found.omitted_message_count,
        tokens + found.omitted_token_count,
    )
}

/// What a context has and lacks of the messages in full, together.
async fn in_full(client: &Client, request: BuildContextRequest) -> (i64, i64) {
    let max_tokens = request.max_tokens.unwrap_or(i32::MAX);
    let context = client.context(request).await;
    check_context(&context, max_tokens);
    let cut = cut(&context, Kind::Recent);
    let (count, tokens) = match block(&context, Kind::Recent) {
        Some(block) => (block.messages.len() as i64, i64::from(block.token_count)),
        None => (0, 0),
    };
    (count + cut.item_count, tokens + cut.token_count)
}

#[apply(trial)]
async fn t16_a_context_counts_the_messages_that_it_lacks() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    client.append(&thread_id, talk(60)).await;
    let all = sum(&client.all_messages(&thread_id).await);
    assert_eq!(all.0, 120);
    let modes = [
        mode(MemoryMode::Window),
        mode(MemoryMode::Hybrid),
        MemoryPolicy {
            recent_window: Some(0),
            ..mode(MemoryMode::Hybrid)
        },
        mode(MemoryMode::Working),
        mode(MemoryMode::Observational),
    ];
    for policy in modes {
        // From too little for one message to enough for all.
        for max_tokens in [
            Some(20),
            Some(45),
            Some(100),
            Some(600),
            Some(100_000),
            None,
        ] {
            let request = BuildContextRequest {
                policy: Some(policy.clone()),
                max_tokens,
                ..context_request(&thread_id, "And now?")
            };
            let counted = in_full(&client, request).await;
            assert_eq!(counted, all, "{policy:?} with {max_tokens:?}");
        }
    }
}

#[apply(trial)]
async fn d05_a_history_counts_the_messages_that_it_lacks() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    client.append(&thread_id, talk(120)).await;
    let stored = client.all_messages(&thread_id).await;
    let by_default = GetHistoryRequest {
        thread: by_id(&thread_id),
        ..Default::default()
    };
    let found = client.call(by_default.clone()).await;
    assert_eq!(found.messages.len(), 100);
    assert_eq!(found.omitted_message_count, 140);
    assert_eq!(
        found.omitted_token_count,
        sum(&stored[..140]).1,
        "those before the first"
    );
    let with = |max_tokens: i32, head: &Message| GetHistoryRequest {
        max_tokens: Some(max_tokens),
        head_message_id: head.message_id.clone(),
        ..by_default.clone()
    };
    for max_tokens in [1, 20, 70, 1_000, 100_000] {
        for last in [1, 50, 239] {
            let request = with(max_tokens, &stored[last]);
            let counted = history(&client, request).await;
            assert_eq!(counted, sum(&stored[..=last]), "{max_tokens} to {last}");
        }
    }

    // Erased messages are not counted, wherever they were.
    for erased in [230, 10] {
        let id = &stored[erased].message_id;
        client.delete_message(&thread_id, id).await;
    }
    let left = client.all_messages(&thread_id).await;
    assert_eq!(left.len(), 238);
    for max_tokens in [20, 1_000, 100_000] {
        for last in [5, 200, 237] {
            let request = with(max_tokens, &left[last]);
            let counted = history(&client, request).await;
            assert_eq!(counted, sum(&left[..=last]), "{max_tokens} to {last}");
        }
    }

    // A branch counts its own path.
    let fork = reply(&left[20].message_id, Role::User, "Let us start again.");
    client.append(&thread_id, vec![fork]).await;
    let path = client.call(history_request(&thread_id)).await.messages;
    assert_eq!(path.len(), 22);
    let head = path.last().unwrap();
    assert_eq!(history(&client, with(30, head)).await, sum(&path));
}

#[apply(trial)]
async fn d13_the_history_of_a_node_counts_the_messages_that_it_lacks() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let planner = node(&thread_id, "planner");
    for number in 0..12 {
        let question = format!("Plan day {number} of the week.");
        client.add_node_turn(&planner, &question, "A walk.").await;
    }
    let whole = GetNodeHistoryRequest {
        node: Some(planner.clone()),
        max_tokens: Some(100_000),
        ..Default::default()
    };
    let all = client.call(whole.clone()).await;
    assert_eq!((all.messages.len(), all.omitted_message_count), (24, 0));
    assert_eq!(all.omitted_token_count, 0);
    for max_tokens in [1, 30, 100] {
        let request = GetNodeHistoryRequest {
            max_tokens: Some(max_tokens),
            ..whole.clone()
        };
        let some = client.call(request).await;
        let count = some.messages.len() as i64 + some.omitted_message_count;
        let tokens = i64::from(some.total_tokens) + some.omitted_token_count;
        assert_eq!((count, tokens), (24, i64::from(all.total_tokens)));

        let request = BuildContextRequest {
            node_id: "planner".to_owned(),
            max_tokens: Some(max_tokens + 10),
            policy: Some(mode(MemoryMode::Node)),
            ..context_request(&thread_id, "Go on.")
        };
        let context = client.context(request).await;
        check_context(&context, max_tokens + 10);
        let shown = block(&context, Kind::Node).map_or(0, |block| block.messages.len());
        let lacking = cut(&context, Kind::Node).item_count;
        assert_eq!(shown as i64 + lacking, 24, "{max_tokens}");
    }
}

#[apply(trial)]
async fn t16_a_context_counts_memories_that_do_not_fit() {
    let client = plain().await;
    let app = app();
    let thread_id = client.thread(&app).await;
    let fact = |number: usize| {
        let text = format!("Ada's parcel {number} waits in the harbor of Oslo for its papers.");
        memory(&text)
    };
    let request = AddMemoriesRequest {
        user: of_user(&app, USER_DEFAULT),
        memories: (0..5).map(fact).collect(),
    };
    client.call(request).await;
    for max_tokens in [20, 120, 1_000] {
        let request = BuildContextRequest {
            max_tokens: Some(max_tokens),
            ..context_request(&thread_id, "Which parcel of Ada waits in Oslo?")
        };
        let context = client.context(request).await;
        check_context(&context, max_tokens);
        let shown = block(&context, Kind::Memories).map_or(0, |block| block.sources.len());
        let lacking = cut(&context, Kind::Memories);
        assert_eq!(shown as i64 + lacking.item_count, 5, "{max_tokens}");
        assert_eq!(lacking.token_count > 0, lacking.item_count > 0);
    }
}

#[apply(trial)]
async fn erased_messages_are_not_counted_among_those_that_a_history_lacks() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    client.append(&thread_id, talk(20)).await;
    let first = client.all_messages(&thread_id).await;
    // A branch that leaves the first one after its 30th message.
    let branch = reply(
        &first[29].message_id,
        Role::User,
        "Something else entirely.",
    );
    client.append(&thread_id, vec![branch]).await;
    client.append(&thread_id, talk(5)).await;
    let stored = client.all_messages(&thread_id).await;
    // The first, two runs, one around the fork, and one that is not on the path.
    for place in [0, 7, 8, 9, 20, 28, 29, 35, 40, 41] {
        let erased = &stored[place].message_id;
        client.delete_message(&thread_id, erased).await;
    }
    // The end of the path is erased, and another message takes the place.
    for place in [50, 49] {
        let erased = &stored[place].message_id;
        client.delete_message(&thread_id, erased).await;
    }
    client.append_text(&thread_id, "The last word.").await;
    let request = |max_messages: i32| GetHistoryRequest {
        thread: by_id(&thread_id),
        max_messages: Some(max_messages),
        max_tokens: Some(100_000),
        ..Default::default()
    };
    let whole = client.call(request(500)).await;
    assert_eq!(whole.messages.len(), 31);
    assert!(!whole.truncated);
    for max_messages in [1, 4, 8, 12, 20, 30] {
        let found = history(&client, request(max_messages)).await;
        assert_eq!(found, sum(&whole.messages), "{max_messages}");
    }
}
