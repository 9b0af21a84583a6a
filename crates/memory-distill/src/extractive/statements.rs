//! Finds what a sentence states of its speaker: a statement for each claim, with the clauses that
//! belong to it.

use super::clauses::{Clause, Divided, Joint};
use super::{claim, cues, doubts, money, people, plans, preferences, words};

/// Fewest and most words of a statement.
const WORDS: std::ops::RangeInclusive<usize> = 3..=40;

/// Words with which a statement begins that a claim may follow after a comma.
const BEGINNINGS: &[&str] = &["i", "i'm", "i've", "we", "we're", "we've", "my", "our"];
/// Phrases with which the same begin.
const OPENINGS: &[&str] = &[
    "i'd like",
    "i'd love",
    "we'd like",
    "we'd love",
    "by the way",
    "for the record",
    "just so you know",
    "as i said",
    "as i mentioned",
    "as mentioned",
    "one more thing",
];
/// Words with which requests begin; a statement does not repeat them.
const REQUESTS: &[&str] = &[
    "please",
    "find",
    "book",
    "recommend",
    "suggest",
    "show",
    "help",
    "give",
    "plan",
    "look",
    "looking",
    "search",
    "need",
    "keep",
    "remember",
    "note",
    "fyi",
];
const POLITE: &[&str] = &[
    "can you",
    "could you",
    "would you",
    "will you",
    "can we",
    "can i",
];
/// Words before a colon that a claim may follow.
const NOTES: &[&str] = &[
    "note",
    "fyi",
    "ps",
    "btw",
    "important",
    "info",
    "reminder",
    "update",
];
/// Words with which questions begin.
const INTERROGATIVES: &[&str] = &[
    "can", "could", "would", "will", "do", "does", "did", "is", "are", "was", "were", "have",
    "has", "what", "what's", "which", "who", "where", "where's", "when", "why", "how", "how's",
    "should", "may", "any",
];

/// Words of a question whether what was said before is right.
const CHALLENGES: &[&str] = &[
    "told", "think", "say", "says", "said", "mean", "means", "remember", "believe", "true",
    "wrong", "sure", "really",
];

/// A statement of the speaker.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Statement {
    /// The sentence, or the part of it that makes the statement.
    pub(super) text: String,
    pub(super) topic: &'static str,
}

/// The statements of a sentence.
#[derive(Debug, Default)]
pub(super) struct Statements {
    pub(super) found: Vec<Statement>,
    /// Whether the first one is made by the beginning of the sentence.
    pub(super) begin: bool,
}

/// A clause that makes a claim.
struct Start {
    clause: usize,
    topic: &'static str,
    /// Whether it only adds something about a person whom it names.
    is_aside: bool,
}

/// The statements of a sentence. Of a question, only those before the clause that asks.
pub(super) fn statements(sentence: &str) -> Statements {
    let divided = Divided::new(sentence);
    let count = match cues::is_question(sentence) {
        true => asking_clause(&divided).unwrap_or_default(),
        false => divided.clauses.len(),
    };
    if count == 0 || doubts::are_joking(&divided.words) || doubts::are_fiction(&divided.words) {
        return Statements::default();
    }
    let starts = starts(&divided, count);
    let begin = starts.first().is_some_and(|first| {
        let before = &divided.words[..divided.clauses[first.clause].first];
        !first.is_aside && claim::without_openers(before).is_empty()
    });
    let found = (0..starts.len()).filter_map(|number| statement(&divided, &starts, number, count));
    Statements {
        found: found.collect(),
        begin,
    }
}

/// The clauses of the first `count` ones that make claims.
fn starts(divided: &Divided<'_>, count: usize) -> Vec<Start> {
    let mut starts: Vec<Start> = Vec::new();
    let mut place = 0;
    while place < count {
        let mut next = place + 1;
        if may_state(divided, &starts, place)
            && let Some((topic, end)) = topic(divided, place, count)
        {
            starts.push(Start {
                clause: place,
                topic,
                is_aside: false,
            });
            next = end;
        }
        place = next;
    }
    if starts.is_empty() {
        let said = &divided.words[..divided.words_to(count - 1)];
        let said = claim::without_openers(said);
        let aside = people::topic_of_aside(said).filter(|_| !doubts::leave_unsure(said));
        starts.extend(aside.map(|topic| Start {
            clause: 0,
            topic,
            is_aside: true,
        }));
    }
    starts
}

/// Whether a claim in this clause would be the speaker's own, meant as it is.
fn may_state(divided: &Divided<'_>, earlier: &[Start], place: usize) -> bool {
    let clause = &divided.clauses[place];
    if place == 0 {
        return true;
    }
    let before = &divided.words[..clause.words_before];
    let quotes = divided.text[..clause.begins].contains(['"', '“', '”', '„', '«', '»']);
    if quotes || doubts::leave_unsure(before) || stands_in_a_list(divided, place) {
        return false;
    }
    let follows = !earlier.is_empty();
    match (clause.joint, clause.link) {
        (Joint::Beginning | Joint::Both, _) => true,
        (Joint::Colon, _) => true,
        (Joint::Punctuation, _) | (Joint::Word, "because" | "since") => {
            follows || may_begin(before)
        }
        // "A friend of my son and my wife".
        (Joint::Word, _) => follows,
    }
}

/// Whether a colon before a clause introduces somebody else's words, or a list, rather than a note.
fn stands_in_a_list(divided: &Divided<'_>, place: usize) -> bool {
    let mut clauses = divided.clauses[..=place].iter();
    clauses.any(|clause| {
        let before = claim::without_openers(&divided.words[..clause.words_before]);
        let is_note = before.len() == 1 && NOTES.contains(&before[0].as_str());
        clause.joint == Joint::Colon && !is_note
    })
}

/// Whether these words begin a statement or a request of the speaker.
fn may_begin(said: &[String]) -> bool {
    let said = claim::without_openers(said);
    said.first()
        .is_none_or(|first| BEGINNINGS.contains(&first.as_str()))
        || OPENINGS
            .iter()
            .any(|phrase| claim::starts_with(said, phrase).is_some())
        || asks(said)
}

/// Whether these words are a request.
fn asks(said: &[String]) -> bool {
    let said = claim::without_openers(said);
    said.first()
        .is_some_and(|first| REQUESTS.contains(&first.as_str()))
        || POLITE
            .iter()
            .any(|phrase| claim::starts_with(said, phrase).is_some())
}

/// The topic of a claim that a clause begins, and the place of the next clause.
fn topic(divided: &Divided<'_>, place: usize, count: usize) -> Option<(&'static str, usize)> {
    let Divided {
        words, capitals, ..
    } = divided;
    let first = divided.clauses[place].first;
    let own = without_since(claim::without_openers(
        &words[first..divided.words_to(place)],
    ));
    if own.is_empty() {
        return None;
    }
    let from = divided.words_to(place) - own.len();
    let rest = &words[from..divided.words_to(count - 1)];
    let claimed = claim::of_words(own).filter(|claim| claim.subject.is_empty());
    if let Some(claim) = claimed {
        return Some((claim.topic, place + 1));
    }
    if preferences::are_preference(rest) {
        return Some(("preferences", place + 1));
    }
    if let Some(topic) = people::topic(own) {
        return Some((topic, place + 1));
    }
    if place + 1 < count && people::is_subject(own) {
        let both = &words[from..divided.words_to(place + 1)];
        if let Some(topic) = people::topic(both) {
            return Some((topic, place + 2));
        }
    }
    if money::are_budget(rest) {
        return Some(("budget", place + 1));
    }
    plans::are_plan(rest, &capitals[from..]).then_some(("plans", place + 1))
}

/// The words after a "since" that gives a reason.
fn without_since(said: &[String]) -> &[String] {
    match said {
        [since, rest @ ..] if since == "since" => {
            let speaks = ["i", "i'm", "we", "we're", "my", "our"];
            let gives_reason = rest
                .first()
                .is_some_and(|word| speaks.contains(&word.as_str()));
            if gives_reason { rest } else { said }
        }
        said => said,
    }
}

/// The first clause that asks something else than whether the clauses before it are right.
fn asking_clause(divided: &Divided<'_>) -> Option<usize> {
    let clauses = divided.clauses.iter().enumerate().skip(1);
    let mut asking = clauses.filter(|(_, clause)| clause.joint != Joint::Colon);
    let (place, clause) = asking.find(|(_, clause)| {
        let said = claim::without_openers(&divided.words[clause.first..]);
        let said = &said[usize::from(said.first().is_some_and(|word| word == "please"))..];
        said.first()
            .is_some_and(|word| INTERROGATIVES.contains(&word.as_str()))
    })?;
    let said = claim::without_openers(&divided.words[clause.first..]);
    let word = |place: usize| words::at(said, place);
    let doubts_itself = matches!(
        (word(0), word(1), word(2)),
        ("do" | "did" | "have" | "was", "i" | "we", _)
            | (
                "is" | "was",
                "that" | "it" | "this",
                "" | "right" | "correct" | "true" | "so" | "ok" | "okay"
            )
            | ("which", "is" | "was", "why")
            | ("why", _, _)
    ) || words::have(said, CHALLENGES);
    (!doubts_itself).then_some(place)
}

/// The statement of a claim, up to the next one. `None` if it is doubtful, or somebody else's.
fn statement(
    divided: &Divided<'_>,
    starts: &[Start],
    number: usize,
    count: usize,
) -> Option<Statement> {
    let Start { clause, topic, .. } = starts[number];
    let next = starts.get(number + 1).map_or(count, |next| next.clause);
    let clauses = &divided.clauses;
    let said_in = |place: usize| &divided.words[clauses[place].first..divided.words_to(place)];
    let is_taken_back = (clause + 1..count).any(|place| {
        let said = said_in(place);
        let is_apart = matches!(clauses[place].joint, Joint::Punctuation | Joint::Both);
        is_apart && (doubts::name_a_source(said) || doubts::are_a_doubt(said))
    });
    if is_taken_back {
        return None;
    }
    let lead = match number {
        0 => &divided.words[..clauses[clause].words_before],
        _ => &[],
    };
    let (is_request, is_first) = (asks(lead), number == 0);
    if !is_request && doubts::are_doubtful(lead) {
        return None;
    }
    // What follows from a statement may be a wish or a request.
    let effect =
        (clause + 1..next).find(|&place| clauses[place].link == "so" || asks(said_in(place)));
    let last = effect.unwrap_or(next) - 1;
    let body = &divided.words[clauses[clause].first..divided.words_to(last)];
    let contractions = body
        .iter()
        .filter(|word| *word == "i'm" || *word == "we're");
    let length = body.len() + contractions.count();
    if doubts::are_doubtful(body) || !WORDS.contains(&length) {
        return None;
    }
    let after = |place: usize| &divided.words[clauses[place].first..divided.words_to(next - 1)];
    if effect.is_some_and(|place| doubts::name_an_opinion(after(place))) {
        return None;
    }
    let effect = effect.filter(|&place| doubts::are_doubtful(after(place)) || asks(after(place)));
    let begin = match is_first && !is_request {
        true => 0,
        false => clauses[clause].begins,
    };
    let end = effect.or((next < clauses.len()).then_some(next));
    let text = match end.map(|place| &clauses[place]) {
        Some(Clause { text_before, .. }) => format!("{}.", &divided.text[begin..*text_before]),
        None => divided.text[begin..].to_owned(),
    };
    let text = if begin == 0 { text } else { capitalized(&text) };
    Some(Statement { text, topic })
}

fn capitalized(text: &str) -> String {
    let mut chars = text.chars();
    let first = chars.next().map(char::to_uppercase);
    first.into_iter().flatten().chain(chars).collect()
}

#[cfg(test)]
mod tests;
