//! Text of a question that is not read: quotations, code, addresses and names of files.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::tokens::is_ideographic;

/// The marks that open a quotation or code, each with those that close it.
const QUOTES: [(char, &str); 15] = [
    ('"', "\"”"),
    ('“', "”\""),
    ('„', "“”\""),
    ('”', "”"),
    ('«', "»"),
    ('»', "«"),
    ('‹', "›"),
    ('‚', "‘’"),
    ('‘', "’"),
    ('\'', "'’"),
    ('「', "」"),
    ('『', "』"),
    ('《', "》"),
    ('〈', "〉"),
    ('`', "`"),
];

/// The byte ranges that are not read, in order and without overlap.
pub fn hidden(text: &str) -> Vec<Range<usize>> {
    let mut all = quoted(text);
    all.extend(addresses(text));
    all.sort_by_key(|range| range.start);
    let mut merged: Vec<Range<usize>> = Vec::new();
    for range in all {
        match merged.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => merged.push(range),
        }
    }
    merged
}

/// Quotations with their marks. A mark that nothing closes opens nothing: the text after it is
/// read again without it, once for each kind of mark.
fn quoted(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut unclosed = BTreeSet::new();
    let mut from = 0;
    loop {
        let mut open: Option<(usize, char, &str)> = None;
        let mut before = text[..from].chars().next_back();
        let mut chars = text[from..].char_indices().peekable();
        while let Some((offset, mark)) = chars.next() {
            let (at, after) = (from + offset, chars.peek().map(|(_, next)| *next));
            match open {
                Some((start, opener, closers)) => {
                    if closers.contains(mark) && (!is_single(opener) || ends_word(before, after)) {
                        found.push(start..at + mark.len_utf8());
                        open = None;
                    }
                }
                None => {
                    let quote = QUOTES.iter().find(|(opener, _)| *opener == mark);
                    let opens = !is_single(mark) || begins_word(before, after);
                    open = quote
                        .filter(|_| opens && !unclosed.contains(&mark))
                        .map(|(opener, closers)| (at, *opener, *closers));
                }
            }
            before = Some(mark);
        }
        let Some((start, opener, _)) = open else {
            return found;
        };
        unclosed.insert(opener);
        from = start + opener.len_utf8();
    }
}

/// Whether a mark is an apostrophe too.
fn is_single(mark: char) -> bool {
    matches!(mark, '\'' | '‘' | '‚')
}

fn begins_word(before: Option<char>, after: Option<char>) -> bool {
    !before.is_some_and(char::is_alphanumeric) && after.is_some_and(char::is_alphanumeric)
}

fn ends_word(before: Option<char>, after: Option<char>) -> bool {
    before.is_some_and(|one| !one.is_whitespace()) && !after.is_some_and(char::is_alphanumeric)
}

/// Addresses, paths, hashtags, code and names of files: runs without spaces that have their marks.
fn addresses(text: &str) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut start = 0;
    for run in text.split_inclusive(char::is_whitespace) {
        // An address may have any character.
        let has_scheme = run.contains("://");
        let borders = |one: char| is_ideographic(one) && !has_scheme;
        for piece in run.split_inclusive(borders) {
            let address = piece.trim_end_matches(borders);
            if is_address(address.trim_end_matches(|one: char| !one.is_alphanumeric())) {
                found.push(start..start + address.len());
            }
            start += piece.len();
        }
    }
    found
}

fn is_address(run: &str) -> bool {
    let has_letters = run.chars().any(char::is_alphabetic);
    let chars: Vec<char> = run.chars().collect();
    let has_inner_dot = chars.windows(3).any(|three| {
        matches!(three, [before, '.', after] if before.is_ascii_alphabetic() && after.is_ascii_alphabetic())
    });
    run.starts_with('#')
        || run.contains("://")
        || run.contains(['@', '\\', '_', '=', '{', '}', '<', '>'])
        || run.contains("()")
        || has_letters && (has_inner_dot || run.matches('/').count() > 1)
}
