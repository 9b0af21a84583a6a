//! Redacts JSON texts. Only the strings, names and numbers that have a hit change.

use std::{collections::HashSet, ops::Range};

use memory_redact::{Kinds, find, redact as redact_plain};
use serde::de::IgnoredAny;

/// Names of values in a provider's own parts that the provider compares or decrypts.
const KEPT: [&str; 6] = [
    "data",
    "encrypted_content",
    "id",
    "signature",
    "thoughtSignature",
    "thought_signature",
];
/// JSON in a string of JSON, such as the arguments of a call in a logged body, is redacted as JSON,
/// this often.
const DEPTH: usize = 4;

/// The names of what was found.
type Names = Vec<&'static str>;

/// Replaces what a text has of the kinds: as JSON if it is JSON, or else as any text. `opaque`: it is
/// a provider's own part.
pub(super) fn redact(text: &str, kinds: Kinds, opaque: bool) -> (String, Names) {
    Redaction { kinds, opaque }.text(text, 0)
}

#[derive(Clone, Copy)]
struct Redaction {
    kinds: Kinds,
    opaque: bool,
}

/// A string or number of a JSON text.
#[derive(Clone, Debug)]
struct Token<'a> {
    /// Its bytes, without the quotes of a string.
    range: Range<usize>,
    is_string: bool,
    is_key: bool,
    /// The name that stands before it.
    key: &'a str,
}

impl Redaction {
    fn text(self, text: &str, depth: usize) -> (String, Names) {
        if !is_json(text) {
            let (redacted, hits) = redact_plain(text, self.kinds);
            let names = hits.into_iter().map(|hit| hit.name).collect();
            return (redacted.into_owned(), names);
        }
        // What escapes hide is found in the strings that they stand for, what a name tells in the
        // text as it is written.
        let (text, mut names) = self.meant(text, depth);
        let (text, more) = self.written(&text);
        names.extend(more);
        match names.is_empty() {
            true => (text, names),
            false => (with_different_keys(&text), names),
        }
    }

    fn keeps(self, token: &Token<'_>) -> bool {
        self.opaque && KEPT.contains(&token.key)
    }

    /// Redacts strings that have escapes, or are JSON themselves.
    fn meant(self, text: &str, depth: usize) -> (String, Names) {
        let mut names = Vec::new();
        let text = edit(text, |token| {
            let raw = &text[token.range.clone()];
            let escaped = raw.contains('\\');
            if !token.is_string || self.keeps(token) || !(escaped || looks_nested(raw)) {
                return None;
            }
            let string = unescaped(raw);
            let (redacted, found) = match depth < DEPTH && is_nested(&string) {
                true => self.text(&string, depth + 1),
                false if escaped => {
                    let (redacted, hits) = redact_plain(&string, self.kinds);
                    let names = hits.into_iter().map(|hit| hit.name).collect();
                    (redacted.into_owned(), names)
                }
                false => return None,
            };
            if found.is_empty() {
                return None;
            }
            names.extend(found);
            let quoted = serde_json::Value::from(redacted).to_string();
            Some(quoted[1..quoted.len() - 1].to_owned())
        });
        (text, names)
    }

    /// Redacts the text as it is written. A hit that extends over several strings covers its part of
    /// each.
    fn written(self, text: &str) -> (String, Names) {
        let hits = find(text, self.kinds);
        let mut next = 0;
        let mut names = Vec::new();
        let edited = edit(text, |token| {
            let Range { start, end } = token.range;
            while hits.get(next).is_some_and(|hit| hit.range.end <= start) {
                next += 1;
            }
            let own = hits[next..].iter().take_while(|hit| hit.range.start < end);
            let raw = &text[start..end];
            let nested = || looks_nested(raw) && is_nested(&unescaped(raw));
            if own.clone().next().is_none() || self.keeps(token) || nested() {
                return None;
            }
            let mut escapes = Escapes { raw, at: 0 };
            let (mut redacted, mut copied) = (String::new(), 0);
            for hit in own {
                let from = hit.range.start.saturating_sub(start);
                let Range {
                    start: from,
                    end: to,
                } = escapes.around(from..(hit.range.end.min(end) - start));
                redacted.push_str(&raw[copied.min(from)..from]);
                redacted.push_str(&format!("[REDACTED:{}]", hit.name));
                copied = to;
                names.push(hit.name);
            }
            redacted.push_str(&raw[copied..]);
            // A number becomes a string.
            Some(match token.is_string {
                true => redacted,
                false => format!("\"{redacted}\""),
            })
        });
        (edited, names)
    }
}

/// The escapes of a string, from its start to its end.
struct Escapes<'a> {
    raw: &'a str,
    /// Where the next one, or the next byte, begins.
    at: usize,
}

impl Escapes<'_> {
    /// The range, extended so that it cuts no escape in two. Ranges come in order.
    fn around(&mut self, range: Range<usize>) -> Range<usize> {
        let bytes = self.raw.as_bytes();
        let Range { mut start, mut end } = range;
        while self.at < end {
            let length = match (bytes[self.at], bytes.get(self.at + 1)) {
                (b'\\', Some(b'u')) => 6,
                (b'\\', Some(_)) => 2,
                _ => 1,
            };
            let next = (self.at + length).min(bytes.len());
            if self.at < start && start < next {
                start = self.at;
            }
            if end < next {
                end = next;
            }
            self.at = next;
        }
        self.raw.floor_char_boundary(start)..self.raw.ceil_char_boundary(end)
    }
}

fn is_json(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Whether a text is a JSON object or array.
fn is_nested(text: &str) -> bool {
    looks_nested(text) && is_json(text)
}

fn looks_nested(text: &str) -> bool {
    text.trim_start().starts_with(['{', '['])
}

/// The string that is written with escapes. A half surrogate becomes U+FFFD.
fn unescaped(raw: &str) -> String {
    if let Ok(string) = serde_json::from_str(&format!("\"{raw}\"")) {
        return string;
    }
    let mut units = Vec::with_capacity(raw.len());
    let mut chars = raw.chars();
    while let Some(char) = chars.next() {
        let meant = match (char, if char == '\\' { chars.next() } else { None }) {
            (_, Some('u')) => {
                let digits: String = chars.by_ref().take(4).collect();
                units.push(u16::from_str_radix(&digits, 16).unwrap_or(0xfffd));
                continue;
            }
            (_, Some('n' | 'r' | 't' | 'b' | 'f')) => ' ',
            (_, Some(escaped)) => escaped,
            (plain, None) => plain,
        };
        units.extend_from_slice(meant.encode_utf16(&mut [0; 2]));
    }
    String::from_utf16_lossy(&units)
}

/// The text, in which names that were replaced alike differ by a number: no value gets lost.
fn with_different_keys(text: &str) -> String {
    let mut seen = HashSet::new();
    edit(text, |token| {
        let name = &text[token.range.clone()];
        if !token.is_key || !name.contains("[REDACTED:") {
            return None;
        }
        let mut different = name.to_owned();
        let mut number = 1;
        while !seen.insert(different.clone()) {
            number += 1;
            different = format!("{name} {number}");
        }
        (number > 1).then_some(different)
    })
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
        let token = |range, is_string| Token {
            range,
            is_string,
            is_key: false,
            key,
        };
        match bytes[at] {
            b'"' => {
                at += 1;
                while at < bytes.len() && bytes[at] != b'"' {
                    at += if bytes[at] == b'\\' { 2 } else { 1 };
                }
                tokens.push(token(start + 1..at.min(bytes.len()), true));
                at += 1;
            }
            b'-' | b'0'..=b'9' => {
                let continues = |byte: u8| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte);
                while at < bytes.len() && continues(bytes[at]) {
                    at += 1;
                }
                tokens.push(token(start..at, false));
            }
            b':' => {
                if let Some(name) = tokens.last_mut() {
                    name.is_key = true;
                    key = &text[name.range.clone()];
                }
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
    use std::time::{Duration, Instant};

    use memory_contract::policy::SensitiveKind;
    use serde_json::{Value, json};

    use super::*;

    /// A key of a provider, in two parts: scanners of source code look for whole ones.
    const SECRET: &str = concat!("sk_live_", "51Hq8ZtKq3vGd7Yw2nRbXc4Lm");

    fn redacted(text: &str) -> String {
        let (redacted, names) = redact(text, Kinds::from_iter(SensitiveKind::ALL), false);
        assert_eq!(names.is_empty(), redacted == text, "{names:?}: {redacted}");
        redacted
    }

    #[test]
    fn all_but_what_was_found_stays_as_it_is() {
        let text = |found: &str| {
            let rest = r#""n":1.50,	"b" :[true, "\u00e4\/"], "big": 12345678901234567890123"#;
            format!("{{ {rest}, \"c\": \"{found}\" }}")
        };
        assert_eq!(redacted(&text("nothing")), text("nothing"));
        assert_eq!(redacted(&text(SECRET)), text("[REDACTED:stripe-key]"));
    }

    #[test]
    fn names_tell_what_is_secret_and_escapes_hide_nothing() {
        for (text, expected) in [
            (
                r#"{"user": "ada", "password": "hunter2Xk9", "port": 5432}"#,
                r#"{"user": "ada", "password": "[REDACTED:assigned-secret]", "port": 5432}"#,
            ),
            (
                r#"["a\u0040example.org", "to: \tb@example.org\n"]"#,
                r#"["[REDACTED:email]", "to: \t[REDACTED:email]\n"]"#,
            ),
            (
                r#"["postgres:\/\/app:Xk93hTq2@db\/app"]"#,
                r#"["postgres://app:[REDACTED:url-password]@db/app"]"#,
            ),
            (
                r#"{"m": "\ud800 ada\u0040example.org"}"#,
                "{\"m\": \"\u{fffd} [REDACTED:email]\"}",
            ),
            (
                r#"{"card": 4111111111111111, "n": -1e5}"#,
                r#"{"card": "[REDACTED:card]", "n": -1e5}"#,
            ),
            (
                r#"{"signature": "ada@example.org"}"#,
                r#"{"signature": "[REDACTED:email]"}"#,
            ),
            (
                r#"{"a@example.org": 1, "b@example.org": 2}"#,
                r#"{"[REDACTED:email]": 1, "[REDACTED:email] 2": 2}"#,
            ),
            ("{'to': 'ada@example.org'}", "{'to': '[REDACTED:email]'}"),
        ] {
            assert_eq!(redacted(text), expected);
        }
    }

    #[test]
    fn json_within_json_stays_json() {
        let inner = json!({ "token": SECRET, "card": 4_111_111_111_111_111_u64, "say": "\"hi\"" });
        let text = json!([{ "arguments": inner.to_string() }]).to_string();
        let outer: Value = serde_json::from_str(&redacted(&text)).unwrap();
        let inner: Value = serde_json::from_str(outer[0]["arguments"].as_str().unwrap()).unwrap();
        let expected =
            json!({ "token": "[REDACTED:stripe-key]", "card": "[REDACTED:card]", "say": "\"hi\"" });
        assert_eq!(inner, expected);
    }

    #[test]
    fn a_key_in_several_strings_is_found_in_each() {
        let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";
        let lines = [
            "-----BEGIN PRIVATE KEY-----",
            line,
            line,
            "-----END PRIVATE KEY-----",
        ];
        let text = redacted(&lines.join("\\n").replace('\n', ""));
        assert!(!text.contains(line), "{text}");
        let text = redacted(&json!({ "lines": lines.join("\n") }).to_string());
        assert!(!text.contains(line), "{text}");
    }

    #[test]
    fn a_providers_own_part_keeps_what_the_provider_checks() {
        let part = json!({ "type": "document", "signature": SECRET, "text": SECRET }).to_string();
        let (redacted, _) = redact(&part, Kinds::from_iter(SensitiveKind::ALL), true);
        let redacted: Value = serde_json::from_str(&redacted).unwrap();
        assert_eq!(redacted["signature"], SECRET);
        assert_eq!(redacted["text"], "[REDACTED:stripe-key]");
    }

    #[test]
    fn the_time_grows_with_the_text_alone() {
        let time = |count: usize| {
            let text = json!({ "a": "a\tb@example.org ".repeat(count) }).to_string();
            let begin = Instant::now();
            redacted(&text);
            begin.elapsed()
        };
        time(10);
        let (short, long) = (time(500), time(16_000));
        assert!(
            long < short * 32 * 6 + Duration::from_secs(1),
            "{short:?}, {long:?}"
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
            "{\"a\": \"\\ud83d\\ude00 ä@example.org\"}",
        ] {
            redact(text, Kinds::from_iter(SensitiveKind::ALL), false);
        }
    }
}
