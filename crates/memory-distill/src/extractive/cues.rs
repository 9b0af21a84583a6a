//! Surface features of sentences: cue words, names, numbers and form.

use std::collections::HashSet;

use super::words;

const TIMES: &[&str] = &[
    "yesterday",
    "today",
    "tomorrow",
    "tonight",
    "week",
    "weeks",
    "weekend",
    "month",
    "months",
    "year",
    "years",
    "ago",
    "last",
    "next",
    "since",
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
    "january",
    "february",
    "march",
    "april",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
    "summer",
    "winter",
    "spring",
    "autumn",
    "fall",
    "birthday",
    "anniversary",
    "recently",
    "deadline",
    "morning",
    "evening",
    "night",
];
const FIRST: &[&str] = &[
    "i", "i'm", "i've", "i'd", "i'll", "my", "we", "we're", "we've", "our", "me", "mine",
];
const RELATIONS: &[&str] = &[
    "mom",
    "mother",
    "dad",
    "father",
    "parents",
    "son",
    "daughter",
    "kids",
    "kid",
    "children",
    "husband",
    "wife",
    "sister",
    "brother",
    "friend",
    "friends",
    "grandma",
    "grandpa",
    "family",
    "dog",
    "cat",
    "puppy",
    "pet",
    "pets",
    "boss",
    "colleague",
    "team",
    "neighbor",
];
const NEGATIONS: &[&str] = &[
    "not", "never", "no", "don't", "didn't", "can't", "won't", "couldn't", "isn't", "wasn't",
    "haven't",
];
const DECISIONS: &[&str] = &[
    "decide",
    "decided",
    "decision",
    "agree",
    "chose",
    "chosen",
    "settled",
    "promised",
    "must",
    "deadline",
    "approved",
    "rejected",
    "confirmed",
    "cancelled",
    "canceled",
    "signed",
    "booked",
    "switched",
    "agreed",
];
const ERRORS: &[&str] = &[
    "error",
    "errors",
    "failed",
    "fails",
    "fail",
    "failure",
    "exception",
    "panic",
    "panicked",
    "traceback",
    "fatal",
    "refused",
    "denied",
    "unauthorized",
    "forbidden",
    "timeout",
    "crash",
    "crashed",
    "missing",
    "invalid",
    "cannot",
    "conflict",
    "rejected",
    "unreachable",
    "aborted",
    "rollback",
    "deadlock",
];
const FIXES: &[&str] = &[
    "fixed",
    "fix",
    "solved",
    "resolved",
    "cause",
    "caused",
    "workaround",
    "diagnosis",
    "diagnosed",
];
/// Decisions, errors and preferences in Chinese and Japanese, which do not separate words.
const DENSE: &[&str] = &[
    "决定",
    "決定",
    "同意",
    "计划",
    "計画",
    "错误",
    "エラー",
    "失败",
    "失敗",
    "喜欢",
    "好き",
    "最喜欢",
    "必须",
    "住在",
    "生日",
    "誕生日",
];

/// Log-odds of cues that are too rare in everyday conversation to be fitted.
const ERROR: f32 = 0.8;
const DECISION: f32 = 0.4;
const DENSE_CUE: f32 = 0.5;
const AMOUNT: f32 = 0.3;

/// The features of a sentence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cues {
    /// Capitalized words except the first and the names of speakers.
    pub(super) names: usize,
    pub(super) number: bool,
    pub(super) quotation: bool,
    pub(super) time: bool,
    pub(super) first_person: bool,
    pub(super) relation: bool,
    pub(super) negation: bool,
    pub(super) question: bool,
    /// The log-odds of errors, fixes, decisions and amounts.
    pub(super) other: f32,
}

impl Cues {
    /// The features of a text. `speakers` are the stems of the speakers' names.
    pub(super) fn of(text: &str, speakers: &HashSet<String>) -> Self {
        let said = words::plain(text);
        let has = |list: &[&str]| words::have(&said, list);
        let mut other = 0.0;
        if has(ERRORS) || has(FIXES) {
            other += ERROR;
        }
        if has(DECISIONS) {
            other += DECISION;
        }
        if DENSE.iter().any(|word| text.contains(word)) {
            other += DENSE_CUE;
        }
        if text.contains(['$', '€', '£', '¥', '%']) {
            other += AMOUNT;
        }
        Self {
            names: names(text, speakers),
            number: text.chars().any(char::is_numeric),
            quotation: text.contains(['"', '“', '„', '«', '「', '『', '《']),
            time: has(TIMES),
            first_person: has(FIRST),
            relation: has(RELATIONS),
            negation: has(NEGATIONS),
            question: is_question(text),
            other,
        }
    }
}

/// Whether a line of a tool or a log reports an error.
pub(super) fn reports_error(text: &str) -> bool {
    let said = words::plain(text);
    words::have(&said, ERRORS)
        // E0412, ERR_CONN, TypeError.
        || text.contains("Error") || text.contains("Exception") || text.contains("ERR")
}

/// Whether the text is a question.
pub(super) fn is_question(text: &str) -> bool {
    text.trim_end_matches(['"', '\'', ')', '”', ' '])
        .ends_with(['?', '？'])
}

/// Whether the words name a time, such as "next week" or "in May".
pub(super) fn name_time(said: &[String]) -> bool {
    said.iter().enumerate().any(|(place, word)| {
        if word != "may" {
            return TIMES.contains(&word.as_str());
        }
        // The verb is more frequent.
        let before = place
            .checked_sub(1)
            .map_or("", |before| said[before].as_str());
        let after = words::at(said, place + 1);
        let is_number = |word: &str| word.starts_with(|c: char| c.is_ascii_digit());
        is_number(before)
            || is_number(after)
            || matches!(
                before,
                "in" | "this" | "next" | "of" | "early" | "mid" | "late" | "until"
            )
    })
}

/// Number of capitalized words except the first and the names of speakers.
fn names(text: &str, speakers: &HashSet<String>) -> usize {
    text.split_whitespace()
        .skip(1)
        .filter(|word| {
            let mut letters = word.chars().skip_while(|c| !c.is_alphanumeric());
            let capital = letters.next().is_some_and(char::is_uppercase);
            // "I" and "I'm" are not names.
            capital && letters.next().is_some_and(char::is_alphanumeric)
        })
        .filter(|word| {
            !words::content(word)
                .iter()
                .any(|word| speakers.contains(word))
        })
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn may_is_a_month_and_a_verb() {
        for (text, expected) in [
            ("to Paris in May", true),
            ("on 3 May", true),
            ("on May 3rd", true),
            ("next week", true),
            ("it may rain", false),
            ("at some point", false),
        ] {
            assert_eq!(name_time(&words::plain(text)), expected, "{text}");
        }
    }

    #[test]
    fn a_speaker_who_is_addressed_is_no_name() {
        let speakers = HashSet::from(["ada".to_owned()]);
        let cues = Cues::of(
            "Well Ada, I met Grace Hopper in \"Mark I\" days.",
            &speakers,
        );
        assert_eq!(cues.names, 3);
        assert!(cues.quotation && cues.first_person && !cues.question && !cues.number);
        let plain = Cues::of("ok", &speakers);
        assert_eq!((plain.names, plain.other), (0, 0.0));
    }
}
