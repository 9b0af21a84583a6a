//! Converts an app's own kinds of memories, and what it never keeps.

use std::collections::HashSet;

use super::json;
use crate::{
    Invalid, check,
    json::JsonObject,
    limits,
    memory::{KindExample, MemoryKind},
    proto,
};

/// Reads the kinds of an app; none are `None`. Whether a schema can be used, and whether the
/// examples fit it, only the caller knows.
pub(super) fn memory_kinds_from(
    field: &str,
    kinds: Vec<proto::MemoryKind>,
) -> Result<Option<Vec<MemoryKind>>, Invalid> {
    if kinds.len() > limits::MEMORY_KINDS {
        let problem = format!("must be at most {} kinds", limits::MEMORY_KINDS);
        return Err(Invalid::new(field, problem));
    }
    let bytes: usize = kinds.iter().map(prost::Message::encoded_len).sum();
    let mut names = HashSet::new();
    let kinds = kinds.into_iter().enumerate().map(|(index, kind)| {
        let within = |invalid: Invalid| invalid.within(format_args!("{field}[{index}]"));
        let kind = memory_kind_from(kind).map_err(within)?;
        match names.insert(kind.name.clone()) {
            true => Ok(kind),
            false => Err(within(Invalid::new("name", "is that of another kind"))),
        }
    });
    let kinds = kinds.collect::<Result<Vec<_>, Invalid>>()?;
    if bytes > limits::MEMORY_KINDS_BYTES {
        let most = limits::MEMORY_KINDS_BYTES;
        let problem = format!("must have at most {most} bytes together, have {bytes}");
        return Err(Invalid::new(field, problem));
    }
    Ok((!kinds.is_empty()).then_some(kinds))
}

fn memory_kind_from(kind: proto::MemoryKind) -> Result<MemoryKind, Invalid> {
    let proto::MemoryKind {
        name,
        description,
        json_schema,
        examples,
    } = kind;
    if !is_identifier(&name) {
        let most = limits::KIND_NAME_CHARS;
        let problem = format!("must be 1 to {most} of a-z, 0-9 and `_`, beginning with a letter");
        return Err(Invalid::new("name", problem));
    }
    let description = kind_text("description", description)?;
    let json_schema = match json_schema.is_empty() {
        true => json_schema,
        false => {
            let (bytes, depth) = (limits::KIND_SCHEMA_BYTES, limits::KIND_SCHEMA_DEPTH);
            json::storable_object("json_schema", &json_schema, bytes, depth)?;
            json_schema
        }
    };
    if examples.len() > limits::KIND_EXAMPLES {
        let problem = format!("must be at most {} examples", limits::KIND_EXAMPLES);
        return Err(Invalid::new("examples", problem));
    }
    let examples = examples.into_iter().enumerate().map(|(index, example)| {
        let within = |invalid: Invalid| invalid.within(format_args!("examples[{index}]"));
        example_from(example).map_err(within)
    });
    Ok(MemoryKind {
        name,
        description,
        json_schema,
        examples: examples.collect::<Result<_, _>>()?,
    })
}

fn example_from(example: proto::MemoryKindExample) -> Result<KindExample, Invalid> {
    let proto::MemoryKindExample {
        said,
        text,
        attributes,
    } = example;
    Ok(KindExample {
        said: kind_text("said", said)?,
        text: kind_text("text", text)?,
        attributes: attributes_from("attributes", attributes)?.into_text(),
    })
}

fn kind_text(field: &str, text: String) -> Result<String, Invalid> {
    check::required_text(field, text, limits::KIND_TEXT_CHARS)
}

fn is_identifier(name: &str) -> bool {
    let others = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
    name.len() <= limits::KIND_NAME_CHARS
        && name.starts_with(|c: char| c.is_ascii_lowercase())
        && name.bytes().all(others)
}

/// Reads what an app never keeps; nothing is `None`. Each entry is kept once.
pub(super) fn never_keep_from(
    field: &str,
    entries: Vec<String>,
) -> Result<Option<Vec<String>>, Invalid> {
    if entries.len() > limits::NEVER_KEEP {
        let problem = format!("must be at most {} entries", limits::NEVER_KEEP);
        return Err(Invalid::new(field, problem));
    }
    let mut kept = Vec::with_capacity(entries.len());
    for (index, entry) in entries.into_iter().enumerate() {
        let field = format!("{field}[{index}]");
        let entry = check::required_text(&field, entry, limits::NEVER_KEEP_CHARS)?;
        if !entry.chars().any(char::is_alphanumeric) {
            return Err(Invalid::new(field, "must have a letter or a digit"));
        }
        if !kept.contains(&entry) {
            kept.push(entry);
        }
    }
    Ok((!kept.is_empty()).then_some(kept))
}

/// Reads the name of a kind; empty: none. Whether the kind exists, only the app's policy knows.
pub(super) fn kind_name_from(field: &str, name: String) -> Result<String, Invalid> {
    check::text(field, name, limits::KIND_NAME_CHARS)
}

/// Checks that a memory with attributes has a kind.
///
/// # Errors
/// Attributes without a kind.
pub fn attributes_have_kind(kind: &str, attributes: &JsonObject) -> Result<(), Invalid> {
    match kind.is_empty() && !attributes.is_empty() {
        true => Err(Invalid::new("attributes", "require a kind; set kind too")),
        false => Ok(()),
    }
}

/// Reads attributes within their limits.
pub(super) fn attributes_from(field: &str, text: String) -> Result<JsonObject, Invalid> {
    json::object(
        field,
        text,
        limits::ATTRIBUTES_BYTES,
        limits::ATTRIBUTES_DEPTH,
    )
}

impl From<MemoryKind> for proto::MemoryKind {
    fn from(kind: MemoryKind) -> Self {
        let MemoryKind {
            name,
            description,
            json_schema,
            examples,
        } = kind;
        let example = |example: KindExample| proto::MemoryKindExample {
            said: example.said,
            text: example.text,
            attributes: example.attributes,
        };
        Self {
            name,
            description,
            json_schema,
            examples: examples.into_iter().map(example).collect(),
        }
    }
}
