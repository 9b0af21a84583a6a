//! Extracts facts without a model: sentences of a few plain forms in which a user states
//! something lasting, a preference, or an event. Doubtful sentences are left out.

use memory_contract::{
    message::{Content, Role},
    policy::ExtractionStrategy,
};

use super::{claim, cues, dates, sentence::sentences, words};
use crate::{FACT_CHARS, FACT_LABELS, Fact, FactKind, SourceMessage, content_hash};

/// Most words of a sentence that becomes a fact.
const LONGEST: usize = 40;
/// Most facts of one call.
const FACTS: usize = 500;

/// Words that show that a sentence is not a statement.
const DOUBTS: &[&str] = &[
    "if",
    "would",
    "could",
    "might",
    "maybe",
    "perhaps",
    "wish",
    "imagine",
    "suppose",
    "joking",
    "kidding",
    "pretend",
    "unless",
    "probably",
    "hopefully",
    "hypothetically",
    "guess",
    "lol",
    "almost",
    "nearly",
    "should",
];
/// Words after "I love" that refer to the moment only.
const MOMENTS: &[&str] = &[
    "it", "that", "this", "those", "these", "you", "your", "how", "when", "what", "him", "her",
    "them", "the", "to", "hearing", "seeing", "we", "where", "and", "so", "too", "as",
];
const PAST: &[&str] = &[
    "went",
    "visited",
    "started",
    "finished",
    "bought",
    "got",
    "moved",
    "met",
    "joined",
    "adopted",
    "graduated",
    "won",
    "lost",
    "passed",
    "quit",
    "sold",
    "married",
    "travelled",
    "traveled",
    "ran",
    "signed",
    "attended",
    "took",
    "launched",
    "shipped",
    "opened",
    "closed",
    "gave",
    "hired",
    "broke",
    "saw",
    "celebrated",
    "applied",
    "received",
    "was",
    "had",
    "came",
    "left",
    "played",
    "performed",
    "painted",
    "wrote",
    "published",
    "hiked",
    "camped",
    "flew",
];

pub(super) fn facts(sources: &[SourceMessage], strategy: ExtractionStrategy) -> Vec<Fact> {
    let everything = match strategy {
        ExtractionStrategy::Discrete => true,
        ExtractionStrategy::Preferences => false,
        ExtractionStrategy::None | ExtractionStrategy::Summary | ExtractionStrategy::Custom => {
            return Vec::new();
        }
    };
    let mut found: Vec<([u8; 32], Fact)> = Vec::new();
    for source in sources {
        if source.injected || source.message.role != Role::User {
            continue;
        }
        for part in &source.message.parts {
            let Content::Text(text) = &part.content else {
                continue;
            };
            for sentence in sentences(text) {
                if found.len() >= FACTS {
                    return found.into_iter().map(|(_, fact)| fact).collect();
                }
                if sentence.is_code {
                    continue;
                }
                let Some(fact) = fact(source, &sentence.text, everything) else {
                    continue;
                };
                let hash = content_hash(&fact.text);
                match found.iter_mut().find(|(known, _)| *known == hash) {
                    // A repeated fact gains evidence.
                    Some((_, known)) => known.evidence.extend(fact.evidence),
                    None => found.push((hash, fact)),
                }
            }
        }
    }
    found
        .into_iter()
        .map(|(_, mut fact)| {
            fact.evidence.dedup();
            fact
        })
        .collect()
}

fn fact(source: &SourceMessage, sentence: &str, everything: bool) -> Option<Fact> {
    let said = words::plain(sentence);
    let doubtful = said.len() > LONGEST
        || said.len() < 3
        || cues::is_question(sentence)
        || sentence.starts_with(['"', '“', '>', '\''])
        || sentence.contains(['{', '<', '`', '…'])
        || said.iter().any(|word| DOUBTS.contains(&word.as_str()));
    if doubtful {
        return None;
    }
    let day = source.message.created.date();
    let statement = claim::claim(sentence).filter(|claim| claim.subject.is_empty());
    let preference = is_preference(claim::without_openers(&said));
    let (kind, event_date, topic) = match statement {
        Some(claim) if claim.topic == "preferences" => (FactKind::Semantic, None, claim.topic),
        Some(claim) if everything => (FactKind::Semantic, None, claim.topic),
        _ if preference => (FactKind::Semantic, None, "preferences"),
        _ if everything => {
            let day = happened(&said, sentence, day)?;
            (FactKind::Episodic, Some(day), "events")
        }
        _ => return None,
    };
    let speaker = words::clip(&words::one_line(source.speaker()), 64);
    let text = format!("{speaker}: {sentence}");
    if text.chars().count() > FACT_CHARS {
        return None;
    }
    Some(Fact {
        text,
        kind,
        event_date,
        topics: vec![topic.to_owned()],
        entities: entities(source, sentence),
        evidence: vec![source.message.id],
        supersedes: Vec::new(),
        built_on: Vec::new(),
    })
}

fn is_preference(said: &[String]) -> bool {
    let word = |place: usize| said.get(place).map_or("", String::as_str);
    let starts = |phrase| claim::starts_with(said, phrase).is_some();
    if starts("please always") || starts("please never") || starts("from now on") {
        return true;
    }
    if word(0) != "i" {
        return false;
    }
    let adverb = matches!(
        word(1),
        "really" | "absolutely" | "also" | "truly" | "still" | "just" | "do"
    );
    let verb = 1 + usize::from(adverb);
    match (word(verb), word(verb + 1)) {
        ("love" | "like" | "enjoy" | "prefer" | "hate" | "dislike" | "adore", object) => {
            !object.is_empty() && !MOMENTS.contains(&object)
        }
        ("don't", "like" | "eat" | "drink") | ("can't", "stand" | "eat") => {
            let object = word(verb + 2);
            !object.is_empty() && !MOMENTS.contains(&object)
        }
        ("always" | "never" | "usually", "eat" | "drink" | "use" | "wear" | "work" | "prefer") => {
            true
        }
        _ => false,
    }
}

/// The day of the event that the speaker describes.
fn happened(said: &[String], sentence: &str, day: time::Date) -> Option<time::Date> {
    let said_of_self = claim::without_openers(said)
        .iter()
        .take(2)
        .any(|word| matches!(word.as_str(), "i" | "we" | "my" | "our"))
        || matches!(
            said.first().map(String::as_str),
            Some("yesterday" | "last" | "today")
        ) && said.iter().any(|word| matches!(word.as_str(), "i" | "we"));
    let past = said.iter().any(|word| PAST.contains(&word.as_str()));
    if !said_of_self || !past {
        return None;
    }
    dates::past_day(sentence, said, day)
}

/// The speaker and other named people.
fn entities(source: &SourceMessage, sentence: &str) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    if !source.message.name.trim().is_empty() {
        found.push(words::clip(&words::one_line(&source.message.name), 64));
    }
    let mut name: Vec<&str> = Vec::new();
    let close = |name: &mut Vec<&str>, found: &mut Vec<String>| {
        let whole = name.join(" ");
        name.clear();
        if !whole.is_empty() && !found.contains(&whole) {
            found.push(whole);
        }
    };
    for word in sentence.split_whitespace().skip(1) {
        let ends = word.ends_with([',', '.', '!', ';', ':']);
        let bare = word.trim_matches(|c: char| !c.is_alphanumeric());
        let bare = bare
            .strip_suffix("'s")
            .or_else(|| bare.strip_suffix("’s"))
            .unwrap_or(bare);
        let capital = bare.chars().next().is_some_and(char::is_uppercase);
        if capital && bare.chars().count() > 1 && !bare.starts_with("I'") && !bare.starts_with("I’")
        {
            name.push(bare);
        } else {
            close(&mut name, &mut found);
        }
        if ends {
            close(&mut name, &mut found);
        }
    }
    close(&mut name, &mut found);
    found.truncate(FACT_LABELS);
    found
}
