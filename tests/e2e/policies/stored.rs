//! Policies as they are stored, in force at once in every process.

use memory_contract::proto::{
    GetEffectivePolicyRequest, ListAppPoliciesRequest, MemoryMode, MemoryPolicy,
    ResolveThreadRequest, Role,
};
use prost_types::Duration;
use recollect_tests::{
    Cluster, DataDir, Key, Options, PLAIN, Server, app, apply, say, seconds, session, target_app,
    target_thread, trial, trial_with_own_server,
};
use tonic::Code;

use super::{defaults, effective, get, of_thread, recall, set, set_of_thread, window};
use crate::plain;

#[apply(trial_with_own_server)]
async fn a_policy_holds_at_once_in_every_process() {
    let (_cluster, url) = Cluster::migrated().await;
    let dirs = [DataDir::new(), DataDir::new()];
    let servers: Vec<Server> = dirs
        .iter()
        .map(|dir| {
            let options = Options::serve(&url, &["embedding.kind = \"none\""]);
            Server::start(dir, &options.without_worker())
        })
        .collect();
    let here = servers[0].client(Key::Acme).await;
    let there = servers[1].client(Key::Acme).await;
    let thread_id = here.thread("app").await;
    here.append(
        &thread_id,
        (0..9).map(|n| say(Role::User, &format!("m{n}"))).collect(),
    )
    .await;
    for size in 1..=8 {
        let (writer, reader) = if size % 2 == 0 {
            (&here, &there)
        } else {
            (&there, &here)
        };
        set(writer, "app", window(Some(size))).await;
        let recalled = recall(reader, &thread_id).await;
        assert_eq!(recalled.messages.len(), usize::try_from(size).unwrap());
        let reported = of_thread(reader, &thread_id).await.policy.unwrap();
        assert_eq!(reported.window_size, Some(size));
        set_of_thread(writer, &thread_id, Some(window(Some(9 - size)))).await;
        let recalled = recall(reader, &thread_id).await;
        assert_eq!(recalled.messages.len(), usize::try_from(9 - size).unwrap());
        set_of_thread(writer, &thread_id, None).await;
    }
}

#[apply(trial)]
async fn d18_labels_window_and_template_are_stored_and_returned() {
    let client = plain().await;
    let app = app();
    let policy = MemoryPolicy {
        mode: MemoryMode::Node.into(),
        window_enabled: Some(false),
        window_size: Some(500),
        user_label: Some("Kundin ü".to_owned()),
        assistant_label: Some("x".repeat(64)),
        query_prompt_template: Some(
            "{% if name %}{{ name }}{% else %}{{ user_label }}{% endif %}: {{ query }}\n\
             {{ assistant_label }}:"
                .to_owned(),
        ),
        ttl: Some(Duration {
            seconds: 86_400,
            nanos: 500_000_000,
        }),
        node_ttl: Some(seconds(1)),
        ..Default::default()
    };
    let stored = set(&client, &app, policy.clone()).await;
    assert_eq!(
        (stored.app_id.as_str(), stored.policy.as_ref()),
        (app.as_str(), Some(&policy))
    );
    assert!(stored.update_time.is_some());
    assert_eq!(get(&client, &app).await, stored);
    let asked = GetEffectivePolicyRequest {
        target: target_app(&app),
        ..Default::default()
    };
    let holds = effective(&client, asked).await.policy.unwrap();
    assert_eq!(
        holds,
        MemoryPolicy {
            mode: policy.mode,
            window_enabled: policy.window_enabled,
            window_size: policy.window_size,
            user_label: policy.user_label,
            assistant_label: policy.assistant_label,
            query_prompt_template: policy.query_prompt_template,
            ttl: policy.ttl,
            node_ttl: policy.node_ttl,
            ..defaults()
        }
    );
}

#[apply(trial)]
async fn the_ttl_of_the_apps_policy_is_that_of_new_threads() {
    let client = plain().await;
    let app = app();
    let life = async |key: &str, ttl: Option<i64>| {
        let request = ResolveThreadRequest {
            session: Some(session(&app, "ada", key)),
            ttl: ttl.map(|seconds| Duration { seconds, nanos: 0 }),
            ..Default::default()
        };
        let thread = client.call(request).await.thread.unwrap();
        let nanos = |time: prost_types::Timestamp| {
            i128::from(time.seconds) * 1_000_000_000 + i128::from(time.nanos)
        };
        let created = nanos(thread.create_time.unwrap());
        thread.expire_time.map(|time| nanos(time) - created)
    };
    // Both times are taken within one statement.
    let about = |life: Option<i128>, milliseconds: i128| {
        let life = life.unwrap();
        let difference = (life - milliseconds * 1_000_000).abs();
        assert!(difference < 1_000_000_000, "{life}");
    };
    assert_eq!(life("thread:before", None).await, None);
    let policy = MemoryPolicy {
        ttl: Some(Duration {
            seconds: 100,
            nanos: 500_000_000,
        }),
        ..Default::default()
    };
    set(&client, &app, policy).await;
    about(life("thread:after", None).await, 100_500);
    about(life("thread:own", Some(50)).await, 50_000);
    // A thread that is there stays as it is.
    assert_eq!(life("thread:before", None).await, None);
    set(&client, &app, MemoryPolicy::default()).await;
    assert_eq!(life("thread:later", None).await, None);
}

#[apply(trial)]
async fn a_policy_is_replaced_as_a_whole_and_deleted_once() {
    let client = plain().await;
    let app = app();
    let none = get(&client, &app).await;
    assert_eq!(none.policy, Some(MemoryPolicy::default()));
    assert_eq!(none.update_time, None);
    let first = MemoryPolicy {
        top_k: Some(0),
        ..Default::default()
    };
    let second = MemoryPolicy {
        recent_window: Some(0),
        ..Default::default()
    };
    set(&client, &app, first).await;
    set(&client, &app, second.clone()).await;
    assert_eq!(get(&client, &app).await.policy, Some(second));
    let delete = async || client.delete_policy(&app).await.deleted;
    assert!(delete().await);
    assert!(!delete().await);
    assert_eq!(get(&client, &app).await, none);
}

#[apply(trial)]
async fn listing_policies_covers_each_once() {
    let client = plain().await;
    let apps: Vec<String> = (0..5).map(|_| app()).collect();
    for (size, app) in (1..).zip(&apps) {
        set(&client, app, window(Some(size))).await;
    }
    // Setting one again does not move it.
    set(&client, &apps[0], window(Some(9))).await;
    let mut request = ListAppPoliciesRequest {
        page_size: 2,
        page_token: String::new(),
    };
    // Other tests have policies too.
    let mut listed = Vec::new();
    loop {
        let page = client.call(request.clone()).await;
        assert!(page.app_policies.len() <= 2);
        let ours = page.app_policies.into_iter();
        listed.extend(ours.filter(|policy| apps.contains(&policy.app_id)));
        if page.next_page_token.is_empty() {
            break;
        }
        request.page_token = page.next_page_token;
    }
    let names: Vec<&String> = listed.iter().map(|policy| &policy.app_id).collect();
    assert_eq!(names, apps.iter().collect::<Vec<_>>());
    let sizes: Vec<i32> = listed
        .iter()
        .map(|policy| policy.policy.as_ref().unwrap().window_size())
        .collect();
    assert_eq!(sizes, [9, 2, 3, 4, 5]);
    request.page_token = "x".to_owned();
    client.refused(request).await.names_field("page_token");
}

#[apply(trial)]
async fn a_policy_is_its_tenants_own() {
    let (client, globex) = (plain().await, PLAIN.client(Key::Globex).await);
    let app = app();
    let stored = set(&client, &app, window(Some(2))).await;
    assert_eq!(get(&globex, &app).await.update_time, None);
    let deleted = globex.delete_policy(&app).await;
    assert!(!deleted.deleted);
    let theirs = ListAppPoliciesRequest {
        page_size: 500,
        ..Default::default()
    };
    let theirs = globex.call(theirs).await.app_policies;
    assert!(theirs.iter().all(|policy| policy.app_id != app));
    set(&globex, &app, window(Some(3))).await;
    assert_eq!(get(&client, &app).await, stored);

    let thread_id = client.thread(&app).await;
    let request = GetEffectivePolicyRequest {
        target: target_thread(thread_id),
        ..Default::default()
    };
    let refused = globex.refused(request).await;
    refused.is(Code::NotFound, "THREAD_NOT_FOUND");
}
