//! What was replaced.

use std::collections::BTreeMap;
use std::fmt::{self, Display};

/// What was replaced: how often, by the names of the forms.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Redacted(BTreeMap<&'static str, usize>);

impl Redacted {
    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many places were replaced.
    pub fn count(&self) -> usize {
        self.0.values().sum()
    }

    /// Adds what was replaced besides.
    pub(super) fn add_all(&mut self, other: Self) {
        for (name, count) in other.0 {
            *self.0.entry(name).or_default() += count;
        }
    }

    /// Counts what was found.
    pub(super) fn add(&mut self, names: Vec<&'static str>) {
        for name in names {
            *self.0.entry(name).or_default() += 1;
        }
    }
}

impl Display for Redacted {
    /// As in `email=2, openai-key=1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (name, count)) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{name}={count}")?;
        }
        Ok(())
    }
}
