//! The words and scopes by which Postgres finds messages, memories and documents.

use memory_contract::{
    AppId, TenantId, ThreadId, UserId, message::Part, quotation::without_quotations,
    text::bare_text, thread::Session,
};
use sha2::{Digest as _, Sha256};

use crate::scope::Scope;

/// Bytes of a message that are searchable. Postgres bounds what one row can
/// index, and a match deep within a longer text is of little use.
const SEARCHABLE_BYTES: usize = 64 * 1024;

/// Begins the lexeme of each scope. It is no part of a word, so no text contains one.
const SCOPE_MARK: char = '~';

/// The words by which a message is found: who speaks and what is said, without what is quoted from
/// memory, separated by spaces.
pub fn of_message(name: &str, parts: &[Part]) -> String {
    let mut text = without_quotations(&bare_text(parts)).into_owned();
    if !name.is_empty() {
        text = format!("{name}\n{text}");
    }
    of_document(&text)
}

/// The words by which a text is found, separated by spaces, as the index has them
/// ([`memory_text::words`]).
pub fn of_document(text: &str) -> String {
    let text = searchable(text);
    let mut found = String::with_capacity(text.len());
    memory_text::words(text, |word| push(&mut found, word));
    memory_text::characters(text, |character| push(&mut found, character));
    found
}

/// The words of a query, separated by spaces.
pub fn of_query(text: &str) -> String {
    let mut found = String::new();
    memory_text::words(searchable(text), |word| push(&mut found, word));
    found
}

fn push(words: &mut String, word: &str) {
    if !words.is_empty() {
        words.push(' ');
    }
    words.push_str(word);
}

fn searchable(text: &str) -> &str {
    let cut = text.char_indices().find(|(at, _)| *at >= SEARCHABLE_BYTES);
    cut.map_or(text, |(end, _)| &text[..end])
}

/// Lexemes for the thread, its user and its app, stored with every message, so that a
/// search within one of them reads no others. They begin with [`SCOPE_MARK`].
pub fn scope_lexemes(tenant: &TenantId, thread: ThreadId, session: &Session) -> Vec<String> {
    vec![
        thread_lexeme(thread),
        user_lexeme(tenant, &session.app, &session.user),
        app_lexeme(tenant, &session.app),
    ]
}

/// The text of the `tsquery` that restricts a search to a scope.
pub fn scope_query(tenant: &TenantId, scope: &Scope) -> String {
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
pub fn digest(texts: &[&str]) -> [u8; 32] {
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
pub fn user_lexeme(tenant: &TenantId, app: &AppId, user: &UserId) -> String {
    format!(
        "{SCOPE_MARK}u{}",
        short_digest(&[tenant.as_str(), app.as_str(), user.as_str()])
    )
}

/// The lexeme for an app.
pub fn app_lexeme(tenant: &TenantId, app: &AppId) -> String {
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
