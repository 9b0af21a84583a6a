//! Memories have two times: when they were true, and when they were known.

use memory_contract::proto::{
    BuildContextRequest, ExtractionStrategy, GetProfileRequest, ListMemoriesRequest, Memory,
    MemoryFilter, MemoryInput, MemoryMode, MemoryPolicy, MessageInput, Role, SearchMemoriesRequest,
    Target,
};
use prost_types::Timestamp;
use recollect_tests::{
    Client, app, apply, context_request, known_texts, memory, memory_search, memory_texts, of_user,
    profile_texts, say, target_app, target_user, trial,
};

use super::supersede;
use crate::{acme, plain};

/// A day of March 2024.
fn march(day: i64) -> Option<Timestamp> {
    Some(Timestamp {
        seconds: 1_709_164_800 + day * 86_400,
        nanos: 0,
    })
}

fn at(as_of: Option<Timestamp>, known_at: Option<Timestamp>) -> MemoryFilter {
    MemoryFilter {
        as_of,
        known_at,
        ..Default::default()
    }
}

async fn listed(client: &Client, target: Option<Target>, filter: &MemoryFilter) -> Vec<String> {
    let request = ListMemoriesRequest {
        target,
        filter: Some(filter.clone()),
        ..Default::default()
    };
    let memories = client.call(request).await.memories;
    let mut texts: Vec<String> = memories.into_iter().map(|memory| memory.text).collect();
    texts.sort();
    texts
}

/// What a profile says, in the order of its page.
async fn profiled(client: &Client, app: &str, filter: &MemoryFilter) -> Vec<String> {
    let request = GetProfileRequest {
        user: of_user(app, "ada"),
        as_of: filter.as_of,
        known_at: filter.known_at,
        ..Default::default()
    };
    let profile = client.call(request).await;
    assert_eq!(profile.omitted_count, 0, "{filter:?}");
    let entries = profile.entries.into_iter();
    entries.map(|entry| entry.text).collect()
}

/// What a context has in its profile of a size, and as matching memories.
async fn compiled(
    client: &Client,
    thread_id: &str,
    filter: &MemoryFilter,
    mode: MemoryMode,
    profile_tokens: i32,
) -> [Vec<String>; 2] {
    let request = BuildContextRequest {
        policy: Some(MemoryPolicy {
            mode: mode.into(),
            profile_tokens: Some(profile_tokens),
            ..Default::default()
        }),
        as_of: filter.as_of,
        known_at: filter.known_at,
        ..context_request(thread_id, "Which town is it?")
    };
    let context = client.context(request).await;
    [profile_texts(&context), known_texts(&context)]
}

/// Something that was said on a day, and the id of the message.
async fn said_on(client: &Client, thread_id: &str, day: i64, text: &str) -> String {
    let message = MessageInput {
        name: "Ada".to_owned(),
        create_time: march(day),
        ..say(Role::User, text)
    };
    let appended = client.append(thread_id, vec![message]).await;
    appended.messages[0].message_id.clone()
}

#[apply(trial)]
async fn f05_each_read_of_memories_selects_what_was_true_and_known_at_a_time() {
    let client = acme().await;
    let app = app();
    let thread_id = client.thread_of(&app, "ada").await;
    let mut homes = Vec::new();
    for (day, text) in [(10, "My town is Bonn."), (20, "My town is Graz.")] {
        let message = said_on(&client, &thread_id, day, text).await;
        homes.push(MemoryInput {
            source_message_ids: vec![message],
            ..memory(text)
        });
    }
    let [in_bonn, in_graz] = ["My town is Bonn.", "My town is Graz."];
    let added = client.remember(&app, "ada", vec![homes[0].clone()]).await;
    let bonn = added.memories[0].memory.clone().unwrap();
    let moved = supersede(&client, &bonn.memory_id, homes[1].clone()).await;
    let (graz, bonn) = (moved.memory.unwrap(), moved.superseded.unwrap());
    assert_eq!((bonn.valid_from, bonn.valid_until), (march(10), march(20)));
    assert_eq!((graz.valid_from, graz.valid_until), (march(20), None));
    // The second was known when the first was no longer believed.
    assert_eq!(
        (bonn.known_until, graz.known_until),
        (graz.create_time, None)
    );
    // A memory comes with the periods of those that it superseded.
    let (newest, former) = client.get_memory(&graz.memory_id).await;
    let periods = |memory: &Memory| {
        let true_in = (memory.valid_from, memory.valid_until);
        (true_in, memory.create_time, memory.known_until)
    };
    assert_eq!(periods(&newest), periods(&graz));
    let former: Vec<_> = former.iter().map(periods).collect();
    assert_eq!(former, [periods(&bonn)]);
    let later = client.thread_of(&app, "ada").await;

    let (first, second) = (bonn.create_time, graz.create_time);
    for (as_of, known_at, expected) in [
        (None, None, vec![in_graz]),
        (march(5), None, vec![]),
        (march(15), None, vec![in_bonn]),
        (march(25), None, vec![in_graz]),
        (None, march(25), vec![]),
        (None, first, vec![in_bonn]),
        (None, second, vec![in_graz]),
        (march(15), first, vec![in_bonn]),
        (march(25), first, vec![in_bonn]),
        (march(15), second, vec![in_bonn]),
        (march(25), second, vec![in_graz]),
        (march(25), march(25), vec![]),
    ] {
        let filter = at(as_of, known_at);
        for target in [target_user(&app, "ada"), target_app(&app)] {
            let found = listed(&client, target.clone(), &filter).await;
            assert_eq!(found, expected, "{filter:?}");
            // Before and after the index has them.
            for revision in ["", &moved.revision] {
                let search = SearchMemoriesRequest {
                    target: target.clone(),
                    filter: Some(filter.clone()),
                    ..memory_search(&app, "ada", "town", revision)
                };
                let found = memory_texts(&client.search_memories(search).await);
                assert_eq!(found, expected, "{filter:?}");
            }
        }
        let page = profiled(&client, &app, &filter).await;
        assert_eq!(page, expected, "{filter:?}");
        let nothing: [&str; 0] = [];
        for mode in [
            MemoryMode::Hybrid,
            MemoryMode::Working,
            MemoryMode::Observational,
        ] {
            let [profile, matching] = compiled(&client, &later, &filter, mode, 0).await;
            assert_eq!(profile, nothing, "{mode:?} {filter:?}");
            assert_eq!(matching, expected, "{mode:?} {filter:?}");
            let [profile, matching] = compiled(&client, &later, &filter, mode, 500).await;
            assert_eq!(profile, expected, "{mode:?} {filter:?}");
            assert_eq!(matching, nothing, "{mode:?} {filter:?}");
        }
        let [profile, _] = compiled(&client, &later, &filter, MemoryMode::Window, 500).await;
        assert_eq!(profile, expected, "{filter:?}");
    }
}

#[apply(trial)]
async fn f05_a_wrong_time_is_refused_by_the_name_of_its_field() {
    let client = plain().await;
    let app = app();
    let thread_id = client.thread_of(&app, "ada").await;
    let wrong = Some(Timestamp {
        seconds: 0,
        nanos: -1,
    });
    for (field, filter) in [("as_of", at(wrong, None)), ("known_at", at(None, wrong))] {
        let profile = GetProfileRequest {
            user: of_user(&app, "ada"),
            as_of: filter.as_of,
            known_at: filter.known_at,
            ..Default::default()
        };
        client.refused(profile).await.names_field(field);
        let context = BuildContextRequest {
            as_of: filter.as_of,
            known_at: filter.known_at,
            ..context_request(&thread_id, "Which town is it?")
        };
        client.refused(context).await.names_field(field);
        let of_filter = format!("filter.{field}");
        let list = ListMemoriesRequest {
            target: target_user(&app, "ada"),
            filter: Some(filter.clone()),
            ..Default::default()
        };
        client.refused(list).await.names_field(&of_filter);
        let search = SearchMemoriesRequest {
            filter: Some(filter),
            ..memory_search(&app, "ada", "town", "")
        };
        client.refused(search).await.names_field(&of_filter);
    }
}

#[apply(trial)]
async fn f05_what_a_newer_memory_refutes_was_never_true_but_was_believed() {
    let client = plain().await;
    let app = app();
    let thread_id = client.thread_of(&app, "ada").await;
    let said = said_on(&client, &thread_id, 10, "I have always lived in Wels.").await;
    let linz = client.remember_one(&app, "ada", "Lives in Linz.").await;
    let always = MemoryInput {
        source_message_ids: vec![said],
        ..memory("Lives in Wels.")
    };
    let refuted = supersede(&client, &linz.memory_id, always).await;
    let (wels, linz) = (refuted.memory.unwrap(), refuted.superseded.unwrap());
    assert_eq!(wels.valid_from, march(10));
    assert_eq!(linz.valid_until, linz.valid_from);
    assert_eq!(linz.known_until, wels.create_time);
    let ada = target_user(&app, "ada");
    let then = linz.create_time;
    for (filter, expected) in [
        (at(then, None), "Lives in Wels."),
        (at(None, then), "Lives in Linz."),
        (at(then, then), "Lives in Linz."),
        (at(then, linz.known_until), "Lives in Wels."),
    ] {
        assert_eq!(
            listed(&client, ada.clone(), &filter).await,
            [expected],
            "{filter:?}"
        );
        let page = profiled(&client, &app, &filter).await;
        assert_eq!(page, [expected], "{filter:?}");
    }
}

/// The oldest first.
async fn known(client: &Client, app: &str) -> Vec<Memory> {
    let mut known = client.all_memories(app, "ada").await;
    known.reverse();
    known
}

#[apply(trial)]
async fn f06_a_fact_that_becomes_true_again_gets_a_second_period() {
    let client = plain().await;
    let app = app();
    let policy = MemoryPolicy {
        extraction: ExtractionStrategy::Discrete.into(),
        ..Default::default()
    };
    client.set_policy(&app, policy).await;
    let thread_id = client.thread_of(&app, "ada").await;
    for (day, text) in [
        (10, "I live in Bonn."),
        (20, "I live in Graz."),
        (30, "I live in Bonn."),
    ] {
        said_on(&client, &thread_id, day, text).await;
        client.extracted(&thread_id).await;
    }
    let known = known(&client, &app).await;
    let [first, graz, second] = known.as_slice() else {
        panic!("{known:#?}");
    };
    assert_eq!(first.text, second.text);
    assert_ne!(first.memory_id, second.memory_id);
    for (memory, from, until) in [
        (first, march(10), march(20)),
        (graz, march(20), march(30)),
        (second, march(30), None),
    ] {
        assert_eq!((memory.valid_from, memory.valid_until), (from, until));
        assert_eq!(memory.known_until.is_some(), until.is_some());
    }
    let ada = target_user(&app, "ada");
    for (day, expected) in [(15, first), (25, graz), (35, second)] {
        let filter = at(march(day), None);
        let found = listed(&client, ada.clone(), &filter).await;
        assert_eq!(found, [expected.text.as_str()], "{day}");
    }
}

#[apply(trial)]
async fn f06_a_superseded_text_that_is_added_again_is_a_new_memory() {
    let client = plain().await;
    let app = app();
    let paris = client.remember_one(&app, "ada", "Lives in Paris.").await;
    let rome = supersede(&client, &paris.memory_id, memory("Lives in Rome.")).await;
    let rome = rome.memory.unwrap();
    let again = client
        .remember(&app, "ada", vec![memory("lives in Paris")])
        .await;
    assert!(again.memories[0].created);
    let again = again.memories[0].memory.clone().unwrap();
    assert_ne!(again.memory_id, paris.memory_id);
    // It has the place of the one that it contradicts once a caller says so.
    supersede(&client, &rome.memory_id, memory("Lives in Paris.")).await;
    let known = known(&client, &app).await;
    let periods = known.iter().map(|one| (one.valid_from, one.valid_until));
    let (paris, rome) = (paris.valid_from, rome.valid_from);
    assert_eq!(
        periods.collect::<Vec<_>>(),
        [
            (paris, rome),
            (rome, again.valid_from),
            (again.valid_from, None)
        ]
    );
}
