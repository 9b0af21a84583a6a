//! The state that a write requires of what it changes, as in AIP-154.

/// What must hold for a write to take place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Precondition {
    /// Nothing.
    #[default]
    Unchecked,
    /// The resource exists.
    Exists,
    /// The resource does not exist.
    Absent,
    /// The resource has this etag.
    Etag(String),
}

impl Precondition {
    /// Whether it holds for a resource with the etag `current`; `None`: the resource does
    /// not exist.
    pub fn holds(&self, current: Option<&str>) -> bool {
        match self {
            Self::Unchecked => true,
            Self::Exists => current.is_some(),
            Self::Absent => current.is_none(),
            Self::Etag(etag) => current == Some(etag),
        }
    }

    /// The form in which the store's SQL takes it: null, `*`, empty, or the etag.
    pub fn as_sql(&self) -> Option<&str> {
        match self {
            Self::Unchecked => None,
            Self::Exists => Some("*"),
            Self::Absent => Some(""),
            Self::Etag(etag) => Some(etag),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_etag_holds_for_the_state_that_it_names() {
        let of = |etag: &str| Precondition::Etag(etag.to_owned());
        let cases = [
            (Precondition::Unchecked, true, true),
            (Precondition::Exists, true, false),
            (Precondition::Absent, false, true),
            (of("a"), true, false),
            (of("b"), false, false),
        ];
        for (condition, with_a, without) in cases {
            assert_eq!(condition.holds(Some("a")), with_a, "{condition:?}");
            assert_eq!(condition.holds(None), without, "{condition:?}");
        }
    }
}
