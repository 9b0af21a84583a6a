//! Content words, counted here on their own: the measure must not share its idea
//! of a word with what it measures.

use std::collections::BTreeSet;

const STOP: &str = "a an the and or but of to in on at for with from by as is are was were be been \
    am do does did has have had i you he she it we they me him her us them my your his its our \
    their this that these those there here not no so too very can could will would should just \
    about into up out off over than then when what who how why which yes if because also s t m re \
    ve ll d";

/// Lower-case words without stop words, their commonest endings cut off.
pub fn content(text: &str) -> BTreeSet<String> {
    let stop: BTreeSet<&str> = STOP.split_whitespace().collect();
    text.to_lowercase()
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty() && !stop.contains(word))
        .map(|word| {
            let cut = ["ing", "ed", "es", "s"]
                .iter()
                .find_map(|end| word.strip_suffix(end).filter(|stem| stem.len() >= 3));
            cut.unwrap_or(word).to_owned()
        })
        .collect()
}

/// The text with single blanks.
pub fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
