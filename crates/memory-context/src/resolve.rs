//! What a request names, as it is stored: its thread, the policy that applies, and what its
//! searches may find. Policies are not cached, because another process may have changed them.

use memory_contract::{
    AppId, ThreadId, UserId,
    memory::MemoryOwner,
    policy::{MemoryPolicy, MemoryScope, PolicyLevel, ResolvedPolicy},
    thread::{Session, Thread},
};
use memory_store::{Caller, Scope, Space, Store, StoreError};

/// The conversation that a call is about.
#[derive(Clone, Debug)]
pub enum Conversation {
    /// A thread by its id; it may not be stored.
    Thread(ThreadId),
    /// A session, which may have no thread yet.
    Session(Session),
}

/// Where a search begins.
#[derive(Clone, Debug)]
pub enum Place {
    /// In a conversation.
    Conversation(Conversation),
    /// Among the threads of a user or an app.
    Others {
        /// The app whose policy applies.
        app: AppId,
        /// The user's threads or the app's.
        scope: Scope,
    },
}

/// What is searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Searched {
    /// Messages.
    Messages,
    /// Messages and long-term memories.
    MessagesAndMemories,
}

/// A place as it is stored, under the policy of a request.
#[derive(Clone, Debug)]
pub struct Resolved {
    /// The thread; `None` for a session without one, and without a conversation.
    pub thread: Option<ThreadId>,
    /// The thread's place in the order of creation of all threads; 0 without a thread.
    pub thread_ordinal: i64,
    /// The policy that applies.
    pub policy: ResolvedPolicy,
    /// The messages that a search may find; `None`: none.
    pub scope: Option<Scope>,
    /// The memory space that is searched; `None`: the app alone.
    pub space: Option<Space>,
    /// The owner of the long-term memories; `None` if there are none, or none are searched.
    pub owner: Option<MemoryOwner>,
}

/// Finds the thread of a place and the policy that applies, with `request` as its most specific
/// level, in one round trip, and the apps of a memory space in another.
///
/// # Errors
/// `ThreadNotFound`, and errors of the database.
pub async fn resolve(
    store: &Store,
    caller: &Caller,
    place: &Place,
    request: &MemoryPolicy,
    searched: Searched,
) -> Result<Resolved, StoreError> {
    let policies = store.policies(caller);
    let conversation = match place {
        Place::Conversation(conversation) => conversation,
        Place::Others { app, scope } => {
            let policy = policy_of_others(store, caller, app, scope, request).await?;
            let space = match user_of(scope) {
                Some(_) => policies.searched_space(app, &policy).await?,
                None => None,
            };
            return Ok(Resolved {
                thread: None,
                thread_ordinal: 0,
                scope: Some(scope.clone().within(space.clone())),
                owner: None,
                space,
                policy,
            });
        }
    };
    let Stored {
        thread,
        thread_ordinal,
        session,
        policy,
        any_memories,
    } = read(store, caller, conversation, request, searched).await?;
    let space = match session.user.is_empty() {
        true => None,
        false => policies.searched_space(&session.app, &policy).await?,
    };
    let thread = thread.map(|thread| thread.id);
    let scope = match thread {
        Some(id) => Some(Scope::of_thread(id, &session, policy.scope, space.clone())),
        None => Scope::beyond_thread(&session, policy.scope, space.clone()),
    };
    let memories = searched == Searched::MessagesAndMemories;
    // The other apps of a space may have some.
    let has_memories = memories && (any_memories || space.is_some());
    Ok(Resolved {
        thread,
        thread_ordinal,
        owner: has_memories.then(|| MemoryOwner::of(&session)),
        scope,
        space,
        policy,
    })
}

/// The policy of a conversation, with `request` as its most specific level.
///
/// # Errors
/// `ThreadNotFound`, and errors of the database.
pub async fn effective_policy(
    store: &Store,
    caller: &Caller,
    conversation: &Conversation,
    request: &MemoryPolicy,
) -> Result<ResolvedPolicy, StoreError> {
    let stored = read(store, caller, conversation, request, Searched::Messages).await?;
    Ok(stored.policy)
}

/// A conversation as it is stored.
struct Stored {
    thread: Option<Thread>,
    thread_ordinal: i64,
    session: Session,
    policy: ResolvedPolicy,
    /// Whether its user has memories in the app; false if they are not searched.
    any_memories: bool,
}

async fn read(
    store: &Store,
    caller: &Caller,
    conversation: &Conversation,
    request: &MemoryPolicy,
    searched: Searched,
) -> Result<Stored, StoreError> {
    let (policies, memories) = (store.policies(caller), store.memories(caller));
    let (thread, app, any_memories) = match (conversation, searched) {
        (Conversation::Thread(id), searched) => {
            let (found, any) = match searched {
                Searched::Messages => (policies.policies(*id).await?, false),
                Searched::MessagesAndMemories => memories.policies_and_memories(*id).await?,
            };
            (Some((found.thread, found.thread_ordinal)), found.app, any)
        }
        (Conversation::Session(session), Searched::Messages) => {
            let (thread, app) = policies.session_policies(session).await?;
            (thread, app, false)
        }
        (Conversation::Session(session), Searched::MessagesAndMemories) => {
            memories.session_policies_and_memories(session).await?
        }
    };
    let (thread, ordinal) = thread.unzip();
    let session = match (conversation, &thread) {
        (Conversation::Session(session), _) => session.clone(),
        (Conversation::Thread(_), Some(thread)) => thread.session.clone(),
        (Conversation::Thread(_), None) => return Err(StoreError::ThreadNotFound),
    };
    let own = thread.as_ref().map(|thread| thread.policy.clone());
    let policy = store.resolve_policy(&[
        (PolicyLevel::App, &app),
        (PolicyLevel::Thread, &own.unwrap_or_default()),
        (PolicyLevel::Request, request),
    ]);
    Ok(Stored {
        thread,
        thread_ordinal: ordinal.unwrap_or_default(),
        session,
        policy,
        any_memories,
    })
}

/// The policy of a search among the threads of a user or an app. The target decides the scope.
async fn policy_of_others(
    store: &Store,
    caller: &Caller,
    app: &AppId,
    scope: &Scope,
    request: &MemoryPolicy,
) -> Result<ResolvedPolicy, StoreError> {
    let of_app = store.policies(caller).app_policy(app).await?.policy;
    let resolve = |request: &MemoryPolicy| {
        store.resolve_policy(&[(PolicyLevel::App, &of_app), (PolicyLevel::Request, request)])
    };
    let scope = match (user_of(scope), resolve(request).scope) {
        (None, _) => MemoryScope::App,
        (Some(_), MemoryScope::Space) => MemoryScope::Space,
        (Some(_), _) => MemoryScope::User,
    };
    Ok(resolve(&MemoryPolicy {
        scope: Some(scope),
        ..request.clone()
    }))
}

fn user_of(scope: &Scope) -> Option<&UserId> {
    match scope {
        Scope::User { user, .. } | Scope::Space { user, .. } => Some(user),
        Scope::App(_) | Scope::Thread(_) => None,
    }
}
