//! The tokenizer of documents and queries, for both backends.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use qdrant_rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization;

/// Stop words, one a line.
static STOP_WORDS: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| include_str!("../data/stopwords.txt").lines().collect());

/// Irregular forms that the stemmer does not reduce: form, tab, base form.
static IRREGULAR: LazyLock<HashMap<&'static str, &'static str>> = LazyLock::new(|| {
    include_str!("../data/irregular.tsv")
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .collect()
});

/// Calls `each` with each word of a text, in order: in lower case, without stop words,
/// reduced to its stem (Porter's English stemmer). A word is a run of letters and
/// digits. Scripts written without spaces (such as Chinese, Japanese, Korean and Thai)
/// yield single characters and pairs instead.
pub fn words(text: &str, mut each: impl FnMut(&str)) {
    let stemmer = Stemmer::create(Algorithm::English);
    // NFKC maps wide digits, ligatures and composed letters to the usual ones.
    let lower: String = if text.is_ascii() {
        text.to_ascii_lowercase()
    } else {
        text.nfkc().flat_map(char::to_lowercase).collect()
    };
    for run in lower.split(|c: char| !is_word(c)) {
        if run.is_empty() {
            continue;
        }
        if run.is_ascii() {
            word(&stemmer, run, &mut each);
        } else {
            mixed(&stemmer, run, &mut each);
        }
    }
}

fn word(stemmer: &Stemmer, word: &str, each: &mut impl FnMut(&str)) {
    if STOP_WORDS.contains(word) {
        return;
    }
    let word = IRREGULAR.get(word).copied().unwrap_or(word);
    let stem: Cow<'_, str> = stemmer.stem(word);
    each(&stem);
}

/// Splits a run with characters beyond ASCII into words and pieces of spaceless script.
fn mixed(stemmer: &Stemmer, run: &str, each: &mut impl FnMut(&str)) {
    let mut rest = run;
    while let Some(first) = rest.chars().next() {
        let dense = is_spaceless(first);
        let end = rest
            .find(|c| is_spaceless(c) != dense)
            .unwrap_or(rest.len());
        let (piece, after) = rest.split_at(end);
        if dense {
            pairs(piece, each);
        } else {
            word(stemmer, piece, each);
        }
        rest = after;
    }
}

fn pairs(piece: &str, each: &mut impl FnMut(&str)) {
    let mut previous: Option<usize> = None;
    for (start, c) in piece.char_indices() {
        let end = start + c.len_utf8();
        each(&piece[start..end]);
        if let Some(previous) = previous {
            each(&piece[previous..end]);
        }
        previous = Some(start);
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || is_mark(c)
}

/// Combining vowel signs, which do not end a word.
fn is_mark(c: char) -> bool {
    matches!(c, '\u{0300}'..='\u{036f}' | '\u{0e31}' | '\u{0e34}'..='\u{0e3a}' | '\u{0e47}'..='\u{0e4e}'
        | '\u{0900}'..='\u{0903}' | '\u{093a}'..='\u{094f}')
}

fn is_spaceless(c: char) -> bool {
    matches!(c,
        '\u{0e00}'..='\u{0eff}' // Thai, Lao
        | '\u{1000}'..='\u{109f}' // Burmese
        | '\u{1780}'..='\u{17ff}' // Khmer
        | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' // Kana
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' // Han
        | '\u{ff66}'..='\u{ff9f}' // Kana, half width
        | '\u{ac00}'..='\u{d7af}' // Hangul: its endings stick to the word
        | '\u{20000}'..='\u{323af}' // Han, rarer
    )
}

/// FNV-1a with 32 bits (Fowler, Noll and Vo). It is stable, and 100,000 words collide
/// about once.
pub fn hash(word: &str) -> u32 {
    word.bytes().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let mut found = Vec::new();
        words(text, |word| found.push(word.to_owned()));
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn words_are_stems_without_stop_words() {
        check(
            "When did Caroline go to the adoption agencies?",
            &["carolin", "go", "adopt", "agenc"],
        );
        check(
            "She went and bought children's shoes",
            &["go", "buy", "child", "shoe"],
        );
    }

    #[test]
    fn names_numbers_and_codes_stay() {
        check("Ｏｒｄｅｒ １１３８", &["order", "1138"]);
        check("Order AB-1138, 42 €", &["order", "ab", "1138", "42"]);
    }

    #[test]
    fn scripts_without_spaces_are_taken_apart() {
        check(
            "北京大学",
            &["北", "京", "北京", "大", "京大", "学", "大学"],
        );
        check("Rust言語", &["rust", "言", "語", "言語"]);
    }

    #[test]
    fn any_text_is_taken() {
        check("", &[]);
        check("?!… \u{0}", &[]);
        check("Привет, мир", &["привет", "мир"]);
    }
}
