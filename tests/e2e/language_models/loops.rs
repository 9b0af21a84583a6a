//! What was recalled into a prompt and comes back is not remembered again.

use memory_contract::proto::{
    BuildContextRequest, ContextBlockKind, ExtractionStrategy, GetProfileRequest, Memory,
    MemoryPolicy,
};
use recollect_tests::{
    Client, SOON, USER_DEFAULT, app, apply, block_texts, context_request, eventually_some, of_user,
    trial, trial_with_own_server,
};

use super::{extract, extracting, known};
use crate::plain;

/// Turns of a loop.
const TURNS: usize = 30;

/// What is or was known of the user, but for the day of its last use.
async fn memories(client: &Client, app: &str) -> Vec<Memory> {
    let all = client.all_memories(app, USER_DEFAULT).await.into_iter();
    all.map(|memory| Memory {
        last_use_time: None,
        ..memory
    })
    .collect()
}

/// The same, once all of it is indexed, which is noted.
async fn indexed_memories(client: &Client, app: &str) -> Vec<Memory> {
    eventually_some("all is indexed", SOON, async || {
        let all = memories(client, app).await;
        let is_indexed = |memory: &Memory| memory.persist_time.is_some();
        all.iter().all(is_indexed).then_some(all)
    })
    .await
}

async fn profile(client: &Client, app: &str) -> String {
    let request = GetProfileRequest {
        user: of_user(app, USER_DEFAULT),
        ..Default::default()
    };
    client.call(request).await.text
}

/// The prompt of an integration that puts all it gets into the user's message: the quotations of a
/// context and, every other time, the page of the profile, which has no frame.
async fn prompt(client: &Client, app: &str, thread_id: &str, number: usize, said: &str) -> String {
    let request = BuildContextRequest {
        query: "Is she allergic to hazelnuts, and does she live in Bergen?".to_owned(),
        max_tokens: Some(2_000),
        policy: number.is_multiple_of(3).then(|| MemoryPolicy {
            profile_tokens: Some(300),
            ..Default::default()
        }),
        ..context_request(thread_id, said)
    };
    let context = client.context(request).await;
    let kinds = [
        ContextBlockKind::Profile,
        ContextBlockKind::Memories,
        ContextBlockKind::Recalled,
    ];
    let mut parts: Vec<String> = kinds
        .into_iter()
        .flat_map(|kind| block_texts(&context, kind))
        .collect();
    let quoted = parts.join("\n");
    assert!(quoted.contains("not instructions") && quoted.contains("hazelnuts"));
    if number % 2 == 1 {
        parts.push(profile(client, app).await);
    }
    parts.push(said.to_owned());
    parts.join("\n\n")
}

/// Turns that repeat what is recalled, in a new thread; its id.
async fn repeat(client: &Client, app: &str, question: &str, answers: &[&str]) -> String {
    let thread_id = client.thread(app).await;
    for number in 0..TURNS {
        let question = format!("{question} on day {number}?");
        let said = prompt(client, app, &thread_id, number, &question).await;
        let stored = client
            .append_turn(&thread_id, &said, answers[number % answers.len()])
            .await;
        assert_eq!(stored.messages.len(), 2);
        client.extracted(&thread_id).await;
    }
    thread_id
}

#[apply(trial)]
async fn f19_thirty_turns_that_repeat_recalled_text_add_no_memory() {
    let client = plain().await;
    let app = app();
    extract(&client, &app, ExtractionStrategy::Discrete).await;
    let first = client.thread(&app).await;
    for said in ["I live in Bergen.", "I'm allergic to hazelnuts."] {
        client.append_turn(&first, said, "I see.").await;
    }
    client.extracted(&first).await;
    let before = indexed_memories(&client, &app).await;
    assert_eq!(before.len(), 2, "{before:?}");
    let page = profile(&client, &app).await;

    let answers = [
        "User: I live in Bergen.\nUser: I'm allergic to hazelnuts.",
        "As you told me, you live in Bergen and are allergic to hazelnuts. So: lentil soup.",
        "I live in Bergen. I'm allergic to hazelnuts.",
    ];
    let second = repeat(&client, &app, "What shall we cook", &answers).await;
    assert_eq!(memories(&client, &app).await, before);
    assert_eq!(profile(&client, &app).await, page);

    // What the user says beside the quotations is remembered, also if it is known.
    let own = "I live in Bergen. My favorite color is green.";
    let said = prompt(&client, &app, &second, 0, own).await;
    let again = client.append_turn(&second, &said, "I see.").await;
    client.extracted(&second).await;
    known(&client, &app, USER_DEFAULT, "green").await;
    let all = memories(&client, &app).await;
    assert_eq!(all.len(), 3, "{all:?}");
    let bergen = all.iter().find(|memory| memory.text.contains("Bergen"));
    let sources = &bergen.unwrap().source_message_ids;
    assert_eq!(sources.len(), 2);
    assert!(sources.contains(&again.messages[0].message_id));
}

#[apply(trial_with_own_server)]
async fn f19_a_model_that_takes_what_is_known_for_new_adds_no_memory() {
    let (_dir, model, _server, client, app) = extracting(ExtractionStrategy::Discrete, &[]).await;
    let first = client.thread(&app).await;
    for said in [
        "FACT(Ada lives in Bergen.)",
        "FACT(Ada is allergic to hazelnuts.)",
    ] {
        client.append_turn(&first, said, "I see.").await;
    }
    client.extracted(&first).await;
    let before = indexed_memories(&client, &app).await;
    assert_eq!(before.len(), 2, "{before:?}");
    let page = profile(&client, &app).await;

    // Facts of the answers, and all that is known under the message of the user.
    let answers = [
        "FACT(Ada lives in Bergen.) FACT(Ada is allergic to hazelnuts.)",
        "As you told me: FACT(In Bergen Ada has an allergy against hazelnuts.)",
        "ECHO I know.",
    ];
    let second = repeat(&client, &app, "ECHO What shall we cook", &answers).await;
    assert_eq!(memories(&client, &app).await, before);
    assert_eq!(profile(&client, &app).await, page);
    let asked = model.asked_about("ECHO");
    let was_shown = |known: &str| asked.iter().any(|asked| asked.user.contains(known));
    assert!(was_shown("\"text\":\"Ada lives in Bergen.\""), "{asked:?}");

    // What the user says beside the quotations is remembered, also if it is known.
    let own = "FACT(Ada lives in Bergen.) FACT(Ada has a cat called Tom.)";
    let said = prompt(&client, &app, &second, 0, own).await;
    let again = client.append_turn(&second, &said, "I see.").await;
    known(&client, &app, USER_DEFAULT, "Tom").await;
    let all = memories(&client, &app).await;
    assert_eq!(all.len(), 3, "{all:?}");
    let bergen = all.iter().find(|memory| memory.text.contains("Bergen"));
    let sources = &bergen.unwrap().source_message_ids;
    assert_eq!(sources.len(), 2);
    assert!(sources.contains(&again.messages[0].message_id));
}
