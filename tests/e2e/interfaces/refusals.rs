//! Wrong requests are refused by every interface alike.

use recollect_tests::{Dynamic, Failure, Refused as _};
use serde_json::Value;

use super::asking::{check_refusal, comparable, shortened};
use super::run::{Run, USERS};
use crate::http::errors::failure;

/// Wrong requests. `$THREAD` and `$SESSION` are the first conversation, `$USER` is its user,
/// `$UNKNOWN` is the id of nothing, and `$LONG` is longer than any query or memory may be.
const WRONG: &str = r#"
MessageService/GetHistory {}
MessageService/GetHistory {"thread": {"thread_id": "$UNKNOWN"}}
MessageService/GetHistory {"thread": {"thread_id": "7"}}
MessageService/GetHistory {"thread": {"session": {"app_id": "$APP", "user_id": "ada"}}}
MessageService/GetHistory {"thread": {"session": {"app_id": "$APP", "user_id": "ada", "session_key": "user:eve"}}}
MessageService/GetHistory {"thread": $THREAD, "max_tokens": 0, "formats": [0]}
MessageService/GetHistory {"thread": $SESSION, "max_tokens": 10000001, "max_messages": -1}
MessageService/GetHistory {"thread": $THREAD, "head_message_id": "$UNKNOWN"}
MessageService/ListMessages {}
MessageService/ListMessages {"target": {"thread": $THREAD}, "order_by": "size"}
MessageService/ListMessages {"target": {"user": $USER}, "page_size": -1, "page_token": "x"}
MessageService/GetMessage {"thread": $THREAD}
MessageService/GetMessage {"thread": $THREAD, "message_id": "no message"}
MessageService/AppendMessages {"thread": $SESSION, "messages": [{"role": 99, "parts": [{"text": "x"}]}]}
MessageService/AppendMessages {"thread": $SESSION, "messages": [{"role": 1, "parts": [{"tool_result": {"tool_call_id": ""}}], "metadata": "[1]"}, {}]}
MessageService/AppendMessages {"thread": $SESSION, "messages": [{"role": 1, "parts": [{"text": "x"}], "parent_message_id": "$UNKNOWN"}]}
MessageService/AppendMessages {"thread": $SESSION, "messages": [{"role": 1, "parts": [{"text": "x"}]}], "expected_head": "$UNKNOWN"}
MessageService/UpdateMessage {"thread": $THREAD, "message_id": "$UNKNOWN"}
MessageService/UpdateMessage {"thread": $THREAD, "message_id": "$UNKNOWN", "metadata": ""}
ThreadService/CreateThread $SESSION
ThreadService/GetThread {"thread": {"session": {"app_id": "$APP", "user_id": "ada", "session_key": "nothing"}}}
ThreadService/ListThreads {"target": {"thread": $THREAD}}
ThreadService/ListUsers {"app_id": ""}
ThreadService/SetHead {"thread": $THREAD, "head_message_id": "$UNKNOWN"}
ThreadService/UpdateThread {"thread": $THREAD, "update_mask": "noSuchField"}
RecallService/Recall {}
RecallService/Recall {"target": {"thread": $THREAD}, "query": "x", "policy": {"top_k": 101, "min_score": "NaN"}}
RecallService/Recall {"target": {"user": $USER}, "query": "x", "policy": {"scope": 1}, "max_tokens": 0}
RecallService/Search {"target": {"thread": $THREAD}, "query": "x", "min_score": 1.5, "filter": {"metadata": "{"}}
RecallService/Search {"target": {"thread": $THREAD}, "query": "x", "freshness": {"at_least_as_fresh": "x", "max_wait": "31s"}}
ContextService/BuildContext {"max_tokens": 0}
ContextService/BuildContext {"thread": $THREAD, "policy": {"mode": 7}}
MemoryService/AddMemories {"user": $USER, "memories": []}
MemoryService/GetMemory {"memory_id": "7"}
MemoryService/GetMemory {"memory_id": "$UNKNOWN"}
MemoryService/ListMemories {"target": {"thread": $THREAD}}
MemoryService/ListMemories {"target": {"user": $USER}, "filter": {"type": 99}}
MemoryService/SearchMemories {"target": {"user": $USER}, "query": "x", "top_k": 0}
MemoryService/UpdateMemory {"memory": {"memory_id": "$UNKNOWN", "text": ""}, "update_mask": "text"}
MemoryService/SupersedeMemory {"memory_id": "$UNKNOWN", "replacement": {"text": "x"}}
MemoryService/DeleteMemory {}
WorkingMemoryService/GetWorkingMemory {"thread": {"session": {"app_id": "$APP", "user_id": "ada", "session_key": "nothing"}}}
WorkingMemoryService/PutWorkingMemory {"thread": $SESSION, "data": "["}
WorkingMemoryService/UpdateWorkingMemoryData {"thread": $SESSION}
"#;

/// Wrong requests, each with a tool that makes the same one, and its arguments.
const WRONG_BY_TOOL: &str = r#"
MessageService/AppendMessages {"thread": $SESSION, "messages": []} append_messages {"session":"thread:1","messages":[]}
MessageService/AppendMessages {"thread": $SESSION, "messages": [{"role": 1, "parts": [{"text": "\u0000"}]}]} append_messages {"session":"thread:1","messages":[{"role":"user","text":"\u0000"}]}
MessageService/AppendMessages {"thread": $SESSION, "messages": [{"role": 1, "parts": [{"text": "x"}]}], "request_id": "x"} append_messages {"session":"thread:1","messages":[{"role":"user","text":"x"}],"request_id":"x"}
ThreadService/ListThreads {"target": {"user": $USER}, "page_size": 20, "page_token": "x", "order_by": "update_time desc"} list_sessions {"page_token":"x"}
MemoryService/SearchMemories {"target": {"user": $USER}, "query": "$LONG", "top_k": 5} recall {"query":"$LONG"}
MemoryService/ListMemories {"target": {"user": $USER}, "page_size": 20, "page_token": "x"} list_memories {"page_token":"x"}
MemoryService/AddMemories {"user": $USER, "memories": [{"text": ""}]} remember {"text":""}
MemoryService/AddMemories {"user": $USER, "memories": [{"text": "$LONG", "topics": [""]}]} remember {"text":"$LONG","topics":[""]}
MemoryService/GetMemory {"memory_id": "7"} forget_memory {"memory_id":"7"}
ContextService/BuildContext {"thread": $SESSION, "query": "$LONG", "max_tokens": 4000} context {"session":"thread:1","query":"$LONG"}
"#;

/// Characters of `$LONG`.
const LONG: usize = 8_193;

impl Run<'_> {
    /// Sends a few wrong requests, one of them by a tool too.
    pub(super) async fn refusals(&mut self) {
        for table in [WRONG, WRONG, WRONG_BY_TOOL] {
            self.refusal(table).await;
        }
    }

    async fn refusal(&mut self, table: &'static str) {
        let app = self.app.clone();
        let user = format!(r#"{{"app_id": "{app}", "user_id": "{}"}}"#, USERS[0]);
        let session = format!(
            r#"{{"session": {{"app_id": "{app}", "user_id": "{}", "session_key": "{}"}}}}"#,
            USERS[0], self.conversations[0].key
        );
        let thread = format!(r#"{{"thread_id": "{}"}}"#, self.conversations[0].thread_id);
        let long = "x".repeat(LONG);
        let rows = Dynamic::requests(
            table,
            &[
                ("$APP", app.as_str()),
                ("$USER", user.as_str()),
                ("$SESSION", session.as_str()),
                ("$THREAD", thread.as_str()),
                ("$UNKNOWN", "0198c1de-3e07-7a4b-9a56-0d6f3a5b8c11"),
                ("$LONG", long.as_str()),
            ],
        );
        let (method, request, tool) = self.any(rows);
        self.doing = shortened(&format!("{method} {request}"));
        let expected = Dynamic::call(self.client, method, request.clone()).await;
        let expected: Failure = comparable(expected.refused());
        let answer = self.http.call(method, &request).await;
        assert_ne!(answer.status, 200, "gRPC refuses with {expected:?}");
        assert_eq!(comparable(failure(&answer)), expected);
        self.tally.json_refusals += 1;
        if let [name, arguments] = tool.as_slice() {
            let arguments: Value = serde_json::from_str(arguments).unwrap();
            let told = self.mcp[0].call(name, arguments).await;
            check_refusal(&expected, &told);
            self.tally.mcp_refusals += 1;
        }
    }
}
