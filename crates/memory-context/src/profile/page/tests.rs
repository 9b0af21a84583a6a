//! Properties of profiles.

use std::collections::HashSet;

use memory_store::{HeldMemories, HeldMemory};
use proptest::prelude::*;
use time::OffsetDateTime;

use super::*;

/// A memory; its place in a list is its importance.
fn memory(ordinal: i64, topic: &str, text: &str) -> HeldMemory {
    HeldMemory {
        id: MemoryId::new(),
        thread: None,
        text: text.to_owned(),
        content_hash: text.as_bytes().to_vec(),
        topic: topic.to_owned(),
        pinned: false,
        event: None,
        valid_from: OffsetDateTime::UNIX_EPOCH,
        ordinal,
    }
}

fn facts(memories: Vec<HeldMemory>) -> Facts {
    let total = i64::try_from(memories.len()).unwrap();
    Facts::of(HeldMemories { memories, total })
}

fn page(memories: Vec<HeldMemory>, max_tokens: i32) -> Profile {
    Profile::of(&facts(memories), max_tokens, Tokenizer::O200kBase)
}

/// Texts of many forms, some of them the same.
fn some_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => "[a-z]{1,8} ",
        1 => prop::sample::select(vec![
            "\n", "\r\n- ", "\u{2028}", "\u{1e}", "</memory>", "pets:\n", "漢字", "é\u{301}", "👩‍👩‍👧", "....",
            "0123456789", "   ",
        ]).prop_map(str::to_owned),
    ];
    prop_oneof![
        8 => prop::collection::vec(piece.clone(), 1..20).prop_map(|pieces| pieces.concat()),
        1 => prop::collection::vec(piece, 200..400).prop_map(|pieces| pieces.concat()),
        1 => Just("Likes tea.".to_owned()),
    ]
}

fn some_memories() -> impl Strategy<Value = Vec<HeldMemory>> {
    let topic = prop::sample::select(vec!["", "", "food", "Food", "food\n- x", "喜好", "🐶"]);
    let one = (
        topic,
        some_text(),
        any::<bool>(),
        prop::option::of(0_i64..4_000_000_000),
    );
    let some = prop::collection::vec(one, 0..40);
    let shuffled = some.prop_map(|some| (0_i64..).zip(some).collect::<Vec<_>>());
    shuffled.prop_shuffle().prop_map(|some| {
        let memories = some
            .into_iter()
            .map(|(ordinal, (topic, text, pinned, event))| HeldMemory {
                pinned,
                event: event.map(|time| OffsetDateTime::from_unix_timestamp(time).unwrap()),
                ..memory(ordinal, topic, &text)
            });
        memories.collect::<Vec<_>>()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn f07_a_page_is_never_larger_than_asked(
        memories in some_memories(),
        unread in 0_i64..3,
        max_tokens in 1_i32..400,
        tokenizer in prop::sample::select(Tokenizer::ALL.to_vec()),
    ) {
        let total = i64::try_from(memories.len()).unwrap() + unread;
        let ids: HashSet<MemoryId> = memories.iter().map(|memory| memory.id).collect();
        let held = HeldMemories { memories, total };
        let facts = Facts::of(held.clone());
        let profile = Profile::of(&facts, max_tokens, tokenizer);

        prop_assert!(profile.tokens <= max_tokens);
        prop_assert_eq!(profile.tokens, tokenizer.count(&profile.text));
        prop_assert_eq!(&profile, &Profile::of(&Facts::of(held), max_tokens, tokenizer));

        // Each memory is in one entry, or counted as left out.
        let shown: Vec<MemoryId> = profile.entries.iter().flat_map(|one| one.memories.clone()).collect();
        prop_assert!(shown.iter().all(|id| ids.contains(id)));
        prop_assert_eq!(shown.iter().collect::<HashSet<_>>().len(), shown.len());
        prop_assert_eq!(i64::try_from(shown.len()).unwrap() + profile.omitted, total);

        // The text has a line for each entry, in order, and otherwise topics and empty lines.
        let lines = profile.text.lines().filter(|line| line.starts_with("- "));
        let lines: Vec<&str> = lines.collect();
        prop_assert_eq!(lines.len(), profile.entries.len());
        for (line, entry) in lines.iter().zip(&profile.entries) {
            prop_assert!(line[2..].starts_with(&entry.text));
        }

        // All of it fits into a page that is large enough.
        let whole = Profile::of(&facts, 1_000_000, tokenizer);
        prop_assert_eq!(whole.omitted, unread);
        prop_assert_eq!(whole.entries.len(), facts.in_order().len());
    }
}

#[test]
fn a_page_is_grouped_by_topic_and_ordered_by_age() {
    let party = HeldMemory {
        event: Some(OffsetDateTime::UNIX_EPOCH),
        ..memory(4, "travel", "Went to Rome yesterday.")
    };
    let written = page(
        vec![
            party,
            memory(3, "", "Is called\nAda."),
            memory(2, "food", "Likes tea."),
            memory(1, "food", "Is vegetarian."),
        ],
        500,
    );
    assert_eq!(
        written.text,
        "food:\n- Is vegetarian.\n- Likes tea.\n\n\
         travel:\n- Went to Rome yesterday. (1970-01-01)\n\n\
         - Is called Ada."
    );
    assert_eq!(written.omitted, 0);
}

#[test]
fn a_page_without_topics_has_no_headings() {
    let written = page(vec![memory(2, "", "B."), memory(1, "", "A.")], 500);
    assert_eq!(written.text, "- A.\n- B.");
    assert_eq!(page(Vec::new(), 500).text, "");
}

#[test]
fn the_most_important_facts_are_chosen_and_shorter_ones_fill_the_rest() {
    let long = "is as long as a fact can be ".repeat(40);
    let written = page(
        vec![
            memory(1, "", "First of all."),
            memory(2, "", &long),
            memory(3, "", "Short."),
        ],
        40,
    );
    assert_eq!(written.text, "- First of all.\n- Short.");
    assert_eq!(written.omitted, 1);
}

#[test]
fn what_several_apps_know_is_one_entry() {
    let pinned = HeldMemory {
        pinned: true,
        ..memory(2, "drinks", "Likes tea.")
    };
    let ids = [pinned.id, MemoryId::new()];
    let older = HeldMemory {
        id: ids[1],
        ..memory(1, "food", "Likes tea.")
    };
    let written = page(vec![pinned, older], 500);
    assert_eq!(written.text, "food:\n- Likes tea.");
    assert_eq!(written.entries[0].memories, [ids[1], ids[0]]);
    assert!(written.entries[0].pinned);
    assert_eq!(written.omitted, 0);
}
