//! Secrets of any form, known by what stands in front of them: assignments, headers, options of
//! commands and URLs.

use crate::table::{Row, after, distinct_bytes};

/// Shorter values are not secrets, longer ones are no passwords or keys.
const LENGTH: std::ops::RangeInclusive<usize> = 8..=512;
/// Different bytes that a secret has at least.
const MIN_DISTINCT: usize = 5;
/// Letters in which the case of a secret without digits changes once at least.
const LETTERS_PER_CHANGE: usize = 5;
/// Digits that a name in code, or a path, has at most in one of its words.
const DIGITS_OF_WORDS: usize = 2;

/// Words that name a password, of several languages.
const PASSWORDS: &[&str] = &[
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "pwd",
    "passwort",
    "kennwort",
    "contraseña",
    "mot de passe",
    "senha",
    "пароль",
    "密码",
    "密碼",
    "口令",
    "パスワード",
    "비밀번호",
    "كلمة المرور",
];
/// Words that name another secret.
const KEYS: &[&str] = &[
    "secret",
    "token",
    "api key",
    "api-key",
    "api_key",
    "apikey",
    "access key",
    "access-key",
    "access_key",
    "accesskey",
    "auth_key",
    "private_key",
    "encryption_key",
    "signing_key",
    "credential",
    "密钥",
    "密鑰",
];
/// Options of commands that take a secret.
const OPTIONS: &[&str] = &[
    "--token ",
    "--auth-token ",
    "--access-token ",
    "--secret ",
    "--client-secret ",
    "--api-key ",
    "--apikey ",
    "--access-key ",
    "--secret-key ",
];

/// The rest of a name, such as `_access_key` or `Prod`, and a quote that closes it.
macro_rules! rest_of_name {
    () => {
        concat!(
            r"(?:[_.-][A-Za-z0-9_.-]{0,30}|[A-Z][A-Za-z0-9_]{0,30}|\d{1,2})?",
            r#"(?:\\*["'`]\]?|[*_]{1,3})?"#
        )
    };
}

/// What joins a name and its value: an operator, or a verb of prose.
macro_rules! joint {
    () => {
        concat!(
            r"(?:\s{0,8}(?::=|=>|->|\|\||=|:|：|→|>|\|)",
            r"|\s{1,3}(?:is|was|ist|war|lautet|est|es|era|é|è)(?: now| still| jetzt)?:?\s",
            r"|\s?(?:是|为|為|は|는|은))"
        )
    };
}

/// A value, and what opens it.
macro_rules! value {
    () => {
        concat!(
            r#"\*{0,3}\s{0,8}(?:str\s?=\s?|string\s?=\s?)?\\*["'`“„«「]?"#,
            r"([\p{Latin}\p{Cyrillic}\p{Greek}0-9!\#$%&*+./:=?@^_~-]{8,513})"
        )
    };
}

/// One row a context. Names and words match in any case.
#[rustfmt::skip]
pub(crate) const CONTEXTS: &[Row] = &[
    after("url-password", &["://", r":\/\/"], r#"[^\s/?\#@:"'`<>()\[\]{}]*:([^\s/?\#"'`<>()\[\]{}]+)@[A-Za-z0-9\[_]"#, is_written_out, "RFC 3986"),
    after("azure-key", &["AccountKey=", "SharedAccessKey="], r"([A-Za-z0-9+/%]{40,}={0,2})", is_any, "kingfisher"),
    after("azure-signature", &["?sig=", "&sig="], r"([A-Za-z0-9+/%=]{40,})", is_any, "public examples"),
    after("aws-secret-key", &["secret"], concat!(rest_of_name!(), joint!(), r#"\s{0,8}\\*["'`]?([A-Za-z0-9+/]{40})(?:[^A-Za-z0-9+/=]|$)"#), is_mixed, "kingfisher"),
    after("aws-secret-key", &["AKIA", "ASIA"], r#"[A-Z2-7]{16}["']?[\s,:;|]{1,4}["']?([A-Za-z0-9+/]{40})(?:[^A-Za-z0-9+/=]|$)"#, is_mixed, "kingfisher"),
    after("authorization", &["authorization"], r#"\\*["'`]?\s?[:=,]\s?\\*["'`]?(?:(?i:bearer|basic|token|apikey|bot)\s{1,3})?([A-Za-z0-9._~+/-]{8,}={0,2})"#, is_mixed, "RFC 9110"),
    after("authorization", &["bearer "], r"([A-Za-z0-9._~+/-]{16,}={0,2})", is_random, "RFC 9110"),
    after("command-password", &["curl -u ", " --user "], r#"["']?[\w.@-]{1,64}:([^\s"'`<>(){}\[\]|\\]{6,})"#, is_written_out, "gitleaks"),
    after("assigned-secret", OPTIONS, value!(), is_random, "gitleaks"),
    after("assigned-secret", PASSWORDS, concat!(rest_of_name!(), "(?:", joint!(), r"|\s{1,3})", value!()), is_random, "gitleaks"),
    after("assigned-secret", KEYS, concat!(rest_of_name!(), joint!(), value!()), is_random, "gitleaks"),
];

fn is_any(_: &str) -> bool {
    true
}

/// Whether a text is a value itself, and not a place for one (`${PASSWORD}`, `****`, `%s`,
/// `your_password`).
fn is_written_out(text: &str) -> bool {
    let lower = text.to_ascii_lowercase();
    let names_itself = ["password", "passwd", "pass", "pwd"]
        .iter()
        .any(|name| lower.ends_with(name));
    !text.starts_with(['$', '%', '{', '<']) && distinct_bytes(text) > 1 && !names_itself
}

/// Whether a text has letters of both cases, or letters and digits.
fn is_mixed(text: &str) -> bool {
    let lower = text.contains(char::is_lowercase);
    let upper = text.contains(char::is_uppercase);
    (lower && upper) || ((lower || upper) && text.contains(|c: char| c.is_ascii_digit()))
}

/// Whether a text was not written as a word, a name, a path, a date or a place for a value: its
/// letters are mixed with digits, or change their case, as those of keys and passwords do.
fn is_random(text: &str) -> bool {
    let text = text.trim_end_matches(['.', ':', '?', '*', '_']);
    if !LENGTH.contains(&text.len()) || distinct_bytes(text) < MIN_DISTINCT || !is_mixed(text) {
        return false;
    }
    let place = text.starts_with(['$', '%', '@', '#']) || text.contains("...");
    if place || text.contains("://") || is_date(text) || is_words(text) {
        return false;
    }
    text.contains(|c: char| c.is_ascii_digit())
        || changes_of_case(text) * LETTERS_PER_CHANGE >= text.len() && !is_camel_case(text)
}

/// How often a small letter stands beside a capital.
fn changes_of_case(text: &str) -> usize {
    let pairs = text.as_bytes().windows(2);
    pairs
        .filter(|pair| {
            (pair[0].is_ascii_lowercase() && pair[1].is_ascii_uppercase())
                || (pair[0].is_ascii_uppercase() && pair[1].is_ascii_lowercase())
        })
        .count()
}

/// Whether a text is a name in code such as `PasswordField`: no capital soon follows another.
fn is_camel_case(text: &str) -> bool {
    let capitals: Vec<usize> = text
        .match_indices(char::is_uppercase)
        .map(|(at, _)| at)
        .collect();
    text.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && capitals.windows(2).all(|pair| pair[1] - pair[0] > 2)
}

/// Whether a text is a path or a name of several words (`process.env.KEY_2`, `web-tls-v2`).
fn is_words(text: &str) -> bool {
    let separators = ['/', '.', '-', '_', ':'];
    let is_word = |word: &str| {
        let letters = word.trim_end_matches(|c: char| c.is_ascii_digit());
        let digits = word.len() - letters.len();
        digits <= DIGITS_OF_WORDS
            && letters.chars().all(char::is_alphabetic)
            && (changes_of_case(letters) < 2 || is_camel_case(letters))
    };
    text.contains(separators) && text.split(separators).all(is_word)
}

/// Whether a text starts with a year and a month, as dates do.
fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 8
        && bytes[..4].iter().all(u8::is_ascii_digit)
        && matches!(bytes[4], b'-' | b'/' | b'.')
        && bytes[5..7].iter().all(u8::is_ascii_digit)
}
