//! Where a conversation may be split. Pure.

use std::collections::HashMap;

use memory_budget::turns;
use memory_contract::message::{Content, Message, Role};

/// How much of a conversation is kept in full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Keep {
    /// The tokens at which older turns are summarized. The newest turns, or of a larger turn
    /// the newest steps, that fill less than four sevenths of them are kept.
    pub(super) limit: i64,
}

impl Keep {
    /// How many of the oldest uncovered messages to summarize. `in_full` counts the tokens of all
    /// uncovered messages; `more` says whether some of them were not read.
    ///
    /// Whole turns that are not kept; the newest turn read is kept or may continue. If that
    /// turn alone is too large, such as the loop of an agent, its older steps: at least the last
    /// message that was read stays. A tool result whose call is missing (covered, erased or
    /// never stored) does not bind its turn to another.
    pub(super) fn cut(self, messages: &[Message], more: bool, in_full: i64) -> usize {
        let turns = turns(messages, true);
        let Some((_, whole)) = turns.split_last() else {
            return 0;
        };
        let mut left = in_full;
        let mut taken = 0;
        for turn in whole {
            if self.keeps(left) {
                break;
            }
            left -= tokens_of(&messages[turn.messages.clone()]);
            taken = turn.messages.end;
        }
        match taken {
            0 if !self.keeps(left) => self.steps_of_a_turn(messages, more, in_full),
            taken => taken,
        }
    }

    /// The older steps of a turn, as few as leave no more than is kept, or all but the last.
    fn steps_of_a_turn(self, turn: &[Message], more: bool, in_full: i64) -> usize {
        // To summarize the request alone frees nothing: it is shown as long as the turn is.
        let opening = turn.iter().take_while(|one| one.role == Role::User).count();
        let last = turn.len() - usize::from(!more);
        let mut left = in_full;
        let mut taken = 0;
        let places = split_points(turn).into_iter();
        for place in places.filter(|place| (opening + 1..=last).contains(place)) {
            left -= tokens_of(&turn[taken..place]);
            taken = place;
            if self.keeps(left) {
                break;
            }
        }
        taken
    }

    /// Whether messages of this size are kept.
    pub(super) fn keeps(self, tokens: i64) -> bool {
        tokens.saturating_mul(7) < self.limit.saturating_mul(4)
    }
}

pub(super) fn tokens_of(messages: &[Message]) -> i64 {
    messages.iter().map(|one| i64::from(one.tokens)).sum()
}

/// The places at which messages may be split, as counts of the messages before them,
/// ascending: those that separate no tool call from its result. A call without a result
/// waits for one until the next user message.
pub(super) fn split_points(messages: &[Message]) -> Vec<usize> {
    // Calls by their ids, each with whether a result of it was seen.
    let mut calls: HashMap<&str, (usize, bool)> = HashMap::new();
    let mut waiting: Vec<usize> = Vec::new();
    // For each place, the number of pairs that a split would begin and cease to
    // separate there.
    let mut begins = vec![0_i32; messages.len() + 2];
    let mut ends = vec![0_i32; messages.len() + 2];
    let mut pair = |call: usize, to: usize| {
        begins[call + 1] += 1;
        ends[to + 1] += 1;
    };
    for (index, message) in messages.iter().enumerate() {
        for part in &message.parts {
            match &part.content {
                Content::ToolCall(call) => {
                    if let Some((before, false)) = calls.insert(&call.id, (index, false)) {
                        waiting.push(before);
                    }
                }
                Content::ToolResult(result) => {
                    if let Some((call, seen)) = calls.get_mut(result.call_id.as_str()) {
                        *seen = true;
                        pair(*call, index);
                    }
                }
                Content::Text(_)
                | Content::Json(_)
                | Content::File(_)
                | Content::Reasoning(_)
                | Content::Opaque(_) => {}
            }
        }
    }
    waiting.extend(
        calls
            .into_values()
            .filter(|(_, seen)| !seen)
            .map(|(call, _)| call),
    );
    for call in waiting {
        pair(call, wait(messages, call));
    }
    let mut separated = 0;
    let mut places = Vec::new();
    for place in 1..=messages.len() {
        separated += begins[place] - ends[place];
        if separated == 0 {
            places.push(place);
        }
    }
    places
}

/// The ends of parts of at least so many tokens: for each, the first of `places` where it is
/// that large. What is left after the last one is smaller.
pub(super) fn ends_of_parts(messages: &[Message], places: &[usize], tokens: i64) -> Vec<usize> {
    let mut ends = Vec::new();
    let mut start = 0;
    for place in places {
        if tokens_of(&messages[start..*place]) >= tokens {
            ends.push(*place);
            start = *place;
        }
    }
    ends
}

/// The last message after which a call without a result still waits for one: past the
/// end if no user message follows.
fn wait(messages: &[Message], call: usize) -> usize {
    let mut later = messages[call + 1..].iter();
    let user = later.position(|one| one.role == Role::User);
    user.map_or(messages.len(), |distance| call + distance)
}

#[cfg(test)]
mod tests {
    use memory_contract::message::{Part, ToolCall, ToolOutput, ToolResult};
    use proptest::prelude::*;

    use super::*;

    fn message(role: Role, tokens: i32, parts: Vec<Part>) -> Message {
        Message {
            tokens,
            ..Message::new(role, parts)
        }
    }

    fn said(role: Role, tokens: i32) -> Message {
        message(role, tokens, vec![Part::text("said")])
    }

    fn calls(id: &str) -> Message {
        let call = ToolCall {
            id: id.to_owned(),
            name: "look".to_owned(),
            arguments: "{}".to_owned(),
        };
        message(Role::Assistant, 1, vec![Content::ToolCall(call).into()])
    }

    fn answers(id: &str) -> Message {
        let result = ToolResult {
            call_id: id.to_owned(),
            name: "look".to_owned(),
            output: vec![ToolOutput::Text("seen".to_owned())],
            is_error: false,
        };
        message(Role::Tool, 1, vec![Content::ToolResult(result).into()])
    }

    /// Turns of 20 tokens.
    fn conversation(turns: usize) -> Vec<Message> {
        (0..turns)
            .flat_map(|_| [said(Role::User, 10), said(Role::Assistant, 10)])
            .collect()
    }

    #[test]
    fn less_than_four_sevenths_is_kept() {
        let messages = conversation(5);
        let cut = |limit| Keep { limit }.cut(&messages, false, 100);
        // Four sevenths of 70 are 40: two turns would fill them.
        assert_eq!(cut(70), 8);
        assert_eq!(cut(71), 6);
        assert_eq!(cut(175), 2);
        assert_eq!(cut(176), 0);
        // A newest turn of one step is kept, however large it is.
        assert_eq!(cut(1), 8);
    }

    #[test]
    fn messages_that_were_not_read_count_as_kept() {
        let messages = conversation(2);
        let keep = Keep { limit: 70 };
        assert_eq!(keep.cut(&messages, true, 100), 2);
        assert_eq!(keep.cut(&messages[..2], true, 30), 0);
        assert_eq!(keep.cut(&messages[..2], false, 100), 0);
        assert_eq!(keep.cut(&[], false, 0), 0);
        // The turn continues in messages that were not read.
        assert_eq!(keep.cut(&messages[..2], true, 100), 2);
    }

    #[test]
    fn of_a_long_turn_the_newest_steps_are_kept() {
        let mut turn = vec![said(Role::User, 10)];
        for step in 0..5 {
            turn.extend([calls(&step.to_string()), answers(&step.to_string())]);
        }
        let in_full = tokens_of(&turn);
        assert_eq!(in_full, 20);
        let cut = |limit| Keep { limit }.cut(&turn, false, in_full);
        // Four sevenths of 7 are 4: of two steps one too much.
        assert_eq!(cut(7), 9);
        assert_eq!(cut(8), 7);
        assert_eq!(cut(14), 5);
        assert_eq!(cut(21), 3);
        assert_eq!(cut(36), 0);
        // The last step is never summarized, and the question never alone.
        assert_eq!(cut(1), 9);
        assert_eq!(Keep { limit: 1 }.cut(&turn[..3], false, 12), 0);
    }

    #[test]
    fn a_call_is_not_parted_from_its_results() {
        let messages = [
            said(Role::User, 1),
            calls("a"),
            answers("a"),
            calls("b"),
            calls("c"),
            answers("c"),
            answers("b"),
            said(Role::Assistant, 1),
        ];
        assert_eq!(split_points(&messages), [1, 3, 7, 8]);
        assert_eq!(split_points(&messages[..5]), [1, 3]);
        // A call without a result is complete once the user speaks again.
        let given_up = [calls("a"), said(Role::Assistant, 1), said(Role::User, 1)];
        assert_eq!(split_points(&given_up), [2, 3]);
        // An id that is used again is another call.
        let again = [
            calls("a"),
            answers("a"),
            calls("a"),
            answers("a"),
            answers("a"),
        ];
        assert_eq!(split_points(&again), [2, 5]);
        assert_eq!(split_points(&[]), [] as [usize; 0]);
    }

    #[test]
    fn parts_end_where_they_are_large_enough() {
        let messages = [
            said(Role::User, 1),
            calls("a"),
            answers("a"),
            said(Role::Assistant, 1),
            said(Role::User, 1),
            said(Role::Assistant, 1),
        ];
        let ends = |tokens| ends_of_parts(&messages, &split_points(&messages), tokens);
        assert_eq!(ends(1), [1, 3, 4, 5, 6]);
        // A call is not parted from its result, and the last message waits for another.
        assert_eq!(ends(2), [3, 5]);
        assert_eq!(ends(7), [] as [usize; 0]);
    }

    proptest! {
        #[test]
        fn a_cut_keeps_the_longest_end_that_is_short_enough(
            sizes in prop::collection::vec(1..40_i32, 1..30), limit in 1..500_i64,
        ) {
            let messages: Vec<Message> = sizes.iter().map(|size| said(Role::User, *size)).collect();
            let all = tokens_of(&messages);
            let taken = Keep { limit }.cut(&messages, false, all);
            prop_assert!(taken < messages.len());
            let kept = tokens_of(&messages[taken..]);
            prop_assert!(kept * 7 < limit * 4 || taken == messages.len() - 1);
            if taken > 0 {
                prop_assert!(tokens_of(&messages[taken - 1..]) * 7 >= limit * 4);
            }
        }
    }
}
