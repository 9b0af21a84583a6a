//! Fits a linear score and the network beside it by gradient descent.

use std::thread;

use memory_recall::{FEATURES, MATCHES, Unit, Weights};

use crate::sample::{COUNT, Sample};
use memory_bench::random::Random;

/// Hidden units of the network.
const UNITS: usize = 24;
/// Evidence among so many candidates counts as found: being better than all others matters
/// less.
const DEPTH: f32 = 10.0;
/// Weights of the sum of the squared weights of normalized features, per question: of the linear
/// score, and of the network. Both were chosen by leaving conversations out.
const LINEAR_PENALTY: f32 = 60.0;
const UNIT_PENALTY: f32 = 30.0;
/// Units whose output is at most this are left out.
const LEAST_OUTPUT: f32 = 1e-3;
/// Steps of Adam (Kingma and Ba, 2015) are taken by so many parts of the questions, in random
/// order, and so often by all of them.
const BATCHES: usize = 8;
const PASSES: usize = 40;
/// The length of the first step; the last one is nearly 0.
const STEP: f32 = 0.03;
/// Parts of a batch whose slopes are computed on threads of their own. It does not
/// depend on the machine, so that the result does not either.
const PARTS: usize = 8;
/// Two features of the same score: the share of a message's own words, which weighs at least
/// as much as the share of the words of the messages before it. Otherwise what
/// follows a message that says little, such as a captioned picture, would be found before it.
const OWN_AND_CONTEXT: [&str; 2] = ["lexical_own", "lexical_context"];
/// Best candidates of each question by which the scale of the score is chosen.
const SCALED: usize = 20;

/// Places of a unit's parameters after its weights.
const BIAS: usize = COUNT;
const OUTPUT: usize = COUNT + 1;
const UNIT: usize = COUNT + 2;
/// All parameters: the linear weights, then those of each unit.
const ALL: usize = COUNT + UNITS * UNIT;

/// A question's candidates, with normalized features.
type Question = Vec<([f32; COUNT], bool)>;

/// Minimizes the softmax loss of each piece of evidence against all candidates that are none
/// (Cao et al., "Learning to Rank", 2007), with evidence counted [`DEPTH`] times in the sum.
pub(super) fn fit<'a>(samples: impl Iterator<Item = &'a Sample<'a>>) -> Weights {
    let samples: Vec<&Sample<'_>> = samples
        .filter(|one| one.candidates.iter().any(|one| one.is_evidence))
        .collect();
    let (mean, deviation) = moments(&samples);
    let normal = |features: &[f64; COUNT]| {
        std::array::from_fn(|at| ((features[at] - mean[at]) / deviation[at]) as f32)
    };
    let questions: Vec<Question> = samples
        .iter()
        .map(|sample| {
            let candidates = sample.candidates.iter();
            let candidates = candidates.map(|one| (normal(&one.features), one.is_evidence));
            candidates.collect()
        })
        .collect();
    let mut random = Random::new(1);
    let mut weights = first_weights(&mut random);
    let (mut first, mut second) = (vec![0.0; ALL], vec![0.0; ALL]);
    let mut order: Vec<&Question> = questions.iter().collect();
    let batch = order.len().div_ceil(BATCHES).max(1);
    let steps = PASSES * order.len().div_ceil(batch);
    let mut step = 0;
    for _ in 0..PASSES {
        random.shuffle(&mut order);
        for batch in order.chunks(batch) {
            let slope = slope(batch, &weights, order.len());
            let rate = STEP * (1.0 - step as f32 / steps as f32);
            step += 1;
            for at in 0..ALL {
                first[at] = 0.9 * first[at] + 0.1 * slope[at];
                second[at] = 0.999 * second[at] + 0.001 * slope[at] * slope[at];
                let mean: f32 = first[at] / (1.0 - 0.9_f32.powi(step));
                let spread = (second[at] / (1.0 - 0.999_f32.powi(step))).sqrt();
                weights[at] -= rate * mean / (spread + 1e-8);
            }
            bound(&mut weights[..COUNT], &deviation);
            for unit in weights[COUNT..].chunks_exact_mut(UNIT) {
                bound(&mut unit[..COUNT], &deviation);
                unit[OUTPUT] = unit[OUTPUT].max(0.0);
            }
        }
    }
    let raw = |weights: &[f32]| -> [f64; COUNT] {
        std::array::from_fn(|at| f64::from(weights[at]) / deviation[at])
    };
    let units = weights[COUNT..].chunks_exact(UNIT);
    let units = units
        .filter(|unit| unit[OUTPUT] > LEAST_OUTPUT)
        .map(|unit| {
            let factors = raw(unit);
            let moved: f64 = factors
                .iter()
                .zip(&mean)
                .map(|(one, mean)| one * mean)
                .sum();
            Unit {
                bias: f64::from(unit[BIAS]) - moved,
                factors,
                output: f64::from(unit[OUTPUT]),
            }
        });
    let weights = Weights {
        bias: 0.0,
        factors: raw(&weights),
        units: units.collect(),
    };
    scaled(&samples, weights)
}

/// Units that differ at random; all else is 0.
fn first_weights(random: &mut Random) -> Vec<f32> {
    let mut weights = vec![0.0; ALL];
    for unit in weights[COUNT..].chunks_exact_mut(UNIT) {
        for weight in &mut unit[..COUNT] {
            *weight = (random.unit() - 0.5) as f32 * 0.4;
        }
        unit[OUTPUT] = random.unit() as f32 * 0.1;
    }
    weights
}

/// Moves weights of normalized features to the nearest that are not negative for [`MATCHES`], and
/// for which the first of [`OWN_AND_CONTEXT`] is at least the second.
fn bound(weights: &mut [f32], deviation: &[f64; COUNT]) {
    let place = |name: &str| {
        let known = FEATURES.iter().position(|known| *known == name);
        known.expect("it is one of FEATURES")
    };
    for at in MATCHES.map(place) {
        weights[at] = weights[at].max(0.0);
    }
    let [own, context] = OWN_AND_CONTEXT.map(place);
    // The nearest point of the line on which both are equal.
    let line = (deviation[own] as f32, deviation[context] as f32);
    if weights[own] / line.0 < weights[context] / line.1 {
        let along = weights[own] * line.0 + weights[context] * line.1;
        let along = along / (line.0 * line.0 + line.1 * line.1);
        (weights[own], weights[context]) = (along * line.0, along * line.1);
    }
}

/// The gradient of the mean loss of these of `all` questions, with the penalties.
fn slope(questions: &[&Question], weights: &[f32], all: usize) -> Vec<f32> {
    let part = questions.len().div_ceil(PARTS).max(1);
    let mut slope = vec![0.0; ALL];
    thread::scope(|scope| {
        let parts: Vec<_> = questions
            .chunks(part)
            .map(|part| scope.spawn(|| part_slope(part, weights)))
            .collect();
        for part in parts {
            let part = part.join().expect("it does not panic");
            for (sum, one) in slope.iter_mut().zip(part) {
                *sum += one;
            }
        }
    });
    for (at, (sum, weight)) in slope.iter_mut().zip(weights).enumerate() {
        let penalty = match at.checked_sub(COUNT) {
            None => LINEAR_PENALTY,
            Some(at) if at % UNIT < COUNT => UNIT_PENALTY / COUNT as f32,
            Some(at) if at % UNIT == OUTPUT => UNIT_PENALTY,
            Some(_) => 0.0,
        };
        *sum = *sum / questions.len() as f32 + 2.0 * penalty * weight / all as f32;
    }
    slope
}

fn part_slope(questions: &[&Question], weights: &[f32]) -> Vec<f32> {
    let mut slope = vec![0.0; ALL];
    for question in questions {
        let outputs: Vec<(f32, [f32; UNITS])> = question
            .iter()
            .map(|(features, _)| output(features, weights))
            .collect();
        let scores = outputs.iter().map(|(score, _)| *score);
        let most = scores.clone().fold(f32::NEG_INFINITY, f32::max);
        let shares: Vec<f32> = scores.map(|score| (score - most).exp()).collect();
        let evidence = || question.iter().map(|(_, is_evidence)| *is_evidence);
        let share_of = |wanted: bool| {
            let shares = shares.iter().zip(evidence());
            shares.filter_map(move |(share, is_evidence)| (is_evidence == wanted).then_some(*share))
        };
        let others: f32 = share_of(false).sum();
        let weight = 1.0 / share_of(true).count() as f32;
        let pull: f32 = share_of(true)
            .map(|share| weight / (DEPTH * share + others))
            .sum();
        for (place, (features, is_evidence)) in question.iter().enumerate() {
            let share = shares[place];
            let factor = match is_evidence {
                true => -weight * (1.0 - DEPTH * share / (DEPTH * share + others)),
                false => share * pull,
            };
            add_slope(&mut slope, features, factor, &outputs[place].1, weights);
        }
    }
    slope
}

/// The score of a candidate, and the input of each unit.
fn output(features: &[f32; COUNT], weights: &[f32]) -> (f32, [f32; UNITS]) {
    let mut score = dot(features, &weights[..COUNT]);
    let mut inputs = [0.0; UNITS];
    for (input, unit) in inputs.iter_mut().zip(weights[COUNT..].chunks_exact(UNIT)) {
        *input = unit[BIAS] + dot(features, &unit[..COUNT]);
        score += unit[OUTPUT] * (*input / (1.0 + input.abs()));
    }
    (score, inputs)
}

fn add_slope(
    slope: &mut [f32],
    features: &[f32; COUNT],
    factor: f32,
    inputs: &[f32; UNITS],
    weights: &[f32],
) {
    add(&mut slope[..COUNT], features, factor);
    let units = slope[COUNT..].chunks_exact_mut(UNIT);
    let known = weights[COUNT..].chunks_exact(UNIT);
    for ((slope, unit), input) in units.zip(known).zip(inputs) {
        let bent = 1.0 + input.abs();
        slope[OUTPUT] += factor * input / bent;
        let factor = factor * unit[OUTPUT] / (bent * bent);
        slope[BIAS] += factor;
        add(&mut slope[..COUNT], features, factor);
    }
}

fn dot(features: &[f32; COUNT], weights: &[f32]) -> f32 {
    let products = features.iter().zip(weights);
    products.map(|(one, weight)| one * weight).sum()
}

fn add(sums: &mut [f32], features: &[f32; COUNT], factor: f32) {
    for (sum, feature) in sums.iter_mut().zip(features) {
        *sum += factor * feature;
    }
}

/// Mean and standard deviation of each feature.
fn moments(samples: &[&Sample<'_>]) -> ([f64; COUNT], [f64; COUNT]) {
    let all = || samples.iter().flat_map(|sample| &sample.candidates);
    let count = all().count().max(1) as f64;
    let mean: [f64; COUNT] =
        std::array::from_fn(|at| all().map(|one| one.features[at]).sum::<f64>() / count);
    let deviation = std::array::from_fn(|at| {
        let squares = all().map(|one| (one.features[at] - mean[at]).powi(2));
        (squares.sum::<f64>() / count).sqrt().max(1e-6)
    });
    (mean, deviation)
}

/// Moves and stretches the score so that it is nearest to the weighted sum, by least squares
/// over the best candidates: thresholds keep about their meaning.
fn scaled(samples: &[&Sample<'_>], weights: Weights) -> Weights {
    let mut points = Vec::new();
    for sample in samples {
        let mut scores: Vec<(f64, f64)> = sample
            .candidates
            .iter()
            .map(|one| (weights.score(&one.features), one.features[0]))
            .collect();
        scores.sort_by(|one, other| other.0.total_cmp(&one.0));
        points.extend(scores.into_iter().take(SCALED));
    }
    let count = points.len().max(1) as f64;
    let x = points.iter().map(|(x, _)| x).sum::<f64>() / count;
    let y = points.iter().map(|(_, y)| y).sum::<f64>() / count;
    let both: f64 = points.iter().map(|(px, py)| (px - x) * (py - y)).sum();
    let squares: f64 = points.iter().map(|(px, _)| (px - x).powi(2)).sum();
    let factor = (both / squares.max(f64::MIN_POSITIVE)).max(f64::MIN_POSITIVE);
    let units = weights.units.into_iter().map(|unit| Unit {
        output: unit.output * factor,
        ..unit
    });
    Weights {
        bias: y - factor * x,
        factors: weights.factors.map(|weight| weight * factor),
        units: units.collect(),
    }
}
