//! Policies: what an app, a thread and a request say of memory, and what holds.

use memory_contract::proto::{
    AppPolicy, DeleteAppPolicyRequest, EffectivePolicy, ExtractionStrategy, GetAppPolicyRequest,
    GetEffectivePolicyRequest, ListAppPoliciesRequest, MemoryMode, MemoryPolicy, PolicyLevel,
    RecallMode, RecallReason, RecallRequest, RecallResponse, RecallScope, ResolveThreadRequest,
    Role, SetAppPolicyRequest, Thread, UpdateThreadRequest, UserRef,
};
use prost_types::{Duration, FieldMask};
use recollect_tests::{
    Client, Cluster, DataDir, Key, Options, PLAIN, Refused as _, Server, app, has_reason,
    recall_request, recollect, say, session, texts, trials,
};
use tonic::Code;

use crate::plain;

trials![
    a_policy_holds_at_once_in_every_process,
    l08_memory_is_on_without_any_policy,
    t03_the_window_size_of_the_most_specific_policy_holds,
    t12_each_request_has_one_effective_policy_and_tells_it,
    t13_a_policy_can_switch_the_memory_off,
    d18_labels_window_and_template_are_stored_and_told,
    d18_a_template_that_could_fail_is_refused_when_it_is_set,
    a_policy_beyond_its_limits_names_the_field,
    what_a_level_may_not_say_is_refused,
    the_scope_of_a_policy_bounds_recall,
    the_ttl_of_the_apps_policy_is_that_of_new_threads,
    a_policy_is_replaced_as_a_whole_and_deleted_once,
    listing_policies_covers_each_once,
    a_policy_is_its_tenants_own,
    the_effective_policy_is_asked_for_in_one_way,
];

async fn set(client: &Client, app: &str, policy: MemoryPolicy) -> AppPolicy {
    let request = SetAppPolicyRequest {
        app_id: app.to_owned(),
        policy: Some(policy),
    };
    let answer = client.policies().set_app_policy(request).await.unwrap();
    answer.into_inner().app_policy.unwrap()
}

async fn get(client: &Client, app: &str) -> AppPolicy {
    let request = GetAppPolicyRequest {
        app_id: app.to_owned(),
    };
    let answer = client.policies().get_app_policy(request).await.unwrap();
    answer.into_inner().app_policy.unwrap()
}

async fn set_of_thread(client: &Client, thread_id: &str, policy: Option<MemoryPolicy>) -> Thread {
    let request = UpdateThreadRequest {
        thread_id: thread_id.to_owned(),
        policy,
        update_mask: Some(FieldMask {
            paths: vec!["policy".to_owned()],
        }),
        ..Default::default()
    };
    let answer = client.threads().update_thread(request).await.unwrap();
    answer.into_inner().thread.unwrap()
}

async fn effective(client: &Client, request: GetEffectivePolicyRequest) -> EffectivePolicy {
    let answer = client.policies().get_effective_policy(request).await;
    answer.unwrap().into_inner().effective_policy.unwrap()
}

async fn of_thread(client: &Client, thread_id: &str) -> EffectivePolicy {
    let request = GetEffectivePolicyRequest {
        thread_id: thread_id.to_owned(),
        ..Default::default()
    };
    effective(client, request).await
}

fn origins(effective: &EffectivePolicy) -> Vec<(&str, PolicyLevel)> {
    let origins = effective.origins.iter();
    origins
        .map(|origin| (origin.field.as_str(), origin.level()))
        .collect()
}

/// What holds where nobody says anything.
fn defaults() -> MemoryPolicy {
    MemoryPolicy {
        mode: MemoryMode::Hybrid.into(),
        window_enabled: Some(true),
        window_size: Some(20),
        recent_window: Some(4),
        top_k: Some(5),
        neighbours_before: Some(2),
        neighbours_after: Some(1),
        min_score: Some(0.0),
        scope: RecallScope::Thread.into(),
        user_label: Some("Human".to_owned()),
        assistant_label: Some("Assistant".to_owned()),
        query_prompt_template: None,
        shared_session_default: Some(false),
        extraction: ExtractionStrategy::None.into(),
        ttl: None,
        node_ttl: None,
    }
}

fn window(size: Option<i32>) -> MemoryPolicy {
    MemoryPolicy {
        mode: MemoryMode::Window.into(),
        window_size: size,
        ..Default::default()
    }
}

async fn a_policy_holds_at_once_in_every_process() {
    let cluster = Cluster::start().await;
    let url = cluster.url();
    recollect(&["migrate"], &[("DATABASE_URL", &url)]).ok();
    let dirs = [DataDir::new(), DataDir::new()];
    let servers: Vec<Server> = dirs
        .iter()
        .map(|dir| {
            let options = Options {
                command: "serve",
                env: vec![("DATABASE_URL".to_owned(), url.clone())],
                args: vec!["--no-worker".to_owned()],
                // No index is needed here, and without a worker it cannot be an
                // embedded one.
                ..Options::with(&[
                    "embedding.kind = \"none\"",
                    "index.url = \"http://127.0.0.1:1\"",
                ])
            };
            Server::start(dir, &options)
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
        let told = of_thread(reader, &thread_id).await.policy.unwrap();
        assert_eq!(told.window_size, Some(size));
        set_of_thread(writer, &thread_id, Some(window(Some(9 - size)))).await;
        let recalled = recall(reader, &thread_id).await;
        assert_eq!(recalled.messages.len(), usize::try_from(9 - size).unwrap());
        set_of_thread(writer, &thread_id, None).await;
    }
}

async fn recall(client: &Client, thread_id: &str) -> RecallResponse {
    let request = RecallRequest {
        thread_id: thread_id.to_owned(),
        ..Default::default()
    };
    client.recall(request).await
}

async fn l08_memory_is_on_without_any_policy() {
    let client = plain().await;
    let app = app();
    let thread_id = client.thread(&app).await;
    let holds = of_thread(&client, &thread_id).await;
    assert_eq!(holds.policy, Some(defaults()));
    assert_eq!(origins(&holds), []);
    client
        .append(&thread_id, vec![say(Role::User, "Hello")])
        .await;
    let recalled = recall(&client, &thread_id).await;
    assert_eq!(texts(&recalled.messages), ["Hello"]);
    assert_eq!(recalled.effective_policy, Some(holds));
}

async fn t03_the_window_size_of_the_most_specific_policy_holds() {
    let client = plain().await;
    let app = app();
    let thread_id = client.thread(&app).await;
    let messages: Vec<String> = (0..30).map(|number| format!("m{number}")).collect();
    client
        .append(
            &thread_id,
            messages.iter().map(|text| say(Role::User, text)).collect(),
        )
        .await;
    let check = async |request: Option<i32>, count: usize, told: &[(&str, PolicyLevel)]| {
        let request = RecallRequest {
            thread_id: thread_id.clone(),
            recent_window: request,
            ..Default::default()
        };
        let recalled = client.recall(request).await;
        // The oldest are dropped.
        assert_eq!(texts(&recalled.messages), messages[30 - count..]);
        let holds = recalled.effective_policy.unwrap();
        assert_eq!(origins(&holds), told);
        let bounded = holds.policy.unwrap();
        if bounded.window_enabled() {
            assert_eq!(bounded.window_size(), i32::try_from(count).unwrap());
        }
    };
    use PolicyLevel::{App, Request, Thread};

    set(&client, &app, window(None)).await;
    check(None, 20, &[("mode", App)]).await;
    set(&client, &app, window(Some(3))).await;
    check(None, 3, &[("mode", App), ("window_size", App)]).await;
    let of_thread = MemoryPolicy {
        window_size: Some(2),
        ..Default::default()
    };
    let thread = set_of_thread(&client, &thread_id, Some(of_thread.clone())).await;
    assert_eq!(thread.policy, Some(of_thread));
    check(None, 2, &[("mode", App), ("window_size", Thread)]).await;
    check(Some(1), 1, &[("mode", App), ("window_size", Request)]).await;
    check(Some(29), 29, &[("mode", App), ("window_size", Request)]).await;

    // Without a window only the budget bounds; a request that names a size has
    // one.
    let unbounded = MemoryPolicy {
        window_enabled: Some(false),
        ..Default::default()
    };
    set_of_thread(&client, &thread_id, Some(unbounded)).await;
    let off = [
        ("mode", App),
        ("window_enabled", Thread),
        ("window_size", App),
    ];
    check(None, 30, &off).await;
    let asked = [
        ("mode", App),
        ("window_enabled", Request),
        ("window_size", Request),
    ];
    check(Some(5), 5, &asked).await;

    let thread = set_of_thread(&client, &thread_id, None).await;
    assert_eq!(thread.policy, None);
    check(None, 3, &[("mode", App), ("window_size", App)]).await;
}

async fn t12_each_request_has_one_effective_policy_and_tells_it() {
    let client = plain().await;
    let app = app();
    set(
        &client,
        &app,
        MemoryPolicy {
            top_k: Some(7),
            neighbours_before: Some(0),
            min_score: Some(0.25),
            extraction: ExtractionStrategy::Summary.into(),
            ..Default::default()
        },
    )
    .await;
    let request = ResolveThreadRequest {
        session: Some(session(&app, "ada", "thread:1")),
        policy: Some(MemoryPolicy {
            top_k: Some(8),
            neighbours_after: Some(3),
            ..Default::default()
        }),
        ..Default::default()
    };
    let thread = client.threads().resolve_thread(request).await.unwrap();
    let thread = thread.into_inner().thread.unwrap();

    use PolicyLevel::{App, Request, Thread};
    let mut expected = MemoryPolicy {
        top_k: Some(8),
        neighbours_before: Some(0),
        neighbours_after: Some(3),
        min_score: Some(0.25),
        extraction: ExtractionStrategy::Summary.into(),
        ..defaults()
    };
    let holds = of_thread(&client, &thread.thread_id).await;
    assert_eq!(holds.policy.as_ref(), Some(&expected));
    let told = [
        ("top_k", Thread),
        ("neighbours_before", App),
        ("neighbours_after", Thread),
        ("min_score", App),
        ("extraction", App),
    ];
    assert_eq!(origins(&holds), told);
    let recalled = recall(&client, &thread.thread_id).await;
    assert_eq!(recalled.effective_policy, Some(holds));

    // The fields of a request are its policy.
    let recalled = client
        .recall(RecallRequest {
            thread_id: thread.thread_id.clone(),
            mode: RecallMode::Hybrid.into(),
            scope: RecallScope::App.into(),
            recent_window: Some(2),
            top_k: Some(1),
            neighbours_before: Some(20),
            neighbours_after: Some(0),
            min_score: Some(1.0),
            ..Default::default()
        })
        .await;
    expected = MemoryPolicy {
        scope: RecallScope::App.into(),
        recent_window: Some(2),
        top_k: Some(1),
        neighbours_before: Some(20),
        neighbours_after: Some(0),
        min_score: Some(1.0),
        ..expected
    };
    let holds = recalled.effective_policy.unwrap();
    assert_eq!(holds.policy, Some(expected.clone()));
    let told = [
        ("mode", Request),
        ("recent_window", Request),
        ("top_k", Request),
        ("neighbours_before", Request),
        ("neighbours_after", Request),
        ("min_score", Request),
        ("scope", Request),
        ("extraction", App),
    ];
    assert_eq!(origins(&holds), told);
    // The same policy, asked for beforehand.
    let asked = GetEffectivePolicyRequest {
        session: Some(session(&app, "ada", "thread:1")),
        policy: Some(MemoryPolicy {
            extraction: 0,
            window_enabled: None,
            window_size: None,
            user_label: None,
            assistant_label: None,
            shared_session_default: None,
            ..expected
        }),
        ..Default::default()
    };
    assert_eq!(effective(&client, asked).await, holds);

    // Without a conversation it is the app's, over all threads of the user.
    let recalled = client
        .recall(RecallRequest {
            user: Some(UserRef {
                app_id: app.clone(),
                user_id: "ada".to_owned(),
            }),
            query: "anything".to_owned(),
            ..Default::default()
        })
        .await;
    let holds = recalled.effective_policy.unwrap();
    assert_eq!(origins(&holds)[0], ("top_k", App));
    let scope = holds.policy.unwrap().scope();
    assert_eq!(scope, RecallScope::User);
}

async fn t13_a_policy_can_switch_the_memory_off() {
    let client = plain().await;
    let app = app();
    let thread_id = client.thread(&app).await;
    client
        .append(&thread_id, vec![say(Role::User, "Hello")])
        .await;
    for mode in [MemoryMode::None, MemoryMode::Node] {
        let policy = MemoryPolicy {
            mode: mode.into(),
            ..Default::default()
        };
        set(&client, &app, policy).await;
        let recalled = recall(&client, &thread_id).await;
        assert!(recalled.messages.is_empty());
        let told = recalled.effective_policy.unwrap();
        assert_eq!(told.policy.unwrap().mode(), mode);
        // What a request asks for, it gets.
        let request = RecallRequest {
            thread_id: thread_id.clone(),
            mode: RecallMode::Window.into(),
            ..Default::default()
        };
        assert_eq!(texts(&client.recall(request).await.messages), ["Hello"]);
    }
}

async fn d18_labels_window_and_template_are_stored_and_told() {
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
        node_ttl: Some(Duration {
            seconds: 1,
            nanos: 0,
        }),
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
        app_id: app.clone(),
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

async fn d18_a_template_that_could_fail_is_refused_when_it_is_set() {
    let client = plain().await;
    let app = app();
    let thread_id = client.thread(&app).await;
    let long = format!("{{{{ query }}}}{}", "x".repeat(4_100));
    for (template, says) in [
        ("{{ query }}\n{% if %}", "line 2"),
        ("{{ query", ""),
        ("Tell me.", "query"),
        ("{{ query }} {{ tenant }}", "tenant"),
        ("{{ query | shell }}", "shell"),
        ("{% for x in query %}{{ x }}{% endfor %}", "for"),
        ("{{ query ~ query }}", "~"),
        (long.as_str(), "4096"),
    ] {
        let policy = Some(MemoryPolicy {
            query_prompt_template: Some(template.to_owned()),
            ..Default::default()
        });
        let of_app = SetAppPolicyRequest {
            app_id: app.clone(),
            policy: policy.clone(),
        };
        let refused = client.policies().set_app_policy(of_app).await.refused();
        let refused = refused.names_field("policy.query_prompt_template");
        assert!(refused.message.contains(says), "{refused:?}");
        let of_thread = UpdateThreadRequest {
            thread_id: thread_id.clone(),
            policy: policy.clone(),
            update_mask: Some(FieldMask {
                paths: vec!["policy".to_owned()],
            }),
            ..Default::default()
        };
        let refused = client.threads().update_thread(of_thread).await.refused();
        refused.names_field("policy.query_prompt_template");
        let of_request = GetEffectivePolicyRequest {
            thread_id: thread_id.clone(),
            policy,
            ..Default::default()
        };
        let refused = client.policies().get_effective_policy(of_request).await;
        let refused = refused.refused();
        refused.names_field("policy.query_prompt_template");
    }
    assert_eq!(get(&client, &app).await.update_time, None);
}

async fn a_policy_beyond_its_limits_names_the_field() {
    let client = plain().await;
    let app = app();
    let with = |change: fn(&mut MemoryPolicy)| {
        let mut policy = MemoryPolicy::default();
        change(&mut policy);
        policy
    };
    let seconds = |seconds| Some(Duration { seconds, nanos: 0 });
    let mut life = [MemoryPolicy::default(), MemoryPolicy::default()];
    life[0].ttl = seconds(0);
    life[1].node_ttl = seconds(315_619_201);
    let [ttl, node_ttl] = life;
    let long = "x".repeat(65);
    let label = MemoryPolicy {
        user_label: Some(long),
        ..Default::default()
    };
    for (policy, field) in [
        (with(|policy| policy.mode = 9), "mode"),
        (with(|policy| policy.window_size = Some(0)), "window_size"),
        (with(|policy| policy.window_size = Some(501)), "window_size"),
        (
            with(|policy| policy.recent_window = Some(-1)),
            "recent_window",
        ),
        (
            with(|policy| policy.recent_window = Some(501)),
            "recent_window",
        ),
        (with(|policy| policy.top_k = Some(101)), "top_k"),
        (
            with(|policy| policy.neighbours_before = Some(21)),
            "neighbours_before",
        ),
        (
            with(|policy| policy.neighbours_after = Some(21)),
            "neighbours_after",
        ),
        (with(|policy| policy.min_score = Some(1.5)), "min_score"),
        (
            with(|policy| policy.min_score = Some(f32::NAN)),
            "min_score",
        ),
        (with(|policy| policy.scope = -1), "scope"),
        (with(|policy| policy.extraction = 77), "extraction"),
        (
            with(|policy| policy.user_label = Some(String::new())),
            "user_label",
        ),
        (
            with(|policy| policy.assistant_label = Some("a\nb".into())),
            "assistant_label",
        ),
        (label, "user_label"),
        (ttl, "ttl"),
        (node_ttl, "node_ttl"),
    ] {
        let request = SetAppPolicyRequest {
            app_id: app.clone(),
            policy: Some(policy),
        };
        let refused = client.policies().set_app_policy(request).await.refused();
        refused.names_field(&format!("policy.{field}"));
    }
    let request = SetAppPolicyRequest {
        app_id: app.clone(),
        policy: None,
    };
    let refused = client.policies().set_app_policy(request).await.refused();
    refused.names_field("policy");
    for app_id in [String::new(), "x".repeat(129), "a\0b".to_owned()] {
        let request = GetAppPolicyRequest { app_id };
        let refused = client.policies().get_app_policy(request).await.refused();
        refused.names_field("app_id");
    }
}

async fn what_a_level_may_not_say_is_refused() {
    let client = plain().await;
    let app = app();
    let shared = MemoryPolicy {
        shared_session_default: Some(true),
        ..Default::default()
    };
    let second = Some(Duration {
        seconds: 1,
        nanos: 0,
    });
    let ttl = MemoryPolicy {
        ttl: second,
        ..Default::default()
    };
    let node_ttl = MemoryPolicy {
        node_ttl: second,
        ..Default::default()
    };
    let of_thread = async |policy: &MemoryPolicy| {
        let request = ResolveThreadRequest {
            session: Some(session(&app, "ada", "thread:1")),
            policy: Some(policy.clone()),
            ..Default::default()
        };
        client.threads().resolve_thread(request).await
    };
    let of_request = async |policy: &MemoryPolicy| {
        let request = GetEffectivePolicyRequest {
            app_id: app.clone(),
            policy: Some(policy.clone()),
            ..Default::default()
        };
        client.policies().get_effective_policy(request).await
    };
    for (policy, field) in [
        (&shared, "policy.shared_session_default"),
        (&ttl, "policy.ttl"),
    ] {
        of_thread(policy).await.refused().names_field(field);
        of_request(policy).await.refused().names_field(field);
    }
    let refused = of_request(&node_ttl).await.refused();
    refused.names_field("policy.node_ttl");
    of_thread(&node_ttl).await.unwrap();
}

async fn the_scope_of_a_policy_bounds_recall() {
    let client = plain().await;
    let app = app();
    let mut last = String::new();
    let mut threads = Vec::new();
    for (user, text) in [
        ("ada", "The zebra stands here."),
        ("ada", "The zebra stands there."),
        ("bob", "The zebra is gone."),
    ] {
        let thread_id = client.thread_of(&app, user).await;
        let stored = client.append(&thread_id, vec![say(Role::User, text)]).await;
        last = stored.revision;
        // Every thread is to be indexed.
        let query = recall_request(&thread_id, "zebra", &last);
        client.recall(query).await;
        threads.push(thread_id);
    }
    let found = async |scope: RecallScope| {
        let request = RecallRequest {
            recent_window: Some(0),
            scope: scope.into(),
            ..recall_request(&threads[0], "zebra", &last)
        };
        let recalled = client.recall(request).await;
        let matches = recalled.messages.iter();
        matches
            .filter(|message| has_reason(message, RecallReason::Match))
            .count()
    };
    let set_scope = async |scope: RecallScope| {
        let policy = MemoryPolicy {
            scope: scope.into(),
            ..Default::default()
        };
        set(&client, &app, policy).await;
    };
    assert_eq!(found(RecallScope::Unspecified).await, 1);
    set_scope(RecallScope::User).await;
    assert_eq!(found(RecallScope::Unspecified).await, 2);
    assert_eq!(found(RecallScope::Thread).await, 1);
    set_scope(RecallScope::App).await;
    assert_eq!(found(RecallScope::Unspecified).await, 3);
    assert_eq!(found(RecallScope::User).await, 2);
    // A user without a conversation stands for the user's threads.
    let request = RecallRequest {
        user: Some(UserRef {
            app_id: app.clone(),
            user_id: "ada".to_owned(),
        }),
        thread_id: String::new(),
        ..recall_request("", "zebra", &last)
    };
    assert_eq!(client.recall(request).await.messages.len(), 2);
}

async fn the_ttl_of_the_apps_policy_is_that_of_new_threads() {
    let client = plain().await;
    let app = app();
    let life = async |key: &str, ttl: Option<i64>| {
        let request = ResolveThreadRequest {
            session: Some(session(&app, "ada", key)),
            ttl: ttl.map(|seconds| Duration { seconds, nanos: 0 }),
            ..Default::default()
        };
        let thread = client.threads().resolve_thread(request).await.unwrap();
        let thread = thread.into_inner().thread.unwrap();
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
    let delete = async || {
        let request = DeleteAppPolicyRequest {
            app_id: app.clone(),
        };
        let answer = client.policies().delete_app_policy(request).await;
        answer.unwrap().into_inner().deleted
    };
    assert!(delete().await);
    assert!(!delete().await);
    assert_eq!(get(&client, &app).await, none);
}

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
        let page = client.policies().list_app_policies(request.clone()).await;
        let page = page.unwrap().into_inner();
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
    let refused = client.policies().list_app_policies(request).await.refused();
    refused.names_field("page_token");
}

async fn a_policy_is_its_tenants_own() {
    let (client, globex) = (plain().await, PLAIN.client(Key::Globex).await);
    let app = app();
    let stored = set(&client, &app, window(Some(2))).await;
    assert_eq!(get(&globex, &app).await.update_time, None);
    let request = DeleteAppPolicyRequest {
        app_id: app.clone(),
    };
    let deleted = globex.policies().delete_app_policy(request).await.unwrap();
    assert!(!deleted.into_inner().deleted);
    let theirs = ListAppPoliciesRequest {
        page_size: 500,
        ..Default::default()
    };
    let theirs = globex.policies().list_app_policies(theirs).await.unwrap();
    let theirs = theirs.into_inner().app_policies;
    assert!(theirs.iter().all(|policy| policy.app_id != app));
    set(&globex, &app, window(Some(3))).await;
    assert_eq!(get(&client, &app).await, stored);

    let thread_id = client.thread(&app).await;
    let request = GetEffectivePolicyRequest {
        thread_id,
        ..Default::default()
    };
    let refused = globex.policies().get_effective_policy(request).await;
    let refused = refused.refused();
    refused.is(Code::NotFound, "THREAD_NOT_FOUND");
}

async fn the_effective_policy_is_asked_for_in_one_way() {
    let client = plain().await;
    let app = app();
    set(&client, &app, window(Some(2))).await;
    let thread_id = client.thread(&app).await;
    set_of_thread(&client, &thread_id, Some(window(Some(3)))).await;
    let names = session(&app, "ada", "thread:none yet");
    let size = async |request: GetEffectivePolicyRequest| {
        let holds = effective(&client, request).await;
        holds.policy.unwrap().window_size()
    };
    let by_thread = GetEffectivePolicyRequest {
        thread_id: thread_id.clone(),
        ..Default::default()
    };
    let by_session = GetEffectivePolicyRequest {
        session: Some(names.clone()),
        ..Default::default()
    };
    let by_app = GetEffectivePolicyRequest {
        app_id: app.clone(),
        ..Default::default()
    };
    assert_eq!(size(by_thread.clone()).await, 3);
    assert_eq!(size(by_session.clone()).await, 2);
    assert_eq!(size(by_app.clone()).await, 2);
    // Asking has not created the thread.
    let request = memory_contract::proto::GetThreadRequest {
        session: Some(names.clone()),
        ..Default::default()
    };
    let none = client.threads().get_thread(request).await.refused();
    none.is(Code::NotFound, "THREAD_NOT_FOUND");

    let refused = async |request: GetEffectivePolicyRequest, field: &str| {
        let refused = client.policies().get_effective_policy(request).await;
        refused.refused().names_field(field);
    };
    refused(GetEffectivePolicyRequest::default(), "thread_id").await;
    let both = |session, app_id: &str| GetEffectivePolicyRequest {
        session,
        app_id: app_id.to_owned(),
        ..by_thread.clone()
    };
    refused(both(Some(names.clone()), ""), "session").await;
    refused(both(None, &app), "app_id").await;
    let both = GetEffectivePolicyRequest {
        app_id: app.clone(),
        ..by_session
    };
    refused(both, "app_id").await;
    let malformed = GetEffectivePolicyRequest {
        thread_id: "x".to_owned(),
        ..Default::default()
    };
    refused(malformed, "thread_id").await;
}
