//! The traits of a query.

use std::collections::HashSet;

use memory_text::{LexicalVector, hash, is_same_speaker, named_speakers, short_hash, words};

/// A query as the ranking sees it.
#[derive(Debug, Default)]
pub(crate) struct QueryTraits {
    /// The speaker whose name is in the query, if it has exactly one.
    pub(crate) speaker: Option<String>,
    /// Its words, shortened like the words of a [`Form`](memory_text::Form), and their weights.
    pub(super) words: Vec<(u32, f64)>,
    /// The weights of its codes together.
    pub(super) codes: f64,
    /// It asks for a time.
    pub(super) is_when: bool,
    /// It asks for several things, such as "Which places …".
    pub(super) is_list: bool,
    pub(super) dates: Dates,
}

/// The parts of dates in a question.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Dates {
    days: Vec<u8>,
    months: Vec<u8>,
    years: Vec<i32>,
}

const MONTHS: [&str; 12] = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
];

/// Characters from which on a word with digits is a code, such as an order number. Shorter ones are
/// mostly years, times and amounts.
const CODE: usize = 5;

impl QueryTraits {
    /// `weighed` are the words of the question, weighed; `None` for a search by meaning alone.
    pub(crate) fn new(question: &str, names: &[String], weighed: Option<&LexicalVector>) -> Self {
        let speaker = match named_speakers(question, names).as_slice() {
            [one] => Some((*one).to_owned()),
            _ => None,
        };
        let weights = weighed
            .into_iter()
            .flat_map(|words| words.indices.iter().zip(&words.values))
            .map(|(word, weight)| (*word, f64::from(*weight)));
        let codes = codes(question);
        let of_codes = weights.clone().filter(|(word, _)| codes.contains(word));
        let lower = question.to_lowercase();
        let tokens: Vec<&str> = lower
            .split(|c: char| !c.is_alphanumeric())
            .filter(|token| !token.is_empty())
            .collect();
        Self {
            speaker,
            codes: of_codes.map(|(_, weight)| weight).sum(),
            words: weights
                .map(|(word, weight)| (short_hash(word), weight))
                .collect(),
            is_when: is_when(&tokens),
            is_list: is_list(&tokens),
            dates: Dates::in_question(&tokens),
        }
    }

    /// The weights of its words together.
    pub(super) fn weight(&self) -> f64 {
        self.words.iter().map(|(_, weight)| weight).sum()
    }

    /// The share of [`weight`](Self::weight) that belongs to codes, 0.0 to 1.0.
    pub(super) fn code_share(&self) -> f64 {
        match self.weight() {
            weight if weight > 0.0 => self.codes / weight,
            _ => 0.0,
        }
    }

    /// Whether the query is about this speaker.
    pub(super) fn is_speaker(&self, name: &str) -> bool {
        let speaker = self.speaker.as_deref();
        speaker.is_some_and(|speaker| is_same_speaker(speaker, name))
    }
}

fn codes(question: &str) -> HashSet<u32> {
    let mut codes = HashSet::new();
    words(question, |word| {
        if word.len() >= CODE && word.contains(char::is_numeric) {
            codes.insert(hash(word));
        }
    });
    codes
}

fn is_when(tokens: &[&str]) -> bool {
    match tokens {
        ["when", ..] | ["how", "long", ..] | ["in", "which", ..] => true,
        ["on", "what" | "which", ..] => true,
        ["what", asked, ..] => matches!(*asked, "date" | "day" | "month" | "year" | "time"),
        _ => false,
    }
}

fn is_list(tokens: &[&str]) -> bool {
    let is_plural = |word: &&str| word.len() > 2 && word.ends_with('s') && !word.ends_with("ss");
    let asks_which = match tokens {
        ["what", "is" | "was" | "does" | "has", ..] => false,
        ["what" | "which", rest @ ..] => rest.iter().take(2).any(is_plural),
        _ => false,
    };
    asks_which || tokens.contains(&"both") || tokens.windows(2).any(|two| two == ["how", "many"])
}

impl Dates {
    /// The dates in the tokens of a question.
    fn in_question(tokens: &[&str]) -> Self {
        let mut found = Self::default();
        let number = |token: &str| token.parse::<i32>().ok();
        // Such as 29.12.2023 and 2023-12-29.
        for three in tokens.windows(3) {
            let numbers = (number(three[0]), number(three[1]), number(three[2]));
            let (day, month, year) = match numbers {
                (Some(day), Some(month), Some(year)) if year >= 1900 => (day, month, year),
                (Some(year), Some(month), Some(day)) if year >= 1900 => (day, month, year),
                _ => continue,
            };
            if let (day @ 1..=31, month @ 1..=12) = (day, month) {
                found.days.push(day as u8);
                found.months.push(month as u8);
                found.years.push(year);
            }
        }
        for (place, token) in tokens.iter().enumerate() {
            if let Some(month) = MONTHS.iter().position(|month| month == token) {
                let before = place.checked_sub(1).map(|place| tokens[place]);
                let starts_with_digit =
                    |token: &&str| token.starts_with(|c: char| c.is_ascii_digit());
                let is_date = !matches!(*token, "may" | "march")
                    || before.is_some_and(|one| matches!(one, "in" | "on" | "of"))
                    || before.as_ref().is_some_and(starts_with_digit)
                    || tokens.get(place + 1).is_some_and(starts_with_digit);
                if is_date {
                    found.months.push(month as u8 + 1);
                }
            } else if let Some(year @ 1900..=2099) = number(token) {
                found.years.push(year);
            }
        }
        if !found.months.is_empty() {
            let ends = ["st", "nd", "rd", "th"];
            let day = |token: &&str| {
                let end = ends.iter().find_map(|end| token.strip_suffix(end));
                match end.unwrap_or(token).parse() {
                    Ok(day @ 1..=31) => Some(day),
                    _ => None,
                }
            };
            found.days.extend(tokens.iter().filter_map(day));
        }
        found
    }

    /// How well the day of a message fits: 2 if all is equal, 1 if month and year are, as far
    /// as they are given.
    pub(super) fn fit(&self, micros: i64) -> f64 {
        if self.months.is_empty() && self.years.is_empty() {
            return 0.0;
        }
        let Ok(said) = time::OffsetDateTime::from_unix_timestamp(micros.div_euclid(1_000_000))
        else {
            return 0.0;
        };
        let fits_month = self.months.is_empty() || self.months.contains(&said.month().into());
        let fits_year = self.years.is_empty() || self.years.contains(&said.year());
        match (fits_month && fits_year, self.days.contains(&said.day())) {
            (true, true) => 2.0,
            (true, false) => 1.0,
            (false, _) => 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use memory_text::lexical_query;

    use super::*;

    fn asked(question: &str) -> QueryTraits {
        QueryTraits::new(question, &[], None)
    }

    #[test]
    fn the_weight_of_codes_is_their_share_of_the_words() {
        let share = |question| {
            QueryTraits::new(question, &[], Some(&lexical_query(question, &[]))).code_share()
        };
        assert_eq!(share("QX10063"), 1.0);
        assert_eq!(share("Which error was QX10063?"), 0.5);
        assert_eq!(share("Which errors were there in May 2023?"), 0.0);
        assert_eq!(share(""), 0.0);
    }

    #[test]
    fn questions_for_times_and_lists_are_known() {
        for question in [
            "When did she go?",
            "what year was it",
            "How long did it take?",
        ] {
            assert!(asked(question).is_when, "{question}");
        }
        for question in ["What did she say?", "Say when.", ""] {
            assert!(!asked(question).is_when, "{question}");
        }
        for question in [
            "What hobbies has she?",
            "Which Italian dishes?",
            "how many dogs",
        ] {
            assert!(asked(question).is_list, "{question}");
        }
        for question in ["What is his name?", "Which class?", "Who swims?"] {
            assert!(!asked(question).is_list, "{question}");
        }
    }

    #[test]
    fn dates_are_read_however_they_are_written() {
        // 5 January 2024, noon.
        let noon = 1_704_456_000_000_000;
        for (question, expected) in [
            ("What happened on 5 January 2024?", 2.0),
            ("What happened on January 5th?", 2.0),
            ("And on 05.01.2024?", 2.0),
            ("And on 2024-01-05?", 2.0),
            ("And in January?", 1.0),
            ("And in 2024?", 1.0),
            ("And on 6 January 2024?", 1.0),
            ("And in May 2024?", 0.0),
            ("May I ask 5 things?", 0.0),
        ] {
            assert_eq!(asked(question).dates.fit(noon), expected, "{question}");
        }
    }
}
