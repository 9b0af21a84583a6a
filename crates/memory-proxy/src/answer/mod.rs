//! Answers of models, put together from what passes.
//!
//! Only whole answers are read: a stream that ends early, one that reports an error and one
//! with several alternatives have nothing to store.

mod chat;
mod events;
mod messages;
mod responses;
mod unstored;

#[cfg(test)]
mod tests;

use memory_contract::proto::MessageInput;
use memory_formats::messages_in;
use serde::Deserialize;

use crate::api::Api;
use crate::config::ANSWER_BYTES;
use chat::ChatStream;
use events::Events;
use messages::MessagesStream;
use responses::ResponsesStream;

pub(crate) use unstored::Unstored;

/// An answer that was read.
#[derive(Debug, PartialEq)]
pub(crate) struct Whole {
    /// The provider's id of it; empty if it has none.
    pub(crate) id: String,
    pub(crate) messages: Vec<MessageInput>,
}

/// An answer that is being received.
#[derive(Debug)]
pub(crate) struct Answer {
    api: Api,
    form: Form,
    bytes: usize,
}

#[derive(Debug)]
enum Form {
    Json(Vec<u8>),
    Stream(Events, Stream),
}

#[derive(Debug)]
enum Stream {
    Chat(ChatStream),
    Responses(ResponsesStream),
    Messages(MessagesStream),
}

impl Answer {
    /// Receives JSON, or a stream of events.
    pub(crate) fn new(api: Api, is_stream: bool) -> Self {
        let form = match is_stream {
            false => Form::Json(Vec::new()),
            true => Form::Stream(
                Events::default(),
                match api {
                    Api::Chat => Stream::Chat(ChatStream::default()),
                    Api::Responses => Stream::Responses(ResponsesStream::default()),
                    Api::Messages => Stream::Messages(MessagesStream::default()),
                },
            ),
        };
        Self {
            api,
            form,
            bytes: 0,
        }
    }

    /// Takes the next bytes.
    pub(crate) fn take(&mut self, bytes: &[u8]) {
        self.bytes = self.bytes.saturating_add(bytes.len());
        if self.bytes > ANSWER_BYTES {
            return;
        }
        match &mut self.form {
            Form::Json(so_far) => so_far.extend_from_slice(bytes),
            Form::Stream(events, stream) => events.take(bytes, |data| match stream {
                Stream::Chat(stream) => stream.event(data),
                Stream::Responses(stream) => stream.event(data),
                Stream::Messages(stream) => stream.event(data),
            }),
        }
    }

    /// Whether a stream has announced its end.
    pub(crate) fn has_ended(&self) -> bool {
        match &self.form {
            Form::Json(_) => false,
            Form::Stream(_, Stream::Chat(stream)) => stream.has_ended(),
            Form::Stream(_, Stream::Responses(stream)) => stream.has_ended(),
            Form::Stream(_, Stream::Messages(stream)) => stream.has_ended(),
        }
    }

    /// The whole answer, once nothing follows.
    pub(crate) fn whole(self) -> Result<Whole, Unstored> {
        if self.bytes > ANSWER_BYTES {
            return Err(Unstored::TooLarge);
        }
        let json = match self.form {
            Form::Json(bytes) => {
                let json = String::from_utf8(bytes).map_err(|_| Unstored::Unreadable)?;
                if self.api == Api::Chat && chat::has_alternatives(&json) {
                    return Err(Unstored::Alternatives);
                }
                json
            }
            Form::Stream(_, Stream::Chat(stream)) => stream.answer()?,
            Form::Stream(_, Stream::Responses(stream)) => stream.answer()?,
            Form::Stream(_, Stream::Messages(stream)) => stream.answer()?,
        };
        let messages = messages_in(self.api.provider(), &json);
        let messages = messages.map_err(|_| Unstored::Unreadable)?;
        match messages.is_empty() {
            true => Err(Unstored::Unfinished),
            false => Ok(Whole {
                id: id_of(&json),
                messages,
            }),
        }
    }
}

fn id_of(json: &str) -> String {
    #[derive(Default, Deserialize)]
    struct WithId {
        #[serde(default)]
        id: Option<String>,
    }

    let read: WithId = serde_json::from_str(json).unwrap_or_default();
    read.id.unwrap_or_default()
}
