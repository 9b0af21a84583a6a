//! The ledger reports damaged rows and missing messages.

use memory_contract::proto::LedgerKind;
use recollect_tests::{apply, trial_with_own_server};

use super::ledger::verify;
use super::world::{World, four_turns};

#[apply(trial_with_own_server)]
async fn b05_a_fault_is_found_and_reported() {
    let world = World::new().await;
    let client = &world.client;
    let admin = world.cluster.superuser().await;
    // The damage to the rows, what is reported of it, and the text concerned.
    for (damage, reported, number) in [
        (
            "UPDATE recollect.distillates SET after_depth = 3 WHERE kind = 'summary' AND number = 2",
            "gap",
            2,
        ),
        (
            "UPDATE recollect.distillates SET after_depth = 1 WHERE kind = 'summary' AND number = 2",
            "covers too",
            2,
        ),
        (
            "DELETE FROM recollect.distillates WHERE kind = 'summary' AND number = 1",
            "not there",
            2,
        ),
        (
            "UPDATE recollect.distillates SET based_on = 2 WHERE kind = 'summary' AND number = 1",
            "not older",
            1,
        ),
        (
            "UPDATE recollect.distillates SET text = '' WHERE kind = 'summary' AND number = 1",
            "empty",
            1,
        ),
        (
            "UPDATE recollect.distillates SET to_depth = 9 WHERE kind = 'summary' AND number = 2",
            "not there",
            2,
        ),
        (
            "UPDATE recollect.distillates SET to_depth = 3 WHERE kind = 'observation' AND number = 1",
            "covers too",
            2,
        ),
        (
            "UPDATE recollect.distillates SET reflects = ARRAY[9], after_depth = to_depth WHERE kind = 'observation' AND number = 2",
            "reflects 9",
            2,
        ),
        (
            "DELETE FROM recollect.messages WHERE depth = 1",
            "not there",
            1,
        ),
    ] {
        let thread_id = client.thread("app").await;
        four_turns(client, &thread_id).await;
        world.summarize(&thread_id, 0, 2, "NULL").await;
        world.summarize(&thread_id, 2, 4, "1").await;
        world.observe(&thread_id, 0, 2, "one", true).await;
        world.observe(&thread_id, 2, 4, "two", true).await;
        assert!(verify(client, &thread_id).await.ok);
        let damage = format!(
            "{damage} {} thread_id = '{thread_id}'",
            if damage.contains("WHERE") {
                "AND"
            } else {
                "WHERE"
            }
        );
        assert_eq!(admin.execute(&damage, &[]).await.unwrap(), 1, "{damage}");
        let verified = verify(client, &thread_id).await;
        assert!(!verified.ok, "{damage}");
        let fault = verified
            .faults
            .iter()
            .find(|fault| fault.message.contains(reported));
        let fault = fault.unwrap_or_else(|| panic!("{damage}: {verified:?}"));
        assert_eq!((fault.number, fault.branch), (number, 1), "{verified:?}");
        assert!(fault.first_seq <= fault.last_seq && fault.last_seq <= 8);
        let shown = world.cli(&["verify", &thread_id]);
        assert_eq!(shown.code, Some(1), "{shown:?}");
        assert!(shown.stdout.contains(reported), "{shown:?}");
        let shown = world.cli(&["verify", &thread_id, "--json"]);
        assert_eq!(shown.code, Some(1));
        assert_eq!(shown.json_lines().len(), 1);
    }
}

#[apply(trial_with_own_server)]
async fn b05_a_missing_message_is_reported() {
    let world = World::new().await;
    let client = &world.client;
    let admin = world.cluster.superuser().await;
    // None of them has derived text.
    for (missing, seqs) in [(1, (2, 2)), (3, (3, 3)), (4, (4, 4)), (8, (8, 8))] {
        let thread_id = client.thread("app").await;
        four_turns(client, &thread_id).await;
        assert!(verify(client, &thread_id).await.ok);
        let delete = format!(
            "DELETE FROM recollect.messages WHERE seq = {missing} AND thread_id = '{thread_id}'"
        );
        assert_eq!(admin.execute(&delete, &[]).await.unwrap(), 1);
        let verified = verify(client, &thread_id).await;
        assert!(!verified.ok, "{missing}");
        let faults: Vec<_> = verified
            .faults
            .iter()
            .map(|fault| (fault.kind(), (fault.first_seq, fault.last_seq)))
            .collect();
        assert!(
            faults.contains(&(LedgerKind::Unspecified, seqs)),
            "{missing}: {verified:?}"
        );
        assert!(
            verified.faults.iter().any(|fault| {
                fault.message == "7 messages can be read, and the thread counts 8"
            }),
            "{verified:?}"
        );
    }
}
