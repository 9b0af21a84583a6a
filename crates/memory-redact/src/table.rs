//! Rows of patterns, and the search for all of them in one pass: an automaton finds the literals
//! that the patterns contain, and a pattern runs only there.

use std::ops::Range;

use aho_corasick::{AhoCorasick, AhoCorasickKind, MatchKind};
use regex::{Regex, RegexBuilder};

use memory_contract::policy::SensitiveKind;

use crate::hit::Hit;

/// Different bytes that a key has at least. Placeholders such as `ghp_xxxxxxxx` have fewer.
const MIN_DISTINCT: usize = 6;

/// One form of secrets.
pub(crate) struct Row {
    /// What a hit is called.
    pub name: &'static str,
    /// The literals that each text of this form contains.
    pub anchors: &'static [&'static str],
    /// Where the pattern starts.
    pub start: Start,
    /// What is matched from there. The hit is its first group, or where it has none, all of it.
    pub pattern: &'static str,
    /// What is also asked of the text of the hit.
    pub check: fn(&str) -> bool,
    /// Where the form is described.
    pub source: &'static str,
}

/// Where a pattern starts.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Start {
    /// Behind the anchor, with which the hit begins, and which begins a word.
    Prefix,
    /// In front of the anchor by so many bytes, at least and at most. The hit begins a word.
    Inside(usize, usize),
    /// Behind the anchor, which is not part of the hit.
    After,
}

/// A row of keys with a known prefix.
pub(crate) const fn prefix(
    name: &'static str,
    anchors: &'static [&'static str],
    pattern: &'static str,
    source: &'static str,
) -> Row {
    Row {
        name,
        anchors,
        start: Start::Prefix,
        pattern,
        check: is_varied,
        source,
    }
}

/// A row of keys with a known part inside, in front of which there are `least` to `most` bytes.
pub(crate) const fn inside(
    name: &'static str,
    anchors: &'static [&'static str],
    (least, most): (usize, usize),
    pattern: &'static str,
    source: &'static str,
) -> Row {
    Row {
        name,
        anchors,
        start: Start::Inside(least, most),
        pattern,
        check: is_varied,
        source,
    }
}

/// A row of secrets that are known by the words in front of them.
pub(crate) const fn after(
    name: &'static str,
    anchors: &'static [&'static str],
    pattern: &'static str,
    check: fn(&str) -> bool,
    source: &'static str,
) -> Row {
    Row {
        name,
        anchors,
        start: Start::After,
        pattern,
        check,
        source,
    }
}

/// Whether a key is no placeholder.
pub(crate) fn is_varied(text: &str) -> bool {
    distinct_bytes(text) >= MIN_DISTINCT
}

/// How many different bytes a text has.
pub(crate) fn distinct_bytes(text: &str) -> usize {
    let mut seen = [false; 256];
    text.bytes().for_each(|byte| seen[usize::from(byte)] = true);
    seen.iter().filter(|seen| **seen).count()
}

/// Rows that are ready for the search.
pub(crate) struct Table {
    rows: &'static [Row],
    regexes: Vec<Regex>,
    anchors: AhoCorasick,
    /// By the number of the anchor: the rows to try in order, each with the length of its own
    /// anchor, which may be shorter.
    candidates: Vec<Vec<(usize, usize)>>,
}

impl Table {
    /// Compiles rows. ASCII letters of anchors match in any case where `any_case` is set.
    pub(crate) fn new(rows: &'static [Row], any_case: bool) -> Self {
        let mut literals: Vec<&str> = rows.iter().flat_map(|row| row.anchors).copied().collect();
        literals.sort_unstable();
        literals.dedup();
        let candidates = literals
            .iter()
            .map(|literal| candidates(rows, literal))
            .collect();
        let anchors = AhoCorasick::builder()
            .match_kind(MatchKind::LeftmostLongest)
            .kind(Some(AhoCorasickKind::DFA))
            .ascii_case_insensitive(any_case)
            .build(&literals)
            .expect("the anchors are few and short");
        Self {
            rows,
            regexes: rows
                .iter()
                .map(|row| compile(row.pattern, any_case))
                .collect(),
            anchors,
            candidates,
        }
    }

    /// Adds each secret, in order and without overlap.
    pub(crate) fn find(&self, text: &str, hits: &mut Vec<Hit>) {
        // Where the last hit ends, and where the last text ends that only looked like one. Neither
        // is searched again, so that the time stays linear.
        let mut covered = 0;
        let mut refused = 0;
        for anchor in self.anchors.find_iter(text) {
            if anchor.start() < covered.max(refused) {
                continue;
            }
            for &(row, anchor_len) in &self.candidates[anchor.pattern().as_usize()] {
                let Some(found) = self.matched(row, text, anchor.start(), anchor_len, covered)
                else {
                    continue;
                };
                if self.is_accepted(row, text, &found) {
                    covered = found.end;
                    hits.push(Hit {
                        range: found,
                        kind: SensitiveKind::Secret,
                        name: self.rows[row].name,
                    });
                    break;
                }
                // What stands behind words is short, so what follows is searched again.
                if self.rows[row].start != Start::After {
                    refused = refused.max(found.end);
                }
            }
        }
    }

    /// The range where a row matches whose anchor is at `at`. Nothing before `covered` belongs to
    /// it.
    fn matched(
        &self,
        row: usize,
        text: &str,
        at: usize,
        anchor_len: usize,
        covered: usize,
    ) -> Option<Range<usize>> {
        let behind = at + anchor_len;
        let begins = |from: &usize| begins_word(text, *from, covered);
        match self.rows[row].start {
            Start::Prefix if begins(&at) => Some(at..self.matched_at(row, text, behind)?.end),
            Start::Prefix => None,
            Start::After => self.matched_at(row, text, behind),
            Start::Inside(least, most) => (least..=most.min(at - covered))
                .rev()
                .map(|before| at - before)
                .filter(begins)
                .find_map(|from| self.matched_at(row, text, from)),
        }
    }

    /// What a row's pattern matches at `from`: its first group, or all of it.
    fn matched_at(&self, row: usize, text: &str, from: usize) -> Option<Range<usize>> {
        let captures = self.regexes[row].captures(text.get(from..)?)?;
        let group = captures.get(1).or_else(|| captures.get(0))?;
        Some(from + group.start()..from + group.end())
    }

    /// Whether a match ends where its word ends, is no call of a function, and passes the row's own
    /// check.
    fn is_accepted(&self, row: usize, text: &str, found: &Range<usize>) -> bool {
        let Row { start, check, .. } = self.rows[row];
        let rest = &text[found.end..];
        let is_call = start == Start::After && rest.starts_with('(');
        let ends_word = !rest.starts_with(|next: char| next.is_ascii_alphanumeric());
        ends_word && !is_call && check(&text[found.clone()])
    }
}

/// The rows with an anchor that `literal` begins with, those with the longest first.
fn candidates(rows: &[Row], literal: &str) -> Vec<(usize, usize)> {
    let mut found: Vec<(usize, usize)> = Vec::new();
    for (number, row) in rows.iter().enumerate() {
        let own = row
            .anchors
            .iter()
            .filter(|anchor| literal.starts_with(**anchor));
        found.extend(
            own.map(|anchor| (number, anchor.len()))
                .max_by_key(|(_, len)| *len),
        );
    }
    found.sort_by_key(|(_, len)| std::cmp::Reverse(*len));
    found
}

fn compile(pattern: &str, unicode: bool) -> Regex {
    RegexBuilder::new(&format!("^(?:{pattern})"))
        .unicode(unicode)
        .build()
        .expect("the patterns are constants")
}

/// Whether a key can begin at `at`: not behind a letter or a digit, nor behind `-` or `_` that
/// follow one. An escape (`\n`, `%20`) ends a word.
fn begins_word(text: &str, at: usize, covered: usize) -> bool {
    let before = &text.as_bytes()[covered..at];
    let joined = before
        .iter()
        .rev()
        .take_while(|byte| matches!(byte, b'-' | b'_'))
        .count();
    match before[..before.len() - joined] {
        [.., b'\\', b'n' | b'r' | b't'] => true,
        [.., b'%', high, low] if high.is_ascii_hexdigit() && low.is_ascii_hexdigit() => true,
        [.., last] => !last.is_ascii_alphanumeric(),
        [] => true,
    }
}
