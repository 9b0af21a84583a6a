//! The ways in which a request names a thread, a user or an app, and a write to wait for.

use crate::proto::{self, freshness::Requirement, target, thread_ref};

impl From<&str> for proto::ThreadRef {
    /// A thread by its id.
    fn from(id: &str) -> Self {
        id.to_owned().into()
    }
}

impl From<String> for proto::ThreadRef {
    /// A thread by its id.
    fn from(id: String) -> Self {
        thread_ref::Thread::ThreadId(id).into()
    }
}

impl From<proto::SessionRef> for proto::ThreadRef {
    fn from(session: proto::SessionRef) -> Self {
        thread_ref::Thread::Session(session).into()
    }
}

impl From<thread_ref::Thread> for proto::ThreadRef {
    fn from(thread: thread_ref::Thread) -> Self {
        Self {
            thread: Some(thread),
        }
    }
}

impl<T: Into<proto::ThreadRef>> From<T> for proto::Target {
    fn from(thread: T) -> Self {
        target::Target::Thread(thread.into()).into()
    }
}

impl From<proto::UserRef> for proto::Target {
    fn from(user: proto::UserRef) -> Self {
        target::Target::User(user).into()
    }
}

impl From<proto::AppRef> for proto::Target {
    fn from(app: proto::AppRef) -> Self {
        target::Target::App(app).into()
    }
}

impl From<target::Target> for proto::Target {
    fn from(target: target::Target) -> Self {
        Self {
            target: Some(target),
        }
    }
}

impl From<&str> for proto::Freshness {
    /// As fresh as a write, named by its revision.
    fn from(revision: &str) -> Self {
        revision.to_owned().into()
    }
}

impl From<String> for proto::Freshness {
    /// As fresh as a write, named by its revision.
    fn from(revision: String) -> Self {
        Self {
            requirement: Some(Requirement::AtLeastAsFresh(revision)),
            max_wait: None,
        }
    }
}
