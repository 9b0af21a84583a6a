//! Divides a sentence into clauses: at punctuation, and at words that join clauses.

use unicode_segmentation::UnicodeSegmentation;

/// How a clause is joined to what comes before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Joint {
    /// It begins the sentence.
    Beginning,
    /// By a comma, a semicolon or a dash.
    Punctuation,
    /// By a colon.
    Colon,
    /// By a word alone, such as "and".
    Word,
    /// By punctuation and a word.
    Both,
}

/// Words that join clauses without punctuation; "so" only before one of [`AFTER_SO`].
const LINKS: [&str; 5] = ["and", "but", "because", "since", "so"];
/// Further words that join clauses after punctuation.
const LINKS_AFTER_PUNCTUATION: [&str; 2] = ["also", "plus"];
/// Words after a "so" that begins a clause. Before others it strengthens: "so happy".
const AFTER_SO: [&str; 37] = [
    "i", "i'm", "we", "we're", "it", "it's", "you", "he", "she", "they", "that", "this", "there",
    "the", "a", "an", "any", "all", "no", "my", "our", "please", "if", "when", "let", "can",
    "could", "would", "will", "what", "which", "where", "how", "is", "are", "do", "should",
];

/// Signs between clauses; the last one is the colon.
const MARKS: [char; 5] = [',', ';', '–', '—', ':'];

/// A clause of a sentence.
#[derive(Clone, Copy, Debug)]
pub(super) struct Clause {
    pub(super) joint: Joint,
    /// The word that joins it; empty without one.
    pub(super) link: &'static str,
    /// The byte at which the text before the clause and its joint ends.
    pub(super) text_before: usize,
    /// The byte at which the clause begins.
    pub(super) begins: usize,
    /// The number of words before the clause and its joint.
    pub(super) words_before: usize,
    /// The place of its first word.
    pub(super) first: usize,
}

/// A sentence with its words and clauses.
pub(super) struct Divided<'a> {
    pub(super) text: &'a str,
    /// The words in lower case, with straight apostrophes.
    pub(super) words: Vec<String>,
    /// Whether each word begins with a capital letter.
    pub(super) capitals: Vec<bool>,
    /// At least one.
    pub(super) clauses: Vec<Clause>,
}

impl<'a> Divided<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let found: Vec<(usize, &str)> = text.unicode_word_indices().collect();
        let lower = |word: &str| word.to_lowercase().replace('’', "'");
        let words: Vec<String> = found.iter().map(|(_, word)| lower(word)).collect();
        let is_capital = |word: &str| word.chars().next().is_some_and(char::is_uppercase);
        let capitals = found.iter().map(|(_, word)| is_capital(word)).collect();
        let mut clauses = vec![Clause {
            joint: Joint::Beginning,
            link: "",
            text_before: 0,
            begins: 0,
            words_before: 0,
            first: 0,
        }];
        let mut place = 1;
        while place < found.len() {
            let (before, word) = found[place - 1];
            let between = &text[before + word.len()..found[place].0];
            let mark = mark(between);
            // A sign such as "%" belongs to the word before it.
            let signs = between.find(|c: char| c.is_whitespace() || MARKS.contains(&c));
            let text_before = before + word.len() + signs.unwrap_or_default();
            let link = link(&words[place..], mark.is_some());
            let first = place + usize::from(link.is_some());
            let joint = match (mark, link) {
                (Some(_), Some(_)) => Some(Joint::Both),
                (None, Some(_)) => Some(Joint::Word),
                (mark, None) => mark,
            };
            if let Some(joint) = joint {
                clauses.push(Clause {
                    joint,
                    link: link.unwrap_or_default(),
                    text_before,
                    begins: found[first].0,
                    words_before: place,
                    first,
                });
            }
            place = first + 1;
        }
        Self {
            text,
            words,
            capitals,
            clauses,
        }
    }

    /// The number of words up to the end of a clause.
    pub(super) fn words_to(&self, clause: usize) -> usize {
        let next = self.clauses.get(clause + 1);
        next.map_or(self.words.len(), |next| next.words_before)
    }
}

fn mark(between: &str) -> Option<Joint> {
    let [others @ .., colon] = MARKS;
    if between.contains(others) || between.contains(" - ") {
        Some(Joint::Punctuation)
    } else if between.contains(colon) {
        Some(Joint::Colon)
    } else {
        None
    }
}

/// The word that joins a clause, if the words begin with one and another word follows.
fn link(words: &[String], after_punctuation: bool) -> Option<&'static str> {
    let (word, next) = (words.first()?, words.get(1)?);
    let linking = LINKS.iter().find(|link| *link == word);
    if let Some(link) = linking {
        let joins = *link != "so" || after_punctuation || AFTER_SO.contains(&next.as_str());
        return joins.then_some(*link);
    }
    let mut further = LINKS_AFTER_PUNCTUATION.iter();
    let further = further.find(|link| after_punctuation && *link == word);
    further.copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clauses_begin_after_punctuation_and_linking_words() {
        let text = "Hi, my 6-year-old is so happy – and we have 3,000€ so can you help?";
        let divided = Divided::new(text);
        let begin: Vec<(Joint, &str, &str)> = divided
            .clauses
            .iter()
            .map(|clause| (clause.joint, clause.link, &text[clause.begins..][..2]))
            .collect();
        assert_eq!(
            begin,
            [
                (Joint::Beginning, "", "Hi"),
                (Joint::Punctuation, "", "my"),
                (Joint::Both, "and", "we"),
                (Joint::Word, "so", "ca"),
            ]
        );
        let last = divided.clauses[3];
        assert!(text[..last.text_before].ends_with("3,000€"));
        assert_eq!(divided.words_to(0), 1);
        assert_eq!(divided.words_to(3), divided.words.len());
    }

    #[test]
    fn a_text_without_words_is_one_clause() {
        for text in ["", "…", "and"] {
            assert_eq!(Divided::new(text).clauses.len(), 1, "{text}");
        }
    }
}
