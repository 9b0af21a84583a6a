use proptest::prelude::*;
use uuid::Uuid;

use super::*;

/// A message of one thread; every seventh has the same content.
fn message(seq: u8) -> Message {
    let text = match seq.is_multiple_of(7) {
        true => "yes".to_owned(),
        false => seq.to_string(),
    };
    Message {
        id: Uuid::from_u128(u128::from(seq)).into(),
        thread: Uuid::from_u128(1).into(),
        seq: i64::from(seq),
        depth: i32::from(seq),
        tokens: i32::from(seq % 13) + 4,
        ..Message::new(Role::User, vec![Part::text(text)])
    }
}

fn pieces() -> impl Strategy<Value = MergeInput> {
    let window = (100_u8..120, 0_u8..8);
    let matches = prop::collection::btree_set(1_u8..99, 0..8);
    (window, matches, 0_u8..4, 0_u8..4).prop_map(|((from, count), seqs, before, after)| {
        let mut pieces = MergeInput {
            window: (from..from + count).map(message).collect(),
            window_ordinal: 1,
            ..MergeInput::default()
        };
        let mut said = HashSet::new();
        for seq in seqs {
            let found = Hydrated {
                message: message(seq),
                thread_ordinal: 1,
                active: true,
            };
            if !said.insert(Content::new(&found.message)) {
                continue;
            }
            let id = found.message.id;
            for offset in (-i32::from(before)..=i32::from(after)).filter(|offset| *offset != 0) {
                let Ok(beside) = u8::try_from(i32::from(seq) + offset) else {
                    continue;
                };
                pieces.neighbors.push(Neighbor {
                    anchor: id,
                    offset,
                    message: message(beside),
                    thread_ordinal: 1,
                });
            }
            let ranked = Ranked {
                id,
                weight: 0.5,
                relevance: Some(0.5),
                dense: None,
                lexical: Some(1.0),
                passage: None,
            };
            pieces.matches.push(Match {
                found,
                ranked,
                passage: None,
            });
        }
        pieces
    })
}

#[test]
fn an_answer_has_no_more_bytes_than_a_client_takes() {
    let long = |seq| Message {
        parts: vec![Part::text("x".repeat(1 << 20))],
        ..message(seq)
    };
    let pieces = MergeInput {
        window: (1..=5).map(long).collect(),
        ..MergeInput::default()
    };
    let merged = merge(pieces, None, Tokenizer::O200kBase);
    let kept: Vec<i64> = merged.messages.iter().map(|one| one.message.seq).collect();
    assert_eq!(kept, [3, 4, 5]);
    assert_eq!(merged.total_tokens, 7 + 8 + 9);
    assert_eq!(merged.omitted.len(), 2);
    let budget = |one: &Omission| one.reason == OmissionReason::Budget;
    assert!(merged.omitted.iter().all(budget));
    let cut = RecallCut {
        reason: Reason::Recent,
        omitted: Amount {
            count: 2,
            tokens: 5 + 6,
        },
    };
    assert_eq!(merged.cuts, [cut]);
}

proptest! {
    #[test]
    fn never_over_budget_never_twice_always_in_order(
        pieces in pieces(),
        budget in prop::option::of(0_usize..200),
    ) {
        let merged = merge(pieces.clone(), budget, Tokenizer::O200kBase);
        let sum: i32 = merged.messages.iter().map(|one| one.message.tokens).sum();
        prop_assert_eq!(merged.total_tokens, sum as usize);
        prop_assert!(budget.is_none_or(|budget| merged.total_tokens <= budget));
        prop_assert!(merged.messages.is_sorted_by(|left, right| left.message.seq < right.message.seq));
        let window: HashSet<MessageId> = pieces.window.iter().map(|message| message.id).collect();
        let contents: Vec<Content> = merged
            .messages
            .iter()
            .filter(|one| !window.contains(&one.message.id))
            .map(|one| Content::new(&one.message))
            .collect();
        let unique: HashSet<&Content> = contents.iter().collect();
        prop_assert_eq!(unique.len(), contents.len());
    }

    #[test]
    fn each_message_has_a_reason_and_each_neighbor_its_match(
        pieces in pieces(),
        budget in prop::option::of(0_usize..200),
    ) {
        let merged = merge(pieces, budget, Tokenizer::O200kBase);
        let matches: HashSet<MessageId> =
            merged.messages.iter().filter(|one| one.rank > 0).map(|one| one.message.id).collect();
        for one in &merged.messages {
            prop_assert!(!one.reasons.is_empty());
            prop_assert_eq!(one.reasons.contains(&Reason::Match), one.rank > 0);
            prop_assert_eq!(one.reasons.contains(&Reason::Neighbor), !one.neighbor_of.is_empty());
            prop_assert!(one.neighbor_of.iter().all(|anchor| matches.contains(anchor)));
        }
    }

    #[test]
    fn each_piece_is_returned_or_omitted(pieces in pieces(), budget in prop::option::of(0_usize..200)) {
        let mut all: HashSet<MessageId> = pieces.window.iter().map(|message| message.id).collect();
        all.extend(pieces.matches.iter().map(|one| one.ranked.id));
        let neighbors = pieces.neighbors.clone();
        let merged = merge(pieces, budget, Tokenizer::O200kBase);
        // Neighbors of a match that is a duplicate are dropped.
        let stood_for = |anchor: MessageId| {
            let twin = |one: &Omission| one.message == anchor && one.reason == OmissionReason::Duplicate;
            merged.omitted.iter().any(twin)
        };
        let beside = neighbors.iter().filter(|one| !stood_for(one.anchor));
        all.extend(beside.map(|one| one.message.id));
        let mut seen: HashSet<MessageId> = merged.messages.iter().map(|one| one.message.id).collect();
        prop_assert!(merged.omitted.iter().all(|omission| seen.insert(omission.message)));
        prop_assert_eq!(seen, all);
        let over_budget = |one: &&Omission| one.reason == OmissionReason::Budget;
        let counted: i64 = merged.cuts.iter().map(|cut| cut.omitted.count).sum();
        prop_assert_eq!(counted as usize, merged.omitted.iter().filter(over_budget).count());
    }

    #[test]
    fn without_a_budget_the_window_is_whole(pieces in pieces()) {
        let merged = merge(pieces.clone(), None, Tokenizer::O200kBase);
        for message in &pieces.window {
            let recent = |one: &RecalledMessage| {
                one.message.id == message.id && one.reasons.contains(&Reason::Recent)
            };
            prop_assert!(merged.messages.iter().any(recent));
        }
    }
}
