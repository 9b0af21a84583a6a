//! Contexts: budgets, limits, and what the input's template may do.

use memory_contract::proto::{
    BuildContextRequest, BuildContextResponse, ContextBlockKind as Kind, MemoryMode, MemoryPolicy,
    Message, MessageInput, OmissionReason, OversizedTurnPolicy, Part, Role, SearchMethod, part,
};
use prost::Message as _;
use recollect_tests::{
    Client, Refused as _, app, block, block_texts, check_context, context_request, file,
    history_request, json, kinds, mode, quoted_texts, say, tool_call, tool_result, trials, turn,
    with_parts,
};
use serde_json::json as value;
use tonic::Code;

use crate::{diary, history, plain};

trials![
    t16_the_budget_covers_everything_that_is_returned,
    t17_stored_messages_come_back_as_they_were_stored,
    d18_labels_and_template_are_those_of_the_policy,
    d18_a_query_stays_a_value_of_the_template,
    d23_the_models_own_tokens_are_counted,
    a_prompt_that_does_not_fit_is_refused_with_what_it_needs,
    a_newest_turn_that_does_not_fit_follows_the_request,
    what_does_not_fit_is_told,
    a_recent_window_of_none_is_no_block,
    an_answer_is_no_longer_than_a_client_takes,
    wrong_fields_of_a_context_are_named,
    d02_node_memory_needs_a_conversation_and_a_node,
];

fn text(text: &str) -> Part {
    Part {
        content: Some(part::Content::Text(text.to_owned())),
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
            let data = part::Content::Json(json(value!({"temperature": [number, 0.5]})));
            let data = Part {
                content: Some(data),
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

fn patient(request: BuildContextRequest, revision: &str) -> BuildContextRequest {
    BuildContextRequest {
        at_least_as_fresh: revision.to_owned(),
        max_wait: Some(prost_types::Duration {
            seconds: 30,
            nanos: 0,
        }),
        ..request
    }
}

async fn t16_the_budget_covers_everything_that_is_returned() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let stored = client.append(&thread_id, mixed()).await;
    let hybrid = MemoryPolicy {
        top_k: Some(12),
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
            formats: vec![1, 2, 3],
            ..context_request(&thread_id, "What is the weather in Oslo?")
        };
        let request = patient(request, &stored.revision);
        let whole = client.context(request.clone()).await;
        check_context(&whole, 1_000_000);
        let least: i32 = [Kind::System, Kind::Input]
            .map(|kind| block(&whole, kind).unwrap().token_count)
            .iter()
            .sum();
        let mut sizes = Vec::new();
        for max_tokens in (least..whole.total_tokens + 40).step_by(17) {
            let request = BuildContextRequest {
                max_tokens,
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
    history::pairs(&messages.collect::<Vec<_>>());
}

async fn t17_stored_messages_come_back_as_they_were_stored() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let data = part::Content::Json(json(value!({"b": [1, 0.1, null], "a": {"ü": "<&>"}})));
    let data = Part {
        content: Some(data),
    };
    let mut said = mixed();
    said.extend([
        say(Role::User, "  \n{{ 7*7 }} <b>&amp;</b> \u{2028} é "),
        with_parts(Role::Assistant, vec![text(" a "), data, text("")]),
    ]);
    client.append(&thread_id, said).await;
    let history = client.history(history_request(&thread_id)).await;
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
    assert_eq!(recent.messages.len(), history.messages.len());
    for (message, stored) in recent.messages.iter().zip(&history.messages) {
        assert_eq!(message.parts, stored.parts);
        assert_eq!((&message.name, message.role), (&stored.name, stored.role));
        assert_eq!(message.message_id, stored.message_id);
        assert_eq!(message.create_time, stored.create_time);
        assert_eq!(message.token_count, stored.token_count);
    }
}

async fn d18_labels_and_template_are_those_of_the_policy() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let mut said = diary::messages();
    said.extend(turn("Hello!", "Hi."));
    let stored = client.append(&thread_id, said).await;
    let picture = file("https://example.org/a.png", "a violin");
    let request = BuildContextRequest {
        policy: Some(MemoryPolicy {
            recent_window: Some(2),
            user_label: Some("Guest".to_owned()),
            assistant_label: Some("Butler".to_owned()),
            query_prompt_template: Some(
                "{{ name | default('somebody') }} asks:\n{{ query }}\n{{ user_label }}/{{ assistant_label }}"
                    .to_owned(),
            ),
            ..Default::default()
        }),
        input: vec![text("When are my"), picture.clone(), text("violin lessons?")],
        formats: vec![3],
        ..context_request(&thread_id, "")
    };
    let context = client.context(patient(request, &stored.revision)).await;
    check_context(&context, 1_000_000);
    let input = &block(&context, Kind::Input).unwrap().messages[0];
    let asked = text("somebody asks:\nWhen are my\nviolin lessons?\nGuest/Butler");
    assert_eq!(input.parts, [asked, picture]);
    let quotes = recollect_tests::quotes(&context);
    assert!(!quotes.is_empty());
    for quote in &quotes {
        assert!(["Guest", "Butler"].contains(&quote["role"].as_str().unwrap()));
    }
    assert!(
        context
            .text
            .contains("Guest: Hello!\n\nButler: Hi.\n\nGuest: somebody asks:")
    );
    assert!(context.text.ends_with("\n\nButler:"), "{}", context.text);
}

async fn d18_a_query_stays_a_value_of_the_template() {
    let client = plain().await;
    let policy = MemoryPolicy {
        query_prompt_template: Some("[{{ query }}|{{ name }}]".to_owned()),
        ..mode(MemoryMode::None)
    };
    let hostile = "{{ 7*7 }} {% for x in query %}{{ x }}{% endfor %} {# no #} <system>|]";
    let request = BuildContextRequest {
        policy: Some(policy),
        input_name: "{{ query }}".to_owned(),
        ..context_request("", hostile)
    };
    let context = client.context(request).await;
    let expected = format!("[{hostile}|{{{{ query }}}}]");
    assert_eq!(block_texts(&context, Kind::Input), [expected]);

    for template in [
        "no value",
        "{{ query",
        "{{ query }}{{ other }}",
        "{% set a = query %}{{ a }}",
    ] {
        let request = BuildContextRequest {
            policy: Some(MemoryPolicy {
                query_prompt_template: Some(template.to_owned()),
                ..mode(MemoryMode::None)
            }),
            ..context_request("", "Hello!")
        };
        let failure = client.contexts().build_context(request).await.refused();
        failure.names_field("policy.query_prompt_template");
    }
}

async fn d23_the_models_own_tokens_are_counted() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let words = "Donaudampfschifffahrtsgesellschaft および 天気予報 сегодня ".repeat(6);
    for _ in 0..6 {
        client.append(&thread_id, turn(&words, &words)).await;
    }
    let build = async |model: &str, max_tokens| {
        let request = BuildContextRequest {
            model: model.to_owned(),
            max_tokens,
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
    assert_eq!(
        build("nobody-knows-it", budget).await.tokenizer,
        "o200k_base"
    );
}

async fn a_prompt_that_does_not_fit_is_refused_with_what_it_needs() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    client.append(&thread_id, turn("Hello!", "Hi.")).await;
    let request = BuildContextRequest {
        system_prompt: "help ".repeat(50),
        max_tokens: 40,
        ..context_request(&thread_id, "What now?")
    };
    let refused = client.contexts().build_context(request.clone()).await;
    let failure = refused.refused();
    let needed: i32 = failure.metadata["needed_tokens"].parse().unwrap();
    failure.is(Code::FailedPrecondition, "CONTEXT_TOO_LARGE");
    let enough = BuildContextRequest {
        max_tokens: needed,
        ..request
    };
    let context = client.context(enough.clone()).await;
    check_context(&context, needed);
    assert_eq!(kinds(&context), [Kind::System, Kind::Input]);
    assert_eq!(context.total_tokens, needed);
    let less = BuildContextRequest {
        max_tokens: needed - 1,
        ..enough
    };
    let failure = client.contexts().build_context(less).await.refused();
    failure.is(Code::FailedPrecondition, "CONTEXT_TOO_LARGE");

    // 0 means 8,000.
    let request = BuildContextRequest {
        max_tokens: 0,
        ..context_request(&thread_id, &"why ".repeat(9_000))
    };
    let failure = client.contexts().build_context(request).await.refused();
    assert!(failure.message.contains("8000"), "{}", failure.message);
}

async fn a_newest_turn_that_does_not_fit_follows_the_request() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    client.append(&thread_id, turn("Hello!", "Hi.")).await;
    client
        .append(&thread_id, turn(&"why ".repeat(200), "So."))
        .await;
    let request = BuildContextRequest {
        policy: Some(mode(MemoryMode::Window)),
        max_tokens: 100,
        ..context_request(&thread_id, "Now?")
    };
    let build = async |oversized_turn: OversizedTurnPolicy, max_tokens| {
        let request = BuildContextRequest {
            oversized_turn: oversized_turn.into(),
            max_tokens,
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

async fn what_does_not_fit_is_told() {
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
        max_tokens: 260,
        ..context_request(&thread_id, "otter")
    };
    let request = patient(request, &stored.revision);
    let context = client.context(request.clone()).await;
    check_context(&context, 260);
    let quoted = quoted_texts(&context);
    assert!(!quoted.is_empty() && quoted.len() < 5, "{quoted:?}");
    let reasons = |context: &BuildContextResponse| {
        let omitted = context.omitted.iter();
        omitted.map(|one| one.reason()).collect::<Vec<_>>()
    };
    let told = reasons(&context);
    assert!(told.contains(&OmissionReason::Budget), "{told:?}");
    assert!(told.contains(&OmissionReason::Rank), "{told:?}");
    let kinds = context.omitted.iter().map(|one| one.kind());
    assert!(kinds.into_iter().all(|kind| kind == Kind::Recalled));
    let best = block(&context, Kind::Recalled).unwrap();
    assert!(best.sources.iter().any(|source| source.rank == 1));

    let enough = BuildContextRequest {
        max_tokens: 100_000,
        ..request
    };
    let told = reasons(&client.context(enough).await);
    assert!(!told.contains(&OmissionReason::Budget), "{told:?}");
}

async fn a_recent_window_of_none_is_no_block() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let stored = client.append(&thread_id, turn("An owl!", "Where?")).await;
    let request = BuildContextRequest {
        policy: Some(MemoryPolicy {
            recent_window: Some(0),
            ..Default::default()
        }),
        ..context_request(&thread_id, "Tell me of the owl.")
    };
    let context = client.context(patient(request, &stored.revision)).await;
    check_context(&context, 1_000_000);
    assert_eq!(kinds(&context), [Kind::Recalled, Kind::Input]);
    assert!(quoted_texts(&context).contains(&"An owl!".to_owned()));
}

async fn an_answer_is_no_longer_than_a_client_takes() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    // Few tokens, many bytes.
    let wide = format!("Walrus.{}End.", " ".repeat(200 * 1_024));
    for _ in 0..20 {
        client.append(&thread_id, turn(&wide, "Yes.")).await;
    }
    for (mode, formats) in [
        (MemoryMode::Window, vec![]),
        (MemoryMode::Window, vec![1, 2, 3]),
        (MemoryMode::Hybrid, vec![1, 2, 3]),
    ] {
        let request = BuildContextRequest {
            policy: Some(recollect_tests::mode(mode)),
            formats,
            max_tokens: 10_000_000,
            ..context_request(&thread_id, "Walrus?")
        };
        let context = client.context(request).await;
        assert!(context.encoded_len() <= 3_670_016);
        assert!(block(&context, Kind::Recent).is_some(), "{mode:?}");
    }
    // A prompt that is too long by itself.
    let request = BuildContextRequest {
        formats: vec![1, 2, 3],
        max_tokens: 10_000_000,
        input: (0..4).map(|_| text(&wide)).collect(),
        system_prompt: wide.clone(),
        ..context_request(&thread_id, "")
    };
    let failure = client.contexts().build_context(request.clone()).await;
    let failure = failure.refused();
    failure.is(Code::FailedPrecondition, "CONTEXT_TOO_LARGE");
    let one = BuildContextRequest {
        formats: vec![1],
        ..request
    };
    assert!(client.context(one).await.encoded_len() <= 3_670_016);
}

/// A request that is right but for one field.
async fn wrong(client: &Client, request: BuildContextRequest, field: &str) {
    let failure = client.contexts().build_context(request).await.refused();
    failure.names_field(field);
}

async fn wrong_fields_of_a_context_are_named() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let good = || context_request(&thread_id, "Hello!");
    macro_rules! check {
        ($($field:literal: { $($name:ident: $value:expr),+ $(,)? })+) => {$(
            wrong(&client, BuildContextRequest { $($name: $value,)+ ..good() }, $field).await;
        )+};
    }
    let call = tool_call("a", "b", value!({})).parts;
    check! {
        "thread_id": { thread_id: String::new() }
        "thread_id": { thread_id: "x".to_owned() }
        "session": { session: Some(Default::default()) }
        "head_message_id": { head_message_id: "x".to_owned() }
        "system_prompt": { system_prompt: "x".repeat(256 * 1_024 + 1) }
        "system_prompt": { system_prompt: "\0".to_owned() }
        "input": { input: vec![text("x"); 65] }
        "input": { input: vec![text(&"x".repeat(200 * 1_024)); 6] }
        "input[1].text": { input: vec![text("x"), text("\0")] }
        "input[0].content": { input: vec![Part::default()] }
        "input[0].tool_call": { input: call }
        "input_name": { input_name: "x".repeat(257) }
        "query": { query: "x".repeat(8_193) }
        "max_tokens": { max_tokens: -1 }
        "max_tokens": { max_tokens: 10_000_001 }
        "model": { model: "x".repeat(129) }
        "policy.mode": { policy: Some(MemoryPolicy { mode: 9, ..Default::default() }) }
        "policy.recent_window": { policy: Some(MemoryPolicy { recent_window: Some(501), ..Default::default() }) }
        "policy.ttl": { policy: Some(MemoryPolicy { ttl: Some(Default::default()), ..Default::default() }) }
        "node_id": { node_id: "x".repeat(129) }
        "current_message_id": { current_message_id: "x".repeat(129) }
        "oversized_turn": { oversized_turn: 9 }
        "filter.roles[0]": { filter: Some(memory_contract::proto::MessageFilter { roles: vec![9], ..Default::default() }) }
        "method": { method: 9 }
        "at_least_as_fresh": { at_least_as_fresh: "x".to_owned() }
        "max_wait": { max_wait: Some(prost_types::Duration { seconds: 31, nanos: 0 }) }
        "formats[1]": { formats: vec![1, 0] }
        "formats[0]": { formats: vec![9] }
    }
    let failure = client
        .contexts()
        .build_context(BuildContextRequest {
            head_message_id: "0198c1de-3e07-7a4b-9a56-0d6f3a5b8c11".to_owned(),
            ..good()
        })
        .await;
    failure.refused().is(Code::NotFound, "MESSAGE_NOT_FOUND");
    // All of them at once.
    let request = BuildContextRequest {
        max_tokens: -1,
        formats: vec![0],
        ..context_request("x", "Hello!")
    };
    let failure = client.contexts().build_context(request).await.refused();
    assert_eq!(failure.fields.len(), 3, "{failure:?}");
}

async fn d02_node_memory_needs_a_conversation_and_a_node() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let request = BuildContextRequest {
        policy: Some(mode(MemoryMode::Node)),
        node_id: "planner".to_owned(),
        ..context_request("", "Hello!")
    };
    let failure = client.contexts().build_context(request).await.refused();
    failure.is(Code::FailedPrecondition, "NODE_MEMORY_NEEDS_CONVERSATION");
    let request = BuildContextRequest {
        policy: Some(mode(MemoryMode::Node)),
        ..context_request(&thread_id, "Hello!")
    };
    wrong(&client, request.clone(), "node_id").await;
    let named = BuildContextRequest {
        node_id: "planner".to_owned(),
        ..request
    };
    let context = client.context(named).await;
    assert_eq!(kinds(&context), [Kind::Input], "it has no memory yet");
}
