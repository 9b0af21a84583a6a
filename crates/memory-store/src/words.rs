//! Converts text into words for text search, alike for messages and queries.

use std::borrow::Cow;

use memory_contract::{AppId, Part, Session, TenantId, ThreadId, UserId, text_of_parts};
use sha2::{Digest as _, Sha256};
use unicode_normalization::UnicodeNormalization as _;

use crate::scope::Scope;

/// Bytes of a message that are searchable. Postgres bounds what one row can
/// index, and a match deep within a longer text is of little use.
const SEARCHABLE_BYTES: usize = 64 * 1024;

/// Begins the lexeme of each scope. [`prepare`] removes it, so that no text contains one.
const SCOPE_MARK: char = '~';

/// The searchable text of a message: who speaks and what is said.
pub(crate) fn of_message(name: &str, parts: &[Part]) -> String {
    let mut text = text_of_parts(parts);
    if !name.is_empty() {
        text = format!("{name}\n{text}");
    }
    prepare(&text)
}

/// Normalizes text before Postgres splits it into words: compatibility forms of a
/// character become one (NFKC), letters lower case, and scripts without spaces between
/// words are cut into characters and pairs of adjacent ones.
pub(crate) fn prepare(text: &str) -> String {
    let text = match text.char_indices().find(|(at, _)| *at >= SEARCHABLE_BYTES) {
        Some((end, _)) => &text[..end],
        None => text,
    };
    let text = if text.is_ascii() {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(text.nfkc().collect::<String>())
    };
    let mut prepared = String::with_capacity(text.len());
    let mut before: Option<char> = None;
    for c in text.to_lowercase().chars() {
        if !is_unspaced(c) {
            if before.take().is_some() {
                prepared.push(' ');
            }
            // Postgres text cannot contain NUL; other control characters separate
            // words, as does what begins the lexeme of a scope.
            let separates = c.is_control() || c == SCOPE_MARK;
            prepared.push(if separates { ' ' } else { c });
            continue;
        }
        prepared.push(' ');
        if let Some(before) = before {
            prepared.extend([before, c, ' ']);
        }
        prepared.push(c);
        before = Some(c);
    }
    prepared
}

/// Whether a character belongs to a script written without spaces: Han, Kana,
/// Hangul (whose particles cling to the word), Thai, Lao, Khmer, Burmese.
fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{0E01}'..='\u{0EDF}' | '\u{1000}'..='\u{109F}' | '\u{1780}'..='\u{17DD}'
        | '\u{3005}'..='\u{3007}' | '\u{3041}'..='\u{30FF}' | '\u{3400}'..='\u{4DBF}'
        | '\u{4E00}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7A3}' | '\u{F900}'..='\u{FAFF}'
        | '\u{20000}'..='\u{323AF}')
}

/// Lexemes for the thread, its user and its app, stored with every message, so that a
/// search within one of them reads no others. They begin with [`SCOPE_MARK`].
pub(crate) fn scope_lexemes(tenant: &TenantId, thread: ThreadId, session: &Session) -> Vec<String> {
    vec![
        thread_lexeme(thread),
        user_lexeme(tenant, &session.app, &session.user),
        app_lexeme(tenant, &session.app),
    ]
}

/// The text of the `tsquery` that restricts a search to a scope.
pub(crate) fn scope_query(tenant: &TenantId, scope: &Scope) -> String {
    let lexemes = match scope {
        Scope::Thread(thread) => vec![thread_lexeme(*thread)],
        Scope::User { app, user } => vec![user_lexeme(tenant, app, user)],
        Scope::App(app) => vec![app_lexeme(tenant, app)],
        Scope::Space { user, space } => {
            let apps = space.apps.iter();
            apps.map(|app| user_lexeme(tenant, app, user)).collect()
        }
    };
    let lexemes: Vec<String> = lexemes.iter().map(|one| format!("'{one}'")).collect();
    lexemes.join(" | ")
}

/// A digest of several texts; other texts give another digest.
pub(crate) fn digest(texts: &[&str]) -> [u8; 32] {
    let mut hasher = Sha256::new();
    for text in texts {
        hasher.update((text.len() as u64).to_be_bytes());
        hasher.update(text.as_bytes());
    }
    hasher.finalize().into()
}

fn thread_lexeme(thread: ThreadId) -> String {
    format!("{SCOPE_MARK}t{}", thread.uuid().simple())
}

/// The lexeme for a user of an app.
pub(crate) fn user_lexeme(tenant: &TenantId, app: &AppId, user: &UserId) -> String {
    format!(
        "{SCOPE_MARK}u{}",
        short_digest(&[tenant.as_str(), app.as_str(), user.as_str()])
    )
}

/// The lexeme for an app.
pub(crate) fn app_lexeme(tenant: &TenantId, app: &AppId) -> String {
    format!(
        "{SCOPE_MARK}a{}",
        short_digest(&[tenant.as_str(), app.as_str()])
    )
}

/// 128 bits, as hexadecimal digits.
fn short_digest(texts: &[&str]) -> String {
    hex::encode(&digest(texts)[..16])
}

#[cfg(test)]
mod tests;
