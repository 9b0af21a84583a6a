//! Reads a model's answer to an extraction. Nothing in it is trusted: its form is checked,
//! and each fact must cite input messages of the user whom it is of.

use std::collections::HashSet;
use std::slice;

use memory_contract::{convert::object_from, json::JsonObject, limits};
use memory_kinds::{Kinds, Misfit, NeverKept};
use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use time::Date;

use super::proof::Proof;
use super::{Dropped, Extracted};
use crate::extractive::{content, is_generic};
use crate::{FACT_CHARS, FACT_LABELS, Fact, FactKind, KnownFact, SourceMessage, content_hash};

/// Most facts read from one answer.
const FACTS: usize = 200;
/// Most characters of a topic or an entity.
const LABEL_CHARS: usize = 64;
/// Most characters of the place of a rule in a schema, in a problem that a model reads.
const RULE_CHARS: usize = 200;

#[derive(Deserialize)]
struct Facts {
    facts: Vec<Stated>,
}

#[derive(Deserialize)]
struct Stated {
    text: String,
    #[serde(default)]
    r#type: Option<String>,
    #[serde(default)]
    kind: Option<String>,
    #[serde(default)]
    attributes: Option<Box<RawValue>>,
    #[serde(default)]
    event_date: Option<String>,
    #[serde(default)]
    topics: Option<Vec<String>>,
    #[serde(default)]
    entities: Option<Vec<String>>,
    #[serde(default)]
    evidence: Option<Vec<String>>,
    #[serde(default)]
    supersedes: Option<Vec<String>>,
    #[serde(default)]
    built_on: Option<Vec<String>>,
}

/// An answer's facts.
#[derive(Default)]
pub(super) struct Answer {
    pub(super) extracted: Extracted,
    /// The facts that do not fit their kinds and were dropped: the hash of the text, and the problem
    /// without any of the answer's text.
    misfits: Vec<([u8; 32], String)>,
}

impl Answer {
    /// The first problem with a fact that does not fit its kind.
    pub(super) fn problem(&self) -> Option<&str> {
        self.misfits.first().map(|(_, problem)| problem.as_str())
    }

    /// This second answer, with the facts of the first one that it does not have: it may correct
    /// what did not fit, and leave out the rest.
    pub(super) fn after(mut self, first: Self) -> Self {
        let known: HashSet<[u8; 32]> = self.hashes().collect();
        let again: HashSet<[u8; 32]> = self.misfits.iter().map(|(hash, _)| *hash).collect();
        let other = first.extracted.facts.into_iter();
        let other = other.filter(|fact| !known.contains(&content_hash(&fact.text)));
        self.extracted.facts.extend(other);
        let misfits = first.misfits.into_iter();
        let misfits = misfits.filter(|(hash, _)| !again.contains(hash));
        self.misfits.extend(misfits);
        self.count_misfits()
    }

    /// Counts what does not fit, unless the same text fits elsewhere.
    fn count_misfits(mut self) -> Self {
        let fitting: HashSet<[u8; 32]> = self.hashes().collect();
        self.misfits.retain(|(hash, _)| !fitting.contains(hash));
        self.extracted.dropped.invalid = self.misfits.len();
        self
    }

    fn hashes(&self) -> impl Iterator<Item = [u8; 32]> {
        let facts = self.extracted.facts.iter();
        facts.map(|fact| content_hash(&fact.text))
    }
}

/// Reads an answer about the facts of the user `owner`. The prompt named `sources` `m1`, `m2`, … and
/// `known` `f1`, `f2`, ….
///
/// # Errors
/// The problem with the answer's form. No problem has any of the answer's text.
pub(super) fn read(
    text: &str,
    owner: &str,
    sources: &[&SourceMessage],
    known: &[KnownFact],
    kinds: &Kinds,
) -> Result<Answer, String> {
    let facts = parse(text)?;
    let proof = Proof::new(owner, sources);
    let mut answer = Answer::default();
    let Answer { extracted, misfits } = &mut answer;
    // A known fact that is stated again is not a duplicate: it gains evidence.
    let mut hashes: HashSet<[u8; 32]> = HashSet::new();
    for stated in facts.facts.into_iter().take(FACTS) {
        let dropped = &mut extracted.dropped;
        let text = plain(&stated.text);
        let evidence = places(stated.evidence, 'm', sources.len());
        let hash = content_hash(&text);
        if !proof.holds(&evidence, &text) {
            dropped.without_evidence += 1;
        } else if text.is_empty() || text.chars().count() > FACT_CHARS {
            dropped.too_long_or_empty += 1;
        } else if hashes.contains(&hash) {
            dropped.duplicates += 1;
        } else {
            let (own_kind, attributes) = match of_kind(stated.kind, stated.attributes, kinds) {
                Ok(fitting) => fitting,
                Err(misfit) => {
                    misfits.push((hash, misfit));
                    continue;
                }
            };
            hashes.insert(hash);
            let event_date = stated.event_date.as_deref().and_then(day);
            let evidence: Vec<&SourceMessage> =
                evidence.into_iter().map(|place| sources[place]).collect();
            let (topics, entities) = (labels(stated.topics), labels(stated.entities));
            let named = places(stated.built_on, 'f', known.len());
            let words = [&topics[..], &entities[..], slice::from_ref(&text)]
                .concat()
                .join(" ");
            let built_on = built_on(&words, &evidence, known, &named);
            let episodic = stated.r#type.as_deref() == Some("episodic");
            extracted.facts.push(Fact {
                text,
                kind: if episodic {
                    FactKind::Episodic
                } else {
                    FactKind::Semantic
                },
                event_date: event_date.filter(|_| episodic),
                topics,
                entities,
                own_kind,
                attributes,
                evidence: evidence.iter().map(|source| source.message.id).collect(),
                supersedes: places(stated.supersedes, 'f', known.len())
                    .into_iter()
                    .map(|place| known[place].id.clone())
                    .collect(),
                built_on,
            });
        }
    }
    Ok(answer.count_misfits())
}

/// The kind and the attributes of a fact. Without a kind there are no attributes.
///
/// # Errors
/// What does not fit, without any of the answer's text.
fn of_kind(
    name: Option<String>,
    attributes: Option<Box<RawValue>>,
    kinds: &Kinds,
) -> Result<(String, JsonObject), String> {
    let name = name.unwrap_or_default();
    let name = name.trim();
    if name.is_empty() || kinds.is_empty() {
        return Ok(Default::default());
    }
    let text = attributes.map_or_else(String::new, |raw| raw.get().to_owned());
    let (bytes, depth) = (limits::ATTRIBUTES_BYTES, limits::ATTRIBUTES_DEPTH);
    let attributes = object_from("attributes", text, bytes, depth);
    // serde's own message may quote the answer.
    let attributes = attributes.map_err(|_| {
        format!("attributes must be a JSON object of at most {bytes} bytes, {depth} levels deep")
    })?;
    match kinds.check(name, &attributes) {
        Ok(()) => Ok((name.to_owned(), attributes)),
        Err(Misfit::UnknownKind) => Err("a fact is of a kind that does not exist".to_owned()),
        Err(Misfit::Attributes { rule, .. }) => {
            let rule: String = rule.chars().take(RULE_CHARS).collect();
            Err(format!(
                "the attributes of a fact of the kind `{name}` do not fit the json_schema of that \
                 kind at `#{rule}`"
            ))
        }
    }
}

/// The ids of the known facts that a fact was built on: those that the model names, and,
/// because it may name too few, those with a word of the fact that its evidence does not have.
fn built_on(
    words: &str,
    evidence: &[&SourceMessage],
    known: &[KnownFact],
    named: &[usize],
) -> Vec<String> {
    let said: HashSet<String> = evidence
        .iter()
        .flat_map(|source| content(&format!("{} {}", source.speaker(), source.words())))
        .collect();
    let mut taken: HashSet<String> = content(words).into_iter().collect();
    taken.retain(|word| !said.contains(word) && !is_generic(word));
    let shares = |known: &KnownFact| content(&known.text).iter().any(|word| taken.contains(word));
    let built_on = known.iter().enumerate();
    built_on
        .filter(|(place, known)| named.contains(place) || shares(known))
        .map(|(_, known)| known.id.clone())
        .collect()
}

/// Parses the answer as it is, or else after repairing common mistakes of models: text or
/// fences around the object, commas before a closing bracket.
fn parse(text: &str) -> Result<Facts, String> {
    let first = match serde_json::from_str::<Facts>(text) {
        Ok(facts) => return Ok(facts),
        Err(error) => error,
    };
    let (Some(start), Some(end)) = (text.find('{'), text.rfind('}')) else {
        return Err("it is not a JSON object".to_owned());
    };
    if start < end
        && let Ok(facts) = serde_json::from_str(&without_commas(&text[start..=end]))
    {
        return Ok(facts);
    }
    // serde's own message may quote the answer.
    let problem = match first.classify() {
        serde_json::error::Category::Data => {
            if serde_json::from_str::<Value>(text).is_ok_and(|value| value.get("facts").is_none()) {
                "the object has no list `facts`"
            } else {
                "a field does not have the requested type"
            }
        }
        serde_json::error::Category::Io
        | serde_json::error::Category::Syntax
        | serde_json::error::Category::Eof => "it is not valid JSON",
    };
    Err(problem.to_owned())
}

/// Removes commas before a closing bracket, outside of strings.
fn without_commas(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    let mut in_string = false;
    let mut escaped = false;
    for (place, c) in json.char_indices() {
        if in_string {
            in_string = c != '"' || escaped;
            escaped = c == '\\' && !escaped;
        } else if c == '"' {
            in_string = true;
        } else if c == ',' && json[place + 1..].trim_start().starts_with([']', '}']) {
            continue;
        }
        text.push(c);
    }
    text
}

/// The indexes that names such as `m3` refer to, each once, in order. Unknown names are
/// ignored.
fn places(names: Option<Vec<String>>, letter: char, count: usize) -> Vec<usize> {
    let mut places: Vec<usize> = names
        .unwrap_or_default()
        .iter()
        .filter_map(|name| name.trim().strip_prefix(letter)?.parse::<usize>().ok())
        .filter(|number| (1..=count).contains(number))
        .map(|number| number - 1)
        .collect();
    places.sort_unstable();
    places.dedup();
    places
}

/// The text on one line, without control characters.
fn plain(text: &str) -> String {
    let apart = |c: char| c.is_whitespace() || c.is_control();
    let words: Vec<&str> = text.split(apart).filter(|word| !word.is_empty()).collect();
    words.join(" ")
}

fn labels(labels: Option<Vec<String>>) -> Vec<String> {
    let mut kept: Vec<String> = Vec::new();
    for label in labels.unwrap_or_default() {
        let label = plain(&label);
        let fits = !label.is_empty() && label.chars().count() <= LABEL_CHARS;
        if fits && !kept.contains(&label) && kept.len() < FACT_LABELS {
            kept.push(label);
        }
    }
    kept
}

fn day(text: &str) -> Option<Date> {
    let format = time::macros::format_description!("[year]-[month]-[day]");
    Date::parse(text.trim(), format).ok()
}

impl Extracted {
    /// Drops the facts that have what the app never keeps.
    pub(super) fn drop_forbidden(&mut self, never_keep: &NeverKept) {
        let before = self.facts.len();
        self.facts.retain(|fact| {
            let labels = fact.topics.iter().chain(&fact.entities);
            let mut texts = labels.chain(slice::from_ref(&fact.text));
            let attributes: Value =
                serde_json::from_str(fact.attributes.as_str()).unwrap_or_default();
            !texts.any(|text| never_keep.is_in(text)) && !never_keep.is_in_json(&attributes)
        });
        self.dropped.forbidden += before - self.facts.len();
    }

    /// Adds the facts of another portion, except duplicates.
    pub(super) fn add(&mut self, other: Self) {
        let mut hashes: HashSet<[u8; 32]> = self
            .facts
            .iter()
            .map(|fact| content_hash(&fact.text))
            .collect();
        for fact in other.facts {
            if hashes.insert(content_hash(&fact.text)) {
                self.facts.push(fact);
            } else {
                self.dropped.duplicates += 1;
            }
        }
        let Dropped {
            without_evidence,
            too_long_or_empty,
            duplicates,
            invalid,
            forbidden,
        } = other.dropped;
        self.dropped.without_evidence += without_evidence;
        self.dropped.too_long_or_empty += too_long_or_empty;
        self.dropped.duplicates += duplicates;
        self.dropped.invalid += invalid;
        self.dropped.forbidden += forbidden;
    }
}

#[cfg(test)]
mod tests;
