//! Fits entries into the bytes of an answer.

use memory_budget::{Room, Size};

/// The newest entries, as far back as they fit into `max_bytes`, and the bytes that are
/// left. `all` has the oldest first.
pub(super) fn newest_within<T>(
    all: &[T],
    max_bytes: usize,
    bytes: impl Fn(&T) -> usize,
) -> (&[T], usize) {
    let mut room = Room::new(Size::of_bytes(max_bytes));
    let newest_first = all.iter().rev();
    let kept = newest_first
        .take_while(|one| room.take(Size::of_bytes(bytes(one))))
        .count();
    (&all[all.len() - kept..], room.left().bytes)
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
