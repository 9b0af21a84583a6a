//! The default thresholds of observations and reflections, with outputs of tools as they are.

use std::fs;
use std::path::{Path, PathBuf};

use memory_contract::proto::{
    GetObservationsResponse, LedgerKind, MemoryMode, MessageInput, Role, SearchRequest,
};
use recollect_tests::{
    Client, SOON, apply, eventually_some, mode, project_dir, say, target_thread, text_of,
    tool_call, tool_result, trial,
};
use serde_json::json;

use super::ledger::{counts, observations, verify};
use super::{bulk_database, looked_at, thread};
use crate::bulk;

/// The most bytes that a tool returns of a file.
const OUTPUT_BYTES: usize = 6_000;

/// Source files of this project, in a fixed order.
fn sources() -> Vec<PathBuf> {
    fn walk(dir: &Path, found: &mut Vec<PathBuf>) {
        let mut entries: Vec<_> = fs::read_dir(dir)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .collect();
        entries.sort();
        for path in entries {
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|end| end == "rs") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    for dir in [
        "crates/memory-index",
        "crates/memory-recall",
        "crates/memory-api",
    ] {
        walk(&project_dir().join(dir), &mut found);
    }
    found
}

/// What a tool that reads files returns: the beginning of a file, with a line that only this
/// step has.
fn output(path: &Path, step: usize) -> String {
    let text = fs::read_to_string(path).unwrap();
    let text = &text[..text.floor_char_boundary(OUTPUT_BYTES)];
    let mut lines: Vec<&str> = text.lines().collect();
    let planted = planted(step);
    lines.insert(lines.len() / 2, &planted);
    lines.join("\n")
}

fn planted(step: usize) -> String {
    format!("ERROR: check {step} failed with code {}", code(step))
}

fn code(step: usize) -> String {
    format!("QZ{}", 7_000 + step * 3)
}

/// The log of an agent that reads so many files, one step each.
fn log(files: usize) -> Vec<MessageInput> {
    let task = "Find out why the checks fail. Read the sources one by one.";
    let mut log = vec![say(Role::User, task)];
    let sources = sources();
    assert!(sources.len() >= files, "{} files", sources.len());
    for (step, path) in sources.iter().take(files).enumerate() {
        let id = format!("call-{step}");
        let name = path.strip_prefix(project_dir()).unwrap().display();
        log.push(tool_call(
            &id,
            "read_file",
            json!({"path": name.to_string()}),
        ));
        log.push(tool_result(&id, &output(path, step)));
    }
    log
}

/// Sentences that do not repeat: about 1,000 tokens.
fn report(number: usize) -> String {
    let sentence = |line: usize| {
        let place = number * 40 + line;
        format!(
            "Depot {} of district {} counted {place} parcels, of which {} waited for their papers. ",
            place % 887,
            place * 7 % 61,
            place * 13 % 97
        )
    };
    (0..40).map(sentence).collect()
}

fn reports(numbers: std::ops::Range<usize>) -> Vec<MessageInput> {
    let step = |number: usize| {
        let id = format!("report-{number}");
        [
            tool_call(&id, "fetch", json!({"report": number})),
            tool_result(&id, &report(number)),
        ]
    };
    numbers.flat_map(step).collect()
}

async fn block(client: &Client, thread_id: &str) -> GetObservationsResponse {
    observations(client, thread_id, false).await
}

#[apply(trial)]
async fn n04_observations_replace_messages_beyond_30000_tokens() {
    let client = bulk().await;
    let database = bulk_database().await;
    let thread_id = thread(&client, mode(MemoryMode::Observational)).await;
    let mut next = 0;
    while block(&client, &thread_id).await.raw_message_tokens < 28_000 {
        client.append(&thread_id, reports(next..next + 1)).await;
        next += 1;
    }
    looked_at(&database, &thread_id).await;
    let below = block(&client, &thread_id).await;
    assert!(below.raw_message_tokens <= 30_000, "{below:?}");
    assert!(below.observations.is_empty(), "{below:?}");
    // They are written ahead of time.
    assert!(below.ready_message_tokens > 10_000, "{below:?}");

    client.append(&thread_id, reports(next..next + 4)).await;
    let above = eventually_some("observations are swapped in", SOON, async || {
        let found = block(&client, &thread_id).await;
        (!found.observations.is_empty()).then_some(found)
    })
    .await;
    assert!(
        (6_000..=30_000).contains(&above.raw_message_tokens),
        "{above:?}"
    );
    let covered: i64 = above.observations.iter().map(|one| one.message_count).sum();
    let all = client.all_messages(&thread_id).await.len() as i64;
    assert_eq!(covered + above.raw_message_count, all);
    let verified = verify(&client, &thread_id).await;
    assert!(verified.ok, "{verified:?}");
    assert_eq!(counts(&verified, LedgerKind::Observation, 1)[2], covered);
}

#[apply(trial)]
async fn n05_observations_are_condensed_beyond_40000_tokens() {
    let client = bulk().await;
    let thread_id = thread(&client, mode(MemoryMode::Observational)).await;
    let mut next = 0;
    let mut most = 0;
    let found = eventually_some("a reflection is swapped in", 6 * SOON, async || {
        let found = block(&client, &thread_id).await;
        if found.observations.iter().any(|one| one.reflection) {
            return Some(found);
        }
        most = most.max(found.observation_tokens);
        if found.raw_message_tokens <= 30_000 {
            client.append(&thread_id, reports(next..next + 20)).await;
            next += 20;
        }
        None
    })
    .await;
    // Not before they are that large, but for what one run adds.
    assert!(most > 30_000, "{most}");
    assert!(
        found.observation_tokens <= 40_000,
        "{}",
        found.observation_tokens
    );
    let reflection = &found.observations[0];
    assert!(
        reflection.reflection && reflection.token_count <= 10_000,
        "{reflection:?}"
    );
    assert!(verify(&client, &thread_id).await.ok);
}

#[apply(trial)]
async fn n07_real_outputs_of_tools_are_five_to_forty_times_smaller() {
    let client = bulk().await;
    let thread_id = thread(&client, mode(MemoryMode::Observational)).await;
    let log = log(80);
    let mut ids = Vec::new();
    for part in log.chunks(40) {
        let stored = client.append(&thread_id, part.to_vec()).await.messages;
        ids.extend(stored.into_iter().map(|one| one.message_id));
    }
    let found = eventually_some("the log is observed", 2 * SOON, async || {
        let found = block(&client, &thread_id).await;
        (found.raw_message_tokens <= 30_000).then_some(found)
    })
    .await;
    let covered: i64 = found
        .observations
        .iter()
        .map(|one| one.message_tokens)
        .sum();
    // All but what stays raw.
    assert!(covered > 40_000, "{covered}");
    let smaller = covered as f64 / f64::from(found.observation_tokens);
    assert!((5.0..=40.0).contains(&smaller), "{smaller:.1} times");
    assert!(verify(&client, &thread_id).await.ok);

    // What a step found out is in the observations, and a search for it finds the step.
    let observed: i64 = found.observations.iter().map(|one| one.message_count).sum();
    let steps = usize::try_from(observed - 1).unwrap() / 2;
    let texts: String = found.observations.iter().map(|one| &*one.text).collect();
    let kept = (0..steps)
        .filter(|step| texts.contains(&code(*step)))
        .count();
    assert!(kept * 10 >= steps * 8, "{kept} of {steps}");
    for step in (0..steps).step_by(7) {
        let request = SearchRequest {
            target: target_thread(&thread_id),
            query: code(step),
            ..Default::default()
        };
        let matches = client.call(request).await.matches;
        let best = matches[0].message.as_ref().unwrap();
        assert_eq!(best.message_id, ids[2 + 2 * step], "{}", text_of(best));
    }
}
