//! How a conversation remembers, and which of several policies holds.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::limits;

/// What a conversation remembers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryMode {
    /// Nothing.
    None,
    /// Its newest messages.
    Window,
    /// A short window, and the best matches from long ago.
    #[default]
    Hybrid,
    /// Each node of a workflow has a memory of its own.
    Node,
    /// The summary of what came before, and what stands in full after it.
    Working,
    /// Observations of what came before, and what stands in full after them.
    Observational,
}

/// Whose messages a search may find.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryScope {
    /// The thread's.
    #[default]
    Thread,
    /// Those of all threads of the user in the app.
    User,
    /// Those of all threads of the app.
    App,
}

/// What is made of messages in the background.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExtractionStrategy {
    /// Nothing.
    #[default]
    None,
    /// Single facts.
    Discrete,
    /// What each stretch was about.
    Summary,
    /// What the user prefers.
    Preferences,
    /// What the app's own instructions say.
    Custom,
}

impl ExtractionStrategy {
    /// Reads a stored name.
    pub fn from_name(name: &str) -> Option<Self> {
        [
            Self::None,
            Self::Discrete,
            Self::Summary,
            Self::Preferences,
            Self::Custom,
        ]
        .into_iter()
        .find(|strategy| strategy.as_str() == name)
    }

    /// The name that is stored.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Discrete => "discrete",
            Self::Summary => "summary",
            Self::Preferences => "preferences",
            Self::Custom => "custom",
        }
    }
}

/// Where a value of a policy comes from, the most general first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PolicyLevel {
    /// The documented default.
    Default,
    /// The app's policy.
    App,
    /// The thread's policy.
    Thread,
    /// The request.
    Request,
}

/// Makes [`MemoryPolicy`] and what has to name each of its fields.
macro_rules! memory_policy {
    ($($(#[$doc:meta])* $field:ident: $type:ty,)*) => {
        /// What an app, a thread or a request says of its memory; `None` leaves
        /// a field to the next level. Every limit has been checked.
        #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
        #[serde(default)]
        pub struct MemoryPolicy {
            $(
                $(#[$doc])*
                #[serde(skip_serializing_if = "Option::is_none")]
                pub $field: Option<$type>,
            )*
        }

        impl MemoryPolicy {
            /// Takes over what a more specific level says, and notes it.
            fn take_over(&mut self, level: PolicyLevel, policy: &Self, origins: &mut Origins) {
                $(
                    if policy.$field.is_some() {
                        self.$field.clone_from(&policy.$field);
                        origins.note(stringify!($field), level);
                    }
                )*
                origins.0.sort_by_key(|(name, _)| {
                    [$(stringify!($field)),*].iter().position(|field| field == name)
                });
            }
        }
    };
}

memory_policy! {
    /// What a conversation remembers.
    mode: MemoryMode,
    /// Whether windows are bounded by `window_size`.
    window_enabled: bool,
    /// Newest messages in window and node mode: 1 to 500.
    window_size: u32,
    /// Newest messages in hybrid mode: 0 to 500.
    recent_window: u32,
    /// Best matches: 0 to 100.
    top_k: u32,
    /// Messages before each match: 0 to 20.
    neighbors_before: u32,
    /// Messages after each match: 0 to 20.
    neighbors_after: u32,
    /// Matches with a lower score are dropped: 0.0 to 1.0.
    min_score: f32,
    /// Whose messages a search may find.
    scope: MemoryScope,
    /// What stands for the user in text.
    user_label: String,
    /// What stands for the model in text.
    assistant_label: String,
    /// The template that the input's text is put into; it compiles.
    query_prompt_template: String,
    /// Whether requests without a session key share one thread of the app.
    shared_session_default: bool,
    /// What is made of messages in the background.
    extraction: ExtractionStrategy,
    /// The life of new threads.
    ttl: Duration,
    /// How long a node's memory stays after its last turn.
    node_ttl: Duration,
    /// Whether older turns are summarized.
    summarize: bool,
    /// The model's window in tokens, where its name does not tell: 1,000 to
    /// 10,000,000.
    context_window: u32,
    /// The share of the window at which older turns are summarized: 0.1 to 0.95.
    summarization_threshold: f32,
    /// Tokens of messages at which stretches are swapped for observations: 1,000
    /// to 1,000,000.
    observer_tokens: u32,
    /// Tokens of observations at which they are condensed: 1,000 to 1,000,000.
    reflector_tokens: u32,
    /// What a model is to extract under the custom strategy.
    extraction_instructions: String,
    /// Long-term memories of a context: 0 to 50.
    memories_top_k: u32,
    /// Whether an expired working memory is made anew.
    rebuild_expired: bool,
    /// How long memories stay after they were stored.
    memory_max_age: Duration,
    /// How long memories stay after they were last returned.
    memory_max_inactivity: Duration,
    /// The most memories of one user: 1 to 1,000,000.
    memory_max_count: u32,
}

impl MemoryPolicy {
    /// Whether it leaves everything to the next level.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The documented defaults.
    fn documented() -> Self {
        Self {
            mode: Some(MemoryMode::default()),
            window_enabled: Some(true),
            window_size: Some(limits::WINDOW_SIZE.unsigned_abs()),
            recent_window: Some(limits::RECENT_WINDOW.unsigned_abs()),
            top_k: Some(limits::TOP_K.unsigned_abs()),
            neighbors_before: Some(limits::NEIGHBORS_BEFORE.unsigned_abs()),
            neighbors_after: Some(limits::NEIGHBORS_AFTER.unsigned_abs()),
            min_score: Some(0.0),
            scope: Some(MemoryScope::default()),
            user_label: Some("Human".to_owned()),
            assistant_label: Some("Assistant".to_owned()),
            query_prompt_template: None,
            shared_session_default: Some(false),
            extraction: Some(ExtractionStrategy::default()),
            ttl: None,
            node_ttl: None,
            summarize: Some(true),
            context_window: Some(limits::CONTEXT_WINDOW.unsigned_abs()),
            summarization_threshold: Some(limits::SUMMARIZATION_THRESHOLD),
            observer_tokens: Some(limits::OBSERVER_TOKENS.unsigned_abs()),
            reflector_tokens: Some(limits::REFLECTOR_TOKENS.unsigned_abs()),
            extraction_instructions: None,
            memories_top_k: Some(limits::MEMORIES_TOP_K.unsigned_abs()),
            rebuild_expired: Some(false),
            memory_max_age: None,
            memory_max_inactivity: None,
            memory_max_count: Some(limits::MEMORY_COUNT.unsigned_abs()),
        }
    }
}

/// Fields with the level that they come from.
#[derive(Clone, Debug, Default, PartialEq)]
struct Origins(Vec<(&'static str, PolicyLevel)>);

impl Origins {
    fn note(&mut self, field: &'static str, level: PolicyLevel) {
        self.0.retain(|(name, _)| *name != field);
        self.0.push((field, level));
    }
}

/// The one policy that holds for a request.
#[derive(Clone, Debug, PartialEq)]
pub struct EffectivePolicy {
    policy: MemoryPolicy,
    origins: Origins,
}

impl EffectivePolicy {
    /// Lays the levels over the defaults; the most specific value wins.
    pub fn of(app: &MemoryPolicy, thread: &MemoryPolicy, request: &MemoryPolicy) -> Self {
        let mut policy = MemoryPolicy::documented();
        let mut origins = Origins::default();
        for (level, from) in [
            (PolicyLevel::App, app),
            (PolicyLevel::Thread, thread),
            (PolicyLevel::Request, request),
        ] {
            policy.take_over(level, from, &mut origins);
        }
        Self { policy, origins }
    }

    /// Every value; those that have a default are set.
    pub fn policy(&self) -> &MemoryPolicy {
        &self.policy
    }

    /// The fields that are not at their default, in the order of the contract,
    /// and where their values come from.
    pub fn origins(&self) -> &[(&'static str, PolicyLevel)] {
        &self.origins.0
    }

    /// What is remembered.
    pub fn mode(&self) -> MemoryMode {
        self.policy.mode.unwrap_or_default()
    }

    /// Whose messages a search may find.
    pub fn scope(&self) -> MemoryScope {
        self.policy.scope.unwrap_or_default()
    }

    /// The newest messages that window and node mode give; `None` where only
    /// the budget bounds them.
    pub fn window(&self) -> Option<u32> {
        match self.policy.window_enabled {
            Some(false) => None,
            _ => self.policy.window_size,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_specific_value_wins_and_is_told() {
        let app = MemoryPolicy {
            top_k: Some(8),
            window_size: Some(10),
            mode: Some(MemoryMode::Window),
            ..Default::default()
        };
        let thread = MemoryPolicy {
            window_size: Some(6),
            ..Default::default()
        };
        let request = MemoryPolicy {
            window_enabled: Some(false),
            ..Default::default()
        };
        let effective = EffectivePolicy::of(&app, &thread, &request);
        assert_eq!(effective.mode(), MemoryMode::Window);
        assert_eq!(effective.policy().top_k, Some(8));
        assert_eq!(effective.policy().window_size, Some(6));
        assert_eq!(effective.policy().recent_window, Some(4));
        assert_eq!(effective.window(), None);
        assert_eq!(
            effective.origins(),
            [
                ("mode", PolicyLevel::App),
                ("window_enabled", PolicyLevel::Request),
                ("window_size", PolicyLevel::Thread),
                ("top_k", PolicyLevel::App),
            ]
        );
    }

    #[test]
    fn without_policies_the_defaults_hold() {
        let none = MemoryPolicy::default();
        let effective = EffectivePolicy::of(&none, &none, &none);
        assert!(none.is_empty());
        assert_eq!(effective.origins(), []);
        assert_eq!(effective.mode(), MemoryMode::Hybrid);
        assert_eq!(effective.window(), Some(20));
    }

    #[test]
    fn a_policy_is_stored_without_what_it_leaves_open() {
        let policy = MemoryPolicy {
            mode: Some(MemoryMode::Node),
            ttl: Some(Duration::from_millis(1500)),
            ..Default::default()
        };
        let json = serde_json::to_value(&policy).unwrap();
        assert_eq!(json["mode"], "node");
        assert_eq!(json.as_object().unwrap().len(), 2);
        assert_eq!(
            serde_json::from_value::<MemoryPolicy>(json).unwrap(),
            policy
        );
    }
}
