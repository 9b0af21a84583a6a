//! Words for the extractive distiller.

use std::collections::HashSet;
use std::sync::LazyLock;

use qdrant_rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

static STOP_WORDS: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    "a about after again all also am an and any are as at be because been before being both \
     but by can could did do does doing done down during each even ever every few for from \
     further get gets getting go goes going gonna got had has have having he her here hers him \
     his how i if in into is it its itself just know let like lot lots made make makes me might \
     more most much must my myself no nor not now of off ok okay on once one only or other our \
     ours out over own really s same say she should so some something still such t than that \
     the their theirs them then there these they thing things think this those through to too \
     under until up us very was we well were what when where which while who whom why will with \
     would yeah yes yet you your yours yourself d ll m re ve don didn doesn isn wasn aren won \
     couldn shouldn wouldn haven hasn im ive thats whats lets"
        .split_whitespace()
        .collect()
});

/// Stems of words of praise, greeting and vague reference.
static GENERIC: LazyLock<HashSet<String>> = LazyLock::new(|| {
    let words = "absolutely actually also amazing appreciate aw aww awesome awful back basically \
        beautiful believe best better big bit blast brilliant bye caught chat chatted check \
        congrats congratulations cool crazy day definitely delicious enjoy enjoyed everything \
        exactly excited exciting experience fantastic feel feeling felt fun glad good gorgeous \
        grateful great guess haha happen happy hard hear hello help hey hi honestly hope huh \
        important incredible insane inspire inspiring joy keep kind kinda last literally lol look \
        love lovely luck lucky mean met moment neat news nice oh perfect pleased plus powerful \
        pretty proud quite rewarding right rough see seem seriously since something sorry sort \
        sound speaking special spoke still stoked stressful stuff stunning super support \
        supportive sure sweet talk tell terrific thank thanks thankful thought thrill thrilled \
        thrilling time totally tough true unforgettable unreal wait want way welcome whoa wild \
        woah wonderful wow yep";
    content(words).into_iter().collect()
});

/// The content words of a text: lower case, without stop words, reduced to their stems
/// (Porter's English stemmer, which hardly changes other languages). Scripts without
/// spaces give pairs of characters.
pub(crate) fn content(text: &str) -> Vec<String> {
    let stemmer = Stemmer::create(Algorithm::English);
    let lower: String = text.nfkc().flat_map(char::to_lowercase).collect();
    let mut words = Vec::new();
    for run in lower.unicode_words() {
        for word in run.split(['\'', '’', '.', ':', '_']) {
            if word.is_empty() || STOP_WORDS.contains(word) {
                continue;
            }
            words.push(stemmer.stem(word).into_owned());
        }
    }
    // A single character of such a script is a word too.
    let mut previous: Option<char> = None;
    for c in lower.chars() {
        let dense = is_spaceless(c);
        if let (true, Some(before)) = (dense, previous) {
            words.push([before, c].iter().collect());
        }
        previous = dense.then_some(c);
    }
    words
}

/// Whether a content word says little by itself, such as "great" or "thing".
pub(crate) fn is_generic(word: &str) -> bool {
    GENERIC.contains(word)
}

/// All words in lower case, with straight apostrophes.
pub(super) fn plain(text: &str) -> Vec<String> {
    text.unicode_words()
        .map(|word| word.to_lowercase().replace('’', "'"))
        .collect()
}

/// The word at a place; empty beyond the last one.
pub(super) fn at(said: &[String], place: usize) -> &str {
    said.get(place).map_or("", String::as_str)
}

/// Whether one of the words is in a list.
pub(super) fn have(said: &[String], list: &[&str]) -> bool {
    said.iter().any(|word| list.contains(&word.as_str()))
}

/// The text on one line: white space is collapsed, and control characters are removed.
pub(super) fn one_line(text: &str) -> String {
    let words: Vec<String> = text
        .split_whitespace()
        .map(|word| word.chars().filter(|c| !c.is_control()).collect())
        .filter(|word: &String| !word.is_empty())
        .collect();
    words.join(" ")
}

/// The beginning of a text up to a number of characters, cut between words if possible.
pub(super) fn clip(text: &str, characters: usize) -> String {
    let Some((end, _)) = text.char_indices().nth(characters) else {
        return text.to_owned();
    };
    let kept = &text[..end];
    let kept = match kept.rfind(' ') {
        Some(blank) if blank > end / 2 => &kept[..blank],
        _ => kept,
    };
    format!("{}…", kept.trim_end())
}

pub(super) fn is_spaceless(c: char) -> bool {
    matches!(c,
        '\u{0e00}'..='\u{0eff}' // Thai, Lao
        | '\u{1000}'..='\u{109f}' // Burmese
        | '\u{1780}'..='\u{17ff}' // Khmer
        | '\u{3040}'..='\u{30ff}' // Kana
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' // Han
        | '\u{ac00}'..='\u{d7af}' // Hangul
        | '\u{20000}'..='\u{323af}' // Han, rarer
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_stems_and_pairs() {
        assert_eq!(content("I was painting the Paintings"), ["paint", "paint"]);
        let chinese = content("北京大学");
        assert!(chinese.contains(&"北京".to_owned()) && chinese.contains(&"大学".to_owned()));
        assert!(content("and the …").is_empty());
    }

    #[test]
    fn lines_are_one_line() {
        assert_eq!(one_line(" a\n\tb\u{2028}c\u{0} \u{1b}[0m "), "a b c [0m");
        assert_eq!(clip("one two three", 8), "one two…");
        assert_eq!(clip("abcdefghij", 4), "abcd…");
        assert_eq!(clip("北京大学", 4), "北京大学");
    }
}
