//! Many turns at once, streamed in pieces of any size.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use futures::{StreamExt as _, stream};
use recollect_tests::{PLAIN, Provider, ProviderAnswer, ProviderApi, app, apply, trial};

use super::{Proxy, history, session_of};
use crate::plain;

/// Turns of one conversation.
const TURNS: usize = 10;
/// Conversations at a time.
const AT_ONCE: usize = 16;

/// How many turns are sent: as `RECOLLECT_PROXY_TURNS` says, else 1,000 in the run of all tests,
/// and 200 in others.
fn turns() -> usize {
    let long = std::env::var("RECOLLECT_LONG_TESTS").is_ok();
    match std::env::var("RECOLLECT_PROXY_TURNS") {
        Ok(text) => text.parse().unwrap(),
        Err(_) if long => 1_000,
        Err(_) => 200,
    }
}

/// What the model says in a turn: words of any language, of different lengths.
fn words(conversation: usize, turn: usize) -> String {
    let words = [
        "harbor",
        "Grüße",
        "東京",
        "🗼",
        "e\u{301}tude",
        "line\nbreak",
        "\"quoted\"",
        "ok",
    ];
    let count = 1 + (conversation * 7 + turn * 3) % 40;
    let said = (0..count).map(|index| words[(index * index + turn + conversation) % words.len()]);
    format!(
        "{conversation}/{turn} {}",
        said.collect::<Vec<_>>().join(" ")
    )
}

#[apply(trial)]
async fn proxied_turns_pass_byte_for_byte_and_none_is_lost() {
    // What the provider sends for each answer, by the number of the answer in the request.
    let sent: Arc<Mutex<HashMap<String, String>>> = Arc::default();
    let script = Arc::clone(&sent);
    let provider = Provider::new(move |asked| {
        let number = asked.headers["x-number"].to_str().unwrap().to_owned();
        let (conversation, turn) = number.split_once('/').unwrap();
        let (conversation, turn): (usize, usize) =
            (conversation.parse().unwrap(), turn.parse().unwrap());
        let api = ProviderApi::ALL[conversation % 3];
        let id = format!("{}{conversation:012}{turn:012}", "x".repeat(8));
        let stream = api.stream(&id, &words(conversation, turn));
        let cuts: Vec<usize> = (0..fastrand::usize(..30))
            .map(|_| fastrand::usize(..))
            .collect();
        let answer = ProviderAnswer::events(&stream, &cuts);
        script.lock().unwrap().insert(number, stream);
        answer
    });
    let app = app();
    let proxy = Proxy::start(&provider, &PLAIN.ready().addr, &["--app", &app]);
    let conversations = turns() / TURNS;
    let sessions: Mutex<HashMap<usize, String>> = Mutex::default();
    let (proxy, sent, sessions) = (&proxy, &sent, &sessions);
    stream::iter(0..conversations)
        .for_each_concurrent(AT_ONCE, async |conversation| {
            let api = ProviderApi::ALL[conversation % 3];
            let user = format!("user-{}", conversation % 7);
            let mut said: Vec<String> = Vec::new();
            for turn in 0..TURNS {
                said.push(format!("{conversation}/{turn} asks about the harbor"));
                let texts: Vec<&str> = said.iter().map(String::as_str).collect();
                let mut body = api.request(&texts, Some(&user));
                body["stream"] = true.into();
                let number = format!("{conversation}/{turn}");
                let answer = proxy.ask(api, &[("x-number", &number)], &body).await;
                assert_eq!(answer.status, 200, "{number}");
                let expected = sent.lock().unwrap()[&number].clone();
                assert!(answer.body == expected, "{number}: {:?}", answer.body);
                assert_ne!(answer.headers["x-recollect-memory"], "unavailable");
                said.push(words(conversation, turn));
                let session = session_of(&answer);
                sessions.lock().unwrap().insert(conversation, session);
            }
        })
        .await;
    proxy.stored((conversations * TURNS) as u64).await;
    assert_eq!(proxy.count("turns_lost").await, 0);
    assert_eq!(proxy.count("turns_unfinished").await, 0);
    // Some of them, word for word.
    let client = plain().await;
    for conversation in (0..conversations).step_by(conversations.div_ceil(10)) {
        let user = format!("user-{}", conversation % 7);
        let session = sessions.lock().unwrap()[&conversation].clone();
        let stored = history(&client, &app, &user, &session).await;
        let expected = (0..TURNS).flat_map(|turn| {
            [
                format!("user: {conversation}/{turn} asks about the harbor"),
                format!("assistant: {}", words(conversation, turn)),
            ]
        });
        assert_eq!(stored, expected.collect::<Vec<_>>());
    }
}
