//! The fields of a policy, each in one row.

/// Calls a macro with the fields of a policy. A row has the type on one level, the resolved
/// type where it differs, and the default; then the function of `convert::policy` that reads
/// it, and the levels that may set it; then attributes of the field in [`PolicySettings`].
///
/// [`PolicySettings`]: crate::policy::PolicySettings
macro_rules! policy_fields {
    ($with:ident) => {
        $with! {
            /// The memory that contexts are built from.
            mode: MemoryMode = MemoryMode::default();
                read: mode_from, anywhere;
            /// Whether `window_size` bounds the window; without it only the budget does.
            window_enabled: bool = true;
                read: flag, anywhere;
            /// Newest messages in window and node mode: 1 to 500.
            window_size: u32 = limits::WINDOW_SIZE.unsigned_abs();
                read: number(1, limits::WINDOW_MAX), anywhere;
            /// Newest messages in hybrid mode: 0 to 500.
            recent_window: u32 = limits::RECENT_WINDOW.unsigned_abs();
                read: number(0, limits::WINDOW_MAX), anywhere;
            /// Best matches: 0 to 100.
            top_k: u32 = limits::TOP_K.unsigned_abs();
                read: number(0, limits::TOP_K_MAX), anywhere;
            /// Messages before each match: 0 to 20.
            neighbors_before: u32 = limits::NEIGHBORS_BEFORE.unsigned_abs();
                read: number(0, limits::NEIGHBORS_MAX), anywhere;
            /// Messages after each match: 0 to 20.
            neighbors_after: u32 = limits::NEIGHBORS_AFTER.unsigned_abs();
                read: number(0, limits::NEIGHBORS_MAX), anywhere;
            /// Matches with a lower score are dropped: 0.0 to 1.0.
            min_score: f32 as MinScore = MinScore::ByCall;
                read: share(0.0, 1.0), anywhere;
            /// The messages that a search may find.
            scope: MemoryScope = MemoryScope::default();
                read: scope_from, anywhere;
            /// The user's name in rendered text.
            user_label: String = "Human".to_owned();
                read: label, anywhere;
            /// The model's name in rendered text.
            assistant_label: String = "Assistant".to_owned();
                read: label, anywhere;
            /// The template that renders the input's text; it compiles.
            query_prompt_template: String as InputWording = InputWording::Verbatim;
                read: long_text, anywhere;
            /// Whether requests without a session key share one thread of the app.
            shared_session_default: bool = false;
                read: flag, of_app;
            /// Which memories are extracted from messages in the background.
            extraction: ExtractionStrategy = ExtractionStrategy::default();
                read: extraction_from, anywhere;
            /// How long new threads are kept.
            ttl: Duration as Lifetime = Lifetime::Unlimited;
                read: lifetime(limits::TTL_MIN, limits::TTL_MAX), of_app;
            /// How long a node's memory is kept after its last turn.
            node_ttl: Duration as Lifetime = Lifetime::Unlimited;
                read: lifetime(limits::TTL_MIN, limits::TTL_MAX), stored;
            /// Whether older turns are summarized.
            summarize: bool = true;
                read: flag, anywhere;
            /// The model's window in tokens: 1,000 to 10,000,000.
            context_window: u32 = limits::CONTEXT_WINDOW.unsigned_abs();
                read: number(limits::CONTEXT_WINDOW_MIN, limits::CONTEXT_WINDOW_MAX), anywhere;
            /// The share of the window at which older turns are summarized: 0.1 to 0.95.
            summarization_threshold: f32 = limits::SUMMARIZATION_THRESHOLD;
                read: share(limits::SUMMARIZATION_THRESHOLD_MIN, limits::SUMMARIZATION_THRESHOLD_MAX), anywhere;
            /// Tokens of messages at which observations replace them: 1,000 to 1,000,000.
            observer_tokens: u32 = limits::OBSERVER_TOKENS.unsigned_abs();
                read: number(limits::OBSERVATION_TOKENS_MIN, limits::OBSERVATION_TOKENS_MAX), anywhere;
            /// Tokens of observations at which they are condensed: 1,000 to 1,000,000.
            reflector_tokens: u32 = limits::REFLECTOR_TOKENS.unsigned_abs();
                read: number(limits::OBSERVATION_TOKENS_MIN, limits::OBSERVATION_TOKENS_MAX), anywhere;
            /// What a model is asked to extract under the custom strategy.
            extraction_instructions: String as Instructions = Instructions::None;
                read: long_text, anywhere;
            /// Long-term memories in a context: 0 to 50.
            memories_top_k: u32 = limits::MEMORIES_TOP_K.unsigned_abs();
                read: number(0, limits::MEMORIES_TOP_K_MAX), anywhere;
            /// Whether an expired working memory is rebuilt from the thread.
            rebuild_expired: bool = false;
                read: flag, anywhere;
            /// How long memories are kept after they were stored.
            memory_max_age: Duration as Lifetime = Lifetime::Unlimited;
                read: lifetime(limits::KEPT_MIN, limits::KEPT_MAX), of_app;
            /// How long memories are kept after they were last returned.
            memory_max_inactivity: Duration as Lifetime = Lifetime::Unlimited;
                read: lifetime(limits::KEPT_MIN, limits::KEPT_MAX), of_app;
            /// The most memories of one user: 1 to 1,000,000.
            memory_max_count: u32 = limits::MEMORY_COUNT.unsigned_abs();
                read: number(1, limits::MEMORY_COUNT_MAX), of_app;
            /// How images reach a model.
            file_delivery: FileDelivery = FileDelivery::default();
                read: delivery_from, anywhere;
            /// The kinds of files that may be sent to a model.
            file_types: Vec<FileType> = FileType::ALL.to_vec();
                read: file_types_from, anywhere;
            /// In how much detail a model looks at images.
            image_detail: ImageDetail = ImageDetail::default();
                read: detail_from, anywhere;
            /// Whether requests without a session key use the thread with the app's id as its key.
            flow_session_default: bool = false;
                read: flag, of_app;
            /// The apps that share the memory of a user.
            memory_space: String as MemorySpace = MemorySpace::App;
                read: short_text(limits::MEMORY_SPACE_CHARS), of_app,
                // Apps name a space on purpose.
                setting: #[serde(skip)];
            /// The token budget of contexts whose requests set none: 1 to 10,000,000.
            context_tokens: u32 as ContextBudget = ContextBudget::ByMode;
                read: number(1, limits::BUDGET_TOKENS), anywhere;
            /// What happens to secrets and personal data in texts.
            redaction: Redaction = Redaction::default();
                read: redaction_from, of_app;
            /// The kinds of them that are looked for.
            redacted_kinds: Vec<SensitiveKind> = SensitiveKind::DEFAULT.to_vec();
                read: redacted_kinds_from, of_app;
            /// The most tokens of the profile in a context: 0 to 10,000; 0: none.
            profile_tokens: u32 = 0;
                read: number(0, limits::PROFILE_TOKENS_MAX), anywhere;
            /// The app's own kinds of memories.
            memory_kinds: Vec<MemoryKind> = Vec::new();
                read: memory_kinds_from, of_app,
                // They belong to one app.
                setting: #[serde(skip)];
            /// What extraction never makes a memory of.
            never_keep: Vec<String> = Vec::new();
                read: never_keep_from, of_app,
                setting: #[serde(skip)];
        }
    };
}

pub(crate) use policy_fields;
