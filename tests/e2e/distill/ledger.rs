//! The ledger of a thread, and the messages that derived text covers. The tests insert
//! derived text into the database as the workers do.

use memory_contract::proto::{
    GetObservationsRequest, GetObservationsResponse, LedgerCount, LedgerKind, LedgerState,
    ListLedgerRequest, ListLedgerResponse, Role, SetHeadRequest, VerifyThreadRequest,
    VerifyThreadResponse,
};
use recollect_tests::{
    Client, Key, app, apply, by_id, by_session, reply, say, session, trial, trial_with_own_server,
};
use tonic::Code;

use super::world::{World, four_turns};
use crate::plain;
use crate::threads::ephemeral::ephemeral;

pub(crate) async fn verify(client: &Client, thread_id: &str) -> VerifyThreadResponse {
    let request = VerifyThreadRequest {
        thread: by_id(thread_id),
    };
    let verified = client.call(request).await;
    for count in &verified.counts {
        assert_eq!(
            count.raw_count
                + count.summarized_count
                + count.observed_count
                + count.deleted_count
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
        one.deleted_count,
    ]
}

fn ledger_request(thread_id: &str, kind: LedgerKind, head: &str) -> ListLedgerRequest {
    ListLedgerRequest {
        thread: by_id(thread_id),
        kind: kind.into(),
        head_message_id: head.to_owned(),
        page_size: 500,
        ..Default::default()
    }
}

/// State, number and message count of each range.
fn ranges(listed: &ListLedgerResponse) -> Vec<(LedgerState, i64, i64)> {
    let ranges = listed.ranges.iter();
    ranges
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
    let listed = client.call(request).await;
    ranges(&listed)
}

pub(crate) async fn observations(
    client: &Client,
    thread_id: &str,
    replaced: bool,
) -> GetObservationsResponse {
    let request = GetObservationsRequest {
        thread: by_id(thread_id),
        include_replaced: replaced,
        ..Default::default()
    };
    client.call(request).await
}

/// The texts of the observations that hold.
fn texts_of(found: &GetObservationsResponse) -> Vec<&str> {
    let observations = found.observations.iter();
    observations.map(|one| one.text.as_str()).collect()
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
    // Covered messages are not covered again.
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
    let texts = texts_of(&found);
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

    // A reflection condenses both.
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
    client.delete_message(&thread_id, &ids[1]).await;
    let verified = verify(client, &thread_id).await;
    assert!(verified.ok, "{verified:?}");
    assert_eq!(counts(&verified, LedgerKind::Summary, 1), [7, 0, 0, 1]);
    assert_eq!(counts(&verified, LedgerKind::Observation, 1), [5, 0, 2, 1]);
    let found = observations(client, &thread_id, true).await;
    let texts = texts_of(&found);
    assert_eq!((texts, found.replaced.len()), (vec!["the second turn"], 0));
    assert_eq!(found.raw_message_count, 5);
    let admin = world.cluster.superuser().await;
    let texts = "SELECT string_agg(text, ', ' ORDER BY number) FROM recollect.distillates";
    let left: String = admin.query_one(texts, &[]).await.unwrap().get(0);
    assert_eq!(left, "the second turn, made ahead");
    let shown = world.cli(&["verify", &thread_id]).ok();
    assert!(shown.stdout.contains("one state of each kind"), "{shown:?}");
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
        client.delete_message(&named.thread_id, erased).await;
    }
    let request = VerifyThreadRequest {
        thread: by_session(session(&app, "ada", "thread:ledger")),
    };
    let by_name = client.call(request).await;
    let verified = verify(&client, &named.thread_id).await;
    assert_eq!(by_name, verified);
    for kind in [LedgerKind::Summary, LedgerKind::Observation] {
        assert_eq!(counts(&verified, kind, 1), [6, 0, 0, 2]);
        assert_eq!(
            list(&client, &named.thread_id, kind, "").await,
            [
                (LedgerState::Raw, 0, 2),
                (LedgerState::Deleted, 0, 1),
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
async fn b06_a_regenerated_branch_does_not_inherit_the_texts_that_cover_the_old_one() {
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

    // The second answer is regenerated: the first summary covers what both
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
    let texts = texts_of(&found);
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

    // Regenerating the very first answer leaves all of it behind.
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

    // Back on the old branch it is there.
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
            thread: by_id(&thread_id),
            head_message_id: head.clone(),
            expected_head: None,
        };
        client.call(request).await;
        assert_eq!(
            list(client, &thread_id, LedgerKind::Summary, "").await,
            expected
        );
    }
    assert!(verify(client, &thread_id).await.ok);
}

#[apply(trial)]
async fn the_ledger_of_another_tenants_or_an_unknown_thread_is_not_found() {
    let client = plain().await;
    let brief = ephemeral(&client, &app(), "ada").await;
    client.append_turn(&brief, "Q", "A").await;
    assert!(verify(&client, &brief).await.ok);
    assert_eq!(
        list(&client, &brief, LedgerKind::Observation, "").await,
        [(LedgerState::Raw, 0, 2)]
    );
    let others = crate::PLAIN.client(Key::Globex).await;
    let others = others.thread("app").await;
    let unknown = uuid::Uuid::new_v4().to_string();
    for (thread_id, code, reason) in [
        (&others, Code::NotFound, "THREAD_NOT_FOUND"),
        (&unknown, Code::NotFound, "THREAD_NOT_FOUND"),
    ] {
        let request = VerifyThreadRequest {
            thread: by_id(thread_id),
        };
        client.refused(request).await.is(code, reason);
        let request = ledger_request(thread_id, LedgerKind::Observation, "");
        client.refused(request).await.is(code, reason);
        let request = GetObservationsRequest {
            thread: by_id(thread_id),
            ..Default::default()
        };
        client.refused(request).await.is(code, reason);
    }
}

#[apply(trial)]
async fn a_ledger_can_be_read_from_any_message() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let ids = four_turns(&client, &thread_id).await;
    let kind = LedgerKind::Observation;
    let request = ledger_request(&thread_id, kind, &ids[2]);
    let listed = client.call(request).await;
    assert_eq!(ranges(&listed), [(LedgerState::Raw, 0, 3)]);
    let range = &listed.ranges[0];
    assert_eq!(
        (&range.first_message_id, &range.last_message_id),
        (&ids[0], &ids[2])
    );
    let messages = client.all_messages(&thread_id).await;
    let tokens: i64 = messages[..3]
        .iter()
        .map(|one| i64::from(one.token_count))
        .sum();
    assert_eq!(range.token_count, tokens);
    assert_eq!(listed.next_page_token, "");

    // A ledger of many ranges is listed in pages.
    let long = client.thread(&app()).await;
    let mut all = Vec::new();
    for _ in 0..9 {
        let messages = (0..226).map(|_| say(Role::User, "x")).collect();
        let stored = client.append(&long, messages).await;
        all.extend(stored.messages.into_iter().map(|one| one.message_id));
    }
    for id in all.iter().step_by(2) {
        client.delete_message(&long, id).await;
    }
    let mut request = ledger_request(&long, kind, "");
    request.page_size = 0;
    let listed = client.call(request.clone()).await;
    assert_eq!(listed.ranges.len(), 50, "the default");
    request.page_size = 100_000;
    let mut pages = vec![client.call(request.clone()).await];
    while let Some(token) = pages.last().map(|page| page.next_page_token.clone())
        && !token.is_empty()
    {
        request.page_token = token;
        pages.push(client.call(request.clone()).await);
    }
    let sizes: Vec<usize> = pages.iter().map(|page| page.ranges.len()).collect();
    assert_eq!(sizes[..sizes.len() - 1], vec![500; sizes.len() - 1]);
    // No range is missing and none is there twice: each message is in one of them.
    let ranges = || pages.iter().flat_map(|page| &page.ranges);
    let counted: i64 = ranges().map(|one| one.message_count).sum();
    assert_eq!(usize::try_from(counted).unwrap(), all.len());
    assert_eq!(ranges().count(), all.len());
    let raw = ranges().filter(|one| one.state() == LedgerState::Raw);
    let raw: Vec<&String> = raw.map(|one| &one.first_message_id).collect();
    let kept: Vec<&String> = all.iter().skip(1).step_by(2).collect();
    assert_eq!(raw, kept);
    // A token belongs to its list.
    for other in [
        ledger_request(&thread_id, kind, ""),
        ledger_request(&long, LedgerKind::Summary, ""),
        ledger_request(&long, kind, &all[7]),
    ] {
        let request = ListLedgerRequest {
            page_token: pages[0].next_page_token.clone(),
            ..other
        };
        client.refused(request).await.names_field("page_token");
    }
    client.delete_message(&thread_id, &ids[2]).await;
    let request = ledger_request(&thread_id, kind, &ids[2]);
    let answer = client.refused(request).await;
    answer.is(Code::NotFound, "MESSAGE_NOT_FOUND");
    let request = GetObservationsRequest {
        thread: by_id(&thread_id),
        head_message_id: ids[2].clone(),
        ..Default::default()
    };
    let answer = client.refused(request).await;
    answer.is(Code::NotFound, "MESSAGE_NOT_FOUND");
}
