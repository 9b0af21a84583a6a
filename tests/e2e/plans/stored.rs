//! Plans are stored, changed by etag, and deleted.

use memory_contract::convert::action_name;
use memory_contract::proto::{
    DeletePlanRequest, GetPlanRequest, ListTransactionsRequest, Plan, PlanStep,
    PlanStepStatus as Status, PutPlanRequest, UpdatePlanStepRequest,
};
use recollect_tests::{
    Client, Failure, Key, Options, PLAIN, Server, app, apply, attempt, briefing_request, by_id,
    by_session, has_etag, mask, metadata, plan, put, put_any, session, trial,
    trial_with_own_server,
};
use serde_json::json;
use tonic::Code;
use uuid::Uuid;

use super::all_of;
use crate::access::transactions;
use crate::plain;
use crate::threads::ephemeral::ephemeral;

fn step(id: &str, title: &str, status: Status, result: &str) -> PlanStep {
    PlanStep {
        step_id: id.to_owned(),
        title: title.to_owned(),
        status: status.into(),
        result: result.to_owned(),
    }
}

fn full() -> Plan {
    Plan {
        goal: "Build the workflow \u{1F680}".to_owned(),
        current_phase: "draft".to_owned(),
        iteration_count: 3,
        steps: vec![
            step("a", "Find the nodes", Status::Done, "Schedule, HTTP"),
            step("b", "Connect them", Status::InProgress, ""),
            step("c", "Run it", Status::Pending, ""),
            step("d", "Ask first", Status::Skipped, "nobody there"),
            step("e", "Log in", Status::Failed, "401"),
        ],
        data: metadata(json!({"workflow": {"id": "wf-1", "tries": [1, 2.5, -0.125]}})),
        ..Default::default()
    }
}

/// The parts of a plan that the caller chose.
fn chosen(plan: &Plan) -> Plan {
    Plan {
        etag: String::new(),
        create_time: None,
        update_time: None,
        ..plan.clone()
    }
}

async fn get(client: &Client, thread_id: &str) -> Result<Plan, Failure> {
    let request = GetPlanRequest {
        thread: by_id(thread_id),
    };
    let answer = client.plans().get_plan(request).await;
    answer
        .map(|answer| answer.into_inner().plan.unwrap())
        .map_err(Into::into)
}

fn of_step(thread_id: &str, step_id: &str, status: Status) -> UpdatePlanStepRequest {
    UpdatePlanStepRequest {
        thread: by_id(thread_id),
        step: Some(step(step_id, "", status, "")),
        ..Default::default()
    }
}

async fn update(client: &Client, request: UpdatePlanStepRequest) -> Plan {
    client.call(request).await.plan.unwrap()
}

#[apply(trial_with_own_server)]
async fn n11_a_plan_survives_reconnects_and_restart() {
    let options = Options::with(&["embedding.kind = \"none\""]);
    let (dir, server, client) = Server::start_own(&options).await;
    let thread_id = client.thread("app").await;
    let stored = client.put_plan(put(&thread_id, "", full())).await;
    let logged = client
        .log_attempt(&thread_id, attempt("build", "tried", "401"), "")
        .await;
    drop(client);

    // Another connection.
    let client = server.client(Key::Acme).await;
    assert_eq!(client.get_plan(&thread_id).await, stored);
    let changed = update(&client, of_step(&thread_id, "c", Status::InProgress)).await;
    server.kill();

    let server = Server::start(&dir, &options);
    let client = server.client(Key::Acme).await;
    assert_eq!(client.get_plan(&thread_id).await, changed);
    assert_eq!(changed.steps[2].status(), Status::InProgress);
    let log = client.attempts(all_of(&thread_id)).await;
    assert_eq!(log, [logged.attempt.unwrap()]);
    // The etag is still good.
    client
        .put_plan(put(&thread_id, &changed.etag, full()))
        .await;
}

#[apply(trial)]
async fn n11_a_plan_comes_back_as_it_was_stored() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let first = client.put_plan(put(&thread_id, "", full())).await;
    assert_eq!(chosen(&first), full());
    assert!(!first.etag.is_empty());
    assert_eq!(first.create_time, first.update_time);
    assert_eq!(client.get_plan(&thread_id).await, first);

    // Missing fields get defaults, and fields that only answers have are ignored.
    let mut small = plan("Less", &["Only this"]);
    small.etag = "x".to_owned();
    small.create_time = Some(prost_types::Timestamp::default());
    let second = client.put_plan(put(&thread_id, &first.etag, small)).await;
    let mut expected = plan("Less", &["Only this"]);
    expected.steps[0].status = Status::Pending.into();
    assert_eq!(chosen(&second), expected);
    assert_ne!(second.etag, first.etag);
    assert_eq!(second.create_time, first.create_time);
    let nanos = |plan: &Plan| {
        let time = plan.update_time.unwrap();
        (time.seconds, time.nanos)
    };
    assert!(nanos(&second) > nanos(&first));
    assert_eq!(client.get_plan(&thread_id).await, second);

    // A step's title, status, result and the plan's phase change, each alone.
    let id = thread_id.as_str();
    let with = |title: &str, result: &str, current_phase: Option<&str>| UpdatePlanStepRequest {
        step: Some(step("1", title, Status::Unspecified, result)),
        current_phase: current_phase.map(str::to_owned),
        ..of_step(id, "1", Status::Unspecified)
    };
    let third = update(&client, of_step(id, "1", Status::Done)).await;
    expected.steps[0].status = Status::Done.into();
    assert_eq!(chosen(&third), expected);
    update(&client, with("", "All good", None)).await;
    update(&client, with("Only that", "", None)).await;
    let fourth = update(&client, with("", "", Some("review"))).await;
    expected.steps[0].result = "All good".to_owned();
    expected.steps[0].title = "Only that".to_owned();
    expected.current_phase = "review".to_owned();
    assert_eq!(chosen(&fourth), expected);
    // A mask names what changes. What it names and is unset is cleared.
    let masked = |paths: &[&str], request: UpdatePlanStepRequest| UpdatePlanStepRequest {
        update_mask: Some(mask(paths)),
        ..request
    };
    let named = masked(&["title"], with("Only this", "Ignored", None));
    let fifth = update(&client, named).await;
    expected.steps[0].title = "Only this".to_owned();
    assert_eq!(chosen(&fifth), expected);
    let last = update(&client, masked(&["result"], with("", "", Some("")))).await;
    expected.steps[0].result.clear();
    expected.current_phase.clear();
    assert_eq!(chosen(&last), expected);
    let reset = update(&client, masked(&["status"], with("", "", None))).await;
    expected.steps[0].status = Status::Pending.into();
    assert_eq!(chosen(&reset), expected);
    assert_eq!(client.get_plan(id).await, reset);
    for (request, field) in [
        (masked(&["title"], with("", "", None)), "step.title"),
        (
            masked(&["step_id"], with("x", "", None)),
            "update_mask.paths[0]",
        ),
        (with("", "", None), "update_mask"),
    ] {
        client.refused(request).await.names_field(field);
    }
    assert_eq!(client.get_plan(id).await, reset);

    let missing = of_step(id, "2", Status::Done);
    let missing = client.refused(missing).await;
    missing.is(Code::NotFound, "PLAN_NOT_FOUND");
}

#[apply(trial)]
async fn n11_steps_change_at_the_same_time_and_all_changes_stay() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let titles = ["work"; 24];
    let first = client
        .put_plan(put(&thread_id, "", plan("All", &titles)))
        .await;
    let mut changes = Vec::new();
    for number in 1..=titles.len() {
        let client = PLAIN.client(Key::Acme).await;
        let id = number.to_string();
        let request = UpdatePlanStepRequest {
            step: Some(step(&id, "", Status::Done, &format!("result {number}"))),
            ..of_step(&thread_id, &id, Status::Done)
        };
        changes.push(tokio::spawn(async move { update(&client, request).await }));
    }
    let mut etags = vec![first.etag];
    for change in changes {
        etags.push(change.await.unwrap().etag);
    }
    let plan = client.get_plan(&thread_id).await;
    for (number, step) in (1..).zip(&plan.steps) {
        assert_eq!(step.step_id, number.to_string());
        assert_eq!(step.status(), Status::Done);
        assert_eq!(step.result, format!("result {number}"));
    }
    assert!(etags.contains(&plan.etag));
    etags.sort();
    etags.dedup();
    assert_eq!(etags.len(), 1 + titles.len(), "each state has an etag");
}

#[apply(trial)]
async fn concurrent_puts_are_settled_by_etag() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    // The first plan of all, then changes of the same one.
    let mut etag = String::new();
    for _ in 0..4 {
        let mut puts = Vec::new();
        for number in 0..6 {
            let client = PLAIN.client(Key::Acme).await;
            let request = put(&thread_id, &etag, plan(&format!("goal {number}"), &[]));
            puts.push(tokio::spawn(async move {
                client.plans().put_plan(request).await
            }));
        }
        let (mut won, mut lost) = (Vec::new(), Vec::new());
        for put in puts {
            match put.await.unwrap() {
                Ok(answer) => won.push(answer.into_inner().plan.unwrap()),
                Err(status) => lost.push(Failure::from(status)),
            }
        }
        let [winner] = won.as_slice() else {
            panic!("{} of 6 puts were taken", won.len());
        };
        assert_eq!(&client.get_plan(&thread_id).await, winner);
        for failure in lost {
            let failure = failure.is(Code::Aborted, "ETAG_CHANGED");
            assert_eq!(failure.metadata["etag"], winner.etag);
        }
        etag = winner.etag.clone();
    }

    let refused = async |etag: &str| {
        let request = put(&thread_id, etag, plan("mine", &[]));
        let answer = client.refused(request).await;
        answer.is(Code::Aborted, "ETAG_CHANGED").metadata["etag"].clone()
    };
    assert_eq!(refused("").await, etag, "there is a plan");
    assert_eq!(refused("no etag of ours").await, etag);
    let any = client.put_plan(put_any(&thread_id, plan("any", &[]))).await;
    assert_eq!(any.goal, "any");
    let any = client
        .put_plan(put(&thread_id, "*", plan("there was one", &[])))
        .await;

    // An etag of a plan that was deleted is not that of the next one.
    let delete = DeletePlanRequest {
        thread: by_id(&thread_id),
    };
    client.call(delete).await;
    assert_eq!(refused(&any.etag).await, "", "the thread has no plan");
    assert_eq!(refused("*").await, "", "the thread has no plan");
    let anew = client.put_plan(put_any(&thread_id, plan("any", &[]))).await;
    assert_ne!(anew.etag, any.etag);
    assert_eq!(refused(&any.etag).await, anew.etag);
}

#[apply(trial)]
async fn a_change_of_a_step_may_ask_for_the_etag() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let first = client
        .put_plan(put(&thread_id, "", plan("All", &["x"])))
        .await;
    let with = |etag: &str| UpdatePlanStepRequest {
        precondition: match etag {
            "" => None,
            etag => has_etag(etag),
        },
        ..of_step(&thread_id, "1", Status::Done)
    };
    let second = update(&client, with(&first.etag)).await;
    let stale = client.refused(with(&first.etag)).await;
    let stale = stale.is(Code::Aborted, "ETAG_CHANGED");
    assert_eq!(stale.metadata["etag"], second.etag);
    assert_eq!(client.get_plan(&thread_id).await, second);
    update(&client, with("*")).await;
    update(&client, with("")).await;
}

#[apply(trial)]
async fn a_plan_is_found_by_its_session() {
    let client = plain().await;
    let app = app();
    let named = session(&app, "ada", "thread:42");
    let request = PutPlanRequest {
        thread: by_session(named.clone()),
        ..put("", "", plan("By name", &[]))
    };
    // It is found, never created.
    let answer = client.refused(request.clone()).await;
    answer.is(Code::NotFound, "THREAD_NOT_FOUND");
    let thread_id = client.resolve(named.clone()).await.thread_id;
    let stored = client.put_plan(request).await;
    assert_eq!(client.get_plan(&thread_id).await, stored);
    let neither = GetPlanRequest { thread: None };
    client.refused(neither).await.names_field("thread");
    let by_name = GetPlanRequest {
        thread: by_session(named),
    };
    let answer = client.call(by_name).await;
    assert_eq!(answer.plan, Some(stored));
}

#[apply(trial)]
async fn n12_plans_are_isolated_per_thread() {
    let client = plain().await;
    let app = app();
    // Of one user in one app.
    let (one, other) = (client.thread(&app).await, client.thread(&app).await);
    let stored = client.put_plan(put(&one, "", plan("Of one", &["x"]))).await;
    client
        .log_attempt(&one, attempt("t", "tried in one", "e"), "")
        .await;
    client.append_turn(&one, "Said in one", "Yes.").await;

    let missing = get(&client, &other).await.unwrap_err();
    missing.is(Code::NotFound, "PLAN_NOT_FOUND");
    assert_eq!(client.attempts(all_of(&other)).await, []);
    let briefing = client.call(briefing_request(&other, "Go on.")).await;
    assert_eq!(briefing.text, "## Task\n\nGo on.\n");
    assert_eq!((briefing.attempt, briefing.truncated), (1, false));

    // Etags and numbers of one thread's plan are not valid for another's.
    let request = put(&other, &stored.etag, plan("Of other", &[]));
    let answer = client.refused(request).await;
    answer.is(Code::Aborted, "ETAG_CHANGED");
    client
        .put_plan(put(&other, "", plan("Of other", &["x"])))
        .await;
    let logged = client.log_attempt(&other, attempt("t", "a", ""), "").await;
    let logged = logged.attempt.unwrap();
    assert_eq!((logged.number, logged.task_number), (1, 1));
    update(&client, of_step(&other, "1", Status::Done)).await;
    client.delete_thread(&other).await;
    assert_eq!(client.get_plan(&one).await, stored);
    assert_eq!(client.attempts(all_of(&one)).await.len(), 1);

    // Another tenant learns nothing, not even that the thread is there.
    let globex = PLAIN.client(Key::Globex).await;
    let others = get(&globex, &one).await.unwrap_err();
    let unknown = get(&globex, &Uuid::new_v4().to_string()).await.unwrap_err();
    assert_eq!(others, unknown);
    others.is(Code::NotFound, "THREAD_NOT_FOUND");
}

#[apply(trial)]
async fn clearing_a_thread_erases_its_plan_and_its_log() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    client.put_plan(put(&thread_id, "", full())).await;
    let request_id = Uuid::new_v4().to_string();
    let tried = || attempt("t", "a", "e");
    client.log_attempt(&thread_id, tried(), &request_id).await;
    client.clear_thread(&thread_id).await;
    let missing = get(&client, &thread_id).await.unwrap_err();
    missing.is(Code::NotFound, "PLAN_NOT_FOUND");
    assert_eq!(client.attempts(all_of(&thread_id)).await, []);
    let update = of_step(&thread_id, "a", Status::Done);
    let update = client.refused(update).await;
    update.is(Code::NotFound, "PLAN_NOT_FOUND");
    let briefing = client.call(briefing_request(&thread_id, "Go on.")).await;
    assert_eq!(briefing.text, "## Task\n\nGo on.\n");
    // A new start.
    let logged = client.log_attempt(&thread_id, tried(), &request_id).await;
    assert!(!logged.replayed);
    let logged = logged.attempt.unwrap();
    assert_eq!((logged.number, logged.task_number), (1, 1));
}

#[apply(trial)]
async fn a_plan_is_deleted_and_the_log_stays() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    client.put_plan(put(&thread_id, "", full())).await;
    client
        .log_attempt(&thread_id, attempt("", "a", ""), "")
        .await;
    let delete = async || {
        let request = DeletePlanRequest {
            thread: by_id(&thread_id),
        };
        client.call(request).await.deleted
    };
    assert!(delete().await);
    assert!(!delete().await, "it is idempotent");
    let missing = get(&client, &thread_id).await.unwrap_err();
    missing.is(Code::NotFound, "PLAN_NOT_FOUND");
    assert_eq!(client.attempts(all_of(&thread_id)).await.len(), 1);
}

#[apply(trial)]
async fn an_ephemeral_thread_has_a_plan_and_a_log() {
    let client = plain().await;
    let thread_id = ephemeral(&client, &app(), "ada").await;
    let put_plan = client.plans().put_plan(put(&thread_id, "", full())).await;
    put_plan.unwrap();
    update(&client, of_step(&thread_id, "c", Status::Done)).await;
    let plan = get(&client, &thread_id).await.unwrap();
    assert_eq!(plan.steps[2].status(), Status::Done);
    client
        .log_attempt(&thread_id, attempt("", "a", ""), "")
        .await;
    assert_eq!(client.attempts(all_of(&thread_id)).await.len(), 1);
    client.call(briefing_request(&thread_id, "Go on.")).await;
    client.delete_thread(&thread_id).await;
    let removed = get(&client, &thread_id).await.unwrap_err();
    removed.is(Code::NotFound, "THREAD_NOT_FOUND");
}

#[apply(trial)]
async fn changes_of_plans_are_listed_with_their_actor() {
    let (one, other) = (plain().await, PLAIN.client(Key::AcmeToo).await);
    let thread_id = one.thread(&app()).await;
    one.put_plan(put(&thread_id, "", full())).await;
    update(&other, of_step(&thread_id, "c", Status::Done)).await;
    let request_id = Uuid::new_v4().to_string();
    for _ in 0..2 {
        // The second time nothing is done.
        other
            .log_attempt(&thread_id, attempt("t", "a", "e"), &request_id)
            .await;
        let stale = one.refused(put(&thread_id, "", full())).await;
        stale.is(Code::Aborted, "ETAG_CHANGED");
    }
    for _ in 0..2 {
        let delete = DeletePlanRequest {
            thread: by_id(&thread_id),
        };
        one.call(delete).await;
    }
    let request = ListTransactionsRequest {
        thread: by_id(&thread_id),
        ..Default::default()
    };
    let done: Vec<(String, String, String)> = transactions(&one, request)
        .await
        .into_iter()
        .map(|done| {
            let action = action_name(done.action());
            (done.actor, action, done.subject)
        })
        .collect();
    let expected = [
        (Key::Acme, "delete_plan", ""),
        (Key::AcmeToo, "append_attempt", "1"),
        (Key::AcmeToo, "update_plan_step", "c"),
        (Key::Acme, "put_plan", ""),
        (Key::Acme, "create_thread", ""),
    ];
    let expected = expected.map(|(key, action, subject)| {
        (key.name().to_owned(), action.to_owned(), subject.to_owned())
    });
    assert_eq!(done, expected);
}
