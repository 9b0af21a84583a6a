//! Plans, attempts and briefings.

use recollect_tests::{app, apply, trial};
use serde_json::{Value, json};

use super::{Case, edges, letters, values};
use crate::plain;

const PUT: &str = "PlanService/PutPlan";
const UPDATE: &str = "PlanService/UpdatePlanStep";
const APPEND: &str = "PlanService/AppendIteration";
const LIST: &str = "PlanService/ListIterations";
const BRIEF: &str = "PlanService/BuildBriefing";

/// A good plan but for one field.
fn plan_with(key: &str, value: Value) -> Value {
    let mut plan = json!({"goal": "g", "steps": [{"step_id": "1", "title": "t"}]});
    plan[key] = value;
    plan
}

fn step_with(key: &str, value: Value) -> Value {
    let mut step = json!({"step_id": "1", "title": "t"});
    step[key] = value;
    plan_with("steps", json!([step]))
}

#[apply(trial)]
async fn fields_of_plans_have_limits() {
    let client = &plain().await;
    let thread_id = client.thread(&app()).await;
    let put = |plan: Value| json!({"thread_id": thread_id, "plan": plan, "etag": "*"});
    for (key, limit) in [("goal", 4_096), ("current_phase", 128)] {
        let field = format!("plan.{key}");
        edges(client, PUT, &field, limit, |text| {
            put(plan_with(key, json!(text)))
        })
        .await;
    }
    for (key, limit) in [("step_id", 64), ("title", 512), ("result", 4_096)] {
        let field = format!("plan.steps[0].{key}");
        edges(client, PUT, &field, limit, |text| {
            put(step_with(key, json!(text)))
        })
        .await;
    }
    let steps = |count: usize| -> Value {
        let step = |n: usize| json!({"step_id": n.to_string(), "title": "t"});
        (0..count).map(step).collect()
    };
    let deep = |levels: usize| (1..levels).fold(json!({}), |inner, _| json!({ "a": inner }));
    let step = |id: &str| json!({"step_id": id, "title": "t"});
    let nul = json!("a\u{0}b");
    for (plan, refused) in [
        (plan_with("steps", steps(200)), None),
        (plan_with("steps", steps(201)), Some("plan.steps")),
        (plan_with("steps", json!([])), None),
        (
            plan_with("steps", json!([step("a"), step("b"), step("a")])),
            Some("plan.steps[2].step_id"),
        ),
        (
            step_with("step_id", json!("")),
            Some("plan.steps[0].step_id"),
        ),
        (step_with("title", json!("")), Some("plan.steps[0].title")),
        (step_with("status", json!(5)), None),
        (step_with("status", json!(6)), Some("plan.steps[0].status")),
        (step_with("status", json!(-1)), Some("plan.steps[0].status")),
        (
            step_with("step_id", nul.clone()),
            Some("plan.steps[0].step_id"),
        ),
        (step_with("title", nul.clone()), Some("plan.steps[0].title")),
        (
            step_with("result", nul.clone()),
            Some("plan.steps[0].result"),
        ),
        (plan_with("goal", json!("")), Some("plan.goal")),
        (plan_with("goal", nul.clone()), Some("plan.goal")),
        (
            plan_with("current_phase", nul.clone()),
            Some("plan.current_phase"),
        ),
        (plan_with("iteration_count", json!(i32::MAX)), None),
        (
            plan_with("iteration_count", json!(-1)),
            Some("plan.iteration_count"),
        ),
        (plan_with("data", deep(5)), None),
        (plan_with("data", deep(6)), Some("plan.data")),
        (plan_with("data", json!({"a": "x".repeat(16_000)})), None),
        (
            plan_with("data", json!({"a": "x".repeat(16_384)})),
            Some("plan.data"),
        ),
        (plan_with("data", json!({ "a": nul })), Some("plan.data")),
        (Value::Null, Some("plan")),
    ] {
        let case = Case {
            method: PUT,
            request: put(plan),
            refused,
        };
        case.check(client).await;
    }
    let id = "ä".repeat(64);
    let stored = Case {
        method: PUT,
        request: put(step_with("step_id", json!(id))),
        refused: None,
    };
    stored.check(client).await;
    let change = |key: &str, value: Value| {
        let mut request = json!({"thread_id": thread_id, "step_id": id, "status": 3});
        request[key] = value;
        request
    };
    edges(client, UPDATE, "step_id", 64, |text| {
        change("step_id", json!(text))
    })
    .await;
    edges(client, UPDATE, "result", 4_096, |text| {
        change("result", json!(text))
    })
    .await;
    edges(client, UPDATE, "current_phase", 128, |text| {
        change("current_phase", json!(text))
    })
    .await;
    values(
        client,
        UPDATE,
        "status",
        &[json!(1), json!(5)],
        &[json!(0), json!(6), json!(-1)],
        |v| change("status", v),
    )
    .await;
    let nul = json!("a\u{0}b");
    for (method, request, field) in [
        (UPDATE, change("step_id", json!("")), "step_id"),
        (UPDATE, change("step_id", nul.clone()), "step_id"),
        (UPDATE, change("result", nul.clone()), "result"),
        (
            UPDATE,
            change("current_phase", nul.clone()),
            "current_phase",
        ),
        (UPDATE, change("etag", json!(letters(129))), "etag"),
        (UPDATE, change("etag", nul.clone()), "etag"),
        (
            PUT,
            json!({"thread_id": thread_id, "plan": {"goal": "g"}, "etag": letters(129)}),
            "etag",
        ),
        (
            PUT,
            json!({"thread_id": thread_id, "plan": {"goal": "g"}, "etag": nul}),
            "etag",
        ),
        ("PlanService/GetPlan", json!({}), "thread_id"),
        (
            "PlanService/DeletePlan",
            json!({"thread_id": "x"}),
            "thread_id",
        ),
    ] {
        let case = Case {
            method,
            request,
            refused: Some(field),
        };
        case.check(client).await;
    }
}

#[apply(trial)]
async fn fields_of_attempts_and_briefings_have_limits() {
    let client = &plain().await;
    let thread_id = client.thread(&app()).await;
    let tried = |key: &str, value: Value| {
        let mut iteration = json!({"action": "a"});
        iteration[key] = value;
        json!({"thread_id": thread_id, "iteration": iteration})
    };
    for (key, limit) in [
        ("task", 256),
        ("action", 4_096),
        ("result", 4_096),
        ("error", 4_096),
        ("diagnosis", 4_096),
        ("fix", 4_096),
    ] {
        let field = format!("iteration.{key}");
        edges(client, APPEND, &field, limit, |text| {
            tried(key, json!(text))
        })
        .await;
        let nul = Case {
            method: APPEND,
            request: tried(key, json!("a\u{0}b")),
            refused: Some(&field),
        };
        nul.check(client).await;
    }
    let thread = |key: &str, value: Value| json!({"thread_id": thread_id, key: value});
    for (method, request, field) in [
        (APPEND, tried("action", json!("")), "iteration.action"),
        (APPEND, json!({"thread_id": thread_id}), "iteration"),
        (
            APPEND,
            json!({"thread_id": thread_id, "iteration": {"action": "a"}, "request_id": "x"}),
            "request_id",
        ),
        (LIST, thread("page_token", json!("x")), "page_token"),
        (LIST, thread("task", json!("\u{0}")), "task"),
        (BRIEF, thread("task", json!("")), "task"),
        (BRIEF, thread("task", json!("a\u{0}b")), "task"),
    ] {
        let case = Case {
            method,
            request,
            refused: Some(field),
        };
        case.check(client).await;
    }
    edges(client, LIST, "task", 256, |text| {
        thread("task", json!(text))
    })
    .await;
    values(
        client,
        LIST,
        "page_size",
        &[json!(0), json!(1_000_000)],
        &[json!(-1)],
        |v| thread("page_size", v),
    )
    .await;
    let brief = |key: &str, value: Value| {
        let mut request =
            json!({"thread_id": thread_id, "task": "Go on.", "max_tokens": 1_000_000});
        request[key] = value;
        request
    };
    edges(client, BRIEF, "task", 8_192, |text| {
        brief("task", json!(text))
    })
    .await;
    edges(client, BRIEF, "task_name", 256, |text| {
        brief("task_name", json!(text))
    })
    .await;
    edges(client, BRIEF, "model", 128, |text| {
        brief("model", json!(text))
    })
    .await;
    values(
        client,
        BRIEF,
        "max_tokens",
        &[json!(0), json!(200), json!(1_000_000)],
        &[json!(-1), json!(1), json!(199), json!(1_000_001)],
        |v| brief("max_tokens", v),
    )
    .await;
}
