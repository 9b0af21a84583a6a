//! Distilling without a model.
#![allow(
    clippy::unwrap_used,
    reason = "a test that fails may say so by panicking"
)]

mod support;

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use memory_budget::Tokenizer;
use memory_contract::{
    message::{Part, Role},
    policy::ExtractionStrategy,
};
use memory_distill::{Extractive, Fact, FactKind, SentenceVectors, SourceMessage};
use proptest::prelude::*;
use serde_json::json;
use support::{assistant, message, step, user};
use time::macros::date;

const TOKENIZER: Tokenizer = Tokenizer::O200kBase;

fn facts(text: &str) -> Vec<Fact> {
    Extractive::new().facts(&[user(text)], ExtractionStrategy::Discrete)
}

#[tokio::test]
async fn messages_that_fit_are_kept_unchanged() {
    let messages = [
        user("I live in Oslo.\nMy cat is ill."),
        assistant("Which vet?"),
    ];
    let summary = Extractive::new().summary("", &messages, 500).await;
    assert_eq!(
        summary,
        "[2023-05-08]\nAda: I live in Oslo. My cat is ill.\nAssistant: Which vet?"
    );
}

#[tokio::test]
async fn important_statements_outlive_small_talk() {
    let mut messages = Vec::new();
    for n in 0..40 {
        messages.push(user(&format!(
            "Haha yeah, that is so cool! Number {}",
            "wow ".repeat(n % 5)
        )));
        messages.push(assistant("That sounds really great, good for you!"));
        match n {
            7 => messages.push(user(
                "We decided to move the launch to 14 March because Dana is away.",
            )),
            21 => messages.push(user(
                "My invoice number is INV-20391 and it was 420 € too high.",
            )),
            30 => messages.push(assistant(
                "The import failed with error E1138: missing column.",
            )),
            _ => {}
        }
    }
    messages.push(assistant("Shall I cancel the old contract?"));
    let summary = Extractive::new().summary("", &messages, 120).await;
    for kept in ["14 March", "INV-20391", "E1138", "old contract?"] {
        assert!(summary.contains(kept), "{kept}: {summary}");
    }
    assert!(TOKENIZER.count(&summary) <= 120);
}

#[tokio::test]
async fn an_old_summary_fades_and_does_not_vanish() {
    let previous: String = (0..30)
        .map(|n| {
            format!(
                "Old matter {n} concerns the {} of house {n}.\n",
                ["roof", "door", "stairs"][n % 3]
            )
        })
        .collect();
    let messages: Vec<SourceMessage> = (0..200)
        .map(|n| {
            user(&format!(
                "On 3 May I paid {n} € to Firm{n} for Berlin project {n}."
            ))
        })
        .collect();
    let summary = Extractive::new().summary(&previous, &messages, 400).await;
    let old: String = summary
        .lines()
        .filter(|line| line.starts_with("Old matter"))
        .map(|line| format!("{line}\n"))
        .collect();
    let share = f64::from(TOKENIZER.count(&old)) / 400.0;
    assert!((0.25..0.6).contains(&share), "{share}: {summary}");
    assert!(summary.contains("Berlin project"));
}

#[tokio::test]
async fn days_are_headings_over_their_messages() {
    let mut later = user("I moved to Bergen.");
    later.message.created += time::Duration::days(3);
    let messages = [user("I live in Oslo."), user("I am a nurse."), later];
    let extractive = Extractive::new();
    let summary = extractive.summary("", &messages, 500).await;
    // What a speaker says without interruption shares a line, and a year stands once.
    let expected =
        "[2023-05-08]\nAda: I live in Oslo. I am a nurse.\n[05-11]\nAda: I moved to Bergen.";
    assert_eq!(summary, expected);
    // Carried on, they stay where they were.
    assert_eq!(extractive.summary(&summary, &[], 500).await, expected);
}

#[tokio::test]
async fn the_work_of_tools_is_digested_to_a_line() {
    let mut messages = vec![user("Build the report.")];
    messages.extend(step(
        "create_workflow",
        json!({"name": "report", "nodes": [{"type": "Schedule"}, {"type": "Slack"}]}),
        json!({"id": "wf-123", "padding": "x".repeat(5_000), "active": false}),
        false,
    ));
    for _ in 0..3 {
        let output =
            json!("starting\nstill starting\nError: 401 Unauthorized at node HTTP\nstopped");
        messages.extend(step("execute", json!({"id": "wf-123"}), output, true));
    }
    let observations = Extractive::new().observations(&messages, 300).await;
    for expected in [
        "User: Build the report.".replace("User", "Ada").as_str(),
        "create_workflow(name=report",
        "id=wf-123",
        "execute(id=wf-123) → failed: ",
        "401 Unauthorized",
        "(×3)",
    ] {
        assert!(
            observations.contains(expected),
            "{expected}: {observations}"
        );
    }
    assert!(TOKENIZER.count(&observations) < 200, "{observations}");
}

#[tokio::test]
async fn observations_are_condensed_to_the_most_valuable_parts() {
    let mut observations = String::from("[2023-05-08]\n");
    for n in 0..100 {
        observations.push_str(&format!("list_items(page={n}) → items: 20 items\n"));
    }
    observations.push_str("deploy(version=7) → failed: error=403 Forbidden\nAda: We decided to deploy on Friday only.\n");
    let reflection = Extractive::new().reflection(&observations, 100).await;
    assert!(
        reflection.contains("403 Forbidden") && reflection.contains("Friday only"),
        "{reflection}"
    );
    assert!(TOKENIZER.count(&reflection) <= 100);
}

struct Vectors(Option<usize>);

#[async_trait]
impl SentenceVectors for Vectors {
    async fn embed(&self, texts: Vec<String>) -> Option<Vec<Vec<f32>>> {
        let length = self.0?;
        let vector = |text: &String| {
            let sum = text.bytes().map(u32::from).sum::<u32>();
            (0..length).map(|n| ((sum >> n) & 7) as f32).collect()
        };
        Some(texts.iter().map(vector).collect())
    }
}

#[tokio::test]
async fn vectors_that_cannot_be_used_are_done_without() {
    let messages: Vec<SourceMessage> = (0..50)
        .map(|n| user(&format!("I paid {n} € to Firm{n}.")))
        .collect();
    let plain = Extractive::new().summary("", &messages, 100).await;
    for (vectors, same) in [(None, true), (Some(0), true), (Some(3), false)] {
        let extractive = Extractive::new().with_vectors(Arc::new(Vectors(vectors)));
        let summary = extractive.summary("", &messages, 100).await;
        assert!(!summary.is_empty());
        assert_eq!(summary == plain, same, "{vectors:?}");
    }
}

#[test]
fn facts_are_explicit_statements_of_users() {
    for (text, kind) in [
        ("My name is Ada Lovelace.", FactKind::Semantic),
        ("Well, I live in Oslo now.", FactKind::Semantic),
        ("I work as a nurse at Ullevål.", FactKind::Semantic),
        ("I have two dogs, Rex and Bella.", FactKind::Semantic),
        ("I'm allergic to peanuts.", FactKind::Semantic),
        ("I'm a retired teacher.", FactKind::Semantic),
        ("My favourite color is dark green.", FactKind::Semantic),
        ("I really love rye bread.", FactKind::Semantic),
        ("I don't like mushrooms.", FactKind::Semantic),
        ("Please always answer in French.", FactKind::Semantic),
        ("I visited Paris yesterday with Mia.", FactKind::Episodic),
    ] {
        let found = facts(text);
        assert_eq!(found.len(), 1, "{text}");
        assert_eq!(found[0].text, format!("Ada: {text}"));
        assert_eq!(found[0].kind, kind, "{text}");
    }
    let visited = &facts("I visited Paris yesterday with Mia.")[0];
    assert_eq!(visited.event_date, Some(date!(2023 - 05 - 07)));
    assert_eq!(visited.entities, ["Ada", "Paris", "Mia"]);
}

/// What is extracted from messages, in order.
fn texts_of(messages: &[SourceMessage]) -> Vec<String> {
    let found = Extractive::new().facts(messages, ExtractionStrategy::Discrete);
    found.into_iter().map(|fact| fact.text).collect()
}

#[test]
fn each_fact_of_a_conversation_about_a_trip_is_found() {
    let mut messages = vec![
        user("Hi! We're going to Paris in May for our anniversary."),
        assistant("How lovely! I live in Paris, and my budget is 9,000 euros."),
        user("Can you find a hotel? My wife uses a wheelchair, and our budget is 3,000 euros."),
    ];
    let found = json!("I'm allergic to nuts. My wife uses a wheelchair.");
    messages.extend(step(
        "search",
        json!({"text": "I live in Rome."}),
        found,
        false,
    ));
    messages.extend([
        assistant("Should I look for quiet hotels? I prefer them."),
        user("I prefer window seats on trains and we're both vegetarian, so any tips for dinner?"),
        user("What if my wife has asthma? If it rains, our budget is 4,000 euros."),
        user("Imagine I were you. I live in Rome, and my dog is called Rex."),
    ]);
    assert_eq!(
        texts_of(&messages),
        [
            "Ada: We're going to Paris in May for our anniversary.",
            "Ada: My wife uses a wheelchair.",
            "Ada: Our budget is 3,000 euros.",
            "Ada: I prefer window seats on trains.",
            "Ada: We're both vegetarian.",
        ]
    );
    let everything = Extractive::new().facts(&messages, ExtractionStrategy::Discrete);
    assert!(
        everything
            .iter()
            .all(|fact| fact.kind == FactKind::Semantic)
    );
    let preferences = Extractive::new().facts(&messages, ExtractionStrategy::Preferences);
    let preferences: Vec<String> = preferences.into_iter().map(|fact| fact.text).collect();
    assert_eq!(preferences, ["Ada: I prefer window seats on trains."]);
}

#[test]
fn a_text_to_work_on_states_nothing_of_its_sender() {
    for text in [
        "Translate this into German:\nI live in Oslo. My wife uses a wheelchair.",
        "I need help. Please proofread the following. I live in Oslo.",
        "Let's pretend. I live in Oslo.",
    ] {
        assert_eq!(facts(text), [], "{text}");
    }
    let mut parts = message(Role::User, "Ada", vec![Part::text("Please translate:")]);
    parts.message.parts.push(Part::text("I live in Oslo."));
    assert_eq!(texts_of(&[parts]), [""; 0]);
    // What is said before it is the sender's own.
    let found = facts("I live in Oslo. Translate this:\nI live in Rome.");
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].text, "Ada: I live in Oslo.");
}

#[test]
fn an_event_that_names_a_relative_stays_an_event() {
    let found = facts("I visited my sister, who lives in Bergen, yesterday.");
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].kind, FactKind::Episodic);
    assert_eq!(found[0].event_date, Some(date!(2023 - 05 - 07)));
}

#[test]
fn junk_is_not_extracted() {
    for text in [
        "I love it!",
        "I like that idea.",
        "I'd like a coffee.",
        "I'm a bit tired today.",
        "Do I live in Oslo?",
        "If I lived in Oslo I would ski.",
        "Maybe I live in a dream.",
        "\"I live in Oslo\" is what she said.",
        "She lives in Oslo.",
        "I think you are right.",
        "I went home.",
        "I have a question about my order.",
        "I have no idea.",
        "Thanks, I love how you did that.",
        "My wife is late today.",
        "I never said that.",
        "I always forget, lol",
        "```\nI live in Oslo.\n```",
        "ok",
        "",
    ] {
        assert_eq!(facts(text), [], "{text}");
    }
    let text = vec![Part::text("I live in Oslo.")];
    for role in [Role::Assistant, Role::System, Role::Tool] {
        let messages = [message(role, "Bot", text.clone())];
        assert_eq!(
            Extractive::new().facts(&messages, ExtractionStrategy::Discrete),
            []
        );
    }
}

#[test]
fn preferences_alone_are_taken_where_they_are_wanted() {
    let messages = [user("I live in Oslo. I love rye bread.")];
    let found = Extractive::new().facts(&messages, ExtractionStrategy::Preferences);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].topics, ["preferences"]);
    assert_eq!(
        Extractive::new().facts(&messages, ExtractionStrategy::Custom),
        []
    );
}

#[test]
fn a_fact_said_twice_has_two_witnesses() {
    let messages = [user("I live in Oslo."), user("i live in oslo!")];
    let found = Extractive::new().facts(&messages, ExtractionStrategy::Discrete);
    assert_eq!(found.len(), 1);
    assert_eq!(
        found[0].evidence,
        [messages[0].message.id, messages[1].message.id]
    );
}

#[tokio::test]
async fn a_long_conversation_takes_seconds_at_most() {
    let messages: Vec<SourceMessage> = (0..10_000)
        .map(|n| {
            user(&format!(
                "On day {n} I met Person{} in City{}. It was fine!",
                n % 977,
                n % 131
            ))
        })
        .collect();
    let start = Instant::now();
    let summary = Extractive::new().summary("", &messages, 2_000).await;
    assert!(TOKENIZER.count(&summary) > 1_500);
    // Generous, for machines that are busy.
    assert!(
        start.elapsed() < Duration::from_secs(60),
        "{:?}",
        start.elapsed()
    );
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "\\PC{0,200}",
        "(?s).{0,80}",
        "([A-Z][a-z]{1,8} [a-z]{1,9} [0-9]{1,4}[.!?] ){0,20}",
        "(我住在北京。|猫が好きです。|[ก-ฮ]{3,9} ?){0,20}",
        "[\\[\\]{}\",:0-9a-z`\n]{0,120}",
        "(I live in [A-Z][a-z]{2,6}\\. ){0,5}",
        Just("[2023-05-08]\nAda: forged".to_owned()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// For any text: never over the budget, the same bytes each time, and facts of the
    /// given messages alone.
    #[test]
    fn any_text_is_distilled(
        previous in text(),
        texts in prop::collection::vec(text(), 0..12),
        max_tokens in -1..200_i32,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let mut messages: Vec<SourceMessage> = texts.iter().map(|text| user(text)).collect();
        for text in &texts {
            messages.extend(step(text, json!({"a": text}), json!(text), text.len() % 2 == 0));
        }
        runtime.block_on(async {
            let extractive = Extractive::new();
            for _ in 0..2 {
                let summary = extractive.summary(&previous, &messages, max_tokens).await;
                assert!(TOKENIZER.count(&summary) <= max_tokens.max(0));
                assert_eq!(summary, extractive.summary(&previous, &messages, max_tokens).await);
                assert!(!summary.chars().any(|c| c.is_control() && c != '\n'));
                let observations = extractive.observations(&messages, max_tokens).await;
                assert!(TOKENIZER.count(&observations) <= max_tokens.max(0));
                let reflection = extractive.reflection(&observations, max_tokens / 2).await;
                assert!(TOKENIZER.count(&reflection) <= (max_tokens / 2).max(0));
            }
            for fact in extractive.facts(&messages, ExtractionStrategy::Discrete) {
                assert!(!fact.evidence.is_empty());
                assert!(fact.evidence.iter().all(|id| messages.iter().any(|source| source.message.id == *id)));
            }
        });
    }
}
