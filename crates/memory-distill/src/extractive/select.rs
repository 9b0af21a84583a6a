//! Selects sentences. The worth of a sentence is its similarity to the centroid of its
//! neighborhood (D. Radev et al., "Centroid-based summarization of multiple documents",
//! 2004) plus the weight of its words. Sentences are chosen greedily, the best first,
//! minus their similarity to those already chosen (maximal marginal relevance: J.
//! Carbonell and J. Goldstein, 1998).

use memory_budget::Tokenizer;

use super::unit::{Costs, Unit, line, render};
use super::vectors::{Space, Sparse};

/// Weights of a sentence's worth, tuned together with those of the cues.
const CENTRALITY: f32 = 0.35;
/// The penalty for similarity to a chosen sentence.
const REDUNDANCY: f32 = 0.7;
/// The smallest worth, so that length counts for all sentences alike.
const BASE_WORTH: f32 = 0.5;
/// Worth is divided by this power of a sentence's tokens plus [`BASE_TOKENS`]: 0 would
/// ignore length, 1 would prefer short sentences.
const LENGTH: f32 = 0.5;
/// Approximate tokens of a sentence's speaker and separator.
const BASE_TOKENS: f32 = 8.0;
/// Sentences of one neighborhood, which share a centroid.
const NEIGHBORHOOD: usize = 60;
/// Most candidates. More would take time and change little.
pub(super) const CANDIDATES: usize = 4_000;
/// Most candidates with vectors of a model, which take about two milliseconds each.
pub(super) const EMBEDDED: usize = 2_000;
/// The share of the budget that is reserved for lines of the previous text.
const FLOOR: f32 = 0.4;

/// The `most` units with the highest weights, in their order.
pub(super) fn promising(mut units: Vec<Unit>, most: usize) -> Vec<Unit> {
    if units.len() > most {
        let mut order: Vec<usize> = (0..units.len()).collect();
        order.sort_by(|a, b| units[*b].weight.total_cmp(&units[*a].weight).then(a.cmp(b)));
        order.truncate(most);
        order.sort_unstable();
        let mut place = 0;
        units.retain(|_| {
            place += 1;
            order.binary_search(&(place - 1)).is_ok()
        });
    }
    units
}

/// The text of the best units within the budget, in their order; never over the budget. If
/// no unit fits as a whole, the beginning of the best one.
pub(super) fn select(
    units: &[Unit],
    sparse: Vec<Sparse>,
    dense: Option<Vec<Vec<f32>>>,
    max_tokens: i32,
    tokenizer: Tokenizer,
) -> String {
    let space = match dense {
        Some(vectors) if is_usable(&vectors, units.len()) => Space::Meaning(vectors),
        _ => Space::of_words(sparse),
    };
    let groups: Vec<usize> = (0..units.len()).map(|place| place / NEIGHBORHOOD).collect();
    let centrality = space.centrality(&groups);
    let worth: Vec<f32> = units
        .iter()
        .zip(&centrality)
        .map(|(unit, central)| unit.weight + CENTRALITY * central)
        .collect();
    let own: Vec<i32> = units
        .iter()
        .map(|unit| Costs::own(tokenizer, unit))
        .collect();
    let most = (0..units.len()).max_by(|a, b| worth[*a].total_cmp(&worth[*b]).then(b.cmp(a)));
    let mut choice = Choice {
        units,
        own,
        worth,
        nearest: vec![0.0; units.len()],
        open: vec![true; units.len()],
        chosen: Vec::new(),
        costs: Costs::new(tokenizer),
        left: max_tokens,
    };
    if units.iter().any(|unit| unit.kept) {
        let floor = (max_tokens.max(0) as f32 * FLOOR) as i32;
        choice.take(&space, max_tokens - floor, |unit| unit.kept);
    }
    choice.take(&space, 0, |_| true);
    let text = choice.text(max_tokens, tokenizer);
    match most {
        Some(most) if text.is_empty() => {
            let line = line(&units[most]);
            tokenizer.prefix(&line, max_tokens).trim_end().to_owned()
        }
        _ => text,
    }
}

fn is_usable(vectors: &[Vec<f32>], units: usize) -> bool {
    let length = vectors.first().map_or(0, Vec::len);
    vectors.len() == units
        && length > 0
        && vectors
            .iter()
            .all(|vector| vector.len() == length && vector.iter().all(|number| number.is_finite()))
}

struct Choice<'a> {
    units: &'a [Unit],
    own: Vec<i32>,
    worth: Vec<f32>,
    /// The similarity of each unit to the most similar chosen one.
    nearest: Vec<f32>,
    open: Vec<bool>,
    /// The chosen units, in the order of choice.
    chosen: Vec<usize>,
    costs: Costs,
    left: i32,
}

impl Choice<'_> {
    /// Chooses units, the best first, while more than `reserve` tokens are left.
    fn take(&mut self, space: &Space, reserve: i32, may: impl Fn(&Unit) -> bool) {
        let mut passed: Vec<usize> = Vec::new();
        while let Some(best) = self.best(&may) {
            self.open[best] = false;
            let unit = &self.units[best];
            let cost = self.own[best].saturating_add(self.costs.around(unit));
            if cost > self.left - reserve {
                // Shorter ones may still fit.
                passed.push(best);
                if passed.len() > 200 {
                    break;
                }
                continue;
            }
            self.left -= cost;
            self.costs.pay(unit);
            self.chosen.push(best);
            space.raise(best, &mut self.nearest);
        }
        if reserve > 0 {
            // Units that did not fit compete again.
            for place in passed {
                self.open[place] = true;
            }
        }
    }

    fn best(&self, may: &impl Fn(&Unit) -> bool) -> Option<usize> {
        let mut best: Option<(f32, usize)> = None;
        for (place, unit) in self.units.iter().enumerate() {
            if !self.open[place] || !may(unit) {
                continue;
            }
            let score = self.score(place);
            // The first of equals, which makes the choice deterministic.
            if best.is_none_or(|(highest, _)| score > highest) {
                best = Some((score, place));
            }
        }
        best.map(|(_, place)| place)
    }

    fn score(&self, place: usize) -> f32 {
        let worth = BASE_WORTH + self.worth[place] - REDUNDANCY * self.nearest[place];
        let size = (self.own[place] as f32 + BASE_TOKENS).powf(LENGTH);
        // Dividing a negative worth would prefer the longest.
        worth.max(0.001) / size
    }

    fn text(mut self, max_tokens: i32, tokenizer: Tokenizer) -> String {
        loop {
            let mut places = self.chosen.clone();
            places.sort_unstable();
            let text = render(places.into_iter().map(|place| &self.units[place]));
            // Costs are sums of parts; the whole text decides.
            if text.is_empty() || tokenizer.count(&text) <= max_tokens {
                return text;
            }
            self.chosen.pop();
        }
    }
}
