//! Which lines of a file are shown.

use std::collections::HashSet;

use memory_agent_contract::memory_file::FileLines;

/// Lines shown before and after a changed one.
const AROUND: usize = 2;
/// The most lines of a file that a search shows.
const FOUND: usize = 3;
/// Characters of a line that a search shows.
const LINE_CHARS: usize = 300;
/// The most words of a query by which lines are chosen.
const WORDS: usize = 64;
/// The most lines that one answer compares with a query: about 30 µs each.
const COMPARED: usize = 2_000;
/// Their bytes.
const COMPARED_BYTES: usize = 1024 * 1024;
/// How many bytes one answer looks through for words of a query, once for each word: about 1 ns each.
const LOOKED_THROUGH: usize = 256 * 1024 * 1024;
/// What a line counts besides its bytes.
const LINE: usize = 16;
/// Letters that a word has in common with its stem.
const STEM_CHARS: usize = 3;

/// The lines around one of them.
pub(super) fn shown_around(text: &str, line: usize) -> FileLines {
    FileLines::of(
        text,
        line.saturating_sub(AROUND),
        line.saturating_add(AROUND),
    )
}

/// The words of a query, and how much of the files of one answer may still be compared with them.
#[derive(Debug)]
pub(super) struct Comparison {
    words: HashSet<String>,
    /// What a line with one of the words has in it.
    beginnings: Vec<String>,
    lines: usize,
    bytes: usize,
    looked_through: usize,
}

impl Comparison {
    pub(super) fn new(query: &str) -> Self {
        let mut words = HashSet::new();
        memory_text::words(query, |word| {
            words.insert(word.to_owned());
        });
        Self {
            words,
            beginnings: beginnings(query),
            lines: COMPARED,
            bytes: COMPARED_BYTES,
            looked_through: LOOKED_THROUGH,
        }
    }

    /// Whether a line may have a word; `None` if nothing may be looked through any more.
    fn may_have_word(&mut self, line: &str) -> Option<bool> {
        let looked_through = (line.len() + LINE) * self.beginnings.len();
        self.looked_through = self.looked_through.checked_sub(looked_through)?;
        let lower = line.to_lowercase();
        let mut beginnings = self.beginnings.iter();
        Some(beginnings.any(|one| lower.contains(one.as_str())))
    }

    /// How many different words a line has; `None` if no line may be compared any more.
    fn words_of(&mut self, line: &str) -> Option<usize> {
        self.lines = self.lines.checked_sub(1)?;
        self.bytes = self.bytes.checked_sub(line.len())?;
        let mut found = HashSet::new();
        let mut note = |word: &str| {
            if let Some(word) = self.words.get(word) {
                found.insert(word);
            }
        };
        memory_text::words(line, &mut note);
        memory_text::characters(line, &mut note);
        Some(found.len())
    }

    /// Lines with words, their numbers, and how many words they have, as far as they may be compared.
    fn hits<'a>(&mut self, text: &'a str) -> Vec<(usize, usize, &'a str)> {
        let mut hits = Vec::new();
        if self.beginnings.is_empty() {
            return hits;
        }
        for (line, number) in text.lines().zip(1..) {
            // A search by stem is slow: only where a word can be.
            let words = match self.may_have_word(line) {
                Some(true) => self.words_of(line),
                Some(false) => continue,
                None => None,
            };
            match words {
                Some(0) => {}
                Some(words) => hits.push((words, number, line)),
                None => break,
            }
        }
        hits
    }
}

/// The lines with the most words of a query, in the order of the text; the first line with a text
/// if none has any.
pub(super) fn matching_lines(comparison: &mut Comparison, text: &str) -> Vec<FileLines> {
    let mut hits = comparison.hits(text);
    // Of lines with as many words the first ones: the sort is stable.
    hits.sort_by_key(|(words, _, _)| std::cmp::Reverse(*words));
    hits.truncate(FOUND);
    hits.sort_by_key(|(_, number, _)| *number);
    if hits.is_empty() {
        let first = text
            .lines()
            .zip(1..)
            .find(|(line, _)| !line.trim().is_empty());
        hits.extend(first.map(|(line, number)| (0, number, line)));
    }
    let cut = |(_, first, line): (usize, usize, &str)| FileLines {
        first,
        text: line.chars().take(LINE_CHARS).collect(),
    };
    hits.into_iter().map(cut).collect()
}

/// What a line with a word of a query has in it: the first letters of one, because stems are
/// compared, and the first character of a word in a script that has no spaces between them. Words that
/// every text has are left out.
fn beginnings(query: &str) -> Vec<String> {
    let lower = query.to_lowercase();
    let mut seen = HashSet::new();
    let mut beginnings = Vec::new();
    for word in lower.split(|c: char| !c.is_alphanumeric()) {
        if beginnings.len() == WORDS {
            break;
        }
        let letters = match word.is_ascii() {
            true => STEM_CHARS,
            false => 1,
        };
        let beginning: String = word.chars().take(letters).collect();
        if beginning.is_empty() || seen.contains(&beginning) || !has_words(word) {
            continue;
        }
        seen.insert(beginning.clone());
        beginnings.push(beginning);
    }
    beginnings
}

fn has_words(text: &str) -> bool {
    let mut found = false;
    memory_text::words(text, |_word| found = true);
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(query: &str, text: &str) -> Vec<(usize, String)> {
        let mut comparison = Comparison::new(query);
        let lines = matching_lines(&mut comparison, text).into_iter();
        lines.map(|lines| (lines.first, lines.text)).collect()
    }

    #[test]
    fn the_lines_with_the_most_words_are_found() {
        let text = "# Garden\n\n- Plant tulips in October.\n- Water the tulips.\n- Order compost.\n\
                    - The shed needs paint.\n";
        let line = |number: usize, text: &str| (number, text.to_owned());
        assert_eq!(
            found("When are tulips planted?", text),
            [
                line(3, "- Plant tulips in October."),
                line(4, "- Water the tulips.")
            ]
        );
        // By meaning alone.
        assert_eq!(found("flower beds", text), [line(1, "# Garden")]);
        assert!(found("compost", "").is_empty());
        let long = format!("{} compost", "x".repeat(1_000));
        assert_eq!(found("compost", &long)[0].1.len(), LINE_CHARS);
        assert_eq!(
            found("犬", "猫がいる。\n犬がいる。"),
            [line(2, "犬がいる。")]
        );
    }

    #[test]
    fn one_answer_compares_so_much_and_no_more() {
        let words: String = (0..1_600).map(|n| format!("{n:03x}x ")).collect();
        assert!(words.len() < 8_192);
        assert_eq!(beginnings(&words).len(), WORDS);
        assert_eq!(beginnings("The tulips, the Tulip and tulips"), ["tul"]);
        let mut comparison = Comparison::new("tulips");
        let text = "- tulips\n".repeat(COMPARED);
        assert_eq!(matching_lines(&mut comparison, &text).len(), FOUND);
        // Of the files after it the first lines are shown.
        let lines = matching_lines(&mut comparison, "# Garden\n\n- tulips\n");
        assert_eq!((lines.len(), lines[0].first), (1, 1));
        let mut comparison = Comparison::new(&words);
        let text = "x\n".repeat(128 * 1024);
        for _ in 0..100 {
            matching_lines(&mut comparison, &text);
        }
        assert!(comparison.looked_through < WORDS * (1 + LINE));
        assert_eq!(comparison.lines, COMPARED);
    }

    #[test]
    fn five_lines_are_shown_around_a_change() {
        let lines = shown_around("1\n2\n3\n4\n5\n6\n", 3);
        assert_eq!((lines.first, lines.text.as_str()), (1, "1\n2\n3\n4\n5\n"));
        let lines = shown_around("1\n2\n3\n", 1);
        assert_eq!((lines.first, lines.text.as_str()), (1, "1\n2\n3\n"));
    }
}
