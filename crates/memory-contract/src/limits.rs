//! Every limit of the contract, documented at the proto field that it bounds.

use std::time::Duration;

/// Characters in a tenant's name, which only configurations and keys have.
pub const TENANT_CHARS: usize = 128;
/// Characters in an app id.
pub const APP_ID_CHARS: usize = 128;
/// Characters in a user id.
pub const USER_ID_CHARS: usize = 256;
/// Characters in a session key.
pub const SESSION_KEY_CHARS: usize = 512;
/// Characters in a thread's title.
pub const TITLE_CHARS: usize = 512;
/// Characters in a speaker's name.
pub const NAME_CHARS: usize = 256;
/// Bytes of metadata, as JSON.
pub const METADATA_BYTES: usize = 16 * 1024;
/// Levels of nesting in metadata.
pub const METADATA_DEPTH: usize = 5;
/// Bytes of one text part, and of one JSON value.
pub const TEXT_BYTES: usize = 256 * 1024;
/// Levels of nesting in a JSON part.
pub const JSON_DEPTH: usize = 32;
/// Parts in a message.
pub const PARTS: usize = 64;
/// Bytes of all parts of a message.
pub const MESSAGE_BYTES: usize = 1024 * 1024;
/// Messages in one append.
pub const BATCH_MESSAGES: usize = 256;
/// Bytes of all messages in one append. The transport takes 4 MiB.
pub const BATCH_BYTES: usize = 3 * 1024 * 1024;
/// Characters in a tool call's id and in a tool's name.
pub const TOOL_CHARS: usize = 128;
/// Characters in a file's id.
pub const FILE_ID_CHARS: usize = 256;
/// Characters in a URL.
pub const URL_CHARS: usize = 2_048;
/// Characters in a file's name.
pub const FILE_NAME_CHARS: usize = 512;
/// Characters in a media type.
pub const MIME_TYPE_CHARS: usize = 128;
/// Characters in a file's storage key.
pub const STORAGE_KEY_CHARS: usize = 1_024;
/// Bytes of a file's storage key, name and media type; a character has at most
/// four.
pub const FILE_TEXT_BYTES: usize = 4 * (STORAGE_KEY_CHARS + FILE_NAME_CHARS + MIME_TYPE_CHARS);
/// Characters in a file's caption.
pub const CAPTION_CHARS: usize = 4_096;
/// Characters in a query.
pub const QUERY_CHARS: usize = 8_192;
/// Characters in a model's name.
pub const MODEL_CHARS: usize = 128;
/// Bytes of a text template.
pub const TEMPLATE_BYTES: usize = 4 * 1024;
/// Characters in the name of an API key.
pub const API_KEY_NAME_CHARS: usize = 128;
/// What stands for others than keys where it is told who did what.
pub const RESERVED_KEY_NAMES: [&str; 3] = ["anonymous", "cli", "worker"];
/// Characters in the name of a secret.
pub const SECRET_NAME_CHARS: usize = 128;
/// Bytes of a secret.
pub const SECRET_BYTES: usize = 16 * 1024;
/// Characters in a label of a policy.
pub const LABEL_CHARS: usize = 64;
/// Characters in a node's id.
pub const NODE_ID_CHARS: usize = 128;
/// Characters in the id of a message of a node's memory.
pub const NODE_MESSAGE_ID_CHARS: usize = 128;
/// References to files in a message of a node's memory.
pub const NODE_FILES: usize = 64;
/// Names in a filter.
pub const FILTER_NAMES: usize = 32;
/// Metadata keys in a filter.
pub const FILTER_KEYS: usize = 16;
/// Characters in a filter's metadata key.
pub const FILTER_KEY_CHARS: usize = 64;
/// Tokens in a budget.
pub const BUDGET_TOKENS: i32 = 10_000_000;
/// Budget of a history that names none, in tokens.
pub const HISTORY_TOKENS: i32 = 2_000;
/// Messages of a history that names no limit.
pub const HISTORY_MESSAGES: i32 = 100;
/// Messages of the longest history.
pub const HISTORY_MESSAGES_MAX: i32 = 500;
/// Recent messages in hybrid recall.
pub const RECENT_WINDOW: i32 = 4;
/// Recent messages in window recall.
pub const WINDOW_SIZE: i32 = 20;
/// Recent messages at most.
pub const WINDOW_MAX: i32 = 500;
/// Matches that recall returns.
pub const TOP_K: i32 = 5;
/// Matches at most.
pub const TOP_K_MAX: i32 = 100;
/// Matches that a search returns.
pub const SEARCH_LIMIT: i32 = 10;
/// Neighbors before a match.
pub const NEIGHBORS_BEFORE: i32 = 2;
/// Neighbors after a match.
pub const NEIGHBORS_AFTER: i32 = 1;
/// Neighbors on one side at most.
pub const NEIGHBORS_MAX: i32 = 20;
/// Budget of a context that names none, in tokens.
pub const CONTEXT_TOKENS: i32 = 8_000;
/// Entries of a page that names no size.
pub const PAGE_SIZE: i32 = 50;
/// Entries of the largest page.
pub const PAGE_SIZE_MAX: i32 = 500;
/// The longest that a read may wait for the index.
pub const MAX_WAIT: Duration = Duration::from_secs(30);
/// How long a read waits for the index if it names no limit.
pub const DEFAULT_WAIT: Duration = Duration::from_secs(2);
/// The shortest life of a thread.
pub const TTL_MIN: Duration = Duration::from_secs(1);
/// The longest life of a thread: ten years of 365 days and their leap days.
pub const TTL_MAX: Duration = Duration::from_secs(3_653 * 24 * 3_600);
/// Omitted candidates that an explanation lists.
pub const OMITTED: usize = 200;
/// Bytes of messages in one answer: 3.5 MiB. A client takes 4 MiB unless it is
/// told otherwise.
pub const ANSWER_BYTES: usize = 3_670_016;
/// Bytes of one page of messages, iterations or rendered texts: 3 MiB. The entry that
/// passes it is only known after it has been read, so this is below [`ANSWER_BYTES`].
pub const PAGE_BYTES: usize = 3 * 1024 * 1024;
/// Tokens of a model's window where nobody names it.
pub const CONTEXT_WINDOW: i32 = 128_000;
/// Tokens of the smallest window.
pub const CONTEXT_WINDOW_MIN: i32 = 1_000;
/// Tokens of the largest window.
pub const CONTEXT_WINDOW_MAX: i32 = 10_000_000;
/// The share of the window at which older turns are summarized.
pub const SUMMARIZATION_THRESHOLD: f32 = 0.7;
/// The smallest such share.
pub const SUMMARIZATION_THRESHOLD_MIN: f32 = 0.1;
/// The largest such share.
pub const SUMMARIZATION_THRESHOLD_MAX: f32 = 0.95;
/// Tokens of messages at which stretches are swapped for observations.
pub const OBSERVER_TOKENS: i32 = 30_000;
/// Tokens of observations at which they are condensed.
pub const REFLECTOR_TOKENS: i32 = 40_000;
/// The smallest of these two.
pub const OBSERVATION_TOKENS_MIN: i32 = 1_000;
/// The largest of these two.
pub const OBSERVATION_TOKENS_MAX: i32 = 1_000_000;
/// Long-term memories of a context.
pub const MEMORIES_TOP_K: i32 = 5;
/// Long-term memories of a context at most.
pub const MEMORIES_TOP_K_MAX: i32 = 50;
/// Memories of a user.
pub const MEMORY_COUNT: i32 = 10_000;
/// Memories of a user at most.
pub const MEMORY_COUNT_MAX: i32 = 1_000_000;
/// The shortest time that memories are kept by policy.
pub const KEPT_MIN: Duration = Duration::from_secs(24 * 3_600);
/// The longest time that memories are kept by policy: a hundred years.
pub const KEPT_MAX: Duration = Duration::from_secs(36_525 * 24 * 3_600);
/// Paths in an update mask.
pub const MASK_PATHS: usize = 32;
/// Characters in an etag that a caller gives back.
pub const ETAG_CHARS: usize = 128;
/// Characters in a plan's goal, a step's result and each text of an attempt.
pub const PLAN_TEXT_CHARS: usize = 4_096;
/// Characters in the name of a plan's phase.
pub const PHASE_CHARS: usize = 128;
/// Steps of a plan.
pub const PLAN_STEPS: usize = 200;
/// Characters in a step's id.
pub const STEP_ID_CHARS: usize = 64;
/// Characters in the name of a task that is attempted.
pub const TASK_NAME_CHARS: usize = 256;
/// Attempts in the log of a thread.
pub const ITERATIONS: i64 = 10_000;
/// Characters in the task of a briefing.
pub const BRIEFING_TASK_CHARS: usize = 8_192;
/// Budget of a briefing that names none, in tokens.
pub const BRIEFING_TOKENS: i32 = 4_000;
/// The smallest budget of a briefing.
pub const BRIEFING_TOKENS_MIN: i32 = 200;
/// The largest budget of a briefing.
pub const BRIEFING_TOKENS_MAX: i32 = 1_000_000;
/// Branches whose ledgers one answer has.
pub const LEDGER_BRANCHES: usize = 100;
/// Faults of a ledger that one answer has.
pub const LEDGER_FAULTS: usize = 100;
/// Stretches of a ledger that one answer has.
pub const LEDGER_STRETCHES: usize = 1_000;
/// Derived texts of one ledger, in bytes.
pub const LEDGER_TEXT_BYTES: usize = 3 * 1024 * 1024;
/// Characters of a memory.
pub const MEMORY_CHARS: usize = 4_096;
/// Characters in the caller's own id of a memory.
pub const RECORD_ID_CHARS: usize = 128;
/// Topics of a memory, and in a filter.
pub const TOPICS: usize = 16;
/// Characters in a topic.
pub const TOPIC_CHARS: usize = 64;
/// Entities of a memory, and in a filter.
pub const ENTITIES: usize = 16;
/// Characters in an entity.
pub const ENTITY_CHARS: usize = 128;
/// Origins in a filter.
pub const ORIGINS: usize = 16;
/// Messages that a memory was made of.
pub const MEMORY_SOURCES: usize = 32;
/// Memories in one request.
pub const MEMORIES: usize = 100;
/// Superseded memories that are told with one.
pub const SUPERSEDED: usize = 50;
/// Memories that one call forgets.
pub const FORGOTTEN: i32 = 10_000;
/// Forgotten memories that are told one by one.
pub const FORGOTTEN_TOLD: usize = 100;
/// The shortest time after which memories without use are forgotten: their use is
/// kept to the day.
pub const INACTIVITY_MIN: Duration = Duration::from_secs(24 * 3_600);
/// The shortest age at which memories are forgotten.
pub const AGE_MIN: Duration = Duration::from_secs(1);
/// Memories of a working memory.
pub const WORKING_RECORDS: usize = 256;
/// Bytes of all memories of a working memory.
pub const WORKING_RECORDS_BYTES: usize = 1024 * 1024;
/// Bytes of a session's data, as JSON.
pub const WORKING_DATA_BYTES: usize = 256 * 1024;
/// Bytes of the summary that a caller gives.
pub const WORKING_CONTEXT_BYTES: usize = 64 * 1024;
/// Messages of a working memory that one answer has.
pub const WORKING_MESSAGES: usize = 500;
/// Warnings that one answer has.
pub const WARNINGS: usize = 20;
