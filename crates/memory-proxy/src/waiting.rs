//! A turn that waits: for its answer, and then to be stored.

use std::time::{Duration, Instant};

use memory_contract::proto::MessageInput;

use crate::same::Said;
use crate::whose::Whose;

/// How long storing a turn is tried again.
const PATIENCE: Duration = Duration::from_secs(300);

/// A turn without its answer.
#[derive(Debug)]
pub(crate) struct Waiting {
    pub(crate) whose: Whose,
    pub(crate) messages: Vec<MessageInput>,
    pub(crate) said: Vec<Said>,
    pub(crate) new_from: usize,
    pub(crate) is_kept: bool,
    /// The response that the request continues.
    pub(crate) previous: Option<String>,
}

/// A turn to store.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) waiting: Waiting,
    /// Where the answer begins in the messages.
    pub(crate) answer_from: usize,
    /// Until when storing it is tried again.
    pub(crate) until: Instant,
}

impl Waiting {
    /// The whole turn, whose answer ended now.
    pub(crate) fn with_answer(mut self, answer: Vec<MessageInput>, now: Instant) -> Job {
        let answer_from = self.messages.len();
        self.said.extend(answer.iter().map(Said::of_input));
        self.messages.extend(answer);
        Job {
            waiting: self,
            answer_from,
            until: now + PATIENCE,
        }
    }
}

impl Job {
    /// The size of its messages.
    pub(crate) fn bytes(&self) -> usize {
        let messages = self.waiting.messages.iter();
        messages.map(prost::Message::encoded_len).sum()
    }
}
