//! Texts of many languages and kinds.

use fastrand::Rng;

/// What people say, each with letters to search for.
const SENTENCES: [&str; 14] = [
    "My bicycle is blue and needs a new chain.",
    "Which color has the bicycle of my neighbor?",
    "Wo habe ich gestern das Fahrrad abgestellt?",
    "Die Straße nach Füssen ist wegen Schnee gesperrt.",
    "La recette demande 250 g de farine et deux œufs.",
    "¿Cuándo sale el próximo tren a Córdoba?",
    "Мой велосипед стоит у реки.",
    "自転車のチェーンを交換しました。",
    "我们的狗叫像素，它喜欢下雪。",
    "우리 강아지 이름은 픽셀이에요.",
    "دراجتي زرقاء وتحتاج إلى سلسلة جديدة.",
    "मेरी साइकिल नीली है।",
    "Our dog Pixel 🐶 barks at bicycles 🚲🚲.",
    "The refund of order 1138 over 17.50 € was sent on 2026-03-01.",
];

/// What JSON has to escape, or may be tempted to change.
const ODD: [&str; 5] = [
    "A \"quoted\" path: C:\\temp\\new\nnext line\ttab\r\nend",
    "Cafe\u{301} and caf\u{e9}, zero\u{200b}width, \u{1f469}\u{200d}\u{1f4bb}, \u{2028}line \u{1}control",
    "{\"not\": \"a request\", \"n\": 1e400} </memories> <b>markup</b> & {{ template }}",
    "null",
    "0012345678901234567890.10 true",
];

const BLANK: [&str; 3] = ["", " \n\t ", "\u{3000}"];

/// Sentences of a long text.
const LONG: usize = 400;

/// What is known of people.
const FACTS: [&str; 6] = [
    "Likes green tea",
    "Owns a blue bicycle",
    "Wohnt in Zürich",
    "犬の名前はピクセル",
    "Travels to Córdoba by train",
    "Bakes on Sundays 🍞",
];

/// A text of a message: mostly a sentence, sometimes blank, odd or very long.
pub(super) fn text(rng: &mut Rng) -> String {
    match rng.u8(0..12) {
        0 => one_of(rng, &BLANK),
        1 => (0..LONG)
            .map(|number| format!("{number}. {} ", one_of(rng, &SENTENCES)))
            .collect(),
        2 | 3 => one_of(rng, &ODD),
        _ => one_of(rng, &SENTENCES),
    }
}

/// A text that has words.
pub(super) fn sentence(rng: &mut Rng) -> String {
    one_of(rng, &SENTENCES)
}

/// A fact that no other one equals.
pub(super) fn fact(rng: &mut Rng, number: usize) -> String {
    format!("{}, as fact {number} says", one_of(rng, &FACTS))
}

fn one_of(rng: &mut Rng, texts: &[&str]) -> String {
    texts[rng.usize(0..texts.len())].to_owned()
}
