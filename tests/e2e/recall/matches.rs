//! Recall: the window, the matches, their neighbors, the budget, the reasons.

use std::collections::HashSet;

use memory_contract::proto::{
    MemoryMode, MemoryPolicy, OmissionReason, RecallReason, RecallRequest, RecallResponse,
    RecallScope, RecalledMessage, Role, SearchMethod, SearchRequest,
};
use recollect_tests::{
    Client, USER_DEFAULT, app, apply, by_id, context_request, file, has_reason, ids, memory,
    memory_search, recall_request, reply, say, search_request, target_thread, target_user, text_of,
    texts, trial, with_parts,
};

use super::diary;
use crate::{acme, plain};

pub async fn with_talk() -> (Client, String, String) {
    let client = acme().await;
    let thread_id = client.thread(&app()).await;
    let stored = diary::store(&client, &thread_id).await;
    (client, thread_id, stored.revision)
}

pub fn of(response: &RecallResponse, reason: RecallReason) -> Vec<&RecalledMessage> {
    let messages = response.messages.iter();
    messages
        .filter(|message| has_reason(message, reason))
        .collect()
}

fn seqs(response: &RecallResponse) -> Vec<i64> {
    let messages = response.messages.iter();
    messages
        .map(|message| message.message.as_ref().unwrap().seq)
        .collect()
}

#[apply(trial)]
async fn t01_window_memory_is_the_last_messages_in_order() {
    let (client, thread_id, revision) = with_talk().await;
    let last = i64::try_from(diary::TALK.len()).unwrap() * 2;
    for window in [1, 3, 20, 500] {
        let request = RecallRequest {
            policy: Some(MemoryPolicy {
                mode: MemoryMode::Window.into(),
                window_size: Some(window),
                ..Default::default()
            }),
            ..recall_request(&thread_id, "Biscuit", &revision)
        };
        let recalled = client.recall(request).await;
        let from = (last - i64::from(window)).max(0) + 1;
        assert_eq!(seqs(&recalled), (from..=last).collect::<Vec<_>>());
        assert!(recalled.messages.iter().all(|message| {
            message.reasons == [i32::from(RecallReason::Recent)] && message.rank == 0
        }));
        assert_eq!(recalled.degradations, []);
    }
}

#[apply(trial)]
async fn n03_the_window_has_twenty_messages_by_default() {
    let (client, thread_id, _) = with_talk().await;
    let request = RecallRequest {
        target: target_thread(&thread_id),
        policy: Some(MemoryPolicy {
            mode: MemoryMode::Window.into(),
            ..Default::default()
        }),
        ..Default::default()
    };
    let recalled = client.recall(request).await;
    let all = client.all_messages(&thread_id).await;
    assert_eq!(ids(&recalled.messages), ids(&all[all.len() - 20..]));
}

#[apply(trial)]
async fn l08_memory_is_on_by_default() {
    let client = acme().await;
    let thread_id = client.thread(&app()).await;
    let stored = diary::store(&client, &thread_id).await;
    client
        .search(recollect_tests::search_request(
            &thread_id,
            "dog",
            &stored.revision,
        ))
        .await;
    // The request has only the thread and the new message.
    let recalled = client
        .recall(RecallRequest {
            target: target_thread(&thread_id),
            query: "What is the name of the dog?".to_owned(),
            ..Default::default()
        })
        .await;
    assert_eq!(of(&recalled, RecallReason::Recent).len(), 4);
    assert_eq!(of(&recalled, RecallReason::Match).len(), 5);
    let history = client
        .call(memory_contract::proto::GetHistoryRequest {
            thread: by_id(thread_id),
            ..Default::default()
        })
        .await;
    assert!(history.messages.len() > 20, "{}", history.messages.len());
}

#[apply(trial)]
async fn t02_hybrid_memory_is_the_recent_messages_and_the_matches() {
    let (client, thread_id, revision) = with_talk().await;
    let all = client.all_messages(&thread_id).await;
    let question = "What is the name of the dog?";
    let recalled = client
        .recall(recall_request(&thread_id, question, &revision))
        .await;
    assert_eq!(recalled.degradations, []);
    let recent = of(&recalled, RecallReason::Recent);
    assert_eq!(ids(recent.iter().copied()), ids(&all[all.len() - 4..]));
    let matches = of(&recalled, RecallReason::Match);
    assert_eq!(matches.len(), 5);
    assert!(
        matches
            .iter()
            .any(|hit| text_of(hit.message.as_ref().unwrap()).contains("Biscuit")),
        "{:?}",
        texts(matches.iter().copied())
    );
    // An empty query means the window alone.
    let recalled = client
        .recall(recall_request(&thread_id, "", &revision))
        .await;
    assert_eq!(ids(&recalled.messages), ids(&all[all.len() - 4..]));
}

#[apply(trial)]
async fn t06_recent_and_matching_messages_are_merged_without_duplicates() {
    let (client, thread_id, revision) = with_talk().await;
    // The answer is in the recent window, which must not be returned twice, and
    // does not count as a match.
    let question = "Suggest a film, something shorter, a documentary";
    let recalled = client
        .recall(recall_request(&thread_id, question, &revision))
        .await;
    let found = ids(&recalled.messages);
    assert_eq!(found.iter().collect::<HashSet<_>>().len(), found.len());
    assert!(
        seqs(&recalled).windows(2).all(|pair| pair[0] < pair[1]),
        "chronological"
    );
    let recent = of(&recalled, RecallReason::Recent);
    assert_eq!(recent.len(), 4);
    let matches = of(&recalled, RecallReason::Match);
    assert_eq!(matches.len(), 5);
    let outside = matches
        .iter()
        .filter(|hit| !has_reason(hit, RecallReason::Recent));
    assert_eq!(
        outside.count(),
        5,
        "messages of the window do not count as matches"
    );
    let mut ranks: Vec<i32> = matches.iter().map(|hit| hit.rank).collect();
    ranks.sort_unstable();
    assert_eq!(ranks, [1, 2, 3, 4, 5]);
}

#[apply(trial)]
async fn t06_messages_of_the_same_content_come_once() {
    let client = acme().await;
    let thread_id = client.thread(&app()).await;
    for _ in 0..6 {
        client
            .append_turn(
                &thread_id,
                "What is the gate code?",
                "The gate code is 9153.",
            )
            .await;
    }
    let stored = diary::store(&client, &thread_id).await;
    let mut request = recall_request(&thread_id, "gate code", &stored.revision);
    let policy = request.policy.get_or_insert_default();
    policy.neighbors_before = Some(0);
    policy.neighbors_after = Some(0);
    request.explain = true;
    let recalled = client.recall(request).await;
    let texts = texts(&recalled.messages);
    let count = |text: &str| texts.iter().filter(|found| *found == text).count();
    assert_eq!(count("The gate code is 9153."), 1, "{texts:?}");
    assert_eq!(count("What is the gate code?"), 1, "{texts:?}");
    let duplicates = recalled
        .omitted
        .iter()
        .filter(|omitted| omitted.reason() == OmissionReason::Duplicate)
        .count();
    assert_eq!(duplicates, 10, "{:?}", recalled.omitted);
}

#[apply(trial)]
async fn t07_recall_spans_the_sessions_of_a_user() {
    let client = acme().await;
    let app = app();
    let mut revisions = Vec::new();
    for (day, said) in [
        "My passport expires in October 2031.",
        "I parked the car on level minus three.",
        "The plumber is called Henrik Solberg.",
    ]
    .into_iter()
    .enumerate()
    {
        let thread_id = client.thread_of(&app, "ada").await;
        let mut message = say(Role::User, said);
        // Weeks apart.
        let seconds = 1_700_000_000 + i64::try_from(day).unwrap() * 20 * 86_400;
        message.create_time = Some(prost_types::Timestamp { seconds, nanos: 0 });
        let stored = client
            .append(&thread_id, vec![message, say(Role::Assistant, "I see.")])
            .await;
        revisions.push(stored.revision);
    }
    let today = client.thread_of(&app, "ada").await;
    client
        .append_turn(&today, "Good morning!", "Good morning, Ada.")
        .await;
    for ((query, said), revision) in [
        (
            "When does my passport expire?",
            "My passport expires in October 2031.",
        ),
        ("Where is my car?", "I parked the car on level minus three."),
        (
            "Who is the plumber?",
            "The plumber is called Henrik Solberg.",
        ),
    ]
    .into_iter()
    .zip(&revisions)
    {
        let mut request = recall_request(&today, query, revision);
        let recalled = client.recall(request.clone()).await;
        let found = texts(&recalled.messages);
        assert!(found.contains(&said.to_owned()), "{query}: {found:?}");
        assert!(
            found.contains(&"Good morning!".to_owned()),
            "the window is there too"
        );
        // Sessions come in the order of their creation.
        let mut order: Vec<&str> = Vec::new();
        for message in &recalled.messages {
            let thread = message.message.as_ref().unwrap().thread_id.as_str();
            if order.last() != Some(&thread) {
                order.push(thread);
            }
        }
        assert_eq!(order.iter().collect::<HashSet<_>>().len(), order.len());
        assert_eq!(*order.last().unwrap(), today);

        request.policy.get_or_insert_default().scope = RecallScope::Thread.into();
        let found = texts(&client.recall(request.clone()).await.messages);
        assert!(!found.contains(&said.to_owned()), "{found:?}");

        request.policy.get_or_insert_default().scope = RecallScope::Unspecified.into();
        request.target = target_user(&app, "ada");
        let recalled = client.recall(request).await;
        assert!(texts(&recalled.messages).contains(&said.to_owned()));
        assert!(of(&recalled, RecallReason::Recent).is_empty());
    }
}

/// The match for one word of the talk, with what is returned around it.
async fn around(request: RecallRequest, client: &Client) -> Vec<i64> {
    let request = RecallRequest {
        policy: Some(MemoryPolicy {
            recent_window: Some(0),
            top_k: Some(1),
            ..request.policy.unwrap_or_default()
        }),
        ..request
    };
    let recalled = client.recall(request).await;
    let matches = of(&recalled, RecallReason::Match);
    assert_eq!(
        texts(matches.iter().copied()),
        ["I prefer aisle seats when I fly."]
    );
    let id = &matches[0].message.as_ref().unwrap().message_id;
    for message in of(&recalled, RecallReason::Neighbor) {
        assert_eq!(&message.neighbor_of, std::slice::from_ref(id));
        assert_eq!(message.rank, 0);
    }
    seqs(&recalled)
}

#[apply(trial)]
async fn n10_without_an_embedding_model_recall_is_by_word_and_says_so() {
    for (client, expected) in [
        (plain().await, SearchMethod::Lexical),
        (acme().await, SearchMethod::Hybrid),
    ] {
        let app = app();
        let thread_id = client.thread(&app).await;
        let stored = diary::store(&client, &thread_id).await;
        let indexed = search_request(&thread_id, "greyhound", &stored.revision);
        client.search(indexed).await;
        client
            .remember(&app, USER_DEFAULT, vec![memory("Has a greyhound.")])
            .await;
        let question = "What is our greyhound called?";
        let recall = RecallRequest {
            target: target_thread(&thread_id),
            query: question.to_owned(),
            ..Default::default()
        };
        let recalled = client.recall(recall.clone()).await;
        assert_eq!(
            (recalled.method(), recalled.degradations),
            (expected, vec![])
        );
        let matches = recalled.messages.iter().filter(|one| one.rank > 0);
        let matches: Vec<&RecalledMessage> = matches.collect();
        assert!(!matches.is_empty() && matches.len() <= 5);
        let by_word = expected == SearchMethod::Lexical;
        assert!(by_word == matches.iter().all(|one| one.dense_score.is_none()));
        let search = SearchRequest {
            target: target_thread(&thread_id),
            query: question.to_owned(),
            ..Default::default()
        };
        let found = client.search(search.clone()).await;
        assert_eq!((found.method(), found.degradations), (expected, vec![]));
        let context = client.context(context_request(&thread_id, question)).await;
        assert_eq!((context.method(), context.degradations), (expected, vec![]));
        let known = memory_search(&app, USER_DEFAULT, question, "");
        let known = client.search_memories(known).await;
        assert_eq!((known.method(), known.degradations), (expected, vec![]));
        // By word on request; and nothing where nothing is searched.
        let lexical = SearchRequest {
            method: SearchMethod::Lexical.into(),
            ..search
        };
        assert_eq!(client.search(lexical).await.method(), SearchMethod::Lexical);
        let none = RecallRequest {
            query: String::new(),
            ..recall
        };
        let none = client.recall(none).await;
        assert_eq!(none.method(), SearchMethod::Unspecified);
    }
}

#[apply(trial)]
async fn n10_each_match_comes_with_two_messages_before_and_one_after() {
    let (client, thread_id, revision) = with_talk().await;
    let request = recall_request(&thread_id, "I prefer aisle seats when I fly", &revision);
    assert_eq!(around(request, &client).await, [9, 10, 11, 12]);
}

#[apply(trial)]
async fn n10_the_numbers_of_matches_and_neighbors_can_be_set() {
    let (client, thread_id, revision) = with_talk().await;
    let query = "I prefer aisle seats when I fly";
    for (before, after, expected) in [
        (0, 0, vec![11]),
        (1, 0, vec![10, 11]),
        (0, 3, vec![11, 12, 13, 14]),
        (20, 20, (1..=31).collect()),
    ] {
        let request = RecallRequest {
            policy: Some(MemoryPolicy {
                neighbors_before: Some(before),
                neighbors_after: Some(after),
                ..Default::default()
            }),
            ..recall_request(&thread_id, query, &revision)
        };
        assert_eq!(around(request, &client).await, expected);
    }
    for top_k in [0, 1, 12] {
        let request = RecallRequest {
            policy: Some(MemoryPolicy {
                top_k: Some(top_k),
                ..Default::default()
            }),
            ..recall_request(&thread_id, query, &revision)
        };
        let recalled = client.recall(request).await;
        let matches = of(&recalled, RecallReason::Match).len();
        assert_eq!(matches, usize::try_from(top_k).unwrap());
    }
}

#[apply(trial)]
async fn t13_without_memory_nothing_is_returned() {
    let (client, thread_id, revision) = with_talk().await;
    let request = RecallRequest {
        policy: Some(MemoryPolicy {
            mode: MemoryMode::None.into(),
            ..Default::default()
        }),
        ..recall_request(&thread_id, "Biscuit", &revision)
    };
    let recalled = client.recall(request).await;
    assert_eq!((recalled.messages, recalled.total_tokens), (vec![], 0));
}

#[apply(trial)]
async fn abandoned_branches_are_recalled_only_on_request() {
    let client = acme().await;
    let thread_id = client.thread(&app()).await;
    let stored = client
        .append_turn(
            &thread_id,
            "Name a mountain.",
            "Kilimanjaro is a mountain in Tanzania.",
        )
        .await;
    client
        .append(
            &thread_id,
            vec![reply(
                &stored.messages[0].message_id,
                Role::Assistant,
                "Aconcagua is a mountain in Argentina.",
            )],
        )
        .await;
    let stored = diary::store(&client, &thread_id).await;
    let read = async |all_branches| {
        let request = RecallRequest {
            all_branches,
            policy: Some(MemoryPolicy {
                neighbors_before: Some(0),
                neighbors_after: Some(0),
                ..Default::default()
            }),
            ..recall_request(
                &thread_id,
                "Kilimanjaro Aconcagua mountain",
                &stored.revision,
            )
        };
        texts(&client.recall(request).await.messages)
    };
    let (old, new) = (
        "Kilimanjaro is a mountain in Tanzania.".to_owned(),
        "Aconcagua is a mountain in Argentina.".to_owned(),
    );
    let active = read(false).await;
    assert!(
        active.contains(&new) && !active.contains(&old),
        "{active:?}"
    );
    let both = read(true).await;
    assert!(both.contains(&new) && both.contains(&old), "{both:?}");
}

#[apply(trial)]
async fn files_are_recalled_by_their_captions() {
    let client = acme().await;
    let thread_id = client.thread(&app()).await;
    let picture = file(
        "https://example.org/1.png",
        "A lighthouse on a cliff at sunset",
    );
    client
        .append(&thread_id, vec![with_parts(Role::User, vec![picture])])
        .await;
    let stored = diary::store(&client, &thread_id).await;
    let request = RecallRequest {
        policy: Some(MemoryPolicy {
            top_k: Some(1),
            neighbors_before: Some(0),
            neighbors_after: Some(0),
            recent_window: Some(0),
            ..Default::default()
        }),
        ..recall_request(&thread_id, "the photo of the lighthouse", &stored.revision)
    };
    assert_eq!(seqs(&client.recall(request).await), [1]);
}

#[apply(trial)]
async fn recall_gives_messages_exactly_as_they_were_stored() {
    let (client, thread_id, revision) = with_talk().await;
    let all = client.all_messages(&thread_id).await;
    let recalled = client
        .recall(recall_request(&thread_id, "peanuts", &revision))
        .await;
    assert!(recalled.messages.len() > 4);
    for message in &recalled.messages {
        assert!(all.contains(message.message.as_ref().unwrap()));
    }
}

#[apply(trial)]
async fn recall_of_an_empty_thread_is_empty() {
    let client = acme().await;
    let thread_id = client.thread(&app()).await;
    let recalled = client
        .recall(recall_request(&thread_id, "anything", ""))
        .await;
    assert_eq!(recalled.messages, []);
    assert_eq!(recalled.degradations, []);
}
