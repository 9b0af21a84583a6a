//! Reads a model's answer to an extraction. Nothing in it is trusted: its form is checked,
//! and each fact must cite input messages of the user whom it is of.

use std::collections::HashSet;
use std::slice;

use memory_contract::{convert::object_from, json::JsonObject, limits};
use memory_kinds::{Kinds, Misfit, NeverKept};
use serde::Deserialize;
use serde_json::{Value, value::RawValue};
use time::Date;

use super::{Dropped, Extracted};
use crate::extractive::{content, is_generic};
use crate::{FACT_CHARS, FACT_LABELS, Fact, FactKind, KnownFact, SourceMessage, content_hash};

/// Most facts read from one answer.
const FACTS: usize = 200;
/// Most characters of a topic or an entity.
const LABEL_CHARS: usize = 64;
/// Most characters of the place of a rule in a schema that a model is told.
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

/// Reads an answer about the facts of the user `owner`. The prompt named `sources` `m1`, `m2`, … and
/// `known` `f1`, `f2`, …. Returns the facts, and the first problem with a fact that does not fit its
/// kind and was dropped.
///
/// # Errors
/// The problem with the answer's form. No problem has any of the answer's text.
pub(super) fn read(
    text: &str,
    owner: &str,
    sources: &[&SourceMessage],
    known: &[KnownFact],
    kinds: &Kinds,
) -> Result<(Extracted, Option<String>), String> {
    let facts = parse(text)?;
    let mut extracted = Extracted::default();
    let mut problem = None;
    // A known fact that is stated again is not a duplicate: it gains evidence.
    let mut hashes: HashSet<[u8; 32]> = HashSet::new();
    for stated in facts.facts.into_iter().take(FACTS) {
        let dropped = &mut extracted.dropped;
        let text = plain(&stated.text);
        let evidence = places(stated.evidence, 'm', sources.len());
        if !proves(&evidence, owner, sources) {
            dropped.without_evidence += 1;
        } else if text.is_empty() || text.chars().count() > FACT_CHARS {
            dropped.too_long_or_empty += 1;
        } else if !hashes.insert(content_hash(&text)) {
            dropped.duplicates += 1;
        } else {
            let (own_kind, attributes) = match of_kind(stated.kind, stated.attributes, kinds) {
                Ok(fitting) => fitting,
                Err(misfit) => {
                    dropped.invalid += 1;
                    problem = problem.or(Some(misfit));
                    continue;
                }
            };
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
    Ok((extracted, problem))
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

/// Whether messages prove a fact of a user: this user said one of them, and no other user did. What
/// a model or a tool says may only go with it, such as the question that it answers.
fn proves(evidence: &[usize], owner: &str, sources: &[&SourceMessage]) -> bool {
    let mut said = evidence.iter().map(|place| sources[*place]);
    let is_own = said.clone().any(|source| source.is_said_by(owner));
    is_own && !said.any(|source| source.is_said_by_another(owner))
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
mod tests {
    use memory_contract::{UserId, message::Role};
    use proptest::prelude::*;

    use memory_contract::memory::MemoryKind;

    use super::*;
    use crate::distiller::tests::source;

    fn read(
        text: &str,
        sources: &[&SourceMessage],
        known: &[KnownFact],
    ) -> Result<Extracted, String> {
        super::read(text, sources, known, &Kinds::default()).map(|(extracted, _)| extracted)
    }

    #[test]
    fn common_mistakes_of_models_are_repaired() {
        let sources = [source("a"), source("b")];
        let sources: Vec<&SourceMessage> = sources.iter().collect();
        let good =
            r#"{"facts": [{"text": "Ada has, \"two\" cats,]", "evidence": ["m2", "m1", "m2"],},]}"#;
        for text in [
            good.to_owned(),
            format!("```json\n{good}\n```"),
            format!("Here: {good} Done."),
        ] {
            let read = read(&text, "", &sources, &[]).unwrap();
            assert_eq!(read.facts[0].text, "Ada has, \"two\" cats,]", "{text}");
            assert_eq!(read.facts[0].evidence.len(), 2);
        }
    }

    #[test]
    fn malformed_answers_are_reported_without_their_content() {
        for text in [
            "secret",
            "{\"secret\": 1}",
            "{\"facts\": [{\"text\": 5}]}",
            "{\"facts\": [",
            "[]",
            "}{",
        ] {
            let problem = read(text, "", &[], &[]).err().unwrap();
            assert!(!problem.contains("secret"), "{problem}");
        }
    }

    #[test]
    fn a_fact_without_evidence_is_dropped_and_counted() {
        let sources = [source("a")];
        let sources: Vec<&SourceMessage> = sources.iter().collect();
        let known = [KnownFact {
            id: "x-9".into(),
            text: "Ada lives in Oslo".into(),
        }];
        let long = "x".repeat(FACT_CHARS + 1);
        let text = format!(
            r#"{{"facts": [
            {{"text": "A", "evidence": []}}, {{"text": "B"}}, {{"text": "C", "evidence": ["m2", "m0", "f1", ""]}},
            {{"text": "{long}", "evidence": ["m1"]}},
            {{"text": "Ada lives in Bergen", "type": "episodic", "event_date": "2023-05-08", "evidence": ["m1"],
              "supersedes": ["f1", "f2", "m1"], "topics": ["a", "a", "b", "c", "d", "e", "f"]}},
            {{"text": "ada lives in bergen.", "evidence": ["m1"]}}]}}"#
        );
        let read = read(&text, "", &sources, &known).unwrap();
        let Dropped {
            without_evidence,
            too_long_or_empty,
            duplicates,
            invalid,
            forbidden,
        } = read.dropped;
        assert_eq!((without_evidence, too_long_or_empty, duplicates), (3, 1, 1));
        assert_eq!((invalid, forbidden), (0, 0));
        assert_eq!(read.facts.len(), 1);
        let fact = &read.facts[0];
        assert_eq!(fact.supersedes, ["x-9"]);
        assert_eq!(fact.topics.len(), FACT_LABELS);
        assert_eq!(fact.event_date, Some(time::macros::date!(2023 - 05 - 08)));
    }

    #[test]
    fn a_fact_of_a_user_needs_a_message_of_this_user_and_none_of_another() {
        let said = |role: Role, user: &str| {
            let mut said = source("We love jazz.");
            said.message.role = role;
            said.message.said_by = UserId::new(user);
            said
        };
        let sources = [
            said(Role::User, "ada"),
            said(Role::User, "bob"),
            said(Role::Assistant, ""),
            said(Role::Tool, ""),
        ];
        let sources: Vec<&SourceMessage> = sources.iter().collect();
        for (evidence, owner, expected) in [
            (r#""m1""#, "ada", true),
            (r#""m1", "m3", "m4""#, "ada", true),
            (r#""m2""#, "ada", false),
            (r#""m3", "m4""#, "ada", false),
            (r#""m1", "m2""#, "ada", false),
            (r#""m1", "m2""#, "bob", false),
            (r#""m2""#, "bob", true),
            (r#""m3""#, "", false),
        ] {
            let answer =
                format!(r#"{{"facts": [{{"text": "Loves jazz", "evidence": [{evidence}]}}]}}"#);
            let read = read(&answer, owner, &sources, &[]).unwrap();
            assert_eq!(
                read.facts.len(),
                usize::from(expected),
                "{evidence} {owner}"
            );
            let dropped = usize::from(!expected);
            assert_eq!(read.dropped.without_evidence, dropped, "{evidence} {owner}");
        }
    }

    #[test]
    fn a_fact_is_built_on_what_the_model_names_and_on_what_it_took_words_from() {
        let sources = [source("He is ill. I must see the vet.")];
        let sources: Vec<&SourceMessage> = sources.iter().collect();
        let facts = [
            "Ada has a cat called Tom",
            "Ada likes tea",
            "Ada is often ill",
            "Ada lives in Oslo",
        ];
        let known: Vec<KnownFact> = (1..)
            .zip(facts)
            .map(|(number, text)| KnownFact {
                id: format!("x-{number}"),
                text: text.to_owned(),
            })
            .collect();
        let check = |text: &str, named: &str, expected: &[&str]| {
            let answer = format!(
                r#"{{"facts": [{{"text": "{text}", "evidence": ["m1"], "built_on": [{named}]}}]}}"#
            );
            let read = read(&answer, "", &sources, &known).unwrap();
            assert_eq!(read.facts[0].built_on, expected, "{text}");
        };
        check("Tom was ill", "", &["x-1"]);
        check("The pet was ill", r#""f1", "f9""#, &["x-1"]);
        check("Somebody is ill and has to see the vet", "", &[]);
        check("Ada from Oslo is ill", "", &["x-4"]);
    }

    #[test]
    fn a_fact_that_does_not_fit_its_kind_is_dropped_with_a_problem_that_quotes_nothing() {
        let schema =
            r#"{"properties": {"substance": {"type": "string"}}, "required": ["substance"]}"#;
        let kinds = Kinds::new(&[MemoryKind {
            name: "allergy".to_owned(),
            description: "What a person cannot take.".to_owned(),
            json_schema: schema.to_owned(),
            examples: Vec::new(),
        }]);
        let sources = [source("I cannot have penicillin.")];
        let sources: Vec<&SourceMessage> = sources.iter().collect();
        let check = |kind: &str, attributes: &str, expected: Result<&str, &str>| {
            let answer = format!(
                r#"{{"facts": [{{"text": "Ada is allergic.", "evidence": ["m1"], "kind": {kind},
                "attributes": {attributes}}}, {{"text": "Ada is ill.", "evidence": ["m1"]}}]}}"#
            );
            let (read, problem) = super::read(&answer, &sources, &[], &kinds).unwrap();
            let problem = problem.unwrap_or_default();
            match expected {
                Ok(kind) => {
                    assert_eq!(read.facts[0].own_kind, kind);
                    assert_eq!((read.facts.len(), problem.as_str()), (2, ""));
                }
                Err(part) => {
                    assert!(problem.contains(part), "{problem}");
                    assert!(!problem.contains("secret"), "{problem}");
                    assert_eq!((read.facts.len(), read.dropped.invalid), (1, 1));
                }
            }
        };
        check(
            "\"allergy\"",
            r#"{"substance": "penicillin"}"#,
            Ok("allergy"),
        );
        check("null", "null", Ok(""));
        check("\" \"", r#"{"a": 1}"#, Ok(""));
        check("\"secret\"", "{}", Err("does not exist"));
        check(
            "\"allergy\"",
            r#"{"substance": ["secret"]}"#,
            Err("#/properties/substance"),
        );
        check("\"allergy\"", r#"{"secret": 1}"#, Err("`allergy`"));
        check("\"allergy\"", "\"secret\"", Err("JSON object"));
    }

    proptest! {
        #[test]
        fn evidence_is_always_among_the_sources(
            ids in prop::collection::vec("[mf]?-?[0-9]{0,3}", 0..6),
            noise in "\\PC{0,30}",
        ) {
            let sources = [source("a"), source("b"), source("c")];
            let sources: Vec<&SourceMessage> = sources.iter().collect();
            let answer = serde_json::json!({"facts": [{"text": noise, "evidence": ids}]}).to_string();
            let extracted = read(&answer, "", &sources, &[]).unwrap();
            for fact in extracted.facts {
                prop_assert!(!fact.evidence.is_empty());
                prop_assert!(fact.evidence.iter().all(|id| sources.iter().any(|s| s.message.id == *id)));
            }
            let _ = read(&noise, "", &sources, &[]);
        }
    }
}
