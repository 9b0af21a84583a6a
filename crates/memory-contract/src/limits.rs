//! Every limit and default of the contract. The proto field that a limit bounds documents
//! it.

use std::time::Duration;

/// Characters in a tenant's name, which appears only in the configuration and with keys.
pub const TENANT_CHARS: usize = 128;
/// Characters in an app id.
pub const APP_ID_CHARS: usize = 128;
/// Characters of the name of a memory space.
pub const MEMORY_SPACE_CHARS: usize = 128;
/// Most apps of a memory space.
pub const MEMORY_SPACE_APPS: i32 = 100;
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
/// Pieces of a tool's result.
pub const TOOL_OUTPUTS: usize = 64;
/// Characters in a provider's id of its reasoning.
pub const REASONING_ID_CHARS: usize = 256;
/// Summaries of one reasoning.
pub const REASONING_SUMMARIES: usize = 64;
/// Characters in the type of an opaque part.
pub const OPAQUE_TYPE_CHARS: usize = 128;
/// Characters in a file's id.
pub const FILE_ID_CHARS: usize = 256;
/// Bytes of a URL that a model or a person is shown.
pub const READABLE_URL_BYTES: usize = 512;
/// Characters in the URL of a registered file.
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
/// Most pixels of an image's width and height.
pub const IMAGE_PIXELS: i32 = 100_000;
/// The longest recording or video.
pub const RECORDING_MAX: Duration = Duration::from_secs(24 * 3_600);
/// Most pages of a document.
pub const DOCUMENT_PAGES: i32 = 100_000;
/// Images that a context reads from object storage or signs URLs of.
pub const SENT_FILES: usize = 64;
/// Bytes of images in the rendered formats of a context that are read from object storage.
pub const SENT_FILE_BYTES: usize = 1024 * 1024;
/// Characters in a query.
pub const QUERY_CHARS: usize = 8_192;
/// Characters in the name of a time zone.
pub const TIME_ZONE_CHARS: usize = 64;
/// Times of a query that are read.
pub const NAMED_TIMES: usize = 4;
/// Characters in a model's name.
pub const MODEL_CHARS: usize = 128;
/// Bytes of a text template.
pub const TEMPLATE_BYTES: usize = 4 * 1024;
/// Characters in the name of an API key.
pub const API_KEY_NAME_CHARS: usize = 128;
/// Ids or prefixes in one list of a key's bounds.
pub const KEY_BOUNDS: usize = 100;
/// Actors of the audit log that are not API keys; no key may have these names.
pub const RESERVED_KEY_NAMES: [&str; 3] = ["anonymous", "cli", "worker"];
/// Characters in the name of a secret.
pub const SECRET_NAME_CHARS: usize = 128;
/// Most bytes of a secret's value.
pub const SECRET_BYTES: usize = 16 * 1024;
/// Characters in a label of a policy.
pub const LABEL_CHARS: usize = 64;
/// Characters in a node's id.
pub const NODE_ID_CHARS: usize = 128;
/// Wrong fields that one error about messages names.
pub const NAMED_FIELDS: usize = 20;
/// Characters in a caller's own id of a message.
pub const EXTERNAL_ID_CHARS: usize = 128;
/// Fewest characters of a provider's id that becomes an external id. Shorter ones, such as
/// `chatcmpl-123`, are numbers that some servers draw and repeat.
pub const PROVIDER_ID_MIN_CHARS: usize = 20;
/// Characters in the id of a message of a node's memory.
pub const NODE_MESSAGE_ID_CHARS: usize = 128;
/// References to files in a message of a node's memory.
pub const NODE_FILES: usize = 64;
/// Most names in a filter of messages.
pub const FILTER_NAMES: usize = 32;
/// Kinds of changes in a filter.
pub const FILTER_ACTIONS: usize = 32;
/// Metadata keys in a filter.
pub const FILTER_KEYS: usize = 16;
/// Most tokens of a budget.
pub const BUDGET_TOKENS: i32 = 10_000_000;
/// Default budget of a history, in tokens.
pub const HISTORY_TOKENS: i32 = 2_000;
/// Default limit of messages in a history.
pub const HISTORY_MESSAGES: i32 = 100;
/// Most messages in a history.
pub const HISTORY_MESSAGES_MAX: i32 = 500;
/// Default number of recent messages in hybrid recall.
pub const RECENT_WINDOW: i32 = 4;
/// Default number of recent messages in window recall.
pub const WINDOW_SIZE: i32 = 20;
/// Most recent messages.
pub const WINDOW_MAX: i32 = 500;
/// Default number of matches in recall.
pub const TOP_K: i32 = 5;
/// Most matches.
pub const TOP_K_MAX: i32 = 100;
/// Default of the least score of a match in a context: nearly all answers to questions have more
/// (docs/benchmarks.md).
pub const CONTEXT_MIN_SCORE: f32 = 0.1;
/// Default number of matches in a search.
pub const SEARCH_TOP_K: i32 = 10;
/// Queries in one comparison of indexes.
pub const COMPARED_QUERIES: usize = 100;
/// Default number of stored questions in a comparison of indexes that names no queries.
pub const COMPARED_SAMPLE: i32 = 20;
/// Most stored questions in a comparison of indexes.
pub const COMPARED_SAMPLE_MAX: i32 = 100;
/// Default number of neighbors before a match.
pub const NEIGHBORS_BEFORE: i32 = 2;
/// Default number of neighbors after a match.
pub const NEIGHBORS_AFTER: i32 = 1;
/// Most neighbors on one side of a match.
pub const NEIGHBORS_MAX: i32 = 20;
/// Most messages in full of a context in the modes with derived text. About so many short
/// ones fit into an answer.
pub const CONTEXT_MESSAGES: u32 = 10_000;
/// Most system messages at the beginning of a conversation that count as its instructions.
pub const INSTRUCTIONS: usize = 8;
/// Default number of entries in a page.
pub const PAGE_SIZE: i32 = 50;
/// Most entries in a page.
pub const PAGE_SIZE_MAX: i32 = 500;
/// The longest wait of a read for the index.
pub const MAX_WAIT: Duration = Duration::from_secs(30);
/// The default wait of a read for the index.
pub const DEFAULT_WAIT: Duration = Duration::from_secs(2);
/// The newest changes of a scope that a search includes although they are not indexed.
pub const UNINDEXED: u32 = 2_048;
/// Those among them that one search reads; later searches have them in memory. Splitting short
/// messages into words takes about 30 µs each.
pub const UNINDEXED_READ: usize = 256;
/// Bytes of content of the messages that one search reads.
pub const UNINDEXED_BYTES_READ: u32 = 512 * 1024;
/// The newest of them that are embedded before all others, so that they are found by meaning at
/// once.
pub const UNINDEXED_EMBEDDED: usize = 64;
/// The shortest time to live of a thread.
pub const TTL_MIN: Duration = Duration::from_secs(1);
/// The longest time to live of a thread: ten years.
pub const TTL_MAX: Duration = Duration::from_secs(3_653 * 24 * 3_600);
/// Omitted candidates that an explanation lists.
pub const OMITTED: usize = 200;
/// Candidates among messages that a context lists as omitted, at most. They are fewer than those of an
/// explanation, because each is looked up in the database.
pub const CONTEXT_OMITTED_MATCHES: usize = 50;
/// Bytes of messages in one answer: 3.5 MiB. gRPC clients accept 4 MiB by default.
pub const ANSWER_BYTES: usize = 3_670_016;
/// Bytes of one page of messages, iterations or rendered texts: 3 MiB. The entry that
/// passes it is only known after it has been read, so this is below [`ANSWER_BYTES`].
pub const PAGE_BYTES: usize = 3 * 1024 * 1024;
/// Default window of a model, in tokens.
pub const CONTEXT_WINDOW: i32 = 128_000;
/// The smallest window of a model, in tokens.
pub const CONTEXT_WINDOW_MIN: i32 = 1_000;
/// The largest window of a model, in tokens.
pub const CONTEXT_WINDOW_MAX: i32 = 10_000_000;
/// Default share of the window at which older turns are summarized.
pub const SUMMARIZATION_THRESHOLD: f32 = 0.7;
/// The smallest such share.
pub const SUMMARIZATION_THRESHOLD_MIN: f32 = 0.1;
/// The largest such share.
pub const SUMMARIZATION_THRESHOLD_MAX: f32 = 0.95;
/// Default tokens of messages at which observations replace them.
pub const OBSERVER_TOKENS: i32 = 30_000;
/// Default tokens of observations at which they are condensed.
pub const REFLECTOR_TOKENS: i32 = 40_000;
/// The smallest `OBSERVER_TOKENS` and `REFLECTOR_TOKENS` that a policy may set.
pub const OBSERVATION_TOKENS_MIN: i32 = 1_000;
/// The largest `OBSERVER_TOKENS` and `REFLECTOR_TOKENS` that a policy may set.
pub const OBSERVATION_TOKENS_MAX: i32 = 1_000_000;
/// Default number of long-term memories in a context.
pub const MEMORIES_TOP_K: i32 = 5;
/// Most long-term memories in a context.
pub const MEMORIES_TOP_K_MAX: i32 = 50;
/// Default size of a profile, in tokens.
pub const PROFILE_TOKENS: i32 = 500;
/// The largest size of a profile, in tokens.
pub const PROFILE_TOKENS_MAX: i32 = 10_000;
/// Memories that a profile is chosen from.
pub const PROFILE_MEMORIES: u32 = 500;
/// Kinds of memories that an app defines.
pub const MEMORY_KINDS: usize = 32;
/// Bytes of the texts of these kinds together.
pub const MEMORY_KINDS_BYTES: usize = 32 * 1024;
/// Characters in the name of a kind of memories.
pub const KIND_NAME_CHARS: usize = 64;
/// Characters in the description of a kind, and in the texts of its examples.
pub const KIND_TEXT_CHARS: usize = 1_024;
/// Examples of a kind.
pub const KIND_EXAMPLES: usize = 8;
/// Bytes of the JSON Schema of a kind's attributes.
pub const KIND_SCHEMA_BYTES: usize = 8 * 1024;
/// Levels of nesting in such a schema.
pub const KIND_SCHEMA_DEPTH: usize = 16;
/// Regular expressions in the schemas of an app's kinds together.
pub const KIND_PATTERNS: usize = 32;
/// Bytes of each of them, compiled: two classes of the letters of all languages.
pub const KIND_PATTERN_BYTES: usize = 128 * 1024;
/// Schemas within such a schema, each as often as references lead to it.
pub const KIND_SUBSCHEMAS: usize = 1_000;
/// Bytes of the attributes of a memory, as JSON.
pub const ATTRIBUTES_BYTES: usize = 4 * 1024;
/// Levels of nesting in attributes.
pub const ATTRIBUTES_DEPTH: usize = 5;
/// Kinds in a filter of memories.
pub const FILTER_KINDS: usize = 32;
/// Entries of what an app never keeps.
pub const NEVER_KEEP: usize = 32;
/// Characters in such an entry.
pub const NEVER_KEEP_CHARS: usize = 256;
/// Default limit of memories of one user.
pub const MEMORY_COUNT: i32 = 10_000;
/// Most memories of one user that a policy may allow.
pub const MEMORY_COUNT_MAX: i32 = 1_000_000;
/// The shortest retention of memories that a policy may set.
pub const KEPT_MIN: Duration = Duration::from_secs(24 * 3_600);
/// The longest retention of memories that a policy may set: a hundred years.
pub const KEPT_MAX: Duration = Duration::from_secs(36_525 * 24 * 3_600);
/// Paths in an update mask.
pub const MASK_PATHS: usize = 32;
/// Characters in an etag that a caller gives back.
pub const ETAG_CHARS: usize = 128;
/// Characters in a plan's goal, a step's result and each text of an attempt.
pub const PLAN_TEXT_CHARS: usize = 4_096;
/// Characters in the name of a plan's phase.
pub const PHASE_CHARS: usize = 128;
/// Most steps of a plan.
pub const PLAN_STEPS: usize = 200;
/// Characters in a step's id.
pub const STEP_ID_CHARS: usize = 64;
/// Characters in the name of a task that is attempted.
pub const TASK_NAME_CHARS: usize = 256;
/// Attempts in the log of a thread.
pub const ATTEMPTS: i64 = 10_000;
/// Events in one append.
pub const EVENTS_PER_APPEND: usize = 256;
/// Bytes of the events of one append: 3 MiB.
pub const EVENTS_BYTES: usize = 3 * 1024 * 1024;
/// Events in the log of a thread.
pub const EVENTS: i64 = 100_000;
/// Events in one answer of a history.
pub const HISTORY_EVENTS: u32 = 500;
/// Characters in the type of an event.
pub const EVENT_TYPE_CHARS: usize = 128;
/// Types in a filter of events.
pub const FILTER_EVENT_TYPES: usize = 32;
/// Characters in the task of a briefing.
pub const BRIEFING_TASK_CHARS: usize = 8_192;
/// Default budget of a briefing, in tokens.
pub const BRIEFING_TOKENS: i32 = 4_000;
/// The smallest budget of a briefing, in tokens.
pub const BRIEFING_TOKENS_MIN: i32 = 200;
/// The largest budget of a briefing, in tokens.
pub const BRIEFING_TOKENS_MAX: i32 = 1_000_000;
/// Branches in one answer of coverage ledgers.
pub const LEDGER_BRANCHES: usize = 100;
/// Faults of a coverage ledger in one answer.
pub const LEDGER_FAULTS: usize = 100;
/// Bytes of derived text in one coverage ledger.
pub const LEDGER_TEXT_BYTES: usize = 3 * 1024 * 1024;
/// Characters of a memory.
pub const MEMORY_CHARS: usize = 4_096;
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
/// Source messages of a memory.
pub const MEMORY_SOURCES: usize = 32;
/// Memories that an extracted memory of an export was built on.
pub const MEMORY_ANCESTORS: usize = 1_000;
/// Memories in one request.
pub const MEMORIES: usize = 100;
/// Superseded memories returned with one memory.
pub const SUPERSEDED: usize = 50;
/// Memories that one call forgets.
pub const FORGOTTEN: i32 = 10_000;
/// Forgotten memories listed in one answer.
pub const FORGOTTEN_TOLD: usize = 100;
/// The shortest inactivity after which memories are forgotten: use is recorded by day.
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
pub const WORKING_SUMMARY_BYTES: usize = 64 * 1024;
/// Messages of a working memory in one request or answer.
pub const WORKING_MESSAGES: usize = 500;
/// Warnings in one answer.
pub const WARNINGS: usize = 20;
/// Days in a usage report.
pub const USAGE_DAYS: i32 = 366;
/// Days in a usage report that names none.
pub const USAGE_DAYS_DEFAULT: i32 = 30;
/// Labels of a document's namespace.
pub const NAMESPACE_LABELS: usize = 16;
/// Bytes of one label.
pub const LABEL_BYTES: usize = 256;
/// Bytes of all labels of a namespace.
pub const NAMESPACE_BYTES: usize = 1_024;
/// Bytes of a document's key.
pub const DOCUMENT_KEY_BYTES: usize = 512;
/// Bytes of a document's value.
pub const DOCUMENT_BYTES: usize = 1024 * 1024;
/// Levels of nesting in a document's value.
pub const DOCUMENT_DEPTH: usize = 100;
/// Documents of one request.
pub const DOCUMENTS: usize = 500;
/// Fields of a document whose texts a query matches.
pub const INDEX_FIELDS: usize = 16;
/// Bytes of the path of such a field.
pub const INDEX_FIELD_BYTES: usize = 256;
/// Characters of these texts together.
pub const INDEXED_CHARS: usize = 8_192;
/// Characters of a query for documents.
pub const DOCUMENT_QUERY_CHARS: usize = 8_192;
/// Documents that a search compares with its query by meaning. Their vectors are kept for a
/// while, so that the next search embeds few of them.
pub const COMPARED_DOCUMENTS: u32 = 256;
/// Conditions of a search for documents.
pub const DOCUMENT_CONDITIONS: usize = 32;
/// Names in the path of a condition's field.
pub const CONDITION_FIELD_NAMES: usize = 8;
/// Bytes of a condition's value, and of a filter of metadata.
pub const CONDITION_BYTES: usize = 8 * 1024;
/// Most documents or namespaces to skip.
pub const FOUND_OFFSET_MAX: i32 = 100_000;
/// Most documents to skip in a search with a query.
pub const MATCHED_OFFSET_MAX: i32 = 1_000;
/// Bytes of the text of a file of an agent.
pub const MEMORY_FILE_BYTES: usize = 256 * 1024;
/// Names in the path of such a file: with a label of Recollect's before them, the directories are a namespace,
/// whose labels are bounded by [`NAMESPACE_LABELS`].
pub const MEMORY_FILE_NAMES: usize = 15;
/// Bytes of one name in such a path.
pub const MEMORY_FILE_NAME_BYTES: usize = 256;
/// Bytes of such a path.
pub const MEMORY_FILE_PATH_BYTES: usize = 1_000;
/// Files of agents that a user has.
pub const MEMORY_FILES: usize = 1_000;
/// Bytes of all files of agents that a user has, as they are stored: 16 MiB.
pub const MEMORY_FILES_BYTES: i64 = 16 * 1024 * 1024;
/// Versions that are kept of a file of an agent.
pub const MEMORY_FILE_VERSIONS: usize = 50;
/// How long the versions of a deleted file of an agent are kept.
pub const DELETED_MEMORY_FILE_AGE: Duration = Duration::from_secs(30 * 24 * 3_600);
/// Files that the listing of a directory reads. A user has more only after an import.
pub const MEMORY_FILES_LISTED: usize = 2_000;
/// Default number of levels that the listing of a directory shows.
pub const MEMORY_FILE_DEPTH: i32 = 2;
/// Bytes of a checkpoint's namespace, and of a task's path.
pub const CHECKPOINT_PATH_BYTES: usize = 1_024;
/// Bytes of a checkpoint's id, and of the version of a value.
pub const CHECKPOINT_ID_BYTES: usize = 128;
/// Bytes of a channel's name.
pub const CHANNEL_BYTES: usize = 512;
/// Bytes of a task's id.
pub const TASK_ID_BYTES: usize = 256;
/// Bytes of the name of an encoding.
pub const ENCODING_BYTES: usize = 64;
/// Bytes of a checkpoint's metadata.
pub const CHECKPOINT_METADATA_BYTES: usize = 64 * 1024;
/// Channels of a checkpoint, and writes in one request.
pub const CHECKPOINT_CHANNELS: usize = 1_024;
/// Bytes of all values of a checkpoint, and of all its writes: 16 MiB.
pub const CHECKPOINT_STATE_BYTES: i64 = 16 * 1024 * 1024;
/// Sessions, or filters of metadata, of one deletion of checkpoints.
pub const CHECKPOINT_SELECTIONS: usize = 100;
/// Subscriptions of a tenant.
pub const SUBSCRIPTIONS: i32 = 32;
/// Characters in the name of a subscription.
pub const SUBSCRIPTION_NAME_CHARS: usize = 64;
/// Characters in the URL of a subscription.
pub const SUBSCRIPTION_URL_CHARS: usize = 2_048;
/// Events that wait in a subscription; the newest ones beyond are dropped within seconds.
pub const SUBSCRIPTION_EVENTS: i64 = 1_000_000;
/// Events that are counted in a subscription that is read.
pub const SUBSCRIPTION_EVENTS_COUNTED: i64 = 10_000;
/// How long an event waits before it is dropped.
pub const SUBSCRIPTION_EVENT_AGE: Duration = Duration::from_secs(30 * 24 * 3_600);
/// Events that are delivered at once.
pub const SUBSCRIPTION_BATCH: i32 = 100;
/// How long a former secret of a subscription signs too.
pub const FORMER_SECRET_AGE: Duration = Duration::from_secs(24 * 3_600);
