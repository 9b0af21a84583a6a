//! When a thread is due.

use std::time::Duration;

/// The pause before a retry of a thread that changes during each run.
const PAUSE: Duration = Duration::from_secs(1);

/// When a thread is due to be distilled again: at a size, or at a time, whichever comes
/// first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Due {
    /// The size of the path to the head, in tokens.
    pub(crate) path_tokens: i64,
    /// The time from now. `None`: only the size counts.
    pub(crate) after: Option<Duration>,
}

impl Due {
    /// Only when an append, a policy or a head asks for it.
    pub(super) const NEVER: Self = Self {
        path_tokens: i64::MAX,
        after: None,
    };

    /// At once, behind the threads that wait already.
    pub(super) const NOW: Self = Self {
        path_tokens: 0,
        after: None,
    };

    /// In a moment, because the thread is being changed.
    pub(super) const SOON: Self = Self {
        path_tokens: i64::MAX,
        after: Some(PAUSE),
    };

    /// When the path has reached this size.
    pub(super) fn at(path_tokens: i64) -> Self {
        Self {
            path_tokens,
            after: None,
        }
    }

    /// The earlier of two.
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            path_tokens: self.path_tokens.min(other.path_tokens),
            after: match (self.after, other.after) {
                (Some(one), Some(another)) => Some(one.min(another)),
                (one, another) => one.or(another),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_earlier_of_two_due_times_counts_by_size_and_by_time() {
        let later = Due {
            after: Some(PAUSE * 2),
            ..Due::at(10)
        };
        assert_eq!(Due::NEVER.or(later), later);
        assert_eq!(later.or(Due::SOON).after, Some(PAUSE));
        assert_eq!(later.or(Due::at(3)).path_tokens, 3);
        assert_eq!(later.or(Due::NOW).path_tokens, 0);
    }
}
