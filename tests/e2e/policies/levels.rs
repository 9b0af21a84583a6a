//! The most specific policy applies.

use memory_contract::proto::{
    ExtractionStrategy, GetEffectivePolicyRequest, MemoryMode, MemoryPolicy, PolicyLevel,
    RecallReason, RecallRequest, RecallScope, ResolveThreadRequest, Role, SearchRequest, UserRef,
};
use recollect_tests::{
    Refused as _, app, apply, by_session, has_reason, recall_request, say, search_request, session,
    target_app, target_session, target_thread, target_user, texts, trial,
};
use tonic::Code;

use super::{defaults, effective, of_thread, origins, recall, set, set_of_thread, window};
use crate::plain;

#[apply(trial)]
async fn l08_memory_is_on_without_any_policy() {
    let client = plain().await;
    let app = app();
    let thread_id = client.thread(&app).await;
    let holds = of_thread(&client, &thread_id).await;
    assert_eq!(holds.policy, Some(defaults()));
    assert_eq!(origins(&holds), []);
    client.append_text(&thread_id, "Hello").await;
    let recalled = recall(&client, &thread_id).await;
    assert_eq!(texts(&recalled.messages), ["Hello"]);
    assert_eq!(recalled.effective_policy, Some(holds));
}

#[apply(trial)]
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
    let check = async |size: Option<i32>, count: usize, reported: &[(&str, PolicyLevel)]| {
        let request = RecallRequest {
            target: target_thread(&thread_id),
            policy: Some(MemoryPolicy {
                window_size: size,
                ..Default::default()
            }),
            explain: true,
            ..Default::default()
        };
        let recalled = client.recall(request).await;
        // The oldest are dropped.
        assert_eq!(texts(&recalled.messages), messages[30 - count..]);
        let holds = recalled.effective_policy.unwrap();
        assert_eq!(origins(&holds), reported);
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

    // Without a window only the budget bounds, also where a request names a size; it may
    // switch the window on.
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
    let sized = [
        ("mode", App),
        ("window_enabled", Thread),
        ("window_size", Request),
    ];
    check(Some(5), 30, &sized).await;
    let request = RecallRequest {
        target: target_thread(&thread_id),
        policy: Some(MemoryPolicy {
            window_enabled: Some(true),
            window_size: Some(5),
            ..Default::default()
        }),
        explain: true,
        ..Default::default()
    };
    let recalled = client.recall(request).await;
    assert_eq!(texts(&recalled.messages), messages[25..]);
    let asked = [
        ("mode", App),
        ("window_enabled", Request),
        ("window_size", Request),
    ];
    assert_eq!(origins(&recalled.effective_policy.unwrap()), asked);

    let thread = set_of_thread(&client, &thread_id, None).await;
    assert_eq!(thread.policy, None);
    check(None, 3, &[("mode", App), ("window_size", App)]).await;
}

#[apply(trial)]
async fn t12_each_request_has_one_effective_policy_and_returns_it() {
    let client = plain().await;
    let app = app();
    set(
        &client,
        &app,
        MemoryPolicy {
            top_k: Some(7),
            neighbors_before: Some(0),
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
            neighbors_after: Some(3),
            ..Default::default()
        }),
        ..Default::default()
    };
    let thread = client.call(request).await.thread.unwrap();

    use PolicyLevel::{App, Request, Thread};
    let mut expected = MemoryPolicy {
        top_k: Some(8),
        neighbors_before: Some(0),
        neighbors_after: Some(3),
        min_score: Some(0.25),
        extraction: ExtractionStrategy::Summary.into(),
        ..defaults()
    };
    let holds = of_thread(&client, &thread.thread_id).await;
    assert_eq!(holds.policy.as_ref(), Some(&expected));
    let reported = [
        ("top_k", Thread),
        ("neighbors_before", App),
        ("neighbors_after", Thread),
        ("min_score", App),
        ("extraction", App),
    ];
    assert_eq!(origins(&holds), reported);
    let recalled = recall(&client, &thread.thread_id).await;
    assert_eq!(recalled.effective_policy, Some(holds));
    // It is returned to those who ask for it.
    let plain = RecallRequest {
        target: target_thread(&thread.thread_id),
        ..Default::default()
    };
    assert_eq!(client.recall(plain).await.effective_policy, None);

    // A request has a policy of its own.
    let recalled = client
        .recall(RecallRequest {
            target: target_thread(&thread.thread_id),
            policy: Some(MemoryPolicy {
                mode: MemoryMode::Hybrid.into(),
                scope: RecallScope::App.into(),
                recent_window: Some(2),
                top_k: Some(1),
                neighbors_before: Some(20),
                neighbors_after: Some(0),
                min_score: Some(1.0),
                ..Default::default()
            }),
            explain: true,
            ..Default::default()
        })
        .await;
    expected = MemoryPolicy {
        scope: RecallScope::App.into(),
        recent_window: Some(2),
        top_k: Some(1),
        neighbors_before: Some(20),
        neighbors_after: Some(0),
        min_score: Some(1.0),
        ..expected
    };
    let holds = recalled.effective_policy.unwrap();
    assert_eq!(holds.policy, Some(expected.clone()));
    let reported = [
        ("mode", Request),
        ("recent_window", Request),
        ("top_k", Request),
        ("neighbors_before", Request),
        ("neighbors_after", Request),
        ("min_score", Request),
        ("scope", Request),
        ("extraction", App),
    ];
    assert_eq!(origins(&holds), reported);
    // The same policy, asked for beforehand.
    let asked = GetEffectivePolicyRequest {
        target: target_session(session(&app, "ada", "thread:1")),
        policy: Some(MemoryPolicy {
            mode: expected.mode,
            scope: expected.scope,
            recent_window: expected.recent_window,
            top_k: expected.top_k,
            neighbors_before: expected.neighbors_before,
            neighbors_after: expected.neighbors_after,
            min_score: expected.min_score,
            ..Default::default()
        }),
    };
    assert_eq!(effective(&client, asked).await, holds);

    // Without a conversation it is the app's, over all threads of the user.
    let recalled = client
        .recall(RecallRequest {
            target: Some(
                UserRef {
                    app_id: app.clone(),
                    user_id: "ada".to_owned(),
                }
                .into(),
            ),
            query: "anything".to_owned(),
            explain: true,
            ..Default::default()
        })
        .await;
    let holds = recalled.effective_policy.unwrap();
    assert_eq!(origins(&holds)[0], ("top_k", App));
    let scope = holds.policy.unwrap().scope();
    assert_eq!(scope, RecallScope::User);
}

#[apply(trial)]
async fn t13_a_policy_can_switch_the_memory_off() {
    let client = plain().await;
    let app = app();
    let thread_id = client.thread(&app).await;
    client.append_text(&thread_id, "Hello").await;
    for mode in [MemoryMode::None, MemoryMode::Node] {
        let policy = MemoryPolicy {
            mode: mode.into(),
            ..Default::default()
        };
        set(&client, &app, policy).await;
        let recalled = recall(&client, &thread_id).await;
        assert!(recalled.messages.is_empty());
        let reported = recalled.effective_policy.unwrap();
        assert_eq!(reported.policy.unwrap().mode(), mode);
        // The policy of a request applies.
        let request = RecallRequest {
            target: target_thread(&thread_id),
            policy: Some(MemoryPolicy {
                mode: MemoryMode::Window.into(),
                ..Default::default()
            }),
            explain: true,
            ..Default::default()
        };
        assert_eq!(texts(&client.recall(request).await.messages), ["Hello"]);
    }
}

#[apply(trial)]
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
        let stored = client.append_text(&thread_id, text).await;
        last = stored.revision;
        // Every thread is to be indexed.
        let query = recall_request(&thread_id, "zebra", &last);
        client.recall(query).await;
        threads.push(thread_id);
    }
    let found = async |scope: RecallScope| {
        let request = RecallRequest {
            policy: Some(MemoryPolicy {
                recent_window: Some(0),
                scope: scope.into(),
                ..Default::default()
            }),
            ..recall_request(&threads[0], "zebra", &last)
        };
        let recalled = client.recall(request).await;
        let matches = recalled.messages.iter();
        matches
            .filter(|message| has_reason(message, RecallReason::Match))
            .count()
    };
    let searched = async || {
        let request = SearchRequest {
            scope: RecallScope::Unspecified.into(),
            ..search_request(&threads[0], "zebra", &last)
        };
        client.search(request).await.matches.len()
    };
    let set_scope = async |scope: RecallScope| {
        let policy = MemoryPolicy {
            scope: scope.into(),
            ..Default::default()
        };
        set(&client, &app, policy).await;
    };
    // All threads of the user, unless a policy says otherwise.
    assert_eq!(found(RecallScope::Unspecified).await, 2);
    assert_eq!(searched().await, 2);
    set_scope(RecallScope::Thread).await;
    assert_eq!(found(RecallScope::Unspecified).await, 1);
    assert_eq!(searched().await, 1);
    assert_eq!(found(RecallScope::User).await, 2);
    set_scope(RecallScope::User).await;
    assert_eq!(found(RecallScope::Unspecified).await, 2);
    assert_eq!(found(RecallScope::Thread).await, 1);
    set_scope(RecallScope::App).await;
    assert_eq!(found(RecallScope::Unspecified).await, 3);
    assert_eq!(searched().await, 3);
    assert_eq!(found(RecallScope::User).await, 2);
    // A user without a conversation selects all of the user's threads.
    let request = RecallRequest {
        target: Some(
            UserRef {
                app_id: app.clone(),
                user_id: "ada".to_owned(),
            }
            .into(),
        ),
        ..recall_request("", "zebra", &last)
    };
    assert_eq!(client.recall(request).await.messages.len(), 2);
}

#[apply(trial)]
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
        target: target_thread(&thread_id),
        ..Default::default()
    };
    let by_names = GetEffectivePolicyRequest {
        target: target_session(names.clone()),
        ..Default::default()
    };
    let by_app = GetEffectivePolicyRequest {
        target: target_app(&app),
        ..Default::default()
    };
    assert_eq!(size(by_thread).await, 3);
    assert_eq!(size(by_names).await, 2);
    assert_eq!(size(by_app).await, 2);
    let by_user = GetEffectivePolicyRequest {
        target: target_user(&app, "ada"),
        ..Default::default()
    };
    assert_eq!(size(by_user).await, 2);
    // Asking has not created the thread.
    let request = memory_contract::proto::GetThreadRequest {
        thread: by_session(names.clone()),
    };
    let none = client.refused(request).await;
    none.is(Code::NotFound, "THREAD_NOT_FOUND");

    let refused = async |request: GetEffectivePolicyRequest, field: &str| {
        let refused = client.policies().get_effective_policy(request).await;
        refused.refused().names_field(field);
    };
    refused(GetEffectivePolicyRequest::default(), "target").await;
    let no_app = GetEffectivePolicyRequest {
        target: target_app(""),
        ..Default::default()
    };
    refused(no_app, "target.app.app_id").await;
    let malformed = GetEffectivePolicyRequest {
        target: target_thread("x"),
        ..Default::default()
    };
    refused(malformed, "target.thread.thread_id").await;
}
