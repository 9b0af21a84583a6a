//! Replacing a working memory.

use memory_contract::proto::{Message, Precondition, PutWorkingMemoryRequest, Role};
use recollect_tests::{
    Refused as _, app, apply, by_session, has_etag, is_absent, listed, mask, say, text_of, trial,
};
use tonic::Code;

use super::{
    a_session, all_of, archive, begin, get, kept, memory_of, put, put_in, put_memory, put_of, said,
    set_aside, texts,
};
use crate::access::done_to;
use crate::plain;

#[apply(trial)]
async fn r07_a_missing_time_is_filled_in_and_warned_of() {
    let client = plain().await;
    let untimed = Message {
        create_time: None,
        ..said(Role::User, "when?")
    };
    let messages = vec![said(Role::User, "then"), untimed.clone()];
    let answer = put(&client, put_in(a_session(&app()), messages)).await;
    let fields: Vec<&str> = answer
        .warnings
        .iter()
        .map(|one| one.field.as_str())
        .collect();
    assert_eq!(fields, ["messages[1].create_time"]);
    assert!(!answer.warnings[0].message.is_empty());
    let memory = memory_of(answer);
    assert_eq!(
        memory.messages[0].create_time.unwrap().seconds,
        1_700_000_000
    );
    assert!(memory.messages[1].create_time.unwrap().seconds > 1_700_000_000);
    for message in &memory.messages {
        assert!(!message.message_id.is_empty());
        assert_eq!(message.role(), Role::User);
    }
    // At most 20 of them.
    let answer = put(&client, put_of(&memory.thread_id, vec![untimed; 30])).await;
    assert_eq!(answer.warnings.len(), 20);
}

#[apply(trial)]
async fn r12_put_replaces_the_working_set_and_keeps_the_history() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    client.append_turn(&thread_id, "one", "two").await;
    client.append_turn(&thread_id, "three", "four").await;
    let before = get(&client, &thread_id).await;
    let mut messages = all_of(&before).split_off(2);
    messages.push(said(Role::User, "five"));
    let answer = put(&client, put_of(&thread_id, messages)).await;
    assert!(!answer.revision.is_empty());
    let after = memory_of(answer);
    assert_eq!(texts(&after), ["three", "four", "five"]);
    assert_eq!(after.messages[..2], before.messages[2..]);
    assert_ne!(after.etag, before.etag);
    assert_eq!(get(&client, &thread_id).await, after);
    let all = ["one", "two", "three", "four", "five"];
    assert_eq!(archive(&client, &thread_id).await, all);
    assert_eq!(set_aside(&client, &thread_id).await, 2);
    // Later messages are in it too.
    client
        .append(&thread_id, vec![say(Role::Assistant, "six")])
        .await;
    let after = get(&client, &thread_id).await;
    assert_eq!(texts(&after), ["three", "four", "five", "six"]);
    // The messages are those of the thread.
    let last = client.all_messages(&thread_id).await.pop().unwrap();
    assert_eq!(after.messages.last().map(text_of), Some(text_of(&last)));
}

#[apply(trial)]
async fn r12_returned_messages_are_not_stored_twice() {
    let client = plain().await;
    let app = app();
    let said_so = || vec![said(Role::User, "one"), said(Role::Assistant, "two")];
    let first = put_memory(&client, put_in(a_session(&app), said_so())).await;
    // Known by what they say.
    let mut request = put_in(a_session(&app), said_so());
    request.messages.push(said(Role::User, "three"));
    request.precondition = has_etag(&first.etag);
    let second = put_memory(&client, request).await;
    assert_eq!(texts(&second), ["one", "two", "three"]);
    assert_eq!(second.messages[..2], first.messages[..]);
    // By their ids and content; other fields are ignored.
    let mut request = put_of(&second.thread_id, all_of(&second));
    request.precondition = has_etag(&second.etag);
    let answer = put(&client, request).await;
    assert_eq!(
        (answer.revision.as_str(), answer.warnings.as_slice()),
        ("", [].as_slice())
    );
    let third = memory_of(answer);
    assert_eq!(third.messages, second.messages);
    // A new one with an id of the caller's own.
    let id = uuid::Uuid::new_v4().to_string();
    let own = Message {
        message_id: id.clone(),
        ..said(Role::Assistant, "four")
    };
    let mut messages = all_of(&third);
    messages.push(own);
    let fourth = put_memory(&client, put_of(&third.thread_id, messages)).await;
    assert_eq!(fourth.messages[3].message_id, id);
    let all = ["one", "two", "three", "four"];
    assert_eq!(archive(&client, &first.thread_id).await, all);
    assert_eq!(set_aside(&client, &first.thread_id).await, 0);
}

#[apply(trial)]
async fn r12_a_working_memory_is_replaced_only_by_those_who_have_read_it() {
    let client = plain().await;
    let app = app();
    let first = begin(&client, &app).await;
    let refused = |precondition: Option<Precondition>| {
        let mut request = put_in(a_session(&app), vec![said(Role::User, "b")]);
        request.precondition = precondition;
        let client = client.clone();
        async move {
            let answer = client.refused(request).await;
            answer.is(Code::Aborted, "ETAG_CHANGED")
        }
    };
    let failure = refused(is_absent()).await;
    assert_eq!(failure.metadata["etag"], first.etag);
    refused(has_etag("of another day")).await;
    assert_eq!(get(&client, &first.thread_id).await, first);
    client.append_text(&first.thread_id, "new").await;
    refused(has_etag(&first.etag)).await;
    let now = get(&client, &first.thread_id).await;
    let mut request = put_of(&first.thread_id, all_of(&now));
    request.precondition = has_etag(&now.etag);
    let last = put_memory(&client, request).await;
    assert_eq!(texts(&last), ["a", "new"]);
    let mut request = put_of(&first.thread_id, vec![said(Role::User, "there was one")]);
    request.precondition = has_etag("*");
    put(&client, request).await;
    // An empty working memory is absent, and can be named by its etag too.
    let thread_id = client.thread(&app).await;
    let mut request = put_of(&thread_id, vec![said(Role::User, "x")]);
    request.precondition = has_etag("*");
    let answer = client.refused(request.clone()).await;
    answer.is(Code::Aborted, "ETAG_CHANGED");
    request.precondition = is_absent();
    put(&client, request).await;
    let empty = get(&client, &client.thread(&app).await).await;
    let mut request = put_of(&empty.thread_id, vec![said(Role::User, "x")]);
    request.precondition = has_etag(&empty.etag);
    put(&client, request).await;
    // A session without a thread has no etag.
    let mut request = put_in(
        a_session(&recollect_tests::app()),
        vec![said(Role::User, "x")],
    );
    for seen in ["seen", "*"] {
        request.precondition = has_etag(seen);
        let answer = client.refused(request.clone()).await;
        answer.is(Code::Aborted, "ETAG_CHANGED");
    }
}

#[apply(trial)]
async fn r12_a_summary_is_replaced_or_stays() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    client.append_turn(&thread_id, "one", "two").await;
    client.append_turn(&thread_id, "three", "four").await;
    // With messages that the summary covers.
    let mut request = put_of(
        &thread_id,
        all_of(&get(&client, &thread_id).await).split_off(2),
    );
    request.summary = Some("They counted to two.".to_owned());
    let memory = put_memory(&client, request).await;
    assert_eq!(memory.summary, "They counted to two.");
    assert_eq!(texts(&memory), ["three", "four"]);
    // Without a summary in the request, it stays.
    let memory = put_memory(&client, put_of(&thread_id, all_of(&memory))).await;
    assert_eq!(memory.summary, "They counted to two.");
    // Given alone, it is replaced.
    let mut request = put_of(&thread_id, all_of(&memory));
    request.summary = Some("They counted.".to_owned());
    let memory = put_memory(&client, request).await;
    assert_eq!(memory.summary, "They counted.");
    assert_eq!(texts(&memory), ["three", "four"]);
    // The caller wrote it, so erasing a covered message does not erase it.
    let first = client.all_messages(&thread_id).await[0].message_id.clone();
    client.delete_message(&thread_id, &first).await;
    let memory = get(&client, &thread_id).await;
    assert_eq!(memory.summary, "They counted.");
    assert_eq!(texts(&memory), ["three", "four"]);
    // It may be emptied.
    let mut request = put_of(&thread_id, all_of(&memory));
    request.summary = Some(String::new());
    let memory = put_memory(&client, request).await;
    assert_eq!((memory.summary.as_str(), memory.summary_tokens), ("", 0));
    assert_eq!(set_aside(&client, &thread_id).await, 1);
    // Before anything is said.
    let mut request = put_in(a_session(&app()), Vec::new());
    request.summary = Some("A note.".to_owned());
    let memory = put_memory(&client, request).await;
    assert_eq!(memory.summary, "A note.");
    client.append_turn(&memory.thread_id, "one", "two").await;
    let memory = get(&client, &memory.thread_id).await;
    assert_eq!(memory.summary, "A note.");
    assert_eq!(texts(&memory), ["one", "two"]);
    assert_eq!(set_aside(&client, &memory.thread_id).await, 0);
}

#[apply(trial)]
async fn of_several_puts_with_one_etag_one_wins() {
    let client = plain().await;
    let app = app();
    let first = begin(&client, &app).await;
    let tasks = (0..8).map(|number| {
        let mut request = put_of(&first.thread_id, all_of(&first));
        request
            .messages
            .push(said(Role::User, &format!("b{number}")));
        request.precondition = has_etag(&first.etag);
        let client = client.clone();
        async move { client.working_memories().put_working_memory(request).await }
    });
    let answers = futures::future::join_all(tasks).await;
    let (won, lost): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
    assert_eq!(won.len(), 1);
    for answer in lost {
        answer.refused().is(Code::Aborted, "ETAG_CHANGED");
    }
    assert_eq!(get(&client, &first.thread_id).await.messages.len(), 2);
    // Writers that accept any etag succeed, one after the other.
    let tasks = (0..6).map(|number| {
        let request = put_of(
            &first.thread_id,
            vec![said(Role::User, &format!("c{number}"))],
        );
        put(&client, request)
    });
    futures::future::join_all(tasks).await;
    assert_eq!(get(&client, &first.thread_id).await.messages.len(), 1);
    assert_eq!(archive(&client, &first.thread_id).await.len(), 8);
    assert_eq!(set_aside(&client, &first.thread_id).await, 7);
}

#[apply(trial)]
async fn messages_that_a_summary_covers_are_skipped_with_a_warning() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    client.append_turn(&thread_id, "one", "two").await;
    client.append_turn(&thread_id, "three", "four").await;
    let all = all_of(&get(&client, &thread_id).await);
    let mut request = put_of(&thread_id, all[2..].to_vec());
    request.summary = Some("They counted to two.".to_owned());
    put(&client, request).await;
    // A caller that still has them all.
    let answer = put(&client, put_of(&thread_id, all)).await;
    let fields: Vec<&str> = answer
        .warnings
        .iter()
        .map(|one| one.field.as_str())
        .collect();
    assert_eq!(fields, ["messages[0]", "messages[1]"]);
    let memory = memory_of(answer);
    assert_eq!(texts(&memory), ["three", "four"]);
    assert_eq!(memory.summary, "They counted to two.");
}

#[apply(trial)]
async fn a_put_that_fails_stores_nothing_and_creates_no_thread() {
    let client = plain().await;
    let app = app();
    let first = begin(&client, &app).await;
    // An unknown source, after everything else.
    let mut unproven = listed("Ada likes tea.");
    unproven.source_message_ids = vec![uuid::Uuid::new_v4().to_string()];
    let mut request = put_of(&first.thread_id, vec![said(Role::User, "b")]);
    request.summary = Some("They met.".to_owned());
    request.memories = vec![listed("Ada is here."), unproven.clone()];
    let refused = client.refused(request).await;
    refused.names_field("memories[1].source_message_ids[0]");
    assert_eq!(get(&client, &first.thread_id).await, first);
    assert_eq!(client.all_memories(&app, "ada").await.len(), 0);
    assert_eq!(archive(&client, &first.thread_id).await, ["a"]);
    // The failed put leaves no thread.
    let other = recollect_tests::session(&app, "ada", "other");
    let mut request = put_in(other.clone(), vec![said(Role::User, "b")]);
    request.memories = vec![unproven];
    let refused = client.refused(request).await;
    refused.names_field("memories[0].source_message_ids[0]");
    let request = put_in(other.clone(), vec![kept(&first.messages[0])]);
    let refused = client.refused(request).await;
    refused.is(Code::AlreadyExists, "MESSAGE_ALREADY_EXISTS");
    let request = memory_contract::proto::GetThreadRequest {
        thread: by_session(other.clone()),
    };
    let answer = client.refused(request).await;
    answer.is(Code::NotFound, "THREAD_NOT_FOUND");
    // A memory may be proved by what is put with it.
    let id = uuid::Uuid::new_v4().to_string();
    let message = Message {
        message_id: id.clone(),
        ..said(Role::User, "I like tea.")
    };
    let mut proven = listed("Ada likes tea.");
    proven.source_message_ids = vec![id.clone()];
    let mut request = put_in(other, vec![message]);
    request.memories = vec![proven];
    let stored = put_memory(&client, request).await;
    assert_eq!(stored.memories[0].source_message_ids, [id]);
}

#[apply(trial)]
async fn a_put_of_nothing_empties_the_working_set() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    client.append_turn(&thread_id, "one", "two").await;
    let nothing = PutWorkingMemoryRequest {
        update_mask: Some(mask(&["messages"])),
        ..put_of(&thread_id, Vec::new())
    };
    let memory = put_memory(&client, nothing).await;
    assert_eq!((texts(&memory).len(), memory.message_tokens), (0, 0));
    assert_eq!(archive(&client, &thread_id).await, ["one", "two"]);
    assert_eq!(set_aside(&client, &thread_id).await, 2);
}

#[apply(trial)]
async fn of_a_long_working_set_the_newest_500_may_stay() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    for batch in 0..4 {
        let messages = (0..150).map(|n| say(Role::User, &format!("{batch}-{n}")));
        client.append(&thread_id, messages.collect()).await;
    }
    let read = get(&client, &thread_id).await;
    assert_eq!(read.omitted_message_count, 100);
    let all = all_of(&read);
    let memory = put_memory(&client, put_of(&thread_id, all.clone())).await;
    assert_eq!(memory.messages.len(), 500);
    let mut messages = all[1..].to_vec();
    messages.push(said(Role::User, "new"));
    let memory = put_memory(&client, put_of(&thread_id, messages)).await;
    assert_eq!(
        (memory.messages.len(), memory.omitted_message_count),
        (500, 0)
    );
    assert_eq!(archive(&client, &thread_id).await.len(), 601);
    assert_eq!(set_aside(&client, &thread_id).await, 101);
    // One that was set aside is not taken back, and the answer says so.
    let mut older = all[..1].to_vec();
    older.extend_from_slice(&all[1..]);
    let stored = client.call(put_of(&thread_id, older)).await;
    assert!(stored.branched);
    assert_eq!(stored.warnings[0].field, "messages[0]");
    assert_eq!(stored.working_memory.unwrap().messages.len(), 499);
}

#[apply(trial)]
async fn every_limit_of_a_put_names_its_field() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let base = || put_of(&thread_id, Vec::new());
    let seconds = |seconds| Some(prost_types::Duration { seconds, nanos: 0 });
    let mut wrong = Vec::new();
    let mut add = |field, change: &dyn Fn(&mut PutWorkingMemoryRequest)| {
        let mut request = base();
        change(&mut request);
        wrong.push((field, request));
    };
    add("messages", &|put| {
        put.messages = vec![said(Role::User, "x"); 501]
    });
    add("messages", &|put| {
        put.messages = vec![said(Role::User, &"x".repeat(250_000)); 15];
    });
    add("memories", &|put| {
        put.memories = (0..257).map(|n| listed(&format!("m{n}"))).collect();
    });
    add("memories", &|put| {
        put.memories = (0..256)
            .map(|n| listed(&format!("{n}{}", "é".repeat(2_100))))
            .collect();
    });
    add("memories[1].memory_id", &|put| {
        put.memories = vec![listed("x"), listed("y")];
        put.memories[1].memory_id = uuid::Uuid::now_v7().to_string();
    });
    add("memories[1].text", &|put| {
        put.memories = vec![listed("x"), listed("")]
    });
    add("summary", &|put| {
        put.summary = Some("x".repeat(64 * 1024 + 1))
    });
    add("ttl", &|put| put.ttl = seconds(0));
    add("ttl", &|put| put.ttl = seconds(400_000_000));
    add("model", &|put| put.model = "x".repeat(129));
    add("precondition.etag", &|put| {
        put.precondition = has_etag("x".repeat(129));
    });
    add("update_mask.paths[0]", &|put| {
        put.update_mask = Some(mask(&["context"]));
    });
    for (field, request) in wrong {
        client.refused(request).await.names_field(field);
    }
    let mut request = base();
    request.messages = (0..500)
        .map(|n| said(Role::User, &format!("s{n}")))
        .collect();
    request.memories = (0..256).map(|n| listed(&format!("m{n}"))).collect();
    request.summary = Some("x".repeat(64 * 1024));
    request.ttl = seconds(1_000);
    request.model = "x".repeat(128);
    let memory = put_memory(&client, request).await;
    assert_eq!((memory.messages.len(), memory.memories.len()), (500, 256));
}

#[apply(trial)]
async fn changes_of_working_memory_are_listed_with_their_actor() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    client.append_turn(&thread_id, "one", "two").await;
    let mut request = put_of(&thread_id, vec![said(Role::User, "three")]);
    request.memories = vec![listed("Ada counts.")];
    put(&client, request).await;
    let done = done_to(&client, &thread_id).await;
    let actions: Vec<&str> = done.iter().map(|(_, action, ..)| action.as_str()).collect();
    assert_eq!(
        actions[..4],
        [
            "put_working_memory",
            "add_memories",
            "summarize",
            "append_messages"
        ]
    );
    assert!(done[..4].iter().all(|(actor, ..)| actor == "acme-backend"));
}
