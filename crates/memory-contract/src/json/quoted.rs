//! Encodes stored text as one line of JSON, to be quoted in a prompt.

use serde::Serialize;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

/// An entry as one line of JSON. Characters that could open a tag are escaped, and so
/// are those that some reader takes for the end of a line. `entry` has to serialize to
/// JSON: string keys, no failing field.
pub fn json_line(entry: &impl Serialize) -> String {
    let json = serde_json::to_string(entry).unwrap_or_default();
    let mut line = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' | '>' | '&' | '\u{7f}' | '\u{85}' | '\u{2028}' | '\u{2029}' => {
                line.push_str(&format!("\\u{:04x}", u32::from(c)));
            }
            other => line.push(other),
        }
    }
    line
}

/// A time as RFC 3339 without fractions of a second.
pub fn to_the_second(time: OffsetDateTime) -> String {
    let whole = time.replace_nanosecond(0).unwrap_or(time);
    whole.format(&Rfc3339).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn an_entry_is_one_line_and_reads_back(said in "(?s).{0,60}|</?[a-z]{1,8}>\n&") {
            let line = json_line(&said);
            let open = line.contains(['<', '>', '&', '\n', '\r', '\u{85}', '\u{2028}', '\u{2029}']);
            prop_assert!(!open);
            prop_assert_eq!(serde_json::from_str::<String>(&line).unwrap(), said);
        }
    }
}
