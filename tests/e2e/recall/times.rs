//! Times in questions: what was said then comes first, and the answer says which time was read.

use memory_contract::proto::{
    BuildContextRequest, DegradationReason, MemoryPolicy, MessageFilter, MessageInput, NamedTime,
    QueryTime, RecallRequest, RecallScope, Role, SearchRequest, SetHeadRequest, Target,
};
use prost_types::Timestamp;
use recollect_tests::{
    Client, Key, Mcp, PLAIN, app, apply, by_id, quoted_texts, reply, say, search_request,
    target_app, target_thread, target_user, text_of, texts, trial,
};
use serde_json::json;
use tonic::Code;

use crate::erasure::held::{database, fill};
use crate::{acme, plain};

/// Wednesday, 18 March 2026, 15:30 in Berlin.
const ASKED: i64 = 1_773_844_200;
const HOUR: i64 = 3_600;
const DAY: i64 = 24 * HOUR;

/// What was eaten on each of the last days, the newest last, and much else.
const LUNCHES: [&str; 12] = [
    "lentil soup",
    "a cheese sandwich",
    "fried rice with egg",
    "tomato salad",
    "a veggie burger",
    "pumpkin curry",
    "noodles with tofu",
    "potato pancakes",
    "mushroom risotto",
    "falafel in pita",
    "spinach lasagna",
    "ramen with leek",
];

fn at(seconds: i64) -> Option<Timestamp> {
    Some(Timestamp { seconds, nanos: 0 })
}

fn asked_in(zone: &str) -> Option<QueryTime> {
    Some(QueryTime {
        reference_time: at(ASKED),
        time_zone: zone.to_owned(),
    })
}

/// Stores a lunch for each of the last days, yesterday's last, at noon.
async fn with_lunches() -> (Client, String, String, String) {
    let client = acme().await;
    let app = app();
    let thread_id = client.thread_of(&app, "ada").await;
    let days = (1_i64..).zip(LUNCHES.iter().rev());
    let mut messages = Vec::new();
    for (ago, lunch) in days.collect::<Vec<_>>().into_iter().rev() {
        let mut lunch = say(
            Role::User,
            &format!("For lunch I had {lunch}, it was good."),
        );
        lunch.create_time = at(ASKED - 3 * HOUR - ago * DAY);
        let mut answer = say(Role::Assistant, "That sounds tasty!");
        answer.create_time = at(ASKED - 3 * HOUR - ago * DAY + 1);
        messages.extend([lunch, answer]);
    }
    let stored = client.append(&thread_id, messages).await;
    (client, app, thread_id, stored.revision)
}

fn lunch(ago: usize) -> String {
    let lunch = LUNCHES[LUNCHES.len() - ago];
    format!("For lunch I had {lunch}, it was good.")
}

fn read_as(named: &[NamedTime]) -> Vec<(&str, i64, i64)> {
    let seconds = |time: &Option<Timestamp>| time.as_ref().map_or(0, |time| time.seconds);
    named
        .iter()
        .map(|one| {
            let (start, end) = (seconds(&one.start_time), seconds(&one.end_time));
            (one.text.as_str(), start, end)
        })
        .collect()
}

#[apply(trial)]
async fn f01_what_was_said_at_the_time_that_a_question_names_comes_first() {
    let (client, _, thread_id, revision) = with_lunches().await;
    // Midnight in Berlin before the question.
    let today = ASKED - 15 * HOUR - HOUR / 2;
    let yesterday = (today - DAY, today);
    for (query, words, (start, end), ago) in [
        (
            "What did I have for lunch yesterday?",
            "yesterday",
            yesterday,
            1,
        ),
        (
            "Was habe ich gestern zu Mittag gegessen?",
            "gestern",
            yesterday,
            1,
        ),
        ("¿Qué comí ayer?", "ayer", yesterday, 1),
        ("Qu'est-ce que j'ai mangé hier ?", "hier", yesterday, 1),
        ("我昨天午饭吃了什么？", "昨天", yesterday, 1),
        ("昨日何を食べましたか？", "昨日", yesterday, 1),
        (
            "What did I eat four days ago?",
            "four days ago",
            (today - 4 * DAY, today - 3 * DAY),
            4,
        ),
    ] {
        let request = SearchRequest {
            query_time: asked_in("Europe/Berlin"),
            filter: Some(MessageFilter {
                roles: vec![Role::User.into()],
                ..Default::default()
            }),
            top_k: Some(3),
            ..search_request(&thread_id, query, &revision)
        };
        let found = client.search(request).await;
        assert_eq!(
            read_as(&found.named_times),
            [(words, start, end)],
            "{query}"
        );
        let texts = texts(&found.matches);
        assert_eq!(texts[0], lunch(ago), "{query}: {texts:?}");
        // Others are still found.
        assert_eq!(found.matches.len(), 3, "{query}");
    }
}

#[apply(trial)]
async fn f01_the_users_time_zone_decides_which_day_a_message_belongs_to() {
    let client = acme().await;
    let thread_id = client.thread_of(&app(), "ada").await;
    // 23:30 on Monday in UTC, and Tuesday in Berlin.
    let mut late = say(Role::User, "I watched a film about whales.");
    late.create_time = at(ASKED - 14 * HOUR - HOUR - DAY);
    let stored = client.append(&thread_id, vec![late]).await;
    let search = async |zone: &str| {
        let request = SearchRequest {
            query_time: asked_in(zone),
            ..search_request(
                &thread_id,
                "Which film did I watch yesterday?",
                &stored.revision,
            )
        };
        client.search(request).await
    };
    let midnight = ASKED - 14 * HOUR - HOUR / 2;
    for (zone, start) in [
        ("", midnight - DAY),
        ("UTC", midnight - DAY),
        ("Europe/Berlin", midnight - DAY - HOUR),
        ("Asia/Tokyo", midnight - DAY - 9 * HOUR),
        ("America/Los_Angeles", midnight - DAY + 7 * HOUR),
    ] {
        let found = search(zone).await;
        let expected = [("yesterday", start, start + DAY)];
        assert_eq!(read_as(&found.named_times), expected, "{zone}");
        assert_eq!(found.matches.len(), 1, "{zone}");
    }
}

#[apply(trial)]
async fn f01_recall_and_contexts_read_times_too() {
    let (client, app, _, _) = with_lunches().await;
    let later = client.thread_of(&app, "ada").await;
    let query = "What did I have for lunch yesterday?";
    let recalled = client
        .call(RecallRequest {
            target: target_user(&app, "ada"),
            query: query.to_owned(),
            query_time: asked_in("Europe/Berlin"),
            ..Default::default()
        })
        .await;
    assert_eq!(recalled.named_times.len(), 1);
    let best = recalled.messages.iter().find(|found| found.rank == 1);
    assert_eq!(text_of(best.unwrap().message.as_ref().unwrap()), lunch(1));

    let context = client
        .call(BuildContextRequest {
            thread: by_id(&later),
            query: query.to_owned(),
            query_time: asked_in("Europe/Berlin"),
            ..Default::default()
        })
        .await;
    assert_eq!(read_as(&context.named_times).len(), 1);
    let quoted = quoted_texts(&context);
    assert!(quoted.contains(&lunch(1)), "{quoted:?}");
}

#[apply(trial)]
async fn f01_what_is_told_some_days_after_a_date_comes_before_the_same_of_other_times() {
    let client = acme().await;
    let thread_id = client.thread_of(&app(), "ada").await;
    // On 10 February and on 10 March.
    let told = [
        (36, "For dinner I cooked a stew of lentils."),
        (8, "For dinner I cooked a stew of beans."),
    ];
    let messages = told.map(|(ago, text)| said_at(ASKED - ago * DAY, say(Role::User, text)));
    let stored = client.append(&thread_id, messages.to_vec()).await;
    for (month, (_, stew)) in ["February", "March"].into_iter().zip(told) {
        let query = format!("What did I cook for dinner on 8 {month}?");
        let request = SearchRequest {
            query_time: asked_in("Europe/Berlin"),
            ..search_request(&thread_id, &query, &stored.revision)
        };
        let found = client.search(request).await;
        let read: Vec<&str> = found
            .named_times
            .iter()
            .map(|it| it.text.as_str())
            .collect();
        assert_eq!(read, [format!("on 8 {month}")]);
        assert_eq!(texts(&found.matches)[0], stew, "{query}");
    }
}

#[apply(trial)]
async fn f02_explicit_times_bound_searches_and_tools() {
    let (client, app, thread_id, revision) = with_lunches().await;
    let between = MessageFilter {
        start_time: at(ASKED - 4 * DAY),
        end_time: at(ASKED - 2 * DAY),
        ..Default::default()
    };
    let request = SearchRequest {
        filter: Some(between.clone()),
        ..search_request(&thread_id, "lunch", &revision)
    };
    let mut found = texts(&client.search(request).await.matches);
    found.retain(|text| text.contains("lunch"));
    found.sort();
    let mut expected = vec![lunch(2), lunch(3)];
    expected.sort();
    assert_eq!(found, expected);

    let context = client
        .call(BuildContextRequest {
            thread: by_id(&client.thread_of(&app, "ada").await),
            query: "lunch".to_owned(),
            filter: Some(between),
            ..Default::default()
        })
        .await;
    let quoted = quoted_texts(&context);
    assert!(quoted.contains(&lunch(2)), "{quoted:?}");
    assert!(!quoted.contains(&lunch(9)), "{quoted:?}");

    let args = ["--app", &app, "--user", "ada"];
    let mcp = Mcp::stdio(&PLAIN.ready().addr, Key::Acme, &args).await;
    let answer = mcp
        .tool(
            "recall",
            json!({"query": "lunch", "start_time": at(ASKED).unwrap().to_string(), "time_zone": "Europe/Berlin"}),
        )
        .await;
    assert_eq!(answer["messages"], json!([]), "{answer}");
    let wrong = mcp
        .call("recall", json!({"query": "lunch", "end_time": "Tuesday"}))
        .await;
    assert!(
        wrong.is_error && wrong.text.contains("`end_time`"),
        "{}",
        wrong.text
    );
}

#[apply(trial)]
async fn f03_a_recall_without_a_query_lists_what_was_said_at_a_time() {
    let (client, app, thread_id, _) = with_lunches().await;
    let said = async |target: Option<Target>, days: (i64, i64), top_k| {
        let recalled = client
            .call(RecallRequest {
                target,
                filter: Some(MessageFilter {
                    roles: vec![Role::User.into()],
                    start_time: at(ASKED - days.0 * DAY),
                    end_time: at(ASKED - days.1 * DAY),
                    ..Default::default()
                }),
                policy: Some(MemoryPolicy {
                    recent_window: Some(0),
                    neighbors_before: Some(0),
                    neighbors_after: Some(0),
                    top_k,
                    ..Default::default()
                }),
                ..Default::default()
            })
            .await;
        assert_eq!(recalled.degradations, []);
        texts(&recalled.messages)
    };
    // In the order of the conversation.
    let expected = [lunch(4), lunch(3), lunch(2)];
    for target in [
        target_thread(&thread_id),
        target_user(&app, "ada"),
        target_app(&app),
    ] {
        assert_eq!(said(target, (5, 2), None).await, expected);
    }
    let newest = said(target_user(&app, "ada"), (12, 2), Some(2)).await;
    assert_eq!(
        newest,
        [lunch(3), lunch(2)],
        "the newest that fit into top_k"
    );
    assert!(
        said(target_user(&app, "ben"), (5, 2), None)
            .await
            .is_empty()
    );
}

/// A list of what users said since 1970, at most `top_k`.
fn list_request(target: Option<Target>, top_k: i32) -> RecallRequest {
    RecallRequest {
        target,
        filter: Some(MessageFilter {
            roles: vec![Role::User.into()],
            start_time: at(0),
            ..Default::default()
        }),
        policy: Some(MemoryPolicy {
            recent_window: Some(0),
            neighbors_before: Some(0),
            neighbors_after: Some(0),
            top_k: Some(top_k),
            ..Default::default()
        }),
        ..Default::default()
    }
}

fn said_at(seconds: i64, message: MessageInput) -> MessageInput {
    MessageInput {
        create_time: at(seconds),
        ..message
    }
}

#[apply(trial)]
async fn f03_a_list_has_the_newest_messages_of_the_active_branch() {
    let client = plain().await;
    let app = app();
    let thread_id = client.thread_of(&app, "ada").await;
    let kept: Vec<String> = (0..6).map(|n| format!("Kept {n}.")).collect();
    let dropped: Vec<String> = (0..5).map(|n| format!("Dropped {n}.")).collect();
    let messages = (ASKED - DAY..).zip(&kept);
    let messages = messages.map(|(time, text)| said_at(time, say(Role::User, text)));
    let stored = client.append(&thread_id, messages.collect()).await.messages;
    let mut messages = vec![reply(&stored[0].message_id, Role::User, &dropped[0])];
    messages.extend(dropped[1..].iter().map(|text| say(Role::User, text)));
    let messages = (ASKED - HOUR..).zip(messages);
    let messages = messages.map(|(time, message)| said_at(time, message));
    client.append(&thread_id, messages.collect()).await;
    let back = SetHeadRequest {
        thread: by_id(&thread_id),
        head_message_id: stored[5].message_id.clone(),
        expected_head: None,
    };
    client.call(back).await;
    for (target, scope) in [
        (target_thread(&thread_id), RecallScope::Thread),
        (target_thread(&thread_id), RecallScope::User),
        (target_user(&app, "ada"), RecallScope::Unspecified),
        (target_app(&app), RecallScope::Unspecified),
    ] {
        let mut request = list_request(target, 5);
        request.policy.as_mut().unwrap().scope = scope.into();
        let listed = client.call(request.clone()).await;
        assert_eq!(texts(&listed.messages), kept[1..]);
        let all = RecallRequest {
            all_branches: true,
            ..request
        };
        let listed = client.call(all).await;
        assert_eq!(texts(&listed.messages), dropped);
    }
}

#[apply(trial)]
async fn f03_a_list_has_each_of_several_equal_messages() {
    let client = plain().await;
    let app = app();
    let thread_id = client.thread_of(&app, "ada").await;
    let mornings = (1..=10).rev().map(|ago| {
        let time = ASKED - ago * DAY;
        said_at(time, say(Role::User, "Good morning!"))
    });
    client.append(&thread_id, mornings.collect()).await;
    for target in [target_thread(&thread_id), target_user(&app, "ada")] {
        let listed = client.call(list_request(target, 10)).await;
        assert_eq!(texts(&listed.messages), ["Good morning!"; 10]);
    }
    // Besides those of the recent window.
    let mut request = list_request(target_thread(&thread_id), 3);
    let policy = request.policy.as_mut().unwrap();
    policy.recent_window = Some(2);
    let listed = client.call(request).await.messages;
    let ranks: Vec<i32> = listed.iter().map(|found| found.rank).collect();
    assert_eq!(ranks, [3, 2, 1, 0, 0]);
}

#[apply(trial)]
async fn f03_a_list_has_no_scores_that_could_be_too_low() {
    let client = plain().await;
    let app = app();
    let thread_id = client.thread_of(&app, "ada").await;
    let hello = said_at(ASKED - DAY, say(Role::User, "Hello!"));
    client.append(&thread_id, vec![hello]).await;
    for target in [target_thread(&thread_id), target_user(&app, "ada")] {
        let mut request = list_request(target, 10);
        request.policy.as_mut().unwrap().min_score = Some(1.0);
        let listed = client.call(request).await;
        assert_eq!(texts(&listed.messages), ["Hello!"]);
    }
}

#[apply(trial)]
async fn f03_a_list_that_few_messages_pass_reads_a_bounded_number_and_says_so() {
    /// One more than a list reads.
    const COUNT: i64 = 50_001;
    let client = plain().await;
    let app = app();
    let thread_id = client.thread_of(&app, "ada").await;
    let database = database(PLAIN.ready().line["postgres"].as_str().unwrap()).await;
    fill(&database, &thread_id, COUNT).await;
    for target in [target_user(&app, "ada"), target_app(&app)] {
        let mut request = list_request(target, 3);
        let listed = client.call(request.clone()).await;
        assert_eq!(listed.messages.len(), 3);
        assert_eq!(listed.degradations, []);
        request.filter.as_mut().unwrap().roles = vec![Role::Tool.into()];
        let listed = client.call(request).await;
        assert_eq!(texts(&listed.messages), [""; 0]);
        let reasons: Vec<_> = listed.degradations.iter().map(|one| one.reason()).collect();
        assert_eq!(reasons, [DegradationReason::ListCut]);
    }
}

#[apply(trial)]
async fn f04_what_is_not_understood_is_not_guessed() {
    let (client, _, thread_id, revision) = with_lunches().await;
    for query in [
        "What did I have for lunch?",
        "Do I eat lunch every Monday?",
        "May I have the recipe?",
        "What is Friday Night Lights about?",
        "Wann sagt man Mahlzeit?",
        // Nothing was said in the future.
        "What should I have for lunch tomorrow?",
    ] {
        let search = async |query_time: Option<QueryTime>| {
            let request = SearchRequest {
                query_time,
                ..search_request(&thread_id, query, &revision)
            };
            client.search(request).await
        };
        let found = search(asked_in("Europe/Berlin")).await;
        assert_eq!(found.named_times, [], "{query}");
        let without = search(None).await;
        assert_eq!(texts(&found.matches), texts(&without.matches), "{query}");
    }
    let request = SearchRequest {
        query_time: asked_in("Europe/Atlantis"),
        ..search_request(&thread_id, "lunch yesterday", &revision)
    };
    let failure = client.refused(request).await;
    let shown = format!("{failure:?}");
    assert!(shown.contains("query_time.time_zone"), "{shown}");
    failure.is(Code::InvalidArgument, "INVALID_FIELD");
}
