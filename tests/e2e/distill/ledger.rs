//! The ledger of a thread, and what derived text stands for. The texts are put
//! where the workers put them, in a database that the test can reach.

use memory_contract::proto::{
    DeleteMessageRequest, GetObservationsRequest, GetObservationsResponse, LedgerCount, LedgerKind,
    LedgerState, ListLedgerRequest, ListLedgerResponse, Role, SetHeadRequest, VerifyThreadRequest,
    VerifyThreadResponse,
};
use recollect_tests::{
    Client, Key, Refused as _, app, apply, reply, say, session, trial, trial_with_own_server, turn,
};
use tonic::Code;

use super::world::{World, four_turns};
use crate::plain;
use crate::threads::ephemeral::ephemeral;

pub(crate) async fn verify(client: &Client, thread_id: &str) -> VerifyThreadResponse {
    let request = VerifyThreadRequest {
        thread_id: thread_id.to_owned(),
        session: None,
    };
    let verified = client.ledgers().verify_thread(request).await.unwrap();
    let verified = verified.into_inner();
    for count in &verified.counts {
        assert_eq!(
            count.raw_count
                + count.summarized_count
                + count.observed_count
                + count.erased_count
                + count.set_aside_count,
            count.message_count,
            "{count:?}"
        );
    }
    verified
}

/// Raw, summarized, observed, erased.
pub(crate) fn counts(verified: &VerifyThreadResponse, kind: LedgerKind, branch: i32) -> [i64; 4] {
    let of = |one: &&LedgerCount| one.kind() == kind && one.branch == branch;
    let one = verified.counts.iter().find(of).unwrap();
    [
        one.raw_count,
        one.summarized_count,
        one.observed_count,
        one.erased_count,
    ]
}

fn ledger_request(thread_id: &str, kind: LedgerKind, head: &str) -> ListLedgerRequest {
    ListLedgerRequest {
        thread_id: thread_id.to_owned(),
        session: None,
        kind: kind.into(),
        head_message_id: head.to_owned(),
        include_texts: false,
    }
}

/// State, number, messages of each stretch.
fn stretches(listed: &ListLedgerResponse) -> Vec<(LedgerState, i64, i64)> {
    let stretches = listed.ranges.iter();
    stretches
        .map(|one| (one.state(), one.number, one.message_count))
        .collect()
}

pub(crate) async fn list(
    client: &Client,
    thread_id: &str,
    kind: LedgerKind,
    head: &str,
) -> Vec<(LedgerState, i64, i64)> {
    let request = ledger_request(thread_id, kind, head);
    let listed = client.ledgers().list_ledger(request).await.unwrap();
    stretches(&listed.into_inner())
}

pub(crate) async fn observations(
    client: &Client,
    thread_id: &str,
    replaced: bool,
) -> GetObservationsResponse {
    let request = GetObservationsRequest {
        thread_id: thread_id.to_owned(),
        include_replaced: replaced,
        ..Default::default()
    };
    let found = client.observations().get_observations(request).await;
    found.unwrap().into_inner()
}

pub(crate) async fn delete(client: &Client, thread_id: &str, message_id: &str) {
    let request = DeleteMessageRequest {
        thread_id: thread_id.to_owned(),
        message_id: message_id.to_owned(),
    };
    client.messages().delete_message(request).await.unwrap();
}

#[apply(trial_with_own_server)]
async fn b05_every_message_is_in_one_state_also_after_an_erasure() {
    let world = World::new().await;
    let client = &world.client;
    let thread_id = client.thread("app").await;
    let ids = four_turns(client, &thread_id).await;
    world.summarize(&thread_id, 0, 2, "NULL").await;
    world.summarize(&thread_id, 2, 4, "1").await;
    world
        .observe(&thread_id, 0, 2, "the first turn", true)
        .await;
    world
        .observe(&thread_id, 2, 4, "the second turn", true)
        .await;
    world.observe(&thread_id, 4, 6, "made ahead", false).await;
    // What is covered is not covered again.
    let again = "1, 3, 5, 'twice', 3, 'extractive', true";
    let refused = world.derive("commit_observation", &thread_id, again).await;
    assert_eq!(refused, "misplaced");

    let verified = verify(client, &thread_id).await;
    assert!(verified.ok && verified.faults.is_empty(), "{verified:?}");
    assert_eq!(counts(&verified, LedgerKind::Summary, 1), [4, 4, 0, 0]);
    assert_eq!(counts(&verified, LedgerKind::Observation, 1), [4, 0, 4, 0]);
    assert!(verified.counts.iter().all(|one| one.active));
    assert!(
        verified
            .counts
            .iter()
            .all(|one| one.head_message_id == ids[7])
    );
    assert_eq!(
        list(client, &thread_id, LedgerKind::Summary, "").await,
        [
            (LedgerState::Summarized, 1, 2),
            (LedgerState::Summarized, 2, 2),
            (LedgerState::Raw, 0, 4)
        ]
    );
    let found = observations(client, &thread_id, false).await;
    let texts: Vec<&str> = found
        .observations
        .iter()
        .map(|one| one.text.as_str())
        .collect();
    assert_eq!(texts, ["the first turn", "the second turn"]);
    let first = &found.observations[0];
    assert_eq!(
        (&first.first_message_id, &first.last_message_id),
        (&ids[0], &ids[1])
    );
    assert_eq!(
        (first.message_count, first.number, first.reflection),
        (2, 1, false)
    );
    assert_eq!((found.observation_tokens, found.raw_message_count), (6, 4));
    let history = client.all_messages(&thread_id).await;
    let tokens = |range: std::ops::Range<usize>| -> i64 {
        history[range]
            .iter()
            .map(|one| i64::from(one.token_count))
            .sum()
    };
    assert_eq!(found.raw_message_tokens, tokens(4..8));
    assert_eq!(found.ready_message_tokens, tokens(4..6));
    assert_eq!(first.message_tokens, tokens(0..2));

    // A reflection stands for both.
    let reflect = "ARRAY[1, 2]::bigint[], 'both turns', 2, 'extractive', true";
    let status = world.derive("commit_reflection", &thread_id, reflect).await;
    assert_eq!(status, "ok");
    let found = observations(client, &thread_id, true).await;
    assert_eq!((found.observations.len(), found.replaced.len()), (1, 2));
    let both = &found.observations[0];
    assert!(both.reflection && both.text == "both turns");
    assert_eq!((both.message_count, &both.first_message_id), (4, &ids[0]));
    assert!(verify(client, &thread_id).await.ok);
    let shown = world.cli(&["observations", &thread_id, "--replaced"]).ok();
    for text in [
        "reflection: both turns",
        "replaced: the first turn",
        &ids[0],
    ] {
        assert!(shown.stdout.contains(text), "{shown:?}");
    }
    let shown = world.cli(&["summary", &thread_id]).ok();
    assert!(
        shown
            .stdout
            .contains("4 messages summarized, 4 messages in full"),
        "{shown:?}"
    );

    // Erasing a message erases what was made of it, and no more.
    delete(client, &thread_id, &ids[1]).await;
    let verified = verify(client, &thread_id).await;
    assert!(verified.ok, "{verified:?}");
    assert_eq!(counts(&verified, LedgerKind::Summary, 1), [7, 0, 0, 1]);
    assert_eq!(counts(&verified, LedgerKind::Observation, 1), [5, 0, 2, 1]);
    let found = observations(client, &thread_id, true).await;
    let texts: Vec<&str> = found
        .observations
        .iter()
        .map(|one| one.text.as_str())
        .collect();
    assert_eq!((texts, found.replaced.len()), (vec!["the second turn"], 0));
    assert_eq!(found.raw_message_count, 5);
    let admin = world.cluster.superuser().await;
    let texts = "SELECT string_agg(text, ', ' ORDER BY number) FROM recollect.distillates";
    let left: String = admin.query_one(texts, &[]).await.unwrap().get(0);
    assert_eq!(left, "the second turn, made ahead");
    let shown = world.cli(&["verify", &thread_id]).ok();
    assert!(shown.stdout.contains("one state of each kind"), "{shown:?}");
}

#[apply(trial_with_own_server)]
async fn b05_a_fault_is_found_and_told() {
    let world = World::new().await;
    let client = &world.client;
    let admin = world.cluster.superuser().await;
    // What somebody does to the rows, what is told of it, and the text concerned.
    for (damage, told, number) in [
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
            .find(|fault| fault.message.contains(told));
        let fault = fault.unwrap_or_else(|| panic!("{damage}: {verified:?}"));
        assert_eq!((fault.number, fault.branch), (number, 1), "{verified:?}");
        assert!(fault.first_seq <= fault.last_seq && fault.last_seq <= 8);
        let shown = world.cli(&["verify", &thread_id]);
        assert_eq!(shown.code, Some(1), "{shown:?}");
        assert!(shown.stdout.contains(told), "{shown:?}");
        let shown = world.cli(&["verify", &thread_id, "--json"]);
        assert_eq!(shown.code, Some(1));
        assert_eq!(shown.json_lines().len(), 1);
    }
}

#[apply(trial_with_own_server)]
async fn b05_a_message_that_is_gone_is_told() {
    let world = World::new().await;
    let client = &world.client;
    let admin = world.cluster.superuser().await;
    // Nothing was derived from any of them.
    for (gone, seqs) in [(1, (2, 2)), (3, (3, 3)), (4, (4, 4)), (8, (8, 8))] {
        let thread_id = client.thread("app").await;
        four_turns(client, &thread_id).await;
        assert!(verify(client, &thread_id).await.ok);
        let delete = format!(
            "DELETE FROM recollect.messages WHERE seq = {gone} AND thread_id = '{thread_id}'"
        );
        assert_eq!(admin.execute(&delete, &[]).await.unwrap(), 1);
        let verified = verify(client, &thread_id).await;
        assert!(!verified.ok, "{gone}");
        let faults: Vec<_> = verified
            .faults
            .iter()
            .map(|fault| (fault.kind(), (fault.first_seq, fault.last_seq)))
            .collect();
        assert!(
            faults.contains(&(LedgerKind::Unspecified, seqs)),
            "{gone}: {verified:?}"
        );
        assert!(
            verified.faults.iter().any(|fault| {
                fault.message == "7 messages can be read, and the thread counts 8"
            }),
            "{verified:?}"
        );
    }
}

#[apply(trial)]
async fn b05_a_thread_without_derived_text_verifies() {
    let client = plain().await;
    let app = app();
    let empty = client.thread(&app).await;
    let verified = verify(&client, &empty).await;
    assert!(verified.ok && verified.counts.is_empty());
    assert_eq!(list(&client, &empty, LedgerKind::Summary, "").await, []);
    let found = observations(&client, &empty, true).await;
    assert_eq!(found, GetObservationsResponse::default());

    let named = client.resolve(session(&app, "ada", "thread:ledger")).await;
    let ids = four_turns(&client, &named.thread_id).await;
    for erased in [&ids[7], &ids[2]] {
        delete(&client, &named.thread_id, erased).await;
    }
    let request = VerifyThreadRequest {
        session: Some(session(&app, "ada", "thread:ledger")),
        ..Default::default()
    };
    let by_name = client.ledgers().verify_thread(request).await.unwrap();
    let verified = verify(&client, &named.thread_id).await;
    assert_eq!(by_name.into_inner(), verified);
    for kind in [LedgerKind::Summary, LedgerKind::Observation] {
        assert_eq!(counts(&verified, kind, 1), [6, 0, 0, 2]);
        assert_eq!(
            list(&client, &named.thread_id, kind, "").await,
            [
                (LedgerState::Raw, 0, 2),
                (LedgerState::Erased, 0, 1),
                (LedgerState::Raw, 0, 4)
            ]
        );
    }
    // A message may take the place of an erased one. Both are counted.
    client
        .append(&named.thread_id, vec![say(Role::Assistant, "Eight.")])
        .await;
    let verified = verify(&client, &named.thread_id).await;
    assert_eq!(counts(&verified, LedgerKind::Summary, 1), [7, 0, 0, 2]);
    assert_eq!(verified.counts.len(), 2);
}

#[apply(trial_with_own_server)]
async fn b06_a_regenerated_branch_does_not_inherit_what_covers_the_old_one() {
    let world = World::new().await;
    let client = &world.client;
    let thread_id = client.thread("app").await;
    let ids = four_turns(client, &thread_id).await;
    world.summarize(&thread_id, 0, 2, "NULL").await;
    world.summarize(&thread_id, 2, 6, "1").await;
    world
        .observe(&thread_id, 0, 2, "the first turn", true)
        .await;
    world
        .observe(&thread_id, 2, 6, "what was answered then", true)
        .await;

    // The second answer is given anew: the first summary covers what both
    // branches share, the second one does not.
    let anew = reply(&ids[2], Role::Assistant, "Another number.");
    let anew = client.append(&thread_id, vec![anew]).await.messages[0]
        .message_id
        .clone();
    let shared = [(LedgerState::Summarized, 1, 2), (LedgerState::Raw, 0, 2)];
    assert_eq!(
        list(client, &thread_id, LedgerKind::Summary, "").await,
        shared
    );
    let found = observations(client, &thread_id, true).await;
    let texts: Vec<&str> = found
        .observations
        .iter()
        .map(|one| one.text.as_str())
        .collect();
    assert_eq!(
        (texts, found.raw_message_count),
        (vec!["the first turn"], 2)
    );
    let verified = verify(client, &thread_id).await;
    assert!(verified.ok, "{verified:?}");
    assert_eq!(counts(&verified, LedgerKind::Summary, 1), [2, 6, 0, 0]);
    assert_eq!(counts(&verified, LedgerKind::Summary, 2), [2, 2, 0, 0]);
    assert_eq!(counts(&verified, LedgerKind::Observation, 2), [2, 0, 2, 0]);
    let active: Vec<i32> = verified
        .counts
        .iter()
        .filter(|one| one.active)
        .map(|one| one.branch)
        .collect();
    assert_eq!(active, [2, 2]);

    // Answering the very first question anew leaves all of it behind.
    let first = reply(&ids[0], Role::Assistant, "Nothing.");
    client.append(&thread_id, vec![first]).await;
    assert_eq!(
        list(client, &thread_id, LedgerKind::Summary, "").await,
        [(LedgerState::Raw, 0, 2)]
    );
    assert_eq!(
        observations(client, &thread_id, true).await.observations,
        []
    );

    // Whoever goes back finds what was there.
    for (head, expected) in [
        (
            &ids[7],
            vec![
                (LedgerState::Summarized, 1, 2),
                (LedgerState::Summarized, 2, 4),
                (LedgerState::Raw, 0, 2),
            ],
        ),
        (&anew, shared.to_vec()),
    ] {
        let request = SetHeadRequest {
            thread_id: thread_id.clone(),
            head_message_id: head.clone(),
            expected_head: None,
        };
        client.threads().set_head(request).await.unwrap();
        assert_eq!(
            list(client, &thread_id, LedgerKind::Summary, "").await,
            expected
        );
    }
    assert!(verify(client, &thread_id).await.ok);
}

#[apply(trial)]
async fn nobody_sees_the_ledger_of_a_foreign_or_unknown_thread() {
    let client = plain().await;
    let brief = ephemeral(&client, &app(), "ada").await;
    client.append(&brief, turn("Q", "A")).await;
    assert!(verify(&client, &brief).await.ok);
    assert_eq!(
        list(&client, &brief, LedgerKind::Observation, "").await,
        [(LedgerState::Raw, 0, 2)]
    );
    let foreign = crate::PLAIN.client(Key::Globex).await;
    let foreign = foreign.thread("app").await;
    let unknown = uuid::Uuid::new_v4().to_string();
    for (thread_id, code, reason) in [
        (&foreign, Code::NotFound, "THREAD_NOT_FOUND"),
        (&unknown, Code::NotFound, "THREAD_NOT_FOUND"),
    ] {
        let request = VerifyThreadRequest {
            thread_id: thread_id.clone(),
            session: None,
        };
        let answer = client.ledgers().verify_thread(request).await;
        answer.refused().is(code, reason);
        let request = ledger_request(thread_id, LedgerKind::Observation, "");
        let answer = client.ledgers().list_ledger(request).await;
        answer.refused().is(code, reason);
        let request = GetObservationsRequest {
            thread_id: thread_id.clone(),
            ..Default::default()
        };
        let answer = client.observations().get_observations(request).await;
        answer.refused().is(code, reason);
    }
}

#[apply(trial)]
async fn a_ledger_can_be_read_from_any_message() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let ids = four_turns(&client, &thread_id).await;
    let kind = LedgerKind::Observation;
    let request = ledger_request(&thread_id, kind, &ids[2]);
    let listed = client.ledgers().list_ledger(request).await.unwrap();
    let listed = listed.into_inner();
    assert_eq!(stretches(&listed), [(LedgerState::Raw, 0, 3)]);
    let stretch = &listed.ranges[0];
    assert_eq!(
        (&stretch.first_message_id, &stretch.last_message_id),
        (&ids[0], &ids[2])
    );
    let messages = client.all_messages(&thread_id).await;
    let tokens: i64 = messages[..3]
        .iter()
        .map(|one| i64::from(one.token_count))
        .sum();
    assert_eq!(stretch.token_count, tokens);
    assert!(!listed.truncated);

    // A thousand stretches are told, and that there are more.
    let long = client.thread(&app()).await;
    let mut all = Vec::new();
    for _ in 0..9 {
        let messages = (0..226).map(|_| say(Role::User, "x")).collect();
        let stored = client.append(&long, messages).await;
        all.extend(stored.messages.into_iter().map(|one| one.message_id));
    }
    for id in all.iter().step_by(2) {
        delete(&client, &long, id).await;
    }
    let request = ledger_request(&long, kind, "");
    let listed = client.ledgers().list_ledger(request).await.unwrap();
    let listed = listed.into_inner();
    assert_eq!((listed.ranges.len(), listed.truncated), (1_000, true));
    assert_eq!(listed.ranges[999].last_message_id, all[2_033]);
    delete(&client, &thread_id, &ids[2]).await;
    let request = ledger_request(&thread_id, kind, &ids[2]);
    let answer = client.ledgers().list_ledger(request).await;
    answer.refused().is(Code::NotFound, "MESSAGE_NOT_FOUND");
    let request = GetObservationsRequest {
        thread_id: thread_id.clone(),
        head_message_id: ids[2].clone(),
        ..Default::default()
    };
    let answer = client.observations().get_observations(request).await;
    answer.refused().is(Code::NotFound, "MESSAGE_NOT_FOUND");
}
