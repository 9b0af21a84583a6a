//! The ways in which a request names a thread, a user or an app: one type for the
//! generated oneofs, which prost makes anew for each request.

use crate::proto;

/// A thread by its id, or by the caller's own names.
#[derive(Clone, Debug, PartialEq)]
pub enum ThreadName {
    /// A UUID as text.
    Id(String),
    /// The names of a session.
    Session(proto::SessionRef),
}

/// What a request is about.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// One thread.
    Thread(ThreadName),
    /// One user of an app.
    User(proto::UserRef),
    /// All users of an app.
    App(proto::AppRef),
}

/// One user of an app, or all of them.
#[derive(Clone, Debug, PartialEq)]
pub enum Owner {
    /// One user, or with an empty id the data that belongs to no user.
    User(proto::UserRef),
    /// All users.
    App(proto::AppRef),
}

/// Conversions from ids and sessions to the oneof of a request.
macro_rules! from_names {
    ($oneof:path) => {
        impl From<String> for $oneof {
            fn from(id: String) -> Self {
                Self::ThreadId(id)
            }
        }

        impl From<&str> for $oneof {
            fn from(id: &str) -> Self {
                Self::ThreadId(id.to_owned())
            }
        }

        impl From<proto::SessionRef> for $oneof {
            fn from(session: proto::SessionRef) -> Self {
                Self::Session(session)
            }
        }
    };
}

macro_rules! name_a_thread {
    ($($request:ident :: $oneof:ident,)*) => {$(
        from_names!(proto::$request::$oneof);

        impl From<proto::$request::$oneof> for ThreadName {
            fn from(named: proto::$request::$oneof) -> Self {
                match named {
                    proto::$request::$oneof::ThreadId(id) => Self::Id(id),
                    proto::$request::$oneof::Session(session) => Self::Session(session),
                }
            }
        }
    )*};
}

name_a_thread! {
    append_events_request::Thread,
    append_iteration_request::Thread,
    append_messages_request::Thread,
    build_briefing_request::Thread,
    build_context_request::Thread,
    clear_thread_request::Thread,
    delete_message_request::Thread,
    delete_plan_request::Thread,
    delete_thread_request::Thread,
    delete_working_memory_request::Thread,
    get_checkpoint_request::Thread,
    get_history_request::Thread,
    get_message_request::Thread,
    get_observations_request::Thread,
    get_plan_request::Thread,
    get_thread_request::Thread,
    get_working_memory_request::Thread,
    list_branches_request::Thread,
    list_events_request::Thread,
    list_iterations_request::Thread,
    list_ledger_request::Thread,
    list_node_memories_request::Thread,
    list_transactions_request::Thread,
    node_ref::Thread,
    put_checkpoint_request::Thread,
    put_checkpoint_writes_request::Thread,
    put_plan_request::Thread,
    put_working_memory_request::Thread,
    reindex_request::Thread,
    set_head_request::Thread,
    update_plan_step_request::Thread,
    update_working_memory_data_request::Thread,
    verify_thread_request::Thread,
    watch_thread_request::Thread,
}

macro_rules! name_a_user_or_app {
    ($($request:ident :: $oneof:ident,)*) => {$(
        impl From<proto::UserRef> for proto::$request::$oneof {
            fn from(user: proto::UserRef) -> Self {
                Self::User(user)
            }
        }

        impl From<proto::AppRef> for proto::$request::$oneof {
            fn from(app: proto::AppRef) -> Self {
                Self::App(app)
            }
        }
    )*};
}

macro_rules! name_an_owner {
    ($($request:ident :: $oneof:ident,)*) => {$(
        name_a_user_or_app!($request::$oneof,);

        impl From<proto::$request::$oneof> for Owner {
            fn from(named: proto::$request::$oneof) -> Self {
                match named {
                    proto::$request::$oneof::User(user) => Self::User(user),
                    proto::$request::$oneof::App(app) => Self::App(app),
                }
            }
        }
    )*};
}

name_an_owner! {
    forget_memories_request::Owner,
    list_memories_request::Owner,
    list_threads_request::Scope,
}

macro_rules! name_a_target {
    ($($request:ident :: $oneof:ident,)*) => {$(
        from_names!(proto::$request::$oneof);
        name_a_user_or_app!($request::$oneof,);

        impl From<proto::$request::$oneof> for Target {
            fn from(named: proto::$request::$oneof) -> Self {
                match named {
                    proto::$request::$oneof::ThreadId(id) => Self::Thread(ThreadName::Id(id)),
                    proto::$request::$oneof::Session(session) => {
                        Self::Thread(ThreadName::Session(session))
                    }
                    proto::$request::$oneof::User(user) => Self::User(user),
                    proto::$request::$oneof::App(app) => Self::App(app),
                }
            }
        }
    )*};
}

name_a_target! {
    export_messages_request::Selection,
    list_messages_request::Target,
    recall_request::Target,
    search_request::Target,
}

from_names!(proto::get_effective_policy_request::Target);

impl From<proto::AppRef> for proto::get_effective_policy_request::Target {
    fn from(app: proto::AppRef) -> Self {
        Self::App(app)
    }
}

impl From<proto::get_effective_policy_request::Target> for Target {
    fn from(named: proto::get_effective_policy_request::Target) -> Self {
        use proto::get_effective_policy_request::Target as Named;
        match named {
            Named::ThreadId(id) => Self::Thread(ThreadName::Id(id)),
            Named::Session(session) => Self::Thread(ThreadName::Session(session)),
            Named::App(app) => Self::App(app),
        }
    }
}
