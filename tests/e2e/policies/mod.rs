//! Policies of an app, a thread and a request, and the effective one.

mod impossible;
mod levels;
mod redaction;
mod stored;
mod updating;
mod wrong;

use memory_contract::proto::{
    AppPolicy, EffectivePolicy, ExtractionStrategy, FileDelivery, GetAppPolicyRequest,
    GetEffectivePolicyRequest, ImageDetail, MemoryMode, MemoryPolicy, PolicyLevel, RecallRequest,
    RecallResponse, RecallScope, Redaction, Thread, UpdateThreadRequest,
};
use recollect_tests::{Client, mask, target_thread};

async fn set(client: &Client, app: &str, policy: MemoryPolicy) -> AppPolicy {
    client.set_policy(app, policy).await
}

async fn get(client: &Client, app: &str) -> AppPolicy {
    let request = GetAppPolicyRequest {
        app_id: app.to_owned(),
    };
    client.call(request).await.app_policy.unwrap()
}

async fn set_of_thread(client: &Client, thread_id: &str, policy: Option<MemoryPolicy>) -> Thread {
    let request = UpdateThreadRequest {
        thread: Some(Thread {
            thread_id: thread_id.to_owned(),
            policy,
            ..Default::default()
        }),
        update_mask: Some(mask(&["policy"])),
        precondition: None,
    };
    client.call(request).await.thread.unwrap()
}

async fn effective(client: &Client, request: GetEffectivePolicyRequest) -> EffectivePolicy {
    client.call(request).await.effective_policy.unwrap()
}

async fn of_thread(client: &Client, thread_id: &str) -> EffectivePolicy {
    let request = GetEffectivePolicyRequest {
        target: target_thread(thread_id),
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

/// The effective policy where no level sets anything.
fn defaults() -> MemoryPolicy {
    MemoryPolicy {
        mode: MemoryMode::Hybrid.into(),
        window_enabled: Some(true),
        window_size: Some(20),
        recent_window: Some(4),
        top_k: Some(5),
        neighbors_before: Some(2),
        neighbors_after: Some(1),
        min_score: None,
        scope: RecallScope::User.into(),
        user_label: Some("Human".to_owned()),
        assistant_label: Some("Assistant".to_owned()),
        query_prompt_template: None,
        shared_session_default: Some(false),
        extraction: ExtractionStrategy::None.into(),
        ttl: None,
        node_ttl: None,
        summarize: Some(true),
        context_window: Some(128_000),
        summarization_threshold: Some(0.7),
        observer_tokens: Some(30_000),
        reflector_tokens: Some(40_000),
        extraction_instructions: None,
        memories_top_k: Some(5),
        rebuild_expired: Some(false),
        memory_max_age: None,
        memory_max_inactivity: None,
        memory_max_count: Some(10_000),
        file_delivery: FileDelivery::Auto.into(),
        file_types: vec![1, 2, 3, 4, 5],
        image_detail: ImageDetail::Auto.into(),
        flow_session_default: Some(false),
        memory_space: None,
        context_tokens: None,
        redaction: Redaction::Off.into(),
        redacted_kinds: vec![1, 2],
        profile_tokens: Some(0),
        memory_kinds: Vec::new(),
        never_keep: Vec::new(),
    }
}

fn window(size: Option<i32>) -> MemoryPolicy {
    MemoryPolicy {
        mode: MemoryMode::Window.into(),
        window_size: size,
        ..Default::default()
    }
}

async fn recall(client: &Client, thread_id: &str) -> RecallResponse {
    let request = RecallRequest {
        target: target_thread(thread_id),
        explain: true,
        ..Default::default()
    };
    client.recall(request).await
}
