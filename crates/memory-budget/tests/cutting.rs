//! Tests of cutting a conversation to a budget.

mod support;

use memory_budget::{Budget, BudgetError, OversizedTurn, Tokenizer, cut, turns};
use memory_contract::message::{Message, Role};
use proptest::prelude::*;
use support::*;

/// Cuts to a budget that is just enough for the messages of `seq` and later.
fn keep_from(messages: &[Message], seq: i64) -> Vec<i64> {
    let enough = messages
        .iter()
        .filter(|message| message.seq >= seq)
        .map(|message| message.tokens)
        .sum();
    let budget = Budget {
        oversized_turn: OversizedTurn::Drop,
        ..budget(enough)
    };
    let cut = cut(messages.to_vec(), &budget, true).expect("no policy to fail");
    seqs(&cut.messages)
}

fn groups(messages: &[Message], reaches_root: bool) -> Vec<(Vec<i64>, bool)> {
    turns(messages, reaches_root)
        .into_iter()
        .map(|turn| (seqs(&messages[turn.messages]), turn.whole))
        .collect()
}

#[test]
fn a_turn_is_a_user_message_and_everything_answered_to_it() {
    let messages = conversation(vec![
        system("be kind"),
        user("hello"),
        user("are you there?"),
        call("1"),
        result("1", "yes"),
        assistant("I am"),
        user("good"),
        system("the user is on another page"),
        assistant("indeed"),
    ]);
    let expected = vec![
        (vec![1], true),
        (vec![2], true),
        (vec![3, 4, 5, 6], true),
        (vec![7, 8, 9], true),
    ];
    assert_eq!(groups(&messages, true), expected);
}

#[test]
fn messages_before_the_first_user_message_are_one_turn_that_is_whole_only_at_the_root() {
    let messages = conversation(vec![
        system("be kind"),
        assistant("welcome"),
        user("hello"),
        assistant("hi"),
    ]);
    assert_eq!(
        groups(&messages, true),
        [(vec![1, 2], true), (vec![3, 4], true)]
    );
    assert_eq!(
        groups(&messages, false),
        [(vec![1, 2], false), (vec![3, 4], true)]
    );
}

#[test]
fn a_result_that_comes_after_the_next_user_message_joins_the_turns() {
    let messages = conversation(vec![
        user("look it up"),
        call("slow"),
        user("and meanwhile?"),
        assistant("we wait"),
        user("still?"),
        result("slow", "found"),
        assistant("here it is"),
        user("thanks"),
        assistant("welcome"),
    ]);
    let joined = vec![(vec![1, 2, 3, 4, 5, 6, 7], true), (vec![8, 9], true)];
    assert_eq!(groups(&messages, true), joined);
    assert_eq!(keep_from(&messages, 5), [8, 9]);
}

#[test]
fn a_user_message_that_carries_a_tool_result_starts_no_turn() {
    let messages = conversation(vec![
        user("look it up"),
        call("1"),
        message(Role::User, "", vec![result_part("1", "found")]),
        assistant("here it is"),
    ]);
    assert_eq!(groups(&messages, true), [(vec![1, 2, 3, 4], true)]);
}

#[test]
fn an_id_that_is_used_again_ties_a_result_to_the_nearest_call() {
    let turn = || vec![user("look it up"), call("0"), result("0", "found")];
    let messages = conversation([turn(), turn()].concat());
    assert_eq!(
        groups(&messages, true),
        [(vec![1, 2, 3], true), (vec![4, 5, 6], true)]
    );
}

#[test]
fn a_result_whose_call_was_not_read_yet_asks_for_older_messages() {
    let messages = conversation(vec![
        user("look it up"),
        call("1"),
        user("hello"),
        result("1", "found"),
        assistant("done"),
    ]);
    let window = messages[2..].to_vec();
    let part = cut(window, &budget(1_000), false).expect("fits");
    assert!(part.messages.is_empty() && part.needs_older);
    let whole = cut(messages, &budget(1_000), true).expect("fits");
    assert_eq!(seqs(&whole.messages), [1, 2, 3, 4, 5]);
    assert!(!whole.needs_older);
}

#[test]
fn a_result_whose_call_does_not_exist_is_kept_where_the_whole_conversation_is_known() {
    let messages = conversation(vec![user("hello"), result("gone", "found")]);
    let cut = cut(messages, &budget(1_000), true).expect("fits");
    assert_eq!(seqs(&cut.messages), [1, 2]);
}

#[test]
fn whole_turns_are_dropped_the_oldest_first() {
    let turn = || vec![user("a question"), assistant("an answer")];
    let messages = conversation([turn(), turn(), turn()].concat());
    for (from, kept) in [
        (6, vec![]),
        (5, vec![5, 6]),
        (4, vec![5, 6]),
        (3, vec![3, 4, 5, 6]),
    ] {
        assert_eq!(
            keep_from(&messages, from),
            kept,
            "budget for {from} and later"
        );
    }
}

#[test]
fn the_message_limit_leaves_out_a_turn_that_it_would_cut() {
    let turn = || vec![user("a question"), assistant("an answer")];
    let messages = conversation([turn(), turn()].concat());
    let budget = Budget {
        message_limit: 3,
        ..budget(1_000)
    };
    let cut = cut(messages, &budget, true).expect("fits");
    assert_eq!(seqs(&cut.messages), [3, 4]);
    assert!(cut.truncated && !cut.content_truncated);
}

#[test]
fn a_conversation_that_fits_is_kept_as_it_is() {
    let messages = conversation(vec![assistant("welcome"), user("hello")]);
    let cut = cut(messages.clone(), &budget(1_000), true).expect("fits");
    assert_eq!(cut.messages, messages);
    assert!(!cut.truncated && !cut.content_truncated && !cut.needs_older);
}

#[test]
fn nothing_is_cut_to_nothing() {
    let cut = cut(vec![], &budget(10), true).expect("nothing fits");
    assert_eq!(cut, memory_budget::Cut::default());
}

#[test]
fn another_tokenizer_counts_the_messages_itself() {
    let messages = conversation(vec![user("日本語の文章を数える")]);
    let budget = Budget {
        tokenizer: Tokenizer::R50kBase,
        ..budget(1_000)
    };
    let cut = cut(messages.clone(), &budget, true).expect("fits");
    assert_eq!(cut.total_tokens, tokens(&messages, Tokenizer::R50kBase));
    assert!(cut.total_tokens > messages[0].tokens);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn a_cut_is_never_over_its_budget(messages in any_conversation(), budget in any_budget()) {
        if let Ok(cut) = cut(messages, &budget, true) {
            prop_assert_eq!(cut.total_tokens, tokens(&cut.messages, budget.tokenizer));
            prop_assert!(cut.total_tokens <= budget.max_tokens.max(0));
            prop_assert!(cut.messages.len() <= budget.message_limit);
            prop_assert_eq!(
                tokens(&cut.messages, Tokenizer::O200kBase),
                cut.messages.iter().map(|message| message.tokens).sum::<i32>()
            );
        }
    }

    #[test]
    fn a_cut_keeps_the_newest_turns_without_a_gap_or_a_part_of_the_newest(
        messages in any_conversation(),
        budget in any_budget(),
    ) {
        if let Ok(cut) = cut(messages.clone(), &budget, true) {
            let kept = as_given(&messages, &cut.messages);
            prop_assert_eq!(seqs(&cut.messages), seqs(&kept));
            prop_assert_eq!(cut.truncated, kept.len() < messages.len());
            prop_assert_eq!(cut.content_truncated, cut.messages != kept);
            prop_assert!(!cut.needs_older);
            if kept != messages[messages.len() - kept.len()..] {
                let newest = turns(&messages, true).pop().expect("something is kept");
                prop_assert_eq!(kept[0].seq, messages[newest.messages.start].seq);
                prop_assert_eq!(budget.oversized_turn, OversizedTurn::TruncateContent);
            }
        }
    }

    #[test]
    fn a_conversation_of_users_alone_is_cut_between_any_two_messages(
        count in 1_usize..40,
        limit in 1_usize..40,
    ) {
        let messages: Vec<_> = (0..count).map(|_| user("hello")).collect();
        let budget = Budget { message_limit: limit, ..budget(1_000_000) };
        let kept = cut(messages, &budget, true).map(|cut| cut.messages.len());
        prop_assert_eq!(kept, Ok(count.min(limit)));
    }

    #[test]
    fn a_cut_never_begins_with_an_orphan(
        messages in any_conversation(),
        budget in any_budget(),
        from in any::<prop::sample::Index>(),
    ) {
        let from = from.index(messages.len() + 1);
        if let Ok(cut) = cut(messages[from..].to_vec(), &budget, from == 0)
            && let Some(first) = cut.messages.first()
            && first.seq > 1
        {
            prop_assert_eq!(first.role, Role::User);
        }
    }

    #[test]
    fn a_cut_never_separates_a_call_from_its_results(
        messages in any_conversation(),
        budget in any_budget(),
        from in any::<prop::sample::Index>(),
    ) {
        let from = from.index(messages.len() + 1);
        if let Ok(cut) = cut(messages[from..].to_vec(), &budget, from == 0) {
            let kept = seqs(&cut.messages);
            let is_kept = |index: usize| kept.contains(&messages[index].seq);
            for (result, call) in pairs(&messages) {
                prop_assert!(call.is_none_or(|call| is_kept(call) == is_kept(result)));
            }
        }
    }

    #[test]
    fn a_cut_is_as_long_as_the_budget_allows(
        messages in any_conversation(),
        budget in any_budget(),
    ) {
        let Ok(cut) = cut(messages.clone(), &budget, true) else {
            return Ok(());
        };
        let oldest = cut.messages.first().map(|oldest| oldest.seq);
        let is_older = |message: &Message| oldest.is_none_or(|oldest| message.seq < oldest);
        let turns = turns(&messages, true);
        if let Some(next) = turns.iter().rev().find(|turn| is_older(&messages[turn.messages.start])) {
            let more = tokens(&messages[next.messages.start..], budget.tokenizer);
            prop_assert!(
                more > budget.max_tokens
                    || messages.len() - next.messages.start > budget.message_limit
            );
        }
    }

    #[test]
    fn cutting_a_cut_again_changes_nothing(
        messages in any_conversation(),
        budget in any_budget(),
    ) {
        if let Ok(once) = cut(messages, &budget, true) {
            let twice = cut(once.messages.clone(), &budget, true).expect("fits");
            prop_assert_eq!(once.messages, twice.messages);
            prop_assert_eq!(once.total_tokens, twice.total_tokens);
            prop_assert!(!twice.content_truncated);
        }
    }

    #[test]
    fn the_same_conversation_is_cut_the_same_way(
        messages in any_conversation(),
        budget in any_budget(),
    ) {
        prop_assert_eq!(cut(messages.clone(), &budget, true), cut(messages, &budget, true));
    }

    #[test]
    fn a_part_of_a_conversation_gives_the_same_answer_or_asks_for_more(
        messages in any_conversation(),
        budget in any_budget(),
        from in any::<prop::sample::Index>(),
    ) {
        let from = from.index(messages.len() + 1);
        let whole = cut(messages.clone(), &budget, true);
        let part = cut(messages[from..].to_vec(), &budget, from == 0);
        match (part, whole) {
            (Ok(part), Ok(whole)) if part.needs_older => {
                prop_assert!(!part.content_truncated);
                prop_assert!(part.messages.len() <= whole.messages.len());
            }
            (Ok(part), Ok(whole)) => prop_assert_eq!(part.messages, whole.messages),
            (Ok(part), Err(_)) => prop_assert!(part.needs_older),
            (Err(BudgetError::TurnTooLarge { whole: false, .. }), _) => {}
            (Err(part), whole) => prop_assert_eq!(Err(part), whole),
        }
    }

    #[test]
    fn turns_follow_each_other_without_gaps(
        messages in any_conversation(),
        reaches_root in any::<bool>(),
    ) {
        let mut end = 0;
        for turn in turns(&messages, reaches_root) {
            prop_assert_eq!(turn.messages.start, end);
            prop_assert!(turn.messages.end > end);
            prop_assert!(turn.whole || turn.messages.start == 0);
            end = turn.messages.end;
        }
        prop_assert_eq!(end, messages.len());
    }
}
