use std::time::Instant;

use memory_times::EARLIEST;
use proptest::prelude::*;

use super::table::{NOW, ZONE, clock};

const WORDS: &[&str] = &[
    "yesterday",
    "last",
    "this",
    "next",
    "week",
    "Monday",
    "May",
    "March",
    "5",
    "5th",
    "2026",
    "31",
    "since",
    "from",
    "to",
    "between",
    "and",
    "of",
    "the",
    "in",
    "on",
    "ago",
    "3",
    "days",
    "a",
    "gestern",
    "letzten",
    "Montag",
    "morgen",
    "vor",
    "drei",
    "Tagen",
    "5.",
    "5.3.2026",
    "Ende",
    "hace",
    "dos",
    "semanas",
    "el",
    "lunes",
    "pasado",
    "mañana",
    "de",
    "marzo",
    "a",
    "il",
    "y",
    "lundi",
    "dernier",
    "mars",
    "le",
    "avant-hier",
    "'",
    "\"",
    "“",
    "”",
    "「",
    "」",
    "昨天",
    "上",
    "周",
    "一",
    "三",
    "月",
    "日",
    "号",
    "从",
    "到",
    "前",
    "年",
    "先週",
    "の",
    "から",
    "まで",
    "曜日",
    "９９９９",
    "99999999999999999999",
    "-",
    "/",
    ".",
    ",",
    "?",
    "\u{301}",
    "😀",
    "0",
    "00",
    "2000",
    "years",
    "Jahren",
    "minutes",
    "hours",
    "２",
    "十",
    "百",
    "〇",
    "quarter",
];

fn sound(question: &str) {
    for (now, zone) in [(NOW, ZONE), ("1900-01-01T00:00:00", "UTC")] {
        let times = clock(now, zone).named_times(question);
        let mut end = 0;
        for time in &times {
            assert!(
                time.start < time.end && EARLIEST <= time.end,
                "{question:?}: {time:?}"
            );
            assert!(end <= time.text.start && time.text.start < time.text.end);
            assert!(question.get(time.text.clone()).is_some());
            end = time.text.end;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn any_text_has_sound_times(question in "\\PC{0,60}") {
        sound(&question);
    }

    #[test]
    fn any_order_of_words_has_sound_times(
        words in prop::collection::vec((prop::sample::select(WORDS), any::<bool>()), 0..14)
    ) {
        let spaced = words.iter().map(|(word, space)| [*word, if *space { " " } else { "" }]);
        sound(&spaced.flatten().collect::<String>());
    }
}

#[test]
fn a_long_question_takes_as_long_as_many_short_ones() {
    const PARTS: usize = 16;
    let time = |question: &str| {
        let start = Instant::now();
        sound(question);
        start.elapsed()
    };
    for word in WORDS.iter().chain(&[
        "the ", "in the ", "1.", "a b ", "' ", "«", "上", "de la ", "Monday, ",
    ]) {
        let count = 8_192 / word.chars().count();
        let (long, short) = (word.repeat(count), word.repeat(count / PARTS));
        // Several times, because the machine may be busy.
        let is_linear = (0..3).any(|_| time(&long) < time(&short) * PARTS as u32 * 4);
        assert!(is_linear, "{word:?} takes longer than its length explains");
    }
}
