//! Finds speakers' names in a query. A question about a person contains the name, but the
//! messages that answer it are that person's own and seldom contain it. So a name selects
//! the speaker, and is removed from the text of the dense search.

/// The names that occur in the text as whole words, exactly as written.
pub(crate) fn named<'a>(text: &str, names: &'a [String]) -> Vec<&'a str> {
    names
        .iter()
        .map(String::as_str)
        .filter(|name| occurrences(text, name).next().is_some())
        .collect()
}

/// Removes the names, with a preceding comma and a following `'s`. Returns the whole
/// text if nothing else is in it.
pub(crate) fn without_names(text: &str, names: &[String]) -> String {
    let mut rest = text.to_owned();
    for name in names {
        let mut kept = String::with_capacity(rest.len());
        let mut from = 0;
        for start in occurrences(&rest, name) {
            if start < from {
                continue;
            }
            let before = rest[from..start].trim_end();
            kept.push_str(before.strip_suffix(',').unwrap_or(before));
            let after = &rest[start + name.len()..];
            let end = ["'s", "’s"]
                .iter()
                .find(|end| after.starts_with(**end))
                .map_or(0, |end| end.len());
            from = start + name.len() + end;
        }
        kept.push_str(&rest[from..]);
        rest = kept;
    }
    let words: Vec<&str> = rest.split_whitespace().collect();
    if words.is_empty() {
        text.to_owned()
    } else {
        words.join(" ")
    }
}

/// Byte offsets at which the name occurs as a whole word.
fn occurrences<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = usize> + 'a {
    let matches = if name.is_empty() { "" } else { text };
    matches
        .match_indices(if name.is_empty() { "\u{0}" } else { name })
        .filter_map(move |(start, _)| {
            let before = text[..start].chars().next_back();
            let after = text[start + name.len()..].chars().next();
            let first = name.chars().next();
            let last = name.chars().next_back();
            (boundary(before, first) && boundary(last, after)).then_some(start)
        })
}

/// Whether there is a word boundary between two characters.
fn boundary(left: Option<char>, right: Option<char>) -> bool {
    let word = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    word(left) != word(right)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> Vec<String> {
        vec!["Caroline".to_owned(), "Mel".to_owned()]
    }

    #[test]
    fn names_are_found_as_whole_words() {
        assert_eq!(named("What did Caroline say?", &names()), ["Caroline"]);
        assert_eq!(named("Melanie told caroline", &names()), Vec::<&str>::new());
        assert_eq!(
            named("Caroline and Mel's dog", &names()),
            ["Caroline", "Mel"]
        );
    }

    #[test]
    fn names_are_taken_out() {
        for (text, expected) in [
            ("When did Caroline go to X?", "When did go to X?"),
            ("What is Mel's dog called?", "What is dog called?"),
            ("Thanks, Caroline!", "Thanks!"),
            ("Caroline", "Caroline"),
            ("Caroline Mel", "Caroline Mel"),
            ("Melanie’s and Mel’s cats", "Melanie’s and cats"),
        ] {
            assert_eq!(without_names(text, &names()), expected, "{text}");
        }
    }
}
