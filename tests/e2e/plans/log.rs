//! The log of attempts.

use std::collections::BTreeSet;

use memory_contract::proto::{AppendAttemptRequest, Attempt, ListAttemptsRequest};
use recollect_tests::{Key, PLAIN, app, apply, attempt, briefing_request, by_id, sections, trial};
use serde_json::json;
use tonic::Code;
use uuid::Uuid;

use super::all_of;
use crate::plain;

#[apply(trial)]
async fn n14_attempts_are_numbered_and_listed() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let full = Attempt {
        task: "build".to_owned(),
        action: "Ran the workflow".to_owned(),
        result: "3 of 5 nodes ran".to_owned(),
        error: "401 at the HTTP node".to_owned(),
        diagnosis: "The key is missing \u{1F511}".to_owned(),
        fix: "Add the key".to_owned(),
        // Fields that only answers have are ignored.
        number: 77,
        task_number: -5,
        create_time: Some(prost_types::Timestamp::default()),
    };
    let mut expected = Vec::new();
    for (tried, number, nth) in [
        (full.clone(), 1, 1),
        (attempt("", "Looked around", ""), 2, 1),
        (attempt("build", "Added the key", ""), 3, 2),
        (attempt("test", "Ran the tests", "2 failed"), 4, 1),
        (attempt("", "Looked again", "nothing there"), 5, 2),
        (attempt("build", "Built again", ""), 6, 3),
    ] {
        let logged = client.log_attempt(&thread_id, tried.clone(), "").await;
        assert!(!logged.replayed);
        let logged = logged.attempt.unwrap();
        let chosen = Attempt {
            number,
            task_number: nth,
            create_time: logged.create_time,
            ..tried
        };
        assert_eq!(logged, chosen);
        assert!(logged.create_time.is_some_and(|time| time.seconds > 0));
        expected.push(logged);
    }
    assert_eq!(client.attempts(all_of(&thread_id)).await, expected);

    let numbers = async |task: Option<&str>, failed: bool, page_size: i32| -> Vec<i64> {
        let request = ListAttemptsRequest {
            task: task.map(str::to_owned),
            failed,
            page_size,
            ..all_of(&thread_id)
        };
        let found = client.attempts(request).await;
        found.iter().map(|attempt| attempt.number).collect()
    };
    for page_size in [0, 1, 2, 5, 500, 10_000] {
        assert_eq!(numbers(None, false, page_size).await, [1, 2, 3, 4, 5, 6]);
        assert_eq!(numbers(Some("build"), false, page_size).await, [1, 3, 6]);
        assert_eq!(numbers(Some(""), false, page_size).await, [2, 5]);
        assert_eq!(numbers(None, true, page_size).await, [1, 4, 5]);
        assert_eq!(numbers(Some("build"), true, page_size).await, [1]);
        assert!(numbers(Some("none"), false, page_size).await.is_empty());
    }

    // A page token is valid for its own query only.
    let first = ListAttemptsRequest {
        page_size: 1,
        ..all_of(&thread_id)
    };
    let token = client.call(first.clone()).await.next_page_token;
    for other in [
        ListAttemptsRequest {
            failed: true,
            ..first.clone()
        },
        ListAttemptsRequest {
            task: Some(String::new()),
            ..first.clone()
        },
        all_of(&client.thread(&app()).await),
    ] {
        let request = ListAttemptsRequest {
            page_token: token.clone(),
            ..other
        };
        client.refused(request).await.names_field("page_token");
    }
}

#[apply(trial)]
async fn n14_a_retry_reports_the_failed_attempts() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let build = async |name: Option<&str>| {
        let request = memory_contract::proto::BuildBriefingRequest {
            task_name: name.map(str::to_owned),
            ..briefing_request(&thread_id, "Build the workflow.")
        };
        let briefing = client.call(request).await;
        assert!(!briefing.truncated);
        let mut reported = sections(&briefing.text, "Build the workflow.");
        assert!(reported.len() <= 1, "{reported:?}");
        let reported = reported.pop().map_or_else(Vec::new, |(heading, quotes)| {
            assert_eq!(heading, "Failed attempts");
            let next = format!("The next attempt is number {}.", briefing.attempt);
            assert!(briefing.text.contains(&next), "{}", briefing.text);
            quotes
        });
        (briefing.attempt, reported)
    };
    assert_eq!(build(Some("build")).await, (1, vec![]));

    let first = Attempt {
        result: "3 of 5 nodes ran".to_owned(),
        diagnosis: "The key is missing".to_owned(),
        fix: "Add the key".to_owned(),
        ..attempt("build", "Ran the workflow", "401 at the HTTP node")
    };
    client.log_attempt(&thread_id, first, "").await;
    client
        .log_attempt(&thread_id, attempt("test", "Ran the tests", "2 failed"), "")
        .await;
    client
        .log_attempt(&thread_id, attempt("build", "Added the key", "timeout"), "")
        .await;
    client
        .log_attempt(&thread_id, attempt("build", "Saved it", ""), "")
        .await;

    let builds = vec![
        json!({
            "task": "build", "attempt": 1, "action": "Ran the workflow",
            "result": "3 of 5 nodes ran", "error": "401 at the HTTP node",
            "diagnosis": "The key is missing", "fix": "Add the key",
        }),
        json!({"task": "build", "attempt": 2, "action": "Added the key", "error": "timeout"}),
    ];
    // A success counts as an attempt and is not reported as a failure.
    assert_eq!(build(Some("build")).await, (4, builds.clone()));
    let test =
        json!({"task": "test", "attempt": 1, "action": "Ran the tests", "error": "2 failed"});
    assert_eq!(build(Some("test")).await, (2, vec![test.clone()]));
    assert_eq!(build(Some("deploy")).await, (1, vec![]));
    assert_eq!(build(Some("")).await, (1, vec![]));
    let all = vec![builds[0].clone(), test, builds[1].clone()];
    assert_eq!(build(None).await, (5, all));
}

#[apply(trial)]
async fn n14_a_retried_request_logs_nothing_twice() {
    let client = plain().await;
    let app = app();
    let (thread_id, other) = (client.thread(&app).await, client.thread(&app).await);
    let request = AppendAttemptRequest {
        thread: by_id(&thread_id),
        attempt: Some(attempt("t", "a", "e")),
        request_id: Uuid::new_v4().to_string(),
    };
    let mut sent = Vec::new();
    for _ in 0..8 {
        let (client, request) = (PLAIN.client(Key::Acme).await, request.clone());
        sent.push(tokio::spawn(async move {
            client.plans().append_attempt(request).await
        }));
    }
    let mut entries = Vec::new();
    let mut replayed = 0;
    for answer in sent {
        let answer = answer.await.unwrap().unwrap().into_inner();
        replayed += usize::from(answer.replayed);
        entries.push(answer.attempt.unwrap());
    }
    assert_eq!(replayed, 7);
    assert_eq!(client.attempts(all_of(&thread_id)).await, entries[..1]);
    entries.dedup();
    assert_eq!(entries.len(), 1, "all have the same answer");

    for reused in [
        AppendAttemptRequest {
            attempt: Some(attempt("t", "another", "e")),
            ..request.clone()
        },
        AppendAttemptRequest {
            // Other fields with the same text.
            attempt: Some(attempt("t", "e", "a")),
            ..request.clone()
        },
        AppendAttemptRequest {
            thread: by_id(&other),
            ..request.clone()
        },
    ] {
        let answer = client.refused(reused).await;
        answer.is(Code::AlreadyExists, "REQUEST_ID_REUSED");
    }
    assert_eq!(client.attempts(all_of(&thread_id)).await.len(), 1);
    assert_eq!(client.attempts(all_of(&other)).await, []);
    // Another tenant's ids are its own.
    let globex = PLAIN.client(Key::Globex).await;
    let theirs = globex.thread(&app).await;
    let logged = globex
        .log_attempt(&theirs, attempt("t", "a", "e"), &request.request_id)
        .await;
    assert!(!logged.replayed);
}

#[apply(trial)]
async fn attempts_at_the_same_time_have_numbers_without_gaps() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let mut sent = Vec::new();
    for number in 0..30 {
        let (client, thread_id) = (PLAIN.client(Key::Acme).await, thread_id.clone());
        sent.push(tokio::spawn(async move {
            let task = format!("task {}", number % 3);
            let logged = client
                .log_attempt(&thread_id, attempt(&task, "a", ""), "")
                .await;
            logged.attempt.unwrap()
        }));
    }
    let (mut numbers, mut attempts) = (BTreeSet::new(), BTreeSet::new());
    for logged in sent {
        let logged = logged.await.unwrap();
        numbers.insert(logged.number);
        attempts.insert((logged.task, logged.task_number));
    }
    assert_eq!(numbers, (1..=30).collect());
    let expected = (0..3).flat_map(|task| (1..=10).map(move |nth| (format!("task {task}"), nth)));
    assert_eq!(attempts, expected.collect());
}

#[apply(trial)]
async fn a_page_of_attempts_fits_into_an_answer() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let long = "\u{1F511}".repeat(4_096);
    let huge = || Attempt {
        result: long.clone(),
        error: long.clone(),
        diagnosis: long.clone(),
        fix: long.clone(),
        ..attempt("t", &long, "")
    };
    for _ in 0..45 {
        client.log_attempt(&thread_id, huge(), "").await;
    }
    let request = ListAttemptsRequest {
        page_size: 500,
        ..all_of(&thread_id)
    };
    // A client takes 4 MiB.
    let page = client.call(request.clone()).await;
    assert!(
        (1..45).contains(&page.attempts.len()),
        "{}",
        page.attempts.len()
    );
    let numbers: Vec<i64> = client
        .attempts(request)
        .await
        .iter()
        .map(|attempt| attempt.number)
        .collect();
    assert_eq!(numbers, (1..=45).collect::<Vec<i64>>());
    // And so does a briefing that has room for all.
    let request = memory_contract::proto::BuildBriefingRequest {
        max_tokens: Some(1_000_000),
        ..briefing_request(&thread_id, "Go on.")
    };
    let briefing = client.call(request).await;
    assert!(briefing.truncated);
    assert_eq!(briefing.attempt, 46);
    let reported = sections(&briefing.text, "Go on.");
    assert_eq!(reported.len(), 1);
    assert_eq!(reported[0].1.last().unwrap()["attempt"], 45);
}
