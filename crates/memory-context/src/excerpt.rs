//! The parts of a long text that a question asks for.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::ops::Range;

/// The most bytes of an excerpt, and of a text that needs none.
const BYTES: usize = 1_600;
/// Longer lines are split after the next space or comma.
const PIECE_BYTES: usize = 240;
/// The weight of the words of the pieces before and after.
const NEIGHBOR: f32 = 0.3;
/// The weight of a piece of the passage that is closest in meaning, as of a word that no other piece
/// has.
const PASSAGE: f32 = 1.0;
/// Stands for what is missing.
const GAP: &str = "…";

/// The pieces of a text that share most words with a question, in their order: a word counts
/// the more, the fewer pieces have it. Pieces of `passage`, which is closest to the question in
/// meaning, count more. Without a common word and a passage it is the beginning. `None` for a text
/// that is short.
pub(crate) fn excerpt(text: &str, question: &str, passage: Option<&str>) -> Option<String> {
    if text.len() <= BYTES {
        return None;
    }
    let pieces = pieces(text);
    let mut worth = worth(text, &pieces, question);
    if let Some(near) = passage.and_then(|passage| place_of(text, passage)) {
        for (worth, piece) in worth.iter_mut().zip(&pieces) {
            if piece.start < near.end && near.start < piece.end {
                *worth += PASSAGE;
            }
        }
    }
    let common = worth.iter().any(|worth| *worth > 0.0);
    let mut by_worth: Vec<usize> = (0..pieces.len())
        .filter(|&place| !common || worth[place] > 0.0)
        .collect();
    by_worth.sort_by(|&a, &b| worth[b].total_cmp(&worth[a]).then(a.cmp(&b)));
    let mut left = BYTES;
    let mut chosen = BTreeSet::new();
    for place in by_worth {
        match left.checked_sub(pieces[place].len()) {
            Some(rest) => left = rest,
            None => break,
        }
        chosen.insert(place);
    }
    Some(join(text, &pieces, &chosen))
}

/// Where a passage stands in its text. The text may be laid out in another way than where the
/// passage was taken from: then its longest line is looked for.
fn place_of(text: &str, passage: &str) -> Option<Range<usize>> {
    let longest = passage.lines().max_by_key(|line| line.len());
    let mut found = [Some(passage), longest].into_iter().flatten();
    found.find_map(|part| {
        let part = part.trim();
        let start = text.find(part).filter(|_| !part.is_empty())?;
        Some(start..start + part.len())
    })
}

/// The lines of a text that are not blank; long ones in several pieces.
fn pieces(text: &str) -> Vec<Range<usize>> {
    let mut pieces = Vec::new();
    let mut start = 0;
    for (place, c) in text.char_indices() {
        let end = place + c.len_utf8();
        let long = end - start >= PIECE_BYTES && (c.is_whitespace() || c == ',');
        if c == '\n' || long || end - start >= 2 * PIECE_BYTES {
            pieces.push(start..end);
            start = end;
        }
    }
    pieces.push(start..text.len());
    pieces.retain(|piece| !text[piece.clone()].trim().is_empty());
    pieces
}

fn worth(text: &str, pieces: &[Range<usize>], question: &str) -> Vec<f32> {
    let wanted: HashSet<String> = words(question).collect();
    // In one order, because the order of a sum decides its last digit, and that which of equal
    // pieces comes first.
    let common = |piece: &Range<usize>| -> BTreeSet<String> {
        let words = words(&text[piece.clone()]);
        words.filter(|word| wanted.contains(word)).collect()
    };
    let common: Vec<BTreeSet<String>> = pieces.iter().map(common).collect();
    let mut counts: HashMap<&str, f32> = HashMap::new();
    for word in common.iter().flatten() {
        *counts.entry(word).or_default() += 1.0;
    }
    let own = |words: &BTreeSet<String>| -> f32 {
        words.iter().map(|word| 1.0 / counts[word.as_str()]).sum()
    };
    let own: Vec<f32> = common.iter().map(own).collect();
    let at = |place: Option<usize>| place.and_then(|place| own.get(place)).copied();
    let with_neighbors = |place: usize| {
        let before = at(place.checked_sub(1)).unwrap_or_default();
        let after = at(place.checked_add(1)).unwrap_or_default();
        own[place] + NEIGHBOR * (before + after)
    };
    (0..own.len()).map(with_neighbors).collect()
}

fn words(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    words.filter(|word| !word.is_empty()).map(str::to_lowercase)
}

/// The chosen pieces, with a mark for what is between, before and after them.
fn join(text: &str, pieces: &[Range<usize>], chosen: &BTreeSet<usize>) -> String {
    let mut joined = String::new();
    let mut end = 0;
    for &place in chosen {
        let piece = pieces[place].clone();
        if !text[end..piece.start].trim().is_empty() {
            joined = format!("{}\n{GAP}\n", joined.trim_end());
        } else {
            joined.push_str(&text[end..piece.start]);
        }
        joined.push_str(&text[piece.clone()]);
        end = piece.end;
    }
    if !text[end..].trim().is_empty() {
        joined = format!("{}\n{GAP}", joined.trim_end());
    }
    joined.trim().to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_excerpt_has_the_line_that_is_asked_for_and_its_neighbors() {
        let mut lines: Vec<String> = (0..200)
            .map(|line| format!("In week {line} the mirror was restarted."))
            .collect();
        lines[120] = "ERROR [QX1138]: the disk of runner-7 is full".to_owned();
        let text = lines.join("\n");
        let found = excerpt(&text, "What was wrong with qx1138?", None).unwrap();
        for line in &lines[119..=121] {
            assert!(found.contains(line.as_str()), "{found}");
        }
        assert!(found.starts_with('…') && found.ends_with('…'), "{found}");
        // Without a common word it is the beginning.
        let found = excerpt(&text, "Hello?", None).unwrap();
        assert!(found.starts_with("In week 0 "), "{found}");
        assert!(!found.contains("QX1138"));
        // With a passage that is close in meaning, it is that one.
        let found = excerpt(
            &text,
            "Which machine failed?",
            Some(&lines[115..125].join("\n")),
        );
        let found = found.unwrap();
        assert!(found.contains(lines[120].as_str()), "{found}");
        // Also of a paragraph whose pieces are longer than the passage.
        let text = lines.join(" ");
        let found = excerpt(
            &text,
            "Which machine failed?",
            Some(&lines[119..122].join(" ")),
        );
        let found = found.unwrap();
        assert!(found.contains(lines[120].as_str()), "{found}");
        assert_eq!(excerpt("A short text.", "short", None), None);
    }

    #[test]
    fn an_excerpt_of_repeated_sentences_is_always_the_same() {
        let sentence = "La recette demande 250 g de farine, de sucre et deux œufs.";
        let text = vec![sentence; 200].join(" ");
        let first = excerpt(&text, sentence, None);
        for _ in 0..50 {
            assert_eq!(excerpt(&text, sentence, None), first);
        }
    }

    #[test]
    fn a_text_of_one_line_is_split() {
        let item = |number: usize| format!("{{\"id\":{number},\"code\":\"E{number}\"}}");
        let items: Vec<String> = (0..400).map(item).collect();
        let found = excerpt(&items.join(","), "Which one had E317?", None).unwrap();
        assert!(found.contains("{\"id\":317,\"code\":\"E317\"}"), "{found}");
    }

    proptest! {
        #[test]
        fn an_excerpt_is_short_and_quotes_the_text(
            text in "([a-zé漢]{1,300}[ ,\n]{0,2}){1,80}", question in "[a-z ]{0,40}",
        ) {
            match excerpt(&text, &question, None) {
                None => prop_assert!(text.len() <= BYTES),
                Some(found) => {
                    let pieces = pieces(&text).len();
                    prop_assert!(found.len() <= BYTES + (pieces + 1) * (GAP.len() + 2));
                    prop_assert!(!found.is_empty());
                    for quoted in found.split(GAP) {
                        prop_assert!(text.contains(quoted.trim()), "{}", quoted);
                    }
                }
            }
        }
    }
}
