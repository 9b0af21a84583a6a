//! Times that words name, such as "last Monday" or "5 March": the grammar without the words before
//! and after them.

use crate::found::{Found, Needs, is_link};
use crate::language::MORNING;
use crate::meaning::{Named, Unit, Which};
use crate::sentence::Sentence;
use crate::terms::Term;

impl Sentence<'_> {
    /// The time that the words at a place name.
    pub fn point(&self, at: usize) -> Option<Found> {
        self.ago(at)
            .or_else(|| self.last_units(at))
            .or_else(|| self.date(at))
            .or_else(|| self.weekday(at))
            .or_else(|| self.month(at))
            .or_else(|| self.year(at))
            .or_else(|| self.day(at))
            .or_else(|| self.period(at))
    }

    fn day(&self, at: usize) -> Option<Found> {
        let found = match (self.term(at), self.term(at + 1)) {
            (Term::Day(offset), _) => Found::new(Named::Day(offset), at + 1),
            (Term::DayPart(offset, part), _) => Found {
                part: Some(part),
                ..Found::new(Named::Day(offset), at + 1)
            },
            (Term::TomorrowOrMorning, after) => {
                // The noun has a capital, and so has a greeting.
                let is_greeting = !self.is_small(at) && matches!(after, Term::Comma | Term::Mark);
                if self.is_name(at) || is_greeting {
                    return None;
                }
                Found::new(Named::Day(1), at + 1)
            }
            (Term::Step(0), Term::Part(part)) => Found {
                part: Some(part),
                ..Found::new(Named::Day(0), at + 2)
            },
            (Term::Step(0), Term::TomorrowOrMorning) => Found {
                part: Some(MORNING),
                ..Found::new(Named::Day(0), at + 2)
            },
            _ => return None,
        };
        Some(self.with_part(found))
    }

    fn weekday(&self, at: usize) -> Option<Found> {
        let by_week = self.language.has_weekdays_by_week;
        let found = match (self.term(at), self.term(at + 1)) {
            (Term::WeekdayPart(weekday, part), after) => {
                let (which, next, needs) = match after.step_after() {
                    Some(step) => (Which::Step(step), at + 2, Needs::Nothing),
                    None => (Which::Recent, at + 1, Needs::Weekday),
                };
                Found {
                    part: Some(part),
                    ..Found::new(Named::Weekday(weekday, which), next).needing(needs)
                }
            }
            (step, Term::Weekday(weekday) | Term::WeekdayPart(weekday, _))
                if step.step_before().is_some() =>
            {
                let step = step.step_before()?;
                // "the last Monday of the month".
                let after = self.skip(at + 2, is_link);
                let is_of = after > at + 2
                    && matches!(
                        self.term(after),
                        Term::Unit(_) | Term::Month(..) | Term::Period(..) | Term::Step(_)
                    );
                if is_of {
                    return Some(Found::none(at + 2));
                }
                let which = match by_week {
                    true => Which::Within(step),
                    false => Which::Step(step),
                };
                let part = match self.term(at + 1) {
                    Term::WeekdayPart(_, part) => Some(part),
                    _ => None,
                };
                Found {
                    part,
                    ..Found::new(Named::Weekday(weekday, which), at + 2)
                }
            }
            (Term::Weekday(weekday), after) if after.step_after().is_some() => {
                let step = after.step_after()?;
                Found::new(Named::Weekday(weekday, Which::Step(step)), at + 2)
            }
            (Term::Weekday(weekday), _) => {
                let found =
                    self.with_part(Found::new(Named::Weekday(weekday, Which::Recent), at + 1));
                match self.within(self.skip(found.next, is_link), Unit::Week) {
                    Some((weeks, next)) => Found {
                        named: Some(Named::Weekday(weekday, Which::Within(weeks))),
                        next,
                        ..found
                    },
                    None => match self.term(found.next).step_after() {
                        // "lundi soir dernier".
                        Some(step) => Found {
                            named: Some(Named::Weekday(weekday, Which::Step(step))),
                            next: found.next + 1,
                            ..found
                        },
                        None => found.needing(Needs::Weekday),
                    },
                }
            }
            _ => {
                let (weeks, next) = self.within(at, Unit::Week)?;
                let next = self.skip(next, is_link);
                let (weekday, part) = match self.term(next) {
                    Term::Weekday(weekday) => (weekday, None),
                    Term::WeekdayPart(weekday, part) => (weekday, Some(part)),
                    _ => return None,
                };
                Found {
                    part,
                    ..Found::new(Named::Weekday(weekday, Which::Within(weeks)), next + 1)
                }
            }
        };
        Some(self.with_part(found))
    }
}
