//! What is looked for, and what is found.

use std::ops::Range;

use memory_contract::policy::SensitiveKind;

/// A set of kinds. It is empty by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Kinds(u8);

impl Kinds {
    /// Whether a kind is in the set.
    pub const fn contains(self, kind: SensitiveKind) -> bool {
        self.0 & (1 << kind as u8) != 0
    }

    /// Whether the set has no kind.
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

impl FromIterator<SensitiveKind> for Kinds {
    fn from_iter<I: IntoIterator<Item = SensitiveKind>>(kinds: I) -> Self {
        Self(
            kinds
                .into_iter()
                .fold(0, |bits, kind| bits | (1 << kind as u8)),
        )
    }
}

impl<const N: usize> From<[SensitiveKind; N]> for Kinds {
    fn from(kinds: [SensitiveKind; N]) -> Self {
        kinds.into_iter().collect()
    }
}

/// A place in a text that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hit {
    /// Its bytes in the text. Both ends are at boundaries of characters.
    pub range: Range<usize>,
    /// What it is.
    pub kind: SensitiveKind,
    /// The name of its form, for example `openai-key`: small ASCII letters, digits and `-`.
    pub name: &'static str,
}
