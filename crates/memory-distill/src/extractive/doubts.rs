//! Words that show that something is not stated, or not by the speaker.

use super::claim::without_openers;
use super::words;

/// Words that show that a clause is not a statement.
const DOUBTS: &[&str] = &[
    "if",
    "would",
    "could",
    "might",
    "maybe",
    "perhaps",
    "unless",
    "probably",
    "hopefully",
    "guess",
    "almost",
    "nearly",
    "should",
];
/// Words that show that nothing in a sentence is meant.
const JOKES: &[&str] = &[
    "wish",
    "imagine",
    "suppose",
    "joking",
    "kidding",
    "pretend",
    "hypothetically",
    "lol",
];
/// Words before a clause that make it depend on something.
const CONDITIONS: &[&str] = &[
    "if", "unless", "when", "whenever", "once", "until", "assuming", "assume", "whether",
    "provided", "say", "case",
];
/// Words for works, whose sentences say nothing about the speaker.
const FICTION: &[&str] = &[
    "story",
    "novel",
    "poem",
    "song",
    "lyrics",
    "line",
    "quote",
    "scene",
    "character",
    "script",
    "movie",
    "film",
    "game",
    "dream",
    "example",
    "scenario",
    "roleplay",
    "motto",
    "sentence",
    "essay",
];
/// Words by which somebody else's words are reported.
const REPORTS: &[&str] = &[
    "said",
    "says",
    "saying",
    "told",
    "tells",
    "claims",
    "claimed",
    "thinks",
    "thought",
    "believes",
    "writes",
    "wrote",
    "asked",
    "asks",
    "replied",
    "quoted",
    "according",
    "heard",
    "reads",
    "texted",
    "mentioned",
    "insists",
    "insisted",
];
/// Most words of a clause that reports, such as "my doctor says".
const REPORT_WORDS: usize = 5;
/// Most words of a clause that only doubts, such as "but probably not".
const DOUBT_WORDS: usize = 3;
/// Words of an opinion about what was just said.
const OPINIONS: &[&str] = &[
    "think",
    "thinks",
    "say",
    "says",
    "said",
    "believe",
    "believes",
    "probably",
    "perhaps",
    "maybe",
    "guess",
    "supposedly",
];
const POLITE: &[&str] = &["please", "can", "could", "would", "you"];
/// Verbs of requests to work on a text.
const EDITS: &[&str] = &[
    "translate",
    "proofread",
    "paraphrase",
    "rephrase",
    "reword",
    "rewrite",
];
/// Verbs of requests that are about a text only if one of [`TEXTS`] follows.
const POSSIBLE_EDITS: &[&str] = &[
    "summarize",
    "summarise",
    "fix",
    "polish",
    "correct",
    "edit",
    "improve",
    "write",
];
/// Words before "to" in a request: "I need you to translate".
const ASKING: &[&str] = &["you", "need", "want", "help", "how", "like"];
/// Words of a sentence within which a request to work on a text begins.
const BEGINNING_WORDS: usize = 8;
const TEXTS: &[&str] = &[
    "this",
    "following",
    "below",
    "text",
    "email",
    "mail",
    "paragraph",
    "letter",
    "sentence",
    "sentences",
    "essay",
    "article",
    "story",
    "poem",
    "dialogue",
    "script",
    "grammar",
];
/// Words after which a message plays something through.
const GAMES: &[&str] = &[
    "imagine",
    "pretend",
    "suppose",
    "roleplay",
    "hypothetically",
];
const GAMES_TOGETHER: &[&str] = &["pretend", "say", "imagine", "assume", "suppose", "roleplay"];

/// Whether one of these words makes a clause doubtful.
pub(super) fn are_doubtful(said: &[String]) -> bool {
    words::have(said, DOUBTS)
}

/// Whether one of these words takes back a whole sentence.
pub(super) fn are_joking(said: &[String]) -> bool {
    words::have(said, JOKES)
}

/// Whether a clause after these words may be conditional, invented or somebody else's.
pub(super) fn leave_unsure(said: &[String]) -> bool {
    words::have(said, CONDITIONS) || words::have(said, FICTION) || report(said)
}

/// Whether a clause says who said what comes before it.
pub(super) fn name_a_source(clause: &[String]) -> bool {
    clause.len() <= REPORT_WORDS && report(clause)
}

/// Whether a clause does nothing but doubt what comes before it: "I guess", "but probably not".
pub(super) fn are_a_doubt(clause: &[String]) -> bool {
    clause.len() <= DOUBT_WORDS && are_doubtful(clause)
}

/// Whether what comes before is somebody's opinion: "so they think".
pub(super) fn name_an_opinion(said: &[String]) -> bool {
    words::have(said, OPINIONS)
}

/// Whether a sentence is about an invented situation: "in this example".
pub(super) fn are_fiction(said: &[String]) -> bool {
    said.windows(3).any(|words| {
        let [before, which, what] = words else {
            return false;
        };
        matches!(before.as_str(), "in" | "for")
            && matches!(which.as_str(), "this" | "the" | "that" | "my" | "our")
            && FICTION.contains(&what.as_str())
    })
}

/// Whether what follows a sentence is a text to work on, or plays something through.
pub(super) fn set_apart(said: &[String]) -> bool {
    let said = without_openers(said);
    let polite = said
        .iter()
        .take_while(|word| POLITE.contains(&word.as_str()));
    let begin = polite.count();
    begins_a_game(&said[begin..])
        || (0..said.len().min(BEGINNING_WORDS))
            .any(|place| (place == begin || is_asked(&said[..place])) && edits(&said[place..]))
}

/// Whether what follows the words is played through, or is to be said in another language.
fn begins_a_game(said: &[String]) -> bool {
    let next = words::at(said, 1);
    match words::at(said, 0) {
        "let's" => GAMES_TOGETHER.contains(&next),
        "how" => said.iter().take(5).any(|word| word == "say"),
        first => GAMES.contains(&first),
    }
}

/// Whether a verb after these words is a request: "help me", "I need you to".
fn is_asked(before: &[String]) -> bool {
    match before {
        [.., asking, to] if to == "to" => ASKING.contains(&asking.as_str()),
        [.., last] => matches!(last.as_str(), "please" | "me" | "you" | "just"),
        [] => false,
    }
}

/// Whether the words begin with a verb for work on a text.
fn edits(said: &[String]) -> bool {
    let (verb, rest) = (words::at(said, 0), &said[1..]);
    EDITS.contains(&verb)
        || (POSSIBLE_EDITS.contains(&verb) && words::have(&rest[..rest.len().min(4)], TEXTS))
        || (verb == "act" && words::at(rest, 0) == "as")
}

/// Whether somebody else's words are reported. "As I said" reports none.
fn report(said: &[String]) -> bool {
    said.iter().enumerate().any(|(place, word)| {
        let before = place.checked_sub(1).map(|before| said[before].as_str());
        REPORTS.contains(&word.as_str()) && !matches!(before, Some("i" | "i've" | "already"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::extractive::words::plain;

    #[test]
    fn texts_to_work_on_and_games_are_set_apart() {
        for text in [
            "Translate into German:",
            "Please can you proofread this?",
            "Can you please rephrase it",
            "Could you correct the grammar of this",
            "Write me a short story",
            "Imagine the following.",
            "Let's say this is your customer.",
            "Can you help me translate this into German?",
            "Hi there, please translate this:",
            "How do you say this in French?",
            "Fix the grammar of this:",
            "Act as a customer.",
            "I need you to rewrite the following.",
        ] {
            assert!(set_apart(&plain(text)), "{text}");
        }
        for text in [
            "Check this picture of Paris",
            "Correct, I live in Oslo.",
            "Let's plan a trip",
            "Can you help me?",
            "I translate books.",
            "How is the weather?",
            "My job is to rewrite articles.",
            "Please",
            "",
        ] {
            assert!(!set_apart(&plain(text)), "{text}");
        }
    }

    #[test]
    fn others_words_are_reported_and_the_speakers_are_not() {
        for (text, expected) in [
            ("my doctor says", true),
            ("she told me", true),
            ("as I said", false),
            ("I've already mentioned", false),
            ("a long walk in the park", false),
        ] {
            assert_eq!(name_a_source(&plain(text)), expected, "{text}");
        }
    }
}
