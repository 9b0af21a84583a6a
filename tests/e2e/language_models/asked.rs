//! Memories are extracted when a caller asks for it.

use std::time::{Duration, Instant};

use memory_contract::proto::{ExtractMemoriesRequest, ExtractionStrategy, MessageInput, Role};
use recollect_tests::{
    Answering, Key, Options, SOON, Server, app, apply, by_id, by_session, eventually, recollect_at,
    say, session, trial_with_own_server, turn,
};
use tonic::Code;

use super::{extract, extracting, start};

fn request(thread_id: &str, seconds: i64) -> ExtractMemoriesRequest {
    ExtractMemoriesRequest {
        thread: by_id(thread_id),
        max_wait: Some(prost_types::Duration { seconds, nanos: 0 }),
    }
}

#[apply(trial_with_own_server)]
async fn f24_a_caller_gets_the_memories_of_a_turn_without_waiting_for_quiet() {
    // The background extracts from quiet threads only after an hour.
    let lines = ["embedding.kind = \"none\"", "worker.distill.quiet = \"1h\""];
    let (_dir, _server, client) = Server::start_own(&Options::with(&lines)).await;
    let app = app();
    extract(&client, &app, ExtractionStrategy::Discrete).await;
    let thread_id = client.thread(&app).await;
    let said = turn("I live in Bergen.", "How nice.");
    client.append(&thread_id, said).await;

    // Without a wait the call only asks; the next one waits for the end.
    let first = client.call(request(&thread_id, 0)).await;
    assert!(!first.complete);
    assert_eq!(first.waiting_message_count, 2);
    let done = client.call(request(&thread_id, 30)).await;
    assert!(done.complete, "{done:?}");
    assert_eq!(
        (done.waiting_message_count, done.last_error.as_str()),
        (0, "")
    );
    let known = client.all_memories(&app, "ada").await;
    assert!(
        known.iter().any(|one| one.text.contains("Bergen")),
        "{known:?}"
    );

    // With nothing to do the answer comes at once, and a later turn waits to be asked for.
    let begin = Instant::now();
    assert!(client.call(request(&thread_id, 30)).await.complete);
    assert!(begin.elapsed() < Duration::from_secs(5));
    let said = turn("I prefer window seats on flights.", "Lovely.");
    client.append(&thread_id, said).await;
    assert!(!client.call(request(&thread_id, 0)).await.complete);
    assert!(client.call(request(&thread_id, 30)).await.complete);
    let known = client.all_memories(&app, "ada").await;
    assert!(
        known.iter().any(|one| one.text.contains("window seats")),
        "{known:?}"
    );
}

#[apply(trial_with_own_server)]
async fn f24_a_caller_does_not_wait_for_what_is_appended_meanwhile() {
    let quiet = ["worker.distill.quiet = \"1h\""];
    let strategy = ExtractionStrategy::Discrete;
    let (_dir, model, _server, client, app) = extracting(strategy, &quiet).await;
    let thread_id = client.thread(&app).await;
    client
        .append(&thread_id, turn("FACT(Ada sails.)", "I see."))
        .await;
    let facts = r#"{"facts": []}"#;
    model.answers(Answering::Late(facts.to_owned()));
    let meanwhile = async {
        eventually("the model is asked", SOON, async || model.in_progress() > 0).await;
        let later = turn("FACT(Ada rows.)", "I see.");
        client.append(&thread_id, later).await;
        model.answers(Answering::Well);
    };
    let (done, ()) = tokio::join!(client.call(request(&thread_id, 30)), meanwhile);
    assert!(done.complete, "{done:?}");
    assert_eq!(done.waiting_message_count, 2);
}

#[apply(trial_with_own_server)]
async fn a_thread_that_nothing_is_extracted_from_says_so() {
    let (_dir, _model, _server, client) = start(&[]).await;
    let (app, off) = (app(), app());
    extract(&client, &app, ExtractionStrategy::Discrete).await;
    extract(&client, &off, ExtractionStrategy::None).await;
    let without_user = client.resolve(session(&app, "", "chat")).await.thread_id;
    let not_extracted = client.thread(&off).await;
    for thread_id in [&without_user, &not_extracted] {
        let refused = client.refused(request(thread_id, 1)).await;
        refused.is(Code::FailedPrecondition, "EXTRACTION_OFF");
    }
    let unknown = ExtractMemoriesRequest {
        thread: by_session(session(&app, "ada", "never")),
        max_wait: None,
    };
    let refused = client.refused(unknown).await;
    refused.is(Code::NotFound, "THREAD_NOT_FOUND");
}

#[apply(trial_with_own_server)]
async fn the_command_line_extracts_and_says_what_is_still_to_read() {
    // The background extracts from quiet threads only after an hour.
    let lines = ["embedding.kind = \"none\"", "worker.distill.quiet = \"1h\""];
    let (_dir, server, client) = Server::start_own(&Options::with(&lines)).await;
    let (app, off) = (app(), app());
    extract(&client, &app, ExtractionStrategy::Discrete).await;
    extract(&client, &off, ExtractionStrategy::None).await;
    let cli = |args: &[&str]| {
        let args = [&["memory", "extract"], args].concat();
        recollect_at(&server.ready().addr, Key::Acme, &args)
    };
    let named = session(&app, "ada", "chat");
    let thread_id = client.resolve(named).await.thread_id;
    let bobs = MessageInput {
        user_id: "bob".to_owned(),
        ..say(Role::User, "I live in Rome.")
    };
    let said = turn("I live in Bergen.", "How nice.");
    client.append(&thread_id, [said, vec![bobs]].concat()).await;

    let begun = cli(&[&thread_id, "--wait", "0s"]).ok().stdout;
    assert!(begun.contains("still to read: 3 messages"), "{begun}");
    let by_name = ["--app", &app, "--user", "ada", "--session", "chat"];
    let done = cli(&[&by_name[..], &["--wait", "30s"]].concat()).ok();
    for words in ["Bergen", "Rome", "bob", "Complete:"] {
        assert!(done.stdout.contains(words), "{words}: {done:?}");
    }
    let json = cli(&[&thread_id, "--json"]).ok().json_lines();
    assert_eq!(json.len(), 2, "{json:?}");
    assert_eq!(json[0]["complete"], true);
    let memories = json[1]["memories"].as_array().unwrap();
    assert_eq!(memories.len(), 2, "{memories:?}");

    let too_long = cli(&[&thread_id, "--wait", "31s"]);
    assert_eq!(too_long.code, Some(2), "{too_long:?}");
    let never = ["--app", &app, "--user", "ada", "--session", "never"];
    assert_eq!(cli(&never).code, Some(4));
    let not_extracted = client.thread(&off).await;
    let refused = cli(&[&not_extracted]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.stderr.contains("extraction"), "{refused:?}");
}
