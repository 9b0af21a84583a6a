//! Choosing by priority what fits into a budget.

/// Which items were chosen. Each item is in one of the two lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fit {
    /// The items chosen: their places in the order of priority, ascending.
    pub chosen: Vec<usize>,
    /// The items left out, likewise.
    pub omitted: Vec<usize>,
    /// Tokens of the items chosen, never over the budget.
    pub total_tokens: i32,
}

/// Chooses greedily, the most important first. An item that does not fit is
/// left out, and smaller ones after it may still be chosen: one long message
/// must not keep all others away.
///
/// `tokens` are the items' sizes, 0 or more, the most important first.
/// `max_tokens` is the budget; `None`: everything is chosen.
pub fn fit(tokens: impl IntoIterator<Item = i32>, max_tokens: Option<i32>) -> Fit {
    let mut fit = Fit::default();
    for (index, tokens) in tokens.into_iter().enumerate() {
        let total = fit.total_tokens.saturating_add(tokens);
        if max_tokens.is_none_or(|max| total <= max) {
            fit.chosen.push(index);
            fit.total_tokens = total;
        } else {
            fit.omitted.push(index);
        }
    }
    fit
}
