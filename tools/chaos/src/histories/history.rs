//! What clients recorded: which operations they began, when, and how each ended.
//!
//! A client has one operation at a time. An operation whose end the client did not see, because
//! the connection broke, may take effect at any time after its invocation, or never. A client
//! repeats it as a further operation: an append with the same request id, an update with a new
//! version.

use std::io::{self, BufRead, Write};

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// The parent of a root, as reads return it.
pub const ROOT: Uuid = Uuid::nil();

/// One call of one client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    /// The client.
    pub process: u32,
    /// The thread that it concerns.
    pub thread: u32,
    /// What was asked for.
    pub call: Call,
    /// When the client sent it, in nanoseconds on one clock of all clients.
    pub invoked: u64,
    /// How it ended.
    pub outcome: Outcome,
}

/// What a client asks for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Call {
    /// Stores messages: all of them or none.
    Append {
        /// Attempts with the same request are stored once.
        request: Uuid,
        /// A number for each message that no other message has, part of its text. Each message
        /// follows the one before it.
        values: Vec<u64>,
        /// What the first message follows.
        parent: Parent,
        /// The head that the thread must have. None: not checked.
        expected_head: Option<Uuid>,
    },
    /// Lists the messages that lead to one message, in one page.
    ReadPath {
        /// That message. None: the thread's head.
        head: Option<Uuid>,
    },
    /// Lists the messages of all branches.
    ReadAll,
    /// Gives a message another version. No other operation has this version of this message.
    Update {
        /// The message.
        message: Uuid,
        /// The new version; 0 is the version that was appended.
        version: u64,
    },
    /// Deletes a message.
    Delete {
        /// The message.
        message: Uuid,
    },
    /// Makes a message the head.
    SetHead {
        /// The message.
        message: Uuid,
        /// The head that the thread must have. None: not checked.
        expected_head: Option<Uuid>,
    },
    /// Reads which message is the head.
    GetHead,
}

/// What an appended message follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Parent {
    /// The thread's head.
    Head,
    /// A message.
    Message(Uuid),
    /// Nothing: it is a root.
    Root,
}

/// How an operation ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The service answered.
    Done {
        /// When the client had the answer.
        at: u64,
        /// The answer.
        answer: Answer,
    },
    /// The service answered that it did not do it.
    Refused {
        /// When the client had the answer.
        at: u64,
        /// Why.
        reason: Refusal,
    },
    /// No answer came.
    Unknown,
}

/// Why the service did not do what was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// The message that the call names does not exist.
    NotFound,
    /// The head was another than expected.
    HeadMoved,
    /// Something that says nothing about the thread, such as a rate limit.
    Other,
}

/// What the service answered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// To an append.
    Appended {
        /// Where each message was stored.
        places: Vec<Place>,
        /// Whether the request was known and nothing new was stored.
        replayed: bool,
    },
    /// To a read, in the order of the answer.
    Messages(Vec<Stored>),
    /// To an update.
    Updated,
    /// To a deletion.
    Deleted {
        /// Whether the thread had the message.
        deleted: bool,
    },
    /// To a change of the head.
    HeadSet,
    /// To a read of the head. None: the thread has no messages.
    Head(Option<Uuid>),
}

/// Where a message was stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Its id.
    pub id: Uuid,
    /// Its position in the thread, from 1.
    pub seq: i64,
}

/// A message as a read returned it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stored {
    /// The number in its text.
    pub value: u64,
    /// Its id.
    pub id: Uuid,
    /// Its position in the thread, from 1.
    pub seq: i64,
    /// The message that it follows, or [`ROOT`].
    pub parent: Uuid,
    /// Its version.
    pub version: u64,
}

impl Operation {
    /// When the client knew that it was over; `u64::MAX` if it never did.
    pub fn end(&self) -> u64 {
        match self.outcome {
            Outcome::Done { at, .. } | Outcome::Refused { at, .. } => at,
            Outcome::Unknown => u64::MAX,
        }
    }

    /// The answer, if it was done.
    pub fn answer(&self) -> Option<&Answer> {
        match &self.outcome {
            Outcome::Done { answer, .. } => Some(answer),
            _ => None,
        }
    }

    /// The messages that a read returned.
    pub fn messages(&self) -> Option<&[Stored]> {
        match self.answer() {
            Some(Answer::Messages(messages)) => Some(messages),
            _ => None,
        }
    }

    /// Whether it may have had an effect.
    pub fn may_have_happened(&self) -> bool {
        !matches!(self.outcome, Outcome::Refused { .. })
    }
}

/// Writes operations, each as one line of JSON.
///
/// # Errors
/// Of the writer.
pub fn write_lines(mut to: impl Write, operations: &[Operation]) -> io::Result<()> {
    for operation in operations {
        serde_json::to_writer(&mut to, operation)?;
        to.write_all(b"\n")?;
    }
    Ok(())
}

/// Reads what [`write_lines`] wrote.
///
/// # Errors
/// Of the reader, or if a line is no operation.
pub fn read_lines(from: impl BufRead) -> io::Result<Vec<Operation>> {
    from.lines()
        .map(|line| Ok(serde_json::from_str(&line?)?))
        .collect()
}
