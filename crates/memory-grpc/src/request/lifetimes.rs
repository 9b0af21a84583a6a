//! Changes that end the life of stored content earlier: they erase, so they require the
//! scope `delete`.

use std::time::Duration;

use memory_contract::{
    AppId,
    key::KeyScope,
    policy::{Lifetime, MemoryPolicy, PolicyChange, PolicyLevel, ResolvedPolicy},
    thread::Thread,
};
use memory_store::{Caller, Store};
use time::OffsetDateTime;

use crate::error::ApiError;

/// Checks a change of a stored thread: of its lifetime, and of its policy. `field` is the
/// path of the lifetime in the request and `policy_field` that of the policy.
pub fn check_thread_change(
    store: &Store,
    caller: &Caller,
    (thread, app): (&Thread, &MemoryPolicy),
    (field, ttl): (&str, Option<Duration>),
    (policy_field, policy): (&str, &PolicyChange),
) -> Result<(), ApiError> {
    if may_erase(caller) {
        return Ok(());
    }
    if ttl.is_some_and(|ttl| ends_earlier(thread, ttl)) {
        return Err(needs_erase(field));
    }
    let kept = kept_by(policy, &thread.policy);
    let levels = |thread: &[&MemoryPolicy]| {
        let thread = thread.iter().map(|policy| (PolicyLevel::Thread, *policy));
        let levels: Vec<_> = [(PolicyLevel::App, app)]
            .into_iter()
            .chain(thread)
            .collect();
        store.resolve_policy(&levels)
    };
    check_policy(
        policy_field,
        &levels(&[&thread.policy]),
        &levels(&[&kept, &policy.set]),
    )
}

/// Checks a change of an app's policy, whose path in the request is `field`.
pub async fn check_app_policy(
    store: &Store,
    caller: &Caller,
    app: &AppId,
    field: &str,
    change: &PolicyChange,
) -> Result<(), ApiError> {
    if may_erase(caller) {
        return Ok(());
    }
    let stored = store.policies(caller).app_policy(app).await?.policy;
    let kept = kept_by(change, &stored);
    let level = PolicyLevel::App;
    check_policy(
        field,
        &store.resolve_policy(&[(level, &stored)]),
        &store.resolve_policy(&[(level, &kept), (level, &change.set)]),
    )
}

/// Whether the caller may erase.
pub fn may_erase(caller: &Caller) -> bool {
    caller.scopes.allow(KeyScope::Delete)
}

/// Whether a thread that lives for `ttl` from now ends earlier than it would. A use of an
/// ephemeral thread postpones its end, but not beyond a lifetime that was set.
fn ends_earlier(thread: &Thread, ttl: Duration) -> bool {
    let end = OffsetDateTime::now_utc() + ttl;
    thread.ephemeral || thread.expires.is_none_or(|expires| end < expires)
}

/// The values of a stored policy that a change leaves.
fn kept_by(change: &PolicyChange, stored: &MemoryPolicy) -> MemoryPolicy {
    let set = change.set.set_fields();
    let mut kept = stored.clone();
    kept.retain(|field| !change.replace && !change.clear.contains(&field) && !set.contains(&field));
    kept
}

/// Checks that no content that the policy `before` keeps is erased earlier under `after`.
fn check_policy(
    field: &str,
    before: &ResolvedPolicy,
    after: &ResolvedPolicy,
) -> Result<(), ApiError> {
    match shortened(before, after) {
        Some(name) => Err(needs_erase(&format!("{field}.{name}"))),
        None => Ok(()),
    }
}

/// The first field under which content is erased earlier than before.
fn shortened(before: &ResolvedPolicy, after: &ResolvedPolicy) -> Option<&'static str> {
    let lifetimes = [
        ("ttl", before.ttl, after.ttl),
        ("node_ttl", before.node_ttl, after.node_ttl),
        (
            "memory_max_age",
            before.memory_max_age,
            after.memory_max_age,
        ),
        (
            "memory_max_inactivity",
            before.memory_max_inactivity,
            after.memory_max_inactivity,
        ),
    ];
    let shorter = lifetimes
        .into_iter()
        .find(|(_, before, after)| is_shorter(*after, *before))
        .map(|(name, ..)| name);
    let fewer = after.memory_max_count < before.memory_max_count;
    shorter.or(fewer.then_some("memory_max_count"))
}

fn is_shorter(one: Lifetime, other: Lifetime) -> bool {
    match (one, other) {
        (Lifetime::Limited(one), Lifetime::Limited(other)) => one < other,
        (Lifetime::Limited(_), Lifetime::Unlimited) => true,
        (Lifetime::Unlimited, _) => false,
    }
}

fn needs_erase(field: &str) -> ApiError {
    ApiError::PermissionDenied {
        scope: KeyScope::Delete,
        field: Some(field.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(86_400);

    fn app(policy: &MemoryPolicy) -> ResolvedPolicy {
        ResolvedPolicy::resolve(&[(PolicyLevel::App, policy)])
    }

    #[test]
    fn a_field_that_erases_earlier_is_named() {
        let stored = MemoryPolicy {
            ttl: Some(DAY),
            memory_max_age: Some(DAY * 30),
            memory_max_count: Some(20_000),
            ..Default::default()
        };
        let check = |change: MemoryPolicy, expected: Option<&str>| {
            let before = app(&stored);
            let change = PolicyChange {
                set: change,
                ..Default::default()
            };
            let kept = kept_by(&change, &stored);
            let level = PolicyLevel::App;
            let after = ResolvedPolicy::resolve(&[(level, &kept), (level, &change.set)]);
            assert_eq!(shortened(&before, &after), expected, "{change:?}");
        };
        let policy = MemoryPolicy::default;
        check(policy(), None);
        check(
            MemoryPolicy {
                top_k: Some(3),
                ..policy()
            },
            None,
        );
        check(
            MemoryPolicy {
                ttl: Some(DAY),
                ..policy()
            },
            None,
        );
        check(
            MemoryPolicy {
                ttl: Some(DAY * 2),
                ..policy()
            },
            None,
        );
        check(
            MemoryPolicy {
                ttl: Some(DAY / 2),
                ..policy()
            },
            Some("ttl"),
        );
        let node_ttl = MemoryPolicy {
            node_ttl: Some(DAY * 9_000),
            ..policy()
        };
        check(node_ttl, Some("node_ttl"));
        let age = MemoryPolicy {
            memory_max_age: Some(DAY * 29),
            ..policy()
        };
        check(age, Some("memory_max_age"));
        let inactivity = MemoryPolicy {
            memory_max_inactivity: Some(DAY),
            ..policy()
        };
        check(inactivity, Some("memory_max_inactivity"));
        let more = MemoryPolicy {
            memory_max_count: Some(20_001),
            ..policy()
        };
        check(more, None);
        let fewer = MemoryPolicy {
            memory_max_count: Some(19_999),
            ..policy()
        };
        check(fewer, Some("memory_max_count"));
    }

    #[test]
    fn a_field_that_is_cleared_falls_back_to_the_next_level() {
        let stored = MemoryPolicy {
            ttl: Some(DAY),
            memory_max_count: Some(20_000),
            ..Default::default()
        };
        let after = |replace, clear| {
            let change = PolicyChange {
                replace,
                clear,
                ..Default::default()
            };
            shortened(&app(&stored), &app(&kept_by(&change, &stored)))
        };
        // A thread without an end lives longer; 10,000 memories are fewer.
        assert_eq!(after(false, vec!["ttl"]), None);
        assert_eq!(
            after(false, vec!["memory_max_count"]),
            Some("memory_max_count")
        );
        assert_eq!(after(true, Vec::new()), Some("memory_max_count"));
    }
}
