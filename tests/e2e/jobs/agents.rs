//! The loop of an agent in the manner of n8n: what one context holds, and what outlives a
//! crash.

use std::fmt::Write as _;

use memory_contract::proto::{
    BuildContextRequest, ContextBlockKind as Kind, ListAttemptsRequest, MemoryMode, MemoryPolicy,
    MessageInput, PlanStep, PlanStepStatus, ProviderFormat, ResolveThreadRequest, Role,
    UpdatePlanStepRequest,
};
use recollect_tests::{
    Key, Options, SOON, Server, app, apply, attempt, block, block_texts, body, briefing_request,
    by_id, check_context, context_request, eventually_some, kinds, plan, put, quoted_texts, say,
    sections, session, tool_call, tool_result, trial, trial_with_own_server,
};
use serde_json::{Value, json};

use crate::plain;

/// The agent is observed. Its session has no user, so its memory is that of its thread alone.
fn observed() -> MemoryPolicy {
    MemoryPolicy {
        mode: MemoryMode::Observational.into(),
        ..Default::default()
    }
}

/// A call and its result, of about 1,200 tokens.
fn step(number: usize) -> Vec<MessageInput> {
    let id = format!("call_{number:04}");
    let mut log = String::new();
    for line in 0..40 {
        let part = number * 40 + line;
        let _ = writeln!(
            log,
            "Node {part} of workflow {number} returned {} items after {} ms from host-{}.",
            part * 7 % 311,
            part * 13 % 977,
            part * 31 % 101
        );
    }
    if number == 4 {
        log.push_str("The webhook of the staging shop is signed with the key kite-7741-heron.\n");
    }
    vec![
        tool_call(&id, "run_workflow", json!({"workflow": number})),
        tool_result(&id, &log),
    ]
}

#[apply(trial)]
async fn j14_plan_observations_recall_and_raw_steps_are_in_one_context() {
    let client = plain().await;
    let names = session(&app(), "", "run:01JD8Z2V");
    let request = ResolveThreadRequest {
        session: Some(names),
        policy: Some(observed()),
        ..Default::default()
    };
    let thread_id = client.call(request).await.thread.unwrap().thread_id;
    let task = "Build a workflow that copies orders of the staging shop to the ledger.";
    client.append_text(&thread_id, task).await;
    let titles = ["Find the webhook", "Map the fields", "Test it"];
    client
        .put_plan(put(&thread_id, "", plan("Copy the orders", &titles)))
        .await;
    for number in 0..60 {
        client.append(&thread_id, step(number)).await;
    }
    let first = UpdatePlanStepRequest {
        thread: by_id(&thread_id),
        step: Some(PlanStep {
            step_id: "1".to_owned(),
            status: PlanStepStatus::Done.into(),
            result: "The webhook is known.".to_owned(),
            ..Default::default()
        }),
        ..Default::default()
    };
    client.call(first).await;

    let question = "With which key is the webhook of the staging shop signed?";
    let build = async |question: &str| {
        let request = BuildContextRequest {
            system_prompt: "You build workflows.".to_owned(),
            max_tokens: None,
            formats: vec![ProviderFormat::OpenaiChat.into()],
            ..context_request(&thread_id, question)
        };
        let context = client.context(request).await;
        check_context(&context, i32::MAX);
        context
    };
    let context = eventually_some("the oldest steps are observed", SOON, async || {
        let context = build(question).await;
        // From then on nothing more is swapped in.
        let in_full = block(&context, Kind::Recent)?.token_count;
        let observed = block(&context, Kind::Distilled).is_some() && in_full < 30_000;
        observed.then_some(context)
    })
    .await;
    assert_eq!(
        kinds(&context),
        [
            Kind::System,
            Kind::Distilled,
            Kind::Recent,
            Kind::Plan,
            Kind::Recalled,
            Kind::Input
        ]
    );
    // The newest steps are there as they were, each result with its call.
    let recent = block(&context, Kind::Recent).unwrap();
    let newest = recent.messages.last().unwrap();
    assert_eq!(newest.role(), Role::Tool);
    assert!(format!("{newest:?}").contains("workflow 59"), "{newest:?}");
    // The plan as it is now: the goal, then each step.
    let texts = block_texts(&context, Kind::Plan);
    let lines: Vec<Value> = texts[0]
        .lines()
        .skip(1)
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 4, "{texts:?}");
    assert_eq!(lines[0]["goal"], "Copy the orders");
    assert_eq!(lines[1]["title"], "Find the webhook");
    assert_eq!(lines[1]["status"], "done");
    assert_eq!(lines[1]["result"], "The webhook is known.");
    assert_eq!(lines[3]["title"], "Test it");
    // What an old step said is found, by the words of the question.
    let quoted = quoted_texts(&context);
    let found = quoted.iter().any(|text| text.contains("kite-7741-heron"));
    assert!(found, "{quoted:?}");
    // Nothing is there twice.
    let stored = block_texts(&context, Kind::Recent);
    assert!(quoted.iter().all(|text| !stored.contains(text)));
    let rendered = body(&context, ProviderFormat::OpenaiChat);
    for text in ["Copy the orders", "kite-7741-heron", "workflow 59"] {
        assert!(rendered.contains(text), "{text}");
    }

    // Another question changes nothing before the plan.
    let other = build("What is the mapping of the fields?").await;
    for kind in [Kind::System, Kind::Distilled, Kind::Recent] {
        let hash = |context| block(context, kind).map(|block| block.hash.clone());
        assert_eq!(hash(&context), hash(&other), "{kind:?}");
    }
    // Nor does an agent without a question have anything after its matches.
    let loops = build("").await;
    assert!(kinds(&loops).starts_with(&[Kind::System, Kind::Distilled, Kind::Recent, Kind::Plan]));
}

#[apply(trial_with_own_server)]
async fn j15_after_a_crash_the_loop_finds_plan_attempts_and_the_briefing() {
    let options = Options::with(&["embedding.kind = \"none\""]);
    let (dir, server, client) = Server::start_own(&options).await;
    let names = session("builder", "", "run:01JD8Z9K");
    let request = ResolveThreadRequest {
        session: Some(names.clone()),
        policy: Some(observed()),
        ..Default::default()
    };
    let thread_id = client.call(request).await.thread.unwrap().thread_id;
    let task = "Mend the import of invoices.";
    client.append(&thread_id, vec![say(Role::User, task)]).await;
    let titles = ["Reproduce the fault", "Mend it"];
    let goal = "Mend the import of invoices";
    client
        .put_plan(put(&thread_id, "", plan(goal, &titles)))
        .await;
    for number in 0..3 {
        client.append(&thread_id, step(number)).await;
        let error = format!("HTTP 401 on node {number}");
        let tried = attempt(
            "mend",
            &format!("Changed the credentials {number}."),
            &error,
        );
        client.log_attempt(&thread_id, tried, "").await;
    }
    let stored = client.get_plan(&thread_id).await;
    server.kill();

    // The agent knows only the names of its session.
    let server = Server::start(&dir, &options);
    let client = server.client(Key::Acme).await;
    let again = client.resolve(names).await;
    assert_eq!(again.thread_id, thread_id);
    assert_eq!(client.get_plan(&thread_id).await, stored);
    let log = ListAttemptsRequest {
        thread: by_id(&thread_id),
        ..Default::default()
    };
    let attempts = client.attempts(log).await;
    assert_eq!(attempts.len(), 3);
    let mut request = briefing_request(&thread_id, "Try once more.");
    request.task_name = Some("mend".to_owned());
    let briefing = client.call(request).await;
    assert_eq!(briefing.attempt, 4);
    let sections = sections(&briefing.text, "Try once more.");
    let headings: Vec<&str> = sections
        .iter()
        .map(|(heading, _)| heading.as_str())
        .collect();
    assert_eq!(headings, ["Plan", "Failed attempts", "Conversation"]);
    assert_eq!(sections[0].1[0]["goal"], goal);
    let errors = sections[1].1.iter().map(|line| line["error"].clone());
    let expected = [
        "HTTP 401 on node 0",
        "HTTP 401 on node 1",
        "HTTP 401 on node 2",
    ];
    assert_eq!(errors.collect::<Vec<_>>(), expected);
    assert!(!sections[2].1.is_empty(), "the newest steps");
    // The next context has the plan and the steps.
    let context = client.context(context_request(&thread_id, "")).await;
    check_context(&context, 1_000_000);
    let kinds = kinds(&context);
    assert!(
        kinds.contains(&Kind::Recent) && kinds.contains(&Kind::Plan),
        "{kinds:?}"
    );
}
