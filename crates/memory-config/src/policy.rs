//! The section `policy`: what the server sets for the policies of all apps.

use memory_context::template::QueryTemplate;
use memory_contract::{
    InvalidFields,
    convert::policy_from,
    policy::{MemoryPolicy, PolicyLevel, PolicySettings, ResolvedPolicy},
};
use serde::{Deserialize, Serialize};

use crate::error::ConfigError;

/// Defaults of the fields of `MemoryPolicy`, where neither app, thread nor request sets
/// them. A value that equals the documented default counts as not set, except `scope`.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PolicyConfig(PolicySettings);

impl PolicyConfig {
    /// The fields that differ from the documented defaults, and the scope where it is set,
    /// within the limits of `MemoryPolicy`.
    ///
    /// # Errors
    /// The first key whose value a policy cannot have.
    pub fn policy(&self) -> Result<MemoryPolicy, ConfigError> {
        let Self(settings) = self;
        let compiles = |template: &str| QueryTemplate::compile(template).map(drop);
        let stated = Some(settings.into());
        let policy = policy_from("policy", PolicyLevel::Server, stated, compiles);
        let mut policy = policy.map_err(|InvalidFields(all)| {
            let first = all.into_iter().next();
            first.map_or_else(
                || ConfigError::value("policy", "cannot be used"),
                |invalid| ConfigError::value(&invalid.field, invalid.problem),
            )
        })?;
        policy.clear_equal(&ResolvedPolicy::default().into());
        // An app's memory space changes the default, not a set scope.
        policy.scope = settings.scope;
        Ok(policy)
    }
}

#[cfg(test)]
mod tests {
    use memory_contract::policy::MemoryScope;

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
            ("redaction", "refuse"),
            ("redacted_kinds", "[email, phone]"),
            ("profile_tokens", "400"),
        ];
        for (name, value) in values {
            let policy = load(&name.to_uppercase(), value).unwrap();
            assert_eq!(policy.set_fields(), [name]);
        }
        // Apps name a space on purpose, and kinds are their own, so a server cannot.
        let mut tested: Vec<&str> = values.iter().map(|(name, _)| *name).collect();
        tested.extend(["memory_space", "memory_kinds", "never_keep"]);
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
