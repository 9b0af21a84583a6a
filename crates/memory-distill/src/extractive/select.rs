//! Which sentences are kept. Each is worth how near it is to the middle of what
//! was said around it (centroid: D. Radev et al., "Centroid-based summarization
//! of multiple documents", 2004) and what its words promise; one after the other
//! is taken, the best first, less what the ones taken already say (maximal
//! marginal relevance: J. Carbonell and J. Goldstein, 1998).

use memory_budget::Tokenizer;

use super::unit::{Costs, Unit, line, render};
use super::vectors::{Space, Sparse};

/// Weights of what a sentence is worth, tuned together with those of the cues.
const CENTRALITY: f32 = 0.35;
/// What is taken off for saying again what was taken.
const REDUNDANCY: f32 = 0.7;
/// What a sentence is worth at least, so that length counts for all alike.
const BASE_WORTH: f32 = 0.5;
/// Worth is divided by this power of a sentence's tokens and [`BASE_TOKENS`]: 0
/// would take no notice of length, 1 would take the short ones.
const LENGTH: f32 = 0.5;
/// Tokens that each sentence costs beside its own, about.
const BASE_TOKENS: f32 = 8.0;
/// Sentences of one neighborhood, whose middle is looked at.
const NEIGHBORHOOD: usize = 60;
/// Candidates at most. More would cost time and change little.
pub(super) const CANDIDATES: usize = 4_000;
/// Candidates at most where a model makes vectors of them, which takes about two
/// milliseconds for each.
pub(super) const EMBEDDED: usize = 2_000;
/// The share of the budget that lines kept before may keep in any case.
const FLOOR: f32 = 0.4;

/// What is worth looking at: at most so many units, the most promising ones, in
/// their order.
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

/// The text of those units that are worth most together within the budget, in
/// their order; never over the budget. Where none fits as a whole it is the
/// beginning of the one that is worth most.
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
    /// How alike each unit is to the nearest one that was chosen.
    nearest: Vec<f32>,
    open: Vec<bool>,
    /// In the order in which they were chosen.
    chosen: Vec<usize>,
    costs: Costs,
    left: i32,
}

impl Choice<'_> {
    /// Takes one unit after the other, the best first, while more than `reserve`
    /// tokens are left.
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
            // What did not fit now competes with the rest.
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
            // The first of equals, so that the choice depends on nothing else.
            if best.is_none_or(|(highest, _)| score > highest) {
                best = Some((score, place));
            }
        }
        best.map(|(_, place)| place)
    }

    fn score(&self, place: usize) -> f32 {
        let worth = BASE_WORTH + self.worth[place] - REDUNDANCY * self.nearest[place];
        let size = (self.own[place] as f32 + BASE_TOKENS).powf(LENGTH);
        // Below nothing, the longest would come first.
        worth.max(0.001) / size
    }

    fn text(mut self, max_tokens: i32, tokenizer: Tokenizer) -> String {
        loop {
            let mut places = self.chosen.clone();
            places.sort_unstable();
            let text = render(places.into_iter().map(|place| &self.units[place]));
            // Costs are counted piece by piece; the whole decides.
            if text.is_empty() || tokenizer.count(&text) <= max_tokens {
                return text;
            }
            self.chosen.pop();
        }
    }
}
