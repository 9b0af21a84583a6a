//! Extracts facts without a model: sentences of a few plain forms in which a user states
//! something lasting, a preference, a budget, a plan or an event. Doubtful sentences are left out.

use memory_contract::{
    json::JsonObject,
    message::{Content, Role},
    policy::ExtractionStrategy,
};

use super::sentence::sentences;
use super::statements::{Statements, statements};
use super::{claim, cues, dates, doubts, words};
use crate::{FACT_CHARS, FACT_LABELS, Fact, FactKind, SourceMessage, content_hash};

/// Most words of a sentence that tells an event.
const LONGEST: usize = 40;
/// Most facts of one call.
const FACTS: usize = 500;

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

pub(super) fn facts<'a>(
    sources: impl IntoIterator<Item = &'a SourceMessage>,
    strategy: ExtractionStrategy,
) -> Vec<Fact> {
    let everything = match strategy {
        ExtractionStrategy::Discrete => true,
        ExtractionStrategy::Preferences => false,
        ExtractionStrategy::None | ExtractionStrategy::Summary | ExtractionStrategy::Custom => {
            return Vec::new();
        }
    };
    let mut found: Vec<([u8; 32], Fact)> = Vec::new();
    'messages: for source in sources {
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
                // What follows is not said by the user, or not meant.
                if doubts::set_apart(&words::plain(&sentence.text)) {
                    continue 'messages;
                }
                let facts = facts_of(source, &sentence.text, everything);
                let room = FACTS - found.len();
                for fact in facts.into_iter().take(room) {
                    let hash = content_hash(&fact.text);
                    match found.iter_mut().find(|(known, _)| *known == hash) {
                        // A repeated fact gains evidence.
                        Some((_, known)) => known.evidence.extend(fact.evidence),
                        None => found.push((hash, fact)),
                    }
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

/// The facts of a sentence: what it states of its speaker, or else the event that it tells.
fn facts_of(source: &SourceMessage, sentence: &str, everything: bool) -> Vec<Fact> {
    let is_quoted =
        sentence.starts_with(['"', '“', '>', '\'']) || sentence.contains(['{', '<', '`', '…']);
    if is_quoted {
        return Vec::new();
    }
    let Statements { found, begin } = statements(sentence);
    if everything
        && !begin
        && let Some(day) = event(source, sentence)
    {
        let event = fact(source, sentence, (FactKind::Episodic, Some(day)), "events");
        return event.into_iter().collect();
    }
    let wanted = found
        .iter()
        .filter(|statement| everything || statement.topic == "preferences");
    let lasting = (FactKind::Semantic, None);
    wanted
        .filter_map(|statement| fact(source, &statement.text, lasting, statement.topic))
        .collect()
}

/// The fact that a text of the message states. `None` if it is too long.
fn fact(
    source: &SourceMessage,
    text: &str,
    (kind, event_date): (FactKind, Option<time::Date>),
    topic: &str,
) -> Option<Fact> {
    let speaker = words::clip(&words::one_line(source.speaker()), 64);
    let stated = format!("{speaker}: {text}");
    (stated.chars().count() <= FACT_CHARS).then(|| Fact {
        text: stated,
        kind,
        event_date,
        topics: vec![topic.to_owned()],
        entities: entities(source, text),
        own_kind: String::new(),
        attributes: JsonObject::default(),
        evidence: vec![source.message.id],
        supersedes: Vec::new(),
        built_on: Vec::new(),
    })
}

/// The day of the event that a sentence tells.
fn event(source: &SourceMessage, sentence: &str) -> Option<time::Date> {
    let said = words::plain(sentence);
    let doubtful = said.len() > LONGEST
        || said.len() < 3
        || cues::is_question(sentence)
        || doubts::are_doubtful(&said)
        || doubts::are_joking(&said);
    if doubtful {
        return None;
    }
    happened(&said, sentence, source.message.created.date())
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
    let past = words::have(said, PAST);
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
