//! The features that the fitted weights weigh: numbers of about 0 to 1 for each candidate. They come
//! from both lists, from the messages before and after a candidate, and from the form of its text.

use memory_text::{MOST_CHARS, Trait};

use super::evidence::Evidence;
use super::surroundings::Surroundings;
use super::traits::QueryTraits;

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
/// the hidden units' outputs, so that of two messages that differ only in these features
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
/// At most one of this many candidates may have a text that is cut in its form, and the best match
/// by word may not. The weights were fitted to what people say; among outputs of tools they find
/// less than the sums.
const CANDIDATES_PER_LONG_TEXT: usize = 10;

/// The features of each candidate; `None` if one has no form, or if many or the best match by word
/// have long texts.
/// `sums` are their scores by constants alone.
pub(super) fn compute(
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
mod tests;
