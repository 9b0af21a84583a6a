//! Selects sentences greedily, those with the highest worth per token first. A sentence that
//! repeats a chosen one is worth less (after maximal marginal relevance: J. Carbonell and J.
//! Goldstein, "The Use of MMR", 1998).

use memory_budget::Tokenizer;

use super::unit::{Costs, Unit, line, render};
use super::vectors::{Space, Sparse};

/// The similarity to a chosen sentence from which on a sentence loses worth. At 1 it has lost
/// nearly all of it.
const ALIKE: f32 = 0.5;
/// Tokens that are added to the length of each sentence, so that the shortest are not
/// preferred too much.
const BASE_TOKENS: f32 = 3.0;
/// Most rounds that spend what the costs overestimated.
const ROUNDS: usize = 4;
/// Most candidates. More would take time and change little.
pub(super) const CANDIDATES: usize = 4_000;
/// Most candidates with vectors of a model, which take about two milliseconds each.
pub(super) const EMBEDDED: usize = 2_000;
/// The share of the budget that is reserved for the previous text.
const FLOOR: f32 = 0.4;

/// The `most` units with the highest worth, in their order.
pub(super) fn promising(mut units: Vec<Unit>, most: usize) -> Vec<Unit> {
    if units.len() > most {
        let mut order: Vec<usize> = (0..units.len()).collect();
        order.sort_by(|a, b| units[*b].worth.total_cmp(&units[*a].worth).then(a.cmp(b)));
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
    let own: Vec<i32> = units
        .iter()
        .map(|unit| Costs::own(tokenizer, unit))
        .collect();
    let most =
        (0..units.len()).max_by(|a, b| units[*a].worth.total_cmp(&units[*b].worth).then(b.cmp(a)));
    let mut choice = Choice {
        units,
        own,
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
    for _ in 0..ROUNDS {
        let chosen = choice.chosen.len();
        choice.take(&space, 0, |_| true);
        if choice.chosen.len() == chosen {
            break;
        }
        // Costs are sums of parts and overestimate the whole.
        choice.left = max_tokens - tokenizer.count(&choice.text());
    }
    let text = choice.fitting(max_tokens, tokenizer);
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
        // Units that did not fit compete again.
        for place in passed {
            self.open[place] = true;
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
        let repeated = (self.nearest[place] - ALIKE).max(0.0) / (1.0 - ALIKE);
        let worth = self.units[place].worth * (1.0 - repeated).max(0.01);
        worth / (self.own[place] as f32 + BASE_TOKENS)
    }

    /// The chosen units in their order.
    fn text(&self) -> String {
        let mut places = self.chosen.clone();
        places.sort_unstable();
        render(places.into_iter().map(|place| &self.units[place]))
    }

    /// The text without the last choices that exceed the budget.
    fn fitting(mut self, max_tokens: i32, tokenizer: Tokenizer) -> String {
        loop {
            let text = self.text();
            if text.is_empty() || tokenizer.count(&text) <= max_tokens {
                return text;
            }
            self.chosen.pop();
        }
    }
}
