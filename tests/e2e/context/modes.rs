//! Contexts: what is remembered, in which order, under which policy.

use memory_contract::proto::{
    BuildContextRequest, BuildContextResponse, ContextBlockKind as Kind, CreateThreadRequest,
    MemoryMode, MemoryPolicy, MessageInput, PolicyLevel, ProviderFormat, RecallReason,
    ResolveThreadRequest, Role,
};
use recollect_tests::{
    Client, app, apply, block, block_texts, by_id, by_session, chat_messages, check_context,
    context_request, history_request, kinds, mode, quoted_texts, reply, say, session, trial, turn,
};

use crate::recall::diary;
use crate::{acme, plain};

/// A context in a mode, checked.
pub async fn in_mode(client: &Client, thread_id: &str, wanted: MemoryMode) -> BuildContextResponse {
    with(client, thread_id, "And now?", mode(wanted)).await
}

async fn with(
    client: &Client,
    thread_id: &str,
    input: &str,
    policy: MemoryPolicy,
) -> BuildContextResponse {
    let request = BuildContextRequest {
        policy: Some(policy),
        ..context_request(thread_id, input)
    };
    let context = client.context(request).await;
    check_context(&context, 1_000_000);
    context
}

/// Short turns: q0, a0, q1, a1, …
pub fn turns(count: usize) -> Vec<MessageInput> {
    (0..count)
        .flat_map(|number| turn(&format!("q{number}"), &format!("a{number}")))
        .collect()
}

#[apply(trial)]
async fn t01_window_mode_gives_the_newest_messages_in_order() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    client.append(&thread_id, turns(30)).await;
    let context = in_mode(&client, &thread_id, MemoryMode::Window).await;
    assert_eq!(kinds(&context), [Kind::Recent, Kind::Input]);
    let expected: Vec<String> = (20..30)
        .flat_map(|number| [format!("q{number}"), format!("a{number}")])
        .collect();
    assert_eq!(block_texts(&context, Kind::Recent), expected);
    let recent = block(&context, Kind::Recent).unwrap();
    assert!(recent.truncated && !recent.content_truncated);
    for source in &recent.sources {
        assert_eq!(source.reasons, [i32::from(RecallReason::Recent)]);
        assert_eq!(source.thread_id, thread_id);
    }
}

#[apply(trial)]
async fn n03_with_nothing_set_but_the_mode_the_newest_messages_are_in_full() {
    let client = plain().await;
    for (wanted, expected) in [
        // The number of messages, and of those of the default mode.
        (MemoryMode::Window, 20),
        (MemoryMode::Unspecified, 4),
        (MemoryMode::Hybrid, 4),
        // All that no observation or summary covers.
        (MemoryMode::Observational, 60),
        (MemoryMode::Working, 60),
    ] {
        let request = ResolveThreadRequest {
            session: Some(session(&app(), "", "thread:1")),
            policy: Some(mode(wanted)),
            ..Default::default()
        };
        let thread_id = client.call(request).await.thread.unwrap().thread_id;
        client.append(&thread_id, turns(30)).await;
        let request = BuildContextRequest {
            max_tokens: None,
            ..context_request(&thread_id, "Now?")
        };
        let context = client.context(request).await;
        check_context(&context, i32::MAX);
        let recent = block_texts(&context, Kind::Recent);
        assert_eq!(recent.len(), expected, "{wanted:?}");
        assert_eq!(recent.last().unwrap(), "a29", "{wanted:?}");
    }
}

#[apply(trial)]
async fn n03_the_window_is_20_messages_by_default_and_can_be_set() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    client.append(&thread_id, turns(100)).await;
    client.append(&thread_id, turns(100)).await;
    client.append(&thread_id, turns(75)).await;
    for (enabled, size, expected) in [
        (None, None, 20),
        (None, Some(6), 6),
        (None, Some(7), 6),
        (Some(true), Some(500), 500),
        (Some(false), Some(6), 500),
    ] {
        let policy = MemoryPolicy {
            window_enabled: enabled,
            window_size: size,
            ..mode(MemoryMode::Window)
        };
        let context = with(&client, &thread_id, "Now?", policy).await;
        let texts = block_texts(&context, Kind::Recent);
        assert_eq!(texts.len(), expected, "{enabled:?} {size:?}");
        assert_eq!(texts.last().unwrap(), "a74", "the oldest are dropped");
        assert!(texts[0].starts_with('q'), "no answer without its question");
    }
}

#[apply(trial)]
async fn t02_hybrid_mode_gives_recent_messages_and_matches_from_long_ago() {
    let client = acme().await;
    let thread_id = client.thread(&app()).await;
    let stored = diary::store(&client, &thread_id).await;
    let request = BuildContextRequest {
        freshness: recollect_tests::fresh_from(&stored.revision),
        ..context_request(&thread_id, "What is our greyhound called?")
    };
    let context = client.context(request.clone()).await;
    assert_eq!(context.degradations, []);
    check_context(&context, 1_000_000);
    let recent = block_texts(&context, Kind::Recent);
    assert_eq!(recent.len(), 4);
    assert_eq!(recent[3], "Enjoy your evening!");
    let quoted = quoted_texts(&context);
    let wanted = "We adopted a greyhound, he is called Biscuit.".to_owned();
    assert!(quoted.contains(&wanted), "{quoted:?}");
    let recalled = block(&context, Kind::Recalled).unwrap();
    assert!(recalled.sources.iter().any(|source| source.rank == 1));

    // The user's other conversations have it too, unless the policy says otherwise.
    let other = client.thread(&thread_app(&client, &thread_id).await).await;
    let elsewhere = BuildContextRequest {
        thread: by_id(other),
        ..request
    };
    let context = client.context(elsewhere.clone()).await;
    assert!(quoted_texts(&context).contains(&wanted));
    let own = BuildContextRequest {
        policy: Some(MemoryPolicy {
            scope: memory_contract::proto::RecallScope::Thread.into(),
            ..Default::default()
        }),
        ..elsewhere
    };
    assert_eq!(quoted_texts(&client.context(own).await), [""; 0]);
}

async fn thread_app(client: &Client, thread_id: &str) -> String {
    client.get_thread(thread_id).await.app_id
}

#[apply(trial)]
async fn t05_system_prompt_comes_first_then_memory_then_the_input() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let stored = diary::store(&client, &thread_id).await;
    let request = BuildContextRequest {
        system_prompt: "  You are helpful.\n".to_owned(),
        input_name: "Ada".to_owned(),
        freshness: recollect_tests::fresh_from(&stored.revision),
        ..context_request(&thread_id, "What is the error code of the heating?")
    };
    let context = client.context(request).await;
    check_context(&context, 1_000_000);
    let order = [Kind::System, Kind::Recalled, Kind::Recent, Kind::Input];
    assert_eq!(kinds(&context), order);
    let roles = context.blocks.iter().map(|block| block.messages[0].role());
    let roles: Vec<Role> = roles.collect();
    assert_eq!(roles, [Role::System, Role::User, Role::User, Role::User]);
    let prompt = block_texts(&context, Kind::System);
    assert_eq!(prompt, ["  You are helpful.\n"], "exactly as it is");
    let input = &block(&context, Kind::Input).unwrap().messages[0];
    assert_eq!(input.name, "Ada");
    // Quotations are in chronological order.
    let quoted = quoted_texts(&context);
    let places: Vec<usize> = quoted
        .iter()
        .map(|text| {
            let said = diary::TALK.iter().flat_map(|(q, a)| [q, a]);
            said.into_iter().position(|one| one == text).unwrap()
        })
        .collect();
    assert!(places.is_sorted(), "{places:?}");
}

#[apply(trial)]
async fn t06_four_recent_messages_and_five_matches_are_merged_without_duplicates() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let same = "The heron stands in the pond.";
    let mut said = vec![say(Role::User, same)];
    for number in 0..12 {
        said.extend(turn(
            &format!("A heron flew over house {number} again."),
            &format!("Noted, house {number}."),
        ));
    }
    said.extend([say(Role::User, same), say(Role::Assistant, "A fine bird.")]);
    said.extend(turn("A heron!", "Where is the heron?"));
    let stored = client.append(&thread_id, said).await;
    let request = BuildContextRequest {
        freshness: recollect_tests::fresh_from(&stored.revision),
        ..context_request(&thread_id, "heron")
    };
    let context = client.context(request).await;
    check_context(&context, 1_000_000);
    let recent = block_texts(&context, Kind::Recent);
    assert_eq!(
        recent,
        [same, "A fine bird.", "A heron!", "Where is the heron?"]
    );
    let quoted = quoted_texts(&context);
    assert!(!quoted.contains(&same.to_owned()), "it is there already");
    let sources = &block(&context, Kind::Recalled).unwrap().sources;
    let mut ranks: Vec<i32> = sources.iter().map(|source| source.rank).collect();
    ranks.retain(|rank| *rank > 0);
    ranks.sort_unstable();
    assert_eq!(ranks, [1, 2, 3, 4, 5]);
    let mut unique = quoted.clone();
    unique.sort();
    unique.dedup();
    assert_eq!(unique.len(), quoted.len());
}

#[apply(trial)]
async fn t12_one_effective_policy_applies_and_is_returned() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    client.append(&thread_id, turns(5)).await;
    let context = with(
        &client,
        &thread_id,
        "Now?",
        MemoryPolicy {
            window_size: Some(2),
            user_label: Some("Guest".to_owned()),
            ..mode(MemoryMode::Window)
        },
    )
    .await;
    let effective = context.effective_policy.unwrap();
    let origins: Vec<(&str, PolicyLevel)> = effective
        .origins
        .iter()
        .map(|origin| (origin.field.as_str(), origin.level()))
        .collect();
    let request = PolicyLevel::Request;
    assert_eq!(
        origins,
        [
            ("mode", request),
            ("window_size", request),
            ("user_label", request)
        ]
    );
    let policy = effective.policy.unwrap();
    assert_eq!(policy.mode(), MemoryMode::Window);
    assert_eq!(policy.top_k, Some(5));
    assert_eq!(policy.assistant_label.as_deref(), Some("Assistant"));

    let default = client.context(context_request(&thread_id, "Now?")).await;
    let effective = default.effective_policy.unwrap();
    assert_eq!(effective.origins, []);
    assert_eq!(effective.policy.unwrap().mode(), MemoryMode::Hybrid);
    // It is returned to those who ask for it, with what was left out.
    let unasked = BuildContextRequest {
        explain: false,
        policy: Some(MemoryPolicy {
            recent_window: Some(0),
            top_k: Some(1),
            neighbors_before: Some(0),
            neighbors_after: Some(0),
            ..Default::default()
        }),
        ..context_request(&thread_id, "q1")
    };
    let asked = BuildContextRequest {
        explain: true,
        ..unasked.clone()
    };
    let (unasked, asked) = (client.context(unasked).await, client.context(asked).await);
    assert_eq!((unasked.effective_policy, unasked.omitted), (None, vec![]));
    assert!(asked.effective_policy.is_some() && !asked.omitted.is_empty());
    assert_eq!(unasked.blocks, asked.blocks);
}

#[apply(trial)]
async fn t13_a_stateless_context_is_just_the_input() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    client.append(&thread_id, turns(5)).await;
    let alone = in_mode(&client, "", MemoryMode::None).await;
    assert_eq!(kinds(&alone), [Kind::Input]);
    assert_eq!(block_texts(&alone, Kind::Input), ["And now?"]);
    let within = in_mode(&client, &thread_id, MemoryMode::None).await;
    assert_eq!(within.blocks, alone.blocks);
    assert_eq!(within.hash, alone.hash);
    let request = BuildContextRequest {
        system_prompt: "Be brief.".to_owned(),
        policy: Some(mode(MemoryMode::None)),
        ..context_request("", "And now?")
    };
    let context = client.context(request).await;
    assert_eq!(kinds(&context), [Kind::System, Kind::Input]);
}

#[apply(trial)]
async fn d17_history_is_read_back_from_the_message_that_is_named() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let stored = client.append(&thread_id, turns(3)).await;
    let first_answer = &stored.messages[1].message_id;
    let other = client
        .append(&thread_id, vec![reply(first_answer, Role::User, "other")])
        .await;
    for policy in [mode(MemoryMode::Window), mode(MemoryMode::Hybrid)] {
        let read = async |head: &str| {
            let request = BuildContextRequest {
                head_message_id: head.to_owned(),
                policy: Some(policy.clone()),
                ..context_request(&thread_id, "Now?")
            };
            block_texts(&client.context(request).await, Kind::Recent)
        };
        assert_eq!(read("").await, ["q0", "a0", "other"]);
        assert_eq!(
            read(&other.messages[0].message_id).await,
            ["q0", "a0", "other"]
        );
        assert_eq!(read(first_answer).await, ["q0", "a0"]);
        assert_eq!(
            read(&stored.messages[3].message_id).await,
            ["q0", "a0", "q1", "a1"]
        );
    }
}

#[apply(trial)]
async fn d17_messages_after_the_named_one_are_not_found() {
    let client = plain().await;
    let app = app();
    for ephemeral in [false, true] {
        let thread = CreateThreadRequest {
            session: Some(session(&app, &format!("user:{ephemeral}"), "session:1")),
            ephemeral,
            ..Default::default()
        };
        let thread_id = client.call(thread).await.thread.unwrap().thread_id;
        let question = say(Role::User, "What is the capital of Zogland?");
        let question = client.append(&thread_id, vec![question]).await;
        let question = question.messages[0].message_id.clone();
        let first = vec![
            reply(&question, Role::Assistant, "The capital is Blipville."),
            say(Role::User, "Is the capital Blipville large?"),
        ];
        let first = client.append(&thread_id, first).await;
        let again = reply(&question, Role::Assistant, "The capital is Quuxton.");
        let again = client.append(&thread_id, vec![again]).await;
        let found = async |head: &str, window: i32, all_branches: bool| {
            let request = BuildContextRequest {
                head_message_id: head.to_owned(),
                freshness: recollect_tests::fresh_from(&again.revision),
                all_branches,
                policy: Some(MemoryPolicy {
                    recent_window: Some(window),
                    ..Default::default()
                }),
                ..context_request(&thread_id, "capital of Zogland, Blipville, Quuxton")
            };
            quoted_texts(&client.context(request).await)
        };
        // A regenerated answer is not given the old answers.
        let none: [&str; 0] = [];
        assert_eq!(found(&question, 4, false).await, none);
        assert_eq!(found(&question, 4, true).await.len(), 3);
        assert_eq!(
            found("", 0, false).await,
            ["What is the capital of Zogland?", "The capital is Quuxton."]
        );
        // The other branch is the active one to who reads back from it.
        assert_eq!(
            found(&first.messages[1].message_id, 0, false).await,
            [
                "What is the capital of Zogland?",
                "The capital is Blipville.",
                "Is the capital Blipville large?"
            ]
        );
        assert_eq!(
            found(&first.messages[0].message_id, 0, false).await,
            [
                "What is the capital of Zogland?",
                "The capital is Blipville."
            ]
        );
    }
}

#[apply(trial)]
async fn d19_history_comes_before_the_current_message() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    client.append(&thread_id, turns(2)).await;
    let said = ["q0", "a0", "q1", "a1"];
    for policy in [None, Some(mode(MemoryMode::Window))] {
        let request = BuildContextRequest {
            policy,
            formats: vec![ProviderFormat::OpenaiChat.into()],
            ..context_request(&thread_id, "And now?")
        };
        let context = client.context(request).await;
        check_context(&context, 1_000_000);
        assert_eq!(kinds(&context), [Kind::Recent, Kind::Input]);
        assert_eq!(block_texts(&context, Kind::Recent), said);
        assert_eq!(block_texts(&context, Kind::Input), ["And now?"]);
        let last = &block(&context, Kind::Input).unwrap().messages;
        assert_eq!(last[0].role(), Role::User);
        // The model is given it in this order.
        let messages = chat_messages(&context);
        let given: Vec<(&str, &str)> = messages
            .iter()
            .map(|one| {
                (
                    one["role"].as_str().unwrap(),
                    one["content"].as_str().unwrap(),
                )
            })
            .collect();
        let expected = [
            ("user", "q0"),
            ("assistant", "a0"),
            ("user", "q1"),
            ("assistant", "a1"),
            ("user", "And now?"),
        ];
        assert_eq!(given, expected);
    }
    let history = client.call(history_request(&thread_id)).await;
    assert_eq!(history.messages.len(), 4, "building stores nothing");
}

#[apply(trial)]
async fn a_session_without_a_conversation_has_an_empty_memory() {
    let client = plain().await;
    let names = session(&app(), "ada", "thread:none-yet");
    let request = BuildContextRequest {
        thread: by_session(names.clone()),
        system_prompt: "Be brief.".to_owned(),
        ..context_request("", "Hello!")
    };
    let context = client.context(request.clone()).await;
    check_context(&context, 1_000_000);
    assert_eq!(kinds(&context), [Kind::System, Kind::Input]);
    let policy = context.effective_policy.unwrap().policy.unwrap();
    assert_eq!(policy.mode(), MemoryMode::Hybrid);

    let thread = client.resolve(names).await;
    client.append(&thread.thread_id, turns(1)).await;
    let context = client.context(request).await;
    assert_eq!(block_texts(&context, Kind::Recent), ["q0", "a0"]);
}
