//! Stores a turn behind what is stored of its conversation.

use std::time::Duration;

use memory_checksum::id_of;
use memory_contract::limits;
use memory_contract::proto::{
    AppendMessagesRequest, ListMessagesRequest, Message, MessageInput, MessagePath, Target,
    message_input, target,
};
use tonic::{Code, Status};

use crate::fit::fitting;
use crate::place::{Place, Stored, Tail, Turn, place};
use crate::recollect::Recollect;
use crate::same::Said;
use crate::waiting::Job;

/// How long one call may take.
const CALL_TIME: Duration = Duration::from_secs(10);
/// How many stored messages are compared with those of a request.
const TAIL: i32 = 200;
/// Messages of one call, of which there may be few large ones.
const MESSAGES: usize = limits::BATCH_MESSAGES / 2;
const BYTES: usize = limits::BATCH_BYTES - 64 * 1024;

/// What became of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Stored,
    /// It was stored already.
    Known,
    /// It cannot be stored.
    Refused(Code),
    /// It can be tried again.
    Later(Code),
}

/// Stores a turn once: whatever of it is stored already is not stored again.
pub(crate) async fn store(recollect: &Recollect, job: &Job) -> Outcome {
    let stored = match try_store(recollect, job, true).await {
        // Some servers give several answers one id.
        Err(status) if status.code() == Code::AlreadyExists => {
            try_store(recollect, job, false).await
        }
        stored => stored,
    };
    match stored {
        Ok(true) => Outcome::Stored,
        Ok(false) => Outcome::Known,
        Err(status) => match status.code() {
            Code::AlreadyExists => Outcome::Known,
            code @ (Code::Unavailable
            | Code::DeadlineExceeded
            | Code::Aborted
            | Code::ResourceExhausted
            | Code::Cancelled
            | Code::Internal
            | Code::Unknown) => Outcome::Later(code),
            code => Outcome::Refused(code),
        },
    }
}

async fn try_store(recollect: &Recollect, job: &Job, with_ids: bool) -> Result<bool, Status> {
    let waiting = &job.waiting;
    let tail = tail(recollect, job).await?;
    let place = place(
        &tail,
        Turn {
            said: &waiting.said,
            new_from: waiting.new_from,
            answer_from: job.answer_from,
            is_kept: waiting.is_kept,
            previous: waiting.previous.as_deref(),
            // The beginning of a conversation that names itself is the same in each request.
            with_history: waiting.whose.is_named,
        },
    );
    let newest = tail.messages.last().map(|message| message.id.clone());
    let (from, mut expected_head, parent) = match place {
        Place::Known => return Ok(false),
        Place::End(from) => (from, Some(newest.unwrap_or_default()), None),
        Place::After(id, from) => (from, None, Some(id)),
    };
    let mut messages: Vec<MessageInput> = waiting.messages[from..]
        .iter()
        .cloned()
        .map(fitting)
        .collect();
    if !with_ids {
        for message in &mut messages {
            message.external_id.clear();
        }
    }
    if let (Some(first), Some(id)) = (messages.first_mut(), parent) {
        first.parent = Some(message_input::Parent::ParentMessageId(id));
    }
    for batch in batches(messages) {
        let request = AppendMessagesRequest {
            thread: Some(waiting.whose.thread()),
            request_id: request_id(job, expected_head.as_deref(), &batch),
            messages: batch,
            expected_head: expected_head.take(),
            ..Default::default()
        };
        let request = recollect.request(request, CALL_TIME);
        let appended = recollect.messages().append_messages(request).await?;
        let last = appended.into_inner().messages.pop();
        expected_head = last.map(|message| message.message_id);
    }
    Ok(true)
}

/// The newest messages of the conversation.
async fn tail(recollect: &Recollect, job: &Job) -> Result<Tail, Status> {
    let request = ListMessagesRequest {
        target: Some(Target {
            target: Some(target::Target::Thread(job.waiting.whose.thread())),
        }),
        order_by: "seq desc".to_owned(),
        page_size: TAIL,
        path: Some(MessagePath::default()),
        ..Default::default()
    };
    let request = recollect.request(request, CALL_TIME);
    let page = match recollect.messages().list_messages(request).await {
        Ok(page) => page.into_inner(),
        Err(status) if status.code() == Code::NotFound => return Ok(Tail::default()),
        Err(status) => return Err(status),
    };
    let messages = page.messages.into_iter().rev();
    Ok(Tail {
        messages: messages.map(stored).collect(),
        is_whole: page.next_page_token.is_empty(),
    })
}

fn stored(message: Message) -> Stored {
    Stored {
        said: Said::of(message.role, &message.parts),
        role: message.role(),
        response: message.external_id,
        id: message.message_id,
    }
}

/// Messages for one call each.
fn batches(messages: Vec<MessageInput>) -> Vec<Vec<MessageInput>> {
    let mut batches: Vec<Vec<MessageInput>> = Vec::new();
    let mut bytes = 0;
    for message in messages {
        let size = prost::Message::encoded_len(&message);
        match batches.last_mut() {
            Some(batch) if batch.len() < MESSAGES && bytes + size <= BYTES => {
                bytes += size;
                batch.push(message);
            }
            _ => {
                bytes = size;
                batches.push(vec![message]);
            }
        }
    }
    batches
}

/// The same id for the same messages at the same place.
fn request_id(job: &Job, head: Option<&str>, batch: &[MessageInput]) -> String {
    let whose = &job.waiting.whose;
    let messages: Vec<Vec<u8>> = batch.iter().map(prost::Message::encode_to_vec).collect();
    let names = [
        &*whose.app,
        &*whose.user,
        &*whose.session,
        head.unwrap_or("-"),
    ];
    let names = names.iter().map(|name| name.as_bytes());
    let parts: Vec<&[u8]> = names.chain(messages.iter().map(Vec::as_slice)).collect();
    id_of(&parts).to_string()
}

#[cfg(test)]
mod tests {
    use memory_contract::proto::part::Content;

    use super::*;

    #[test]
    fn large_conversations_are_stored_in_several_calls() {
        let message = |bytes: usize| MessageInput {
            parts: vec![Content::Text("x".repeat(bytes)).into()],
            ..Default::default()
        };
        let sizes = |messages| -> Vec<usize> { batches(messages).iter().map(Vec::len).collect() };
        assert_eq!(sizes(vec![message(10); 300]), [128, 128, 44]);
        assert_eq!(sizes(vec![message(1_000_000); 7]), [3, 3, 1]);
        assert_eq!(sizes(Vec::new()), [0_usize; 0]);
    }
}
