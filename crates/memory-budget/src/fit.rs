//! Choosing by priority what fits into a budget.

/// Which items were chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fit {
    /// Indices of the items chosen, in order of priority.
    pub chosen: Vec<usize>,
    /// Indices of the items left out, in order of priority.
    pub omitted: Vec<usize>,
    /// Tokens of the items chosen.
    pub total_tokens: i32,
}

/// Chooses items greedily. `tokens` are the items' sizes, the most important
/// first; `max_tokens` is the budget, none where `None`.
pub fn fit(_tokens: impl IntoIterator<Item = i32>, _max_tokens: Option<i32>) -> Fit {
    unimplemented!()
}
