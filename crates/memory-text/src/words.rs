//! The tokenizer of documents and queries, for the index and for Postgres.
//!
//! It knows no language, because a chat message is too short to tell it reliably and people mix
//! languages. A word becomes a stem: folded to small letters without accents, reduced by the
//! stemmer of its script where one helps, and cut to its first letters, which is as good as the
//! stemmer of the language (McNamee and Mayfield, "Character N-Gram Tokenization for European
//! Language Text Retrieval", 2004; docs/notes/recall-quality.md has our figures).

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use qdrant_rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::canonical_combining_class;

/// English stop words, one a line.
static STOP_WORDS: LazyLock<HashSet<&'static str>> =
    LazyLock::new(|| include_str!("../data/stopwords.txt").lines().collect());

/// Irregular English forms that the stemmer does not reduce: form, tab, base form.
static IRREGULAR: LazyLock<HashMap<&'static str, &'static str>> = LazyLock::new(|| {
    include_str!("../data/irregular.tsv")
        .lines()
        .filter_map(|line| line.split_once('\t'))
        .collect()
});

/// Letters of a stem.
const STEM: usize = 6;
/// Characters of a word with digits, such as an order number or an id. It is not shortened
/// like other words, because ids often begin alike.
const CODE: usize = 64;

/// Calls `each` with each word of a text, in order: stems, without English stop words. A word
/// with accents is followed by itself without folding. Scripts written without spaces (Chinese,
/// Japanese, Korean, Thai, Lao, Khmer, Burmese) yield pairs of characters, and a single
/// character where it stands alone.
///
/// A word has 1 to 64 letters, digits and marks.
pub fn words(text: &str, mut each: impl FnMut(&str)) {
    let stemmers = Stemmers::new();
    for_each_piece(text, |piece, is_spaceless| match is_spaceless {
        true => pairs(piece, &mut each),
        false => stemmers.word(piece, &mut each),
    });
}

/// Calls `each` with the single characters of runs of a spaceless script, which a document has
/// beside its [`words`], so that a query of one character finds it.
pub fn characters(text: &str, mut each: impl FnMut(&str)) {
    if text.is_ascii() {
        return;
    }
    for_each_piece(text, |piece, is_spaceless| {
        if is_spaceless && piece.chars().nth(1).is_some() {
            for (at, c) in piece.char_indices() {
                each(&piece[at..at + c.len_utf8()]);
            }
        }
    });
}

/// Calls `each` with each word of a text, in order: whole, in small letters, without accents. Of
/// scripts written without spaces each character is a word. No word is left out.
pub fn folded_words(text: &str, mut each: impl FnMut(&str)) {
    for_each_piece(text, |piece, is_spaceless| {
        if is_spaceless {
            for (at, c) in piece.char_indices() {
                each(&piece[at..at + c.len_utf8()]);
            }
            return;
        }
        let folded = fold(piece);
        if !folded.is_empty() {
            each(&folded);
        }
    });
}

/// Calls `each` with each run of letters, digits and marks of one kind of script, in small
/// letters, and with whether the script is written without spaces.
fn for_each_piece(text: &str, mut each: impl FnMut(&str, bool)) {
    // NFKC maps wide digits, ligatures and composed letters to the usual ones.
    let lower: String = if text.is_ascii() {
        text.to_ascii_lowercase()
    } else {
        text.nfkc().flat_map(char::to_lowercase).collect()
    };
    for run in lower.split(|c: char| !is_word(c)) {
        let mut rest = run;
        while let Some(first) = rest.chars().next() {
            let is_spaceless_piece = is_spaceless(first);
            let end = rest
                .find(|c| is_spaceless(c) != is_spaceless_piece)
                .unwrap_or(rest.len());
            let (piece, after) = rest.split_at(end);
            each(piece, is_spaceless_piece);
            rest = after;
        }
    }
}

struct Stemmers {
    english: Stemmer,
    arabic: Stemmer,
}

impl Stemmers {
    fn new() -> Self {
        Self {
            english: Stemmer::create(Algorithm::English),
            arabic: Stemmer::create(Algorithm::Arabic),
        }
    }

    fn word(&self, word: &str, each: &mut impl FnMut(&str)) {
        let folded = fold(word);
        if folded.is_empty() || STOP_WORDS.contains(folded.as_ref()) {
            return;
        }
        if folded.chars().any(char::is_numeric) {
            each(first_letters(&folded, CODE));
            return;
        }
        if folded.starts_with(is_arabic) {
            let stem = self.arabic.stem(&folded);
            // Of tatweels alone, which lengthen words, the stemmer leaves nothing.
            let stem = match fold(&stem) {
                stem if stem.is_empty() => folded.clone(),
                stem => stem.into_owned().into(),
            };
            each(first_letters(&stem, STEM));
            return;
        }
        let folded = match IRREGULAR.get(folded.as_ref()) {
            Some(base) => Cow::Borrowed(*base),
            None => folded,
        };
        if folded.is_ascii() {
            each(first_letters(&self.english.stem(&folded), STEM));
        } else {
            each(first_letters(&folded, STEM));
        }
        let exact = first_letters(word, STEM);
        if exact != first_letters(&folded, STEM) && !word.is_ascii() {
            each(exact);
        }
    }
}

/// A word in small letters without accents and other marks that stand above or below a letter;
/// "ß" becomes "ss", and the last "ς" of a word "σ".
fn fold(word: &str) -> Cow<'_, str> {
    if word.is_ascii() {
        return Cow::Borrowed(word);
    }
    let letters = word.nfd().filter(|c| canonical_combining_class(*c) == 0);
    let upper = letters.flat_map(char::to_uppercase);
    Cow::Owned(upper.flat_map(char::to_lowercase).nfc().collect())
}

fn first_letters(word: &str, most: usize) -> &str {
    match word.char_indices().nth(most) {
        Some((end, _)) => &word[..end],
        None => word,
    }
}

fn pairs(piece: &str, each: &mut impl FnMut(&str)) {
    let mut previous: Option<usize> = None;
    for (start, c) in piece.char_indices() {
        if let Some(previous) = previous {
            each(&piece[previous..start + c.len_utf8()]);
        }
        previous = Some(start);
    }
    if piece.chars().nth(1).is_none() {
        each(piece);
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || is_mark(c)
}

/// Combining marks, which do not end a word.
fn is_mark(c: char) -> bool {
    unicode_normalization::char::is_combining_mark(c)
}

fn is_arabic(c: char) -> bool {
    ('\u{0600}'..='\u{06ff}').contains(&c)
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
    use proptest::prelude::*;

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
            &["caroli", "go", "adopt", "agenc"],
        );
        check(
            "She went and bought children's shoes",
            &["go", "buy", "child", "shoe"],
        );
        check("Fahrräder, Fahrrad", &["fahrra", "fahrrä", "fahrra"]);
        check("كتاب الكتاب", &["كتاب", "كتاب"]);
    }

    #[test]
    fn letters_with_accents_are_found_without_them() {
        check(
            "Café, Straße, ΣΟΦΟΣ",
            &["cafe", "café", "strass", "straße", "σοφοσ"],
        );
        check(
            "İzmir'e Diyarbakır",
            &["izmir", "i\u{307}zmir", "e", "diyarb"],
        );
        check("Tiếng Việt", &["tieng", "tiếng", "viet", "việt"]);
        check("हिन्दी", &["हिनदी", "हिन्दी"]);
    }

    #[test]
    fn folded_words_are_whole_and_without_accents() {
        let check = |text: &str, expected: &[&str]| {
            let mut found = Vec::new();
            folded_words(text, |word| found.push(word.to_owned()));
            assert_eq!(found, expected, "{text}");
        };
        check("The SALARIES of Zoë", &["the", "salaries", "of", "zoe"]);
        check("Ｇｅｈａｌｔ: Straße-42", &["gehalt", "strasse", "42"]);
        check("Rust言語 猫", &["rust", "言", "語", "猫"]);
        check("?!… ", &[]);
    }

    #[test]
    fn names_numbers_and_codes_stay() {
        check("Ｏｒｄｅｒ １１３８", &["order", "1138"]);
        check("Order AB-1138, 42 €", &["order", "ab", "1138", "42"]);
        check(
            "01ARZ3NDEKTSV4RRFFQ69G5FAV",
            &["01arz3ndektsv4rrffq69g5fav"],
        );
        check(&"7".repeat(99), &[&"7".repeat(CODE)]);
    }

    #[test]
    fn scripts_without_spaces_are_taken_apart() {
        check("北京大学", &["北京", "京大", "大学"]);
        check("Rust言語 猫", &["rust", "言語", "猫"]);
        let mut single = String::new();
        characters("Rust言語 猫", |character| single.push_str(character));
        assert_eq!(single, "言語");
    }

    proptest! {
        #[test]
        fn no_word_is_empty_or_long(text in "[a-zé\\u{600}-\\u{6ff}\\u{e00}-\\u{e4f}\\u{4e00}-\\u{4e20}\\u{3b1}-\\u{3c9} \\u{300}-\\u{30f}0-9]{0,60}", other in any::<String>()) {
            for text in [text, other] {
                words(&text, |word| {
                    assert!((1..=CODE).contains(&word.chars().count()), "{text:?}: {word:?}");
                });
            }
        }
    }

    #[test]
    fn any_text_is_taken() {
        check("", &[]);
        check("ــــ", &["ــــ"]);
        check("?!… \u{0}", &[]);
        check("Привет, мир", &["привет", "мир"]);
    }
}
