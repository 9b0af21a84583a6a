//! Formats messages as short texts.

use std::fmt::Display;
use std::time::Duration;

use memory_contract::duration_text::format_duration;
use memory_contract::proto::{Message, Part, Role, TextOrigin, part::Content};
use prost_types::Timestamp;
use time::OffsetDateTime;
use time::macros::format_description;

/// A text in one line of at most `width` characters, with `…` where it was cut.
/// Control characters, which could move a terminal's cursor, become spaces.
pub fn one_line(text: &str, width: usize) -> String {
    let mut line = String::new();
    let mut length = 0;
    for word in text
        .split(|c: char| c.is_whitespace() || c.is_control())
        .filter(|word| !word.is_empty())
    {
        if length > 0 {
            line.push(' ');
            length += 1;
        }
        line.push_str(word);
        length += word.chars().count();
        if length > width {
            let cut: String = line.chars().take(width.saturating_sub(1)).collect();
            return format!("{}…", cut.trim_end());
        }
    }
    line
}

/// A text of several lines, each indented. Control characters, which could move a
/// terminal's cursor, become spaces.
pub fn lines(text: &str) -> String {
    let line = |line: &str| format!("   {}", line.replace(char::is_control, " "));
    text.lines().map(line).collect::<Vec<_>>().join("\n")
}

/// A key or an id unchanged, so that it can be copied. Only control characters,
/// which could move a terminal's cursor, are replaced.
pub fn exact(text: &str) -> String {
    text.replace(char::is_control, "\u{fffd}")
}

/// A number of things: `1 message`, `2 messages`.
pub fn count<N: PartialEq + From<u8> + Display>(number: N, what: &str) -> String {
    let plural = if number == N::from(1) { "" } else { "s" };
    format!("{number} {what}{plural}")
}

/// A message as text, its parts separated by spaces.
pub fn text_of(message: &Message) -> String {
    message.parts.iter().map(part).collect::<Vec<_>>().join(" ")
}

fn part(part: &Part) -> String {
    match &part.content {
        None => String::new(),
        // A text of a context may exceed the limit of a message.
        Some(Content::Text(text)) => text.clone(),
        Some(_) => match memory_contract::message::Part::try_from(part.clone()) {
            Ok(part) => match &part.content {
                memory_contract::message::Content::Reasoning(_) => "[reasoning]".to_owned(),
                memory_contract::message::Content::Opaque(opaque) => format!("[{}]", opaque.kind),
                _ => memory_contract::text::of_part(&part).unwrap_or_default(),
            },
            Err(_) => "[unknown]".to_owned(),
        },
    }
}

/// Who wrote a derived text.
pub fn author(origin: TextOrigin, model: &str) -> String {
    match origin {
        TextOrigin::Model => one_line(model, 60),
        TextOrigin::Extractive => "extractive".to_owned(),
        TextOrigin::Caller => "caller".to_owned(),
        TextOrigin::Worker => "worker".to_owned(),
        TextOrigin::Unspecified => "?".to_owned(),
    }
}

/// A role in one word.
pub fn role(role: i32) -> &'static str {
    match Role::try_from(role) {
        Ok(Role::User) => "user",
        Ok(Role::Assistant) => "assistant",
        Ok(Role::System) => "system",
        Ok(Role::Tool) => "tool",
        Ok(Role::Unspecified) | Err(_) => "?",
    }
}

/// A time to the minute, in UTC. Empty for `None`.
pub fn clock(time: Option<&Timestamp>) -> String {
    let minute = format_description!("[year]-[month]-[day] [hour]:[minute]");
    utc(time)
        .and_then(|time| time.format(minute).ok())
        .unwrap_or_default()
}

/// A time to the second, in UTC. Empty for `None`.
pub fn second(time: Option<&Timestamp>) -> String {
    let second = format_description!("[year]-[month]-[day] [hour]:[minute]:[second]");
    utc(time)
        .and_then(|time| time.format(second).ok())
        .unwrap_or_default()
}

fn utc(time: Option<&Timestamp>) -> Option<OffsetDateTime> {
    OffsetDateTime::from_unix_timestamp(time?.seconds).ok()
}

/// A measured time, rounded: `12s`, `1.25s`, `12.3ms`.
pub fn duration(duration: Duration) -> String {
    let unit = match duration.as_millis() {
        10_000.. => Duration::from_secs(1),
        100.. => Duration::from_millis(10),
        _ => Duration::from_micros(100),
    };
    let units = (duration + unit / 2).as_nanos() / unit.as_nanos();
    format_duration(unit * u32::try_from(units).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thing_is_singular() {
        assert_eq!(count(0_usize, "thread"), "0 threads");
        assert_eq!(count(1_i64, "thread"), "1 thread");
        assert_eq!(count(2_u64, "thread"), "2 threads");
    }

    #[test]
    fn keys_are_shown_as_they_are() {
        let key = "thread:a  b/".to_owned() + &"x".repeat(100);
        assert_eq!(exact(&key), key);
        assert_eq!(exact("a\u{1b}[2Jb"), "a\u{fffd}[2Jb");
    }

    #[test]
    fn long_texts_end_in_an_ellipsis_and_never_exceed_the_width() {
        assert_eq!(one_line("short", 10), "short");
        assert_eq!(one_line("two\n  lines\u{1b}[2J", 40), "two lines [2J");
        assert_eq!(one_line("alpha beta gamma", 12), "alpha beta…");
        assert_eq!(one_line("unbreakablewordthatgoeson", 10), "unbreakab…");
        for width in 1..40 {
            let line = one_line("some words, and averyveryverylongword at the end", width);
            assert!(line.chars().count() <= width.max(1), "{width}: {line}");
        }
    }
}
