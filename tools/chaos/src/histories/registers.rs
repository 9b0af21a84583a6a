//! The head of a thread as a register: whether the operations can be put in an order, each at an
//! instant between its beginning and its end, in which every one has the answer that it was
//! given.

use super::anomaly::What;
use super::facts::Facts;
use super::search::Search;
use super::steps;

/// Checks the head of a thread. False: the search did not find out.
pub(super) fn check(facts: &mut Facts<'_>) -> bool {
    let (steps, complete) = steps::of(facts);
    let mut search = Search::new(facts, steps.clone(), false);
    let mut found = search.run();
    if found.is_none() {
        // Where changes without an answer may happen again and again, there are far fewer
        // configurations, and what has no order then has none at all.
        search = Search::new(facts, steps, true);
        found = search.run().filter(|found| !found);
    }
    match found {
        Some(true) => true,
        Some(false) if complete => {
            let (at, explained) = search.deepest;
            let of = search.required;
            let at = search.steps[at].by;
            facts.report("head", 0, What::Head { at, explained, of });
            true
        }
        _ => false,
    }
}
