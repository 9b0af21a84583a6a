//! Changes of a text.

use memory_agent_contract::memory_file::line_count;
use memory_database::MemoryFileError;

/// The most places of a text that an error names.
const NAMED_PLACES: usize = 20;

/// A changed text.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Edited {
    pub(super) text: String,
    /// The number of the first changed line, from 1.
    pub(super) line: usize,
}

/// Replaces a text that occurs once.
///
/// # Errors
/// `TextNotFound`, `TextNotUnique`.
pub(super) fn replace(text: &str, old: &str, new: &str) -> Result<Edited, MemoryFileError> {
    let places = places(text, old);
    let line = |at: &usize| text[..*at].matches('\n').count() + 1;
    match places.as_slice() {
        [] => Err(MemoryFileError::TextNotFound),
        [at] => Ok(Edited {
            text: [&text[..*at], new, &text[at + old.len()..]].concat(),
            line: line(at),
        }),
        several => Err(MemoryFileError::TextNotUnique {
            lines: several.iter().map(line).collect(),
        }),
    }
}

/// Inserts lines after a line; 0 is the beginning.
///
/// # Errors
/// `LineOutOfRange`.
pub(super) fn insert(text: &str, line: usize, inserted: &str) -> Result<Edited, MemoryFileError> {
    let lines = line_count(text);
    if line > lines {
        return Err(MemoryFileError::LineOutOfRange { lines });
    }
    let at: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
    let (before, after) = text.split_at(at);
    let end_of = |text: &str| match text.is_empty() || text.ends_with('\n') {
        true => "",
        false => "\n",
    };
    Ok(Edited {
        text: [before, end_of(before), inserted, end_of(inserted), after].concat(),
        line: line + 1,
    })
}

/// Where a text occurs, also where its occurrences overlap, as far as an error names them.
fn places(text: &str, old: &str) -> Vec<usize> {
    let mut places = Vec::new();
    let mut from = 0;
    while places.len() < NAMED_PLACES
        && let Some(found) = text.get(from..).and_then(|rest| rest.find(old))
    {
        let at = from + found;
        places.push(at);
        from = at + text[at..].chars().next().map_or(1, char::len_utf8);
    }
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edited(edited: Result<Edited, MemoryFileError>) -> (String, usize) {
        let Edited { text, line } = edited.unwrap();
        (text, line)
    }

    #[test]
    fn a_text_that_occurs_once_is_replaced() {
        let text = "# Pets\nPixel, a dog\nRex, a dog\n";
        let (replaced, line) = edited(replace(text, "Rex, a dog", "Tom, a cat"));
        assert_eq!(replaced, "# Pets\nPixel, a dog\nTom, a cat\n");
        assert_eq!(line, 3);
        assert_eq!(edited(replace("é…", "…", "")), ("é".to_owned(), 1));
        let lines = |text, old| match replace(text, old, "") {
            Err(MemoryFileError::TextNotUnique { lines }) => lines,
            other => panic!("{other:?}"),
        };
        assert_eq!(lines(text, "dog"), [2, 3]);
        assert_eq!(lines("aaa", "aa"), [1, 1]);
        assert_eq!(lines(&"x\n".repeat(100), "x").len(), NAMED_PLACES);
        let absent = replace(text, "fish", "");
        assert!(matches!(absent, Err(MemoryFileError::TextNotFound)));
    }

    #[test]
    fn lines_are_inserted_where_they_are_wanted() {
        let inserted = |text, line, new| edited(insert(text, line, new));
        assert_eq!(inserted("", 0, "a"), ("a\n".to_owned(), 1));
        assert_eq!(inserted("b\n", 0, "a\n"), ("a\nb\n".to_owned(), 1));
        assert_eq!(inserted("a\nc", 1, "b"), ("a\nb\nc".to_owned(), 2));
        assert_eq!(inserted("a", 1, "b"), ("a\nb\n".to_owned(), 2));
        let beyond = insert("a\n", 2, "b");
        assert!(matches!(
            beyond,
            Err(MemoryFileError::LineOutOfRange { lines: 1 })
        ));
    }
}
