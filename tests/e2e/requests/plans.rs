//! Plans, attempts and briefings.

use recollect_tests::{app, apply, trial};
use serde_json::{Value, json};

use super::{check, check_all, fields, length, letters, with};
use crate::plain;

const PUT: &str = "PlanService/PutPlan";
const UPDATE: &str = "PlanService/UpdatePlanStep";
const APPEND: &str = "PlanService/AppendAttempt";
const EVENTS: &str = "EventService/AppendEvents";
const LIST_EVENTS: &str = "EventService/ListEvents";
const LIST: &str = "PlanService/ListAttempts";
const BRIEF: &str = "PlanService/BuildBriefing";

#[apply(trial)]
async fn fields_of_plans_have_limits() {
    let client = &plain().await;
    let thread_id = client.thread(&app()).await;
    let step = |id: &str| json!({"step_id": id, "title": "t"});
    let steps = |count: usize| -> Value { (0..count).map(|n| step(&n.to_string())).collect() };
    let deep = |levels: usize| (1..levels).fold(json!({}), |inner, _| json!({ "a": inner }));
    let big = |bytes: usize| json!({"a": "x".repeat(bytes)});
    let nul = "a\u{0}b";
    let plan = json!({"goal": "g", "steps": steps(1)});
    let good = json!({"thread": {"thread_id": thread_id}, "plan": plan});
    let of_plan = [
        length("plan.goal", 4_096),
        length("plan.current_phase", 128),
        length("plan.steps[0].step_id", 64),
        length("plan.steps[0].title", 512),
        length("plan.steps[0].result", 4_096),
        ("plan.steps", json!([steps(200), []]), json!([steps(201)])),
        ("plan.steps[0].step_id", json!([]), json!(["", nul])),
        ("plan.steps[0].title", json!([]), json!(["", nul])),
        ("plan.steps[0].status", json!([5]), json!([6, -1])),
        ("plan.steps[0].result", json!([]), json!([nul])),
        ("plan.goal", json!([]), json!(["", nul])),
        ("plan.current_phase", json!([]), json!([nul])),
        ("plan.iteration_count", json!([i32::MAX]), json!([-1])),
        (
            "plan.data",
            json!(["", deep(5).to_string(), big(16_000).to_string()]),
            json!([
                deep(6).to_string(),
                big(16_384).to_string(),
                json!({ "a": nul }).to_string(),
                "[]",
                "{\"a\": NaN}"
            ]),
        ),
        ("plan", json!([]), json!([null])),
    ];
    fields(client, PUT, &good, &of_plan).await;
    let twice = with(
        &good,
        "plan.steps",
        json!([step("a"), step("b"), step("a")]),
    );
    check(client, (PUT, twice, Some("plan.steps[2].step_id"))).await;

    let id = letters(64);
    let stored = with(&good, "plan.steps", json!([step(&id)]));
    check(client, (PUT, stored, None)).await;
    let named = json!({"thread_id": thread_id});
    let change = json!({"thread": named, "step": {"step_id": id, "status": 3}});
    let etags = || ("precondition.etag", json!([]), json!([letters(129), nul]));
    let of_step = [
        length("step.step_id", 64),
        length("step.title", 512),
        length("step.result", 4_096),
        length("current_phase", 128),
        ("step.status", json!([1, 5]), json!([6, -1])),
        ("step.step_id", json!([]), json!(["", nul])),
        ("step.title", json!([]), json!([nul])),
        ("step.result", json!([]), json!([nul])),
        ("current_phase", json!([]), json!([nul])),
        etags(),
        ("step", json!([]), json!([null])),
    ];
    fields(client, UPDATE, &change, &of_step).await;
    let small = json!({"thread": {"thread_id": thread_id}, "plan": {"goal": "g"}});
    fields(client, PUT, &small, &[etags()]).await;
    let delete = "PlanService/DeletePlan";
    let of_thread = [
        ("PlanService/GetPlan", json!({}), Some("thread")),
        (
            delete,
            json!({"thread": {"thread_id": "x"}}),
            Some("thread.thread_id"),
        ),
    ];
    check_all(client, of_thread).await;
}

#[apply(trial)]
async fn fields_of_events_have_limits() {
    let client = &plain().await;
    let thread_id = client.thread(&app()).await;
    let nul = "a\u{0}b";
    let one = json!({"thread": {"thread_id": thread_id}, "events": [{"type": "t"}]});
    let deep = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    let of_event = [
        length("events[0].type", 128),
        ("events[0].type", json!([]), json!(["", nul])),
        length("events[0].message_id", 128),
        ("events[0].message_id", json!(["", "x"]), json!(["\u{7}"])),
        (
            "events[0].json",
            json!(["", "{}", "17", " [1.0, 1e40] ", deep(32)]),
            json!([
                "{",
                "nothing",
                nul,
                deep(33),
                format!("\"{}\"", "x".repeat(256 * 1024))
            ]),
        ),
        ("request_id", json!([]), json!(["x"])),
    ];
    fields(client, EVENTS, &one, &of_event).await;
    let many = |count: usize| vec![json!({"type": "t"}); count];
    let heavy = vec![json!({"type": "t", "json": format!("\"{}\"", "x".repeat(250_000))}); 13];
    let of_append = [("events", json!([many(256)]), json!([[], many(257), heavy]))];
    fields(client, EVENTS, &one, &of_append).await;
    let of_thread = json!({"thread": {"thread_id": thread_id}, "types": ["t"]});
    let of_list = [
        ("page_token", json!([]), json!(["x"])),
        ("types", json!([vec!["t"; 32]]), json!([vec!["t"; 33]])),
        length("types[0]", 128),
        ("types[0]", json!([]), json!(["", nul])),
        ("page_size", json!([0, 1_000_000]), json!([-1])),
    ];
    fields(client, LIST_EVENTS, &of_thread, &of_list).await;
}

#[apply(trial)]
async fn fields_of_attempts_and_briefings_have_limits() {
    let client = &plain().await;
    let thread_id = client.thread(&app()).await;
    let nul = "a\u{0}b";
    let tried = json!({"thread": {"thread_id": thread_id}, "attempt": {"action": "a"}});
    for (key, limit) in [
        ("task", 256),
        ("action", 4_096),
        ("result", 4_096),
        ("error", 4_096),
        ("diagnosis", 4_096),
        ("fix", 4_096),
    ] {
        let field = format!("attempt.{key}");
        let of_text = [
            length(&field, limit),
            (field.as_str(), json!([]), json!([nul])),
        ];
        fields(client, APPEND, &tried, &of_text).await;
    }
    let of_attempt = [
        ("attempt.action", json!([]), json!([""])),
        ("attempt", json!([]), json!([null])),
        ("request_id", json!([]), json!(["x"])),
    ];
    fields(client, APPEND, &tried, &of_attempt).await;
    let of_thread = json!({"thread": {"thread_id": thread_id}});
    let of_list = [
        ("page_token", json!([]), json!(["x"])),
        ("task", json!([]), json!(["\u{0}"])),
        length("task", 256),
        ("page_size", json!([0, 1_000_000]), json!([-1])),
    ];
    fields(client, LIST, &of_thread, &of_list).await;
    let of_task = [("task", json!([]), json!(["", nul]))];
    fields(client, BRIEF, &of_thread, &of_task).await;
    let brief =
        json!({"thread": {"thread_id": thread_id}, "task": "Go on.", "max_tokens": 1_000_000});
    let of_briefing = [
        length("task", 8_192),
        length("task_name", 256),
        length("model", 128),
        (
            "max_tokens",
            json!([200, 1_000_000]),
            json!([0, -1, 1, 199, 1_000_001]),
        ),
    ];
    fields(client, BRIEF, &brief, &of_briefing).await;
}
