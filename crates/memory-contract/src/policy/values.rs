//! The values of policies.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::limits;

/// The memory that a conversation's contexts are built from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryMode {
    /// No memory.
    None,
    /// The newest messages.
    Window,
    /// A short window of the newest messages, and the best matches from before it.
    #[default]
    Hybrid,
    /// A separate memory for each node of a workflow.
    Node,
    /// A summary of older messages, and newer messages in full.
    Working,
    /// Observations of older messages, and newer messages in full.
    Observational,
}

impl MemoryMode {
    /// Whether messages and memories that match a query belong to what a model is given.
    pub fn searches(self) -> bool {
        match self {
            Self::Hybrid | Self::Working | Self::Observational => true,
            Self::None | Self::Window | Self::Node => false,
        }
    }
}

/// The messages that a search may find.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryScope {
    /// Those of the thread.
    Thread,
    /// Those of all threads of the user in the app; in a thread without a user those of
    /// the thread.
    #[default]
    User,
    /// Those of all threads of the app.
    App,
    /// Those of all threads of the user in the apps that share the app's memory space;
    /// without a space those of the user in the app.
    Space,
}

/// Which memories are extracted from messages in the background.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExtractionStrategy {
    /// No extraction.
    #[default]
    None,
    /// Separate facts.
    Discrete,
    /// A running summary, kept as one memory.
    Summary,
    /// The user's preferences.
    Preferences,
    /// Facts selected by the app's own instructions.
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

    /// The stored name.
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

/// The level that sets a value of a policy, the most general first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PolicyLevel {
    /// The documented default.
    Default,
    /// The configuration of the server.
    Server,
    /// The app's policy.
    App,
    /// The thread's policy.
    Thread,
    /// The policy in the request itself.
    Request,
}

/// How long something is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lifetime {
    /// Until it is deleted.
    Unlimited,
    /// At most this long.
    Limited(Duration),
}

impl From<Duration> for Lifetime {
    fn from(limit: Duration) -> Self {
        Self::Limited(limit)
    }
}

impl From<Lifetime> for Option<Duration> {
    fn from(lifetime: Lifetime) -> Self {
        match lifetime {
            Lifetime::Unlimited => None,
            Lifetime::Limited(limit) => Some(limit),
        }
    }
}

/// How the text of an input is worded for the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InputWording {
    /// As the user wrote it.
    Verbatim,
    /// Rendered with a template, which compiles.
    Template(String),
}

impl From<String> for InputWording {
    fn from(template: String) -> Self {
        Self::Template(template)
    }
}

impl From<InputWording> for Option<String> {
    fn from(wording: InputWording) -> Self {
        match wording {
            InputWording::Verbatim => None,
            InputWording::Template(template) => Some(template),
        }
    }
}

/// The token budget of contexts whose requests set none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContextBudget {
    /// A budget that depends on the mode.
    ByMode,
    /// So many tokens.
    Tokens(u32),
}

impl From<u32> for ContextBudget {
    fn from(tokens: u32) -> Self {
        Self::Tokens(tokens)
    }
}

impl From<ContextBudget> for Option<u32> {
    fn from(budget: ContextBudget) -> Self {
        match budget {
            ContextBudget::ByMode => None,
            ContextBudget::Tokens(tokens) => Some(tokens),
        }
    }
}

/// The least score of a match.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum MinScore {
    /// 0 in recall, which returns the scores; [`limits::CONTEXT_MIN_SCORE`] in a context.
    ByCall,
    /// The same in both.
    Set(f32),
}

impl MinScore {
    /// The least score in recall.
    pub fn in_recall(self) -> f32 {
        match self {
            Self::ByCall => 0.0,
            Self::Set(score) => score,
        }
    }

    /// The least score in a context.
    pub fn in_context(self) -> f32 {
        match self {
            Self::ByCall => limits::CONTEXT_MIN_SCORE,
            Self::Set(score) => score,
        }
    }
}

impl From<f32> for MinScore {
    fn from(score: f32) -> Self {
        Self::Set(score)
    }
}

impl From<MinScore> for Option<f32> {
    fn from(score: MinScore) -> Self {
        match score {
            MinScore::ByCall => None,
            MinScore::Set(score) => Some(score),
        }
    }
}

/// What a model is asked to extract under [`ExtractionStrategy::Custom`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Instructions {
    /// No instructions: the strategy falls back to [`ExtractionStrategy::Discrete`].
    None,
    /// The app's own words.
    Given(String),
}

impl Instructions {
    /// The text for the model; empty without instructions.
    pub fn as_str(&self) -> &str {
        match self {
            Self::None => "",
            Self::Given(text) => text,
        }
    }
}

impl From<String> for Instructions {
    fn from(text: String) -> Self {
        Self::Given(text)
    }
}

impl From<Instructions> for Option<String> {
    fn from(instructions: Instructions) -> Self {
        match instructions {
            Instructions::None => None,
            Instructions::Given(text) => Some(text),
        }
    }
}

/// What happens to secrets and personal data in the texts of requests.
/// The later ones are stricter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Redaction {
    /// Nothing.
    #[default]
    Off,
    /// They are replaced by their names.
    Replace,
    /// The request is refused.
    Refuse,
}

/// A kind of secrets or personal data.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SensitiveKind {
    /// A secret: a key or token of a known provider, a private key, a JSON Web Token, a password in
    /// a URL, or a random value that is assigned to a password, key or token.
    Secret,
    /// The number of a payment card or a bank account (IBAN), with valid check digits.
    Card,
    /// An e-mail address.
    Email,
    /// A telephone number with its country code, in the North American form, or behind a word such
    /// as "phone".
    Phone,
}

impl SensitiveKind {
    /// All kinds.
    pub const ALL: [Self; 4] = [Self::Secret, Self::Card, Self::Email, Self::Phone];
    /// The kinds that are looked for unless a policy says otherwise.
    pub const DEFAULT: [Self; 2] = [Self::Secret, Self::Card];
}
