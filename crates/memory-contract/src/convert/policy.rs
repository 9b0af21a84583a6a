//! Converts policies.

use std::time::Duration;

use super::file::{delivery_from, detail_from, file_types_from};
use super::{duration_in, exact_duration, optional_float};
use crate::{
    ExtractionStrategy, Invalid, InvalidFields, MemoryMode, MemoryPolicy, MemoryScope,
    PolicyChange, PolicyFields, PolicyLevel, ResolvedPolicy, check, limits, proto,
};

/// Reads the policy of a level. `compiles` checks the template, whose language only the
/// caller knows.
///
/// # Errors
/// Every field over its limit, and every field that the level may not set, each with the
/// path below `field`.
pub fn policy_from(
    field: &str,
    level: PolicyLevel,
    policy: Option<proto::MemoryPolicy>,
    compiles: impl FnOnce(&str) -> Result<(), Invalid>,
) -> Result<MemoryPolicy, InvalidFields> {
    let Some(policy) = policy else {
        return Ok(MemoryPolicy::default());
    };
    let mut wrong = Wrong::default();
    let policy = fields_from(level, policy, compiles, &mut wrong);
    wrong.within(field)?;
    Ok(policy)
}

/// Reads a change of a stored policy: the fields `fields` of `policy`, whose path in the
/// request is `field`. The other fields are ignored.
///
/// # Errors
/// As [`policy_from`].
pub fn policy_change_from(
    field: &str,
    level: PolicyLevel,
    policy: Option<proto::MemoryPolicy>,
    fields: &PolicyFields,
    compiles: impl FnOnce(&str) -> Result<(), Invalid>,
) -> Result<PolicyChange, InvalidFields> {
    let mut wrong = Wrong::default();
    let mut set = fields_from(level, policy.unwrap_or_default(), compiles, &mut wrong);
    wrong.0.retain(|invalid| fields.contains(&invalid.field));
    wrong.within(field)?;
    set.retain(|name| fields.contains(name));
    let new = set.set_fields();
    let clear = match fields {
        PolicyFields::Set | PolicyFields::All => Vec::new(),
        PolicyFields::Named(names) => {
            let names = names.iter().copied();
            names.filter(|name| !new.contains(name)).collect()
        }
    };
    Ok(PolicyChange {
        replace: *fields == PolicyFields::All,
        set,
        clear,
    })
}

/// Collects the errors of fields.
#[derive(Default)]
struct Wrong(Vec<Invalid>);

impl Wrong {
    /// Takes a field; a wrong one is collected and left unset.
    fn take<T: Default>(&mut self, field: Result<T, Invalid>) -> T {
        field.unwrap_or_else(|invalid| {
            self.0.push(invalid);
            T::default()
        })
    }

    /// Fails with every error, each with its path below `field`.
    fn within(self, field: &str) -> Result<(), InvalidFields> {
        match self.0.is_empty() {
            true => Ok(()),
            false => {
                let all = self.0.into_iter().map(|invalid| invalid.within(field));
                Err(InvalidFields(all.collect()))
            }
        }
    }
}

fn fields_from(
    level: PolicyLevel,
    policy: proto::MemoryPolicy,
    compiles: impl FnOnce(&str) -> Result<(), Invalid>,
    wrong: &mut Wrong,
) -> MemoryPolicy {
    let proto::MemoryPolicy {
        mode,
        window_enabled,
        window_size,
        recent_window,
        top_k,
        neighbors_before,
        neighbors_after,
        min_score,
        scope,
        user_label,
        assistant_label,
        query_prompt_template,
        shared_session_default,
        extraction,
        ttl,
        node_ttl,
        summarize,
        context_window,
        summarization_threshold,
        observer_tokens,
        reflector_tokens,
        extraction_instructions,
        memories_top_k,
        rebuild_expired,
        memory_max_age,
        memory_max_inactivity,
        memory_max_count,
        file_delivery,
        file_types,
        image_detail,
        flow_session_default,
        memory_space,
        context_tokens,
    } = policy;
    let of_app = matches!(level, PolicyLevel::App | PolicyLevel::Server);
    let of_what_stays = level != PolicyLevel::Request;
    let (window, top, neighbors) = (limits::WINDOW_MAX, limits::TOP_K_MAX, limits::NEIGHBORS_MAX);
    MemoryPolicy {
        mode: wrong.take(mode_from(mode)),
        window_enabled,
        window_size: wrong.take(number("window_size", window_size, 1, window)),
        recent_window: wrong.take(number("recent_window", recent_window, 0, window)),
        top_k: wrong.take(number("top_k", top_k, 0, top)),
        neighbors_before: wrong.take(number("neighbors_before", neighbors_before, 0, neighbors)),
        neighbors_after: wrong.take(number("neighbors_after", neighbors_after, 0, neighbors)),
        min_score: wrong.take(optional_float("min_score", min_score, 0.0, 1.0)),
        scope: wrong.take(scope_from("scope", scope)),
        user_label: wrong.take(label("user_label", user_label)),
        assistant_label: wrong.take(label("assistant_label", assistant_label)),
        query_prompt_template: wrong.take(template(query_prompt_template, compiles)),
        shared_session_default: wrong.take(only(
            "shared_session_default",
            shared_session_default,
            of_app,
            "an app",
        )),
        extraction: wrong.take(extraction_from(extraction)),
        ttl: wrong.take(only("ttl", ttl, of_app, "an app").and_then(|ttl| life("ttl", ttl))),
        node_ttl: wrong.take(
            only("node_ttl", node_ttl, of_what_stays, "an app or a thread")
                .and_then(|ttl| life("node_ttl", ttl)),
        ),
        summarize,
        context_window: wrong.take(number(
            "context_window",
            context_window,
            limits::CONTEXT_WINDOW_MIN,
            limits::CONTEXT_WINDOW_MAX,
        )),
        summarization_threshold: wrong.take(optional_float(
            "summarization_threshold",
            summarization_threshold,
            limits::SUMMARIZATION_THRESHOLD_MIN,
            limits::SUMMARIZATION_THRESHOLD_MAX,
        )),
        observer_tokens: wrong.take(observed("observer_tokens", observer_tokens)),
        reflector_tokens: wrong.take(observed("reflector_tokens", reflector_tokens)),
        extraction_instructions: wrong.take(instructions(extraction_instructions)),
        memories_top_k: wrong.take(number(
            "memories_top_k",
            memories_top_k,
            0,
            limits::MEMORIES_TOP_K_MAX,
        )),
        rebuild_expired,
        memory_max_age: wrong.take(
            only("memory_max_age", memory_max_age, of_app, "an app")
                .and_then(|age| kept("memory_max_age", age)),
        ),
        memory_max_inactivity: wrong.take(
            only(
                "memory_max_inactivity",
                memory_max_inactivity,
                of_app,
                "an app",
            )
            .and_then(|time| kept("memory_max_inactivity", time)),
        ),
        memory_max_count: wrong.take(
            only("memory_max_count", memory_max_count, of_app, "an app")
                .and_then(|count| number("memory_max_count", count, 1, limits::MEMORY_COUNT_MAX)),
        ),
        file_delivery: wrong.take(delivery_from(file_delivery)),
        file_types: wrong.take(file_types_from(file_types)),
        image_detail: wrong.take(detail_from(image_detail)),
        flow_session_default: wrong.take(only(
            "flow_session_default",
            flow_session_default,
            of_app,
            "an app",
        )),
        memory_space: wrong.take(space(memory_space, of_app)),
        context_tokens: wrong.take(number(
            "context_tokens",
            context_tokens,
            1,
            limits::BUDGET_TOKENS,
        )),
    }
}

fn instructions(value: Option<String>) -> Result<Option<String>, Invalid> {
    value
        .map(|text| check::long_text("extraction_instructions", text, limits::TEMPLATE_BYTES))
        .transpose()
}

/// Refuses a field that the level may not set.
fn only<T>(
    field: &str,
    value: Option<T>,
    allowed: bool,
    whose: &str,
) -> Result<Option<T>, Invalid> {
    match value.is_some() && !allowed {
        true => Err(Invalid::new(
            field,
            format!("may only be set in the policy of {whose}"),
        )),
        false => Ok(value),
    }
}

fn space(value: Option<String>, allowed: bool) -> Result<Option<String>, Invalid> {
    let field = "memory_space";
    only(field, value, allowed, "an app")?
        .map(|name| check::required_text(field, name, limits::MEMORY_SPACE_CHARS))
        .transpose()
}

fn template(
    value: Option<String>,
    compiles: impl FnOnce(&str) -> Result<(), Invalid>,
) -> Result<Option<String>, Invalid> {
    let Some(value) = value else {
        return Ok(None);
    };
    let value = check::long_text("query_prompt_template", value, limits::TEMPLATE_BYTES)?;
    compiles(&value)?;
    Ok(Some(value))
}

fn number(field: &str, value: Option<i32>, min: i32, max: i32) -> Result<Option<u32>, Invalid> {
    value
        .map(|value| Ok(check::range(field, value, min, max)?.unsigned_abs()))
        .transpose()
}

fn life(field: &str, value: Option<prost_types::Duration>) -> Result<Option<Duration>, Invalid> {
    duration_in(field, value, limits::TTL_MIN, limits::TTL_MAX)
}

fn observed(field: &str, value: Option<i32>) -> Result<Option<u32>, Invalid> {
    number(
        field,
        value,
        limits::OBSERVATION_TOKENS_MIN,
        limits::OBSERVATION_TOKENS_MAX,
    )
}

fn kept(field: &str, value: Option<prost_types::Duration>) -> Result<Option<Duration>, Invalid> {
    duration_in(field, value, limits::KEPT_MIN, limits::KEPT_MAX)
}

fn label(field: &str, value: Option<String>) -> Result<Option<String>, Invalid> {
    let Some(value) = value else {
        return Ok(None);
    };
    let value = check::required_text(field, value, limits::LABEL_CHARS)?;
    let breaks = |letter: char| letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}');
    if value.chars().any(breaks) {
        return Err(Invalid::new(field, "must be on one line"));
    }
    Ok(Some(value))
}

fn mode_from(mode: i32) -> Result<Option<MemoryMode>, Invalid> {
    match proto::MemoryMode::try_from(mode) {
        Ok(proto::MemoryMode::Unspecified) => Ok(None),
        Ok(proto::MemoryMode::None) => Ok(Some(MemoryMode::None)),
        Ok(proto::MemoryMode::Window) => Ok(Some(MemoryMode::Window)),
        Ok(proto::MemoryMode::Hybrid) => Ok(Some(MemoryMode::Hybrid)),
        Ok(proto::MemoryMode::Node) => Ok(Some(MemoryMode::Node)),
        Ok(proto::MemoryMode::Working) => Ok(Some(MemoryMode::Working)),
        Ok(proto::MemoryMode::Observational) => Ok(Some(MemoryMode::Observational)),
        Err(_) => Err(Invalid::new(
            "mode",
            "must be MEMORY_MODE_NONE, _WINDOW, _HYBRID, _NODE, _WORKING or _OBSERVATIONAL",
        )),
    }
}

/// Reads a scope; unspecified is `None`.
///
/// # Errors
/// An unknown scope.
pub fn scope_from(field: &str, scope: i32) -> Result<Option<MemoryScope>, Invalid> {
    match proto::RecallScope::try_from(scope) {
        Ok(proto::RecallScope::Unspecified) => Ok(None),
        Ok(proto::RecallScope::Thread) => Ok(Some(MemoryScope::Thread)),
        Ok(proto::RecallScope::User) => Ok(Some(MemoryScope::User)),
        Ok(proto::RecallScope::App) => Ok(Some(MemoryScope::App)),
        Ok(proto::RecallScope::Space) => Ok(Some(MemoryScope::Space)),
        Err(_) => Err(Invalid::new(
            field,
            "must be RECALL_SCOPE_THREAD, _USER, _APP or _SPACE",
        )),
    }
}

pub(super) fn extraction_from(strategy: i32) -> Result<Option<ExtractionStrategy>, Invalid> {
    use proto::ExtractionStrategy as Wire;

    match Wire::try_from(strategy) {
        Ok(Wire::Unspecified) => Ok(None),
        Ok(Wire::None) => Ok(Some(ExtractionStrategy::None)),
        Ok(Wire::Discrete) => Ok(Some(ExtractionStrategy::Discrete)),
        Ok(Wire::Summary) => Ok(Some(ExtractionStrategy::Summary)),
        Ok(Wire::Preferences) => Ok(Some(ExtractionStrategy::Preferences)),
        Ok(Wire::Custom) => Ok(Some(ExtractionStrategy::Custom)),
        Err(_) => Err(Invalid::new(
            "extraction",
            "must be EXTRACTION_STRATEGY_NONE, _DISCRETE, _SUMMARY, _PREFERENCES or _CUSTOM",
        )),
    }
}

impl From<MemoryMode> for proto::MemoryMode {
    fn from(mode: MemoryMode) -> Self {
        match mode {
            MemoryMode::None => Self::None,
            MemoryMode::Window => Self::Window,
            MemoryMode::Hybrid => Self::Hybrid,
            MemoryMode::Node => Self::Node,
            MemoryMode::Working => Self::Working,
            MemoryMode::Observational => Self::Observational,
        }
    }
}

impl From<MemoryScope> for proto::RecallScope {
    fn from(scope: MemoryScope) -> Self {
        match scope {
            MemoryScope::Thread => Self::Thread,
            MemoryScope::User => Self::User,
            MemoryScope::App => Self::App,
            MemoryScope::Space => Self::Space,
        }
    }
}

impl From<ExtractionStrategy> for proto::ExtractionStrategy {
    fn from(strategy: ExtractionStrategy) -> Self {
        match strategy {
            ExtractionStrategy::None => Self::None,
            ExtractionStrategy::Discrete => Self::Discrete,
            ExtractionStrategy::Summary => Self::Summary,
            ExtractionStrategy::Preferences => Self::Preferences,
            ExtractionStrategy::Custom => Self::Custom,
        }
    }
}

impl From<PolicyLevel> for proto::PolicyLevel {
    fn from(level: PolicyLevel) -> Self {
        match level {
            PolicyLevel::Default => Self::Default,
            PolicyLevel::Server => Self::Server,
            PolicyLevel::App => Self::App,
            PolicyLevel::Thread => Self::Thread,
            PolicyLevel::Request => Self::Request,
        }
    }
}

impl From<MemoryPolicy> for proto::MemoryPolicy {
    fn from(policy: MemoryPolicy) -> Self {
        let MemoryPolicy {
            mode,
            window_enabled,
            window_size,
            recent_window,
            top_k,
            neighbors_before,
            neighbors_after,
            min_score,
            scope,
            user_label,
            assistant_label,
            query_prompt_template,
            shared_session_default,
            extraction,
            ttl,
            node_ttl,
            summarize,
            context_window,
            summarization_threshold,
            observer_tokens,
            reflector_tokens,
            extraction_instructions,
            memories_top_k,
            rebuild_expired,
            memory_max_age,
            memory_max_inactivity,
            memory_max_count,
            file_delivery,
            file_types,
            image_detail,
            flow_session_default,
            memory_space,
            context_tokens,
        } = policy;
        let number =
            |value: Option<u32>| value.map(|value| i32::try_from(value).unwrap_or(i32::MAX));
        Self {
            mode: mode.map_or(0, |mode| proto::MemoryMode::from(mode).into()),
            window_enabled,
            window_size: number(window_size),
            recent_window: number(recent_window),
            top_k: number(top_k),
            neighbors_before: number(neighbors_before),
            neighbors_after: number(neighbors_after),
            min_score,
            scope: scope.map_or(0, |scope| proto::RecallScope::from(scope).into()),
            user_label,
            assistant_label,
            query_prompt_template,
            shared_session_default,
            extraction: extraction.map_or(0, |strategy| {
                proto::ExtractionStrategy::from(strategy).into()
            }),
            ttl: ttl.map(exact_duration),
            node_ttl: node_ttl.map(exact_duration),
            summarize,
            context_window: number(context_window),
            summarization_threshold,
            observer_tokens: number(observer_tokens),
            reflector_tokens: number(reflector_tokens),
            extraction_instructions,
            memories_top_k: number(memories_top_k),
            rebuild_expired,
            memory_max_age: memory_max_age.map(exact_duration),
            memory_max_inactivity: memory_max_inactivity.map(exact_duration),
            memory_max_count: number(memory_max_count),
            file_delivery: file_delivery
                .map_or(0, |delivery| proto::FileDelivery::from(delivery).into()),
            file_types: file_types
                .into_iter()
                .flatten()
                .map(|kind| proto::FileType::from(kind).into())
                .collect(),
            image_detail: image_detail.map_or(0, |detail| proto::ImageDetail::from(detail).into()),
            flow_session_default,
            memory_space,
            context_tokens: number(context_tokens),
        }
    }
}

impl From<ResolvedPolicy> for proto::EffectivePolicy {
    fn from(resolved: ResolvedPolicy) -> Self {
        let origins = resolved
            .origins
            .iter()
            .map(|(field, level)| proto::PolicyOrigin {
                field: (*field).to_owned(),
                level: proto::PolicyLevel::from(*level).into(),
            })
            .collect();
        Self {
            origins,
            policy: Some(MemoryPolicy::from(resolved).into()),
        }
    }
}
