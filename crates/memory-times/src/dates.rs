//! Dates, months and years.

use crate::found::{Found, Needs, is_link};
use crate::meaning::{Named, Unit, Which};
use crate::numbers;
use crate::sentence::Sentence;
use crate::terms::{Clarity, Form, Term};

impl Sentence<'_> {
    /// A day of a month, and the year it is of.
    pub fn date(&self, at: usize) -> Option<Found> {
        // "el próximo 5 de mayo".
        if let Some(step) = self.term(at).step_before() {
            let found = self.bare_date(at + 1)?;
            let Some(Named::Date(month, day, Which::Recent)) = found.named else {
                return None;
            };
            return Some(Found::new(
                Named::Date(month, day, Which::Step(step)),
                found.next,
            ));
        }
        // The weekday of "Wednesday, 5 March" says nothing more.
        let after_weekday = match self.term(at) {
            Term::Weekday(_) => self.skip(at + 1, is_link),
            _ => at,
        };
        let mut found = self.bare_date(after_weekday)?;
        if after_weekday != at && found.needs == Needs::Date {
            found.needs = Needs::Nothing;
        }
        if let Term::Weekday(_) = self.term(found.next)
            && !self.language.has_compounds_of_words
        {
            found.next += 1;
        }
        Some(self.with_part(found))
    }

    /// A month, and the year it is of.
    pub fn month(&self, at: usize) -> Option<Found> {
        if self.is_of_an_era(at) {
            return None;
        }
        if let Some((which, name)) = self.year_before(at)
            && let Some((month, clarity, next)) = self.month_name(name)
        {
            // "this year may be hard".
            let is_doubtful = clarity != Clarity::Clear && !is_link(self.before(name));
            return (!is_doubtful).then(|| Found::new(Named::Month(month, which), next));
        }
        if let Some(step) = self.term(at).step_before()
            && let Term::Month(month, clarity) = self.term(at + 1)
        {
            let is_doubtful = clarity == Clarity::Short
                || clarity == Clarity::Ambiguous
                    && self.is_small(at + 1)
                    && !self.goes_on_plainly(at + 2);
            let found = match self.year_after(at + 2) {
                Some((_, next)) => Found::none(next),
                None => Found::new(Named::Month(month, Which::Step(step)), at + 2),
            };
            return (!is_doubtful).then_some(found);
        }
        let (month, clarity, next) = self.month_name(at)?;
        if let Some((which, next)) = self.year_after(next) {
            let found = Found::new(Named::Month(month, which), next);
            // French months have small letters: "Mars 2020" is about the planet.
            let is_name = !self.language.has_month_before_day && self.is_name(at);
            return Some(match clarity {
                Clarity::Ambiguous if is_name => found.needing(Needs::AmbiguousMonth),
                _ => found,
            });
        }
        let found = Found::new(Named::Month(month, Which::Recent), next);
        match clarity {
            Clarity::Short => None,
            Clarity::Clear => Some(found.needing(Needs::Month)),
            Clarity::Ambiguous => Some(found.needing(Needs::AmbiguousMonth)),
        }
    }

    pub fn year(&self, at: usize) -> Option<Found> {
        if self.term(at) == Term::Unit(Unit::Year) {
            let found = self.year(at + 1)?;
            return Some(found.needing(Needs::Nothing));
        }
        let Term::Number(number, form) = self.term(at) else {
            return None;
        };
        let found = |next| numbers::year(number).map(|year| Found::new(Named::Year(year), next));
        if self.term(at + 1) == Term::YearMark {
            return found(at + 2);
        }
        let is_plain = form == Form::Digits
            && !matches!(
                self.term(at + 1),
                Term::Counted | Term::Units(_) | Term::Number(..)
            );
        // "the 1970's".
        let is_decade = self.term(at + 1) == Term::AnchorAfter && !self.language.has_kana;
        found(at + 1)
            .filter(|_| is_plain && !is_decade)
            .map(|found| found.needing(Needs::Year))
    }

    /// A day of a month, and the place after it.
    pub fn day_number(&self, at: usize) -> Option<(i8, Form, usize)> {
        let (day, form) = match self.term(at) {
            Term::Number(day @ 1..=31, form) => (day, form),
            Term::First => (1, Form::Ordinal),
            _ => return None,
        };
        let is_dotted = self.term(at + 1) == Term::Dot && self.is_glued(at + 1);
        Some(match self.term(at + 1) {
            Term::DayMark | Term::DateMark => (day.try_into().ok()?, Form::Ordinal, at + 2),
            _ if is_dotted => (day.try_into().ok()?, form, at + 2),
            _ => (day.try_into().ok()?, form, at + 1),
        })
    }

    fn bare_date(&self, at: usize) -> Option<Found> {
        if let Term::Date(digits) = self.term(at) {
            let which = digits.year.map_or(Which::Recent, Which::Year);
            let found = Found::new(Named::Date(digits.month, digits.day, which), at + 1);
            let needs = match digits.needs_anchor {
                true => Needs::Date,
                false => Needs::Nothing,
            };
            return Some(found.needing(needs));
        }
        if let Some((which, next)) = self.year_before(at)
            && let Some((month, _, next)) = self.month_name(next)
            && let Some((day, _, next)) = self.day_number(next)
        {
            return Some(Found::new(Named::Date(month, day, which), next));
        }
        // "先月の5日".
        if let Some((months, next)) = self.within(at, Unit::Month)
            && let Some((day, Form::Ordinal, next)) = self.day_number(self.skip(next, is_link))
        {
            return Some(Found::new(Named::DayOfMonth(months, day), next));
        }
        // "the 5th of last month".
        if let Some((day, Form::Ordinal, next)) = self.day_number(at)
            && self.term(next) == Term::Of
            && let Some((months, next)) = self.within(self.skip(next, is_link), Unit::Month)
        {
            return Some(Found::new(Named::DayOfMonth(months, day), next));
        }
        let found = self.month_and_day(at)?;
        match (self.year_after(found.next), found.named) {
            (Some((which, next)), Some(Named::Date(month, day, _))) => {
                Some(Found::new(Named::Date(month, day, which), next))
            }
            _ => Some(found),
        }
    }

    /// Whether a year that is not read comes before a month: "令和3年8月".
    fn is_of_an_era(&self, at: usize) -> bool {
        self.before(at) == Term::YearMark
    }

    /// The month and the day of a date without a year.
    fn month_and_day(&self, at: usize) -> Option<Found> {
        if self.is_of_an_era(at) {
            return None;
        }
        let found = |month, clarity, name: usize, (day, form), next: usize| {
            // "5 may be", "march 5 miles".
            let is_doubtful = clarity == Clarity::Ambiguous
                && self.is_small(name)
                && form != Form::Ordinal
                && !self.goes_on_plainly(next);
            let found = Found::new(Named::Date(month, day, Which::Recent), next);
            match is_doubtful || form == Form::Words {
                true => found.needing(Needs::Date),
                false => found,
            }
        };
        if let Some((day, form, next)) = self.day_number(at) {
            let name = self.skip(next, |term| {
                matches!(term, Term::Of | Term::OfOn | Term::OfThe | Term::The)
            });
            if let Some((month, clarity, next)) = self.month_name(name) {
                // "one may" is not of May.
                let is_word = form == Form::Words && self.language.has_month_before_day;
                return (!is_word).then(|| found(month, clarity, name, (day, form), next));
            }
        }
        let (month, clarity, next) = self.month_name(at)?;
        let is_sign = self.term(at + 1) == Term::MonthMark;
        let next = match is_sign {
            true => self.skip(next, |term| term == Term::AnchorAfter),
            false => next,
        };
        let (day, form, after) = self.day_number(next)?;
        let is_marked = is_sign && form == Form::Ordinal;
        let is_before = self.language.has_month_before_day && form != Form::Words;
        let counts = matches!(self.term(after), Term::Units(_) | Term::Counted);
        ((is_marked || is_before) && !counts).then(|| found(month, clarity, at, (day, form), after))
    }

    fn month_name(&self, at: usize) -> Option<(i8, Clarity, usize)> {
        match (self.term(at), self.term(at + 1)) {
            (Term::Month(month, clarity), Term::Dot) if clarity == Clarity::Short => {
                Some((month, clarity, at + 2))
            }
            (Term::Month(month, clarity), _) => Some((month, clarity, at + 1)),
            (Term::Number(month @ 1..=12, _), Term::MonthMark) => {
                Some((month.try_into().ok()?, Clarity::Clear, at + 2))
            }
            _ => None,
        }
    }

    /// A year before its month: "2026年", "去年".
    fn year_before(&self, at: usize) -> Option<(Which, usize)> {
        if let (Term::Number(number, _), Term::YearMark) = (self.term(at), self.term(at + 1)) {
            return Some((
                Which::Year(numbers::year(number)?),
                self.skip(at + 2, is_link),
            ));
        }
        self.within(at, Unit::Year)
            .map(|(years, next)| (Which::Within(years), self.skip(next, is_link)))
    }

    /// A year after its month or date: "2026", "de 2026", "last year"; or "dernier".
    fn year_after(&self, at: usize) -> Option<(Which, usize)> {
        if let Some(step) = self.term(at).step_after() {
            return Some((Which::Step(step), at + 1));
        }
        let linked = self.skip(at, is_link);
        let at = match (self.term(linked), self.term(linked + 1)) {
            (Term::Unit(Unit::Year), Term::Number(..)) => linked + 1,
            _ => linked,
        };
        if let Term::Number(number, Form::Digits) = self.term(at) {
            let is_counted = matches!(
                self.term(at + 1),
                Term::Counted | Term::MonthMark | Term::YearMark
            );
            let year = numbers::year(number).filter(|_| !is_counted)?;
            return Some((Which::Year(year), at + 1));
        }
        let (years, next) = self.within(at, Unit::Year)?;
        Some((Which::Within(years), next))
    }
}
