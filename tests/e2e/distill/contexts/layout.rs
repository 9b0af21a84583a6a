//! The place of derived text in a context, and what changes it.

use memory_contract::proto::{
    BuildContextRequest, BuildContextResponse, ContextBlockKind as Kind, MemoryMode,
    ProviderFormat, ResolveThreadRequest, Role,
};
use prost::Message as _;
use recollect_tests::{
    USER_DEFAULT, app, apply, block, block_texts, body, body_json, by_session, chat_messages,
    context_request, ids, kinds, known_texts, memory, mode, records, reply, session, tool_call,
    tool_result, trial, trial_with_own_server, turn,
};
use serde_json::{Value, json};
use tonic::Code;

use super::{asked, build, in_full, numbers, record_texts};
use crate::distill::world::{World, four_turns};
use crate::plain;

#[apply(trial_with_own_server)]
async fn r03_a_context_has_the_summary_and_the_messages_after_it() {
    let world = World::new().await;
    let client = &world.client;
    let thread_id = client.thread("app").await;
    let ids = four_turns(client, &thread_id).await;
    let first = "They began to add numbers.";
    let second = "They began to add numbers,\nand went on.";
    world.summarize_as(&thread_id, (0, 2), "NULL", first).await;
    world.summarize_as(&thread_id, (2, 4), "1", second).await;

    let request = asked(&thread_id, MemoryMode::Working);
    let context = build(client, request.clone()).await;
    assert_eq!(
        kinds(&context),
        [Kind::Distilled, Kind::Recent, Kind::Input]
    );
    assert_eq!(
        records(&context),
        [json!({"record": "summary", "text": second})]
    );
    assert_eq!(in_full(&context), ids[4..]);
    assert_eq!(numbers(&context), (vec![2], vec![]));
    let distilled = block(&context, Kind::Distilled).unwrap();
    assert_eq!(distilled.messages[0].role(), Role::User);
    assert_eq!(distilled.sources[0].thread_id, thread_id);
    let recent = block(&context, Kind::Recent).unwrap();
    assert!(!recent.truncated && context.omitted.is_empty());
    // Each format has it.
    let text = &block_texts(&context, Kind::Distilled)[0];
    let openai = chat_messages(&context);
    assert_eq!(openai[0], json!({"role": "user", "content": text}));
    assert_eq!(openai.len(), 6);
    let anthropic = &body_json(&context, ProviderFormat::AnthropicMessages)["messages"][0];
    assert!(
        anthropic.to_string().contains("and went on."),
        "{anthropic}"
    );
    assert!(body(&context, ProviderFormat::Text).contains(text));
    let again = client.context(request.clone()).await;
    assert_eq!(again.encode_to_vec(), context.encode_to_vec());

    // From another message, and in another mode.
    for (head, texts, expected) in [
        (&ids[7], vec![second], &ids[4..8]),
        (&ids[4], vec![second], &ids[4..5]),
        (&ids[3], vec![second], &ids[4..4]),
        (&ids[2], vec![first], &ids[2..3]),
        (&ids[0], vec![], &ids[0..1]),
    ] {
        let from = BuildContextRequest {
            head_message_id: head.clone(),
            ..request.clone()
        };
        let context = build(client, from).await;
        assert_eq!(record_texts(&context), texts, "{head}");
        assert_eq!(in_full(&context), expected, "{head}");
    }
    let unknown = BuildContextRequest {
        head_message_id: uuid::Uuid::new_v4().to_string(),
        ..request.clone()
    };
    let refused = client.refused(unknown).await;
    refused.is(Code::NotFound, "MESSAGE_NOT_FOUND");
    let window = build(client, asked(&thread_id, MemoryMode::Window)).await;
    assert_eq!(kinds(&window), [Kind::Recent, Kind::Input]);
    assert_eq!(in_full(&window), ids);

    // A regenerated answer does not inherit what covered the old one.
    let anew = reply(&ids[2], Role::Assistant, "Another number.");
    let anew = client.append(&thread_id, vec![anew]).await.messages[0]
        .message_id
        .clone();
    let context = build(client, request.clone()).await;
    assert_eq!(record_texts(&context), [first]);
    assert_eq!(in_full(&context), [&ids[2], &anew].map(Clone::clone));

    // The command line shows it.
    let shown = world.cli(&["summary", &thread_id, "--head", &ids[7]]).ok();
    for text in [
        "#2 by extractive",
        "   They began to add numbers,\n   and went on.\n",
        "4 messages summarized, 4 messages in full",
    ] {
        assert!(shown.stdout.contains(text), "{shown:?}");
    }
    let shown = world.cli(&["summary", &thread_id, "--json"]).ok();
    assert_eq!(shown.json_lines()[0]["texts"][0]["text"], first);
    let shown = world.cli(&[
        "context", "--thread", &thread_id, "--mode", "working", "Now?",
    ]);
    assert!(shown.ok().stdout.contains("distilled"));

    // Messages that were only set aside are left out, without a summary.
    let emptied = client.thread("app").await;
    let ids = four_turns(client, &emptied).await;
    let aside = "1, 0, 6, '', 0, 'caller', NULL, false, true";
    assert_eq!(world.derive("commit_summary", &emptied, aside).await, "ok");
    let context = build(client, asked(&emptied, MemoryMode::Working)).await;
    assert_eq!(kinds(&context), [Kind::Recent, Kind::Input]);
    assert_eq!(in_full(&context), ids[6..]);
}

/// The messages of a chat completion before the input, each as text.
fn before_the_input(context: &BuildContextResponse) -> Vec<String> {
    let messages = chat_messages(context);
    let messages = messages.split_last().unwrap().1.iter();
    messages.map(Value::to_string).collect()
}

#[apply(trial_with_own_server)]
async fn n06_observations_come_first_and_only_grow_at_their_end() {
    let world = World::new().await;
    let client = &world.client;
    let thread_id = client.thread("app").await;
    let ids = four_turns(client, &thread_id).await;
    let request = BuildContextRequest {
        system_prompt: "You work.".to_owned(),
        ..asked(&thread_id, MemoryMode::Observational)
    };
    let raw = build(client, request.clone()).await;
    assert_eq!(kinds(&raw), [Kind::System, Kind::Recent, Kind::Input]);
    assert_eq!(in_full(&raw), ids);

    world
        .observe(&thread_id, 0, 2, "the first turn", true)
        .await;
    let first = build(client, request.clone()).await;
    let order = [Kind::System, Kind::Distilled, Kind::Recent, Kind::Input];
    assert_eq!(kinds(&first), order);
    assert_eq!(
        records(&first),
        [json!({"record": "observation", "text": "the first turn"})]
    );
    assert_eq!(in_full(&first), ids[2..]);

    // Observations made ahead of time do not change the context.
    world
        .observe(&thread_id, 2, 4, "the second turn", false)
        .await;
    world
        .observe(&thread_id, 4, 6, "the third turn", false)
        .await;
    let ahead = client.context(request.clone()).await;
    assert_eq!(ahead.encode_to_vec(), first.encode_to_vec());

    // New messages come last, and everything before them is unchanged.
    let mut before = before_the_input(&first);
    for number in 0..5 {
        let said = turn(&format!("Step {number}?"), "Done.");
        client.append(&thread_id, said).await;
        let context = build(client, request.clone()).await;
        let now = before_the_input(&context);
        assert_eq!(now[..before.len()], before);
        assert_eq!(now.len(), before.len() + 2);
        before = now;
    }

    // Activated observations come after the others, and everything before them is
    // unchanged.
    let text = block_texts(&first, Kind::Distilled).remove(0);
    let activate = "ARRAY[2, 3]::bigint[]";
    let status = world.derive("activate_observations", &thread_id, activate);
    assert_eq!(status.await, "ok");
    let activated = build(client, request.clone()).await;
    let texts = ["the first turn", "the second turn", "the third turn"];
    assert_eq!(record_texts(&activated), texts);
    assert_eq!(numbers(&activated), (vec![1, 2, 3], vec![]));
    let grown = block_texts(&activated, Kind::Distilled).remove(0);
    assert!(grown.starts_with(&text) && grown.len() > text.len());
    assert_eq!(in_full(&activated)[..2], ids[6..]);
    assert_eq!(in_full(&activated).len(), 12);
    let hash = |context: &BuildContextResponse, kind| block(context, kind).unwrap().hash.clone();
    assert_eq!(hash(&activated, Kind::System), hash(&first, Kind::System));

    // A reflection replaces the observations that it condenses.
    let reflect = "ARRAY[1, 2]::bigint[], 'both turns', 2, 'extractive', true";
    let status = world.derive("commit_reflection", &thread_id, reflect).await;
    assert_eq!(status, "ok");
    let reflected = build(client, request.clone()).await;
    assert_eq!(
        records(&reflected),
        [
            json!({"record": "reflection", "text": "both turns"}),
            json!({"record": "observation", "text": "the third turn"})
        ]
    );
    assert_eq!(in_full(&reflected), in_full(&activated));
    // The summary is another matter.
    let working = build(client, asked(&thread_id, MemoryMode::Working)).await;
    assert_eq!(in_full(&working).len(), 18);

    // A regenerated answer has what was observed of messages that it shares.
    let anew = reply(&ids[2], Role::Assistant, "Another number.");
    client.append(&thread_id, vec![anew]).await;
    let other = build(client, request).await;
    assert_eq!(
        (record_texts(&other), in_full(&other).len()),
        (vec!["the first turn".to_owned()], 2)
    );
}

#[apply(trial)]
async fn n06_memories_that_change_with_the_question_come_before_the_input() {
    let client = plain().await;
    let app = app();
    let thread_id = client.thread(&app).await;
    client
        .append_turn(&thread_id, "Who lives here?", "Pixel and Biscuit.")
        .await;
    let facts = ["Pixel eats fish.", "Biscuit runs fast."];
    let facts: Vec<_> = facts.iter().map(|text| memory(text)).collect();
    let known = client.remember(&app, USER_DEFAULT, facts).await;
    for wanted in [MemoryMode::Working, MemoryMode::Observational] {
        let about = async |question: &str| {
            let request = BuildContextRequest {
                policy: Some(mode(wanted)),
                formats: vec![1],
                freshness: recollect_tests::fresh_from(&known.revision),
                ..context_request(&thread_id, question)
            };
            build(&client, request).await
        };
        let (fish, runs) = (
            about("What does Pixel eat?").await,
            about("Is Biscuit fast?").await,
        );
        for context in [&fish, &runs] {
            assert_eq!(kinds(context), [Kind::Recent, Kind::Memories, Kind::Input]);
        }
        assert_ne!(known_texts(&fish), known_texts(&runs));
        assert_eq!(before_the_input(&fish)[..2], before_the_input(&runs)[..2]);
        // Without input they come last, so that all before them stays as it is.
        client
            .append(&thread_id, vec![turn("Is Biscuit fast?", "").remove(0)])
            .await;
        let appended = about("").await;
        assert_eq!(kinds(&appended), [Kind::Recent, Kind::Memories]);
        assert_eq!(known_texts(&appended), known_texts(&runs));
        client
            .append(&thread_id, vec![turn("", "Yes.").remove(1)])
            .await;
    }
}

#[apply(trial_with_own_server)]
async fn n01_a_long_loop_and_a_conversation_are_served_each_in_its_thread() {
    let world = World::new().await;
    let client = &world.client;
    // The loop of an agent: one task, and many steps.
    let agent = client.thread("app").await;
    let mut said = vec![turn("Mend the build.", "").remove(0)];
    for step in 0..6 {
        let id = format!("call-{step}");
        said.push(tool_call(&id, "run", json!({"step": step})));
        said.push(tool_result(&id, &format!("Step {step} is done.")));
    }
    let stored = client.append(&agent, said).await.messages;
    let stored: Vec<String> = stored.into_iter().map(|one| one.message_id).collect();
    let noted = "The task is to mend the build. Steps 0 to 2 are done.";
    world.observe(&agent, 0, 7, noted, true).await;
    // A conversation of the same user.
    let talk = client.thread("app").await;
    let talked = four_turns(client, &talk).await;
    world
        .summarize_as(&talk, (0, 4), "NULL", "They added.")
        .await;

    // The operational context: what was observed, the task in full, and the newest steps,
    // each with its result.
    let request = BuildContextRequest {
        input: Vec::new(),
        ..asked(&agent, MemoryMode::Observational)
    };
    let context = build(client, request).await;
    let parts = [Kind::Distilled, Kind::Recent, Kind::Recalled];
    assert_eq!(kinds(&context), parts);
    assert_eq!(record_texts(&context), [noted]);
    assert_eq!(in_full(&context), [&stored[..1], &stored[7..]].concat());
    let messages = chat_messages(&context);
    assert_eq!(messages[1]["content"], "Mend the build.");
    for (place, pair) in messages[2..8].chunks(2).enumerate() {
        let id = format!("call-{}", place + 3);
        assert_eq!(pair[0]["tool_calls"][0]["id"], id, "{pair:?}");
        assert_eq!(pair[1]["tool_call_id"], id, "{pair:?}");
    }
    let first = &body_json(&context, ProviderFormat::AnthropicMessages)["messages"][0];
    assert_eq!(first["role"], "user", "{first}");
    assert!(first.to_string().contains("mend the build"), "{first}");
    // The history of it is whole all the same.
    assert_eq!(ids(&client.all_messages(&agent).await), stored);

    // The conversation has its own.
    let context = build(client, asked(&talk, MemoryMode::Working)).await;
    assert_eq!(
        (record_texts(&context), in_full(&context)),
        (vec!["They added.".to_owned()], talked[4..].to_vec())
    );
    let context = build(client, asked(&talk, MemoryMode::Observational)).await;
    assert_eq!(
        (record_texts(&context).len(), in_full(&context)),
        (0, talked)
    );
}

#[apply(trial)]
async fn without_distilling_all_messages_are_in_full() {
    let client = plain().await;
    let app = app();
    let empty = client.thread(&app).await;
    let key = format!("thread:{}", uuid::Uuid::new_v4());
    let request = ResolveThreadRequest {
        session: Some(session(&app, "ada", &key)),
        ephemeral: true,
        ..Default::default()
    };
    let brief = client.call(request).await.thread.unwrap().thread_id;
    let in_memory = four_turns(&client, &brief).await;
    let lasting = client.thread(&app).await;
    let stored = four_turns(&client, &lasting).await;
    for wanted in [MemoryMode::Working, MemoryMode::Observational] {
        let context = build(&client, asked(&empty, wanted)).await;
        assert_eq!(kinds(&context), [Kind::Input]);
        let not_begun = BuildContextRequest {
            thread: by_session(session(&app, "ada", "thread:not-begun")),
            ..asked("", wanted)
        };
        assert_eq!(kinds(&build(&client, not_begun).await), [Kind::Input]);
        for (thread_id, ids) in [(&brief, &in_memory), (&lasting, &stored)] {
            let context = build(&client, asked(thread_id, wanted)).await;
            assert_eq!(kinds(&context), [Kind::Recent, Kind::Input]);
            assert_eq!(&in_full(&context), ids);
            let from = BuildContextRequest {
                head_message_id: ids[3].clone(),
                ..asked(thread_id, wanted)
            };
            assert_eq!(in_full(&build(&client, from).await), ids[..4]);
            let strange = BuildContextRequest {
                head_message_id: uuid::Uuid::new_v4().to_string(),
                ..asked(thread_id, wanted)
            };
            let refused = client.refused(strange).await;
            refused.is(Code::NotFound, "MESSAGE_NOT_FOUND");
        }
    }
}
