//! Redacts JSON texts. Only the strings and numbers that have a hit change.

use std::ops::Range;

use memory_redact::{Kinds, find, redact as redact_text};

/// Names of values that a provider compares or decrypts.
const KEPT: [&str; 4] = [
    "signature",
    "thoughtSignature",
    "thought_signature",
    "encrypted_content",
];
/// The name of a model's reasoning in Anthropic's messages.
const THINKING: &str = "thinking";
/// The name of what vouches for it.
const SIGNATURE: &str = "signature";

/// A string or number of a JSON text.
struct Token<'a> {
    /// Its bytes, without the quotes of a string.
    range: Range<usize>,
    is_string: bool,
    /// The name that stands before it.
    key: &'a str,
}

/// Replaces what a JSON text has of the kinds, and returns the names of what was found. Text that
/// is not JSON is redacted as far as it is, for the handler to refuse.
///
/// What is found in Anthropic's thinking takes the signatures of the text away: they do not fit any
/// more.
pub(super) fn redact(text: &str, kinds: Kinds) -> (String, Vec<&'static str>) {
    // What escapes hide is found in the strings that they stand for, what a name tells in the text.
    let (text, mut names, in_thinking) = decoded(text, kinds);
    let (mut text, more, also_in_thinking) = written(&text, kinds);
    names.extend(more);
    if in_thinking || also_in_thinking {
        text = edit(&text, |token| {
            (token.key == SIGNATURE && token.is_string).then(String::new)
        });
    }
    (text, names)
}

/// Redacts strings that have escapes.
fn decoded(text: &str, kinds: Kinds) -> (String, Vec<&'static str>, bool) {
    let mut names = Vec::new();
    let mut in_thinking = false;
    let text = edit(text, |token| {
        let raw = &text[token.range.clone()];
        if !token.is_string || !raw.contains('\\') || KEPT.contains(&token.key) {
            return None;
        }
        let string: String = serde_json::from_str(&format!("\"{raw}\"")).ok()?;
        let (redacted, hits) = redact_text(&string, kinds);
        if hits.is_empty() {
            return None;
        }
        names.extend(hits.into_iter().map(|hit| hit.name));
        in_thinking |= token.key == THINKING;
        let quoted = serde_json::Value::from(redacted.into_owned()).to_string();
        Some(quoted[1..quoted.len() - 1].to_owned())
    });
    (text, names, in_thinking)
}

/// Redacts the text as it is written. A hit ends with its string.
fn written(text: &str, kinds: Kinds) -> (String, Vec<&'static str>, bool) {
    let hits = find(text, kinds);
    let mut hits = hits.iter().peekable();
    let mut names = Vec::new();
    let mut in_thinking = false;
    let edited = edit(text, |token| {
        let Range { start, end } = token.range;
        while hits.next_if(|hit| hit.range.end <= start).is_some() {}
        let raw = &text[start..end];
        let mut redacted = String::new();
        let mut copied = 0;
        while let Some(hit) = hits.next_if(|hit| hit.range.start < end) {
            if KEPT.contains(&token.key) {
                continue;
            }
            let from = hit.range.start.saturating_sub(start).max(copied);
            let whole = whole_escapes(raw, from..hit.range.end.min(end) - start);
            redacted.push_str(&raw[copied.min(whole.start)..whole.start]);
            redacted.push_str(&format!("[REDACTED:{}]", hit.name));
            copied = whole.end;
            names.push(hit.name);
            in_thinking |= token.key == THINKING;
        }
        if redacted.is_empty() {
            return None;
        }
        redacted.push_str(&raw[copied..]);
        // A number becomes a string.
        Some(match token.is_string {
            true => redacted,
            false => format!("\"{redacted}\""),
        })
    });
    (edited, names, in_thinking)
}

/// The range, extended so that it cuts no escape of a string in two.
fn whole_escapes(raw: &str, range: Range<usize>) -> Range<usize> {
    let bytes = raw.as_bytes();
    let Range { mut start, mut end } = range;
    let mut at = 0;
    while at < bytes.len() && at < end {
        let length = match (bytes[at], bytes.get(at + 1)) {
            (b'\\', Some(b'u')) => 6,
            (b'\\', _) => 2,
            _ => 1,
        };
        let next = (at + length).min(bytes.len());
        if at < start && start < next {
            start = at;
        }
        if at < end && end < next {
            end = next;
        }
        at = next;
    }
    raw.floor_char_boundary(start)..raw.ceil_char_boundary(end)
}

/// The text with the tokens that `new` replaces.
fn edit(text: &str, mut new: impl FnMut(&Token<'_>) -> Option<String>) -> String {
    let mut edited = String::with_capacity(text.len());
    let mut copied = 0;
    for token in tokens(text) {
        if let Some(new) = new(&token) {
            edited.push_str(&text[copied..token.range.start]);
            edited.push_str(&new);
            copied = token.range.end;
        }
    }
    edited.push_str(&text[copied..]);
    edited
}

/// The strings and numbers of a JSON text, names included, in order.
fn tokens(text: &str) -> Vec<Token<'_>> {
    let bytes = text.as_bytes();
    let mut tokens: Vec<Token<'_>> = Vec::new();
    let mut key = "";
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        match bytes[at] {
            b'"' => {
                at += 1;
                while at < bytes.len() && bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                let end = at.min(bytes.len());
                tokens.push(Token {
                    range: start + 1..end,
                    is_string: true,
                    key,
                });
                at += 1;
            }
            b'-' | b'0'..=b'9' => {
                while at < bytes.len()
                    && (bytes[at].is_ascii_alphanumeric() || b"+-.".contains(&bytes[at]))
                {
                    at += 1;
                }
                tokens.push(Token {
                    range: start..at,
                    is_string: false,
                    key,
                });
            }
            b':' => {
                key = tokens.last().map_or("", |name| &text[name.range.clone()]);
                at += 1;
            }
            b'}' | b',' | b'{' => {
                key = "";
                at += 1;
            }
            _ => at += 1,
        }
    }
    tokens
}

#[cfg(test)]
mod tests {
    use memory_contract::policy::SensitiveKind;

    use super::*;

    /// A key of a provider, in two parts: scanners of source code look for whole ones.
    const SECRET: &str = concat!("sk_live_", "51Hq8ZtKq3vGd7Yw2nRbXc4Lm");

    fn redacted(text: &str) -> String {
        let (redacted, names) = redact(text, Kinds::from_iter(SensitiveKind::ALL));
        assert_eq!(names.is_empty(), redacted == text, "{names:?}");
        redacted
    }

    #[test]
    fn all_but_the_found_strings_stays_as_it_is() {
        let text = |found: &str| {
            format!(
                "{{ \"n\":1.50,\t\"b\" :[true, \"\\u00e4\\/\", \"{found}\"], \"big\": 12345678901234567890123 }}"
            )
        };
        assert_eq!(redacted(&text("nothing")), text("nothing"));
        assert_eq!(redacted(&text(SECRET)), text("[REDACTED:stripe-key]"));
    }

    #[test]
    fn the_name_of_a_value_tells_that_it_is_a_secret() {
        let text = r#"{"user": "ada", "password": "hunter2Xk9", "port": 5432}"#;
        let expected = r#"{"user": "ada", "password": "[REDACTED:assigned-secret]", "port": 5432}"#;
        assert_eq!(redacted(text), expected);
    }

    #[test]
    fn what_escapes_hide_is_found() {
        let email = r#"["a\u0040example.org", "to: \tb@example.org\n"]"#;
        assert_eq!(
            redacted(email),
            r#"["[REDACTED:email]", "to: \t[REDACTED:email]\n"]"#
        );
        let url = r#"["postgres:\/\/app:Xk93hTq2@db\/app"]"#;
        assert_eq!(
            redacted(url),
            r#"["postgres://app:[REDACTED:url-password]@db/app"]"#
        );
    }

    #[test]
    fn numbers_become_strings_and_names_are_looked_at() {
        assert_eq!(
            redacted(r#"{"card": 4111111111111111, "ada@example.org": -1e5}"#),
            r#"{"card": "[REDACTED:card]", "[REDACTED:email]": -1e5}"#
        );
    }

    #[test]
    fn a_text_within_a_text_stays_json() {
        let inner = serde_json::json!({ "token": SECRET, "say": "\"hi\"" }).to_string();
        let text = serde_json::json!([{ "arguments": inner }]).to_string();
        let outer: serde_json::Value = serde_json::from_str(&redacted(&text)).unwrap();
        let inner = outer[0]["arguments"].as_str().unwrap();
        let inner: serde_json::Value = serde_json::from_str(inner).unwrap();
        assert_eq!(inner["token"], "[REDACTED:stripe-key]");
        assert_eq!(inner["say"], "\"hi\"");
    }

    #[test]
    fn thinking_that_changes_loses_its_signature() {
        let text = |thinking: &str, signature: &str| {
            format!(
                r#"[{{"type": "thinking", "thinking": "{thinking}", "signature": "{signature}"}}]"#
            )
        };
        assert_eq!(redacted(&text("I pay.", SECRET)), text("I pay.", SECRET));
        assert_eq!(
            redacted(&text(SECRET, "EqoB")),
            text("[REDACTED:stripe-key]", "")
        );
    }

    #[test]
    fn any_text_is_redacted_without_panic() {
        for text in [
            "",
            "\"",
            "\"\\",
            "{\"a\": \"\\u00",
            "[4111111111111111",
            "ada@example.org",
            "\"ä\\",
            "\"\\uä@example.org\"",
        ] {
            redact(text, Kinds::from_iter(SensitiveKind::ALL));
        }
    }
}
