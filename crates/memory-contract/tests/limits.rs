//! The comment of each field states the limits and the defaults of the field.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;
use std::time::Duration;

use common::{fields, name};
use memory_contract::limits;

/// A constant of `limits`, the texts that a comment may state it with, and the fields.
type Row = (&'static str, Vec<String>, &'static [&'static str]);

/// The rows of constants of one kind. The function makes the texts of a constant.
macro_rules! rows {
    ($texts:ident { $($constant:ident: $($field:literal)+;)+ }) => {
        vec![$((stringify!($constant), $texts(limits::$constant), &[$($field),+] as &[_]),)+]
    };
}

/// Such as `8,192`.
fn count(number: impl Display) -> Vec<String> {
    let digits = number.to_string();
    let mut grouped = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    vec![grouped]
}

/// Such as `128 characters`.
fn chars(number: usize) -> Vec<String> {
    let number = &count(number)[0];
    vec![format!("{number} characters")]
}

/// Such as `3.5 MiB`, `16 KiB` and `1,024 bytes`.
fn bytes(number: impl TryInto<u32>) -> Vec<String> {
    let number = number.try_into().ok().expect("it has at most 32 bits");
    let mut texts = vec![format!("{} bytes", count(number)[0])];
    for (unit, size) in [("KiB", 1024), ("MiB", 1024 * 1024)] {
        if number >= size {
            texts.push(format!("{} {unit}", f64::from(number) / f64::from(size)));
        }
    }
    texts
}

/// Such as `24 hours` and `1 day`.
fn time(duration: Duration) -> Vec<String> {
    const HOUR: u64 = 3_600;
    const DAY: u64 = 24 * HOUR;
    let seconds = duration.as_secs();
    let text = |(one, number): (&str, u64)| match number {
        1 => format!("1 {one}"),
        _ => format!("{number} {one}s"),
    };
    // A year has 365.25 days.
    let years = seconds / DAY * 4 / 1_461;
    [("second", 1), ("hour", HOUR), ("day", DAY)]
        .into_iter()
        .filter(|(_, size)| seconds.is_multiple_of(*size))
        .map(|(one, size)| (one, seconds / size))
        .chain((years > 0).then_some(("year", years)))
        .map(text)
        .collect()
}

/// Such as `0.7`.
fn share(number: f32) -> Vec<String> {
    vec![number.to_string()]
}

/// Such as `` `worker` ``.
fn words(words: [&str; 3]) -> Vec<String> {
    vec![words.map(|word| format!("`{word}`")).join(", ")]
}

fn table() -> Vec<Row> {
    let mut table = rows!(chars {
        APP_ID_CHARS: "UserRef.app_id" "AppRef.app_id" "SessionRef.app_id" "AppPolicy.app_id"
            "CompareIndexesRequest.app_id" "GetAppPolicyRequest.app_id"
            "DeleteAppPolicyRequest.app_id" "ListUsersRequest.app_id" "KeyBounds.app_ids"
            "CreateSubscriptionRequest.app_id"
            "KeyBounds.app_id_prefixes";
        MEMORY_SPACE_CHARS: "MemoryPolicy.memory_space";
        USER_ID_CHARS: "UserRef.user_id" "SessionRef.user_id" "CompareIndexesRequest.user_id"
            "DeleteUserRequest.user_of_all_apps" "KeyBounds.user_ids"
            "MessageInput.user_id" "MessageFilter.user_ids"
            "CreateSubscriptionRequest.user_id"
            "KeyBounds.user_id_prefixes";
        SESSION_KEY_CHARS: "SessionRef.session_key" "SessionRef.agent_session_key";
        TITLE_CHARS: "Thread.title" "CreateThreadRequest.title" "ResolveThreadRequest.title"
            "PlanStep.title";
        NAME_CHARS: "MessageInput.name" "BuildContextRequest.input_name"
            "MessageFilter.names";
        TOOL_CHARS: "ToolCall.tool_call_id" "ToolCall.name" "ToolResult.tool_call_id"
            "ToolResult.name";
        REASONING_ID_CHARS: "Reasoning.id";
        OPAQUE_TYPE_CHARS: "OpaquePart.type";
        FILE_ID_CHARS: "FileRef.upload_file_id" "FileRef.tool_file_id" "File.upload_file_id"
            "File.tool_file_id" "GetFileRequest.upload_file_id" "GetFileRequest.tool_file_id"
            "DeleteFileRequest.upload_file_id" "DeleteFileRequest.tool_file_id";
        URL_CHARS: "File.url" "GetFileRequest.url" "DeleteFileRequest.url";
        FILE_NAME_CHARS: "FileRef.name" "File.name";
        MIME_TYPE_CHARS: "FileRef.mime_type" "File.mime_type";
        STORAGE_KEY_CHARS: "File.storage_key";
        CAPTION_CHARS: "FileRef.caption";
        QUERY_CHARS: "SearchRequest.query" "RecallRequest.query" "SearchMemoriesRequest.query"
            "BuildContextRequest.query" "CompareIndexesRequest.queries";
        TIME_ZONE_CHARS: "QueryTime.time_zone";
        MODEL_CHARS: "GetHistoryRequest.model" "GetWorkingMemoryRequest.model"
            "PutWorkingMemoryRequest.model" "Memory.made_by";
        API_KEY_NAME_CHARS: "CreateApiKeyRequest.name" "RevokeApiKeyRequest.name"
            "ListTransactionsRequest.actor";
        SECRET_NAME_CHARS: "SetSecretRequest.name" "GetSecretRequest.name"
            "DeleteSecretRequest.name";
        LABEL_CHARS: "MemoryPolicy.user_label" "MemoryPolicy.assistant_label";
        NODE_ID_CHARS: "NodeRef.node_id" "BuildContextRequest.node_id";
        EXTERNAL_ID_CHARS: "MessageInput.external_id" "MemoryInput.external_id"
            "AgentEvent.message_id";
        NODE_MESSAGE_ID_CHARS: "NodeMessageInput.message_id"
            "AddNodeTurnRequest.parent_message_id" "AddNodeTurnRequest.message_id"
            "GetNodeHistoryRequest.current_message_id";
        ETAG_CHARS: "Precondition.etag";
        PLAN_TEXT_CHARS: "Plan.goal" "PlanStep.result" "Attempt.action" "Attempt.result"
            "Attempt.error" "Attempt.diagnosis" "Attempt.fix";
        PHASE_CHARS: "Plan.current_phase" "UpdatePlanStepRequest.current_phase";
        STEP_ID_CHARS: "PlanStep.step_id";
        TASK_NAME_CHARS: "Attempt.task" "ListAttemptsRequest.task"
            "BuildBriefingRequest.task_name";
        EVENT_TYPE_CHARS: "AgentEvent.type" "ListEventsRequest.types";
        BRIEFING_TASK_CHARS: "BuildBriefingRequest.task";
        MEMORY_CHARS: "MemoryInput.text";
        TOPIC_CHARS: "MemoryInput.topics" "MemoryFilter.topics";
        ENTITY_CHARS: "MemoryInput.entities" "MemoryFilter.entities";
        KIND_NAME_CHARS: "MemoryInput.kind" "MemoryFilter.kinds";
        KIND_TEXT_CHARS: "MemoryKind.description" "MemoryKindExample.said"
            "MemoryKindExample.text";
        NEVER_KEEP_CHARS: "MemoryPolicy.never_keep";
        DOCUMENT_QUERY_CHARS: "SearchDocumentsRequest.query" "SearchMemoryFilesRequest.query";
        SUBSCRIPTION_NAME_CHARS: "Subscription.name" "CreateSubscriptionRequest.name"
            "GetSubscriptionRequest.name" "RotateSubscriptionSecretRequest.name"
            "DeleteSubscriptionRequest.name" "StreamEventsRequest.name"
            "AcknowledgeEventsRequest.name";
        SUBSCRIPTION_URL_CHARS: "Subscription.url" "CreateSubscriptionRequest.url";
    });
    table.extend(rows!(bytes {
        METADATA_BYTES: "MessageInput.metadata" "CreateThreadRequest.metadata"
            "ResolveThreadRequest.metadata" "Thread.metadata" "MemoryInput.metadata" "Plan.data"
            "MessageFilter.metadata" "MemoryFilter.metadata" "ListThreadsRequest.metadata";
        TEXT_BYTES: "Part.text" "Part.json" "Part.signature" "ToolCall.arguments"
            "ToolResultPart.text" "ToolResultPart.json" "Reasoning.text" "Reasoning.summaries"
            "Reasoning.signature" "Reasoning.encrypted_content" "OpaquePart.json"
            "AgentEvent.json" "NodeMessageInput.content" "BuildContextRequest.system_prompt";
        MESSAGE_BYTES: "MessageInput.parts" "BuildContextRequest.input" "FileRef.url"
            "GetFileContentResponse.content";
        BATCH_BYTES: "AppendMessagesRequest.messages" "AppendMessagesRequest.provider_messages"
            "ImportMessagesRequest.messages";
        TEMPLATE_BYTES: "MemoryPolicy.query_prompt_template"
            "MemoryPolicy.extraction_instructions";
        MEMORY_KINDS_BYTES: "MemoryPolicy.memory_kinds";
        KIND_SCHEMA_BYTES: "MemoryKind.json_schema";
        KIND_PATTERN_BYTES: "MemoryKind.json_schema";
        ATTRIBUTES_BYTES: "MemoryInput.attributes" "MemoryKindExample.attributes";
        SECRET_BYTES: "SetSecretRequest.value";
        ANSWER_BYTES: "GetHistoryResponse.messages" "GetHistoryResponse.events"
            "GetHistoryResponse.rendered" "BuildContextResponse.blocks" "RecallResponse.messages"
            "SearchResponse.matches" "GetNodeHistoryResponse.messages"
            "GetObservationsResponse.observations" "MessagesAppended.content_omitted"
            "EventsAppended.events" "WorkingMemory.messages" "WorkingMemory.memories"
            "AddMemoriesResponse.memories" "ImportMemoriesResponse.memories"
            "SearchMemoriesResponse.memories" "DeleteMemoriesResponse.memories"
            "GetDocumentsResponse.documents";
        PAGE_BYTES: "ListCheckpointsRequest.page_size";
        EVENTS_BYTES: "AppendEventsRequest.events";
        LEDGER_TEXT_BYTES: "ListLedgerResponse.texts";
        WORKING_RECORDS_BYTES: "PutWorkingMemoryRequest.memories";
        WORKING_DATA_BYTES: "PutWorkingMemoryRequest.data" "UpdateWorkingMemoryDataRequest.patch";
        WORKING_SUMMARY_BYTES: "PutWorkingMemoryRequest.summary";
        LABEL_BYTES: "DocumentInput.namespace" "DocumentCondition.field";
        NAMESPACE_BYTES: "DocumentInput.namespace";
        DOCUMENT_KEY_BYTES: "DocumentInput.key" "DocumentRef.key";
        DOCUMENT_BYTES: "DocumentInput.json";
        MEMORY_FILE_BYTES: "PutMemoryFileRequest.text" "ReplaceInMemoryFileRequest.old_text"
            "ReplaceInMemoryFileRequest.new_text" "InsertIntoMemoryFileRequest.text";
        MEMORY_FILE_NAME_BYTES: "GetMemoryFileRequest.path" "PutMemoryFileRequest.path";
        MEMORY_FILE_PATH_BYTES: "GetMemoryFileRequest.path" "PutMemoryFileRequest.path";
        MEMORY_FILES_BYTES: "PutMemoryFileRequest.text";
        INDEX_FIELD_BYTES: "DocumentInput.index_fields";
        CONDITION_BYTES: "DocumentCondition.json" "ListCheckpointsRequest.metadata";
        CHECKPOINT_PATH_BYTES: "PutCheckpointRequest.namespace"
            "PutCheckpointWritesRequest.namespace" "GetCheckpointRequest.namespace"
            "ListCheckpointsRequest.namespace" "CheckpointWrite.task_path";
        CHECKPOINT_ID_BYTES: "PutCheckpointRequest.checkpoint_id"
            "PutCheckpointRequest.parent_checkpoint_id" "PutCheckpointWritesRequest.checkpoint_id"
            "GetCheckpointRequest.checkpoint_id" "ListCheckpointsRequest.checkpoint_id"
            "ListCheckpointsRequest.before" "CheckpointValue.version";
        CHANNEL_BYTES: "CheckpointValue.channel" "CheckpointWrite.channel";
        TASK_ID_BYTES: "CheckpointWrite.task_id";
        ENCODING_BYTES: "PutCheckpointRequest.type" "CheckpointValue.type" "CheckpointWrite.type";
        CHECKPOINT_METADATA_BYTES: "PutCheckpointRequest.metadata";
        CHECKPOINT_STATE_BYTES: "PutCheckpointRequest.values" "PutCheckpointWritesRequest.writes";
    }));
    table.extend(rows!(count {
        INSTRUCTIONS: "GetHistoryResponse.messages";
        KEY_BOUNDS: "KeyBounds.app_ids" "KeyBounds.app_id_prefixes" "KeyBounds.user_ids"
            "KeyBounds.user_id_prefixes";
        MEMORY_SPACE_APPS: "MemoryPolicy.memory_space";
        METADATA_DEPTH: "MessageInput.metadata" "CreateThreadRequest.metadata"
            "ResolveThreadRequest.metadata" "Thread.metadata" "MemoryInput.metadata" "Plan.data";
        JSON_DEPTH: "Part.json" "ToolResultPart.json" "AgentEvent.json"
            "PutWorkingMemoryRequest.data" "UpdateWorkingMemoryDataRequest.patch";
        PARTS: "MessageInput.parts" "BuildContextRequest.input";
        BATCH_MESSAGES: "AppendMessagesRequest.messages"
            "AppendMessagesRequest.provider_messages" "ImportMessagesRequest.messages";
        TOOL_OUTPUTS: "ToolResult.content";
        REASONING_SUMMARIES: "Reasoning.summaries";
        IMAGE_PIXELS: "FileRef.width" "FileRef.height";
        DOCUMENT_PAGES: "FileRef.page_count";
        NODE_FILES: "NodeMessageInput.files";
        FILTER_NAMES: "MessageFilter.names" "MessageFilter.user_ids";
        FILTER_ACTIONS: "ListTransactionsRequest.actions" "Subscription.actions"
            "CreateSubscriptionRequest.actions";
        FILTER_KEYS: "MessageFilter.metadata" "MemoryFilter.metadata"
            "ListThreadsRequest.metadata";
        BUDGET_TOKENS: "GetHistoryRequest.max_tokens" "GetNodeHistoryRequest.max_tokens"
            "BuildContextRequest.max_tokens" "BuildContextRequest.reserve_tokens"
            "RecallRequest.max_tokens" "MemoryPolicy.context_tokens";
        HISTORY_TOKENS: "GetHistoryRequest.max_tokens" "GetNodeHistoryRequest.max_tokens";
        HISTORY_MESSAGES: "GetHistoryRequest.max_messages" "GetNodeHistoryRequest.max_messages";
        HISTORY_MESSAGES_MAX: "GetHistoryRequest.max_messages"
            "GetNodeHistoryRequest.max_messages" "MemoryPolicy.window_enabled";
        RECENT_WINDOW: "MemoryPolicy.recent_window";
        WINDOW_SIZE: "MemoryPolicy.window_size";
        WINDOW_MAX: "MemoryPolicy.recent_window" "MemoryPolicy.window_size";
        TOP_K: "MemoryPolicy.top_k";
        TOP_K_MAX: "MemoryPolicy.top_k" "SearchRequest.top_k" "SearchMemoriesRequest.top_k"
            "SearchMemoryFilesRequest.top_k"
            "CompareIndexesRequest.top_k";
        SEARCH_TOP_K: "SearchRequest.top_k" "SearchMemoriesRequest.top_k"
            "SearchMemoryFilesRequest.top_k"
            "CompareIndexesRequest.top_k";
        COMPARED_QUERIES: "CompareIndexesRequest.queries";
        COMPARED_SAMPLE: "CompareIndexesRequest.sample_size";
        COMPARED_SAMPLE_MAX: "CompareIndexesRequest.sample_size";
        NEIGHBORS_BEFORE: "MemoryPolicy.neighbors_before";
        NEIGHBORS_AFTER: "MemoryPolicy.neighbors_after";
        NEIGHBORS_MAX: "MemoryPolicy.neighbors_before" "MemoryPolicy.neighbors_after";
        NAMED_TIMES: "RecallResponse.named_times";
        OMITTED: "RecallResponse.omitted" "BuildContextResponse.omitted";
        CONTEXT_OMITTED_MATCHES: "BuildContextResponse.omitted";
        CONTEXT_WINDOW: "MemoryPolicy.context_window";
        CONTEXT_WINDOW_MIN: "MemoryPolicy.context_window";
        CONTEXT_WINDOW_MAX: "MemoryPolicy.context_window";
        OBSERVER_TOKENS: "MemoryPolicy.observer_tokens";
        REFLECTOR_TOKENS: "MemoryPolicy.reflector_tokens";
        OBSERVATION_TOKENS_MIN: "MemoryPolicy.observer_tokens" "MemoryPolicy.reflector_tokens";
        OBSERVATION_TOKENS_MAX: "MemoryPolicy.observer_tokens" "MemoryPolicy.reflector_tokens";
        MEMORIES_TOP_K: "MemoryPolicy.memories_top_k";
        MEMORIES_TOP_K_MAX: "MemoryPolicy.memories_top_k";
        PROFILE_TOKENS: "GetProfileRequest.max_tokens";
        PROFILE_TOKENS_MAX: "GetProfileRequest.max_tokens" "MemoryPolicy.profile_tokens";
        PROFILE_MEMORIES: "GetProfileResponse.omitted_count";
        MEMORY_KINDS: "MemoryPolicy.memory_kinds";
        KIND_EXAMPLES: "MemoryKind.examples";
        KIND_SCHEMA_DEPTH: "MemoryKind.json_schema";
        KIND_PATTERNS: "MemoryKind.json_schema";
        KIND_SUBSCHEMAS: "MemoryKind.json_schema";
        ATTRIBUTES_DEPTH: "MemoryInput.attributes";
        FILTER_KINDS: "MemoryFilter.kinds";
        NEVER_KEEP: "MemoryPolicy.never_keep";
        MEMORY_COUNT: "MemoryPolicy.memory_max_count";
        MEMORY_COUNT_MAX: "MemoryPolicy.memory_max_count" "DeleteMemoriesRequest.max_count";
        MASK_PATHS: "UpdateThreadRequest.update_mask" "UpdateAppPolicyRequest.update_mask";
        PLAN_STEPS: "Plan.steps";
        EVENTS_PER_APPEND: "AppendEventsRequest.events";
        HISTORY_EVENTS: "GetHistoryResponse.events";
        FILTER_EVENT_TYPES: "ListEventsRequest.types";
        BRIEFING_TOKENS: "BuildBriefingRequest.max_tokens";
        BRIEFING_TOKENS_MIN: "BuildBriefingRequest.max_tokens";
        BRIEFING_TOKENS_MAX: "BuildBriefingRequest.max_tokens";
        LEDGER_BRANCHES: "VerifyThreadResponse.counts";
        LEDGER_FAULTS: "VerifyThreadResponse.faults";
        TOPICS: "MemoryInput.topics" "MemoryFilter.topics";
        ENTITIES: "MemoryInput.entities" "MemoryFilter.entities";
        ORIGINS: "MemoryFilter.origins";
        MEMORY_SOURCES: "MemoryInput.source_message_ids" "Memory.source_message_ids";
        MEMORY_ANCESTORS: "Memory.built_on_memory_ids";
        MEMORIES: "AddMemoriesRequest.memories" "ImportMemoriesRequest.memories";
        SUPERSEDED: "GetMemoryResponse.superseded";
        FORGOTTEN: "DeleteMemoriesResponse.deleted_count";
        FORGOTTEN_TOLD: "DeleteMemoriesResponse.memories";
        WORKING_RECORDS: "PutWorkingMemoryRequest.memories";
        WORKING_MESSAGES: "WorkingMemory.messages" "PutWorkingMemoryRequest.messages";
        WARNINGS: "PutWorkingMemoryResponse.warnings";
        USAGE_DAYS: "GetModelUsageRequest.days";
        USAGE_DAYS_DEFAULT: "GetModelUsageRequest.days";
        NAMESPACE_LABELS: "DocumentInput.namespace" "SearchDocumentsRequest.namespace_prefix"
            "ListNamespacesRequest.prefix" "ListNamespacesRequest.suffix"
            "ListNamespacesRequest.max_depth";
        DOCUMENT_DEPTH: "DocumentInput.json";
        DOCUMENTS: "PutDocumentsRequest.documents" "GetDocumentsRequest.documents"
            "DeleteDocumentsRequest.documents";
        INDEX_FIELDS: "DocumentInput.index_fields";
        DOCUMENT_CONDITIONS: "SearchDocumentsRequest.conditions";
        MEMORY_FILE_NAMES: "GetMemoryFileRequest.path" "GetMemoryFileRequest.depth"
            "PutMemoryFileRequest.path";
        MEMORY_FILE_DEPTH: "GetMemoryFileRequest.depth";
        MEMORY_FILES: "PutMemoryFileRequest.text";
        MEMORY_FILES_LISTED: "MemoryDirectory.truncated";
        MEMORY_FILE_VERSIONS: "MemoryFileVersion.expire_time"
            "ListMemoryFileVersionsResponse.versions";
        CONDITION_FIELD_NAMES: "DocumentCondition.field";
        FOUND_OFFSET_MAX: "SearchDocumentsRequest.skip" "ListNamespacesRequest.skip";
        MATCHED_OFFSET_MAX: "SearchDocumentsRequest.skip";
        CHECKPOINT_CHANNELS: "PutCheckpointRequest.values" "PutCheckpointWritesRequest.writes";
        CHECKPOINT_SELECTIONS: "DeleteCheckpointsRequest.threads"
            "DeleteCheckpointsRequest.metadata";
        SUBSCRIPTION_EVENTS: "Subscription.dropped_count";
        SUBSCRIPTION_EVENTS_COUNTED: "Subscription.waiting_count";
        SUBSCRIPTION_BATCH: "StreamEventsResponse.events";
    }));
    table.extend(rows!(time {
        RECORDING_MAX: "FileRef.duration";
        MAX_WAIT: "Freshness.max_wait" "ExtractMemoriesRequest.max_wait";
        DEFAULT_WAIT: "Freshness.max_wait";
        TTL_MIN: "CreateThreadRequest.ttl" "ResolveThreadRequest.ttl" "Thread.ttl"
            "PutWorkingMemoryRequest.ttl" "DocumentInput.ttl" "MemoryPolicy.ttl"
            "MemoryPolicy.node_ttl";
        TTL_MAX: "CreateThreadRequest.ttl" "ResolveThreadRequest.ttl" "Thread.ttl"
            "PutWorkingMemoryRequest.ttl" "DocumentInput.ttl" "MemoryPolicy.ttl"
            "MemoryPolicy.node_ttl";
        KEPT_MIN: "MemoryPolicy.memory_max_age" "MemoryPolicy.memory_max_inactivity";
        KEPT_MAX: "MemoryPolicy.memory_max_age" "MemoryPolicy.memory_max_inactivity"
            "DeleteMemoriesRequest.max_age" "DeleteMemoriesRequest.max_inactivity";
        INACTIVITY_MIN: "DeleteMemoriesRequest.max_inactivity";
        AGE_MIN: "DeleteMemoriesRequest.max_age";
        SUBSCRIPTION_EVENT_AGE: "Subscription.dropped_count";
        DELETED_MEMORY_FILE_AGE: "DeleteMemoryFileRequest.erase_versions"
            "ListMemoryFileVersionsRequest.path" "CompareMemoryFileVersionsRequest.path"
            "RestoreMemoryFileRequest.path";
    }));
    table.extend(rows!(share {
        SUMMARIZATION_THRESHOLD: "MemoryPolicy.summarization_threshold";
        SUMMARIZATION_THRESHOLD_MIN: "MemoryPolicy.summarization_threshold";
        SUMMARIZATION_THRESHOLD_MAX: "MemoryPolicy.summarization_threshold";
    }));
    table.extend(rows!(words { RESERVED_KEY_NAMES: "CreateApiKeyRequest.name"; }));
    table
}

/// Constants of every field with this name.
const OF_ALL: [(&str, i32, &str); 2] = [
    ("PAGE_SIZE", limits::PAGE_SIZE, "page_size"),
    ("PAGE_SIZE_MAX", limits::PAGE_SIZE_MAX, "page_size"),
];

/// Constants that bound no field, and what they bound.
const OTHERS: [(&str, &str); 19] = [
    (
        "CONTEXT_MIN_SCORE",
        "a default; MemoryPolicy.min_score states it",
    ),
    ("TENANT_CHARS", "a name in the configuration"),
    (
        "READABLE_URL_BYTES",
        "what a model is shown of a longer URL",
    ),
    ("FILE_TEXT_BYTES", "the sum of other limits"),
    ("SENT_FILES", "the images of a context; see docs/files.md"),
    (
        "SENT_FILE_BYTES",
        "the images of a context; see docs/files.md",
    ),
    ("NAMED_FIELDS", "the fields that an error names"),
    ("PROVIDER_ID_MIN_CHARS", "ids in the formats of providers"),
    (
        "CONTEXT_MESSAGES",
        "what a context reads; see docs/context.md",
    ),
    (
        "UNINDEXED",
        "what a search reads; the message Freshness states it",
    ),
    (
        "SUBSCRIPTIONS",
        "a tenant's; ERROR_REASON_SUBSCRIPTIONS_FULL states it",
    ),
    (
        "FORMER_SECRET_AGE",
        "a signature; RotateSubscriptionSecret states it",
    ),
    ("UNINDEXED_READ", "what a search reads; see docs/scale.md"),
    (
        "UNINDEXED_BYTES_READ",
        "what a search reads; see docs/scale.md",
    ),
    (
        "UNINDEXED_EMBEDDED",
        "what a search reads; the message Freshness states it",
    ),
    ("ATTEMPTS", "a log; ERROR_REASON_ATTEMPT_LOG_FULL states it"),
    ("EVENTS", "a log; ERROR_REASON_EVENT_LOG_FULL states it"),
    (
        "INDEXED_CHARS",
        "what is indexed of a document; see docs/documents.md",
    ),
    (
        "COMPARED_DOCUMENTS",
        "what a search reads; see docs/documents.md",
    ),
];

#[test]
fn comments_state_the_limits_of_their_fields() {
    let comments: BTreeMap<String, String> = fields()
        .into_iter()
        .map(|(field, comment)| (name(&field), comment))
        .collect();
    let mut wrong = Vec::new();
    let mut check = |constant: &str, texts: &[String], field: &str| {
        let comment = comments.get(field).map_or("no such field", String::as_str);
        if !texts.iter().any(|text| states(comment, text)) {
            wrong.push(format!(
                "{field} does not state {constant} {texts:?}: {comment}"
            ));
        }
    };
    for (constant, texts, fields) in table() {
        for field in fields {
            check(constant, &texts, field);
        }
    }
    for (constant, number, suffix) in OF_ALL {
        let suffix = format!(".{suffix}");
        let fields = comments.keys().filter(|field| field.ends_with(&suffix));
        let fields: Vec<&String> = fields.collect();
        assert!(fields.len() > 10, "{fields:?}");
        for field in fields {
            check(constant, &count(number), field);
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Whether a comment has a text, and not as a part of another number or word.
fn states(comment: &str, text: &str) -> bool {
    comment.match_indices(text).any(|(at, _)| {
        let before = comment[..at].chars().next_back();
        let mut after = comment[at + text.len()..].chars();
        let (next, then) = (after.next(), after.next());
        let continues = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let number_goes_on = matches!(next, Some(',' | '.')) && then.is_some_and(char::is_numeric);
        !continues(before)
            && !matches!(before, Some(',' | '.'))
            && !continues(next)
            && !number_goes_on
    })
}

#[test]
fn every_limit_is_in_the_table() {
    let code = include_str!("../src/limits.rs").lines();
    let code = code.filter_map(|line| line.strip_prefix("pub const ")?.split(':').next());
    let constants: BTreeSet<&str> = code.collect();
    let mut listed = BTreeSet::new();
    let table = table().into_iter().map(|(constant, ..)| constant);
    let of_all = OF_ALL.iter().map(|(constant, ..)| *constant);
    let others = OTHERS.iter().map(|(constant, _)| *constant);
    for constant in table.chain(of_all).chain(others) {
        assert!(listed.insert(constant), "{constant} is listed twice");
    }
    let forgotten: Vec<&&str> = constants.difference(&listed).collect();
    assert!(forgotten.is_empty(), "not in the table: {forgotten:?}");
}

#[test]
fn numbers_are_compared_as_people_write_them() {
    assert_eq!(count(8_192), ["8,192"]);
    assert_eq!(count(10_000_000), ["10,000,000"]);
    assert_eq!(bytes(3_670_016)[2], "3.5 MiB");
    assert_eq!(time(limits::RECORDING_MAX)[1..], ["24 hours", "1 day"]);
    assert_eq!(time(limits::TTL_MAX).pop().unwrap(), "10 years");
    assert!(states("1 to 128 characters.", "128 characters"));
    for other in ["1,100", "100,000", "1100", "100.5", "0.100"] {
        assert!(!states(other, "100"), "{other}");
    }
}
