//! What a word says about time, in any language.

use crate::meaning::{Part, Unit};

/// What one phrase says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Term {
    /// A day by its distance from today: "yesterday" is -1.
    Day(i32),
    /// Hours of such a day: "last night".
    DayPart(i32, Part),
    /// The German "morgen": tomorrow, but after a day its morning.
    TomorrowOrMorning,
    /// Hours of the day that was named before: "in the evening".
    Part(Part),
    /// "last", "this", "next" before their noun, by the distance.
    Step(i32),
    /// The same after their noun: "passé", "que viene".
    StepAfter(i32),
    /// The same on either side: "pasado".
    StepEither(i32),
    /// "the past …": back from now, for one or a number of units.
    Rolling,
    /// The same, which needs a number.
    RollingMany,
    /// The name of a unit: "week".
    Unit(Unit),
    /// The same in the plural.
    Units(Unit),
    /// A unit by its distance from the present one: "l'an dernier", "先週".
    Period(Unit, i32),
    /// A weekend with nothing that says which: "over the weekend".
    SomeWeekend,
    /// A day of the week. Monday is 1.
    Weekday(i8),
    /// A weekday and hours in one word: "Montagabend".
    WeekdayPart(i8, Part),
    /// A month. January is 1.
    Month(i8, Clarity),
    /// A number in digits or words.
    Number(u32, Form),
    /// "first" as a day of a month.
    First,
    /// A date in digits alone.
    Date(Digits),
    /// 年, 月 and 日 after numbers.
    YearMark,
    /// See [`Term::YearMark`].
    MonthMark,
    /// See [`Term::YearMark`]. It counts days too.
    DayMark,
    /// 号 after the day of a month.
    DateMark,
    /// "ago" after a number of units.
    Ago,
    /// "il y a" before a number of units.
    AgoBefore,
    /// "since", "before" and the like before a time.
    Relation(Relation),
    /// The same after a time.
    RelationAfter(Relation),
    /// After "hace 3 días" it makes of them a duration: "que".
    Lasts,
    /// Opens a range that "to" goes on.
    From,
    /// Opens a range that "and" goes on.
    Between,
    /// See [`Term::From`].
    To,
    /// See [`Term::Between`].
    And,
    /// Makes a month or a year a time: "in".
    In,
    /// Makes a weekday a time: "on".
    On,
    /// Makes a weekday or a month a time, after it: "に".
    AnchorAfter,
    /// Joins a time to a larger one: "of".
    Of,
    /// Both [`Term::Of`] and [`Term::On`]: "del".
    OfOn,
    /// Both [`Term::Of`] and [`Term::The`]: "du".
    OfThe,
    /// The definite article.
    The,
    /// The indefinite article, also the number of "a week ago".
    One,
    /// "every", "for": a weekday or a month after it is not a past one.
    Excludes,
    /// Says that a number of units is not exact, or not from now: "more than".
    Inexact,
    /// What years are mistaken for counts of: "words", "euros".
    Counted,
    /// Makes a time after it another one or none: "version", "the week of".
    Misleads,
    /// Shows that a question is not about the past: "will", "usually".
    NotPast,
    /// An ordinary word of the language, by which the language is known.
    Ordinary,
    /// A phrase with words of times which is none: "Black Friday".
    Never,
    /// Any other word.
    Unknown,
    /// A comma, or one of the other marks.
    Comma,
    /// See [`Term::Comma`].
    Dot,
    /// See [`Term::Comma`].
    Dash,
    /// Any other mark, and text that is not read.
    Mark,
    /// The end of the question.
    End,
}

impl Term {
    /// The distance that the term gives to a noun after it.
    pub fn step_before(self) -> Option<i32> {
        match self {
            Self::Step(step) | Self::StepEither(step) => Some(step),
            _ => None,
        }
    }

    /// The distance that the term gives to a noun before it.
    pub fn step_after(self) -> Option<i32> {
        match self {
            Self::StepAfter(step) | Self::StepEither(step) => Some(step),
            _ => None,
        }
    }
}

/// Whether the name of a month has other meanings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clarity {
    /// It has none.
    Clear,
    /// It is a word or a person's name too: "May", "mars".
    Ambiguous,
    /// It is an abbreviation, read only next to a day or a year.
    Short,
}

/// How a number is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// "5".
    Digits,
    /// "five", "五".
    Words,
    /// "5th".
    Ordinal,
}

/// How a time bounds the range that is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// From the start of the time to the reference.
    Since,
    /// All time up to its end.
    Until,
    /// All time up to its start.
    Before,
    /// From its end to the reference.
    After,
    /// Like [`Relation::Before`], but "ago" with a number of units: "vor", "前".
    BeforeOrAgo,
}

/// A date in digits, with what it takes to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digits {
    /// The year, where there is one.
    pub year: Option<i16>,
    /// The month, 1 to 12.
    pub month: i8,
    /// The day, 1 to 31.
    pub day: i8,
    /// A word such as "on" must come before it.
    pub needs_anchor: bool,
}
