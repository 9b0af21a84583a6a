//! Expressions of time: times with the words before and after them, such as "since last Monday"
//! or "from 3 to 7 March".

use std::ops::Range;

use crate::found::{Found, Needs};
use crate::language::{Alone, Script};
use crate::meaning::{Meaning, Named, Point, Which};
use crate::sentence::Sentence;
use crate::terms::{Form, Relation, Term};

/// An expression and the terms that it is made of.
#[derive(Clone, Debug)]
pub struct Expression {
    pub meaning: Meaning,
    pub items: Range<usize>,
}

/// What the words at a place mean, `None` for nothing that may be read, and the place after them.
type Reading = (Option<Meaning>, usize);

/// Words before a time.
#[derive(Clone, Copy, Default)]
struct Opening {
    has_in: bool,
    has_on: bool,
    has_article: bool,
    /// "from", "since", "before": what is anchored by any of these.
    has_other: bool,
}

impl Sentence<'_> {
    /// The expressions of the question, in order.
    pub fn expressions(&self) -> Vec<Expression> {
        let is_past = !self.items.iter().any(|item| item.term == Term::NotPast);
        let mut expressions = Vec::new();
        let mut at = 0;
        while at < self.items.len() {
            let Some((meaning, next)) = self.reading(at) else {
                at += 1;
                continue;
            };
            let items = at..next;
            if let Some(meaning) = meaning.filter(|one| self.is_meant(*one, &items, is_past)) {
                expressions.push(Expression { meaning, items });
            }
            at = next;
        }
        expressions
    }

    fn reading(&self, at: usize) -> Option<Reading> {
        self.range(at)
            .or_else(|| self.related(at))
            .or_else(|| self.anchored(at))
    }

    /// "from … to …", "between … and …", "3-7 March".
    fn range(&self, at: usize) -> Option<Reading> {
        let of_opens = self.language.of_opens_ranges;
        let opens = |term| match term {
            Term::From | Term::Between | Term::Relation(Relation::Since) => true,
            // "del 3 al 7 de marzo".
            Term::Of | Term::OfOn | Term::OfThe | Term::On => of_opens,
            _ => false,
        };
        let start = self.skip(at, |term| opens(term) || is_article(term));
        let is_between = (at..start).any(|at| self.term(at) == Term::Between);
        let opens = (at..start).any(|at| opens(self.term(at)));
        let (first, last, next) = self
            .days_of_a_month(start, is_between)
            .or_else(|| self.two_points(start, is_between, opens))?;
        let meaning = first
            .zip(last)
            .map(|(first, last)| Meaning::Between(first, last));
        Some((
            meaning.filter(|one| !is_of_weekdays(*one)),
            self.after_particles(next),
        ))
    }

    /// "3 to 7 March", "March 3-7".
    fn days_of_a_month(
        &self,
        at: usize,
        is_between: bool,
    ) -> Option<(Option<Point>, Option<Point>, usize)> {
        let point = |month, day, which| Point {
            named: Named::Date(month, day, which),
            part: None,
        };
        if let Some((day, _, next)) = self.day_number(at)
            && let Some(last) = self.after_connector(next, is_between)
        {
            let last = self.skip(last, is_article);
            let last = self.point(last)?;
            let Some(Named::Date(month, _, which)) = last.named else {
                return None;
            };
            return Some((Some(point(month, day, which)), last.point(), last.next));
        }
        let first = self.point(at)?;
        let Some(Named::Date(month, _, which)) = first.named else {
            return None;
        };
        let last = self.skip(self.after_connector(first.next, is_between)?, is_article);
        let (day, form, next) = self.day_number(last)?;
        let is_bare = self.language.has_month_before_day || form == Form::Ordinal;
        let is_other = matches!(
            self.term(next),
            Term::Month(..) | Term::MonthMark | Term::Of
        ) || matches!(self.term(next), Term::Unit(_) | Term::Units(_));
        let last = point(month, day, which);
        (is_bare && !is_other).then_some((first.point(), Some(last), next))
    }

    fn two_points(
        &self,
        at: usize,
        is_between: bool,
        opens: bool,
    ) -> Option<(Option<Point>, Option<Point>, usize)> {
        let first = self.point(at)?;
        let last = self.skip(self.after_connector(first.next, is_between)?, is_article);
        let last = self.point(last)?;
        let is_clear = |one: &Found| match one.needs {
            Needs::Nothing => true,
            Needs::Month | Needs::Weekday => {
                self.language.has_weekdays_by_week || self.language.has_kana
            }
            _ => false,
        };
        let is_year = |one: &Found| matches!(one.named, Some(Named::Year(_)));
        let are_years = is_year(&first) && is_year(&last);
        // "from 2000 to yesterday" counts something.
        let counts = |one: &Found| one.needs == Needs::Year && !are_years;
        if counts(&first) || counts(&last) {
            return None;
        }
        let is_range = opens
            || is_clear(&first) && is_clear(&last)
            || are_years && (self.language.has_years_alone || is_clear(&last));
        match is_range {
            true => Some((first.point(), last.point(), last.next)),
            // "1995 to 2000", of which neither is read.
            false => are_years.then_some((None, None, last.next)),
        }
    }

    /// The place after the word between the ends of a range.
    fn after_connector(&self, at: usize, is_between: bool) -> Option<usize> {
        let connects = match self.term(at) {
            Term::To | Term::Dash | Term::Relation(Relation::Until) => true,
            Term::RelationAfter(Relation::Since) => self.language.has_kana,
            Term::And => is_between,
            _ => false,
        };
        connects.then_some(at + 1)
    }

    /// The place after particles that belong to the time before them, and the end of a range.
    fn after_particles(&self, at: usize) -> usize {
        let at = match self.term(at) {
            Term::RelationAfter(Relation::Until) => at + 1,
            _ => at,
        };
        self.skip(at, |term| term == Term::AnchorAfter)
    }

    /// "since Monday", "before 3 May", "seit 3 Tagen".
    fn related(&self, at: usize) -> Option<Reading> {
        let relation = match self.term(at) {
            Term::Relation(relation) => relation,
            _ => return None,
        };
        if relation == Relation::BeforeOrAgo
            && let Some(found) = self.point(at)
        {
            return Some((found.point().map(Meaning::At), found.next));
        }
        if relation == Relation::Since
            && let Some((count, unit, next)) = self.units(at + 1)
        {
            let point = Point {
                named: Named::Last(count, unit),
                part: None,
            };
            return Some((Some(Meaning::At(point)), next));
        }
        let start = self.skip(at + 1, is_article);
        let found = self.point(start)?;
        let opening = Opening {
            has_other: true,
            ..self.opening(at + 1..start)
        };
        if !self.is_anchored(&found, opening) {
            return None;
        }
        // "the day after 3 May", "3 days before Monday".
        let is_distance = matches!(self.before(at), Term::Unit(_) | Term::Units(_));
        let meaning = found.point().filter(|_| !is_distance);
        let (meaning, next) = (meaning.map(|point| apply(relation, point)), found.next);
        // "从三月以来".
        Some((
            meaning,
            self.after_postposition(next).map_or(next, |(_, next)| next),
        ))
    }

    /// "on Monday", "in March", "yesterday", "月曜日に", "3月以来".
    fn anchored(&self, at: usize) -> Option<Reading> {
        let start = self.skip(at, |term| {
            is_article(term) || matches!(term, Term::From | Term::Of | Term::OfOn | Term::OfThe)
        });
        let opening = match start == at {
            true => self.shared_opening(at),
            false => self.opening(at..start),
        };
        // "in March 3 people".
        let month = Some(start)
            .filter(|_| opening.has_in && !opening.has_article)
            .filter(|_| self.language.has_month_before_day)
            .and_then(|start| self.month(start));
        let found = month.or_else(|| self.point(start))?;
        let after = self.skip(found.next, |term| term == Term::AnchorAfter);
        let postposition = self.after_postposition(after);
        let is_anchored = self.is_anchored(&found, opening)
            || postposition.is_some()
            || after > found.next && matches!(found.needs, Needs::Month | Needs::Weekday)
            || start == at && self.stands_alone(&found, at);
        if !is_anchored {
            return None;
        }
        let Some(point) = found.point() else {
            return Some((None, after));
        };
        match postposition {
            // "前" and the like with a number of units are a distance to it.
            Some((_, next)) if self.units(next).is_some() => Some((None, next)),
            Some((relation, next)) => {
                Some((Some(apply(relation, point)), self.after_particles(next)))
            }
            None => Some((Some(Meaning::At(point)), after)),
        }
    }

    /// What a word after a time says, and the place after it.
    fn after_postposition(&self, at: usize) -> Option<(Relation, usize)> {
        match self.term(at) {
            Term::RelationAfter(relation) => Some((relation, at + 1)),
            _ => None,
        }
    }

    /// What anchors the second time of "in March and April".
    fn shared_opening(&self, at: usize) -> Opening {
        let first = at.saturating_sub(2);
        let is_listed = self.before(at) == Term::And
            && matches!(
                (self.term(first), self.term(at)),
                (Term::Month(..), Term::Month(..))
                    | (Term::Weekday(_), Term::Weekday(_))
                    | (Term::Number(..), Term::Number(..))
            );
        match is_listed {
            true => self.opening(first.saturating_sub(1)..first),
            false => Opening::default(),
        }
    }

    fn opening(&self, items: Range<usize>) -> Opening {
        let has = |wanted| items.clone().any(|at| self.term(at) == wanted);
        Opening {
            has_in: has(Term::In),
            has_on: has(Term::On) || has(Term::OfOn),
            has_article: has(Term::The) || has(Term::OfThe),
            has_other: has(Term::From),
        }
    }

    /// Whether the words before a time make it one.
    fn is_anchored(&self, found: &Found, opening: Opening) -> bool {
        match found.needs {
            Needs::Nothing => true,
            Needs::Weekday => opening.has_on || opening.has_other,
            Needs::Month => opening.has_in || opening.has_other,
            Needs::AmbiguousMonth => {
                let is_name = !self.language.has_month_before_day && self.is_name(found.next - 1);
                // April's class is not of the month.
                let is_owner = self.term(found.next) == Term::AnchorAfter;
                opening.has_in && !is_owner
                    || opening.has_other && !is_name && self.goes_on_plainly(found.next)
            }
            Needs::Date => {
                let has_article = opening.has_article && !self.language.has_dotted_dates;
                opening.has_on || opening.has_other || opening.has_in || has_article
            }
            Needs::Year => opening.has_in || opening.has_other,
        }
    }

    /// Whether a time with no word before it that anchors it is one in its language.
    fn stands_alone(&self, found: &Found, at: usize) -> bool {
        let before = self.before(at);
        match found.needs {
            Needs::Weekday => {
                let is_alone = match self.language.weekday_alone {
                    Alone::Never => false,
                    Alone::WithPart => found.part.is_some(),
                    Alone::Always => !self.is_name(at),
                };
                let is_free = !matches!(
                    before,
                    Term::The
                        | Term::OfThe
                        | Term::One
                        | Term::First
                        | Term::And
                        | Term::Excludes
                        | Term::To
                        | Term::Number(..)
                );
                // "周日烤肉" is a kind of meat.
                let is_word = self.language.script == Script::Ideographs
                    && found.part.is_none()
                    && !self.goes_on_plainly(found.next);
                is_alone && is_free && !is_word
            }
            // "Was habe ich 2024 gesagt?", but "Agenda 2030" and "2024 Euro".
            Needs::Year => {
                let is_word = |at: usize| self.is_small(at);
                let is_round = matches!(found.named, Some(Named::Year(year)) if year % 100 == 0);
                self.language.has_years_alone
                    && !is_round
                    && at.checked_sub(1).is_some_and(is_word)
                    && before != Term::Excludes
                    && (is_word(at + 1) || self.ends(at + 1))
            }
            _ => false,
        }
    }

    /// Whether an expression is what it looks like.
    fn is_meant(&self, meaning: Meaning, items: &Range<usize>, is_past: bool) -> bool {
        let is_open = points(meaning).any(|point| point.named.is_open());
        let is_excluded = self.before(items.start) == Term::Excludes;
        let has_name = items.clone().any(|at| {
            let is_ordinary = matches!(
                self.term(at),
                Term::Day(_)
                    | Term::DayPart(..)
                    | Term::Step(_)
                    | Term::StepAfter(_)
                    | Term::StepEither(_)
                    | Term::Rolling
            );
            is_ordinary && self.is_name(at)
        });
        !(is_open && (is_excluded || !is_past))
            && self.before(items.start) != Term::Misleads
            && !has_name
            && !self.is_in_compound(items)
            && !self.is_title(items)
    }

    /// "Sunday Times", "Friday Night Lights".
    fn is_title(&self, items: &Range<usize>) -> bool {
        let is_weekday = |at: usize| matches!(self.term(at), Term::Weekday(_));
        let is_part = |at: usize| matches!(self.term(at), Term::Part(_)) && self.is_name(at);
        let goes_on = self.term(items.end) == Term::Unknown && self.is_name(items.end);
        self.language.has_compounds_of_words
            && items.clone().any(is_weekday)
            && (goes_on || items.clone().any(is_part))
    }
}

fn is_article(term: Term) -> bool {
    matches!(
        term,
        Term::The | Term::In | Term::On | Term::OfOn | Term::OfThe
    )
}

fn apply(relation: Relation, point: Point) -> Meaning {
    match relation {
        Relation::Since => Meaning::Since(point),
        Relation::Until => Meaning::Until(point),
        Relation::Before | Relation::BeforeOrAgo => Meaning::Before(point),
        Relation::After => Meaning::After(point),
    }
}

fn points(meaning: Meaning) -> impl Iterator<Item = Point> {
    let (first, last) = match meaning {
        Meaning::At(point)
        | Meaning::Since(point)
        | Meaning::Until(point)
        | Meaning::Before(point)
        | Meaning::After(point) => (point, None),
        Meaning::Between(first, last) => (first, Some(last)),
    };
    std::iter::once(first).chain(last)
}

/// "from Monday to Friday" is as often a habit.
fn is_of_weekdays(meaning: Meaning) -> bool {
    let is_weekday = |point: Point| matches!(point.named, Named::Weekday(_, Which::Recent));
    matches!(meaning, Meaning::Between(..)) && points(meaning).all(is_weekday)
}
