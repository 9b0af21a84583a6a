//! The token budget of a context whose request sets none.

use memory_contract::policy::{ContextBudget, MemoryMode, ResolvedPolicy};

/// The modes without derived text take this part of the window: a quarter.
const WINDOW_PARTS: u32 = 4;
/// The part of the window that is left for the model's answer: an eighth, ...
const ANSWER_PARTS: u32 = 8;
/// ... and at most so many tokens.
const ANSWER_TOKENS: u32 = 16_384;
/// What waits to be condensed, and quotation marks, take this part of both thresholds in
/// addition: a quarter.
const WAITING_PARTS: u32 = 4;
/// The tokens for memories and matches beside observations and messages in full.
const QUOTED_TOKENS: u32 = 4_000;

/// The most tokens of memories and matches in a context whose budget is the default of its
/// mode. Beside derived text they have their own room, so that large matches do not make
/// each context as large as its budget.
pub(super) fn most_found(policy: &ResolvedPolicy, given: Option<i32>) -> i32 {
    let derived = matches!(policy.mode, MemoryMode::Working | MemoryMode::Observational);
    match derived && given.is_none() && policy.context_tokens == ContextBudget::ByMode {
        true => i32::try_from(QUOTED_TOKENS).unwrap_or(i32::MAX),
        false => i32::MAX,
    }
}

/// Whether the budget depends on the model: no level sets the budget or the window.
pub(super) fn depends_on_model(policy: &ResolvedPolicy) -> bool {
    let mut origins = policy.origins.iter();
    let window_is_set = origins.any(|(field, _)| *field == "context_window");
    policy.context_tokens == ContextBudget::ByMode && !window_is_set
}

/// The budget of a context with a system prompt and an input of `prompt` tokens, for a
/// model with this window.
pub(super) fn default_budget(policy: &ResolvedPolicy, window: u32, prompt: i32) -> i32 {
    let prompt = prompt.unsigned_abs();
    let most = window - (window / ANSWER_PARTS).min(ANSWER_TOKENS);
    let tokens = match (policy.context_tokens, policy.mode) {
        (ContextBudget::Tokens(tokens), _) => tokens,
        (
            ContextBudget::ByMode,
            MemoryMode::None | MemoryMode::Window | MemoryMode::Hybrid | MemoryMode::Node,
        ) => (window / WINDOW_PARTS).max(prompt).min(most),
        (ContextBudget::ByMode, MemoryMode::Working) => most,
        (ContextBudget::ByMode, MemoryMode::Observational) => {
            let thresholds = policy
                .observer_tokens
                .saturating_add(policy.reflector_tokens);
            thresholds
                .saturating_add(thresholds / WAITING_PARTS)
                .saturating_add(prompt)
                .saturating_add(QUOTED_TOKENS)
                .saturating_add(policy.profile_tokens)
                .min(most)
        }
    };
    i32::try_from(tokens).unwrap_or(i32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(change: impl FnOnce(&mut ResolvedPolicy), prompt: i32) -> i32 {
        let mut policy = ResolvedPolicy::default();
        change(&mut policy);
        default_budget(&policy, policy.context_window, prompt)
    }

    #[test]
    fn each_mode_has_its_own_default() {
        for (mode, tokens) in [
            (MemoryMode::None, 32_000),
            (MemoryMode::Window, 32_000),
            (MemoryMode::Hybrid, 32_000),
            (MemoryMode::Node, 32_000),
            (MemoryMode::Working, 112_000),
            (MemoryMode::Observational, 91_510),
        ] {
            assert_eq!(budget(|policy| policy.mode = mode, 10), tokens, "{mode:?}");
        }
    }

    #[test]
    fn the_window_bounds_every_default_and_a_policy_replaces_them() {
        let small = |mode| {
            move |policy: &mut ResolvedPolicy| {
                policy.mode = mode;
                policy.context_window = 8_000;
            }
        };
        assert_eq!(budget(small(MemoryMode::Hybrid), 10), 2_000);
        assert_eq!(budget(small(MemoryMode::Hybrid), 3_000), 3_000);
        assert_eq!(budget(small(MemoryMode::Hybrid), 7_500), 7_000);
        assert_eq!(budget(small(MemoryMode::Observational), 10), 7_000);
        let large = |policy: &mut ResolvedPolicy| {
            policy.mode = MemoryMode::Working;
            policy.context_window = 1_000_000;
        };
        assert_eq!(budget(large, 10), 1_000_000 - 16_384);
        let set = |policy: &mut ResolvedPolicy| {
            policy.mode = MemoryMode::Working;
            policy.context_tokens = ContextBudget::Tokens(500);
        };
        assert_eq!(budget(set, 10), 500);
    }
}
