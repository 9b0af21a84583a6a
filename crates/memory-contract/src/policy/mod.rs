//! Memory policies, and how the policies of several levels are resolved into one.

mod fields;
mod settings;
mod values;

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::file::{FileDelivery, FileType, ImageDetail};
use crate::limits;
use crate::memory::{MemoryKind, MemorySpace};
pub(crate) use fields::policy_fields;

pub use settings::{DurationText, PolicySettings, Setting};
pub use values::{
    ContextBudget, ExtractionStrategy, InputWording, Instructions, Lifetime, MemoryMode,
    MemoryScope, MinScore, PolicyLevel, Redaction, SensitiveKind,
};

macro_rules! define_policies {
    ($(
        $(#[$doc:meta])*
        $field:ident: $type:ty $(as $resolved:ty)? = $default:expr;
            read: $read:expr, $level:ident $(, setting: $(#[$setting:meta])+)?;
    )*) => {
        /// The policy of one level: an app, a thread or a request. `None` leaves a
        /// field to the more general levels. Every value is within its limits.
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
            /// The names of all fields, in the order of the contract.
            pub const FIELDS: &[&str] = &[$(stringify!($field),)*];

            /// The names of the fields that it sets, in the order of the contract.
            pub fn set_fields(&self) -> Vec<&'static str> {
                let fields = [$((stringify!($field), self.$field.is_some()),)*];
                fields.into_iter().filter_map(|(name, set)| set.then_some(name)).collect()
            }

            /// Clears the fields that have the same value as in `other`.
            pub fn clear_equal(&mut self, other: &Self) {
                $(if self.$field == other.$field {
                    self.$field = None;
                })*
            }

            /// Clears the fields that `keep` rejects.
            pub fn retain(&mut self, keep: impl Fn(&str) -> bool) {
                $(if !keep(stringify!($field)) {
                    self.$field = None;
                })*
            }
        }

        /// The policy that holds for a request: every field has the value of the most
        /// specific level that sets it, or else its documented default.
        #[derive(Clone, Debug, PartialEq)]
        pub struct ResolvedPolicy {
            $(
                $(#[$doc])*
                pub $field: resolved_type!($type $(, $resolved)?),
            )*
            /// The fields that a level sets, in the order of the contract, each with the
            /// level that its value comes from.
            pub origins: Vec<(&'static str, PolicyLevel)>,
        }

        impl ResolvedPolicy {
            /// Lays the levels over the defaults.
            pub fn resolve(levels: &[(PolicyLevel, &MemoryPolicy)]) -> Self {
                let mut origins = Vec::new();
                let resolved = Self {
                    $(
                        $field: match levels
                            .iter()
                            .filter(|(_, policy)| policy.$field.is_some())
                            .max_by_key(|(level, _)| *level)
                            .and_then(|(level, policy)| Some((*level, policy.$field.clone()?)))
                        {
                            Some((level, value)) => {
                                origins.push((stringify!($field), level));
                                value.into()
                            }
                            None => $default,
                        },
                    )*
                    origins,
                };
                resolved.with_default_scope().with_strictest_redaction(levels)
            }
        }

        impl From<ResolvedPolicy> for MemoryPolicy {
            /// States every value, as if one level had set them all.
            fn from(resolved: ResolvedPolicy) -> Self {
                Self {
                    $($field: Option::from(resolved.$field),)*
                }
            }
        }
    };
}

macro_rules! resolved_type {
    ($type:ty) => {
        $type
    };
    ($type:ty, $resolved:ty) => {
        $resolved
    };
}

policy_fields!(define_policies);

/// A change of a stored policy.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PolicyChange {
    /// Whether the fields that `set` leaves unset are cleared.
    pub replace: bool,
    /// The new values.
    pub set: MemoryPolicy,
    /// The names of the fields to clear.
    pub clear: Vec<&'static str>,
}

impl PolicyChange {
    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        !self.replace && self.set.is_empty() && self.clear.is_empty()
    }
}

/// The fields of a policy that an update changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicyFields {
    /// Those that the update sets.
    Set,
    /// All: the update replaces the policy.
    All,
    /// Those with these names. The ones that the update leaves unset are cleared.
    Named(Vec<&'static str>),
}

impl PolicyFields {
    /// Adds what a path of an update mask names: `policy`, or `policy.` and a field.
    /// Returns whether the path names either.
    pub fn add(&mut self, path: &str) -> bool {
        if path == "policy" {
            *self = Self::All;
            return true;
        }
        let field = path.strip_prefix("policy.");
        let mut names = MemoryPolicy::FIELDS.iter().copied();
        let Some(name) = names.find(|name| field == Some(*name)) else {
            return false;
        };
        match self {
            Self::All => {}
            Self::Named(names) => names.push(name),
            Self::Set => *self = Self::Named(vec![name]),
        }
        true
    }

    /// Whether the update concerns the field `name`.
    pub fn contains(&self, name: &str) -> bool {
        match self {
            Self::Set | Self::All => true,
            Self::Named(names) => names.contains(&name),
        }
    }
}

impl MemoryPolicy {
    /// Whether it leaves every field to the more general levels.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl Default for ResolvedPolicy {
    /// The documented defaults.
    fn default() -> Self {
        Self::resolve(&[])
    }
}

impl ResolvedPolicy {
    /// The most messages that window and node mode give; `None` where only the budget
    /// bounds them.
    pub fn window(&self) -> Option<u32> {
        self.window_enabled.then_some(self.window_size)
    }
}

impl ResolvedPolicy {
    /// Where no level sets a scope, an app with a memory space searches the space.
    pub(crate) fn with_default_scope(mut self) -> Self {
        let is_set = self.origins.iter().any(|(field, _)| *field == "scope");
        if !is_set && self.memory_space != MemorySpace::App {
            self.scope = MemoryScope::Space;
        }
        self
    }

    /// No level is less strict than the more general ones: an app cannot switch off what the server
    /// asks for.
    pub(crate) fn with_strictest_redaction(
        mut self,
        levels: &[(PolicyLevel, &MemoryPolicy)],
    ) -> Self {
        let stated = levels
            .iter()
            .filter_map(|(level, policy)| Some((policy.redaction?, *level)));
        if let Some((redaction, level)) = stated.max()
            && redaction > self.redaction
        {
            self.redaction = redaction;
            let origins = self
                .origins
                .iter_mut()
                .filter(|(field, _)| *field == "redaction");
            origins.for_each(|origin| origin.1 = level);
        }
        self
    }

    /// The memory space that a search extends over; `None`: the app alone.
    pub fn searched_space(&self) -> Option<&str> {
        match self.scope {
            MemoryScope::Space => self.memory_space.name(),
            MemoryScope::Thread | MemoryScope::User | MemoryScope::App => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_specific_value_wins_and_its_level_is_noted() {
        let app = MemoryPolicy {
            top_k: Some(8),
            window_size: Some(10),
            mode: Some(MemoryMode::Window),
            ttl: Some(Duration::from_secs(60)),
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
        let levels = [
            (PolicyLevel::Request, &request),
            (PolicyLevel::App, &app),
            (PolicyLevel::Thread, &thread),
        ];
        let resolved = ResolvedPolicy::resolve(&levels);
        let expected = ResolvedPolicy {
            mode: MemoryMode::Window,
            window_enabled: false,
            window_size: 6,
            top_k: 8,
            ttl: Lifetime::Limited(Duration::from_secs(60)),
            origins: vec![
                ("mode", PolicyLevel::App),
                ("window_enabled", PolicyLevel::Request),
                ("window_size", PolicyLevel::Thread),
                ("top_k", PolicyLevel::App),
                ("ttl", PolicyLevel::App),
            ],
            ..ResolvedPolicy::default()
        };
        assert_eq!(resolved, expected);
        assert_eq!(resolved.window(), None);
    }

    #[test]
    fn without_policies_the_defaults_hold() {
        let resolved = ResolvedPolicy::default();
        assert_eq!(resolved.origins, []);
        assert_eq!(resolved.mode, MemoryMode::Hybrid);
        assert_eq!(resolved.window(), Some(20));
        assert_eq!(resolved.recent_window, 4);
        let stated = MemoryPolicy::from(resolved);
        assert_eq!(stated.top_k, Some(limits::TOP_K.unsigned_abs()));
        assert_eq!(stated.ttl, None);
        assert_eq!(stated.query_prompt_template, None);
        assert_eq!(stated.extraction_instructions, None);
    }

    #[test]
    fn only_the_fields_that_are_set_are_stored() {
        let policy = MemoryPolicy {
            mode: Some(MemoryMode::Node),
            ttl: Some(Duration::from_millis(1500)),
            ..Default::default()
        };
        let json = serde_json::to_value(&policy).unwrap();
        let stored = serde_json::json!({
            "mode": "node",
            "ttl": { "secs": 1, "nanos": 500_000_000 },
        });
        assert_eq!(json, stored);
        assert_eq!(
            serde_json::from_value::<MemoryPolicy>(json).unwrap(),
            policy
        );
    }

    #[test]
    fn an_app_with_a_space_searches_it_unless_a_level_sets_a_scope() {
        let searched = |space: Option<&str>, scope: Option<MemoryScope>| {
            let app = MemoryPolicy {
                memory_space: space.map(str::to_owned),
                ..MemoryPolicy::default()
            };
            let request = MemoryPolicy {
                scope,
                ..MemoryPolicy::default()
            };
            let levels = [(PolicyLevel::App, &app), (PolicyLevel::Request, &request)];
            let resolved = ResolvedPolicy::resolve(&levels);
            (resolved.scope, resolved.searched_space().map(str::to_owned))
        };
        let desk = Some("desk".to_owned());
        assert_eq!(searched(None, None), (MemoryScope::User, None));
        assert_eq!(searched(Some("desk"), None), (MemoryScope::Space, desk));
        for narrower in [MemoryScope::Thread, MemoryScope::User, MemoryScope::App] {
            let found = searched(Some("desk"), Some(narrower));
            assert_eq!(found, (narrower, None));
        }
        let without = searched(None, Some(MemoryScope::Space));
        assert_eq!(without, (MemoryScope::Space, None));
    }
}
