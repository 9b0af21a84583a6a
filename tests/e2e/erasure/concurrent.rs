//! Reading while other calls erase what is read.

use std::sync::atomic::{AtomicBool, Ordering};

use memory_contract::proto::{GetWorkingMemoryRequest, MessageInput, Role};
use recollect_tests::{
    app, apply, by_id, context_request, history_request, recall_request, reply, trial,
};
use tonic::{Code, Status};
use uuid::Uuid;

use crate::plain;

/// The branches on the path to the head of [`ladder`].
const RUNGS: usize = 60;

/// Messages of which each second one starts another branch, on the path to the last one.
fn ladder() -> Vec<MessageInput> {
    let mut messages: Vec<MessageInput> = Vec::new();
    let mut below = String::new();
    for rung in 0..RUNGS {
        if rung > 0 {
            messages.push(reply(
                &below,
                Role::Assistant,
                "An answer that was not good.",
            ));
        }
        let id = Uuid::now_v7().to_string();
        let mut message = reply(&below, Role::User, "The next rung of the ladder.");
        if rung == 0 {
            message.parent = None;
        }
        message.message_id.clone_from(&id);
        messages.push(message);
        below = id;
    }
    messages
}

#[apply(trial)]
async fn a_read_meets_no_defect_while_its_thread_is_erased() {
    let client = plain().await;
    let app = app();
    for round in 0..8 {
        let thread_id = client.thread(&app).await;
        let stored = client.append(&thread_id, ladder()).await;
        assert_eq!(stored.messages.len(), 2 * RUNGS - 1);
        let erased = AtomicBool::new(false);
        let read = async || {
            let check = |call: &str, status: Option<Status>| {
                if let Some(status) = status {
                    assert_eq!(status.code(), Code::NotFound, "{call}: {status:?}");
                }
            };
            while !erased.load(Ordering::Relaxed) {
                let history = history_request(&thread_id);
                let history = client.messages().get_history(history).await;
                check("GetHistory", history.err());
                let recall = recall_request(&thread_id, "Which rung?", "");
                let recall = client.recalls().recall(recall).await;
                check("Recall", recall.err());
                let context = context_request(&thread_id, "Which rung?");
                let context = client.contexts().build_context(context).await;
                check("BuildContext", context.err());
                let working = GetWorkingMemoryRequest {
                    thread: by_id(&thread_id),
                    ..Default::default()
                };
                let working = client.working_memories().get_working_memory(working).await;
                check("GetWorkingMemory", working.err());
            }
        };
        let erase = async {
            for message in stored.messages.iter().rev().step_by(10) {
                client.delete_message(&thread_id, &message.message_id).await;
            }
            if round % 2 == 0 {
                client.clear_thread(&thread_id).await;
            }
            client.delete_thread(&thread_id).await;
            erased.store(true, Ordering::Relaxed);
        };
        tokio::join!(read(), read(), read(), read(), erase);
    }
}
