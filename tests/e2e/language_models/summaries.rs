//! Summaries made by a model: each extends the one before; unusable answers change nothing.

use memory_contract::proto::{
    GetWorkingMemoryRequest, LedgerKind, LedgerState, LedgerText, ListLedgerRequest, WorkingMemory,
};
use recollect_tests::{
    Answering, Client, SOON, apply, by_id, eventually, eventually_some, trial_with_own_server,
};

use super::{mending, small, start, status, thread};
use crate::distill::ledger::list;

/// The summary of a thread, once it has one that is as wanted.
pub(super) async fn summary(
    client: &Client,
    thread_id: &str,
    is_wanted: impl Fn(&LedgerText) -> bool,
) -> LedgerText {
    eventually_some("a summary", SOON, async || {
        let request = ListLedgerRequest {
            thread: by_id(thread_id),
            kind: LedgerKind::Summary.into(),
            include_texts: true,
            ..Default::default()
        };
        let mut texts = client.call(request).await.texts.into_iter();
        texts.find(|text| is_wanted(text))
    })
    .await
}

async fn working_memory(client: &Client, thread_id: &str) -> WorkingMemory {
    let request = GetWorkingMemoryRequest {
        thread: by_id(thread_id),
        ..Default::default()
    };
    client.call(request).await.working_memory.unwrap()
}

#[apply(trial_with_own_server)]
async fn r05_a_summary_continues_the_one_before() {
    let prompt =
        "distill.summary_prompt = \"After {prev_summary} came {messages_joined}, in short?\"";
    let (_dir, model, _server, client) = start(&[prompt]).await;
    let thread_id = thread(&client, small()).await;
    let texts = [
        "The first sails were mended.",
        "Two dozen sails were mended.",
        "All sails were mended.",
    ];
    for (round, text) in texts.into_iter().enumerate() {
        model.answers(Answering::Words(text.to_owned()));
        let sails = mending(round * 12..(round + 1) * 12);
        client.append(&thread_id, sails).await;
        let made = summary(&client, &thread_id, |made| made.text == text).await;
        let number = i64::try_from(round).unwrap() + 1;
        assert_eq!((made.number, made.made_by.as_str()), (number, "large"));
    }
    let asked = model.asked();
    assert!(asked.iter().all(|asked| asked.model == "large"));
    for (round, previous) in ["", texts[0], texts[1]].into_iter().enumerate() {
        let start = format!("After \"{previous}\" came ");
        let after = asked.iter().filter(|asked| asked.user.starts_with(&start));
        let [asked] = &after.collect::<Vec<_>>()[..] else {
            panic!("asked once after {previous:?}")
        };
        // Messages that the previous summary covers are not sent again.
        let newest = format!("sail number {}?", round * 12);
        assert!(asked.user.contains(&newest), "{}", asked.user);
        assert_eq!(asked.user.contains("sail number 0?"), round == 0);
    }
}

#[apply(trial_with_own_server)]
async fn b10_an_unusable_summary_changes_nothing() {
    let (dir, model, _server, client) = start(&["worker.distill.model_attempts = 100"]).await;
    let refusal = "I'm sorry, but I can't help with that.";
    for answer in [
        Answering::Status(500),
        Answering::Words(String::new()),
        Answering::Words(refusal.to_owned()),
    ] {
        model.answers(answer.clone());
        let thread_id = thread(&client, small()).await;
        let said = client.append(&thread_id, mending(0..12)).await.messages;
        eventually("it fails", SOON, async || {
            let status = status(&client).await;
            (status.waiting_thread_count, status.failing_thread_count) == (1, 1)
        })
        .await;
        assert!(!status(&client).await.last_error.is_empty(), "{answer:?}");
        assert_eq!(
            list(&client, &thread_id, LedgerKind::Summary, "").await,
            [(LedgerState::Raw, 0, 24)],
            "{answer:?}"
        );
        let memory = working_memory(&client, &thread_id).await;
        let in_full = memory.messages.iter().map(|one| &one.message_id);
        assert!(
            in_full.eq(said.iter().map(|one| &one.message_id)),
            "{answer:?}: {memory:?}"
        );
        assert_eq!(memory.summary, "", "{answer:?}");

        // It succeeds once the model answers.
        model.answers(Answering::Well);
        let made = summary(&client, &thread_id, |_| true).await;
        assert_eq!(made.made_by, "large", "{answer:?}");
        let memory = working_memory(&client, &thread_id).await;
        assert_eq!(memory.summary, made.text);
        assert!(memory.messages.len() < 24, "{answer:?}");
        eventually("nothing fails any more", SOON, async || {
            status(&client).await.failing_thread_count == 0
        })
        .await;
    }
    assert!(!dir.log().contains(refusal));
}
