//! What a history has that a correct service does not do.

use std::fmt;

/// An operation of a history, to name it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Which {
    /// Its index in the history, from 0.
    pub index: usize,
    /// Its client.
    pub process: u32,
}

impl fmt::Display for Which {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "operation {} of client {}", self.index, self.process)
    }
}

/// An anomaly in one thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anomaly {
    /// The thread.
    pub thread: u32,
    /// What is wrong.
    pub what: What,
}

impl fmt::Display for Anomaly {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "thread {}: {}", self.thread, self.what)
    }
}

/// What is wrong. Messages are named by the numbers in their texts.
#[derive(Clone, Debug, PartialEq, Eq)]
#[expect(
    missing_docs,
    reason = "the sentences in Display say what the fields are"
)]
pub enum What {
    /// An acknowledged message is in no later read.
    Lost {
        message: u64,
        stored: Which,
        read: Which,
    },
    /// A read lacks a message that was stored before it began. Later reads have it.
    Stale {
        message: u64,
        stored: Which,
        read: Which,
    },
    /// A call got NOT_FOUND for a message that exists.
    Missing { message: u64, call: Which },
    /// A read has one part of a request without the other.
    Torn {
        request: Which,
        message: u64,
        read: Which,
    },
    /// The messages of one request do not have consecutive seqs.
    Apart { request: Which },
    /// A message is stored twice, or listed twice by one read.
    Duplicate { message: u64, read: Which },
    /// A request was stored again instead of replayed.
    StoredAgain { first: Which, second: Which },
    /// A repeated request has another answer.
    OtherReplay { first: Which, second: Which },
    /// A message has another id, seq, parent or text than before.
    Changed {
        message: u64,
        by: Which,
        read: Which,
    },
    /// Two messages have one seq.
    SharedSeq { seq: i64, first: u64, second: u64 },
    /// A seq belongs to no message.
    Gap { seq: i64 },
    /// A read is not in the order of seq.
    Reordered { message: u64, read: Which },
    /// A request has lower seqs than one that was acknowledged before it began.
    Overtaken { earlier: Which, later: Which },
    /// A read is not the path to its head.
    WrongPath { message: u64, read: Which },
    /// A read has a message that no client sent.
    Phantom { message: u64, read: Which },
    /// A read has a message before it was sent.
    Early {
        message: u64,
        append: Which,
        read: Which,
    },
    /// A read has a message of a request that was refused.
    Aborted {
        message: u64,
        append: Which,
        read: Which,
    },
    /// A read has a message that was deleted before the read began.
    Resurrected {
        message: u64,
        gone: Which,
        read: Which,
    },
    /// Two deletions of one message both deleted it.
    DeletedTwice {
        message: u64,
        first: Which,
        second: Which,
    },
    /// A read has a version that no client wrote, or that was refused.
    PhantomVersion {
        message: u64,
        version: u64,
        read: Which,
    },
    /// A read has a version that was replaced before the read began.
    OldVersion {
        message: u64,
        version: u64,
        newer: Which,
        read: Which,
    },
    /// No order of the updates of a message explains what was read.
    Versions {
        message: u64,
        first: Which,
        second: Which,
    },
    /// No order of the operations explains the heads that were read.
    Head {
        at: Which,
        explained: usize,
        of: usize,
    },
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost {
                message,
                stored,
                read,
            } => write!(
                f,
                "message {message} is lost: {stored} shows that it was stored, {read} began \
                 afterward and lacks it, and so does every later read"
            ),
            Self::Stale {
                message,
                stored,
                read,
            } => write!(
                f,
                "{read} is stale: it lacks message {message}, which was stored before it began, \
                 as {stored} shows, and not deleted"
            ),
            Self::Missing { message, call } => write!(
                f,
                "{call} got NOT_FOUND for message {message}, which was stored and not deleted"
            ),
            Self::Torn {
                request,
                message,
                read,
            } => write!(
                f,
                "{read} has a part of the request of {request} and lacks its message {message}"
            ),
            Self::Apart { request } => {
                write!(f, "the messages of {request} do not have consecutive seqs")
            }
            Self::Duplicate { message, read } => {
                write!(
                    f,
                    "message {message} is stored or listed twice, as {read} shows"
                )
            }
            Self::StoredAgain { first, second } => write!(
                f,
                "{second} repeats the request of {first}, and both were answered as the first"
            ),
            Self::OtherReplay { first, second } => write!(
                f,
                "{second} repeats the request of {first} and was given other places"
            ),
            Self::Changed { message, by, read } => write!(
                f,
                "{read} has message {message} with another id, seq, parent or text than {by}"
            ),
            Self::SharedSeq { seq, first, second } => {
                write!(f, "messages {first} and {second} both have seq {seq}")
            }
            Self::Gap { seq } => write!(f, "seq {seq} belongs to no message"),
            Self::Reordered { message, read } => write!(
                f,
                "{read} lists message {message} after a message with a higher seq"
            ),
            Self::Overtaken { earlier, later } => write!(
                f,
                "{later} began after {earlier} was acknowledged and has lower seqs"
            ),
            Self::WrongPath { message, read } => write!(
                f,
                "{read} is not the path to its head: message {message} does not follow the one \
                 before it"
            ),
            Self::Phantom { message, read } => {
                write!(f, "{read} has message {message}, which no client sent")
            }
            Self::Early {
                message,
                append,
                read,
            } => {
                write!(
                    f,
                    "{read} was over before {append} sent its message {message}"
                )
            }
            Self::Aborted {
                message,
                append,
                read,
            } => {
                write!(
                    f,
                    "{read} has message {message} of {append}, which was refused"
                )
            }
            Self::Resurrected {
                message,
                gone,
                read,
            } => write!(
                f,
                "{read} has message {message}, which was deleted before it began, as {gone} shows"
            ),
            Self::DeletedTwice {
                message,
                first,
                second,
            } => write!(
                f,
                "{first} and {second} were both answered that they deleted message {message}"
            ),
            Self::PhantomVersion {
                message,
                version,
                read,
            } => write!(
                f,
                "{read} has version {version} of message {message}, which no client wrote before"
            ),
            Self::OldVersion {
                message,
                version,
                newer,
                read,
            } => write!(
                f,
                "{read} has version {version} of message {message}, which had been replaced \
                 before it began, as {newer} shows"
            ),
            Self::Versions {
                message,
                first,
                second,
            } => write!(
                f,
                "no order of the updates of message {message} explains both {first} and {second}"
            ),
            Self::Head { at, explained, of } => write!(
                f,
                "no order of the operations explains the head: with {explained} of {of} in an \
                 order, {at} can come neither next nor later"
            ),
        }
    }
}
