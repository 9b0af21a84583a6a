//! The section `policy`: what the server sets for the policies of all apps.

use std::time::Duration;

use memory_context::template::QueryTemplate;
use memory_contract::proto;
use memory_contract::{
    ExtractionStrategy, FileDelivery, FileType, ImageDetail, InvalidFields, MemoryMode,
    MemoryPolicy, MemoryScope, PolicyLevel, ResolvedPolicy, limits, policy_from,
};
use serde::{Deserialize, Serialize};

use crate::error::ConfigError;

/// Defaults of the fields of `MemoryPolicy`, where neither app, thread nor request sets
/// them. A value that equals the documented default counts as not set, except `scope`.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PolicyConfig {
    /// What a context contains from memory.
    pub mode: MemoryMode,
    /// Whether `window_size` bounds the window.
    pub window_enabled: bool,
    /// Newest messages in window and node mode.
    pub window_size: i32,
    /// Newest messages in hybrid mode.
    pub recent_window: i32,
    /// Most matches.
    pub top_k: i32,
    /// Messages before each match.
    pub neighbors_before: i32,
    /// Messages after each match.
    pub neighbors_after: i32,
    /// Matches with a lower score are excluded.
    pub min_score: f64,
    /// The threads that a search covers; `None`: the user's, in an app with a memory
    /// space the space's.
    pub scope: Option<MemoryScope>,
    /// The user's label in text.
    pub user_label: String,
    /// The model's label in text.
    pub assistant_label: String,
    /// Wraps the text of an input; empty: it is unchanged.
    pub query_prompt_template: String,
    /// Whether requests without a session key share a thread.
    pub shared_session_default: bool,
    /// The memories that are extracted.
    pub extraction: ExtractionStrategy,
    /// The lifetime of new threads; zero: no limit.
    #[serde(with = "memory_contract::duration_text")]
    pub ttl: Duration,
    /// The lifetime of node memories after their last turn; zero: that of the thread.
    #[serde(with = "memory_contract::duration_text")]
    pub node_ttl: Duration,
    /// Whether older turns are summarized.
    pub summarize: bool,
    /// The model's window in tokens.
    pub context_window: i32,
    /// The share of the window at which older turns are summarized.
    pub summarization_threshold: f64,
    /// Tokens of messages at which observations replace them.
    pub observer_tokens: i32,
    /// Tokens of observations at which they are condensed.
    pub reflector_tokens: i32,
    /// What to extract with the custom strategy; empty: none.
    pub extraction_instructions: String,
    /// Most long-term memories in a context.
    pub memories_top_k: i32,
    /// Whether an expired working memory is rebuilt.
    pub rebuild_expired: bool,
    /// Age at which memories are deleted; zero: never.
    #[serde(with = "memory_contract::duration_text")]
    pub memory_max_age: Duration,
    /// Time without use after which memories are deleted; zero: never.
    #[serde(with = "memory_contract::duration_text")]
    pub memory_max_inactivity: Duration,
    /// Most memories of one user.
    pub memory_max_count: i32,
    /// How images reach a model.
    pub file_delivery: FileDelivery,
    /// The kinds of files that may be sent to a model.
    pub file_types: Vec<FileType>,
    /// In how much detail a model looks at images.
    pub image_detail: ImageDetail,
    /// Whether requests without a session key use the thread with the app's id as its key.
    pub flow_session_default: bool,
    /// The token budget of contexts; 0: by mode.
    pub context_tokens: i32,
}

impl Default for PolicyConfig {
    fn default() -> Self {
        let ResolvedPolicy {
            mode,
            window_enabled,
            user_label,
            assistant_label,
            shared_session_default,
            extraction,
            summarize,
            rebuild_expired,
            file_delivery,
            file_types,
            image_detail,
            flow_session_default,
            ..
        } = ResolvedPolicy::default();
        Self {
            mode,
            window_enabled,
            window_size: limits::WINDOW_SIZE,
            recent_window: limits::RECENT_WINDOW,
            top_k: limits::TOP_K,
            neighbors_before: limits::NEIGHBORS_BEFORE,
            neighbors_after: limits::NEIGHBORS_AFTER,
            min_score: 0.0,
            scope: None,
            user_label,
            assistant_label,
            query_prompt_template: String::new(),
            shared_session_default,
            extraction,
            ttl: Duration::ZERO,
            node_ttl: Duration::ZERO,
            summarize,
            context_window: limits::CONTEXT_WINDOW,
            // `limits::SUMMARIZATION_THRESHOLD` as a person writes it.
            summarization_threshold: 0.7,
            observer_tokens: limits::OBSERVER_TOKENS,
            reflector_tokens: limits::REFLECTOR_TOKENS,
            extraction_instructions: String::new(),
            memories_top_k: limits::MEMORIES_TOP_K,
            rebuild_expired,
            memory_max_age: Duration::ZERO,
            memory_max_inactivity: Duration::ZERO,
            memory_max_count: limits::MEMORY_COUNT,
            file_delivery,
            file_types,
            image_detail,
            flow_session_default,
            context_tokens: 0,
        }
    }
}

impl PolicyConfig {
    /// The fields that differ from the documented defaults, and the scope where it is set,
    /// within the limits of `MemoryPolicy`.
    ///
    /// # Errors
    /// The first key whose value a policy cannot have.
    pub fn policy(&self) -> Result<MemoryPolicy, ConfigError> {
        let compiles = |template: &str| QueryTemplate::compile(template).map(drop);
        let policy = policy_from(
            "policy",
            PolicyLevel::Server,
            Some(self.as_proto()),
            compiles,
        );
        let mut policy = policy.map_err(|InvalidFields(all)| {
            let first = all.into_iter().next();
            first.map_or_else(
                || ConfigError::value("policy", "cannot be used"),
                |invalid| ConfigError::value(&invalid.field, invalid.problem),
            )
        })?;
        policy.clear_equal(&ResolvedPolicy::default().into());
        // An app's memory space changes the default, not a set scope.
        policy.scope = self.scope;
        Ok(policy)
    }

    fn as_proto(&self) -> proto::MemoryPolicy {
        let set = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
        let lasting = |time: Duration| (!time.is_zero()).then(|| seconds(time));
        proto::MemoryPolicy {
            mode: proto::MemoryMode::from(self.mode).into(),
            window_enabled: Some(self.window_enabled),
            window_size: Some(self.window_size),
            recent_window: Some(self.recent_window),
            top_k: Some(self.top_k),
            neighbors_before: Some(self.neighbors_before),
            neighbors_after: Some(self.neighbors_after),
            min_score: Some(single(self.min_score)),
            scope: self
                .scope
                .map_or(0, |scope| proto::RecallScope::from(scope).into()),
            user_label: Some(self.user_label.clone()),
            assistant_label: Some(self.assistant_label.clone()),
            query_prompt_template: set(&self.query_prompt_template),
            shared_session_default: Some(self.shared_session_default),
            extraction: proto::ExtractionStrategy::from(self.extraction).into(),
            ttl: lasting(self.ttl),
            node_ttl: lasting(self.node_ttl),
            summarize: Some(self.summarize),
            context_window: Some(self.context_window),
            summarization_threshold: Some(single(self.summarization_threshold)),
            observer_tokens: Some(self.observer_tokens),
            reflector_tokens: Some(self.reflector_tokens),
            extraction_instructions: set(&self.extraction_instructions),
            memories_top_k: Some(self.memories_top_k),
            rebuild_expired: Some(self.rebuild_expired),
            memory_max_age: lasting(self.memory_max_age),
            memory_max_inactivity: lasting(self.memory_max_inactivity),
            memory_max_count: Some(self.memory_max_count),
            file_delivery: proto::FileDelivery::from(self.file_delivery).into(),
            file_types: self
                .file_types
                .iter()
                .map(|kind| proto::FileType::from(*kind).into())
                .collect(),
            image_detail: proto::ImageDetail::from(self.image_detail).into(),
            flow_session_default: Some(self.flow_session_default),
            memory_space: None,
            context_tokens: Some(self.context_tokens).filter(|tokens| *tokens != 0),
        }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "policies have single precision"
)]
fn single(number: f64) -> f32 {
    number as f32
}

fn seconds(time: Duration) -> prost_types::Duration {
    prost_types::Duration {
        seconds: i64::try_from(time.as_secs()).unwrap_or(i64::MAX),
        nanos: time.subsec_nanos().cast_signed(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Config, Sources};

    fn load(name: &str, value: &str) -> Result<MemoryPolicy, String> {
        let name = format!("RECOLLECT_POLICY__{name}");
        let sources = Sources {
            file: None,
            env: [(name, value.to_owned())].into(),
            flags: Vec::new(),
        };
        let loaded = Config::load(&sources).map_err(|error| error.to_string())?;
        Ok(loaded.config.policy.policy().unwrap())
    }

    #[test]
    fn the_defaults_set_nothing() {
        let policy = PolicyConfig::default().policy().unwrap();
        assert_eq!(policy.set_fields(), Vec::<&str>::new());
    }

    #[test]
    fn a_set_scope_holds_also_in_apps_with_a_memory_space() {
        let app = MemoryPolicy {
            memory_space: Some("desk".to_owned()),
            ..MemoryPolicy::default()
        };
        let scope = |server: &MemoryPolicy| {
            let levels = [(PolicyLevel::Server, server), (PolicyLevel::App, &app)];
            ResolvedPolicy::resolve(&levels).scope
        };
        let default = PolicyConfig::default().policy().unwrap();
        assert_eq!(scope(&default), MemoryScope::Space);
        let values = [
            ("thread", MemoryScope::Thread),
            ("user", MemoryScope::User),
            ("app", MemoryScope::App),
            ("space", MemoryScope::Space),
        ];
        for (value, expected) in values {
            let server = load("SCOPE", value).unwrap();
            assert_eq!(server.set_fields(), ["scope"], "{value}");
            assert_eq!(scope(&server), expected, "{value}");
        }
    }

    #[test]
    fn each_field_can_be_set() {
        let values = [
            ("mode", "observational"),
            ("window_enabled", "false"),
            ("window_size", "7"),
            ("recent_window", "0"),
            ("top_k", "9"),
            ("neighbors_before", "3"),
            ("neighbors_after", "0"),
            ("min_score", "0.25"),
            ("scope", "app"),
            ("user_label", "42"),
            ("assistant_label", "Bot"),
            ("query_prompt_template", "Answer: {{ query }}"),
            ("shared_session_default", "true"),
            ("extraction", "discrete"),
            ("ttl", "30d"),
            ("node_ttl", "90m"),
            ("summarize", "false"),
            ("context_window", "8192"),
            ("summarization_threshold", "0.5"),
            ("observer_tokens", "2000"),
            ("reflector_tokens", "3000"),
            ("extraction_instructions", "Allergies."),
            ("memories_top_k", "0"),
            ("rebuild_expired", "true"),
            ("memory_max_age", "365d"),
            ("memory_max_inactivity", "30d"),
            ("memory_max_count", "50"),
            ("file_delivery", "inline"),
            ("file_types", "[image, document]"),
            ("image_detail", "low"),
            ("flow_session_default", "true"),
            ("context_tokens", "64000"),
        ];
        for (name, value) in values {
            let policy = load(&name.to_uppercase(), value).unwrap();
            assert_eq!(policy.set_fields(), [name]);
        }
        // Apps name a space on purpose, so a server cannot.
        let mut tested: Vec<&str> = values.iter().map(|(name, _)| *name).collect();
        tested.push("memory_space");
        tested.sort_unstable();
        let mut fields = MemoryPolicy::FIELDS.to_vec();
        fields.sort_unstable();
        assert_eq!(tested, fields);
    }

    #[test]
    fn a_wrong_value_names_its_key_and_its_source() {
        for (name, value) in [
            ("MODE", "total"),
            ("WINDOW_SIZE", "0"),
            ("TOP_K", "-1"),
            ("MIN_SCORE", "1.5"),
            ("USER_LABEL", ""),
            ("QUERY_PROMPT_TEMPLATE", "{{ name }}"),
            ("TTL", "500ms"),
            ("SUMMARIZATION_THRESHOLD", "0.99"),
            ("MEMORY_MAX_AGE", "1h"),
            ("CONTEXT_TOKENS", "20000000"),
        ] {
            let error = load(name, value).unwrap_err();
            let key = format!("policy.{} (", name.to_lowercase());
            assert!(error.starts_with(&key), "{error}");
            let source = format!("RECOLLECT_POLICY__{name}");
            assert!(error.contains(&source), "{error}");
        }
    }
}
