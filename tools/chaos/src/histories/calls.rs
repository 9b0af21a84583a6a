//! The calls of a client of the scenario, and what their answers say.

use memory_contract::proto::{
    AppendMessagesRequest, DeleteMessageRequest, GetHistoryRequest, GetThreadRequest,
    ListMessagesRequest, Message, MessagePath, Role, SetHeadRequest, UpdateMessageRequest,
    message_input,
};
use tonic::{Code, Response, Status};
use uuid::Uuid;

use super::history::{Answer, Call, Outcome, Parent, Place, ROOT, Refusal, Stored};
use crate::attempts::limited;
use recollect_tests::{
    Call as _, Client, Failure, by_id, history_request, parsed, say, target_thread, text_of,
};

/// What an attempt came to: an answer, a refusal, or nothing that says whether it was done.
pub(super) enum Attempt {
    Done(Answer),
    Refused(Refusal),
    Failed(Box<Failure>),
    /// The answer has only a part of what was asked for, or shows more than one moment.
    Partial,
}

impl Attempt {
    /// As the history has it.
    pub(super) fn outcome(self, at: u64) -> Outcome {
        match self {
            Self::Done(answer) => Outcome::Done { at, answer },
            Self::Refused(reason) => Outcome::Refused { at, reason },
            Self::Failed(_) | Self::Partial => Outcome::Unknown,
        }
    }
}

/// Makes a call once. Paths are read as lists or, if `as_history`, as histories.
pub(super) async fn attempt(
    client: &Client,
    thread_id: &str,
    call: &Call,
    as_history: bool,
) -> Attempt {
    let answer = match call {
        Call::Append { .. } => append(client, thread_id, call).await,
        Call::ReadPath { head } if as_history => history(client, thread_id, *head).await,
        Call::ReadPath { head } => path(client, thread_id, *head).await,
        Call::ReadAll => all(client, thread_id).await,
        Call::Update { message, version } => {
            let request = UpdateMessageRequest {
                thread: by_id(thread_id),
                message_id: message.to_string(),
                metadata: Some(format!("{{\"version\": {version}}}")),
            };
            let answer = limited(request).send(client).await;
            answer.map(|_| Some(Answer::Updated))
        }
        Call::Delete { message } => {
            let request = DeleteMessageRequest {
                thread: by_id(thread_id),
                message_id: message.to_string(),
            };
            let answer = limited(request).send(client).await;
            answer.map(|answer| {
                let deleted = answer.into_inner().deleted;
                Some(Answer::Deleted { deleted })
            })
        }
        Call::SetHead {
            message,
            expected_head,
        } => {
            let request = SetHeadRequest {
                thread: by_id(thread_id),
                head_message_id: message.to_string(),
                expected_head: expected_head.map(|head| head.to_string()),
            };
            let answer = limited(request).send(client).await;
            answer.map(|_| Some(Answer::HeadSet))
        }
        Call::GetHead => {
            let request = GetThreadRequest {
                thread: by_id(thread_id),
            };
            let answer = limited(request).send(client).await;
            answer.map(|answer| {
                let thread = answer.into_inner().thread.unwrap_or_default();
                Some(Answer::Head(id_of(&thread.head_message_id)))
            })
        }
    };
    match answer {
        Ok(Some(answer)) => Attempt::Done(answer),
        Ok(None) => Attempt::Partial,
        Err(status) => refused(status.into()),
    }
}

/// A failure that says for certain that nothing was done, and why. Another one, such as a
/// database that went away, may have come after the write was stored.
fn refused(failure: Failure) -> Attempt {
    let fields = failure.field_names();
    let parent = fields
        .iter()
        .any(|field| field.ends_with("parent_message_id"));
    match (failure.code, failure.reason.as_str()) {
        (Code::NotFound, "MESSAGE_NOT_FOUND") => Attempt::Refused(Refusal::NotFound),
        (Code::InvalidArgument, "INVALID_FIELD") if parent => Attempt::Refused(Refusal::NotFound),
        (Code::Aborted, "HEAD_MOVED") => Attempt::Refused(Refusal::HeadMoved),
        _ => Attempt::Failed(Box::new(failure)),
    }
}

type Answered = Result<Option<Answer>, Status>;

async fn append(client: &Client, thread_id: &str, call: &Call) -> Answered {
    let Call::Append {
        request,
        values,
        parent,
        expected_head,
    } = call
    else {
        return Ok(None);
    };
    let texts = values.iter().map(|value| format!("{TEXT}{value}"));
    let mut messages: Vec<_> = texts.map(|text| say(Role::User, &text)).collect();
    messages[0].parent = match parent {
        Parent::Head => None,
        Parent::Root => Some(message_input::Parent::Root(())),
        Parent::Message(id) => Some(message_input::Parent::ParentMessageId(id.to_string())),
    };
    let request = AppendMessagesRequest {
        thread: by_id(thread_id),
        messages,
        request_id: request.to_string(),
        expected_head: expected_head.map(|head| head.to_string()),
        ..Default::default()
    };
    let answer = limited(request).send(client).await?.into_inner();
    let places = answer.messages.iter().map(|message| Place {
        id: id_of(&message.message_id).unwrap_or(ROOT),
        seq: message.seq,
    });
    Ok(Some(Answer::Appended {
        places: places.collect(),
        replayed: answer.replayed,
    }))
}

/// Lists a path. One that does not fit into a page is not read as of one moment.
async fn path(client: &Client, thread_id: &str, head: Option<Uuid>) -> Answered {
    let request = ListMessagesRequest {
        target: target_thread(thread_id),
        page_size: PAGE,
        path: Some(MessagePath {
            head_message_id: head.map(|head| head.to_string()).unwrap_or_default(),
        }),
        ..Default::default()
    };
    let page = limited(request).send(client).await?.into_inner();
    let whole = page.next_page_token.is_empty();
    Ok(whole.then(|| Answer::Messages(stored(&page.messages))))
}

async fn history(client: &Client, thread_id: &str, head: Option<Uuid>) -> Answered {
    let request = GetHistoryRequest {
        head_message_id: head.map(|head| head.to_string()).unwrap_or_default(),
        ..history_request(thread_id)
    };
    let history = limited(request).send(client).await?.into_inner();
    let whole = !history.truncated && !history.content_truncated;
    Ok(whole.then(|| Answer::Messages(stored(&history.messages))))
}

/// Lists all branches, in as many pages as they take.
async fn all(client: &Client, thread_id: &str) -> Answered {
    let mut request = ListMessagesRequest {
        target: target_thread(thread_id),
        page_size: PAGE,
        ..Default::default()
    };
    let mut messages = Vec::new();
    loop {
        let page = limited(request.clone()).send(client).await;
        let page = page.map(Response::into_inner)?;
        messages.extend(stored(&page.messages));
        if page.next_page_token.is_empty() {
            return Ok(Some(Answer::Messages(messages)));
        }
        request.page_token = page.next_page_token;
    }
}

fn stored(messages: &[Message]) -> Vec<Stored> {
    let one = |message: &Message| Stored {
        // No client sent a message with another text.
        value: text_of(message)
            .strip_prefix(TEXT)
            .and_then(|value| value.parse().ok())
            .unwrap_or(u64::MAX),
        id: id_of(&message.message_id).unwrap_or(ROOT),
        seq: message.seq,
        parent: id_of(&message.parent_message_id).unwrap_or(ROOT),
        version: parsed(&message.metadata)["version"].as_u64().unwrap_or(0),
    };
    messages.iter().map(one).collect()
}

fn id_of(text: &str) -> Option<Uuid> {
    text.parse().ok()
}

/// What the text of each message begins with.
const TEXT: &str = "message ";
const PAGE: i32 = 500;
