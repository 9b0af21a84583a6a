//! Contexts: budgets and sizes.

use memory_contract::proto::{
    BuildContextRequest, BuildContextResponse, ContextBlockKind as Kind, MemoryMode, MemoryPolicy,
    Message, MessageInput, OmissionReason, OversizedTurnPolicy, Part, PutWorkingMemoryRequest,
    RecallRequest, Role, SearchMethod, part,
};
use prost::Message as _;
use recollect_tests::{
    Refused as _, app, apply, block, by_id, check_context, context_request, cut, file,
    history_request, kinds, mode, quoted_texts, recall_request, say, tool_call, tool_result, trial,
    turn, with_parts,
};
use serde_json::json as value;
use tonic::Code;

use crate::history::budgets as histories;
use crate::plain;

pub fn text(text: &str) -> Part {
    Part {
        content: Some(part::Content::Text(text.to_owned())),
        ..Default::default()
    }
}

/// A conversation with names, tools, files and data.
fn mixed() -> Vec<MessageInput> {
    let mut said = vec![say(Role::System, "You are a travel agent.")];
    for number in 0..14 {
        said.push(MessageInput {
            name: if number % 3 == 0 { "Ada" } else { "" }.to_owned(),
            ..say(
                Role::User,
                &format!(
                    "Question {number} about Oslo: {}",
                    "why ".repeat(number * 2)
                ),
            )
        });
        if number % 2 == 0 {
            let id = format!("call-{number}");
            said.push(tool_call(
                &id,
                "weather",
                value!({"city": "Oslo", "day": number}),
            ));
            said.push(tool_result(&id, &"rain ".repeat(number + 1)));
        }
        if number % 5 == 1 {
            let data = part::Content::Json(value!({"temperature": [number, 0.5]}).to_string());
            let data = Part {
                content: Some(data),
                ..Default::default()
            };
            let picture = file("https://example.org/fjord.png", "the fjord of Oslo");
            said.push(with_parts(Role::User, vec![picture]));
            said.push(with_parts(Role::Assistant, vec![data]));
        } else {
            let answer = format!("Answer {number}: {}", "so ".repeat(30 - number));
            said.push(say(Role::Assistant, &answer));
        }
    }
    said
}

pub fn at_revision(request: BuildContextRequest, revision: &str) -> BuildContextRequest {
    BuildContextRequest {
        freshness: recollect_tests::fresh_from(revision),
        ..request
    }
}

#[apply(trial)]
async fn t16_a_context_counts_all_of_itself_and_never_exceeds_its_budget() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let stored = client.append(&thread_id, mixed()).await;
    let hybrid = MemoryPolicy {
        // All of them: which are best changes with what others store.
        top_k: Some(100),
        ..mode(MemoryMode::Hybrid)
    };
    let window = MemoryPolicy {
        window_enabled: Some(false),
        ..mode(MemoryMode::Window)
    };
    for (policy, model) in [
        (&hybrid, ""),
        (&window, ""),
        (&hybrid, "gpt-4"),
        (&window, "gpt-4"),
    ] {
        let request = BuildContextRequest {
            policy: Some(policy.clone()),
            model: model.to_owned(),
            system_prompt: "You help with travel.".to_owned(),
            formats: vec![1, 2, 3, 4, 5],
            ..context_request(&thread_id, "What is the weather in Oslo?")
        };
        let request = at_revision(request, &stored.revision);
        let whole = client.context(request.clone()).await;
        check_context(&whole, 1_000_000);
        let least: i32 = [Kind::System, Kind::Input]
            .map(|kind| block(&whole, kind).unwrap().token_count)
            .iter()
            .sum();
        let mut sizes = Vec::new();
        for max_tokens in (least..whole.total_tokens + 40).step_by(17) {
            let request = BuildContextRequest {
                max_tokens: Some(max_tokens),
                ..request.clone()
            };
            let context = client.context(request).await;
            check_context(&context, max_tokens);
            pairs(&context);
            sizes.push(context.total_tokens);
        }
        assert_eq!(sizes.first(), Some(&least));
        assert_eq!(sizes.last(), Some(&whole.total_tokens));
        sizes.dedup();
        assert!(
            sizes.len() > 15,
            "the budgets make little difference: {sizes:?}"
        );
    }
}

/// Every call has its result in the recent turns.
pub fn pairs(context: &BuildContextResponse) {
    let recent = block(context, Kind::Recent).map_or(&[][..], |block| &block.messages);
    let messages = recent.iter().map(|message| Message {
        parts: message.parts.clone(),
        ..Default::default()
    });
    histories::pairs(&messages.collect::<Vec<_>>());
}

#[apply(trial)]
async fn t17_stored_messages_come_back_as_they_were_stored() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let data = part::Content::Json("{ \"b\": [1, 0.10, null], \"a\": {\"ü\": \"<&>\"}}".to_owned());
    let data = Part {
        content: Some(data),
        ..Default::default()
    };
    let mut said = mixed();
    said.extend([
        say(Role::User, "  \n{{ 7*7 }} <b>&amp;</b> \u{2028} é "),
        with_parts(Role::Assistant, vec![text(" a "), data, text("")]),
    ]);
    client.append(&thread_id, said).await;
    let history = client.call(history_request(&thread_id)).await;
    let request = BuildContextRequest {
        policy: Some(MemoryPolicy {
            window_enabled: Some(false),
            query_prompt_template: Some("Q: {{ query }}".to_owned()),
            ..mode(MemoryMode::Window)
        }),
        ..context_request(&thread_id, "Now?")
    };
    let context = client.context(request).await;
    let recent = block(&context, Kind::Recent).unwrap();
    assert!(!recent.truncated);
    let instructions = block(&context, Kind::Instructions).unwrap();
    assert_eq!(instructions.messages.len(), 1);
    let messages: Vec<_> = [instructions, recent]
        .map(|block| &block.messages[..])
        .concat();
    assert_eq!(messages.len(), history.messages.len());
    for (message, stored) in messages.iter().zip(&history.messages) {
        assert_eq!(message.parts, stored.parts);
        assert_eq!((&message.name, message.role), (&stored.name, stored.role));
        assert_eq!(message.message_id, stored.message_id);
        assert_eq!(message.create_time, stored.create_time);
        assert_eq!(message.token_count, stored.token_count);
    }
}

#[apply(trial)]
async fn d23_the_models_own_tokens_are_counted() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let words = "Donaudampfschifffahrtsgesellschaft および 天気予報 сегодня ".repeat(6);
    for _ in 0..6 {
        client.append_turn(&thread_id, &words, &words).await;
    }
    let build = async |model: &str, max_tokens| {
        let request = BuildContextRequest {
            model: model.to_owned(),
            max_tokens: Some(max_tokens),
            policy: Some(mode(MemoryMode::Window)),
            system_prompt: words.clone(),
            ..context_request(&thread_id, &words)
        };
        let context = client.context(request).await;
        check_context(&context, max_tokens);
        context
    };
    let new = build("gpt-4o", 100_000).await;
    let old = build("gpt-4", 100_000).await;
    assert_eq!(new.tokenizer, "o200k_base");
    assert_eq!(old.tokenizer, "cl100k_base");
    assert!(
        old.total_tokens > new.total_tokens,
        "the older one needs more"
    );
    assert_eq!(old.hash, new.hash, "the content is the same");
    let budget = new.total_tokens;
    assert_eq!(build("gpt-4o", budget).await.hash, new.hash);
    assert_ne!(build("gpt-4", budget).await.hash, new.hash);
    assert_eq!(build("unknown-model", budget).await.tokenizer, "o200k_base");
}

#[apply(trial)]
async fn a_newest_turn_that_does_not_fit_follows_the_request() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    client.append_turn(&thread_id, "Hello!", "Hi.").await;
    client
        .append_turn(&thread_id, &"why ".repeat(200), "So.")
        .await;
    let request = BuildContextRequest {
        policy: Some(mode(MemoryMode::Window)),
        max_tokens: Some(100),
        ..context_request(&thread_id, "Now?")
    };
    let build = async |oversized_turn: OversizedTurnPolicy, max_tokens| {
        let request = BuildContextRequest {
            oversized_turn: oversized_turn.into(),
            max_tokens: Some(max_tokens),
            ..request.clone()
        };
        client.contexts().build_context(request).await
    };
    let cut = build(OversizedTurnPolicy::Unspecified, 100).await.unwrap();
    let cut = cut.into_inner();
    check_context(&cut, 100);
    let recent = block(&cut, Kind::Recent).unwrap();
    assert!(recent.content_truncated && recent.truncated);
    assert_eq!(recent.messages.len(), 2);

    let dropped = build(OversizedTurnPolicy::Drop, 100).await.unwrap();
    assert_eq!(kinds(&dropped.into_inner()), [Kind::Input]);

    let failure = build(OversizedTurnPolicy::Fail, 100).await.refused();
    let needed: i32 = failure.metadata["needed_tokens"].parse().unwrap();
    failure.is(Code::FailedPrecondition, "TURN_TOO_LARGE");
    let enough = build(OversizedTurnPolicy::Fail, needed).await.unwrap();
    let enough = enough.into_inner();
    check_context(&enough, needed);
    assert_eq!(
        enough.total_tokens, needed,
        "it is the budget that would do"
    );
}

#[apply(trial)]
async fn omitted_items_are_reported() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let mut said: Vec<MessageInput> = (0..8)
        .flat_map(|number| {
            let long = format!("Otter {number}: {}", "swims ".repeat(40));
            turn(&long, &format!("Noted {number}."))
        })
        .collect();
    said.extend(turn("Hello!", "Hi."));
    let stored = client.append(&thread_id, said).await;
    let request = BuildContextRequest {
        policy: Some(MemoryPolicy {
            recent_window: Some(2),
            ..Default::default()
        }),
        method: SearchMethod::Lexical.into(),
        max_tokens: Some(260),
        ..context_request(&thread_id, "otter")
    };
    let request = at_revision(request, &stored.revision);
    let context = client.context(request.clone()).await;
    check_context(&context, 260);
    let quoted = quoted_texts(&context);
    assert!(!quoted.is_empty() && quoted.len() < 5, "{quoted:?}");
    let reasons = |context: &BuildContextResponse| {
        let omitted = context.omitted.iter();
        omitted.map(|one| one.reason()).collect::<Vec<_>>()
    };
    let reported = reasons(&context);
    assert!(reported.contains(&OmissionReason::Budget), "{reported:?}");
    assert!(reported.contains(&OmissionReason::Rank), "{reported:?}");
    let kinds = context.omitted.iter().map(|one| one.kind());
    assert!(kinds.into_iter().all(|kind| kind == Kind::Recalled));
    let best = block(&context, Kind::Recalled).unwrap();
    assert!(best.sources.iter().any(|source| source.rank == 1));

    let enough = BuildContextRequest {
        max_tokens: Some(100_000),
        ..request
    };
    let reported = reasons(&client.context(enough).await);
    assert!(!reported.contains(&OmissionReason::Budget), "{reported:?}");
}

#[apply(trial)]
async fn a_context_lists_at_most_fifty_of_the_candidates_that_became_no_matches() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let said: Vec<MessageInput> = (0..60)
        .flat_map(|number| {
            let seen = format!("Otter {number} swims.");
            turn(&seen, &format!("Otter {number} is noted."))
        })
        .collect();
    let stored = client.append(&thread_id, said).await;
    let request = context_request(&thread_id, "otter");
    let context = client.context(at_revision(request, &stored.revision)).await;
    // Those of the first fifty that come back as neighbors are not left out.
    assert!((40..=50).contains(&context.omitted.len()));
    let reasons = context.omitted.iter().map(|one| one.reason());
    assert!(
        reasons
            .into_iter()
            .all(|reason| reason == OmissionReason::Rank)
    );
    let recalled = client
        .recall(RecallRequest {
            explain: true,
            ..recall_request(&thread_id, "otter", &stored.revision)
        })
        .await;
    assert!(recalled.omitted.len() > 50);
}

#[apply(trial)]
async fn a_recent_window_of_zero_makes_no_block() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let stored = client.append_turn(&thread_id, "An owl!", "Where?").await;
    let request = BuildContextRequest {
        policy: Some(MemoryPolicy {
            recent_window: Some(0),
            ..Default::default()
        }),
        ..context_request(&thread_id, "Tell me of the owl.")
    };
    let context = client.context(at_revision(request, &stored.revision)).await;
    check_context(&context, 1_000_000);
    assert_eq!(kinds(&context), [Kind::Recalled, Kind::Input]);
    assert!(quoted_texts(&context).contains(&"An owl!".to_owned()));
}

#[apply(trial)]
async fn an_answer_is_no_longer_than_a_client_takes() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    // Few tokens, many bytes.
    let wide = format!("Walrus.{}End.", " ".repeat(200 * 1_024));
    for _ in 0..20 {
        client.append_turn(&thread_id, &wide, "Yes.").await;
    }
    for (mode, formats) in [
        (MemoryMode::Window, vec![]),
        (MemoryMode::Window, vec![1, 2, 3]),
        (MemoryMode::Hybrid, vec![1, 2, 3]),
    ] {
        let request = BuildContextRequest {
            policy: Some(recollect_tests::mode(mode)),
            formats,
            max_tokens: Some(10_000_000),
            ..context_request(&thread_id, "Walrus?")
        };
        let context = client.context(request).await;
        assert!(context.encoded_len() <= 3_670_016);
        assert!(block(&context, Kind::Recent).is_some(), "{mode:?}");
    }
    // A prompt that is too long by itself.
    let request = BuildContextRequest {
        formats: vec![1, 2, 3, 4, 5],
        max_tokens: Some(10_000_000),
        input: (0..4).map(|_| text(&wide)).collect(),
        system_prompt: wide.clone(),
        ..context_request(&thread_id, "")
    };
    let failure = client.refused(request.clone()).await;
    failure.is(Code::FailedPrecondition, "CONTEXT_TOO_LARGE");
    let one = BuildContextRequest {
        formats: vec![1],
        ..request
    };
    assert!(client.context(one).await.encoded_len() <= 3_670_016);
}

#[apply(trial)]
async fn t16_without_max_tokens_the_budget_follows_the_model_of_the_request() {
    let client = plain().await;
    let app = app();
    let thread_id = client.thread(&app).await;
    let long = "why ".repeat(150);
    let said = (0..30).flat_map(|_| turn(&long, &long)).collect();
    client.append(&thread_id, said).await;
    let request = |thread_id: &str, model: &str, policy: MemoryPolicy| BuildContextRequest {
        policy: Some(policy),
        model: model.to_owned(),
        node_id: "planner".to_owned(),
        max_tokens: None,
        ..context_request(thread_id, "Why?")
    };
    // Its window has 8,192 tokens, fewer than the messages.
    for (wanted, budget) in [
        (MemoryMode::None, 2_048),
        (MemoryMode::Window, 2_048),
        (MemoryMode::Hybrid, 2_048),
        (MemoryMode::Node, 2_048),
        (MemoryMode::Working, 7_168),
        (MemoryMode::Observational, 7_168),
    ] {
        let request = request(&thread_id, "gpt-4", mode(wanted));
        let context = client.context(request).await;
        assert_eq!(context.max_tokens, budget, "{wanted:?}");
        check_context(&context, budget);
        let fills = [
            MemoryMode::Window,
            MemoryMode::Working,
            MemoryMode::Observational,
        ];
        if fills.contains(&wanted) {
            assert!(context.total_tokens > budget - 400, "{wanted:?}");
            assert!(cut(&context, Kind::Recent).item_count > 0, "{wanted:?}");
        }
    }

    let budget = async |thread_id: &str, model: &str, policy: &MemoryPolicy| {
        let request = request(thread_id, model, policy.clone());
        client.context(request).await.max_tokens
    };
    let window = mode(MemoryMode::Window);
    for (model, tokens) in [
        ("", 32_000),
        ("our-own-model", 32_000),
        ("openai/gpt-4.1", 261_894),
    ] {
        let found = budget(&thread_id, model, &window).await;
        assert_eq!(found, tokens, "{model}");
    }

    // The model of the working memory counts in every mode, after that of the request.
    let other = client.thread(&app).await;
    let named = PutWorkingMemoryRequest {
        thread: by_id(&other),
        model: "gpt-4".to_owned(),
        ..Default::default()
    };
    client.call(named).await;
    assert_eq!(budget(&other, "", &window).await, 2_048);
    assert_eq!(budget(&other, "our-own-model", &window).await, 2_048);
    assert_eq!(budget(&other, "gpt-4o", &window).await, 32_000);
    let working = mode(MemoryMode::Working);
    assert_eq!(budget(&other, "", &working).await, 7_168);

    // What a level sets comes before every model.
    let app_policy = MemoryPolicy {
        context_window: Some(12_000),
        ..Default::default()
    };
    client.set_policy(&app, app_policy).await;
    for thread_id in [&thread_id, &other] {
        assert_eq!(budget(thread_id, "gpt-4", &window).await, 3_000);
    }
    let set = MemoryPolicy {
        context_window: Some(16_000),
        ..window.clone()
    };
    assert_eq!(budget(&other, "gpt-4", &set).await, 4_000);
    let set = MemoryPolicy {
        context_tokens: Some(500),
        ..window
    };
    assert_eq!(budget(&other, "gpt-4", &set).await, 500);
}

#[apply(trial)]
async fn t16_a_part_of_the_budget_is_kept_free_on_request() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    client.append(&thread_id, mixed()).await;
    let window = MemoryPolicy {
        window_enabled: Some(false),
        ..mode(MemoryMode::Window)
    };
    let build = async |max_tokens: i32, reserve_tokens: Option<i32>| {
        let request = BuildContextRequest {
            policy: Some(window.clone()),
            max_tokens: Some(max_tokens),
            reserve_tokens,
            ..context_request(&thread_id, "And now?")
        };
        client.context(request).await
    };
    let whole = build(1_000_000, None).await.total_tokens;
    for reserved in [0, 1, 50, whole / 2] {
        let context = build(whole, Some(reserved)).await;
        check_context(&context, whole - reserved);
        let smaller = build(whole - reserved, None).await;
        assert_eq!(context.blocks, smaller.blocks, "{reserved} reserved");
    }
    assert_eq!(build(whole, Some(0)).await.total_tokens, whole);
    // What is left has no room for the input alone.
    let request = BuildContextRequest {
        max_tokens: Some(1_000),
        reserve_tokens: Some(999),
        ..context_request(&thread_id, "And now?")
    };
    let refused = client.refused(request).await;
    refused.is(Code::FailedPrecondition, "CONTEXT_TOO_LARGE");
}
