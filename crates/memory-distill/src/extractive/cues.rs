//! Weights of sentences by surface features, as in extractive summarization (H. P.
//! Edmundson, "New Methods in Automatic Extracting", 1969: cue words and location), with
//! words for conversations and agents.
//!
//! The weights were tuned on three long conversations of the LoCoMo dataset with
//! memory-bench's example `compression`.

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
const DECISIONS: &[&str] = &[
    "decide",
    "decided",
    "decision",
    "agree",
    "agreed",
    "chose",
    "chosen",
    "settled",
    "plan",
    "planning",
    "planned",
    "will",
    "i'll",
    "we'll",
    "promise",
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
];
const PREFERENCES: &[&str] = &[
    "love",
    "loves",
    "like",
    "likes",
    "prefer",
    "prefers",
    "hate",
    "hates",
    "enjoy",
    "enjoys",
    "favorite",
    "favourite",
    "always",
    "never",
    "allergic",
    "dislike",
    "want",
    "wants",
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
    "because",
    "cause",
    "caused",
    "workaround",
    "diagnosis",
    "diagnosed",
];
const FIRST: &[&str] = &[
    "i", "i'm", "i've", "i'd", "i'll", "my", "we", "we're", "we've", "our", "me", "mine",
];
const SECOND: &[&str] = &[
    "you", "your", "you're", "you've", "yours", "you'll", "you'd",
];
const FILLERS: &[&str] = &[
    "wow",
    "thanks",
    "thank",
    "great",
    "awesome",
    "cool",
    "nice",
    "amazing",
    "yeah",
    "yep",
    "yes",
    "hey",
    "hi",
    "hello",
    "sure",
    "ok",
    "okay",
    "haha",
    "lol",
    "congrats",
    "congratulations",
    "bye",
    "absolutely",
    "definitely",
    "totally",
    "sounds",
    "good",
    "glad",
    "sorry",
    "welcome",
    "oh",
    "aw",
    "aww",
    "woah",
    "whoa",
    "exactly",
    "right",
    "agreed",
    "true",
    "that's",
];
/// The same for Chinese and Japanese, which do not separate words.
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

/// The weight of a sentence by its words.
pub(super) fn weight(text: &str) -> f32 {
    let said = words::plain(text);
    let has = |list: &[&str]| said.iter().any(|word| list.contains(&word.as_str()));
    let mut weight = 0.0;
    // A sentence with few content words is an interjection.
    let content = words::content(text).len();
    weight += 0.06 * content.min(10) as f32;
    if text.chars().any(char::is_numeric) {
        weight += 0.25;
    }
    weight += 0.15 * names(text).min(3) as f32;
    if has(TIMES) {
        weight += 0.25;
    }
    if text.contains(['$', '€', '£', '¥', '%']) {
        weight += 0.15;
    }
    if has(DECISIONS) || DENSE.iter().any(|word| text.contains(word)) {
        weight += 0.15;
    }
    if has(PREFERENCES) {
        weight += 0.1;
    }
    if has(ERRORS) || has(FIXES) {
        weight += 0.2;
    }
    let first = has(FIRST);
    if first {
        weight += 0.25;
    }
    if !first && has(SECOND) {
        weight -= 0.25;
    }
    if is_question(text) {
        weight -= 0.4;
    }
    if said
        .first()
        .is_some_and(|word| FILLERS.contains(&word.as_str()))
        && content < 6
    {
        weight -= 0.25;
    }
    weight
}

/// Whether a line of a tool or a log reports an error.
pub(super) fn reports_error(text: &str) -> bool {
    let said = words::plain(text);
    said.iter().any(|word| ERRORS.contains(&word.as_str()))
        // E0412, ERR_CONN, TypeError.
        || text.contains("Error") || text.contains("Exception") || text.contains("ERR")
}

/// Whether the text is a question.
pub(super) fn is_question(text: &str) -> bool {
    text.trim_end_matches(['"', '\'', ')', '”', ' '])
        .ends_with(['?', '？'])
}

/// Number of capitalized words except the first.
fn names(text: &str) -> usize {
    text.split_whitespace()
        .skip(1)
        .filter(|word| {
            let mut letters = word.chars().skip_while(|c| !c.is_alphanumeric());
            let capital = letters.next().is_some_and(char::is_uppercase);
            // "I" and "I'm" are not names.
            capital && letters.next().is_some_and(char::is_alphanumeric)
        })
        .count()
}
