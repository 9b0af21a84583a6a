//! Fits entries into the bytes of an answer.

/// The newest entries, as far back as they fit into `max_bytes`, and the bytes that are
/// left. `all` has the oldest first.
pub(super) fn newest_within<T>(
    all: &[T],
    max_bytes: usize,
    bytes: impl Fn(&T) -> usize,
) -> (&[T], usize) {
    let (mut first, mut left) = (all.len(), max_bytes);
    while let Some(before) = first.checked_sub(1)
        && let Some(rest) = left.checked_sub(bytes(&all[before]))
    {
        (first, left) = (before, rest);
    }
    (&all[first..], left)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_entries_that_fit_are_kept_without_a_gap() {
        let sizes = [1, 5, 2, 3];
        let within = |max| newest_within(&sizes, max, |size| *size);
        assert_eq!(within(2), (&sizes[4..], 2));
        assert_eq!(within(6), (&sizes[2..], 1));
        assert_eq!(within(100), (&sizes[..], 89));
    }
}
