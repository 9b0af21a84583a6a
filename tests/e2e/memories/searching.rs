//! Searches find a user's own memories, and never another user's.

use memory_contract::proto::{
    Degradation, DegradationReason, GetMemoryRequest, ListMemoriesRequest, MemoryFilter,
    MemoryInput, MemoryType, RecallScope, Role, SearchMemoriesRequest, SearchMethod, SearchRequest,
    SupersedeMemoryRequest,
};
use prost_types::Timestamp;
use recollect_tests::{
    Key, SHARED, app, apply, by_id, memory, memory_search, memory_texts, metadata, say,
    search_request, target_app, target_thread, target_user, texts, trial,
};
use serde_json::json;
use tonic::Code;

use crate::{acme, plain};

#[apply(trial)]
async fn r09_memories_are_searchable_across_sessions() {
    let client = acme().await;
    let app = app();
    let facts = [
        "Ada is allergic to peanuts.",
        "Ada's sister Mina plays the violin in Lisbon.",
        "Ada prefers window seats on flights.",
        "Ada's dog Pixel is a greyhound.",
        "Ada drives a red Citroën from 1984.",
    ];
    let inputs = facts.into_iter().map(memory).collect();
    let added = client.remember(&app, "ada", inputs).await;
    for (question, fact) in [
        ("Which food must she avoid?", facts[0]),
        ("Does anybody in her family make music?", facts[1]),
        ("Where does she like to sit in a plane?", facts[2]),
        ("What kind of pet does she have?", facts[3]),
        ("Citroën", facts[4]),
    ] {
        let search = memory_search(&app, "ada", question, &added.revision);
        let found = client.search_memories(search).await;
        assert_eq!(found.degradations, []);
        assert_eq!(memory_texts(&found)[0], fact, "{question}");
        assert!(
            found
                .memories
                .is_sorted_by(|one, other| one.score >= other.score)
        );
        assert!(
            found
                .memories
                .iter()
                .all(|one| (0.0..=1.0).contains(&one.score))
        );
    }
    let mut search = memory_search(&app, "ada", "flights", "");
    search.top_k = Some(1);
    search.method = SearchMethod::Dense.into();
    let found = client.search_memories(search).await;
    assert_eq!(memory_texts(&found), [facts[2]]);
}

#[apply(trial)]
async fn r09_a_memory_is_found_by_meaning_whoever_the_question_names() {
    let client = acme().await;
    let app = app();
    let thread_id = client.thread_of(&app, "ada").await;
    let mut greeting = say(Role::User, "Good morning!");
    greeting.name = "Caroline".to_owned();
    let appended = client.append(&thread_id, vec![greeting]).await;
    // The speakers' names are read from the index.
    let indexed = search_request(&thread_id, "morning", &appended.revision);
    client.search(indexed).await;
    let facts = ["Her name is Caroline.", "She has a hamster."];
    let inputs = facts.into_iter().map(memory).collect();
    let added = client.remember(&app, "ada", inputs).await;
    let question = "What pet does Caroline have?";
    let mut search = memory_search(&app, "ada", question, &added.revision);
    search.top_k = Some(1);
    search.method = SearchMethod::Dense.into();
    let found = client.search_memories(search).await;
    assert_eq!(memory_texts(&found), [facts[1]]);
}

#[apply(trial)]
async fn r09_no_user_finds_the_memories_of_another() {
    let (client, globex) = (acme().await, SHARED.client(Key::Globex).await);
    let (app, other_app) = (app(), app());
    let texts = |whose: &str| format!("My blood type is AB negative, says {whose}.");
    let mut revision = String::new();
    let mut ids = Vec::new();
    for user in ["ada", "bob", ""] {
        let added = client
            .remember(&app, user, vec![memory(&texts(user))])
            .await;
        revision = added.revision;
        ids.push(added.memories[0].memory.clone().unwrap().memory_id);
    }
    let elsewhere = client
        .remember(&other_app, "ada", vec![memory(&texts("another"))])
        .await;
    let others = globex
        .remember(&app, "ada", vec![memory(&texts("globex"))])
        .await;
    let question = "What is my blood type?";
    for (client, app, user, revision, expected) in [
        (&client, &app, "ada", &revision, Some(texts("ada"))),
        (&client, &app, "bob", &revision, Some(texts("bob"))),
        (&client, &app, "", &revision, Some(texts(""))),
        (&client, &app, "eve", &revision, None),
        (
            &client,
            &other_app,
            "ada",
            &elsewhere.revision,
            Some(texts("another")),
        ),
        (&client, &other_app, "bob", &elsewhere.revision, None),
        (
            &globex,
            &app,
            "ada",
            &others.revision,
            Some(texts("globex")),
        ),
        (&globex, &app, "bob", &others.revision, None),
    ] {
        for method in [
            SearchMethod::Hybrid,
            SearchMethod::Dense,
            SearchMethod::Lexical,
        ] {
            let mut search = memory_search(app, user, question, revision);
            search.method = method.into();
            let found = client.search_memories(search).await;
            let expected: Vec<String> = expected.clone().into_iter().collect();
            assert_eq!(memory_texts(&found), expected, "{app} {user:?} {method:?}");
        }
        let listed = client.all_memories(app, user).await.len();
        assert_eq!(listed, usize::from(expected.is_some()), "{app} {user:?}");
    }
    // Another tenant's memory is reported like a missing one.
    for id in [&ids[0], &uuid::Uuid::new_v4().to_string()] {
        let request = GetMemoryRequest {
            memory_id: id.clone(),
        };
        let answer = globex.refused(request).await;
        answer.is(Code::NotFound, "MEMORY_NOT_FOUND");
        assert!(!super::delete(&globex, id).await.0);
    }
    assert_eq!(client.get_memory(&ids[0]).await.0.text, texts("ada"));
}

#[apply(trial)]
async fn r09_memories_and_messages_are_searched_apart() {
    let client = plain().await;
    let app = app();
    let thread_id = client.thread(&app).await;
    let said = client
        .append_text(&thread_id, "The oolong is in the cupboard.")
        .await;
    let known = client
        .remember(&app, "ada", vec![memory("The oolong comes from Taiwan.")])
        .await;
    let search = memory_search(&app, "ada", "oolong", &known.revision);
    let found = client.search_memories(search).await;
    assert_eq!(memory_texts(&found), ["The oolong comes from Taiwan."]);
    for scope in [RecallScope::Thread, RecallScope::User, RecallScope::App] {
        let search = SearchRequest {
            scope: scope.into(),
            ..search_request(&thread_id, "oolong", &said.revision)
        };
        let found = client.search(search).await;
        assert_eq!(
            texts(&found.matches),
            ["The oolong is in the cupboard."],
            "{scope:?}"
        );
    }
    let mut search = search_request("", "oolong", &known.revision);
    search.target = target_user(&app, "ada");
    assert_eq!(client.search(search).await.matches.len(), 1);
}

#[apply(trial)]
async fn r09_memories_are_filtered_by_metadata_before_the_best_matches_are_taken() {
    let client = acme().await;
    let app = app();
    // More memories than a search takes as candidates match better than those of the
    // blue team.
    let input = |number: usize| {
        let blue = number % 100 == 99;
        let text = match blue {
            true => format!("Among other things, page {number} of the ledger mentions oolong."),
            false => format!("Oolong tea {number}"),
        };
        MemoryInput {
            metadata: metadata(json!({
                "team": if blue { "blue" } else { "red" },
                "number": number,
                "open": blue,
            })),
            ..memory(&text)
        }
    };
    let mut revision = String::new();
    for first in [0, 100, 200] {
        let inputs = (first..first + 100).map(input).collect();
        revision = client.remember(&app, "ada", inputs).await.revision;
    }
    let filtered = |conditions: &serde_json::Value| {
        Some(MemoryFilter {
            metadata: metadata(conditions.clone()),
            ..Default::default()
        })
    };
    for (conditions, expected) in [
        (json!({"team": "blue"}), vec![99, 199, 299]),
        (json!({"open": true, "number": 199}), vec![199]),
        (json!({"team": "red", "number": 199}), vec![]),
        (json!({"number": "199"}), vec![]),
        (json!({"open": "true"}), vec![]),
        (json!({"other": "blue"}), vec![]),
    ] {
        let expected: Vec<String> = expected
            .into_iter()
            .map(|number| input(number).text)
            .collect();
        for method in [
            SearchMethod::Hybrid,
            SearchMethod::Dense,
            SearchMethod::Lexical,
        ] {
            let mut search = memory_search(&app, "ada", "oolong tea", &revision);
            search.filter = filtered(&conditions);
            search.method = method.into();
            let mut found = memory_texts(&client.search_memories(search).await);
            found.sort();
            let mut sorted = expected.clone();
            sorted.sort();
            assert_eq!(found, sorted, "{method:?} {conditions}");
        }
        let request = ListMemoriesRequest {
            target: target_user(&app, "ada"),
            filter: filtered(&conditions),
            ..Default::default()
        };
        let listed = client.call(request).await.memories.into_iter().rev();
        let listed: Vec<String> = listed.map(|memory| memory.text).collect();
        assert_eq!(listed, expected, "{conditions}");
    }
    // Metadata is filtered by, and not searched.
    let mut search = memory_search(&app, "ada", "blue", &revision);
    search.method = SearchMethod::Lexical.into();
    assert_eq!(client.search_memories(search).await.memories, []);
    // A changed value is the one that counts.
    let page = input(99).text;
    let all = client.all_memories(&app, "ada").await;
    let known = all.into_iter().find(|memory| memory.text == page).unwrap();
    let changed = memory_contract::proto::Memory {
        metadata: metadata(json!({"team": "green"})),
        ..known
    };
    let revision = super::update(&client, changed, &["metadata"])
        .await
        .revision;
    for (team, count) in [("blue", 2), ("green", 1)] {
        let mut search = memory_search(&app, "ada", "oolong tea", &revision);
        search.filter = filtered(&json!({"team": team}));
        let found = client.search_memories(search).await;
        assert_eq!(found.memories.len(), count, "{team}");
    }
}

#[apply(trial)]
async fn r09_memories_are_filtered_and_listed() {
    let client = plain().await;
    let app = app();
    let input = |number: usize| MemoryInput {
        text: format!("Fact number {number}"),
        r#type: match number % 2 {
            0 => MemoryType::Semantic.into(),
            _ => MemoryType::Episodic.into(),
        },
        topics: vec![format!("topic{}", number % 3)],
        entities: vec![format!("name{number}")],
        ..Default::default()
    };
    let added = client
        .remember(&app, "ada", (0..7).map(input).collect())
        .await;
    let all = client.all_memories(&app, "ada").await;
    let numbers: Vec<String> = all
        .iter()
        .map(|memory| memory.entities[0].clone())
        .collect();
    assert_eq!(
        numbers,
        [
            "name6", "name5", "name4", "name3", "name2", "name1", "name0"
        ]
    );
    let after = all[3].create_time;
    for (filter, expected) in [
        (
            MemoryFilter {
                r#type: MemoryType::Episodic.into(),
                ..Default::default()
            },
            vec![1, 3, 5],
        ),
        (
            MemoryFilter {
                topics: vec!["topic1".to_owned(), "topic2".to_owned(), "no".to_owned()],
                ..Default::default()
            },
            vec![1, 2, 4, 5],
        ),
        (
            MemoryFilter {
                entities: vec!["name6".to_owned()],
                topics: vec!["topic0".to_owned()],
                ..Default::default()
            },
            vec![6],
        ),
        (
            MemoryFilter {
                origins: vec![memory_contract::proto::MemoryOrigin::Extracted.into()],
                ..Default::default()
            },
            vec![],
        ),
        (
            MemoryFilter {
                start_time: after,
                ..Default::default()
            },
            vec![3, 4, 5, 6],
        ),
        (
            MemoryFilter {
                end_time: after,
                ..Default::default()
            },
            vec![0, 1, 2],
        ),
        (
            MemoryFilter {
                thread: by_id(uuid::Uuid::new_v4().to_string()),
                ..Default::default()
            },
            vec![],
        ),
    ] {
        let expected: Vec<String> = expected
            .iter()
            .map(|n| format!("Fact number {n}"))
            .collect();
        let search = SearchMemoriesRequest {
            filter: Some(filter.clone()),
            ..memory_search(&app, "ada", "fact", &added.revision)
        };
        let mut found = memory_texts(&client.search_memories(search).await);
        found.sort();
        assert_eq!(found, expected, "{filter:?}");
        let request = ListMemoriesRequest {
            target: target_user(&app, "ada"),
            filter: Some(filter.clone()),
            ..Default::default()
        };
        let listed = client.call(request).await.memories.into_iter().rev();
        let listed: Vec<String> = listed.map(|memory| memory.text).collect();
        assert_eq!(listed, expected, "{filter:?}");
    }
}

#[apply(trial)]
async fn a_search_for_memories_names_a_user_or_an_app() {
    let client = plain().await;
    let app = app();
    let thread = client.thread(&app).await;
    for (target, field) in [(target_thread(thread), "target.thread"), (None, "target")] {
        let search = SearchMemoriesRequest {
            target,
            query: "oolong".to_owned(),
            ..Default::default()
        };
        client.refused(search).await.names_field(field);
    }
}

#[apply(trial)]
async fn the_memories_of_all_users_of_an_app_are_searched_together() {
    let (client, globex) = (acme().await, SHARED.client(Key::Globex).await);
    let (app, other_app) = (app(), app());
    let text = |whose: &str| format!("The oolong of {whose} comes from Taiwan.");
    for (client, app, user) in [(&client, &other_app, "ada"), (&globex, &app, "ada")] {
        client
            .remember(app, user, vec![memory(&text("others"))])
            .await;
    }
    let mut revisions = Vec::new();
    for user in ["ada", "bob", ""] {
        let added = client.remember(&app, user, vec![memory(&text(user))]).await;
        revisions.push(added.revision);
    }
    let mut expected: Vec<String> = ["ada", "bob", ""].map(text).into();
    expected.sort();
    // At once, while they wait to be indexed, and from the index.
    for freshness in ["", &revisions[2]] {
        if !freshness.is_empty() {
            // A revision covers the memories of its user alone.
            for revision in &revisions {
                client
                    .search_memories(memory_search(&app, "", "oolong", revision))
                    .await;
            }
        }
        for method in [
            SearchMethod::Hybrid,
            SearchMethod::Dense,
            SearchMethod::Lexical,
        ] {
            let search = SearchMemoriesRequest {
                target: target_app(&app),
                method: method.into(),
                ..memory_search(&app, "", "Where does the oolong come from?", freshness)
            };
            let found = client.search_memories(search).await;
            // A busy worker may leave some to be matched by word alone.
            let lagging = |degradation: &Degradation| {
                freshness.is_empty() && degradation.reason() == DegradationReason::IndexLagging
            };
            assert!(
                found.degradations.iter().all(lagging),
                "{:?}",
                found.degradations
            );
            let mut found = memory_texts(&found);
            found.sort();
            assert_eq!(found, expected, "{freshness:?} {method:?}");
        }
    }
}

#[apply(trial)]
async fn memories_are_found_by_when_they_happened_and_by_what_held_at_a_time() {
    let client = acme().await;
    let app = app();
    let day = |day: i64| {
        Some(Timestamp {
            seconds: day * 86_400,
            nanos: 0,
        })
    };
    let visit = |number: i64| MemoryInput {
        event_time: day(number),
        ..memory(&format!("Visited town number {number}"))
    };
    let home = |place: &str| memory(&format!("Lives in the town of {place}"));
    let added = client
        .remember(
            &app,
            "ada",
            vec![visit(1), visit(2), visit(3), home("Bonn")],
        )
        .await;
    let bonn = added.memories[3].memory.clone().unwrap();
    let moved = client
        .call(SupersedeMemoryRequest {
            memory_id: bonn.memory_id.clone(),
            replacement: Some(home("Graz")),
        })
        .await;
    let (in_bonn, in_graz) = (bonn.valid_from, moved.superseded.unwrap().valid_until);
    for (filter, expected) in [
        (
            MemoryFilter {
                event_start_time: day(2),
                ..Default::default()
            },
            vec!["Visited town number 2", "Visited town number 3"],
        ),
        (
            MemoryFilter {
                event_start_time: day(1),
                event_end_time: day(3),
                ..Default::default()
            },
            vec!["Visited town number 1", "Visited town number 2"],
        ),
        (
            MemoryFilter {
                as_of: in_bonn,
                ..Default::default()
            },
            vec![
                "Lives in the town of Bonn",
                "Visited town number 1",
                "Visited town number 2",
                "Visited town number 3",
            ],
        ),
        (
            MemoryFilter {
                as_of: in_graz,
                ..Default::default()
            },
            vec![
                "Lives in the town of Graz",
                "Visited town number 1",
                "Visited town number 2",
                "Visited town number 3",
            ],
        ),
        (
            MemoryFilter {
                as_of: day(1),
                ..Default::default()
            },
            vec![],
        ),
        (
            MemoryFilter {
                as_of: Some(Timestamp {
                    seconds: 253_402_300_799,
                    nanos: 999_999_999,
                }),
                ..Default::default()
            },
            vec![
                "Lives in the town of Graz",
                "Visited town number 1",
                "Visited town number 2",
                "Visited town number 3",
            ],
        ),
    ] {
        for freshness in ["", &moved.revision] {
            let search = SearchMemoriesRequest {
                filter: Some(filter.clone()),
                ..memory_search(&app, "ada", "town", freshness)
            };
            let mut found = memory_texts(&client.search_memories(search).await);
            found.sort();
            assert_eq!(found, expected, "{filter:?}");
        }
        let request = ListMemoriesRequest {
            target: target_user(&app, "ada"),
            filter: Some(filter.clone()),
            ..Default::default()
        };
        let listed = client.call(request).await.memories;
        let mut listed: Vec<String> = listed.into_iter().map(|memory| memory.text).collect();
        listed.sort();
        assert_eq!(listed, expected, "{filter:?}");
    }
    let reversed = SearchMemoriesRequest {
        filter: Some(MemoryFilter {
            event_start_time: day(2),
            event_end_time: day(1),
            ..Default::default()
        }),
        ..memory_search(&app, "ada", "town", "")
    };
    let refused = client.refused(reversed).await;
    refused.names_field("filter.event_end_time");
}
