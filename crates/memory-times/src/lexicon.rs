//! The words of a language, found in a question by the longest phrase.

use std::collections::HashMap;

use crate::language::{Language, Script};
use crate::numbers;
use crate::terms::Term;
use crate::tokens::{Kind, Token, is_kana, tokens, without_accents};

/// A phrase of the question with what it says.
#[derive(Clone, Copy, Debug)]
pub struct Item {
    pub term: Term,
    /// The place of its first token, and the place after its last one.
    pub first: usize,
    /// See [`Item::first`].
    pub after: usize,
}

/// The phrases of one language.
pub struct Lexicon {
    language: &'static Language,
    /// By the first token: the other tokens and what the phrase says, the longest phrase first.
    phrases: HashMap<String, Vec<(Vec<String>, Term)>>,
}

impl Lexicon {
    pub fn new(language: &'static Language) -> Self {
        let mut lexicon = Self {
            language,
            phrases: HashMap::new(),
        };
        for (term, phrases) in language.phrases.iter().copied().flatten() {
            for phrase in phrases.split('|') {
                lexicon.add(phrase, *term);
            }
        }
        for (weekday, part, phrase) in language.compounds() {
            lexicon.add(&phrase, Term::WeekdayPart(weekday, part));
        }
        for phrases in lexicon.phrases.values_mut() {
            phrases.sort_by_key(|(rest, _)| std::cmp::Reverse(rest.len()));
        }
        lexicon
    }

    pub fn language(&self) -> &'static Language {
        self.language
    }

    /// Adds a phrase, also as people write it who leave accents out.
    fn add(&mut self, phrase: &str, term: Term) {
        let umlauts = [('ä', "ae"), ('ö', "oe"), ('ü', "ue"), ('ß', "ss")];
        let spelled = umlauts
            .iter()
            .fold(phrase.to_owned(), |text, (umlaut, spelled)| {
                text.replace(*umlaut, spelled)
            });
        for phrase in [phrase.to_owned(), without_accents(phrase), spelled] {
            let mut texts = tokens(&phrase, &[]).into_iter().map(|token| token.text);
            let Some(first) = texts.next() else { continue };
            let rest: Vec<String> = texts.collect();
            let known = self.phrases.entry(first).or_default();
            if !known.iter().any(|(other, _)| *other == rest) {
                known.push((rest, term));
            }
        }
    }

    /// The question's phrases, in order, without gaps.
    pub fn items(&self, tokens: &[Token]) -> Vec<Item> {
        let mut items = Vec::new();
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            let (term, after) = self.term(tokens, at, token);
            items.push(Item {
                term,
                first: at,
                after,
            });
            at = after;
        }
        items
    }

    fn term(&self, tokens: &[Token], at: usize, token: &Token) -> (Term, usize) {
        let phrase = self.phrase(tokens, at);
        match token.kind {
            Kind::Hidden => (Term::Mark, at + 1),
            Kind::Number => numbers::digits(tokens, at, self.language),
            Kind::Sign => {
                let number = numbers::signs(tokens, at);
                let number = number.filter(|_| self.language.script == Script::Ideographs);
                match (phrase, number) {
                    (Some(phrase), Some(number)) if phrase.1 >= number.1 => phrase,
                    (Some(phrase), None) => phrase,
                    (_, Some(number)) => number,
                    (None, None) => (self.unknown(token), at + 1),
                }
            }
            Kind::Word => {
                // "v2024", "mp3".
                let digits = tokens.get(at + 1);
                let digits = digits.filter(|next| next.is_glued && next.kind == Kind::Number);
                match (digits, phrase) {
                    (Some(_), _) => (Term::Unknown, at + 2),
                    (None, Some(phrase)) => phrase,
                    (None, None) => (Term::Unknown, at + 1),
                }
            }
            Kind::Mark => phrase.unwrap_or_else(|| (mark(&token.text), at + 1)),
        }
    }

    /// A sign that begins no phrase. Kana are Japanese, whatever they say.
    fn unknown(&self, token: &Token) -> Term {
        match self.language.has_kana && token.text.chars().all(is_kana) {
            true => Term::Ordinary,
            false => Term::Unknown,
        }
    }

    fn phrase(&self, tokens: &[Token], at: usize) -> Option<(Term, usize)> {
        let phrases = self.phrases.get(&tokens.get(at)?.text)?;
        phrases.iter().find_map(|(rest, term)| {
            let following = tokens.get(at + 1..at + 1 + rest.len())?;
            let same = following.iter().zip(rest);
            let is_here = same.into_iter().all(|(token, text)| token.text == *text);
            is_here.then_some((*term, at + 1 + rest.len()))
        })
    }
}

fn mark(text: &str) -> Term {
    match text {
        "," => Term::Comma,
        "." => Term::Dot,
        "-" => Term::Dash,
        _ => Term::Mark,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use crate::languages::LANGUAGES;

    #[test]
    fn no_table_has_a_phrase_twice() {
        for language in LANGUAGES {
            let mut seen = BTreeSet::new();
            let all = language.phrases.iter().copied().flatten();
            for phrase in all.flat_map(|(_, phrases)| phrases.split('|')) {
                assert!(!phrase.is_empty() && seen.insert(phrase), "{phrase:?}");
            }
        }
    }
}
