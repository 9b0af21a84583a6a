//! A long run does not store its state anew with each step.

use memory_contract::proto::{DeleteCheckpointsRequest, PutCheckpointRequest};
use recollect_tests::{Options, Server, apply, session, trial_with_own_server};

use super::checkpoints::{checkpoint, get};
use super::database;

/// Texts that hardly compress: each item is different.
fn item(number: u32) -> Vec<u8> {
    let mut state = u64::from(number) + 1;
    let mut bytes = Vec::with_capacity(400);
    while bytes.len() < 400 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        bytes.extend_from_slice(&state.to_be_bytes()[..4]);
    }
    bytes
}

#[apply(trial_with_own_server)]
async fn b18_a_growing_state_is_stored_once_and_erased_whole() {
    let options = Options::with(&["embedding.kind = \"none\""]);
    let (_dir, server, client) = Server::start_own(&options).await;
    let database = database(server.ready().line["postgres"].as_str().unwrap()).await;
    let stored = async || -> i64 {
        let sql = "SELECT (
                (SELECT COALESCE(sum(octet_length(data)), 0) FROM recollect.checkpoint_values)
                + (SELECT COALESCE(sum(octet_length(data)), 0) FROM recollect.checkpoint_chunks)
                + (SELECT COALESCE(sum(20 * cardinality(chunks)), 0) FROM recollect.checkpoint_values)
            )::bigint";
        database.query_one(sql, &[]).await.unwrap().get(0)
    };
    let counted = async || -> i64 {
        let sql = "SELECT COALESCE(sum(stored_bytes), 0)::bigint FROM recollect.threads";
        database.query_one(sql, &[]).await.unwrap().get(0)
    };

    let mut state = Vec::new();
    for step in 1..=100_u32 {
        // As encodings of lists begin: with the number of items.
        state = [
            &step.to_be_bytes()[2..],
            &state[state.len().min(2)..],
            &item(step),
        ]
        .concat();
        let version = step.to_string();
        let put = PutCheckpointRequest {
            thread: recollect_tests::by_session(session("app", "ada", "s")),
            ..checkpoint(
                "app",
                "s",
                &format!("{step:03}"),
                &[("messages", &version, &state)],
            )
        };
        client.call(put).await;
    }
    let all_steps: usize = (1..=100).map(|step| 2 + step * 400).sum();
    assert_eq!(state.len(), 40_002);
    let bytes = stored().await;
    let share = bytes as f64 / all_steps as f64;
    assert!(share < 0.25, "{bytes} of {all_steps} bytes");
    for step in [1_u32, 57, 100] {
        let found = get(&client, "app", "s", &format!("{step:03}"))
            .await
            .unwrap();
        let items: Vec<u8> = (1..=step).flat_map(item).collect();
        assert!(found.values[0].data()[2..] == items, "step {step}");
    }

    let prune = DeleteCheckpointsRequest {
        threads: vec![session("app", "ada", "s").into()],
        keep_latest: true,
        ..Default::default()
    };
    client.call(prune.clone()).await;
    let left = stored().await;
    assert!(left < 50_000, "{left} bytes for a state of 40,002");
    let found = get(&client, "app", "s", "").await.unwrap();
    assert!(found.values[0].data() == state);
    let before = counted().await;
    assert!((40_002..50_000).contains(&before), "{before}");
    let all = DeleteCheckpointsRequest {
        keep_latest: false,
        ..prune
    };
    client.call(all).await;
    assert_eq!((stored().await, counted().await), (0, 0));
}
