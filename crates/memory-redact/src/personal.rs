//! E-mail addresses and telephone numbers.

use std::{ops::Range, sync::LazyLock};

use regex::{Captures, Regex};

use memory_contract::policy::SensitiveKind;

use crate::hit::Hit;

/// Ends of names of files, which stand behind `@` in `logo@2x.png`.
const FILE_ENDS: [&str; 10] = [
    "png", "jpg", "jpeg", "gif", "webp", "svg", "css", "js", "ts", "html",
];

static EMAILS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"[\p{Latin}0-9][\p{Latin}0-9._%+'-]*@(?:[\p{Latin}0-9][\p{Latin}0-9-]*\.)+[A-Za-z]{2,24}(?-u:\b)",
    )
    .expect("a constant")
});

/// A number with its country code; one of the North American plan; one behind a word for it.
static PHONES: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(concat!(
        r"(?:\+|(?-u:\b)00)(?<international>[1-9][0-9]{0,3}(?:[ .\-/\u{a0}]?(?:\([0-9]{1,5}\)|[0-9]{1,14})){1,8})",
        r"|(?<american>(?:\([2-9][0-9]{2}\) ?|(?-u:\b)[2-9][0-9]{2}[-. ])[1-9][0-9]{2}[-.][0-9]{4})",
        r"|(?i:(?-u:\b)(?:phone|telephone|tel|telefon|teléfono|téléphone|mobile|mobil|handy|cell|fax|whatsapp",
        r"|call(?: me| us| him| her| them)?(?: at| on)?)|電話|电话|手机|手機)",
        r"(?i: ?(?:number|no\.?|nummer|nr\.?|número|numéro|号码|番号))?\.?[*_]{0,2} ?(?:[:=：]| is| ist| est| es|是)?[*_]{0,2}\s?",
        r"(?<named>(?:\([0-9]{1,6}\)|[0-9]{1,14})(?:[ .\-/]?(?:\([0-9]{1,5}\)|[0-9]{1,14})){0,6})",
    ))
    .expect("a constant")
});

/// Adds each e-mail address. Letters are Latin, with accents.
pub(crate) fn emails(text: &str, hits: &mut Vec<Hit>) {
    for address in EMAILS.find_iter(text) {
        let end = address.as_str().rsplit('.').next().unwrap_or_default();
        let remote = address.as_str().starts_with("git@") && text[address.end()..].starts_with(':');
        if !remote && !FILE_ENDS.contains(&end) {
            hits.push(Hit {
                range: address.range(),
                kind: SensitiveKind::Email,
                name: "email",
            });
        }
    }
}

/// Adds each telephone number.
pub(crate) fn phones(text: &str, hits: &mut Vec<Hit>) {
    for found in PHONES.captures_iter(text) {
        if let Some(range) = number(text, &found) {
            hits.push(Hit {
                range,
                kind: SensitiveKind::Phone,
                name: "phone",
            });
        }
    }
}

/// The range of the number in a match, if it is one.
fn number(text: &str, found: &Captures<'_>) -> Option<Range<usize>> {
    let whole = found.get(0)?.range();
    let joins = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '/' | '+' | '=');
    if text[whole.end..].starts_with(joins) {
        return None;
    }
    let before = &text[..whole.start];
    let is_joined = before.ends_with(joins) || before.ends_with(['-', '.']);
    if let Some(number) = found.name("international") {
        (!is_joined && is_international(number.as_str())).then_some(whole)
    } else if found.name("american").is_some() {
        (!is_joined).then_some(whole)
    } else {
        let number = found.name("named")?;
        (6..16)
            .contains(&digits(number.as_str()).len())
            .then_some(number.range())
    }
}

fn digits(number: &str) -> String {
    number.chars().filter(char::is_ascii_digit).collect()
}

/// Whether a number behind `+` has 8 to 15 digits, and behind +1 ten.
fn is_international(number: &str) -> bool {
    let digits = digits(number);
    match digits.strip_prefix('1') {
        Some(rest) => rest.len() == 10 && !rest.starts_with(['0', '1']),
        None => (8..16).contains(&digits.len()),
    }
}
