//! A put that changes earlier messages makes a branch.

use memory_contract::proto::{Message, Role};
use recollect_tests::{app, apply, history_request, trial};
use tonic::Code;

use super::{
    a_session, all_of, get, memory_of, put, put_in, put_memory, put_of, said, set_aside, texts,
};
use crate::plain;

#[apply(trial)]
async fn r12_a_message_that_was_changed_inserted_or_left_out_makes_a_branch() {
    let client = plain().await;
    let app = app();
    let texts_of = ["one", "two", "three"];
    for (case, change, expected) in [
        (
            "the newest is left out",
            &|m: &[Message]| m[..2].to_vec(),
            vec!["one", "two"],
        ),
        (
            "one in the middle is left out",
            &|m: &[Message]| vec![m[0].clone(), m[2].clone()],
            vec!["one", "three"],
        ),
        (
            "they are in another order",
            &|m: &[Message]| vec![m[1].clone(), m[0].clone(), m[2].clone()],
            vec!["two", "one", "three"],
        ),
        (
            "a new one comes first",
            &|m: &[Message]| [&[said(Role::User, "zero")], m].concat(),
            vec!["zero", "one", "two", "three"],
        ),
        (
            "one in the middle has another text",
            &|m: &[Message]| {
                let mut changed = m.to_vec();
                changed[1].parts = said(Role::Assistant, "TWO").parts;
                changed.push(said(Role::Assistant, "four"));
                changed
            },
            vec!["one", "TWO", "three", "four"],
        ),
        (
            "one without an id is said where the thread has another",
            &|m: &[Message]| vec![m[0].clone(), said(Role::Assistant, "TWO"), m[2].clone()],
            vec!["one", "TWO", "three"],
        ),
    ]
        as [(&str, &dyn Fn(&[Message]) -> Vec<Message>, Vec<&str>); 6]
    {
        let thread_id = client.thread(&app).await;
        client.append_turn(&thread_id, "one", "two").await;
        client.append_text(&thread_id, "three").await;
        let before = get(&client, &thread_id).await;
        let sent = change(&all_of(&before));
        let answer = put(&client, put_of(&thread_id, sent.clone())).await;
        assert!(answer.branched, "{case}");
        let after = memory_of(answer);
        assert_eq!(texts(&after), expected, "{case}");
        assert_eq!(get(&client, &thread_id).await, after, "{case}");
        let history = client.call(history_request(&thread_id)).await;
        let of_branch = if case == "they are in another order" {
            // The first message stays on the path, before the working memory.
            vec!["one", "two", "one", "three"]
        } else {
            expected
        };
        assert_eq!(
            recollect_tests::texts(&history.messages),
            of_branch,
            "{case}"
        );
        // The former messages are there too, unchanged.
        let all = client.all_messages(&thread_id).await;
        assert_eq!(recollect_tests::texts(&all[..3]), texts_of, "{case}");
        assert_eq!(all[..3], before.messages, "{case}");
        set_aside(&client, &thread_id).await;
        // Sent once more with the same ids, it changes nothing.
        let again = put(&client, put_of(&thread_id, sent)).await;
        assert_eq!(
            (again.branched, again.revision.as_str()),
            (false, ""),
            "{case}"
        );
        assert_eq!(texts(&memory_of(again)), texts(&after), "{case}");
        assert_eq!(client.all_messages(&thread_id).await, all, "{case}");
    }
    // One that is there twice.
    let thread_id = client.thread(&app).await;
    let stored = client.append_turn(&thread_id, "one", "two").await;
    let twice = all_of(&get(&client, &thread_id).await).split_off(1);
    let request = put_of(&thread_id, [twice.clone(), twice].concat());
    let refused = client.refused(request).await;
    refused.names_field("messages[1].message_id");
    // An answer that was replaced comes back.
    let former = all_of(&get(&client, &thread_id).await);
    let again =
        recollect_tests::reply(&stored.messages[0].message_id, Role::Assistant, "two again");
    client.append(&thread_id, vec![again]).await;
    let answer = put(&client, put_of(&thread_id, former.clone())).await;
    assert!(answer.branched);
    assert_eq!(texts(&memory_of(answer)), ["one", "two"]);
    // A message of another thread cannot be stored.
    let other = client.thread(&app).await;
    let refused = client.refused(put_of(&other, former)).await;
    refused.is(Code::AlreadyExists, "MESSAGE_ALREADY_EXISTS");
}

#[apply(trial)]
async fn r12_a_branch_keeps_the_context_and_the_callers_own_ids() {
    let client = plain().await;
    let app = app();
    let own = |id: &str, role: Role, text: &str| Message {
        external_id: id.to_owned(),
        ..said(role, text)
    };
    let mut sent = vec![
        own("m1", Role::User, "one"),
        own("m2", Role::Assistant, "two"),
        own("m3", Role::User, "three"),
        own("m4", Role::Assistant, "four"),
    ];
    let first = put_memory(&client, put_in(a_session(&app), sent.clone())).await;
    let thread_id = first.thread_id.clone();
    let mut request = put_of(&thread_id, sent[2..].to_vec());
    request.summary = Some("They counted to two.".to_owned());
    put(&client, request).await;
    sent[2].parts = said(Role::User, "THREE").parts;
    let answer = put(&client, put_of(&thread_id, sent.clone())).await;
    assert!(answer.branched);
    let fields: Vec<&str> = answer
        .warnings
        .iter()
        .map(|one| one.field.as_str())
        .collect();
    assert_eq!(fields, ["messages[0]", "messages[1]"]);
    let after = memory_of(answer);
    assert_eq!(after.summary, "They counted to two.");
    assert_eq!(texts(&after), ["THREE", "four"]);
    let ids: Vec<&str> = after
        .messages
        .iter()
        .map(|one| one.external_id.as_str())
        .collect();
    assert_eq!(ids, ["m3", "m4"]);
    // The ids name the new messages; the former ones have lost them.
    let all = client.all_messages(&thread_id).await;
    let ids: Vec<&str> = all.iter().map(|one| one.external_id.as_str()).collect();
    assert_eq!(ids, ["m1", "m2", "", "", "m3", "m4"]);
    let again = put(&client, put_of(&thread_id, sent)).await;
    assert_eq!((again.branched, again.revision.as_str()), (false, ""));
    // A put that is refused leaves everything as it was: a message has the id of one of
    // another thread.
    let other = client.thread(&app).await;
    let stored = client.append_turn(&other, "five", "six").await;
    let foreign = Message {
        message_id: stored.messages[0].message_id.clone(),
        ..said(Role::User, "five")
    };
    let request = put_of(&thread_id, vec![own("m3", Role::User, "again"), foreign]);
    let refused = client.refused(request).await;
    refused.is(Code::AlreadyExists, "MESSAGE_ALREADY_EXISTS");
    assert_eq!(client.all_messages(&thread_id).await, all);
}
