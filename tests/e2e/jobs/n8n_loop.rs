//! A user of a long-running agent in the manner of n8n: a loop of 300 steps.

use std::fmt::Write as _;

use memory_contract::proto::{
    AppendMessagesRequest, BuildContextRequest, BuildContextResponse, ContextBlockKind as Kind,
    GetObservationsRequest, GetObservationsResponse, MemoryMode, MessageInput, PolicyLevel,
    ResolveThreadRequest, Role, SessionRef,
};
use recollect_tests::{
    Client, SOON, app, apply, block, by_session, check_context, context_request, cut, eventually,
    mode, say, session, tool_call, tool_result, trial,
};
use serde_json::json;

use crate::bulk;
use crate::distill::ledger::verify;

/// Steps of the agent.
const STEPS: usize = 300;
/// The default thresholds of observations and of reflections.
const OBSERVER_TOKENS: i64 = 30_000;
const REFLECTOR_TOKENS: i32 = 40_000;

/// The output of a tool, of 1,500 to 3,500 tokens: the log of a build, or a page of a report.
fn output(step: usize) -> String {
    match step % 3 {
        0 => build_log(step),
        _ => page(step),
    }
}

/// A page of prose, in which no sentence repeats.
fn page(step: usize) -> String {
    const THINGS: [&str; 8] = [
        "queue",
        "mirror",
        "runner",
        "cache",
        "gateway",
        "scheduler",
        "registry",
        "volume",
    ];
    const STATES: [&str; 7] = [
        "was restarted after a fault in its power supply",
        "served fewer requests than the week before",
        "moved to another rack because of the heat",
        "lost its connection to the metrics service",
        "reported a clock that was ahead of the others",
        "needed a newer version of its driver",
        "was emptied by hand and filled again overnight",
    ];
    let mut text = format!("Error {}: {}.\n", code(step), cause(step));
    for line in 0..130 {
        let number = step * 130 + line;
        let _ = writeln!(
            text,
            "In week {} the {} of hall {} {}, which took {} minutes.",
            number % 52 + 1,
            THINGS[number % THINGS.len()],
            number * 7 % 1_009,
            STATES[number * 3 % STATES.len()],
            number * 13 % 977
        );
    }
    text
}

/// The log of a build, which repeats itself but for one line.
fn build_log(step: usize) -> String {
    let mut log = String::new();
    for line in 0..46 {
        if line == (step * 31) % 46 {
            let _ = writeln!(log, "ERROR [{}]: {}", code(step), cause(step));
        }
        let file = (step * 46 + line) % 997;
        let _ = match (step + line) % 4 {
            0 => writeln!(
                log,
                "   Compiling part-{file} v0.{}.{line} (/srv/ci/src/part-{file})",
                file % 9
            ),
            1 => writeln!(
                log,
                "2026-11-20T03:{:02}:{:02}Z INFO worker-{}: request {file} done in {} ms",
                line % 60,
                file % 60,
                line % 4,
                file % 50
            ),
            2 => writeln!(
                log,
                "test part_{file}::reads_back_what_it_wrote_{line} ... ok"
            ),
            _ => writeln!(
                log,
                "-rw-r--r-- 1 ci ci {:>7} Nov {:2} 03:{:02} target/part_{file}.rlib",
                900 + file * 31,
                line % 28 + 1,
                line % 60
            ),
        };
    }
    log
}

/// A code that no other step has.
fn code(step: usize) -> String {
    format!("QX{}", 10_000 + step * 7)
}

fn cause(step: usize) -> String {
    match step % 3 {
        0 => format!("the disk of runner-{step} is full"),
        1 => format!("cannot resolve registry-{step}.internal"),
        _ => format!("certificate of mirror-{step} has expired"),
    }
}

/// A call of a tool, and its result.
fn step(number: usize) -> Vec<MessageInput> {
    let id = format!("call-{number}");
    vec![
        tool_call(
            &id,
            "run_build",
            json!({"module": number % 7, "attempt": number}),
        ),
        tool_result(&id, &output(number)),
    ]
}

async fn append(client: &Client, run: &SessionRef, messages: Vec<MessageInput>) -> Vec<String> {
    let request = AppendMessagesRequest {
        thread: by_session(run.clone()),
        messages,
        ..Default::default()
    };
    let stored = client.call(request).await.messages;
    stored.into_iter().map(|one| one.message_id).collect()
}

async fn observations(client: &Client, run: &SessionRef) -> GetObservationsResponse {
    let request = GetObservationsRequest {
        thread: by_session(run.clone()),
        ..Default::default()
    };
    client.call(request).await
}

/// What the agent gives its model; it sets no budget.
async fn context(client: &Client, run: &SessionRef) -> BuildContextResponse {
    let request = BuildContextRequest {
        thread: by_session(run.clone()),
        system_prompt: "You keep the nightly build green. Work step by step.".to_owned(),
        max_tokens: None,
        ..context_request("", "")
    };
    client.context(request).await
}

/// Checks that each message is in the context, covered by an observation, or counted as
/// left out. Returns how many are covered.
async fn check_whole(
    client: &Client,
    run: &SessionRef,
    ids: &[String],
    context: &BuildContextResponse,
) -> usize {
    let recent = block(context, Kind::Recent).unwrap();
    let shown: Vec<&String> = recent.messages.iter().map(|one| &one.message_id).collect();
    let counted = usize::try_from(cut(context, Kind::Recent).item_count).unwrap();
    let covered = ids.len() - shown.len() - counted;
    if counted == 0 {
        assert_eq!(shown, ids[covered..].iter().collect::<Vec<_>>());
    }
    assert_eq!(cut(context, Kind::Distilled).item_count, 0);
    // Coverage only grows, so a later answer covers no less.
    let found = observations(client, run).await;
    let observed: i64 = found.observations.iter().map(|one| one.message_count).sum();
    assert!(observed >= covered as i64, "{observed} of {covered}");
    covered
}

#[apply(trial)]
async fn an_agent_of_300_steps_loses_nothing() {
    let client = bulk().await;
    let run = session(&app(), "", "run:nightly");
    let request = ResolveThreadRequest {
        session: Some(run.clone()),
        policy: Some(mode(MemoryMode::Observational)),
        ..Default::default()
    };
    let thread_id = client.call(request).await.thread.unwrap().thread_id;
    let task = "Find out why the nightly build fails, and mend it.";
    let mut ids = append(&client, &run, vec![say(Role::User, task)]).await;
    let first = context(&client, &run).await;
    let policy = first.effective_policy.clone().unwrap();
    // Nothing but the mode is set.
    assert_eq!(policy.origins.len(), 1);
    assert_eq!(policy.origins[0].level(), PolicyLevel::Thread);

    let mut swapped = 0;
    let mut covered = 0;
    for number in 0..STEPS {
        ids.extend(append(&client, &run, step(number)).await);
        // The model takes its time, in which observations are made.
        eventually("observations keep up", SOON, async || {
            let found = observations(&client, &run).await;
            let condensed = found.observation_tokens <= REFLECTOR_TOKENS;
            condensed && found.raw_message_tokens <= OBSERVER_TOKENS + 4_000
        })
        .await;
        let now = context(&client, &run).await;
        assert_eq!(cut(&now, Kind::Recent).item_count, 0, "step {number}");
        if number % 25 == 0 {
            check_context(&now, i32::MAX);
        }
        let covers = check_whole(&client, &run, &ids, &now).await;
        swapped += usize::from(covers > covered);
        covered = covers;
    }
    assert_eq!(ids.len(), 1 + 2 * STEPS);
    assert!(
        covered > ids.len() / 2 && swapped > 10,
        "{covered}, {swapped}"
    );
    let verified = verify(&client, &thread_id).await;
    assert!(verified.ok, "{verified:?}");
}
