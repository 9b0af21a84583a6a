//! Extraction of facts, with a scripted model.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails may say so by panicking"
)]

mod support;

use std::sync::Arc;

use memory_contract::memory::MemoryKind;
use memory_contract::policy::ExtractionStrategy;
use memory_distill::{DistillError, Extraction, FactKind, KnownFact, Method, SourceMessage};
use memory_kinds::{Kinds, NeverKept};
use support::{Script, assistant, discrete, distiller, said, tenant, user, without_model};

#[tokio::test]
async fn facts_are_read_with_their_sources() {
    let answer = r#"Sure: ```json
        {"facts": [
            {"text": "Ada lives in Bergen", "type": "semantic", "evidence": ["m2"], "supersedes": ["f1"], "entities": ["Ada", "Bergen"]},
            {"text": "Ada moved", "type": "episodic", "event_date": "2023-05-07", "evidence": ["m1", "m2"]},
            {"text": "Made up", "evidence": ["m7"]},
        ]}```"#;
    let model = Script::saying(&[answer]);
    let messages = [
        user("I moved yesterday."),
        user("To Bergen."),
        assistant("Oh!"),
    ];
    let known = [KnownFact {
        id: "k-1".to_owned(),
        text: "Ada lives in Oslo".to_owned(),
    }];
    let made = distiller(&model)
        .extract(&tenant(), Method::Model, discrete(&messages, &known))
        .await
        .unwrap();
    let [home, move_] = &made.value.facts[..] else {
        panic!("{made:?}")
    };
    assert_eq!(home.evidence, [messages[1].message.id]);
    assert_eq!(home.supersedes, ["k-1"]);
    assert_eq!(move_.kind, FactKind::Episodic);
    assert_eq!(
        move_.evidence,
        [messages[0].message.id, messages[1].message.id]
    );
    assert_eq!(made.value.dropped.without_evidence, 1);
    let [prompt] = &model.asked()[..] else {
        panic!("asked once")
    };
    assert!(
        prompt.json
            && prompt
                .user
                .contains(r#"{"id":"f1","text":"Ada lives in Oslo"}"#)
    );
}

#[tokio::test]
async fn an_answer_that_is_not_json_is_requested_once_more_and_then_given_up() {
    let messages = [user("I live in Oslo.")];
    let model = Script::saying(&["not json at all", r#"{"facts": []}"#]);
    let made = distiller(&model)
        .extract(&tenant(), Method::Model, discrete(&messages, &[]))
        .await
        .unwrap();
    assert!(made.value.facts.is_empty());
    assert!(model.asked()[1].system.contains("it is not a JSON object"));

    let model = Script::saying(&["not json at all", r#"{"facts": 5}"#, "never asked for"]);
    let error = distiller(&model)
        .extract(&tenant(), Method::Model, discrete(&messages, &[]))
        .await
        .unwrap_err();
    assert!(matches!(&error, DistillError::Malformed { .. }));
    assert!(!error.to_string().contains("not json at all"));
    assert_eq!(model.asked().len(), 2);
}

#[tokio::test]
async fn recalled_text_is_never_extracted_again() {
    let recalled = SourceMessage {
        injected: true,
        ..user("I live in Oslo.")
    };
    let model = Script::saying(&[]);
    let messages = [recalled];
    for strategy in [
        ExtractionStrategy::Discrete,
        ExtractionStrategy::Preferences,
        ExtractionStrategy::Custom,
        ExtractionStrategy::Summary,
    ] {
        for method in [Method::Model, Method::Extractive] {
            let extraction = Extraction {
                strategy,
                ..discrete(&messages, &[])
            };
            let made = distiller(&model)
                .extract(&tenant(), method, extraction)
                .await
                .unwrap();
            assert!(made.value.facts.is_empty());
        }
    }
    assert!(model.asked().is_empty());
}

#[tokio::test]
async fn a_model_cannot_supersede_memories_that_it_was_not_shown() {
    let answer = r#"{"facts": [
        {"text": "Ada lives in Bergen", "evidence": ["m1"], "supersedes": ["f1", "f900"]}
    ]}"#;
    let model = Arc::new(Script::new([Ok(said(answer))]).with_window(4_096));
    let messages = [user("I live in Bergen.")];
    let known: Vec<KnownFact> = (1..=900)
        .map(|number| KnownFact {
            id: format!("k-{number}"),
            text: format!("Ada has seen the bridge number {number}."),
        })
        .collect();
    let made = distiller(&model)
        .extract(&tenant(), Method::Model, discrete(&messages, &known))
        .await
        .unwrap();
    assert!(!model.asked()[0].user.contains("bridge number 900"));
    assert_eq!(made.value.facts[0].supersedes, ["k-1"]);
}

#[tokio::test]
async fn a_running_summary_is_one_fact_that_replaces_itself() {
    let messages = [user("I live in Oslo."), assistant("I see.")];
    let known =
        [("s-2", "Ada is a nurse."), ("s-1", "Ada is young.")].map(|(id, text)| KnownFact {
            id: id.to_owned(),
            text: text.to_owned(),
        });
    let extraction = Extraction {
        strategy: ExtractionStrategy::Summary,
        ..discrete(&messages, &known)
    };
    let made = without_model()
        .extract(&tenant(), Method::Model, extraction)
        .await
        .unwrap();
    let [fact] = &made.value.facts[..] else {
        panic!("{made:?}")
    };
    for part in ["Ada is young.", "Ada is a nurse.", "I live in Oslo."] {
        assert!(fact.text.contains(part), "{fact:?}");
    }
    assert_eq!(fact.supersedes, ["s-2", "s-1"]);
    assert_eq!(fact.evidence.len(), 2);
}

#[tokio::test]
async fn the_apps_instructions_reach_the_model() {
    let model = Script::saying(&[r#"{"facts": []}"#]);
    let messages = [user("My ticket is T-1.")];
    let extraction = Extraction {
        strategy: ExtractionStrategy::Custom,
        instructions: "Only ticket numbers.",
        ..discrete(&messages, &[])
    };
    distiller(&model)
        .extract(&tenant(), Method::Model, extraction)
        .await
        .unwrap();
    assert!(model.asked()[0].system.contains("Only ticket numbers."));
}

#[tokio::test]
async fn a_fact_that_does_not_fit_its_kind_is_requested_once_more_and_then_dropped() {
    let kinds = Kinds::new(&[MemoryKind {
        name: "allergy".to_owned(),
        description: "What a person cannot take.".to_owned(),
        json_schema:
            r#"{"properties": {"substance": {"type": "string"}}, "required": ["substance"]}"#
                .to_owned(),
        examples: Vec::new(),
    }]);
    let answer = |attributes: &str| {
        format!(
            r#"{{"facts": [
            {{"text": "Ada is allergic to nuts", "kind": "allergy", "attributes": {attributes}, "evidence": ["m1"]}},
            {{"text": "Ada lives in Oslo", "evidence": ["m1"]}}]}}"#
        )
    };
    let (wrong, right) = (answer("{}"), answer(r#"{"substance": "nuts"}"#));
    let messages = [user("I live in Oslo. I am allergic to nuts.")];
    let extraction = Extraction {
        kinds: &kinds,
        ..discrete(&messages, &[])
    };
    for (answers, kept, invalid) in [
        (vec![right.as_str()], 2, 0),
        (vec![wrong.as_str(), right.as_str()], 2, 0),
        (vec![wrong.as_str(), wrong.as_str()], 1, 1),
        (vec![wrong.as_str(), "not json"], 1, 1),
        // What fits in the first answer is kept.
        (vec![wrong.as_str(), r#"{"facts": []}"#], 1, 1),
    ] {
        let model = Script::saying(&answers);
        let made = distiller(&model)
            .extract(&tenant(), Method::Model, extraction)
            .await
            .unwrap();
        assert_eq!(made.value.facts.len(), kept, "{answers:?}");
        assert_eq!(made.value.dropped.invalid, invalid, "{answers:?}");
        let asked = model.asked();
        assert_eq!(asked.len(), answers.len());
        assert!(
            asked[0]
                .user
                .contains(r#"{"name":"allergy","description":"#)
        );
        if let Some(second) = asked.get(1) {
            assert!(
                second.system.contains("kind `allergy`"),
                "{}",
                second.system
            );
        }
    }
}

#[tokio::test]
async fn what_is_never_kept_is_dropped_whoever_found_it() {
    let never_keep = NeverKept::new(&["salary".to_owned(), "Gehalt".to_owned()]);
    let messages = [user(
        "I live in Oslo. My salary is 50,000. Ich mag mein Gehalt.",
    )];
    let extraction = Extraction {
        never_keep: &never_keep,
        ..discrete(&messages, &[])
    };
    let answer = r#"{"facts": [
        {"text": "Ada lives in Oslo", "evidence": ["m1"]},
        {"text": "Ada earns 50,000", "topics": ["Salary"], "evidence": ["m1"]},
        {"text": "Ada mag ihr Gehalt", "evidence": ["m1"]}]}"#;
    let model = Script::saying(&[answer]);
    let made = distiller(&model)
        .extract(&tenant(), Method::Model, extraction)
        .await
        .unwrap();
    let texts: Vec<&str> = made
        .value
        .facts
        .iter()
        .map(|fact| fact.text.as_str())
        .collect();
    assert_eq!(texts, ["Ada lives in Oslo"]);
    assert_eq!(made.value.dropped.forbidden, 2);
    let prompt = &model.asked()[0];
    assert!(
        prompt.user.contains("\"salary\"\n\"Gehalt\""),
        "{}",
        prompt.user
    );

    for strategy in [ExtractionStrategy::Discrete, ExtractionStrategy::Summary] {
        let extraction = Extraction {
            strategy,
            ..extraction
        };
        let made = without_model()
            .extract(&tenant(), Method::Model, extraction)
            .await
            .unwrap();
        let texts: Vec<String> = made
            .value
            .facts
            .iter()
            .map(|fact| fact.text.to_lowercase())
            .collect();
        assert!(texts.iter().any(|text| text.contains("oslo")), "{texts:?}");
        for never in ["salary", "gehalt"] {
            assert!(!texts.iter().any(|text| text.contains(never)), "{texts:?}");
        }
    }
}

#[tokio::test]
async fn what_is_never_kept_is_not_in_a_summary_either_where_it_looks_like_two_sentences() {
    let never_keep = NeverKept::new(&["Dr. Miller".to_owned()]);
    let messages = [user("I live in Oslo. I see Dr. Miller.")];
    let extraction = Extraction {
        strategy: ExtractionStrategy::Summary,
        never_keep: &never_keep,
        ..discrete(&messages, &[])
    };
    for (answer, kept, forbidden) in [
        (
            "Ada sees Dr. Miller. She lives in Oslo.",
            &["She lives in Oslo."][..],
            0,
        ),
        (
            "Ada lives in Oslo. She sees Dr. Miller.",
            &["Ada lives in Oslo."],
            0,
        ),
        ("Ada sees Dr. Martin.", &["Ada sees Dr. Martin."], 0),
        ("Ada sees Dr. Miller.", &[], 1),
    ] {
        let made = distiller(&Script::saying(&[answer]))
            .extract(&tenant(), Method::Model, extraction)
            .await
            .unwrap();
        let texts: Vec<&str> = made
            .value
            .facts
            .iter()
            .map(|fact| fact.text.as_str())
            .collect();
        assert_eq!(texts, kept, "{answer}");
        assert_eq!(made.value.dropped.forbidden, forbidden, "{answer}");
    }
}
