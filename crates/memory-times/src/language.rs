//! What a table of a language has: phrases and a few traits.

use crate::meaning::Part;
use crate::terms::Term;

/// A language's phrases and traits.
pub struct Language {
    pub script: Script,
    /// What phrases say. `|` separates phrases of the same meaning. Words are in small letters
    /// and with their accents.
    pub phrases: &'static [&'static [(Term, &'static str)]],
    /// Which number of a date with slashes is the day.
    pub slashes: Slashes,
    /// "5.3." is a date.
    pub has_dotted_dates: bool,
    /// "March 5" is a date.
    pub has_month_before_day: bool,
    /// Where a weekday without a word such as "on" is a time.
    pub weekday_alone: Alone,
    /// "last Monday" is the Monday of last week, not the most recent Monday.
    pub has_weekdays_by_week: bool,
    /// "2024" is a time where a sentence goes on with small letters.
    pub has_years_alone: bool,
    /// A weekday and a part of the day become one word.
    pub joins_parts: bool,
    /// Nouns follow each other: "Friday Night Lights".
    pub has_compounds_of_words: bool,
    /// "of" opens a range too: "de marzo a mayo".
    pub of_opens_ranges: bool,
    /// Syllables that are no known word are words of this language.
    pub has_kana: bool,
}

/// How a language is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Script {
    Latin,
    Ideographs,
}

/// The order of a date with slashes and the year at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slashes {
    DayFirst,
    Unclear,
}

/// Where a weekday without a word such as "on" is a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alone {
    Never,
    WithPart,
    Always,
}

/// A morning.
pub const MORNING: Part = part(4, 12);
pub const FORENOON: Part = part(6, 12);
pub const NOON: Part = part(11, 14);
pub const AFTERNOON: Part = part(12, 18);
pub const EVENING: Part = part(17, 24);
/// An evening and the night after it.
pub const NIGHT: Part = part(18, 30);

impl Language {
    /// Words such as "Montagabend".
    pub fn compounds(&self) -> Vec<(i8, Part, String)> {
        let phrases = || {
            let all = self.phrases.iter().copied().flatten();
            all.flat_map(|(term, phrases)| phrases.split('|').map(|phrase| (*term, phrase)))
        };
        let parts = |weekday: i8, name: &'static str| {
            phrases().filter_map(move |(term, phrase)| {
                let part = match term {
                    Term::Part(part) => part,
                    Term::TomorrowOrMorning => MORNING,
                    _ => return None,
                };
                let compound = (weekday, part, format!("{name}{phrase}"));
                (!phrase.contains(' ')).then_some(compound)
            })
        };
        let weekdays = phrases().filter(|_| self.joins_parts);
        weekdays
            .filter_map(|(term, name)| match term {
                Term::Weekday(weekday) => Some(parts(weekday, name)),
                _ => None,
            })
            .flatten()
            .collect()
    }
}

/// The hours from one to another.
pub const fn part(from: i8, to: i8) -> Part {
    Part { from, to }
}
