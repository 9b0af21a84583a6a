//! The difference between two texts, for people: the lines around the change.

/// Lines that are shown before and after it.
const AROUND: usize = 3;

/// The changed lines, `-` before the old ones and `+` before the new ones.
pub(crate) fn diff(old: &str, new: &str) -> String {
    let (old, new): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let same = old
        .iter()
        .zip(&new)
        .take_while(|(old, new)| old == new)
        .count();
    let rest = old.len().min(new.len()) - same;
    let ends = old.iter().rev().zip(new.iter().rev());
    let same_end = ends.take(rest).take_while(|(old, new)| old == new).count();
    let mut shown = String::new();
    let mut lines = |mark: char, lines: &[&str]| {
        for line in lines {
            shown.push(mark);
            shown.push_str(line);
            shown.push('\n');
        }
    };
    lines(' ', &old[same.saturating_sub(AROUND)..same]);
    lines('-', &old[same..old.len() - same_end]);
    lines('+', &new[same..new.len() - same_end]);
    let end = &old[old.len() - same_end..];
    lines(' ', &end[..end.len().min(AROUND)]);
    shown
}

/// The text with `…` in the place of each string that is the value of a member with this name,
/// but for references to the environment.
pub(crate) fn without_values(text: &str, name: &str) -> String {
    let variable = format!("${name}\"");
    let references = ["${", "{env:", variable.as_str()];
    let name = format!("\"{name}\"");
    let mut shown = String::new();
    let mut rest = text;
    while let Some(at) = rest.find(&name) {
        let (before, after) = rest.split_at(at + name.len());
        shown.push_str(before);
        rest = after;
        // Between both is a colon, and the mark of a line if the value begins on the next one.
        let value = after.trim_start_matches(|c: char| c.is_whitespace() || ":+-".contains(c));
        let Some(value) = value.strip_prefix('"') else {
            continue;
        };
        if references
            .into_iter()
            .any(|reference| value.starts_with(reference))
        {
            continue;
        }
        shown.push_str(&after[..after.len() - value.len()]);
        shown.push('…');
        rest = &value[end_of_string(value)..];
    }
    shown.push_str(rest);
    shown
}

/// Where a string of JSON ends that begins before `text`.
fn end_of_string(text: &str) -> usize {
    let mut is_escaped = false;
    let end = text.find(|c: char| {
        let ends = c == '"' && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        ends
    });
    end.unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_left_out() {
        for (text, expected) in [
            (
                "+{\"KEY\": \"k-1\", \"a\": \"b\"}",
                "+{\"KEY\": \"…\", \"a\": \"b\"}",
            ),
            ("-\"KEY\" :\n-  \"k\\\"1\"\n", "-\"KEY\" :\n-  \"…\"\n"),
            ("\"KEY\":\"a\",\"KEY\":\"b\"", "\"KEY\":\"…\",\"KEY\":\"…\""),
        ] {
            assert_eq!(without_values(text, "KEY"), expected);
        }
        for same in [
            "\"KEY\": \"${KEY}\"",
            "\"KEY\": \"{env:KEY}\"",
            "\"KEY\": \"$KEY\"",
            "env_vars = [\"KEY\", \"USER\"]",
            "\"OTHER\": \"k-1\"",
            "\"KEY\"",
        ] {
            assert_eq!(without_values(same, "KEY"), same);
        }
    }

    #[test]
    fn the_lines_around_a_change_are_shown() {
        let old = "1\n2\n3\n4\n5\n6\n7\n8\n";
        let new = "1\n2\n3\n4\nfive\nmore\n6\n7\n8\n";
        assert_eq!(diff(old, new), " 2\n 3\n 4\n-5\n+five\n+more\n 6\n 7\n 8\n");
        assert_eq!(diff("", "a\n"), "+a\n");
        assert_eq!(diff("a\na\n", "a\na\na\n"), " a\n a\n+a\n");
        assert_eq!(diff("a\n", ""), "-a\n");
    }
}
