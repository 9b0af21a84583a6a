//! Fields that a read of a working memory returns.

use memory_contract::proto::{
    GetWorkingMemoryRequest, MemoryPolicy, Role, Thread, UpdateThreadRequest,
};
use recollect_tests::{
    Finished, Key, PLAIN, SOON, app, apply, by_id, by_session, eventually, listed, mask, metadata,
    parsed, recollect_at, reply, say, seconds, session, trial,
};
use serde_json::json;
use tonic::Code;

use super::{
    a_session, get, get_for, memory_of, put, put_in, put_memory, read, said, set_model, texts,
    thread_with,
};
use crate::access::done_to;
use crate::plain;

#[apply(trial)]
async fn r01_a_working_memory_has_all_that_a_session_has_in_mind() {
    let client = plain().await;
    let app = app();
    let data = metadata(json!({"topic": "trip", "zone": {"name": "CET"}, "n": [1, 2.5, null]}));
    let mut request = put_in(
        a_session(&app),
        vec![
            said(Role::User, "I plan a trip to Paris."),
            said(Role::Assistant, "When?"),
        ],
    );
    request.summary = Some("Ada was in Rome before.".to_owned());
    request.memories = vec![listed("Ada likes museums."), listed("Ada lives in Bonn.")];
    request.data = Some(data.clone());
    request.ttl = Some(seconds(3_600));
    request.model = "gpt-4o".to_owned();
    let answer = put(&client, request).await;
    assert_eq!(answer.warnings, []);
    assert!(!answer.revision.is_empty());
    let stored = memory_of(answer);
    let mut memory = get(&client, &stored.thread_id).await;
    // Nothing has changed, except that the memories may be indexed now.
    for (found, put) in memory.memories.iter_mut().zip(&stored.memories) {
        found.persist_time = put.persist_time;
    }
    assert_eq!(memory, stored);
    assert_eq!(
        (memory.app_id.as_str(), memory.user_id.as_str()),
        (app.as_str(), "ada")
    );
    assert_eq!(memory.summary, "Ada was in Rome before.");
    assert!(memory.summary_tokens > 0);
    assert_eq!(texts(&memory), ["I plan a trip to Paris.", "When?"]);
    let tokens: i64 = memory
        .messages
        .iter()
        .map(|one| i64::from(one.token_count))
        .sum();
    assert_eq!(
        (memory.message_tokens, memory.omitted_message_count),
        (tokens, 0)
    );
    let kept: Vec<&str> = memory
        .memories
        .iter()
        .map(|one| one.text.as_str())
        .collect();
    assert_eq!(kept, ["Ada likes museums.", "Ada lives in Bonn."]);
    assert_eq!(parsed(&memory.data), parsed(&data));
    let expires = memory.expire_time.unwrap().seconds;
    let updated = memory.update_time.unwrap().seconds;
    assert!((3_590..=3_610).contains(&(expires - updated)));
    assert_eq!(
        (memory.model.as_str(), memory.context_window),
        ("gpt-4o", 128_000)
    );
    assert_eq!(memory.tokenizer, "o200k_base");
    assert!(!memory.etag.is_empty());
}

#[apply(trial)]
async fn r01_messages_appended_to_the_thread_are_in_its_working_memory() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let empty = get(&client, &thread_id).await;
    assert_eq!((texts(&empty).len(), empty.message_tokens), (0, 0));
    assert_eq!(empty.expire_time, None);
    client.append_turn(&thread_id, "one", "two").await;
    let memory = get(&client, &thread_id).await;
    assert_eq!(texts(&memory), ["one", "two"]);
    assert_ne!(memory.etag, empty.etag);
    assert_eq!(memory.context_window, 128_000);
    assert_eq!(get(&client, &thread_id).await, memory);
}

#[apply(trial)]
async fn r02_a_working_memory_is_of_one_session() {
    let client = plain().await;
    let app = app();
    for (user, key) in [("ada", "1"), ("ada", "2"), ("bob", "1"), ("", "1")] {
        let words = format!("I am {user} in {key}.");
        let mut request = put_in(session(&app, user, key), vec![said(Role::User, &words)]);
        request.data = Some(metadata(json!({"who": words})));
        put(&client, request).await;
    }
    for (user, key) in [("ada", "1"), ("ada", "2"), ("bob", "1"), ("", "1")] {
        let words = format!("I am {user} in {key}.");
        let request = GetWorkingMemoryRequest {
            thread: by_session(session(&app, user, key)),
            ..Default::default()
        };
        let memory = read(&client, request).await.working_memory.unwrap();
        assert_eq!(texts(&memory), [words.as_str()]);
        assert_eq!(parsed(&memory.data), json!({"who": words}));
    }
}

#[apply(trial)]
async fn r06_percentages_are_those_of_the_models_window() {
    let client = plain().await;
    let policy = MemoryPolicy {
        context_window: Some(1_000),
        summarization_threshold: Some(0.9),
        ..Default::default()
    };
    let thread_id = thread_with(&client, &app(), policy).await;
    client
        .append_turn(&thread_id, &"word ".repeat(100), "yes")
        .await;
    let memory = get(&client, &thread_id).await;
    let used = memory.message_tokens as f32;
    assert!((100.0..200.0).contains(&used));
    let check = |found: f32, expected: f32| assert!((found - expected).abs() < 0.01, "{found}");
    check(memory.context_percentage_total_used, used / 10.0);
    check(memory.context_percentage_until_summarization, used / 9.0);
    assert_eq!((memory.model.as_str(), memory.context_window), ("", 1_000));

    let named = get_for(&client, &thread_id, "gpt-4o-mini").await;
    assert_eq!(named.context_window, 128_000);
    check(named.context_percentage_total_used, used / 1_280.0);
    // It says nothing of what is in it.
    assert_eq!(named.etag, memory.etag);
    // It counts for that response alone.
    assert_eq!(get(&client, &thread_id).await, memory);
    set_model(&client, &thread_id, "gpt-4o-mini").await;
    let again = get(&client, &thread_id).await;
    assert_eq!(
        (again.model.as_str(), again.context_window),
        ("gpt-4o-mini", 128_000)
    );
    let unknown = get_for(&client, &thread_id, "our-own-model").await;
    assert_eq!(
        (unknown.model.as_str(), unknown.context_window),
        ("our-own-model", 1_000)
    );
    assert_eq!(get(&client, &thread_id).await, again);
}

#[apply(trial)]
async fn r06_a_full_window_is_reported_as_one_hundred_percent() {
    let client = plain().await;
    let policy = MemoryPolicy {
        context_window: Some(1_000),
        summarization_threshold: Some(0.1),
        ..Default::default()
    };
    let thread_id = thread_with(&client, &app(), policy).await;
    // One turn: there is nothing before it that could be summarized.
    client
        .append_turn(&thread_id, &"word ".repeat(1_500), "yes")
        .await;
    let memory = get(&client, &thread_id).await;
    assert_eq!(memory.context_percentage_total_used, 100.0);
    assert_eq!(memory.context_percentage_until_summarization, 100.0);

    let policy = MemoryPolicy {
        context_window: Some(1_000),
        summarize: Some(false),
        ..Default::default()
    };
    let thread_id = thread_with(&client, &app(), policy).await;
    client
        .append_turn(&thread_id, &"word ".repeat(1_500), "yes")
        .await;
    let memory = get(&client, &thread_id).await;
    assert_eq!(memory.context_percentage_total_used, 100.0);
    assert_eq!(memory.context_percentage_until_summarization, 0.0);
}

#[apply(trial)]
async fn r06_a_model_counts_with_its_own_tokenizer() {
    let client = plain().await;
    let app = app();
    let mut request = put_in(
        a_session(&app),
        vec![said(Role::User, "Übergrößenträger 漢字かな")],
    );
    request.summary = Some("漢字かな交じり文".to_owned());
    let usual = put_memory(&client, request).await;
    let other = get_for(&client, &usual.thread_id, "gpt-4-0613").await;
    assert_eq!(
        (other.tokenizer.as_str(), other.context_window),
        ("cl100k_base", 8_192)
    );
    assert!(other.message_tokens > usual.message_tokens);
    assert!(other.summary_tokens > usual.summary_tokens);
    let used = other.message_tokens as f32 + other.summary_tokens as f32;
    let expected = 100.0 * used / 8_192.0;
    assert!((other.context_percentage_total_used - expected).abs() < 0.01);
}

#[apply(trial)]
async fn r06_messages_that_fill_the_window_of_a_model_that_counts_more_are_summarized() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    set_model(&client, &thread_id, "gpt-4").await;
    let text = "आज मौसम बहुत अच्छा है और हम नदी के किनारे टहलने जा रहे हैं। ".repeat(8);
    for _ in 0..12 {
        client.append_turn(&thread_id, &text, &text).await;
    }
    let all = client.all_messages(&thread_id).await;
    let stored: i64 = all.iter().map(|one| i64::from(one.token_count)).sum();
    // Far from full as the stored counts have it.
    let limit = (8_192.0_f64 * 0.7).ceil() as i64;
    assert!(stored * 3 < limit * 2, "{stored}");
    eventually("it is summarized to less than that", SOON, async || {
        let memory = get(&client, &thread_id).await;
        let counted = memory.message_tokens + i64::from(memory.summary_tokens);
        let is_full = memory.context_percentage_until_summarization >= 100.0;
        memory.summarized_message_count > 0 && counted < limit && !is_full
    })
    .await;
}

#[apply(trial)]
async fn reading_a_working_memory_records_no_change() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    client.append_turn(&thread_id, "one", "two").await;
    let before = done_to(&client, &thread_id).await;
    let memory = get(&client, &thread_id).await;
    get_for(&client, &thread_id, "gpt-4").await;
    assert_eq!(done_to(&client, &thread_id).await, before);
    assert_eq!(get(&client, &thread_id).await, memory);
}

#[apply(trial)]
async fn r12_a_session_without_a_thread_is_not_found() {
    let client = plain().await;
    let request = GetWorkingMemoryRequest {
        thread: by_session(a_session(&app())),
        ..Default::default()
    };
    let answer = client.refused(request).await;
    answer.is(Code::NotFound, "THREAD_NOT_FOUND");
    let request = GetWorkingMemoryRequest {
        thread: by_id(uuid::Uuid::new_v4().to_string()),
        ..Default::default()
    };
    let answer = client.refused(request).await;
    answer.is(Code::NotFound, "THREAD_NOT_FOUND");
}

#[apply(trial)]
async fn the_working_memory_follows_the_head() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let first = client
        .append_turn(&thread_id, "question", "bad answer")
        .await;
    let question = &first.messages[0].message_id;
    client
        .append(
            &thread_id,
            vec![reply(question, Role::Assistant, "good answer")],
        )
        .await;
    let memory = get(&client, &thread_id).await;
    assert_eq!(texts(&memory), ["question", "good answer"]);
}

#[apply(trial)]
async fn erasing_a_message_takes_it_out_and_changes_the_etag() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let stored = client.append_turn(&thread_id, "one", "two").await;
    client.append_text(&thread_id, "three").await;
    let before = get(&client, &thread_id).await;
    client
        .delete_message(&thread_id, &stored.messages[1].message_id)
        .await;
    let after = get(&client, &thread_id).await;
    assert_eq!(texts(&after), ["one", "three"]);
    assert_ne!(after.etag, before.etag);
    assert!(after.message_tokens < before.message_tokens);
}

#[apply(trial)]
async fn a_long_working_memory_reports_what_is_left_out() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    for batch in 0..3 {
        let messages = (0..200).map(|n| say(Role::User, &format!("{batch}-{n}")));
        client.append(&thread_id, messages.collect()).await;
    }
    let memory = get(&client, &thread_id).await;
    assert_eq!(
        (memory.messages.len(), memory.omitted_message_count),
        (500, 100)
    );
    assert_eq!(texts(&memory)[0], "0-100");
    assert_eq!(texts(&memory)[499], "2-199");
    let of_all: i64 = client
        .all_messages(&thread_id)
        .await
        .iter()
        .map(|one| i64::from(one.token_count))
        .sum();
    assert_eq!(memory.message_tokens, of_all);

    // Bytes bound it too.
    let thread_id = client.thread(&app()).await;
    let request = UpdateThreadRequest {
        thread: Some(Thread {
            thread_id: thread_id.to_owned(),
            policy: Some(MemoryPolicy {
                summarize: Some(false),
                ..Default::default()
            }),
            ..Default::default()
        }),
        update_mask: Some(mask(&["policy"])),
        precondition: None,
    };
    client.call(request).await;
    let large = "x".repeat(250_000);
    for _ in 0..2 {
        let messages = (0..10).map(|_| say(Role::User, &large));
        client.append(&thread_id, messages.collect()).await;
    }
    let memory = get(&client, &thread_id).await;
    assert!((10..20).contains(&memory.messages.len()));
    let all = memory.messages.len() as i64 + memory.omitted_message_count;
    assert_eq!(all, 20);
}

#[apply(trial)]
async fn another_tenant_finds_no_working_memory() {
    let client = plain().await;
    let app = app();
    let memory = put_memory(
        &client,
        put_in(a_session(&app), vec![said(Role::User, "x")]),
    )
    .await;
    let stranger = PLAIN.client(Key::Globex).await;
    for request in [
        GetWorkingMemoryRequest {
            thread: by_id(&memory.thread_id),
            ..Default::default()
        },
        GetWorkingMemoryRequest {
            thread: by_session(a_session(&app)),
            ..Default::default()
        },
    ] {
        let answer = stranger.refused(request).await;
        answer.is(Code::NotFound, "THREAD_NOT_FOUND");
    }
    // The same names are another session there.
    let theirs = put(
        &stranger,
        put_in(a_session(&app), vec![said(Role::User, "y")]),
    )
    .await;
    assert_ne!(memory_of(theirs).thread_id, memory.thread_id);
    assert_eq!(get(&client, &memory.thread_id).await, memory);
}

fn cli(args: &[&str]) -> Finished {
    let args: Vec<&str> = ["working-memory"].iter().chain(args).copied().collect();
    recollect_at(&PLAIN.ready().addr, Key::Acme, &args)
}

#[apply(trial)]
async fn the_command_line_shows_a_working_memory() {
    let client = plain().await;
    let app = app();
    let mut request = put_in(a_session(&app), vec![said(Role::User, "I go to Paris.")]);
    request.summary = Some("They met.".to_owned());
    request.memories = vec![listed("Ada likes museums.")];
    request.data = Some(metadata(json!({"topic": "trip"})));
    let stored = put_memory(&client, request).await;
    let shown = cli(&[&stored.thread_id]).ok().stdout;
    for expected in [
        "They met.",
        "I go to Paris.",
        "Ada likes museums.",
        "{\"topic\":\"trip\"}",
        "of 128000 in use",
    ] {
        assert!(shown.contains(expected), "{shown}");
    }
    let named = [
        "--app",
        &app,
        "--user",
        "ada",
        "--session",
        "thread:42",
        "--model",
        "gpt-4",
        "--json",
    ];
    let found = cli(&named).ok().json();
    assert_eq!(found["workingMemory"]["contextWindow"], 8_192);
    assert_eq!(found["workingMemory"]["threadId"], stored.thread_id);
    let missing = cli(&["--app", &app, "--session", "none"]);
    assert_eq!(missing.code, Some(4), "{missing:?}");
}
