//! Valid requests by method.

/// A valid request of each method that asks for something, some of several: its name and
/// JSON. `$THREAD`, `$KEY`, `$MESSAGE`, `$REPLY` and `$MEMORY` stand for what exists, `$UUID`
/// and `$NEW` for new names. The app is `fuzz`, the user `ada`.
pub const VALID_REQUESTS: &str = r#"
ThreadService/CreateThread {"session": {"app_id": "fuzz", "user_id": "ada", "session_key": "$NEW"}, "title": "t", "metadata": "{\"a\": [1, {\"b\": null}]}", "ttl": "3600s", "policy": {"mode": 3, "top_k": 3}}
ThreadService/CreateThread {"session": {"app_id": "fuzz", "user_id": "ada", "session_key": "$NEW"}, "ephemeral": true}
ThreadService/ResolveThread {"session": {"app_id": "fuzz", "user_id": "ada", "session_key": "$KEY"}}
ThreadService/GetThread {"thread": {"thread_id": "$THREAD"}}
ThreadService/ListThreads {"target": {"user": {"app_id": "fuzz", "user_id": "ada"}}, "page_size": 5, "metadata": "{\"a\": 1}"}
ThreadService/ListUsers {"app_id": "fuzz", "page_size": 5}
ThreadService/ListApps {"page_size": 5}
ThreadService/UpdateThread {"thread": {"thread_id": "$THREAD", "title": "x", "metadata": "{\"a\": 2}", "policy": {"mode": 5}}, "update_mask": "title,metadata,policy", "precondition": {"etag": "*"}}
ThreadService/ClearThread {"thread": {"thread_id": "$THREAD"}}
ThreadService/DeleteThread {"thread": {"thread_id": "$THREAD"}}
ThreadService/ListBranches {"thread": {"thread_id": "$THREAD"}, "page_size": 5}
ThreadService/SetHead {"thread": {"thread_id": "$THREAD"}, "head_message_id": "$MESSAGE"}
ThreadService/WatchThread {"thread": {"thread_id": "$THREAD"}, "include_content": true}
PolicyService/UpdateAppPolicy {"app_policy": {"app_id": "$NEW", "policy": {"mode": 3, "top_k": 9, "min_score": 0.5, "user_label": "Q", "extraction": 2, "memory_kinds": [{"name": "order", "description": "An order.", "json_schema": "{\"required\": [\"n\"]}", "examples": [{"said": "Where is it?", "text": "Waits for it.", "attributes": "{\"n\": 1}"}]}], "never_keep": ["salary"]}}, "update_mask": "policy"}
PolicyService/GetAppPolicy {"app_id": "$NEW"}
PolicyService/ListAppPolicies {"page_size": 5}
PolicyService/DeleteAppPolicy {"app_id": "$NEW"}
PolicyService/GetEffectivePolicy {"target": {"thread": {"thread_id": "$THREAD"}}, "policy": {"top_k": 3}}
MessageService/AppendMessages {"thread": {"thread_id": "$THREAD"}, "messages": [{"role": 1, "parts": [{"text": "I like {{ red }} cherries."}], "metadata": "{\"a\": 1}"}, {"role": 2, "parts": [{"tool_call": {"tool_call_id": "c", "name": "n", "arguments": "{\"q\": 1}"}}]}, {"role": 4, "parts": [{"tool_result": {"tool_call_id": "c", "content": [{"text": "r"}]}}]}], "request_id": "$UUID"}
MessageService/AppendMessages {"thread": {"thread_id": "$THREAD"}, "provider_messages": [{"format": 1, "json": "[{\"role\": \"user\", \"content\": [{\"type\": \"text\", \"text\": \"hello\"}]}]"}]}
MessageService/AppendMessages {"thread": {"session": {"app_id": "fuzz", "user_id": "ada", "session_key": "$NEW"}}, "messages": [{"role": 1, "parent_message_id": "$MESSAGE", "parts": [{"text": "x"}, {"file": {"type": 1, "url": "https://example.com/a.png", "caption": "c"}}], "external_id": "$NEW"}], "expected_head": "$REPLY"}
MessageService/GetMessage {"thread": {"thread_id": "$THREAD"}, "message_id": "$MESSAGE"}
MessageService/ListMessages {"target": {"thread": {"thread_id": "$THREAD"}}, "page_size": 5, "filter": {"roles": [1], "metadata": "{\"a\": 1}"}}
MessageService/ListMessages {"target": {"user": {"app_id": "fuzz", "user_id": "ada"}}, "page_size": 5, "order_by": "create_time desc"}
MessageService/GetHistory {"thread": {"thread_id": "$THREAD"}, "max_tokens": 500, "max_messages": 10, "oversized_turn": 1, "model": "gpt-4o", "include_events": true}
MessageService/UpdateMessage {"thread": {"thread_id": "$THREAD"}, "message_id": "$MESSAGE", "metadata": "{\"a\": 1}"}
MessageService/DeleteMessage {"thread": {"thread_id": "$THREAD"}, "message_id": "$REPLY"}
MessageService/ImportMessages {"thread": {"session": {"app_id": "fuzz", "user_id": "ada", "session_key": "$NEW"}}, "messages": [{"role": 1, "parts": [{"text": "imported"}], "external_id": "$NEW"}], "request_id": "$UUID"}
TransferService/ExportRecords {"target": {"thread": {"thread_id": "$THREAD"}}}
TransferService/ImportRecords {"options": {"replace": true}, "record": {"document": {"app_id": "fuzz", "user_id": "ada", "namespace": ["n"], "key": "$NEW", "json": "{\"a\": 1}", "indexed_text": "imported"}}}
RecallService/Recall {"target": {"thread": {"thread_id": "$THREAD"}}, "query": "What is red?", "policy": {"top_k": 3, "neighbors_before": 1}, "max_tokens": 300, "method": 2, "freshness": {"eventual": {}}, "explain": true}
RecallService/Search {"target": {"thread": {"thread_id": "$THREAD"}}, "query": "red cherries", "scope": 2, "top_k": 5, "method": 2, "filter": {"names": ["a"], "start_time": "2026-01-01T00:00:00Z"}, "freshness": {"eventual": {}}}
FileService/RegisterFile {"file": {"upload_file_id": "$NEW", "type": 1, "storage_key": "default/files/a", "name": "a.png", "mime_type": "image/png"}}
FileService/GetFile {"upload_file_id": "$NEW"}
FileService/GetFileContent {"url": "https://example.com/a.png"}
FileService/ListFiles {"page_size": 5}
FileService/DeleteFile {"upload_file_id": "$NEW"}
ContextService/BuildContext {"thread": {"thread_id": "$THREAD"}, "system_prompt": "Be brief.", "input": [{"text": "What is red?"}], "max_tokens": 800, "model": "gpt-4o", "reserve_tokens": 100, "explain": true, "policy": {"mode": 3, "query_prompt_template": "{{ query }}!"}, "freshness": {"eventual": {}}}
ContextService/BuildContext {"thread": {"thread_id": "$THREAD"}, "input": [{"text": "x"}], "policy": {"mode": 5, "profile_tokens": 200}}
ContextService/BuildContext {"thread": {"thread_id": "$THREAD"}, "node_id": "planner", "current_message_id": "$MESSAGE", "policy": {"mode": 4}}
MemoryService/AddMemories {"user": {"app_id": "fuzz", "user_id": "ada"}, "memories": [{"text": "Likes red.", "type": 1, "topics": ["color"], "entities": ["Ada"], "metadata": "{\"a\": 1}"}]}
MemoryService/ImportMemories {"user": {"app_id": "fuzz", "user_id": "ada"}, "memories": [{"memory_id": "$UUID", "text": "Likes blue.", "type": 1, "origin": 1}]}
MemoryService/GetMemory {"memory_id": "$MEMORY"}
MemoryService/ListMemories {"target": {"user": {"app_id": "fuzz", "user_id": "ada"}}, "filter": {"kinds": ["order"]}, "page_size": 5}
MemoryService/SearchMemories {"target": {"user": {"app_id": "fuzz", "user_id": "ada"}}, "query": "red", "top_k": 3, "method": 2, "freshness": {"eventual": {}}}
MemoryService/GetProfile {"user": {"app_id": "fuzz", "user_id": "ada"}, "max_tokens": 300, "model": "gpt-4o"}
MemoryService/UpdateMemory {"memory": {"memory_id": "$MEMORY", "text": "Likes green.", "topics": ["color"]}, "update_mask": "text,topics"}
MemoryService/SupersedeMemory {"memory_id": "$MEMORY", "replacement": {"text": "Likes black."}}
MemoryService/ExtractMemories {"thread": {"thread_id": "$THREAD"}, "max_wait": "0.1s"}
MemoryService/DeleteMemory {"memory_id": "$MEMORY"}
MemoryService/DeleteMemories {"target": {"user": {"app_id": "fuzz", "user_id": "ada"}}, "max_count": 100, "dry_run": true}
NodeMemoryService/AddNodeTurn {"node": {"thread": {"thread_id": "$THREAD"}, "node_id": "planner"}, "user": {"content": "q"}, "assistant": {"content": "a"}, "request_id": "$UUID"}
NodeMemoryService/FlushNodeMemory {"node": {"thread": {"thread_id": "$THREAD"}, "node_id": "planner"}}
NodeMemoryService/GetNodeHistory {"node": {"thread": {"thread_id": "$THREAD"}, "node_id": "planner"}, "max_tokens": 500, "max_messages": 5}
NodeMemoryService/DeleteNodeMemory {"node": {"thread": {"thread_id": "$THREAD"}, "node_id": "planner"}}
NodeMemoryService/ListNodeMemories {"thread": {"thread_id": "$THREAD"}, "page_size": 5}
PlanService/PutPlan {"thread": {"thread_id": "$THREAD"}, "plan": {"goal": "g", "steps": [{"step_id": "s", "title": "t", "status": 1}], "data": "{\"a\": 1}"}}
PlanService/GetPlan {"thread": {"thread_id": "$THREAD"}}
PlanService/UpdatePlanStep {"thread": {"thread_id": "$THREAD"}, "step": {"step_id": "s", "status": 3, "result": "r"}}
PlanService/DeletePlan {"thread": {"thread_id": "$THREAD"}}
PlanService/AppendAttempt {"thread": {"thread_id": "$THREAD"}, "attempt": {"task": "t", "action": "a", "error": "e"}, "request_id": "$UUID"}
PlanService/ListAttempts {"thread": {"thread_id": "$THREAD"}, "failed": true, "page_size": 5}
EventService/AppendEvents {"thread": {"thread_id": "$THREAD"}, "events": [{"type": "t", "json": "{\"a\": 1}", "message_id": "$MESSAGE"}], "request_id": "$UUID"}
EventService/ListEvents {"thread": {"thread_id": "$THREAD"}, "types": ["t"], "order_by": "number desc", "page_size": 5}
PlanService/BuildBriefing {"thread": {"thread_id": "$THREAD"}, "task": "Go on.", "max_tokens": 500}
DocumentService/PutDocuments {"user": {"app_id": "fuzz", "user_id": "ada"}, "documents": [{"namespace": ["a", "b"], "key": "$NEW", "json": "{\"n\": 1, \"t\": \"red cherries\"}", "ttl": "3600s", "index_fields": ["t", "$"]}]}
DocumentService/GetDocuments {"user": {"app_id": "fuzz", "user_id": "ada"}, "documents": [{"namespace": ["a", "b"], "key": "$NEW"}], "refresh_ttl": true}
DocumentService/SearchDocuments {"user": {"app_id": "fuzz", "user_id": "ada"}, "namespace_prefix": ["a"], "conditions": [{"field": ["n"], "operator": 3, "json": "0"}], "query": "red", "page_size": 5, "skip": 0}
DocumentService/ListNamespaces {"user": {"app_id": "fuzz", "user_id": "ada"}, "prefix": ["*"], "suffix": ["b"], "max_depth": 1, "page_size": 5}
DocumentService/DeleteDocuments {"user": {"app_id": "fuzz", "user_id": "ada"}, "documents": [{"namespace": ["a", "b"], "key": "$NEW"}]}
MemoryFileService/PutMemoryFile {"user": {"app_id": "fuzz", "user_id": "ada"}, "path": "/notes/$NEW.md", "text": "Garden\n\n- Plant tulips.\n"}
MemoryFileService/GetMemoryFile {"user": {"app_id": "fuzz", "user_id": "ada"}, "path": "/", "depth": 3}
MemoryFileService/ReplaceInMemoryFile {"user": {"app_id": "fuzz", "user_id": "ada"}, "path": "/notes/$NEW.md", "old_text": "tulips", "new_text": "roses"}
MemoryFileService/InsertIntoMemoryFile {"user": {"app_id": "fuzz", "user_id": "ada"}, "path": "/notes/$NEW.md", "line": 0, "text": "x", "precondition": {"etag": "*"}}
MemoryFileService/RenameMemoryFile {"user": {"app_id": "fuzz", "user_id": "ada"}, "path": "/notes/$NEW.md", "new_path": "/archive/$NEW.md"}
MemoryFileService/SearchMemoryFiles {"user": {"app_id": "fuzz", "user_id": "ada"}, "query": "tulips", "path": "/notes", "top_k": 3}
MemoryFileService/ListMemoryFileVersions {"user": {"app_id": "fuzz", "user_id": "ada"}, "path": "/notes/$NEW.md"}
MemoryFileService/CompareMemoryFileVersions {"user": {"app_id": "fuzz", "user_id": "ada"}, "path": "/notes/$NEW.md", "from_version": "1", "to_version": "2"}
MemoryFileService/RestoreMemoryFile {"user": {"app_id": "fuzz", "user_id": "ada"}, "path": "/notes/$NEW.md", "version": "1"}
MemoryFileService/DeleteMemoryFile {"user": {"app_id": "fuzz", "user_id": "ada"}, "path": "/notes/$NEW.md", "erase_versions": true}
CheckpointService/PutCheckpoint {"thread": {"thread_id": "$THREAD"}, "namespace": "n", "checkpoint_id": "$NEW", "type": "m", "data": "AAE=", "metadata": "{\"step\": 1}", "values": [{"channel": "c", "version": "1", "type": "m", "data": "AAE="}, {"channel": "d", "version": "1"}]}
CheckpointService/PutCheckpointWrites {"thread": {"thread_id": "$THREAD"}, "checkpoint_id": "$NEW", "writes": [{"task_id": "t", "task_path": "~", "index": -1, "channel": "c", "type": "m", "data": "AAE="}], "replace": true}
CheckpointService/GetCheckpoint {"thread": {"thread_id": "$THREAD"}, "namespace": "n"}
CheckpointService/ListCheckpoints {"target": {"user": {"app_id": "fuzz", "user_id": "ada"}}, "before": "z", "metadata": "{\"step\": 1}", "page_size": 5}
CheckpointService/CopyCheckpoints {"source": {"session": {"app_id": "fuzz", "user_id": "ada", "session_key": "$KEY"}}, "target": {"session": {"app_id": "fuzz", "user_id": "ada", "session_key": "$NEW"}}}
CheckpointService/DeleteCheckpoints {"threads": [{"session": {"app_id": "fuzz", "user_id": "ada", "session_key": "$KEY"}}], "keep_latest": true}
ObservationService/GetObservations {"thread": {"thread_id": "$THREAD"}, "include_replaced": true}
LedgerService/VerifyThread {"thread": {"thread_id": "$THREAD"}}
LedgerService/ListLedger {"thread": {"thread_id": "$THREAD"}, "kind": 1, "include_texts": true, "page_size": 5}
WorkingMemoryService/GetWorkingMemory {"thread": {"thread_id": "$THREAD"}, "model": "gpt-4o"}
WorkingMemoryService/PutWorkingMemory {"thread": {"thread_id": "$THREAD"}, "messages": [{"role": 1, "parts": [{"text": "x"}]}], "summary": "c", "data": "{\"a\": 1}", "memories": [{"text": "Likes tea."}]}
WorkingMemoryService/PutWorkingMemory {"thread": {"thread_id": "$THREAD"}, "data": "{\"a\": 2}", "update_mask": "data,ttl"}
WorkingMemoryService/UpdateWorkingMemoryData {"thread": {"thread_id": "$THREAD"}, "patch": "{\"a\": null, \"b\": {\"c\": 2}}"}
WorkingMemoryService/DeleteWorkingMemory {"thread": {"thread_id": "$THREAD"}}
AdminService/ListDeadLetters {"page_size": 5}
AdminService/GetModelUsage {"days": 3}
AdminService/Reindex {"thread": {"thread_id": "$THREAD"}}
AdminService/CompareIndexes {"app_id": "fuzz", "user_id": "ada", "queries": ["red cherries"], "top_k": 5}
AdminService/ListTransactions {"thread": {"thread_id": "$THREAD"}, "page_size": 5}
KeyService/CreateApiKey {"name": "$NEW", "scopes": [1, 2]}
KeyService/ListApiKeys {"page_size": 5}
KeyService/RevokeApiKey {"name": "$NEW"}
SecretService/SetSecret {"name": "$NEW", "value": "v"}
SecretService/GetSecret {"name": "$NEW"}
SecretService/ListSecrets {"page_size": 5}
SecretService/DeleteSecret {"name": "$NEW"}
SubscriptionService/CreateSubscription {"name": "$NEW", "app_id": "fuzz", "user_id": "ada", "actions": [7, 9], "url": "https://example.com/hooks"}
SubscriptionService/GetSubscription {"name": "$NEW"}
SubscriptionService/ListSubscriptions {}
SubscriptionService/UpdateSubscription {"subscription": {"name": "$NEW", "enabled": true}, "update_mask": "enabled"}
SubscriptionService/RotateSubscriptionSecret {"name": "$NEW"}
SubscriptionService/DeleteSubscription {"name": "$NEW"}
SubscriptionService/StreamEvents {"name": "$NEW"}
SubscriptionService/AcknowledgeEvents {"name": "$NEW", "batch_id": "$UUID"}
"#;
