//! The features of candidates, on small lists of them.

use std::collections::HashMap;

use memory_contract::{
    ThreadId, UserId,
    json::JsonObject,
    message::{Message, Part, Role},
};
use memory_index::{Candidate, Candidates};
use memory_text::{Form, is_question, is_short, lexical_query};
use time::macros::datetime;
use uuid::Uuid;

use super::*;
use crate::rank::evidence::fuse;
use crate::rank::sums::sums;
use crate::rank::weights;

/// Noon of 5 January 2024, in microseconds.
const NOON: i64 = 1_704_456_000_000_000;

fn text(text: &str) -> Message {
    Message {
        id: Uuid::nil().into(),
        external_id: String::new(),
        thread: Uuid::nil().into(),
        parent: None,
        seq: 1,
        branch: 1,
        depth: 1,
        role: Role::User,
        name: "Ada".to_owned(),
        said_by: UserId::default(),
        parts: vec![Part::text(text)],
        metadata: JsonObject::default(),
        tokens: 1,
        created: datetime!(2023-05-08 13:56 UTC),
    }
}

fn said(depth: i32, name: &str, said: &str, score: f32) -> Candidate {
    let message = text(said);
    Candidate {
        id: Uuid::from_u128(depth.unsigned_abs().into()),
        thread: ThreadId::from(Uuid::nil()),
        seq: depth.into(),
        branch: 1,
        depth,
        role: Role::User,
        name: name.into(),
        question: is_question(&message),
        short: is_short(&message),
        said: NOON,
        form: Some(Form::new(&message)),
        passage: None,
        score,
    }
}

fn traits(query: &str) -> QueryTraits {
    let names = ["Ada".to_owned(), "Bo".to_owned()];
    QueryTraits::new(query, &names, Some(&lexical_query(query, &names)))
}

fn all(found: Candidates, query: &QueryTraits) -> Option<Vec<HashMap<&'static str, f64>>> {
    let evidence = fuse(found, query);
    let surroundings = Surroundings::new(&evidence);
    let sums = sums(&evidence, &surroundings, query);
    let features = compute(&evidence, &surroundings, &sums, query)?;
    let named = |one: Features| FEATURES.into_iter().zip(one).collect();
    Some(features.into_iter().map(named).collect())
}

fn talk() -> Candidates {
    let answer = "In June we took 2 dogs from the shelter, and Rex was one of them.";
    Candidates {
        dense: vec![
            said(1, "Bo", "Any new pets?", 0.9),
            said(2, "Ada", answer, 0.6),
            said(5, "Bo", "I like the rain.", 0.1),
        ],
        lexical: vec![
            said(2, "Ada", answer, 4.0),
            said(3, "Bo", "That is great, tell me more.", 1.0),
        ],
        ..Candidates::default()
    }
}

#[test]
fn features_describe_a_candidate_and_what_is_beside_it() {
    let query = traits("When did Ada take the dogs, on 5 January 2024?");
    let features = all(talk(), &query).unwrap();
    let [asked, answer, rain, beside] = &features[..] else {
        panic!("{features:?}");
    };
    for (name, expected) in [
        ("dense", 0.625),
        ("dense_rank", 1.0 / 1.1),
        ("dense_missing", 0.0),
        ("dense_before", 1.0),
        ("dense_question_before", 1.0),
        ("dense_session", 1.0),
        ("lexical", 1.0),
        ("lexical_when", 1.0),
        ("lexical_list", 0.0),
        ("dense_lexical", 0.625),
        ("speaker", 1.0),
        ("speaker_first_person", 1.0),
        ("question", 0.0),
        ("date", 2.0),
        ("time_when", 1.0),
        ("first_person", 1.0),
        ("names", 2.0 / 3.0),
        ("digits", 1.0),
    ] {
        assert!(
            (answer[name] - expected).abs() < 1e-6,
            "{name}: {}",
            answer[name]
        );
    }
    assert!(answer["lexical_own"] > 0.0 && answer["lexical_coverage"] > 0.0);
    let expected = [asked, answer, beside, rain].map(|one| one["lexical_question_before"]);
    assert_eq!(expected, [0.0; 4]);
    // The answer's words count for the messages up to two away, but not for one farther away.
    for (one, pair, window) in [
        (asked, true, true),
        (answer, true, true),
        (beside, true, true),
        (rain, false, false),
    ] {
        assert_eq!(one["lexical_pair"] > 0.0, pair);
        assert_eq!(one["lexical_window"] > 0.0, window);
    }
    assert_eq!(
        (asked["question"], asked["question_when"], asked["asks"]),
        (1.0, 1.0, 1.0)
    );
    assert!((asked["dense_after"] - 0.625).abs() < 1e-6);
    assert!((asked["lexical_missing"] - 1.0).abs() < 1e-6);
    assert_eq!((beside["dense_missing"], beside["dense_rank"]), (1.0, 0.0));
    // None of its own words is in the query: the score is that of the messages before.
    assert_eq!(
        (beside["lexical_own"], beside["lexical_context"]),
        (0.0, 0.25)
    );
    assert!(rain["length"] < answer["length"] && answer["length"] < 1.0);
}

#[test]
fn the_words_of_a_question_count_for_its_answer() {
    let mut found = talk();
    let asked = "Did Ada take the dogs?";
    found.lexical.push(said(1, "Bo", asked, 3.0));
    found.dense[0] = said(1, "Bo", asked, 0.9);
    let features = all(found, &traits("When did Ada take the dogs?")).unwrap();
    let [asked, answer] = [&features[0], &features[1]];
    assert_eq!(answer["lexical_question_before"], asked["lexical_own"]);
    assert_eq!(asked["lexical_question_before"], 0.0);
    assert_eq!(
        (asked["lexical_pair"], answer["lexical_window"]),
        (1.0, 1.0)
    );
}

#[test]
fn a_candidate_without_a_form_leaves_the_ranking_to_the_sums() {
    let mut found = talk();
    found.dense[2].form = None;
    assert!(all(found, &traits("When was it?")).is_none());
}

#[test]
fn long_texts_leave_the_ranking_to_the_sums() {
    let mut found = talk();
    let output: String = (0..200).map(|number| format!("word{number} ")).collect();
    let long = Some(Form::new(&text(&output)));
    found.dense[2].form = long.clone();
    assert!(all(found, &traits("When was it?")).is_none());
    // One of many, unless it is the best match by word.
    for (best, is_fitted) in [(0, true), (1, false)] {
        let mut found = talk();
        found.lexical[0].score = 2.0;
        found.lexical[1].score = 2.5;
        found.lexical.swap(0, 1);
        let many = (10..40).map(|depth| said(depth, "Bo", "I see.", 0.05));
        found.dense.extend(many);
        found.dense[2].form = long.clone();
        if best == 1 {
            found.lexical[0].form = long.clone();
        }
        assert_eq!(all(found, &traits("When was it?")).is_some(), is_fitted);
    }
}

#[test]
fn of_two_equal_candidates_the_one_that_says_when_comes_first() {
    let scored = |query: &str| -> Vec<f64> {
        let vague = "My aunt is always glad when I visit her in her old house by the sea.";
        let exact = "My aunt was so glad that I visited her yesterday in her house by the sea.";
        let found = Candidates {
            dense: vec![
                said(1, "Ada", vague, 0.5),
                said(9, "Ada", exact, 0.5),
                said(20, "Bo", "No.", 0.1),
            ],
            lexical: vec![said(1, "Ada", vague, 2.0), said(9, "Ada", exact, 2.0)],
            ..Candidates::default()
        };
        let query = QueryTraits::new(query, &[], Some(&lexical_query(query, &[])));
        let features = all(found, &query).unwrap();
        let in_order = |one: &HashMap<&str, f64>| FEATURES.map(|name| one[name]);
        weights::scores(&features.iter().map(in_order).collect::<Vec<_>>())
    };
    let scores = scored("When did she visit her aunt?");
    assert!(
        scores[1] > scores[0] + 0.05 && scores[0] > scores[2],
        "{scores:?}"
    );
    let scores = scored("Who visits the aunt?");
    assert!((scores[1] - scores[0]).abs() < 0.02, "{scores:?}");
}
