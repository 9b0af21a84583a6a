//! Policies that are refused.

use memory_contract::proto::{
    AppPolicy, GetAppPolicyRequest, GetEffectivePolicyRequest, MemoryPolicy, ResolveThreadRequest,
    Thread, UpdateAppPolicyRequest, UpdateThreadRequest,
};
use recollect_tests::{
    Refused as _, app, apply, mask, seconds, session, target_app, target_thread, trial,
};

use super::get;
use crate::plain;

#[apply(trial)]
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
        let of_its_app = UpdateAppPolicyRequest {
            app_policy: Some(AppPolicy {
                app_id: app.clone(),
                policy: policy.clone(),
                ..Default::default()
            }),
            update_mask: None,
            precondition: None,
        };
        let refused = client.refused(of_its_app).await;
        let refused = refused.names_field("app_policy.policy.query_prompt_template");
        assert!(refused.message.contains(says), "{refused:?}");
        let of_thread = UpdateThreadRequest {
            thread: Some(Thread {
                thread_id: thread_id.to_owned(),
                policy: policy.clone(),
                ..Default::default()
            }),
            update_mask: Some(mask(&["policy"])),
            precondition: None,
        };
        let refused = client.refused(of_thread).await;
        refused.names_field("thread.policy.query_prompt_template");
        let of_request = GetEffectivePolicyRequest {
            target: target_thread(&thread_id),
            policy,
        };
        let refused = client.refused(of_request).await;
        refused.names_field("policy.query_prompt_template");
    }
    assert_eq!(get(&client, &app).await.update_time, None);
}

#[apply(trial)]
async fn a_policy_has_an_app_and_is_there() {
    let client = plain().await;
    let app = app();
    let request = UpdateAppPolicyRequest {
        app_policy: Some(AppPolicy {
            app_id: app.clone(),
            policy: Some(MemoryPolicy::default()),
            ..Default::default()
        }),
        update_mask: None,
        precondition: None,
    };
    client.refused(request).await.names_field("update_mask");
    let request = UpdateAppPolicyRequest::default();
    client.refused(request).await.names_field("app_policy");
    for app_id in [String::new(), "x".repeat(129), "a\0b".to_owned()] {
        let request = GetAppPolicyRequest { app_id };
        client.refused(request).await.names_field("app_id");
    }
}

#[apply(trial)]
async fn a_value_that_a_level_may_not_set_is_refused() {
    let client = plain().await;
    let app = app();
    let shared = MemoryPolicy {
        shared_session_default: Some(true),
        ..Default::default()
    };
    let space = MemoryPolicy {
        memory_space: Some("desk".to_owned()),
        ..Default::default()
    };
    let second = Some(seconds(1));
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
            target: target_app(&app),
            policy: Some(policy.clone()),
        };
        client.policies().get_effective_policy(request).await
    };
    for (policy, field) in [
        (&shared, "policy.shared_session_default"),
        (&ttl, "policy.ttl"),
        (&space, "policy.memory_space"),
    ] {
        of_thread(policy).await.refused().names_field(field);
        of_request(policy).await.refused().names_field(field);
    }
    let refused = of_request(&node_ttl).await.refused();
    refused.names_field("policy.node_ttl");
    of_thread(&node_ttl).await.unwrap();
}
