//! What the fitted weights weigh: numbers of about 0 to 1 for each candidate. They come from
//! both lists, from the messages beside a candidate, and from what its point has of its text.

use super::{Evidence, QueryTraits, Surroundings};
use crate::text::{MOST_CHARS, Trait};

/// The features of a candidate.
pub(crate) type Features = [f64; FEATURES.len()];

/// The names of the features, in the order of their values.
pub const FEATURES: [&str; 33] = [
    "sum",
    "dense",
    "dense_rank",
    "dense_missing",
    "dense_before",
    "dense_after",
    "dense_session",
    "dense_question_before",
    "lexical",
    "lexical_missing",
    "lexical_own",
    "lexical_context",
    "lexical_coverage",
    "lexical_pair",
    "lexical_window",
    "lexical_question_before",
    "lexical_when",
    "lexical_list",
    "dense_lexical",
    "session",
    "session_list",
    "speaker",
    "speaker_list",
    "speaker_first_person",
    "question",
    "question_when",
    "asks",
    "date",
    "time_when",
    "first_person",
    "names",
    "digits",
    "length",
];

/// The features by which a candidate matches better. Their weights are not negative, and neither are
/// those of the hidden units' outputs, so that of two messages that differ only in these features
/// the better match comes first.
pub const MATCHES: [&str; 10] = [
    "sum",
    "dense",
    "dense_rank",
    "lexical",
    "lexical_own",
    "lexical_context",
    "lexical_coverage",
    "lexical_pair",
    "lexical_window",
    "dense_lexical",
];

/// Candidates after which `dense_rank` has halved.
const HALVING_RANK: f64 = 10.0;
/// The most that a message's own words count, compared with the best lexical score.
const MOST_OWN: f64 = 1.5;
/// Words of a query whose places among the matched ones are known.
const WORDS: usize = u64::BITS as usize;
/// Of so many candidates, at most one may have a text that is cut in its form, and the best match
/// by word may not. The weights were fitted to what people say; among outputs of tools they find
/// less than the sums.
const CANDIDATES_PER_LONG_TEXT: usize = 10;

/// The features of each candidate; `None` if one has no form, or if many or the best match by word
/// have long texts.
/// `sums` are their scores by constants alone.
pub(super) fn of(
    evidence: &[Evidence],
    surroundings: &Surroundings,
    sums: &[f64],
    query: &QueryTraits,
) -> Option<Vec<Features>> {
    let forms = evidence
        .iter()
        .filter_map(|one| one.candidate.form.as_ref());
    let long = forms.filter(|form| form.is_cut).count();
    let by_word = evidence.iter().filter(|one| one.lexical.is_some());
    let best = by_word.max_by(|one, other| one.lexical_share.total_cmp(&other.lexical_share));
    let form = best.and_then(|best| best.candidate.form.as_ref());
    if long * CANDIDATES_PER_LONG_TEXT > evidence.len() || form.is_some_and(|form| form.is_cut) {
        return None;
    }
    let mut shares: Vec<f64> = evidence.iter().map(|one| one.dense_share).collect();
    shares.sort_unstable_by(|one, other| other.total_cmp(one));
    let lexical = evidence.iter().filter_map(|one| one.lexical);
    let best_lexical = f64::from(lexical.fold(f32::MIN_POSITIVE, f32::max));
    let (when, list) = (flag(query.is_when), flag(query.is_list));
    let own = evidence.iter().map(|one| {
        let form = one.candidate.form.as_ref()?;
        Some(form.own_score(&query.words))
    });
    let own_scores: Vec<(f64, u64)> = own.collect::<Option<_>>()?;
    // The list's score has all words of a text that is cut.
    let own_of = |place: usize| {
        let one: &Evidence = &evidence[place];
        let is_cut = one.candidate.form.as_ref().is_some_and(|form| form.is_cut);
        let own = match is_cut {
            true => one.lexical_share,
            false => own_scores[place].0 / best_lexical,
        };
        own.min(MOST_OWN)
    };
    let words = &query.words[..query.words.len().min(WORDS)];
    let all_words: f64 = words.iter().map(|(_, weight)| weight).sum();
    // By weight, the share of the query's words that some messages have.
    let share_of = |found: u64| {
        let weights = words.iter().enumerate();
        let weights = weights.filter(|(place, _)| found >> place & 1 == 1);
        let share: f64 = weights.map(|(_, (_, weight))| weight).sum();
        share / all_words.max(f64::MIN_POSITIVE)
    };
    let features = |(place, (one, sum)): (usize, (&Evidence, &f64))| {
        let form = one.candidate.form.as_ref()?;
        let (dense, lexical) = (one.dense_share, one.lexical_share);
        let dense_missing = one.dense.is_none() && dense == 0.0;
        let [before2, before, after, after2] =
            [-2, -1, 1, 2].map(|distance| surroundings.place(one, distance));
        let dense_of = |place: Option<usize>| place.map_or(0.0, |at| evidence[at].dense_share);
        let dense_before = dense_of(before);
        let asked_before = before.filter(|at| {
            let form = evidence[*at].candidate.form.as_ref();
            form.is_some_and(|form| form.has(Trait::Asks))
        });
        let found_by = |place: Option<usize>| place.map_or(0, |at| own_scores[at].1);
        let thread = surroundings.thread(one);
        let found = own_scores[place].1;
        let pair = found | found_by(before) | found_by(after);
        let window = pair | found_by(before2) | found_by(after2);
        let own = own_of(place);
        let better = shares.partition_point(|share| *share > dense) as f64;
        let speaker = flag(query.is_speaker(&one.candidate.name));
        let first_person = flag(form.has(Trait::FirstPerson));
        let question = flag(one.candidate.question);
        Some([
            *sum,
            dense,
            match dense_missing {
                true => 0.0,
                false => 1.0 / (1.0 + better / HALVING_RANK),
            },
            flag(dense_missing),
            dense_before,
            dense_of(after),
            thread.best_dense,
            match before.is_some_and(|before| evidence[before].candidate.question) {
                true => dense_before,
                false => 0.0,
            },
            lexical,
            flag(one.lexical.is_none()),
            own,
            (lexical - own).max(0.0),
            f64::from(found.count_ones()) / words.len().max(1) as f64,
            share_of(pair),
            share_of(window),
            asked_before.map_or(0.0, own_of),
            when * lexical,
            list * lexical,
            dense * lexical,
            thread.best_fused,
            list * surroundings.thread_share(one),
            speaker,
            list * speaker,
            first_person * speaker,
            question,
            when * question,
            flag(form.has(Trait::Asks)),
            query.dates.fit(one.candidate.said),
            when * flag(form.has(Trait::Time)),
            first_person,
            f64::from(form.names) / 3.0,
            flag(form.has(Trait::Digit)),
            f64::from(form.chars).ln_1p() / (MOST_CHARS as f64).ln_1p(),
        ])
    };
    let places = evidence.iter().zip(sums).enumerate();
    places.map(features).collect()
}

fn flag(value: bool) -> f64 {
    f64::from(u8::from(value))
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use memory_contract::ThreadId;
    use uuid::Uuid;

    use super::*;
    use crate::index::{Candidate, Candidates, LexicalVector};
    use crate::rank::{fuse, sums, weights};
    use crate::text::{self, Form, tests::text};

    /// Noon of 5 January 2024, in microseconds.
    const NOON: i64 = 1_704_456_000_000_000;

    fn said(depth: i32, name: &str, said: &str, score: f32) -> Candidate {
        let message = text(said);
        Candidate {
            id: Uuid::from_u128(depth.unsigned_abs().into()),
            thread: ThreadId::from(Uuid::nil()),
            seq: depth.into(),
            branch: 1,
            depth,
            name: name.into(),
            question: text::is_question(&message),
            short: text::is_short(&message),
            said: NOON,
            form: Some(Form::of(&message)),
            score,
        }
    }

    fn traits(query: &str) -> QueryTraits {
        let names = ["Ada".to_owned(), "Bo".to_owned()];
        QueryTraits::new(query, &names, &text::lexical_query(query, &names))
    }

    fn all(found: Candidates, query: &QueryTraits) -> Option<Vec<HashMap<&'static str, f64>>> {
        let evidence = fuse(found);
        let surroundings = Surroundings::of(&evidence);
        let sums = sums(&evidence, &surroundings, query);
        let features = of(&evidence, &surroundings, &sums, query)?;
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
        let long = Some(Form::of(&text(&output)));
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
            let query = QueryTraits::new(query, &[], &LexicalVector::of_query(query));
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
}
