//! Words that are frequent in some language.

use std::collections::HashSet;
use std::sync::LazyLock;

use crate::words::{hash, words};

/// The words of stopwords-iso (57 languages). Those of English are left out of documents
/// altogether.
static COMMON: LazyLock<HashSet<u32>> = LazyLock::new(|| {
    let languages = stop_words::available_languages().iter();
    let lists = languages
        .filter(|code| **code != "en")
        .filter_map(stop_words::lookup);
    let mut common = HashSet::new();
    for word in lists.flatten() {
        words(word, |word| {
            common.insert(hash(word));
        });
    }
    common
});

/// Whether a word, as [`hash`] numbers it, is a stop word of some language other than English, such
/// as "und" or "しかし".
pub fn is_common(word: u32) -> bool {
    COMMON.contains(&word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn articles_and_conjunctions_of_many_languages_are_common() {
        let known = |text: &str| {
            let mut all = true;
            words(text, |word| all &= is_common(hash(word)));
            all
        };
        for text in [
            "und der", "pero con", "avec", "что", "των", "और", "ve", "和", "không",
        ] {
            assert!(known(text), "{text}");
        }
        for text in ["Fahrrad", "bicicleta", "велосипед", "自行车", "bicycle"] {
            assert!(!known(text), "{text}");
        }
    }
}
