//! What the operations of one seed work on.

use fastrand::Rng;
use memory_contract::proto::{AppendMessagesRequest, Memory, Message, Role, SessionRef, ThreadRef};
use recollect_tests::{
    Client, Http, Key, Mcp, SOON, Server, by_id, by_session, eventually, session, text_of,
};
use serde_json::Value;

use super::tally::Tally;

/// The users of an app.
pub(super) const USERS: [&str; 2] = ["ada", "bo"];
/// The conversations of an app: the user's place in [`USERS`], and the session's key.
const CONVERSATIONS: [(usize, &str); 4] = [
    (0, "thread:1"),
    (0, "Reise / 旅"),
    (1, "thread:1"),
    (1, "день 🚲"),
];
/// Characters of a query.
const QUERY_CHARS: usize = 60;

/// An app of its own, and the choices that follow from a seed.
pub(super) struct Run<'a> {
    pub(super) client: &'a Client,
    pub(super) http: Http,
    /// One for each user.
    pub(super) mcp: [Mcp; 2],
    pub(super) tally: &'a mut Tally,
    pub(super) seed: u64,
    pub(super) rng: Rng,
    pub(super) app: String,
    pub(super) conversations: Vec<Conversation>,
    /// All memories of each user, what was stored last first.
    pub(super) memories: [Vec<Memory>; 2],
    /// The revision of an append. Empty: none is known.
    pub(super) revision: String,
    pub(super) last_append: Option<Append>,
    /// The call under way.
    pub(super) doing: String,
    numbers: usize,
}

/// A conversation as it is stored.
pub(super) struct Conversation {
    /// The user's place in [`USERS`].
    pub(super) user: usize,
    pub(super) key: &'static str,
    /// Empty: nothing was appended yet.
    pub(super) thread_id: String,
    /// On all branches.
    pub(super) messages: Vec<Message>,
}

/// An append that may be repeated.
#[derive(Clone)]
pub(super) struct Append {
    pub(super) request: AppendMessagesRequest,
    pub(super) user: usize,
    /// The arguments of the tool `append_messages` that store the same, if it can.
    pub(super) arguments: Option<Value>,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        server: &Server,
        client: &'a Client,
        seed: u64,
        tally: &'a mut Tally,
    ) -> Self {
        let app = format!("differential-{seed}");
        let addr = &server.ready().addr;
        let conversations = CONVERSATIONS.map(|(user, key)| Conversation {
            user,
            key,
            thread_id: String::new(),
            messages: Vec::new(),
        });
        Self {
            client,
            http: Http::new(addr, Key::Acme),
            mcp: USERS.map(|user| Mcp::http(addr, Key::Acme, Some(&app), Some(user))),
            tally,
            seed,
            rng: Rng::with_seed(seed),
            app,
            conversations: conversations.into(),
            memories: Default::default(),
            revision: String::new(),
            last_append: None,
            doing: String::new(),
            numbers: 0,
        }
    }

    /// One of several values.
    pub(super) fn any<T>(
        &mut self,
        values: impl IntoIterator<Item = T, IntoIter: ExactSizeIterator>,
    ) -> T {
        self.rng.choice(values).unwrap()
    }

    /// The place of a user in [`USERS`].
    pub(super) fn any_user(&mut self) -> usize {
        self.rng.usize(0..USERS.len())
    }

    /// The place of a conversation.
    pub(super) fn any_conversation(&mut self) -> usize {
        self.rng.usize(0..self.conversations.len())
    }

    /// A message of a conversation; `None` if all are deleted.
    pub(super) fn any_message(&mut self, conversation: usize) -> Option<Message> {
        let messages = &self.conversations[conversation].messages;
        self.rng.choice(messages).cloned()
    }

    /// A memory of a user that no newer one has superseded.
    pub(super) fn any_memory(&mut self, user: usize) -> Option<Memory> {
        let valid = |memory: &&Memory| memory.valid_until.is_none();
        let memories: Vec<&Memory> = self.memories[user].iter().filter(valid).collect();
        self.rng.choice(memories).cloned()
    }

    /// A number that this run has not used.
    pub(super) fn new_number(&mut self) -> usize {
        self.numbers += 1;
        self.numbers
    }

    /// A new UUID.
    pub(super) fn new_uuid(&mut self) -> String {
        let bytes = self.rng.u128(..).to_be_bytes();
        uuid::Builder::from_random_bytes(bytes)
            .into_uuid()
            .to_string()
    }

    pub(super) fn session(&self, conversation: usize) -> SessionRef {
        let Conversation { user, key, .. } = self.conversations[conversation];
        session(&self.app, USERS[user], key)
    }

    /// The thread of a conversation, by its id or by its session.
    pub(super) fn thread(&mut self, conversation: usize) -> Option<ThreadRef> {
        match self.rng.bool() {
            true => by_id(self.conversations[conversation].thread_id.clone()),
            false => by_session(self.session(conversation)),
        }
    }

    /// The beginning of something that a user and an assistant have said.
    pub(super) fn query(&mut self, user: usize) -> String {
        let said: Vec<String> = self
            .conversations
            .iter()
            .filter(|conversation| conversation.user == user)
            .flat_map(|conversation| &conversation.messages)
            .filter(|message| matches!(message.role(), Role::User | Role::Assistant))
            .map(text_of)
            .filter(|text| text.chars().any(char::is_alphabetic))
            .collect();
        let text = self.rng.choice(said);
        let text = text.unwrap_or_else(|| "bicycle".to_owned());
        text.chars().take(QUERY_CHARS).collect()
    }

    /// Waits until the index has all that was stored.
    pub(super) async fn settle(&self) {
        eventually("the index has all changes", SOON, async || {
            self.client.index_status().await.pending_count == 0
        })
        .await;
    }

    /// Reads what is stored of a conversation.
    pub(super) async fn read_back(&mut self, conversation: usize) {
        let thread = self.client.resolve(self.session(conversation)).await;
        let messages = self.client.all_messages(&thread.thread_id).await;
        let conversation = &mut self.conversations[conversation];
        conversation.thread_id = thread.thread_id;
        conversation.messages = messages;
    }

    /// Reads what is known of a user.
    pub(super) async fn read_back_memories(&mut self, user: usize) {
        self.memories[user] = self.client.all_memories(&self.app, USERS[user]).await;
    }
}
