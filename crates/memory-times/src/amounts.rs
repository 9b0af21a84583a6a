//! Times by a number of units, such as "3 weeks ago" and "the last 3 weeks".

use crate::found::Found;
use crate::meaning::{Named, Unit};
use crate::sentence::Sentence;
use crate::terms::{Form, Relation, Term};

/// The longest time ago in years.
const MOST_YEARS: u32 = 200;
/// The largest number of other units.
const MOST_UNITS: u32 = 2000;

impl Sentence<'_> {
    pub fn ago(&self, at: usize) -> Option<Found> {
        let opens = |term| {
            matches!(
                term,
                Term::AgoBefore | Term::Relation(Relation::BeforeOrAgo)
            )
        };
        if opens(self.term(at)) {
            let (count, unit, next) = self.units(at + 1)?;
            // "hace 3 días que" is for three days.
            return Some(match self.term(next) {
                Term::Lasts => Found::none(next),
                _ => Found::new(Named::Ago(count, unit), next),
            });
        }
        let (count, unit, next) = self.units(at)?;
        match self.term(next) {
            Term::Ago | Term::RelationAfter(Relation::BeforeOrAgo) => {
                // "会議の30分前" is before something else.
                let is_of_other = self.before(at) == Term::AnchorAfter && self.is_glued(at);
                Some(match is_of_other {
                    true => Found::none(next + 1),
                    false => Found::new(Named::Ago(count, unit), next + 1),
                })
            }
            _ => None,
        }
    }

    /// Units up to now: "the last 3 weeks", "les 3 dernières semaines", "the past week".
    pub fn last_units(&self, at: usize) -> Option<Found> {
        let is_many = |term| match term {
            Term::Rolling | Term::RollingMany | Term::Step(-1) => true,
            // "この3日間".
            Term::Step(0) => self.language.has_kana,
            _ => false,
        };
        let (count, unit, next) = match (self.term(at), self.term(at + 1)) {
            (Term::Number(count @ 1..=MOST_UNITS, _), Term::RollingMany) => {
                (count.try_into().ok()?, self.unit(at + 2)?, at + 3)
            }
            (Term::Rolling, Term::Unit(unit)) if unit != Unit::Day => (1, unit, at + 2),
            (term, _) if is_many(term) => {
                let at = self.skip(at + 1, |term| term == Term::AnchorAfter);
                self.units(at)?
            }
            _ => return None,
        };
        Some(match self.term(next) {
            Term::Of | Term::OfOn | Term::OfThe => Found::none(next),
            _ => Found::new(Named::Last(count, unit), next),
        })
    }

    /// A number of units, and the place after it.
    pub fn units(&self, at: usize) -> Option<(i32, Unit, usize)> {
        let count = match self.term(at) {
            Term::Number(count, form) if form != Form::Ordinal => count,
            Term::One => 1,
            _ => return None,
        };
        let unit = self.unit(at + 1)?;
        let is_known = match unit {
            Unit::Year => count <= MOST_YEARS,
            _ => count <= MOST_UNITS,
        };
        // "two or three weeks", "2-3 weeks", "more than 3 weeks".
        let before = self.before(at);
        let is_exact = match before {
            Term::Inexact => false,
            Term::To | Term::Dash | Term::And | Term::Mark | Term::Comma => {
                !matches!(self.before(at.saturating_sub(1)), Term::Number(..))
            }
            _ => !matches!(before, Term::Number(..)),
        };
        (is_known && is_exact && count > 0).then_some((count.try_into().ok()?, unit, at + 2))
    }

    fn unit(&self, at: usize) -> Option<Unit> {
        match self.term(at) {
            Term::Unit(unit) | Term::Units(unit) => Some(unit),
            Term::DayMark => Some(Unit::Day),
            Term::YearMark => Some(Unit::Year),
            _ => None,
        }
    }
}
