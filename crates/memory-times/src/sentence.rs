//! A question as the terms of one language.

use std::ops::Range;

use crate::language::Language;
use crate::lexicon::{Item, Lexicon};
use crate::terms::Term;
use crate::tokens::{Kind, Token};

/// A question's terms. Places are those of terms.
pub struct Sentence<'a> {
    pub language: &'static Language,
    pub items: Vec<Item>,
    tokens: &'a [Token],
}

impl<'a> Sentence<'a> {
    pub fn new(tokens: &'a [Token], lexicon: &Lexicon) -> Self {
        Self {
            language: lexicon.language(),
            items: lexicon.items(tokens),
            tokens,
        }
    }

    /// Words and signs of the question that the language knows.
    pub fn known_words(&self) -> usize {
        let known = self.items.iter().filter(|item| {
            !matches!(
                item.term,
                Term::Unknown | Term::Mark | Term::Comma | Term::Dot | Term::Dash
            )
        });
        let tokens = known.flat_map(|item| self.tokens.get(item.first..item.after));
        let is_word = |token: &&Token| matches!(token.kind, Kind::Word | Kind::Sign);
        tokens.flatten().filter(is_word).count()
    }

    /// The term at a place.
    pub fn term(&self, at: usize) -> Term {
        self.items.get(at).map_or(Term::End, |item| item.term)
    }

    /// The term before a place.
    pub fn before(&self, at: usize) -> Term {
        at.checked_sub(1)
            .map_or(Term::End, |before| self.term(before))
    }

    /// The place after some terms, a few at most.
    pub fn skip(&self, at: usize, skipped: impl Fn(Term) -> bool) -> usize {
        let terms = (at..).take(4);
        terms.take_while(|at| skipped(self.term(*at))).count() + at
    }

    /// Whether a clause ends before a place.
    pub fn ends(&self, at: usize) -> bool {
        matches!(
            self.term(at),
            Term::End | Term::Mark | Term::Comma | Term::Dot | Term::Dash
        )
    }

    /// Whether no noun or verb that the language's table lacks comes next.
    pub fn goes_on_plainly(&self, at: usize) -> bool {
        !matches!(
            self.term(at),
            Term::Unknown | Term::Number(..) | Term::Never | Term::Counted | Term::And
        )
    }

    /// Whether a term is written with a capital that no sentence's beginning explains.
    pub fn is_name(&self, at: usize) -> bool {
        let Some(item) = self.items.get(at) else {
            return false;
        };
        // German nouns have capitals within a phrase.
        let after = match self.language.has_compounds_of_words {
            true => item.after,
            false => item.first + 1,
        };
        let mut tokens = self.tokens.iter().take(after).skip(item.first);
        tokens.any(|token| token.is_capitalized && !token.begins)
    }

    /// Whether a term begins with a small letter.
    pub fn is_small(&self, at: usize) -> bool {
        self.first_token(at).is_some_and(|token| token.is_small)
    }

    /// Whether no space separates a term from the one before it.
    pub fn is_glued(&self, at: usize) -> bool {
        self.first_token(at).is_some_and(|token| token.is_glued)
    }

    /// The byte range of some terms.
    pub fn text(&self, items: &Range<usize>) -> Option<Range<usize>> {
        let (first, last) = (self.items.get(items.start)?, self.items.get(items.end - 1)?);
        let (first, last) = (
            self.tokens.get(first.first)?,
            self.tokens.get(last.after - 1)?,
        );
        Some(first.at.start..last.at.end)
    }

    /// Whether hyphens make terms a part of a longer word: "the Monday-club".
    pub fn is_in_compound(&self, items: &Range<usize>) -> bool {
        let is_hyphen = |at: usize| self.term(at) == Term::Dash && self.is_glued(at);
        let after =
            is_hyphen(items.end) && self.is_glued(items.end + 1) && !self.ends(items.end + 1);
        let before = items.start >= 2
            && is_hyphen(items.start - 1)
            && self.is_glued(items.start)
            && !self.ends(items.start - 2);
        before || after
    }

    fn first_token(&self, at: usize) -> Option<&Token> {
        self.tokens.get(self.items.get(at)?.first)
    }
}
