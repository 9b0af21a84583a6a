//! The times that a question names, from its text to ranges of time.

use std::ops::Range;
use std::sync::LazyLock;

use jiff::Timestamp;
use jiff::tz::TimeZoneDatabase;

use crate::calendar::Calendar;
use crate::hidden::hidden;
use crate::language::{Language, Script};
use crate::languages::LANGUAGES;
use crate::lexicon::Lexicon;
use crate::sentence::Sentence;
use crate::tokens::{Kind, Token, is_kana, tokens};

static LEXICONS: LazyLock<Vec<Lexicon>> =
    LazyLock::new(|| LANGUAGES.into_iter().map(Lexicon::new).collect());
static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// When and where a question is asked.
#[derive(Clone, Debug)]
pub struct Clock {
    calendar: Calendar,
}

/// A time that a question names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedTime {
    /// The first moment. Before `end`.
    pub start: Timestamp,
    /// The first moment after it.
    pub end: Timestamp,
    /// Whether a date, a month or a year names it, such as "on 5 May", and not a weekday or a distance
    /// from the reference, such as "yesterday".
    pub is_of_calendar: bool,
    /// The bytes of the question that name it, with the prepositions and particles that belong to
    /// them. Both ends are on boundaries of characters.
    pub text: Range<usize>,
}

/// The database has no time zone of the name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name:?} is no time zone of the IANA database, such as \"Europe/Berlin\"")]
pub struct UnknownZone {
    /// The name.
    pub name: String,
}

impl Clock {
    /// The clock at a reference time, which is usually when the question is asked. `zone`: a name
    /// of the IANA database in any case, such as `Europe/Berlin`; empty: UTC.
    pub fn new(reference: Timestamp, zone: &str) -> Result<Self, UnknownZone> {
        let zone = match zone {
            "" => "UTC",
            zone => zone,
        };
        let zone = ZONES.get(zone).map_err(|_| UnknownZone {
            name: zone.to_owned(),
        })?;
        let calendar = Calendar::new(reference.to_zoned(zone));
        Ok(Self { calendar })
    }

    /// The reference time.
    pub fn reference(&self) -> Timestamp {
        self.calendar.reference()
    }

    /// The times that a question names, in the order of its text and without overlap. Empty where
    /// it names none that is understood. The time that this takes grows with the length of the
    /// question, which the caller bounds.
    pub fn named_times(&self, question: &str) -> Vec<NamedTime> {
        let tokens = tokens(question, &hidden(question));
        let mut times: Vec<NamedTime> = [Script::Latin, Script::Ideographs]
            .into_iter()
            .filter(|script| is_in_script(&tokens, *script))
            .flat_map(|script| self.times_in_script(&tokens, script))
            .collect();
        times.sort_by_key(|time| (time.text.start, std::cmp::Reverse(time.text.end)));
        let mut end = 0;
        times.retain(|time| {
            let is_apart = time.text.start >= end;
            end = end.max(time.text.end);
            is_apart
        });
        times
    }

    /// The times in the language that knows most of the question's words. Where several know as
    /// many, those that all of them read alike.
    fn times_in_script(&self, tokens: &[Token], script: Script) -> Vec<NamedTime> {
        let lexicons = LEXICONS.iter();
        let sentences: Vec<Sentence<'_>> = lexicons
            .filter(|lexicon| is_possible(lexicon.language(), script, tokens))
            .map(|lexicon| Sentence::new(tokens, lexicon))
            .collect();
        let most = sentences.iter().map(Sentence::known_words).max();
        let mut best = sentences
            .iter()
            .filter(|one| Some(one.known_words()) == most);
        let Some(first) = best.next() else {
            return Vec::new();
        };
        let mut times = self.times(first);
        for other in best {
            let others = self.times(other);
            times.retain(|time| {
                let is_same = |one: &NamedTime| (one.start, one.end) == (time.start, time.end);
                others
                    .iter()
                    .any(|one| is_same(one) && one.text.end == time.text.end)
            });
        }
        times
    }

    fn times(&self, sentence: &Sentence<'_>) -> Vec<NamedTime> {
        let expressions = sentence.expressions().into_iter();
        expressions
            .filter_map(|expression| {
                let stretch = self.calendar.stretch(expression.meaning)?;
                Some(NamedTime {
                    start: stretch.start,
                    end: stretch.end,
                    is_of_calendar: expression.meaning.is_of_calendar(),
                    text: sentence.text(&expression.items)?,
                })
            })
            .collect()
    }
}

/// Whether a text has words of a script; one without any is read in all.
fn is_in_script(tokens: &[Token], script: Script) -> bool {
    let has = |kind| tokens.iter().any(|token| token.kind == kind);
    match script {
        Script::Latin => has(Kind::Word) || !has(Kind::Sign),
        Script::Ideographs => has(Kind::Sign),
    }
}

/// Whether a text can be in a language. One with kana is Japanese.
fn is_possible(language: &Language, script: Script, tokens: &[Token]) -> bool {
    let mut signs = tokens.iter().filter(|token| token.kind == Kind::Sign);
    language.script == script
        && (script == Script::Latin
            || language.has_kana
            || !signs.any(|token| token.text.chars().any(is_kana)))
}
