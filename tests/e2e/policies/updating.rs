//! An update changes the fields of an app's policy that it names, under an etag.

use std::fs;

use memory_contract::proto::{
    AppPolicy, DeleteAppPolicyRequest, ExtractionStrategy, MemoryMode, MemoryPolicy, RecallScope,
    UpdateAppPolicyRequest,
};
use recollect_tests::{
    Client, Dynamic, Key, PLAIN, app, apply, has_etag, is_absent, mask, project_dir, trial,
};
use serde_json::Value;
use tonic::Code;

use super::{get, set};
use crate::plain;

fn change(app: &str, policy: MemoryPolicy, paths: &[&str]) -> UpdateAppPolicyRequest {
    UpdateAppPolicyRequest {
        app_policy: Some(AppPolicy {
            app_id: app.to_owned(),
            policy: Some(policy),
            ..Default::default()
        }),
        update_mask: (!paths.is_empty()).then(|| mask(paths)),
        precondition: None,
    }
}

fn under(etag: &str, mut request: UpdateAppPolicyRequest) -> UpdateAppPolicyRequest {
    request.precondition = match etag {
        "" => None,
        etag => has_etag(etag),
    };
    request
}

async fn update(client: &Client, request: UpdateAppPolicyRequest) -> MemoryPolicy {
    client
        .call(request)
        .await
        .app_policy
        .unwrap()
        .policy
        .unwrap()
}

fn top_k(top_k: i32) -> MemoryPolicy {
    MemoryPolicy {
        top_k: Some(top_k),
        ..Default::default()
    }
}

#[apply(trial)]
async fn without_a_mask_the_fields_that_are_set_change() {
    let client = plain().await;
    let app = app();
    assert_eq!(update(&client, change(&app, top_k(7), &[])).await, top_k(7));
    let labeled = MemoryPolicy {
        mode: MemoryMode::Window.into(),
        user_label: Some("Guest".to_owned()),
        ..Default::default()
    };
    let both = MemoryPolicy {
        top_k: Some(7),
        ..labeled.clone()
    };
    assert_eq!(update(&client, change(&app, labeled, &[])).await, both);
    // False and 0 are values.
    let zero = MemoryPolicy {
        top_k: Some(0),
        summarize: Some(false),
        ..Default::default()
    };
    let all = MemoryPolicy {
        top_k: Some(0),
        summarize: Some(false),
        ..both
    };
    assert_eq!(update(&client, change(&app, zero, &[])).await, all);
    assert_eq!(get(&client, &app).await.policy, Some(all));
}

#[apply(trial)]
async fn a_mask_replaces_the_policy_or_sets_and_clears_single_fields() {
    let client = plain().await;
    let app = app();
    let all = MemoryPolicy {
        mode: MemoryMode::Window.into(),
        recent_window: Some(9),
        ..top_k(7)
    };
    set(&client, &app, all.clone()).await;
    // Only the named fields count, also where others are set or wrong.
    let paths = ["policy.top_k", "policy.mode"];
    let given = MemoryPolicy {
        recent_window: Some(-1),
        user_label: Some("Guest".to_owned()),
        ..top_k(8)
    };
    let expected = MemoryPolicy {
        recent_window: Some(9),
        ..top_k(8)
    };
    let changed = update(&client, change(&app, given, &paths)).await;
    assert_eq!(changed, expected, "the mode is unset, and was cleared");
    // Unset fields of other kinds are cleared too.
    let more = MemoryPolicy {
        scope: RecallScope::User.into(),
        ttl: Some(recollect_tests::seconds(60)),
        query_prompt_template: Some("{{ query }}!".to_owned()),
        ..Default::default()
    };
    update(&client, change(&app, more, &[])).await;
    let paths = ["policy.scope", "policy.ttl", "policy.query_prompt_template"];
    let cleared = update(&client, change(&app, MemoryPolicy::default(), &paths)).await;
    assert_eq!(cleared, expected);
    let replaced = update(&client, change(&app, top_k(1), &["policy"])).await;
    assert_eq!(replaced, top_k(1));
    let emptied = change(&app, MemoryPolicy::default(), &["policy"]);
    assert_eq!(update(&client, emptied).await, MemoryPolicy::default());
}

#[apply(trial)]
async fn concurrent_updates_of_different_fields_all_stay() {
    let client = plain().await;
    let app = app();
    let changes = [
        top_k(3),
        MemoryPolicy {
            recent_window: Some(4),
            ..Default::default()
        },
        MemoryPolicy {
            neighbors_before: Some(5),
            ..Default::default()
        },
        MemoryPolicy {
            neighbors_after: Some(6),
            ..Default::default()
        },
        MemoryPolicy {
            memories_top_k: Some(7),
            ..Default::default()
        },
    ];
    let mut calls = Vec::new();
    for policy in changes {
        let client = PLAIN.client(Key::Acme).await;
        let request = change(&app, policy, &[]);
        calls.push(tokio::spawn(async move { client.call(request).await }));
    }
    for call in calls {
        call.await.unwrap();
    }
    let expected = MemoryPolicy {
        recent_window: Some(4),
        neighbors_before: Some(5),
        neighbors_after: Some(6),
        memories_top_k: Some(7),
        ..top_k(3)
    };
    assert_eq!(get(&client, &app).await.policy, Some(expected));
}

#[apply(trial)]
async fn of_concurrent_updates_under_one_etag_one_succeeds() {
    let client = plain().await;
    let app = app();
    let mut etag = set(&client, &app, top_k(0)).await.etag;
    for round in 1..4 {
        let mut calls = Vec::new();
        for number in 0..6 {
            let client = PLAIN.client(Key::Acme).await;
            let request = under(&etag, change(&app, top_k(round * 10 + number), &[]));
            calls.push(tokio::spawn(async move {
                client.policies().update_app_policy(request).await
            }));
        }
        let (mut won, mut lost) = (Vec::new(), Vec::new());
        for call in calls {
            match call.await.unwrap() {
                Ok(answer) => won.push(answer.into_inner().app_policy.unwrap()),
                Err(status) => lost.push(recollect_tests::Failure::from(status)),
            }
        }
        assert_eq!((won.len(), lost.len()), (1, 5));
        let winner = won.remove(0);
        assert_eq!(get(&client, &app).await, winner);
        for failure in lost {
            let failure = failure.is(Code::Aborted, "ETAG_CHANGED");
            assert_eq!(failure.metadata["etag"], winner.etag);
        }
        assert_ne!(winner.etag, etag);
        etag = winner.etag;
    }
}

#[apply(trial)]
async fn an_etag_names_a_state_and_an_asterisk_any_state() {
    let client = plain().await;
    let app = app();
    let none = get(&client, &app).await;
    assert_eq!(none.etag, "");
    let update = |etag: &str| under(etag, change(&app, top_k(1), &[]));
    let refused = async |etag: &str| {
        let answer = client.refused(update(etag)).await;
        answer.is(Code::Aborted, "ETAG_CHANGED").metadata["etag"].clone()
    };
    assert_eq!(refused("*").await, "", "the app has no policy");
    assert_eq!(refused("x").await, "");
    let first = client.call(update("")).await.app_policy.unwrap();
    assert_eq!(get(&client, &app).await, first);
    let second = client.call(update("*")).await.app_policy.unwrap();
    assert_ne!(second.etag, first.etag, "each update changes it");
    assert_eq!(refused(&first.etag).await, second.etag);

    let delete = |etag: &str| DeleteAppPolicyRequest {
        app_id: app.clone(),
        precondition: match etag {
            "" => None,
            etag => has_etag(etag),
        },
    };
    let stale = client.refused(delete(&first.etag)).await;
    let stale = stale.is(Code::Aborted, "ETAG_CHANGED");
    assert_eq!(stale.metadata["etag"], second.etag);
    assert_eq!(get(&client, &app).await, second);
    assert!(client.call(delete(&second.etag)).await.deleted);
    for etag in ["*", &second.etag] {
        let gone = client.refused(delete(etag)).await;
        gone.is(Code::Aborted, "ETAG_CHANGED");
    }
    assert!(!client.call(delete("")).await.deleted);
    // A new policy has another etag.
    let third = client.call(update("")).await.app_policy.unwrap();
    assert_ne!(third.etag, second.etag);
    assert_eq!(refused(&second.etag).await, third.etag);
    // An etag within the policy is no condition.
    let mut other = change(&app, top_k(2), &[]);
    other.app_policy.as_mut().unwrap().etag = second.etag;
    let fourth = client.call(other).await.app_policy.unwrap();
    assert_ne!(fourth.etag, third.etag);
    // An app without a policy may be required.
    let absent = || UpdateAppPolicyRequest {
        precondition: is_absent(),
        ..change(&app, top_k(3), &[])
    };
    let there = client.refused(absent()).await;
    let there = there.is(Code::Aborted, "ETAG_CHANGED");
    assert_eq!(there.metadata["etag"], fourth.etag);
    client.delete_policy(&app).await;
    client.call(absent()).await;
}

#[apply(trial)]
async fn wrong_updates_are_refused_with_their_fields() {
    let client = plain().await;
    let app = app();
    let stored = set(&client, &app, top_k(2)).await;
    let wrong = async |request: UpdateAppPolicyRequest, field: &str| {
        client.refused(request).await.names_field(field)
    };
    let unknown = [
        "app_id",
        "etag",
        "*",
        "policy.",
        "policy.nothing",
        "policy.top_k.x",
        "",
    ];
    for path in unknown {
        wrong(change(&app, top_k(3), &[path]), "update_mask.paths[0]").await;
    }
    let second = change(&app, top_k(3), &["policy.top_k", "policy.nothing"]);
    let failure = wrong(second, "update_mask.paths[1]").await;
    assert!(failure.message.contains("neighbors_before"), "{failure:?}");
    let many = vec!["policy"; 33];
    wrong(change(&app, top_k(3), &many), "update_mask").await;
    wrong(change(&app, MemoryPolicy::default(), &[]), "update_mask").await;
    wrong(change("", top_k(3), &[]), "app_policy.app_id").await;
    let long = "x".repeat(129);
    wrong(
        under(&long, change(&app, top_k(3), &[])),
        "precondition.etag",
    )
    .await;
    let masks: [&[&str]; 3] = [&[], &["policy"], &["policy.top_k"]];
    for paths in masks {
        let request = change(&app, top_k(101), paths);
        wrong(request, "app_policy.policy.top_k").await;
    }
    assert_eq!(get(&client, &app).await, stored);
}

#[apply(trial)]
async fn the_policies_of_the_documentation_do_not_overwrite_each_other() {
    let client = plain().await;
    let app = app();
    for (page, policies) in [("hybrid", 1), ("long-term", 2)] {
        let page = project_dir().join(format!("docs/memory/{page}.md"));
        let text = fs::read_to_string(page).unwrap();
        let commands = text.split("grpcurl -plaintext -d '").skip(1);
        let mut updates = 0;
        for command in commands {
            let (request, rest) = command.split_once("' ").unwrap();
            let method = rest.split_whitespace().nth(2).unwrap();
            if method != "recollect.v1.PolicyService/UpdateAppPolicy" {
                continue;
            }
            let mut request: Value = serde_json::from_str(request).unwrap();
            request["app_policy"]["app_id"] = app.clone().into();
            let method = "PolicyService/UpdateAppPolicy";
            Dynamic::call(&client, method, request).await.unwrap();
            updates += 1;
        }
        assert_eq!(updates, policies);
    }
    let expected = MemoryPolicy {
        scope: RecallScope::Thread.into(),
        extraction: ExtractionStrategy::Discrete.into(),
        profile_tokens: Some(500),
        ..Default::default()
    };
    assert_eq!(get(&client, &app).await.policy, Some(expected));
}
