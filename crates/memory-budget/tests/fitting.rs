//! Tests of selecting items within a budget.

use memory_budget::{Room, Size};
use proptest::prelude::*;

struct Fit {
    chosen: Vec<usize>,
    omitted: Vec<usize>,
    total_tokens: i32,
}

fn fit(tokens: &[i32], max_tokens: i32) -> Fit {
    let mut room = Room::new(Size::of_tokens(max_tokens));
    let (chosen, omitted) =
        (0..tokens.len()).partition(|item| room.take(Size::of_tokens(tokens[*item])));
    Fit {
        chosen,
        omitted,
        total_tokens: room.taken().tokens,
    }
}

#[test]
fn an_item_that_does_not_fit_does_not_exclude_smaller_ones() {
    let fit = fit(&[10, 100, 5, 6], 20);
    assert_eq!(fit.chosen, [0, 2]);
    assert_eq!(fit.omitted, [1, 3]);
    assert_eq!(fit.total_tokens, 15);
}

#[test]
fn without_a_budget_everything_is_chosen() {
    let fit = fit(&[i32::MAX, 1], i32::MAX);
    assert_eq!(fit.chosen, [0, 1]);
    assert_eq!(fit.total_tokens, i32::MAX);
}

proptest! {
    #[test]
    fn each_item_is_chosen_or_omitted_and_the_budget_holds(
        tokens in prop::collection::vec(0..1_000_i32, 0..40),
        max_tokens in 0..5_000_i32,
    ) {
        let fit = fit(&tokens, max_tokens);
        let mut all = [fit.chosen.clone(), fit.omitted.clone()].concat();
        all.sort_unstable();
        prop_assert_eq!(all, (0..tokens.len()).collect::<Vec<_>>());
        prop_assert!(fit.total_tokens <= max_tokens);
        prop_assert_eq!(fit.total_tokens, fit.chosen.iter().map(|item| tokens[*item]).sum::<i32>());
        prop_assert!(fit.chosen.is_sorted() && fit.omitted.is_sorted());
    }

    #[test]
    fn an_item_is_omitted_only_where_the_more_important_ones_leave_no_room(
        tokens in prop::collection::vec(0..1_000_i32, 0..40),
        max_tokens in 0..5_000_i32,
    ) {
        let fit = fit(&tokens, max_tokens);
        for item in fit.omitted {
            let before: i32 =
                fit.chosen.iter().filter(|chosen| **chosen < item).map(|chosen| tokens[*chosen]).sum();
            prop_assert!(before + tokens[item] > max_tokens);
        }
    }
}
