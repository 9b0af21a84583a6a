use memory_contract::memory::MemoryKind;
use proptest::prelude::*;

use super::*;
use crate::distiller::tests::source;

fn read(
    text: &str,
    owner: &str,
    sources: &[&SourceMessage],
    known: &[KnownFact],
) -> Result<Extracted, String> {
    super::read(text, owner, sources, known, &Kinds::default()).map(|answer| answer.extracted)
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

/// The kind `allergy`, which needs a `substance`.
fn allergies() -> Kinds {
    let schema = r#"{"properties": {"substance": {"type": "string"}}, "required": ["substance"]}"#;
    Kinds::new(&[MemoryKind {
        name: "allergy".to_owned(),
        description: "What a person cannot take.".to_owned(),
        json_schema: schema.to_owned(),
        examples: Vec::new(),
    }])
}

#[test]
fn a_fact_that_fits_its_kind_the_second_time_is_kept() {
    let kinds = allergies();
    let sources = [source(
        "I cannot have penicillin. I live in Oslo. I like tea.",
    )];
    let sources: Vec<&SourceMessage> = sources.iter().collect();
    let (wrong, right) = ("{}", r#"{"substance": "penicillin"}"#);
    let allergic = |attributes: &str| {
        format!(
            r#"{{"text": "Ada is allergic.", "evidence": ["m1"], "kind": "allergy",
            "attributes": {attributes}}}"#
        )
    };
    let plain = |text: &str| format!(r#"{{"text": "{text}", "evidence": ["m1"]}}"#);
    let read = |facts: &[String]| {
        let answer = format!(r#"{{"facts": [{}]}}"#, facts.join(", "));
        super::read(&answer, "", &sources, &[], &kinds).unwrap()
    };
    let check = |answer: Answer, texts: &[&str], invalid: usize| {
        let Answer { extracted, .. } = answer;
        let found: Vec<&str> = extracted
            .facts
            .iter()
            .map(|fact| fact.text.as_str())
            .collect();
        assert_eq!(found, texts);
        assert_eq!(extracted.dropped.invalid, invalid);
    };
    // In the same answer.
    let both = read(&[allergic(wrong), allergic(right), allergic(right)]);
    assert_eq!(both.problem(), None);
    assert_eq!(both.extracted.dropped.duplicates, 1);
    check(both, &["Ada is allergic."], 0);
    // In the next one, which leaves out or changes the rest.
    let (oslo, tea) = ("Ada lives in Oslo.", "Ada likes tea.");
    let first = || read(&[plain(oslo), allergic(wrong), plain(tea)]);
    let corrected = read(&[allergic(right)]).after(first());
    check(corrected, &["Ada is allergic.", oslo, tea], 0);
    let changed = read(&[plain(tea), allergic(right)]).after(first());
    check(changed, &[tea, "Ada is allergic.", oslo], 0);
    check(read(&[]).after(first()), &[oslo, tea], 1);
    check(read(&[allergic(wrong)]).after(first()), &[oslo, tea], 1);
}

#[test]
fn a_fact_that_does_not_fit_its_kind_is_dropped_with_a_problem_that_quotes_nothing() {
    let kinds = allergies();
    let sources = [source("I cannot have penicillin.")];
    let sources: Vec<&SourceMessage> = sources.iter().collect();
    let check = |kind: &str, attributes: &str, expected: Result<&str, &str>| {
        let answer = format!(
            r#"{{"facts": [{{"text": "Ada is allergic.", "evidence": ["m1"], "kind": {kind},
            "attributes": {attributes}}}, {{"text": "Ada is ill.", "evidence": ["m1"]}}]}}"#
        );
        let read = super::read(&answer, "", &sources, &[], &kinds).unwrap();
        let problem = read.problem().unwrap_or_default().to_owned();
        let read = read.extracted;
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
