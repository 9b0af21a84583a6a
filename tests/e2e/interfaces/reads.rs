//! Reads, each by every interface that has it.

use memory_contract::proto::{
    BuildContextRequest, Freshness, GetEffectivePolicyRequest, GetHistoryRequest, GetMemoryRequest,
    GetMessageRequest, GetThreadRequest, GetWorkingMemoryRequest, ListBranchesRequest,
    ListMemoriesRequest, ListMessagesRequest, ListThreadsRequest, ListUsersRequest, MemoryFilter,
    MemoryMode, MemoryPolicy, MessageFilter, MessagePath, QueryTime, RecallRequest, RecallScope,
    Role, SearchMemoriesRequest, SearchMethod, SearchRequest, Target, recall_request::Budget,
};
use prost_types::Timestamp;
use recollect_tests::{
    by_session, eventual, fresh_from, mode, say, session, target_app, target_session, target_user,
};
use serde_json::json;

use super::asking::Tool;
use super::run::{Run, USERS};
use super::shown;
use super::texts::text;
use super::writes::NAME;

impl Run<'_> {
    pub(super) async fn history(&mut self) {
        let conversation = self.any_conversation();
        let request = GetHistoryRequest {
            thread: self.thread(conversation),
            head_message_id: self.some_head(conversation),
            max_tokens: self.any([None, Some(40), Some(300), Some(100_000)]),
            max_messages: self.any([None, Some(1), Some(5), Some(500)]),
            oversized_turn: self.rng.i32(0..=3),
            model: self.some_model(),
            include_events: self.rng.bool(),
            formats: self.some_formats(),
        };
        // A newest turn that is too large may be refused.
        let answer = self.ask("MessageService/GetHistory", request, None).await;
        if let Ok(history) = answer {
            self.tally.history_messages += history.messages.len();
        }
    }

    /// As the tool `history` reads it, also of a conversation that does not exist.
    pub(super) async fn history_by_tool(&mut self) {
        let conversation = self.any_conversation();
        let user = self.conversations[conversation].user;
        for key in [self.conversations[conversation].key, "nothing"] {
            let max_tokens = self.any([300, 2_000, 20_000]);
            let max_messages = self.any([2, 100, 500]);
            let request = GetHistoryRequest {
                thread: by_session(session(&self.app, USERS[user], key)),
                max_tokens: Some(max_tokens),
                max_messages: Some(max_messages),
                ..Default::default()
            };
            let arguments = json!({
                "session": key, "max_tokens": max_tokens, "max_messages": max_messages,
            });
            let tool = Tool {
                user,
                name: "history",
                arguments,
                shows: shown::history,
            };
            let answer = self
                .read("MessageService/GetHistory", request, Some(tool))
                .await;
            self.tally.history_messages += answer.messages.len();
        }
    }

    /// Two pages of messages.
    pub(super) async fn messages(&mut self) {
        let conversation = self.any_conversation();
        let user = USERS[self.conversations[conversation].user];
        let (target, order) = match self.rng.u8(0..4) {
            0 => (target_app(self.app.clone()), "create_time"),
            1 => (target_user(&self.app, user), "create_time"),
            _ => (target_session(self.session(conversation)), "seq"),
        };
        let path = order == "seq" && self.rng.bool();
        let mut request = ListMessagesRequest {
            target,
            filter: self.some_filter(),
            order_by: self.any([String::new(), order.to_owned(), format!("{order} desc")]),
            page_size: self.any([0, 1, 4]),
            page_token: String::new(),
            path: path.then(|| MessagePath {
                head_message_id: String::new(),
            }),
        };
        for _ in 0..2 {
            let page = self
                .read("MessageService/ListMessages", request.clone(), None)
                .await;
            if page.next_page_token.is_empty() {
                break;
            }
            request.page_token = page.next_page_token;
        }
    }

    /// One message, by its id or the caller's own id.
    pub(super) async fn message(&mut self) {
        let conversation = self.any_conversation();
        let Some(message) = self.any_message(conversation) else {
            return;
        };
        for id in [message.message_id, message.external_id] {
            if id.is_empty() {
                continue;
            }
            let request = GetMessageRequest {
                thread: self.thread(conversation),
                message_id: id,
            };
            self.read("MessageService/GetMessage", request, None).await;
        }
    }

    /// What is said of threads, branches, users and policies.
    pub(super) async fn threads(&mut self) {
        let user = self.any_user();
        let page_size = self.any([1, 20]);
        let request = ListThreadsRequest {
            target: target_user(&self.app, USERS[user]),
            page_size,
            order_by: "update_time desc".to_owned(),
            ..Default::default()
        };
        let tool = Tool {
            user,
            name: "list_sessions",
            arguments: json!({"page_size": page_size}),
            shows: shown::sessions,
        };
        self.read("ThreadService/ListThreads", request, Some(tool))
            .await;
        let conversation = self.any_conversation();
        let request = GetThreadRequest {
            thread: self.thread(conversation),
        };
        self.read("ThreadService/GetThread", request, None).await;
        let request = ListBranchesRequest {
            thread: self.thread(conversation),
            page_size: self.any([0, 1]),
            page_token: String::new(),
        };
        self.read("ThreadService/ListBranches", request, None).await;
        let request = ListUsersRequest {
            app_id: self.app.clone(),
            ..Default::default()
        };
        self.read("ThreadService/ListUsers", request, None).await;
        let request = GetEffectivePolicyRequest {
            target: self.any_target(conversation),
            policy: Some(mode(MemoryMode::Window)),
        };
        self.read("PolicyService/GetEffectivePolicy", request, None)
            .await;
    }

    pub(super) async fn recall(&mut self) {
        self.settle().await;
        let conversation = self.any_conversation();
        let user = self.conversations[conversation].user;
        let (target, scope) = match self.rng.bool() {
            true => {
                let scopes = [
                    RecallScope::Unspecified,
                    RecallScope::Thread,
                    RecallScope::App,
                ];
                (
                    self.thread(conversation).map(Target::from),
                    self.any(scopes),
                )
            }
            // With a user a scope is refused.
            false => (
                target_user(&self.app, USERS[user]),
                RecallScope::Unspecified,
            ),
        };
        let policy = MemoryPolicy {
            top_k: self.any([None, Some(0), Some(1), Some(100)]),
            recent_window: self.any([None, Some(0), Some(3)]),
            neighbors_before: self.any([None, Some(0), Some(3)]),
            min_score: self.any([None, Some(0.0), Some(0.3)]),
            scope: scope.into(),
            ..Default::default()
        };
        let request = RecallRequest {
            target,
            query: self.query(user),
            policy: Some(policy),
            filter: self.some_filter(),
            model: self.some_model(),
            method: self.some_method(),
            freshness: self.some_freshness(),
            all_branches: self.rng.bool(),
            explain: self.rng.bool(),
            query_time: self.any([None, Some(QueryTime::default())]),
            budget: self.any([
                None,
                Some(Budget::MaxTokens(100)),
                Some(Budget::Unlimited(())),
            ]),
        };
        self.read("RecallService/Recall", request, None).await;
    }

    /// A search that finds something, and one that may not.
    pub(super) async fn search(&mut self) {
        self.settle().await;
        let user = self.any_user();
        let request = SearchRequest {
            target: target_user(&self.app, USERS[user]),
            query: self.query(user),
            all_branches: true,
            ..Default::default()
        };
        let found = self
            .read("RecallService/Search", request.clone(), None)
            .await;
        self.tally.matches += found.matches.len();
        let conversation = self.any_conversation();
        let request = SearchRequest {
            target: self.any_target(conversation),
            top_k: self.any([None, Some(1), Some(100)]),
            filter: self.some_filter(),
            method: self.some_method(),
            min_score: self.any([None, Some(0.1), Some(0.5)]),
            freshness: self.some_freshness(),
            all_branches: self.rng.bool(),
            ..request
        };
        self.read("RecallService/Search", request, None).await;
    }

    /// As the tool `recall` searches, for something known and for something said.
    pub(super) async fn recall_by_tool(&mut self) {
        self.settle().await;
        let conversation = self.any_conversation();
        let user = self.conversations[conversation].user;
        let known = self.any_memory(user).map(|memory| memory.text);
        let said = self.query(user);
        for query in known.into_iter().chain([said]) {
            self.recall_query_by_tool(conversation, query).await;
        }
    }

    /// Both searches of the tool `recall`.
    async fn recall_query_by_tool(&mut self, conversation: usize, query: String) {
        let user = self.conversations[conversation].user;
        let top_k = self.any([1, 5, 20]);
        let max_tokens = self.any([200, 20_000]);
        let mut arguments = json!({"query": query, "top_k": top_k, "max_tokens": max_tokens});
        let mut target = target_user(&self.app, USERS[user]);
        let mut scope = RecallScope::Unspecified;
        if self.rng.bool() {
            arguments["session"] = json!(self.conversations[conversation].key);
            target = target_session(self.session(conversation));
            scope = RecallScope::Thread;
        }
        let request = SearchMemoriesRequest {
            target: target_user(&self.app, USERS[user]),
            query: query.clone(),
            top_k: Some(top_k),
            ..Default::default()
        };
        let tool = Tool {
            user,
            name: "recall",
            arguments: arguments.clone(),
            shows: shown::found_memories,
        };
        let found = self
            .read("MemoryService/SearchMemories", request, Some(tool))
            .await;
        self.tally.found_memories += found.memories.len();
        let request = RecallRequest {
            target,
            query,
            policy: Some(MemoryPolicy {
                top_k: Some(top_k),
                recent_window: Some(0),
                scope: scope.into(),
                ..mode(MemoryMode::Hybrid)
            }),
            budget: Some(Budget::MaxTokens(max_tokens)),
            ..Default::default()
        };
        let tool = Tool {
            user,
            name: "recall",
            arguments,
            shows: shown::recalled,
        };
        let found = self.read("RecallService/Recall", request, Some(tool)).await;
        self.tally.recalled += found.messages.len();
    }

    /// Pages of what is known of the user of whom most is known, and one memory.
    pub(super) async fn list_memories(&mut self) {
        let [first, second] = &self.memories;
        let user = usize::from(second.len() > first.len());
        let all = (vec![], false, 20, String::new());
        let topics = self.any([vec![], vec!["pets".to_owned()]]);
        let some = (topics, true, 2, String::new());
        for (topics, all, page_size, page_token) in [all, some] {
            let arguments = json!({
                "topics": topics, "include_replaced": all, "page_size": page_size,
                "page_token": page_token,
            });
            let request = ListMemoriesRequest {
                target: target_user(&self.app, USERS[user]),
                filter: Some(MemoryFilter {
                    topics,
                    include_superseded: all,
                    ..Default::default()
                }),
                page_size,
                page_token,
            };
            let tool = Tool {
                user,
                name: "list_memories",
                arguments,
                shows: shown::memories,
            };
            let page = self
                .read("MemoryService/ListMemories", request, Some(tool))
                .await;
            self.tally.memories += page.memories.len();
        }
        if let Some(memory) = self.any_memory(user) {
            let request = GetMemoryRequest {
                memory_id: memory.memory_id,
            };
            self.read("MemoryService/GetMemory", request, None).await;
        }
    }

    pub(super) async fn working_memory(&mut self) {
        let conversation = self.any_conversation();
        let request = GetWorkingMemoryRequest {
            thread: self.thread(conversation),
            model: self.some_model(),
        };
        self.read("WorkingMemoryService/GetWorkingMemory", request, None)
            .await;
    }

    pub(super) async fn context(&mut self) {
        self.settle().await;
        let conversation = self.any_conversation();
        let user = self.conversations[conversation].user;
        let modes = [
            MemoryMode::Unspecified,
            MemoryMode::None,
            MemoryMode::Window,
            MemoryMode::Hybrid,
            MemoryMode::Working,
            MemoryMode::Observational,
        ];
        let input = match self.rng.bool() {
            true => say(Role::User, &text(&mut self.rng)).parts,
            false => Vec::new(),
        };
        let request = BuildContextRequest {
            thread: self.thread(conversation),
            head_message_id: self.some_head(conversation),
            system_prompt: self.any(["", "Be brief."]).to_owned(),
            input,
            input_name: self.any(["", NAME]).to_owned(),
            query: self.query(user),
            max_tokens: self.any([None, Some(500), Some(100_000)]),
            model: self.some_model(),
            policy: Some(mode(self.any(modes))),
            oversized_turn: self.rng.i32(0..=2),
            filter: self.some_filter(),
            method: self.some_method(),
            freshness: self.some_freshness(),
            all_branches: self.rng.bool(),
            formats: self.some_formats(),
            reserve_tokens: self.any([None, Some(100)]),
            explain: self.rng.bool(),
            ..Default::default()
        };
        // An input that is too large for its budget is refused.
        let answer = self.ask("ContextService/BuildContext", request, None).await;
        if let Ok(context) = answer {
            let messages = context.blocks.iter().map(|block| block.messages.len());
            self.tally.context_messages += messages.sum::<usize>();
        }
    }

    /// As the tool `context` compiles it.
    pub(super) async fn context_by_tool(&mut self) {
        self.settle().await;
        let conversation = self.any_conversation();
        let user = self.conversations[conversation].user;
        let max_tokens = self.any([300, 4_000, 100_000]);
        let query = match self.rng.bool() {
            true => self.query(user),
            false => String::new(),
        };
        let request = BuildContextRequest {
            thread: by_session(self.session(conversation)),
            query: query.clone(),
            max_tokens: Some(max_tokens),
            ..Default::default()
        };
        let arguments = json!({
            "session": self.conversations[conversation].key,
            "query": query,
            "max_tokens": max_tokens,
        });
        let tool = Tool {
            user,
            name: "context",
            arguments,
            shows: shown::context,
        };
        let context = self
            .read("ContextService/BuildContext", request, Some(tool))
            .await;
        let messages = context.blocks.iter().map(|block| block.messages.len());
        self.tally.context_messages += messages.sum::<usize>();
    }

    /// Repeats an append with its request id, which stores nothing.
    pub(super) async fn repeat_append(&mut self) {
        let Some(append) = self.last_append.clone() else {
            return;
        };
        let user = append.user;
        let tool = append.arguments.map(|arguments| Tool {
            user,
            name: "append_messages",
            arguments,
            shows: shown::appended,
        });
        let answer = self
            .read("MessageService/AppendMessages", append.request, tool)
            .await;
        assert!(answer.replayed);
    }

    /// The app, the user of a conversation, or its thread.
    fn any_target(&mut self, conversation: usize) -> Option<Target> {
        let user = USERS[self.conversations[conversation].user];
        match self.rng.u8(0..3) {
            0 => target_app(self.app.clone()),
            1 => target_user(&self.app, user),
            _ => target_session(self.session(conversation)),
        }
    }

    /// Mostly the head of the thread.
    fn some_head(&mut self, conversation: usize) -> String {
        match self.any_message(conversation) {
            Some(message) if self.rng.u8(0..3) == 0 => message.message_id,
            _ => String::new(),
        }
    }

    fn some_model(&mut self) -> String {
        self.any(["", "gpt-4", "claude-sonnet-4-5", "unknown"])
            .to_owned()
    }

    fn some_method(&mut self) -> i32 {
        let methods = [
            SearchMethod::Unspecified,
            SearchMethod::Hybrid,
            SearchMethod::Lexical,
        ];
        self.any(methods).into()
    }

    fn some_formats(&mut self) -> Vec<i32> {
        let rng = &mut self.rng;
        (1..=5).filter(|_| rng.bool()).collect()
    }

    /// Mostly none.
    fn some_filter(&mut self) -> Option<MessageFilter> {
        let filter = MessageFilter::default();
        match self.rng.u8(0..6) {
            0 => Some(MessageFilter {
                roles: vec![Role::User.into(), Role::Tool.into()],
                ..filter
            }),
            1 => Some(MessageFilter {
                names: vec![NAME.to_owned()],
                end_time: Some(Timestamp {
                    seconds: 1_750_000_000,
                    nanos: 1_000,
                }),
                ..filter
            }),
            2 => Some(MessageFilter {
                metadata: r#"{"topic": "bikes"}"#.to_owned(),
                ..filter
            }),
            _ => None,
        }
    }

    fn some_freshness(&mut self) -> Option<Freshness> {
        match self.rng.u8(0..3) {
            0 => eventual(),
            1 => fresh_from(self.revision.clone()),
            _ => None,
        }
    }
}
