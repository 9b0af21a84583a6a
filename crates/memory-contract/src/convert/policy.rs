//! Converts policies.

use std::time::Duration;

use prost_types::Duration as ProtoDuration;

use super::file::{delivery_from, detail_from, file_types_from};
use super::kind::{memory_kinds_from, never_keep_from};
use super::{duration_in, exact_duration, optional_float};
use crate::policy::policy_fields;
use crate::{
    Invalid, InvalidFields, check,
    file::{FileDelivery, FileType, ImageDetail},
    limits,
    memory::MemoryKind,
    policy::{
        ExtractionStrategy, MemoryMode, MemoryPolicy, MemoryScope, PolicyChange, PolicyFields,
        PolicyLevel, Redaction, ResolvedPolicy, SensitiveKind,
    },
    proto,
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
    wrong
        .0
        .retain(|invalid| fields.contains(field_of(&invalid.field)));
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

/// The field of a policy that a path leads into, such as `memory_kinds` of `memory_kinds[0].name`.
fn field_of(path: &str) -> &str {
    path.split(['.', '[']).next().unwrap_or_default()
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

/// Reads the fields of a level. What is wrong is collected in `wrong`.
fn fields_from(
    level: PolicyLevel,
    policy: proto::MemoryPolicy,
    compiles: impl FnOnce(&str) -> Result<(), Invalid>,
    wrong: &mut Wrong,
) -> MemoryPolicy {
    let mut policy = read_fields(level, policy, wrong);
    let template = policy.query_prompt_template.take();
    policy.query_prompt_template = wrong.take(match template {
        Some(template) => compiles(&template).map(|()| Some(template)),
        None => Ok(None),
    });
    policy
}

macro_rules! convert_fields {
    ($(
        $(#[$doc:meta])*
        $field:ident: $type:ty $(as $resolved:ty)? = $default:expr;
            read: $read:expr, $level:ident $(, setting: $(#[$setting:meta])+)?;
    )*) => {
        fn read_fields(
            level: PolicyLevel,
            policy: proto::MemoryPolicy,
            wrong: &mut Wrong,
        ) -> MemoryPolicy {
            let proto::MemoryPolicy { $($field,)* } = policy;
            MemoryPolicy {
                $($field: {
                    let name = stringify!($field);
                    let value = ($read)(name, $field);
                    wrong.take(value.and_then(|value| $level(name, level, value)))
                },)*
            }
        }

        impl From<MemoryPolicy> for proto::MemoryPolicy {
            fn from(policy: MemoryPolicy) -> Self {
                let MemoryPolicy { $($field,)* } = policy;
                Self { $($field: Wire::wire($field),)* }
            }
        }
    };
}

policy_fields!(convert_fields);

/// A field that each level may set.
#[expect(clippy::unnecessary_wraps, reason = "one of the checks of levels")]
fn anywhere<T>(_: &str, _: PolicyLevel, value: Option<T>) -> Result<Option<T>, Invalid> {
    Ok(value)
}

/// A field of apps and of the server's configuration.
fn of_app<T>(field: &str, level: PolicyLevel, value: Option<T>) -> Result<Option<T>, Invalid> {
    let allowed = matches!(level, PolicyLevel::App | PolicyLevel::Server);
    only(field, value, allowed, "an app")
}

/// A field of what is stored.
fn stored<T>(field: &str, level: PolicyLevel, value: Option<T>) -> Result<Option<T>, Invalid> {
    only(
        field,
        value,
        level != PolicyLevel::Request,
        "an app or a thread",
    )
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

#[expect(clippy::unnecessary_wraps, reason = "one of the readers of fields")]
fn flag(_: &str, value: Option<bool>) -> Result<Option<bool>, Invalid> {
    Ok(value)
}

fn number(min: i32, max: i32) -> impl Fn(&str, Option<i32>) -> Result<Option<u32>, Invalid> {
    move |field, value| {
        value
            .map(|value| Ok(check::range(field, value, min, max)?.unsigned_abs()))
            .transpose()
    }
}

fn share(min: f32, max: f32) -> impl Fn(&str, Option<f32>) -> Result<Option<f32>, Invalid> {
    move |field, value| optional_float(field, value, min, max)
}

fn lifetime(
    min: Duration,
    max: Duration,
) -> impl Fn(&str, Option<ProtoDuration>) -> Result<Option<Duration>, Invalid> {
    move |field, value| duration_in(field, value, min, max)
}

fn long_text(field: &str, value: Option<String>) -> Result<Option<String>, Invalid> {
    value
        .map(|text| check::long_text(field, text, limits::TEMPLATE_BYTES))
        .transpose()
}

fn short_text(
    max_chars: usize,
) -> impl Fn(&str, Option<String>) -> Result<Option<String>, Invalid> {
    move |field, value| {
        value
            .map(|text| check::required_text(field, text, max_chars))
            .transpose()
    }
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

fn mode_from(field: &str, mode: i32) -> Result<Option<MemoryMode>, Invalid> {
    match proto::MemoryMode::try_from(mode) {
        Ok(proto::MemoryMode::Unspecified) => Ok(None),
        Ok(proto::MemoryMode::None) => Ok(Some(MemoryMode::None)),
        Ok(proto::MemoryMode::Window) => Ok(Some(MemoryMode::Window)),
        Ok(proto::MemoryMode::Hybrid) => Ok(Some(MemoryMode::Hybrid)),
        Ok(proto::MemoryMode::Node) => Ok(Some(MemoryMode::Node)),
        Ok(proto::MemoryMode::Working) => Ok(Some(MemoryMode::Working)),
        Ok(proto::MemoryMode::Observational) => Ok(Some(MemoryMode::Observational)),
        Err(_) => Err(Invalid::new(
            field,
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

pub(super) fn extraction_from(
    field: &str,
    strategy: i32,
) -> Result<Option<ExtractionStrategy>, Invalid> {
    use proto::ExtractionStrategy as Wire;

    match Wire::try_from(strategy) {
        Ok(Wire::Unspecified) => Ok(None),
        Ok(Wire::None) => Ok(Some(ExtractionStrategy::None)),
        Ok(Wire::Discrete) => Ok(Some(ExtractionStrategy::Discrete)),
        Ok(Wire::Summary) => Ok(Some(ExtractionStrategy::Summary)),
        Ok(Wire::Preferences) => Ok(Some(ExtractionStrategy::Preferences)),
        Ok(Wire::Custom) => Ok(Some(ExtractionStrategy::Custom)),
        Err(_) => Err(Invalid::new(
            field,
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

/// How a value travels: an enumeration as its number, 0 where it is unset.
fn redaction_from(field: &str, redaction: i32) -> Result<Option<Redaction>, Invalid> {
    match proto::Redaction::try_from(redaction) {
        Ok(proto::Redaction::Unspecified) => Ok(None),
        Ok(proto::Redaction::Off) => Ok(Some(Redaction::Off)),
        Ok(proto::Redaction::Replace) => Ok(Some(Redaction::Replace)),
        Ok(proto::Redaction::Refuse) => Ok(Some(Redaction::Refuse)),
        Err(_) => Err(Invalid::new(
            field,
            "must be REDACTION_OFF, _REPLACE or _REFUSE",
        )),
    }
}

/// Reads kinds, each once; none are `None`.
fn redacted_kinds_from(
    field: &str,
    numbers: Vec<i32>,
) -> Result<Option<Vec<SensitiveKind>>, Invalid> {
    let mut kinds = Vec::new();
    for number in numbers {
        let mut all = SensitiveKind::ALL.into_iter();
        let kind = all.find(|kind| i32::from(proto::SensitiveKind::from(*kind)) == number);
        let problem = "must be SENSITIVE_KIND_SECRET, _CARD, _EMAIL or _PHONE";
        let kind = kind.ok_or_else(|| Invalid::new(field, problem))?;
        if !kinds.contains(&kind) {
            kinds.push(kind);
        }
    }
    Ok((!kinds.is_empty()).then_some(kinds))
}

impl From<Redaction> for proto::Redaction {
    fn from(redaction: Redaction) -> Self {
        match redaction {
            Redaction::Off => Self::Off,
            Redaction::Replace => Self::Replace,
            Redaction::Refuse => Self::Refuse,
        }
    }
}

impl From<SensitiveKind> for proto::SensitiveKind {
    fn from(kind: SensitiveKind) -> Self {
        match kind {
            SensitiveKind::Secret => Self::Secret,
            SensitiveKind::Card => Self::Card,
            SensitiveKind::Email => Self::Email,
            SensitiveKind::Phone => Self::Phone,
        }
    }
}

trait Wire<W>: Sized {
    fn wire(value: Option<Self>) -> W;
}

macro_rules! wire_as_itself {
    ($($type:ty),*) => {$(
        impl Wire<Option<$type>> for $type {
            fn wire(value: Option<Self>) -> Option<$type> {
                value
            }
        }
    )*};
}

wire_as_itself!(bool, f32, String);

impl Wire<Option<i32>> for u32 {
    fn wire(value: Option<Self>) -> Option<i32> {
        value.map(|value| i32::try_from(value).unwrap_or(i32::MAX))
    }
}

impl Wire<Option<ProtoDuration>> for Duration {
    fn wire(value: Option<Self>) -> Option<ProtoDuration> {
        value.map(exact_duration)
    }
}

macro_rules! wire_as_number {
    ($($type:ident as $wire:ident),*) => {$(
        impl Wire<i32> for $type {
            fn wire(value: Option<Self>) -> i32 {
                value.map_or(0, |value| proto::$wire::from(value).into())
            }
        }
    )*};
}

wire_as_number!(
    MemoryMode as MemoryMode,
    MemoryScope as RecallScope,
    ExtractionStrategy as ExtractionStrategy,
    FileDelivery as FileDelivery,
    ImageDetail as ImageDetail,
    Redaction as Redaction
);

macro_rules! wire_as_numbers {
    ($($type:ident),*) => {$(
        impl Wire<Vec<i32>> for Vec<$type> {
            fn wire(value: Option<Self>) -> Vec<i32> {
                let values = value.into_iter().flatten();
                values.map(|value| proto::$type::from(value).into()).collect()
            }
        }
    )*};
}

wire_as_numbers!(FileType, SensitiveKind);

impl Wire<Vec<proto::MemoryKind>> for Vec<MemoryKind> {
    fn wire(value: Option<Self>) -> Vec<proto::MemoryKind> {
        value.into_iter().flatten().map(Into::into).collect()
    }
}

impl Wire<Vec<String>> for Vec<String> {
    fn wire(value: Option<Self>) -> Vec<String> {
        value.unwrap_or_default()
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
