//! Reads conversations from files.
//!
//! A reader turns a file into [`ImportRecord`]s, one at a time; [`Batcher`] makes
//! requests of them. Both work without a server, and hold no more than one
//! request, except where a format is one JSON document.

mod batch;
mod export;
mod foreign;
mod input_file;
mod jsonl;
mod openai;
mod provider;
mod values;

use memory_contract::proto::{
    Memory, MessageInput, PutWorkingMemoryRequest, ResolveThreadRequest, SessionRef, ThreadRef,
    record::Kind, thread_ref,
};
use memory_contract::{AppId, KeySource, SessionKey, SessionNames, UserId};

pub use batch::{Batch, Batcher};
pub use foreign::thread_key;
pub use input_file::read;
pub use jsonl::messages_of_lines;

/// What conversations belong to that do not say so themselves.
#[derive(Debug, Clone)]
pub struct Defaults {
    pub app: String,
    /// The user; `None` means the file's name without its ending, or none where the session
    /// key says whose conversation it is.
    pub user: Option<String>,
    /// The session key; `None` means `session:` and the file's name without
    /// its ending.
    pub session: Option<String>,
}

impl Defaults {
    /// The session of a conversation in the file `stem`; `part` distinguishes several
    /// conversations of one file.
    fn session(&self, stem: &str, part: Option<usize>) -> SessionRef {
        let key = self
            .session
            .clone()
            .unwrap_or_else(|| format!("session:{stem}"));
        let session_key = match part {
            Some(part) => format!("{key}/{part}"),
            None => key,
        };
        SessionRef {
            app_id: self.app.clone(),
            user_id: self.user(stem, &self.app, &session_key),
            session_key,
            agent_session_key: String::new(),
        }
    }

    /// The user of a conversation that names none.
    fn user(&self, stem: &str, app: &str, session_key: &str) -> String {
        if let Some(user) = &self.user {
            return user.clone();
        }
        let key = (SessionKey::new(session_key), KeySource::Session);
        let names = SessionNames::new(AppId::new(app), UserId::new(stem), Some(key));
        names.map_or_else(|_| String::new(), |_| stem.to_owned())
    }
}

/// The session that a request names.
pub fn named_session(thread: Option<&ThreadRef>) -> Option<&SessionRef> {
    match thread?.thread.as_ref()? {
        thread_ref::Thread::Session(session) => Some(session),
        thread_ref::Thread::ThreadId(_) => None,
    }
}

/// One thing that a file holds.
#[derive(Debug, Clone, PartialEq)]
pub enum ImportRecord {
    /// A record of an export.
    Exported(Box<Kind>),
    /// A thread; its messages follow.
    Thread(Box<ResolveThreadRequest>),
    /// A message of a session.
    Message {
        session: SessionRef,
        message: Box<MessageInput>,
    },
    /// A long-term memory.
    Memory(Box<Memory>),
    /// The working memory of a session, for sessions that have none.
    WorkingMemory(Box<PutWorkingMemoryRequest>),
    /// What is left out because nothing here holds it, and how many there are.
    LeftOut(&'static str, u64),
}

/// A record with its place, or what is wrong there.
#[derive(Debug)]
pub struct Placed<T> {
    /// Its place, such as `chat.jsonl, line 17`.
    pub place: String,
    /// The record.
    pub value: T,
}

/// A record, or what is wrong with it, and where.
pub type Read = Placed<Result<ImportRecord, String>>;
