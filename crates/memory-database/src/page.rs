//! Pages of lists.

/// Entries that one call with a filter reads at most.
pub const SCANNED: i32 = 5_000;

/// One page of a list.
#[derive(Clone, Debug, PartialEq)]
pub struct Page<T, K> {
    /// The entries, in the order of the list.
    pub items: Vec<T>,
    /// The key to continue after; `None` on the last page.
    pub next: Option<K>,
}

impl<T, K: Clone> Page<T, K> {
    /// Makes a page of `limit` from the rows of a query for one row more, each
    /// with its key.
    pub fn cut(mut rows: Vec<(K, T)>, limit: u32) -> Self {
        let limit = limit as usize;
        let more = rows.len() > limit;
        rows.truncate(limit);
        Self {
            next: rows.last().map(|(key, _)| key.clone()).filter(|_| more),
            items: rows.into_iter().map(|(_, item)| item).collect(),
        }
    }
}

/// The limit of a query that shows whether there is another page.
pub fn one_more(limit: u32) -> i64 {
    i64::from(limit) + 1
}
