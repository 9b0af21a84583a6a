//! Selects items by priority within a budget.

/// The chosen and the omitted items. Each item is in one of the lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fit {
    /// Indexes of the chosen items in the order of priority, ascending.
    pub chosen: Vec<usize>,
    /// Indexes of the omitted items, likewise.
    pub omitted: Vec<usize>,
    /// Tokens of the chosen items; never over the budget.
    pub total_tokens: i32,
}

/// Chooses greedily, the most important first. An item that does not fit is omitted, and
/// smaller ones after it may still be chosen.
///
/// `tokens` are the items' sizes, 0 or more, the most important first. `max_tokens` is the
/// budget; `None` means unlimited.
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
