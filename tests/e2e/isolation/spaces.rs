//! Apps that share a memory space share what a user said and what is known of the user, and
//! nothing else.

use memory_contract::proto::{
    AppPolicy, BuildContextRequest, DeleteAppPolicyRequest, MemoryPolicy, RecallRequest,
    RecallScope, SearchRequest, UpdateAppPolicyRequest,
};
use recollect_tests::{
    Client, Key, SHARED, app, apply, by_session, context_request, eventual, known_texts, mask,
    memory, memory_search, memory_texts, quoted_texts, recall_request, search_request, session,
    target_user, texts, trial,
};

use crate::acme;

/// Puts an app into a space.
async fn join(client: &Client, app: &str, space: &str) {
    let policy = MemoryPolicy {
        memory_space: Some(space.to_owned()),
        ..Default::default()
    };
    client.set_policy(app, policy).await;
}

/// A thread of a user that says where the boat is, and a memory of it. Both are in the
/// index when this returns.
async fn moored(client: &Client, app: &str, user: &str, place: &str) -> String {
    let thread_id = client.thread_of(app, user).await;
    let said = format!("The boat is moored in {place}.");
    let stored = client.append_text(&thread_id, &said).await;
    let search = search_request(&thread_id, "boat", &stored.revision);
    assert_eq!(texts(&client.search(search).await.matches), [said]);
    let fact = format!("Keeps a boat in {place}.");
    let added = client.remember(app, user, vec![memory(&fact)]).await;
    let search = memory_search(app, user, "boat", &added.revision);
    let found = memory_texts(&client.search_memories(search).await);
    assert!(found.contains(&fact), "{found:?}");
    thread_id
}

/// The places that any search from a thread finds: by every method, in recall, in contexts
/// and among memories. All of them find the same.
async fn places(client: &Client, app: &str, user: &str, thread_id: &str) -> Vec<String> {
    let named = |texts: Vec<String>, before: &str| {
        let mut places: Vec<String> = texts
            .iter()
            .filter_map(|text| Some(text.strip_prefix(before)?.strip_suffix('.')?.to_owned()))
            .collect();
        places.sort();
        places.dedup();
        places
    };
    let said = |texts| named(texts, "The boat is moored in ");
    let known = |texts| named(texts, "Keeps a boat in ");
    let question = "Where is the boat moored?";
    let recall = RecallRequest {
        all_branches: true,
        explain: true,
        ..recall_request(thread_id, question, "")
    };
    let found = said(texts(&client.recall(recall.clone()).await.messages));
    for method in [1, 2, 3] {
        for freshness in [None, eventual()] {
            let search = SearchRequest {
                scope: RecallScope::Unspecified.into(),
                method,
                freshness,
                top_k: Some(100),
                all_branches: true,
                ..search_request(thread_id, question, "")
            };
            let again = said(texts(&client.search(search).await.matches));
            assert_eq!(again, found, "method {method}");
        }
        let mut memories = memory_search(app, user, question, "");
        memories.method = method;
        memories.top_k = Some(100);
        let again = known(memory_texts(&client.search_memories(memories).await));
        if !user.is_empty() {
            assert_eq!(again, found, "memories by method {method}");
        }
    }
    if !user.is_empty() {
        let recall = RecallRequest {
            target: target_user(app, user),
            ..recall
        };
        assert_eq!(said(texts(&client.recall(recall).await.messages)), found);
    }
    let request = BuildContextRequest {
        thread: by_session(session(app, user, "thread:not-begun")),
        ..context_request("", question)
    };
    let context = client.context(request).await;
    if !user.is_empty() {
        assert_eq!(said(quoted_texts(&context)), found, "a new session");
        assert_eq!(known(known_texts(&context)), found, "a new session");
    }
    let context = client.context(context_request(thread_id, question)).await;
    if !user.is_empty() {
        assert_eq!(known(known_texts(&context)), found, "contexts");
    }
    found
}

#[apply(trial)]
async fn t15_apps_that_share_a_space_share_the_memory_of_each_user_alone() {
    let client = acme().await;
    let space = format!("space-{}", app());
    let (one, two, other, alone) = (app(), app(), app(), app());
    join(&client, &one, &space).await;
    join(&client, &two, &space).await;
    join(&client, &other, &format!("{space}-other")).await;
    let in_one = moored(&client, &one, "ada", "Bergen").await;
    let in_two = moored(&client, &two, "ada", "Oslo").await;
    let bobs = moored(&client, &two, "bob", "Malmo").await;
    let nobodys = client
        .resolve(session(&two, "", "thread:1"))
        .await
        .thread_id;
    client
        .append_text(&nobodys, "The boat is moored in Visby.")
        .await;
    let elsewhere = moored(&client, &other, "ada", "Turku").await;
    let apart = moored(&client, &alone, "ada", "Riga").await;
    // Another tenant uses the same names of space, app and user.
    let globex = SHARED.client(Key::Globex).await;
    join(&globex, &one, &space).await;
    join(&globex, &two, &space).await;
    let foreign = moored(&globex, &two, "ada", "Gdansk").await;

    let both = ["Bergen", "Oslo"];
    assert_eq!(places(&client, &one, "ada", &in_one).await, both);
    assert_eq!(places(&client, &two, "ada", &in_two).await, both);
    assert_eq!(places(&client, &two, "bob", &bobs).await, ["Malmo"]);
    assert_eq!(places(&client, &two, "", &nobodys).await, ["Visby"]);
    assert_eq!(places(&client, &other, "ada", &elsewhere).await, ["Turku"]);
    assert_eq!(places(&client, &alone, "ada", &apart).await, ["Riga"]);
    assert_eq!(places(&globex, &two, "ada", &foreign).await, ["Gdansk"]);

    // What has not been indexed yet is shared, too.
    client
        .append_text(&in_two, "The spare anchor lies in shed 9.")
        .await;
    let request = recall_request(&in_one, "Where does the spare anchor lie?", "");
    let found = texts(&client.recall(request).await.messages);
    assert!(found.contains(&"The spare anchor lies in shed 9.".to_owned()));

    // A request narrows the search, and nothing widens it for an app outside.
    for (thread_id, scope, expected) in [
        (&in_one, RecallScope::Thread, vec!["Bergen"]),
        (&in_one, RecallScope::User, vec!["Bergen"]),
        (&in_one, RecallScope::Space, vec!["Bergen", "Oslo"]),
        (&apart, RecallScope::Space, vec!["Riga"]),
    ] {
        let search = SearchRequest {
            scope: scope.into(),
            ..search_request(thread_id, "boat moored", "")
        };
        let mut found = texts(&client.search(search).await.matches);
        found.retain(|text| text.starts_with("The boat"));
        found.sort();
        let expected = expected.iter();
        let expected: Vec<String> = expected
            .map(|place| format!("The boat is moored in {place}."))
            .collect();
        assert_eq!(found, expected, "{scope:?}");
    }

    // The sessions of the apps stay apart, also under the same key.
    let key = "thread:same";
    let mine = client.resolve(session(&one, "ada", key)).await;
    let theirs = client.resolve(session(&two, "ada", key)).await;
    assert_ne!(mine.thread_id, theirs.thread_id);
    client
        .append_text(&theirs.thread_id, "Only in the other.")
        .await;
    assert!(client.all_messages(&mine.thread_id).await.is_empty());
}

#[apply(trial)]
async fn t15_an_app_that_leaves_a_space_is_not_searched_any_more_at_once() {
    let client = acme().await;
    let space = format!("space-{}", app());
    let (one, two) = (app(), app());
    let in_one = moored(&client, &one, "ada", "Bergen").await;
    let in_two = moored(&client, &two, "ada", "Oslo").await;
    for leave in 0..4 {
        join(&client, &one, &space).await;
        join(&client, &two, &space).await;
        assert_eq!(places(&client, &one, "ada", &in_one).await.len(), 2);
        match leave {
            0 => join(&client, &two, &format!("{space}-other")).await,
            1 => {
                let clear = UpdateAppPolicyRequest {
                    app_policy: Some(AppPolicy {
                        app_id: two.clone(),
                        ..Default::default()
                    }),
                    update_mask: Some(mask(&["policy.memory_space"])),
                    precondition: None,
                };
                client.call(clear).await;
            }
            2 => {
                client.set_policy(&two, MemoryPolicy::default()).await;
            }
            _ => {
                let delete = DeleteAppPolicyRequest {
                    app_id: two.clone(),
                    ..Default::default()
                };
                client.call(delete).await;
            }
        }
        assert_eq!(places(&client, &one, "ada", &in_one).await, ["Bergen"]);
        assert_eq!(places(&client, &two, "ada", &in_two).await, ["Oslo"]);
    }
}

#[apply(trial)]
async fn a_space_has_at_most_a_hundred_apps() {
    let client = acme().await;
    let space = format!("space-{}", app());
    let apps: Vec<String> = (0..100).map(|_| app()).collect();
    for app in &apps {
        join(&client, app, &space).await;
    }
    let late = app();
    let field = "app_policy.policy.memory_space";
    let request = |app: &str, top_k: Option<i32>| UpdateAppPolicyRequest {
        app_policy: Some(AppPolicy {
            app_id: app.to_owned(),
            policy: Some(MemoryPolicy {
                memory_space: Some(space.clone()),
                top_k,
                ..Default::default()
            }),
            ..Default::default()
        }),
        ..Default::default()
    };
    let refused = client.refused(request(&late, None)).await;
    refused.names_field(field);
    // An app of the space may still change its policy.
    client.call(request(&apps[7], Some(3))).await;
    let left = DeleteAppPolicyRequest {
        app_id: apps[7].clone(),
        ..Default::default()
    };
    client.call(left).await;
    join(&client, &late, &space).await;
    client
        .refused(request(&apps[7], None))
        .await
        .names_field(field);
}
