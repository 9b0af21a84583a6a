//! The users of the two tenants with everything that is stored about them, and the reads.

use fastrand::Rng;
use serde_json::{Value, json};

use recollect_tests::{Client, Dynamic, Key};

/// The same app in both tenants.
const APP: &str = "reads";
const THREADS: usize = 3;
const TURNS: usize = 4;

/// A user of a tenant.
pub(super) struct Person {
    pub(super) tenant: &'static str,
    pub(super) user: &'static str,
    /// A word that all texts of this user have, and no others.
    pub(super) word: String,
    threads: Vec<String>,
    messages: Vec<String>,
    memory: String,
}

impl Person {
    /// Stores threads, messages, memories, node turns, plans, events and files of a user.
    pub(super) async fn make(client: &Client, key: Key, user: &'static str) -> Self {
        let mut person = Self {
            tenant: key.tenant(),
            user,
            word: format!("zq{}{user}", key.tenant()),
            threads: Vec::new(),
            messages: Vec::new(),
            memory: String::new(),
        };
        for thread in 0..THREADS {
            person.make_thread(client, thread).await;
        }
        let word = person.word.clone();
        let owner = json!({"app_id": APP, "user_id": user});
        let memories = json!([{"text": format!("{word} likes harbor tea.")}]);
        let added = call(
            client,
            "MemoryService/AddMemories",
            json!({"user": owner, "memories": memories}),
        )
        .await;
        person.memory = text(&added["memories"][0]["memory"]["memory_id"]);
        let file = json!({"upload_file_id": format!("file-{user}"), "type": 1, "name": word,
            "storage_key": format!("{}/files/{user}", person.tenant)});
        call(client, "FileService/RegisterFile", json!({"file": file})).await;
        let policy =
            json!({"app_id": APP, "policy": {"user_label": format!("zq{}", person.tenant)}});
        call(
            client,
            "PolicyService/UpdateAppPolicy",
            json!({"app_policy": policy, "update_mask": "policy"}),
        )
        .await;
        person
    }

    async fn make_thread(&mut self, client: &Client, number: usize) {
        let word = &self.word;
        // Both tenants use the same keys.
        let session = json!({"app_id": APP, "user_id": self.user,
            "session_key": format!("thread:{}-{number}", self.user)});
        let resolve = json!({"session": session, "title": word});
        let resolved = call(client, "ThreadService/ResolveThread", resolve).await;
        let thread = text(&resolved["thread"]["thread_id"]);
        let named = json!({"thread_id": thread});
        for turn in 0..TURNS {
            let said = |role: u8, what: &str| {
                let said = format!("{word} {what} of the harbor, turn {turn}.");
                json!({"role": role, "parts": [{"text": said}]})
            };
            let messages = json!([said(1, "asks for the code"), said(2, "gets the code")]);
            let append = json!({"thread": named, "messages": messages});
            let stored = call(client, "MessageService/AppendMessages", append).await;
            self.messages
                .push(text(&stored["messages"][0]["message_id"]));
        }
        let node = json!({"thread": named, "node_id": "planner"});
        let turn = json!({"node": node, "user": {"content": word}, "assistant": {"content": "a"}});
        call(client, "NodeMemoryService/AddNodeTurn", turn).await;
        let plan = json!({"thread": named, "plan": {"goal": word}});
        call(client, "PlanService/PutPlan", plan).await;
        let attempt = json!({"thread": named, "attempt": {"action": word}});
        call(client, "PlanService/AppendAttempt", attempt).await;
        let events = json!({"thread": named, "events": [{"type": word}]});
        call(client, "EventService/AppendEvents", events).await;
        let patch = json!({"of": word}).to_string();
        let data = json!({"thread": named, "patch": patch});
        call(client, "WorkingMemoryService/UpdateWorkingMemoryData", data).await;
        self.threads.push(thread);
    }
}

/// # Panics
/// If the call fails.
async fn call(client: &Client, method: &str, request: Value) -> Value {
    let answer = Dynamic::call(client, method, request.clone()).await;
    let answer = answer.unwrap_or_else(|status| panic!("{method} of {request}: {status:?}"));
    answer.into_inner().swap_remove(0)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// A kind of read.
pub(super) struct Reading {
    pub(super) method: &'static str,
    /// Whether it is limited to the user that it names.
    pub(super) of_user: bool,
    request: &'static str,
}

impl Reading {
    /// All kinds.
    pub(super) fn all() -> Vec<Self> {
        let reading = |line: &'static str| {
            let (level, rest) = line.split_once(' ').unwrap();
            let (method, request) = rest.split_once(' ').unwrap();
            Self {
                method,
                of_user: level == "user",
                request,
            }
        };
        READINGS.trim().lines().map(reading).collect()
    }

    /// A request about a person.
    pub(super) fn request(&self, person: &Person, rng: &mut Rng) -> Value {
        let thread = rng.usize(0..person.threads.len());
        let message = thread * TURNS + rng.usize(0..TURNS);
        let request = self
            .request
            .replace("$THREAD", &person.threads[thread])
            .replace("$MESSAGE", &person.messages[message])
            .replace("$MEMORY", &person.memory)
            .replace("$KEY", &format!("thread:{}-{thread}", person.user))
            .replace("$USER", person.user);
        serde_json::from_str(&request).unwrap()
    }
}

/// What may be in the answer (data of one user, or of all users of the tenant), the method
/// and the request.
const READINGS: &str = r#"
user ThreadService/GetThread {"thread": {"thread_id": "$THREAD"}}
user ThreadService/GetThread {"thread": {"session": {"app_id": "reads", "user_id": "$USER", "session_key": "$KEY"}}}
user ThreadService/ListThreads {"target": {"user": {"app_id": "reads", "user_id": "$USER"}}}
tenant ThreadService/ListThreads {"target": {"app": {"app_id": "reads"}}}
user MessageService/GetMessage {"thread": {"thread_id": "$THREAD"}, "message_id": "$MESSAGE"}
user MessageService/ListMessages {"target": {"thread": {"thread_id": "$THREAD"}}}
user MessageService/ListMessages {"target": {"thread": {"session": {"app_id": "reads", "user_id": "$USER", "session_key": "$KEY"}}}}
user MessageService/ListMessages {"target": {"user": {"app_id": "reads", "user_id": "$USER"}}}
tenant MessageService/ListMessages {"target": {"app": {"app_id": "reads"}}, "page_size": 20}
user MessageService/GetHistory {"thread": {"thread_id": "$THREAD"}}
user MessageService/GetHistory {"thread": {"thread_id": "$THREAD"}, "head_message_id": "$MESSAGE", "include_events": true}
user TransferService/ExportRecords {"target": {"thread": {"thread_id": "$THREAD"}}}
user RecallService/Recall {"target": {"thread": {"thread_id": "$THREAD"}}, "query": "What is the code of the harbor?", "freshness": {"eventual": {}}}
user RecallService/Recall {"target": {"user": {"app_id": "reads", "user_id": "$USER"}}, "query": "harbor code"}
user RecallService/Search {"target": {"thread": {"thread_id": "$THREAD"}}, "query": "harbor code", "scope": 1}
user RecallService/Search {"target": {"thread": {"thread_id": "$THREAD"}}, "query": "harbor code", "scope": 2, "method": 2, "freshness": {"eventual": {}}}
user RecallService/Search {"target": {"user": {"app_id": "reads", "user_id": "$USER"}}, "query": "harbor code"}
tenant RecallService/Search {"target": {"thread": {"thread_id": "$THREAD"}}, "query": "harbor code", "scope": 3, "top_k": 50}
tenant RecallService/Search {"target": {"app": {"app_id": "reads"}}, "query": "harbor code", "top_k": 50, "all_branches": true}
user ContextService/BuildContext {"thread": {"thread_id": "$THREAD"}, "input": [{"text": "What is the code of the harbor?"}], "policy": {"user_label": "U"}}
user ContextService/BuildContext {"thread": {"thread_id": "$THREAD"}, "input": [{"text": "harbor"}], "policy": {"mode": 5}}
user MemoryService/GetMemory {"memory_id": "$MEMORY"}
user MemoryService/ListMemories {"target": {"user": {"app_id": "reads", "user_id": "$USER"}}}
tenant MemoryService/ListMemories {"target": {"app": {"app_id": "reads"}}}
user MemoryService/SearchMemories {"target": {"user": {"app_id": "reads", "user_id": "$USER"}}, "query": "harbor tea"}
user MemoryService/GetProfile {"user": {"app_id": "reads", "user_id": "$USER"}}
user NodeMemoryService/GetNodeHistory {"node": {"thread": {"thread_id": "$THREAD"}, "node_id": "planner"}}
user NodeMemoryService/ListNodeMemories {"thread": {"thread_id": "$THREAD"}}
user PlanService/GetPlan {"thread": {"thread_id": "$THREAD"}}
user PlanService/ListAttempts {"thread": {"thread_id": "$THREAD"}}
user EventService/ListEvents {"thread": {"thread_id": "$THREAD"}}
user PlanService/BuildBriefing {"thread": {"thread_id": "$THREAD"}, "task": "Go on."}
user WorkingMemoryService/GetWorkingMemory {"thread": {"thread_id": "$THREAD"}}
user LedgerService/VerifyThread {"thread": {"thread_id": "$THREAD"}}
user ObservationService/GetObservations {"thread": {"thread_id": "$THREAD"}}
user FileService/GetFile {"upload_file_id": "file-$USER"}
tenant FileService/ListFiles {}
tenant AdminService/ListTransactions {"page_size": 20}
tenant PolicyService/ListAppPolicies {}
user PolicyService/GetEffectivePolicy {"target": {"thread": {"thread_id": "$THREAD"}}}
"#;
