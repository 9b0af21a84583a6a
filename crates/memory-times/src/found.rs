//! What a part of the grammar finds in a question.

use crate::meaning::{Named, Part, Point};
use crate::terms::Term;

/// A time that words at a place name.
#[derive(Clone, Copy, Debug)]
pub struct Found {
    /// `None`: the words are those of a time, but must not be read.
    pub named: Option<Named>,
    pub part: Option<Part>,
    pub needs: Needs,
    /// The place after the words.
    pub next: usize,
}

/// What must be around the words of a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    Nothing,
    /// A word such as "on".
    Weekday,
    /// A word such as "in".
    Month,
    /// A word such as "in", also because the month's name has other meanings.
    AmbiguousMonth,
    /// A word such as "on" or "the".
    Date,
    /// A word such as "in".
    Year,
}

impl Found {
    pub fn new(named: Named, next: usize) -> Self {
        Self {
            named: Some(named),
            part: None,
            needs: Needs::Nothing,
            next,
        }
    }

    pub fn none(next: usize) -> Self {
        Self {
            named: None,
            part: None,
            needs: Needs::Nothing,
            next,
        }
    }

    /// The time, unless it must not be read.
    pub fn point(&self) -> Option<Point> {
        let part = self.part;
        self.named.map(|named| Point { named, part })
    }

    pub fn needing(self, needs: Needs) -> Self {
        Self { needs, ..self }
    }
}

/// Words between a time and a larger one that it is of.
pub fn is_link(term: Term) -> bool {
    matches!(
        term,
        Term::Of
            | Term::OfOn
            | Term::OfThe
            | Term::In
            | Term::On
            | Term::The
            | Term::AnchorAfter
            | Term::Comma
    )
}
