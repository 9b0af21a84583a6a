//! Finds speakers' names in a query. A question about a person contains the name, but the
//! messages that answer it are that person's own and say "I" instead. So a name selects the
//! speaker, and the dense search is for "I".
//!
//! Case does not matter, except that a word in lower case within a text with capitals is the
//! name only if the name is written so: "will" is not Will. Of a name of several words, a
//! word that no other name has is enough: "Fahim" is Fahim Khan.

use std::ops::Range;

use crate::words::words;

/// The speakers whose names occur in the text as whole words, in the order of `names`. Names
/// that differ in case alone are of one speaker, and given once.
pub fn named_speakers<'a>(text: &str, names: &'a [String]) -> Vec<&'a str> {
    let found = mentions(text, names);
    let mut named: Vec<&str> = Vec::new();
    for (place, name) in names.iter().enumerate() {
        let is_known = || named.iter().any(|known| is_same_speaker(known, name));
        if found.iter().any(|one| one.name == place) && !is_known() {
            named.push(name);
        }
    }
    named
}

/// Whether two names are of the same speaker.
pub fn is_same_speaker(one: &str, other: &str) -> bool {
    one == other || (lower(one).eq(lower(other)))
}

/// The text as the named speakers would say it: "I" and "my" instead of a name and a name with
/// `'s`. A name that is called at the beginning or the end of a sentence is removed with its comma.
/// Returns the whole text if nothing but names is in it.
pub fn in_first_person(text: &str, names: &[String]) -> String {
    let (mut said, mut others) = (String::with_capacity(text.len()), String::new());
    let mut from = 0;
    for Mention { range, .. } in mentions(text, names) {
        if range.start < from {
            continue;
        }
        let before = &text[from..range.start];
        others.push_str(before);
        let after = &text[range.end..];
        let end = ["'s", "’s"].iter().find(|end| after.starts_with(**end));
        from = range.end + end.map_or(0, |end| end.len());
        let ends =
            !after.starts_with(|c: char| c.is_alphanumeric() || c.is_whitespace() || c == ',');
        match before.trim_end().strip_suffix(',') {
            Some(before) if end.is_none() && ends => said.push_str(before),
            _ => {
                said.push_str(before);
                if said.trim().is_empty() && after.starts_with(',') {
                    from += 1;
                } else {
                    said.push_str(if end.is_some() { "my" } else { "I" });
                }
            }
        }
    }
    said.push_str(&text[from..]);
    others.push_str(&text[from..]);
    if others.chars().any(char::is_alphanumeric) {
        let words: Vec<&str> = said.split_whitespace().collect();
        words.join(" ")
    } else {
        text.to_owned()
    }
}

/// A name's occurrence.
struct Mention {
    range: Range<usize>,
    /// Its place in the list of names.
    name: usize,
}

/// A word of a text.
struct Word {
    range: Range<usize>,
    lower: String,
}

/// Where names occur, in order, whole names before single words of names.
fn mentions(text: &str, names: &[String]) -> Vec<Mention> {
    let said = split(text);
    let has_capitals = text.chars().any(char::is_uppercase);
    let names: Vec<(&str, Vec<Word>)> = names
        .iter()
        .map(|name| (name.as_str(), split(name)))
        .collect();
    let mut found: Vec<Mention> = Vec::new();
    for (place, (name, parts)) in names.iter().enumerate() {
        if parts.is_empty() {
            continue;
        }
        for run in said.windows(parts.len()) {
            if run
                .iter()
                .zip(parts)
                .any(|(word, part)| word.lower != part.lower)
            {
                continue;
            }
            let range = run[0].range.start..run[run.len() - 1].range.end;
            let inner = &name[parts[0].range.start..parts[parts.len() - 1].range.end];
            if text[range.clone()] == *inner
                || is_written_as_name(&text[range.clone()], has_capitals)
            {
                found.push(Mention { range, name: place });
            }
        }
    }
    for (place, (_, parts)) in names.iter().enumerate() {
        if parts.len() < 2 {
            continue;
        }
        for part in parts {
            let is_others = |(other, (_, words)): (usize, &(&str, Vec<Word>))| {
                other != place && words.iter().any(|word| word.lower == part.lower)
            };
            if names.iter().enumerate().any(is_others) {
                continue;
            }
            for word in said.iter().filter(|word| word.lower == part.lower) {
                let range = word.range.clone();
                let is_within = |whole: &Mention| {
                    whole.range.start <= range.start && range.end <= whole.range.end
                };
                if !found.iter().any(is_within)
                    && is_written_as_name(&text[range.clone()], has_capitals)
                {
                    found.push(Mention { range, name: place });
                }
            }
        }
    }
    found.sort_by_key(|one| (one.range.start, usize::MAX - one.range.end));
    found
}

/// Whether a run of words may be a name that is written otherwise: it begins with no small
/// letter, or the text has no capitals at all; and it is not all stop words.
fn is_written_as_name(run: &str, has_capitals: bool) -> bool {
    if has_capitals && run.chars().next().is_some_and(char::is_lowercase) {
        return false;
    }
    let mut has_words = false;
    words(run, |_| has_words = true);
    has_words
}

/// The words of a text: runs of letters, digits and underscores.
fn split(text: &str) -> Vec<Word> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut found = Vec::new();
    let mut rest = 0;
    while let Some(start) = text[rest..].find(is_word) {
        let start = rest + start;
        let end = text[start..].find(|c| !is_word(c));
        let end = end.map_or(text.len(), |end| start + end);
        found.push(Word {
            range: start..end,
            lower: lower(&text[start..end]).collect(),
        });
        rest = end;
    }
    found
}

fn lower(text: &str) -> impl Iterator<Item = char> + '_ {
    text.chars().flat_map(char::to_lowercase)
}

#[cfg(test)]
mod tests;
