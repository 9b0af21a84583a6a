//! Units by their distance from the present one, such as "last week", and hours of days.

use crate::found::Found;
use crate::language::MORNING;
use crate::meaning::{Named, Unit};
use crate::sentence::Sentence;
use crate::terms::Term;

impl Sentence<'_> {
    pub fn period(&self, at: usize) -> Option<Found> {
        let (unit, offset, next) = match (self.term(at), self.term(at + 1)) {
            (Term::SomeWeekend, after) => match after.step_after() {
                Some(offset) => (Unit::Weekend, offset, at + 2),
                None => return Some(Found::new(Named::SomeWeekend, at + 1)),
            },
            (Term::Period(unit, offset), _) => (unit, offset, at + 1),
            (Term::Unit(unit), after) => (unit, after.step_after()?, at + 2),
            (step, Term::Unit(unit)) => {
                let offset = step.step_before()?;
                // "the last week of the project", "letzte Woche im September".
                let after = self.skip(at + 2, |term| matches!(term, Term::In | Term::The));
                let is_part = after > at + 2
                    && unit != Unit::Year
                    && matches!(self.term(after), Term::Month(..));
                if offset != 0 && (is_part || self.term(at + 2) == Term::Of) {
                    return Some(Found::none(at + 2));
                }
                (unit, offset, at + 2)
            }
            _ => return None,
        };
        let is_long = !matches!(unit, Unit::Minute | Unit::Hour | Unit::Day);
        is_long.then(|| Found::new(Named::Period(unit, offset), next))
    }

    /// A unit by its distance from the present one.
    pub fn within(&self, at: usize, wanted: Unit) -> Option<(i32, usize)> {
        match self.period(at)? {
            Found {
                named: Some(Named::Period(unit, offset)),
                next,
                ..
            } if unit == wanted => Some((offset, next)),
            _ => None,
        }
    }

    /// A day with the hours of it that come next.
    pub fn with_part(&self, found: Found) -> Found {
        let at = self.skip(found.next, |term| term == Term::AnchorAfter);
        let part = match self.term(at) {
            Term::Part(part) => part,
            Term::TomorrowOrMorning => MORNING,
            _ => return found,
        };
        Found {
            part: Some(found.part.unwrap_or(part)),
            next: at + 1,
            ..found
        }
    }
}
