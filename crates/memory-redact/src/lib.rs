#![doc = include_str!("../README.md")]

mod context;
mod hit;
mod numbers;
mod personal;
#[cfg(test)]
mod planted;
mod providers;
mod table;

use std::{borrow::Cow, sync::LazyLock};

pub use hit::{Hit, Kinds};
use memory_contract::policy::SensitiveKind;

use table::Table;

static PROVIDERS: LazyLock<Table> = LazyLock::new(|| Table::new(providers::PROVIDERS, false));
static CONTEXTS: LazyLock<Table> = LazyLock::new(|| Table::new(context::CONTEXTS, true));

/// How often a text is searched again for what only its hits separate from other words.
const ROUNDS: usize = 8;

/// A form that is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Form {
    /// The name of its hits. Several forms may share one.
    pub name: &'static str,
    /// The kind of its hits.
    pub kind: SensitiveKind,
    /// Where it is described.
    pub source: &'static str,
}

/// Finds what a text has of the kinds, in order and without overlap. Where two secrets overlap, the
/// hit covers both; where two kinds overlap, the one that [`SensitiveKind`] lists first stays.
///
/// The time grows linearly with the text.
pub fn find(text: &str, kinds: Kinds) -> Vec<Hit> {
    let mut hits = without_overlaps(scan(text, kinds));
    for _ in 0..ROUNDS {
        if hits.is_empty() {
            break;
        }
        let more = scan(&masked(text, &hits), kinds);
        if more.is_empty() {
            break;
        }
        hits.extend(more);
        hits = without_overlaps(hits);
    }
    hits
}

/// Replaces what [`find`] finds by `[REDACTED:name]`, and returns the hits with their ranges in the
/// given text. A second call changes nothing.
pub fn redact(text: &str, kinds: Kinds) -> (Cow<'_, str>, Vec<Hit>) {
    let hits = find(text, kinds);
    if hits.is_empty() {
        return (Cow::Borrowed(text), hits);
    }
    let mut redacted = String::with_capacity(text.len());
    let mut copied = 0;
    for Hit { range, name, .. } in &hits {
        redacted.push_str(&text[copied..range.start]);
        redacted.push_str("[REDACTED:");
        redacted.push_str(name);
        redacted.push(']');
        copied = range.end;
    }
    redacted.push_str(&text[copied..]);
    (Cow::Owned(redacted), hits)
}

/// All forms that are looked for, in the order of the kinds.
pub fn forms() -> impl Iterator<Item = Form> {
    let rows = providers::PROVIDERS.iter().chain(context::CONTEXTS);
    let secrets = rows.map(|row| (row.name, SensitiveKind::Secret, row.source));
    let others = [
        ("card", SensitiveKind::Card, "ISO/IEC 7812"),
        ("iban", SensitiveKind::Card, "ISO 13616"),
        ("email", SensitiveKind::Email, "RFC 5321"),
        ("phone", SensitiveKind::Phone, "ITU-T E.164"),
    ];
    secrets
        .chain(others)
        .map(|(name, kind, source)| Form { name, kind, source })
}

fn scan(text: &str, kinds: Kinds) -> Vec<Hit> {
    let mut hits = Vec::new();
    if kinds.contains(SensitiveKind::Secret) {
        PROVIDERS.find(text, &mut hits);
        CONTEXTS.find(text, &mut hits);
    }
    if kinds.contains(SensitiveKind::Card) {
        numbers::cards(text, &mut hits);
        numbers::accounts(text, &mut hits);
    }
    if kinds.contains(SensitiveKind::Email) {
        personal::emails(text, &mut hits);
    }
    if kinds.contains(SensitiveKind::Phone) {
        personal::phones(text, &mut hits);
    }
    hits
}

/// The text with brackets in the place of hits. What touches a hit begins or ends there once the
/// hit is replaced.
fn masked(text: &str, hits: &[Hit]) -> String {
    let mut masked = String::with_capacity(text.len());
    for Hit { range, .. } in hits {
        masked.push_str(&text[masked.len()..range.start]);
        masked.extend(std::iter::repeat_n('[', range.len()));
    }
    masked.push_str(&text[masked.len()..]);
    masked
}

fn without_overlaps(mut hits: Vec<Hit>) -> Vec<Hit> {
    hits.sort_by_key(|hit| (hit.range.start, hit.kind));
    let mut kept: Vec<Hit> = Vec::with_capacity(hits.len());
    for hit in hits {
        match kept.last_mut() {
            Some(last) if hit.range.start < last.range.end => {
                if hit.kind == SensitiveKind::Secret && last.kind == SensitiveKind::Secret {
                    last.range.end = last.range.end.max(hit.range.end);
                } else if hit.kind < last.kind {
                    *last = hit;
                }
            }
            _ => kept.push(hit),
        }
    }
    kept
}
