//! Reads documents and searches for them.

use std::collections::HashSet;

use memory_agent_contract::document::{
    DocumentCondition, DocumentName, DocumentQuery, NamespaceQuery, NewDocument,
};
use memory_agent_contract::memory_file::RESERVED;
use memory_contract::{
    Fields, Invalid, InvalidFields, check,
    convert::{duration_in, storable, storable_object},
    limits,
    page::page_size,
    proto,
};
use serde_json::Value;

/// Reads documents to store.
///
/// # Errors
/// No document or too many, a name that occurs twice, and values over their limits.
pub(super) fn documents_from(
    field: &str,
    documents: Vec<proto::DocumentInput>,
) -> Result<Vec<NewDocument>, InvalidFields> {
    let read = entries(field, documents, |document| {
        not_reserved("namespace", &document.namespace)?;
        document_from(document)
    })?;
    unique(field, read.iter().map(|document| &document.name))?;
    Ok(read)
}

/// Reads a document of an export.
///
/// # Errors
/// Values over their limits.
pub(super) fn exported_document_from(
    document: proto::ExportedDocument,
) -> Result<NewDocument, InvalidFields> {
    let proto::ExportedDocument {
        app_id: _,
        user_id: _,
        namespace,
        key,
        json,
        ttl,
        indexed_text,
    } = document;
    let mut fields = Fields::default();
    let document = fields.get(document_from(proto::DocumentInput {
        namespace,
        key,
        json,
        ttl,
        index_fields: Vec::new(),
    }));
    let text = check::text("indexed_text", indexed_text, limits::INDEXED_CHARS);
    let text = Some(fields.take(text)).filter(|text| !text.is_empty());
    fields.all(document.map(|document| NewDocument { text, ..document }))
}

/// Reads names of documents.
///
/// # Errors
/// No name or too many, and values over their limits.
pub(super) fn document_names_from(
    field: &str,
    names: Vec<proto::DocumentRef>,
) -> Result<Vec<DocumentName>, InvalidFields> {
    entries(field, names, |name| {
        not_reserved("namespace", &name.namespace)?;
        name_from(name.namespace, name.key)
    })
}

/// Reads a search, without its page token.
///
/// # Errors
/// Values over their limits.
pub(super) fn document_query_from(
    request: proto::SearchDocumentsRequest,
) -> Result<DocumentQuery, InvalidFields> {
    let proto::SearchDocumentsRequest {
        user: _,
        namespace_prefix,
        conditions,
        query,
        page_size,
        page_token: _,
        skip,
        refresh_ttl,
    } = request;
    let mut fields = Fields::default();
    let most = limits::DOCUMENT_CONDITIONS;
    if conditions.len() > most {
        let problem = format!("must have at most {most} entries");
        fields.take(Err::<(), _>(Invalid::new("conditions", problem)));
    }
    let conditions = conditions.into_iter().take(most).enumerate();
    let conditions = conditions
        .filter_map(|(index, condition)| {
            let read = condition_from(condition);
            fields.get(read.map_err(|problem| problem.within(format_args!("conditions[{index}]"))))
        })
        .collect();
    let text = fields.take(check::text("query", query, limits::DOCUMENT_QUERY_CHARS));
    let skipped = match text.trim().is_empty() {
        true => limits::FOUND_OFFSET_MAX,
        false => limits::MATCHED_OFFSET_MAX,
    };
    let query = DocumentQuery {
        prefix: fields.take(prefix_from("namespace_prefix", namespace_prefix)),
        conditions,
        text,
        limit: fields.take(limit_from(page_size)),
        offset: fields.take(count_from("skip", skip, skipped)),
        refresh: refresh_ttl,
        room: i64::try_from(limits::ANSWER_BYTES).unwrap_or(i64::MAX),
    };
    fields.all(Some(query))
}

/// Reads which namespaces to list, without the page token.
///
/// # Errors
/// Values over their limits.
pub(super) fn namespace_query_from(
    request: proto::ListNamespacesRequest,
) -> Result<NamespaceQuery, InvalidFields> {
    let proto::ListNamespacesRequest {
        user: _,
        prefix,
        suffix,
        max_depth,
        page_size,
        page_token: _,
        skip,
    } = request;
    let mut fields = Fields::default();
    let deepest = i32::try_from(limits::NAMESPACE_LABELS).unwrap_or(i32::MAX);
    let depth = max_depth
        .map(|depth| check::range("max_depth", depth, 1, deepest).map(i32::unsigned_abs))
        .transpose();
    let query = NamespaceQuery {
        prefix: fields.take(prefix_from("prefix", prefix)),
        suffix: fields.take(labels_from("suffix", suffix)),
        depth: fields.take(depth),
        limit: fields.take(limit_from(page_size)),
        offset: fields.take(count_from("skip", skip, limits::FOUND_OFFSET_MAX)),
    };
    fields.all(Some(query))
}

fn document_from(document: proto::DocumentInput) -> Result<NewDocument, Invalid> {
    let proto::DocumentInput {
        namespace,
        key,
        json,
        ttl,
        index_fields,
    } = document;
    let name = name_from(namespace, key)?;
    let value = storable_object(
        "json",
        &json,
        limits::DOCUMENT_BYTES,
        limits::DOCUMENT_DEPTH,
    )?;
    let ttl = duration_in("ttl", ttl, limits::TTL_MIN, limits::TTL_MAX)?;
    if index_fields.len() > limits::INDEX_FIELDS {
        let problem = format!("must have at most {} entries", limits::INDEX_FIELDS);
        return Err(Invalid::new("index_fields", problem));
    }
    let mut texts = Vec::new();
    for (index, path) in index_fields.iter().enumerate() {
        let field = format!("index_fields[{index}]");
        check::required_bytes(&field, path, limits::INDEX_FIELD_BYTES)?;
        let steps = steps_of(path).ok_or_else(|| {
            Invalid::new(
                &field,
                "must be `$` or a path such as `a.b`, `a[0]`, `a[*].b`",
            )
        })?;
        texts_at(&value, &steps, &mut texts);
    }
    let text: String = texts
        .join("\n")
        .chars()
        .take(limits::INDEXED_CHARS)
        .collect();
    Ok(NewDocument {
        name,
        json,
        ttl,
        text: (!text.trim().is_empty()).then_some(text),
    })
}

fn name_from(namespace: Vec<String>, key: String) -> Result<DocumentName, Invalid> {
    if namespace.is_empty() {
        let problem = format!("is required: 1 to {} labels", limits::NAMESPACE_LABELS);
        return Err(Invalid::new("namespace", problem));
    }
    let namespace = labels_from("namespace", namespace)?;
    check::required_bytes("key", &key, limits::DOCUMENT_KEY_BYTES)?;
    Ok(DocumentName { namespace, key })
}

fn labels_from(field: &str, labels: Vec<String>) -> Result<Vec<String>, Invalid> {
    let most = limits::NAMESPACE_LABELS;
    if labels.len() > most {
        return Err(Invalid::new(
            field,
            format!("must have at most {most} labels"),
        ));
    }
    for (index, label) in labels.iter().enumerate() {
        check::required_bytes(&format!("{field}[{index}]"), label, limits::LABEL_BYTES)?;
    }
    let most = limits::NAMESPACE_BYTES;
    if labels.iter().map(String::len).sum::<usize>() > most {
        let problem = format!("must have at most {most} bytes together");
        return Err(Invalid::new(field, problem));
    }
    Ok(labels)
}

fn prefix_from(field: &str, labels: Vec<String>) -> Result<Vec<String>, Invalid> {
    not_reserved(field, &labels)?;
    labels_from(field, labels)
}

/// Refuses the namespaces that are Recollect's own, which other services read and write.
fn not_reserved(field: &str, labels: &[String]) -> Result<(), Invalid> {
    match labels
        .first()
        .is_some_and(|label| label.starts_with(RESERVED))
    {
        true => Err(Invalid::new(
            format!("{field}[0]"),
            format!(
                "must not begin with `{RESERVED}`, which is reserved; MemoryFileService reads and \
                 changes files"
            ),
        )),
        false => Ok(()),
    }
}

fn condition_from(condition: proto::DocumentCondition) -> Result<DocumentCondition, Invalid> {
    use proto::DocumentOperator as Operator;

    let proto::DocumentCondition {
        field,
        operator,
        json,
    } = condition;
    let most = limits::CONDITION_FIELD_NAMES;
    if field.is_empty() || field.len() > most {
        return Err(Invalid::new(
            "field",
            format!("must have 1 to {most} names"),
        ));
    }
    for (index, name) in field.iter().enumerate() {
        check::required_bytes(&format!("field[{index}]"), name, limits::LABEL_BYTES)?;
    }
    let operator = match Operator::try_from(operator) {
        Ok(Operator::Unspecified | Operator::Equal) => "eq",
        Ok(Operator::NotEqual) => "ne",
        Ok(Operator::Greater) => "gt",
        Ok(Operator::GreaterOrEqual) => "gte",
        Ok(Operator::Less) => "lt",
        Ok(Operator::LessOrEqual) => "lte",
        Err(_) => return Err(Invalid::new("operator", "must be a DocumentOperator")),
    };
    storable(
        "json",
        &json,
        limits::CONDITION_BYTES,
        limits::DOCUMENT_DEPTH,
    )?;
    Ok(DocumentCondition {
        field,
        operator,
        json,
    })
}

fn limit_from(requested: i32) -> Result<u32, Invalid> {
    page_size(requested).map(|size| u32::try_from(size).unwrap_or(u32::MAX))
}

fn count_from(field: &str, value: i32, max: i32) -> Result<u32, Invalid> {
    check::range(field, value, 0, max).map(i32::unsigned_abs)
}

/// Reads 1 to 500 entries and names every wrong one.
fn entries<P, T>(
    field: &str,
    entries: Vec<P>,
    read: impl Fn(P) -> Result<T, Invalid>,
) -> Result<Vec<T>, InvalidFields> {
    let most = limits::DOCUMENTS;
    if entries.is_empty() || entries.len() > most {
        return Err(Invalid::new(field, format!("must have 1 to {most} entries")).into());
    }
    let mut fields = Fields::default();
    let entries = entries.into_iter().enumerate();
    let read: Vec<T> = entries
        .filter_map(|(index, entry)| {
            let read = read(entry);
            fields.get(read.map_err(|problem| problem.within(format_args!("{field}[{index}]"))))
        })
        .collect();
    fields.all(Some(read)).map_err(InvalidFields::first)
}

fn unique<'a>(field: &str, names: impl Iterator<Item = &'a DocumentName>) -> Result<(), Invalid> {
    let mut seen = HashSet::new();
    for (index, name) in names.enumerate() {
        if !seen.insert(name) {
            let problem = "must not be named twice";
            return Err(Invalid::new(format!("{field}[{index}]"), problem));
        }
    }
    Ok(())
}

/// One step of a path to texts.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Field(String),
    /// From the end if it is negative.
    Item(i64),
    /// Each element.
    All,
}

/// Reads a path such as `a.b[0].c` or `a[*]`; `$` is the whole value.
fn steps_of(path: &str) -> Option<Vec<Step>> {
    if path == "$" {
        return Some(Vec::new());
    }
    let mut steps = Vec::new();
    for part in path.split('.') {
        let (name, mut rest) = match part.find('[') {
            Some(at) => part.split_at(at),
            None => (part, ""),
        };
        if name.is_empty() {
            return None;
        }
        steps.push(match name {
            "*" => Step::All,
            name => Step::Field(name.to_owned()),
        });
        while !rest.is_empty() {
            let (item, after) = rest.strip_prefix('[')?.split_once(']')?;
            steps.push(match item {
                "*" => Step::All,
                item => Step::Item(item.parse().ok()?),
            });
            rest = after;
        }
    }
    Some(steps)
}

/// Adds the texts at a path. Objects and lists at its end count as their JSON text.
fn texts_at(value: &Value, steps: &[Step], texts: &mut Vec<String>) {
    let Some((step, rest)) = steps.split_first() else {
        match value {
            Value::Null => {}
            Value::String(text) => texts.push(text.clone()),
            Value::Array(items) => {
                for item in items {
                    texts_at(item, &[], texts);
                }
            }
            other => texts.push(other.to_string()),
        }
        return;
    };
    match (step, value) {
        (Step::Field(name), Value::Object(object)) => {
            if let Some(value) = object.get(name) {
                texts_at(value, rest, texts);
            }
        }
        (Step::Item(index), Value::Array(items)) => {
            let length = i64::try_from(items.len()).unwrap_or(i64::MAX);
            let at = if *index < 0 { length + index } else { *index };
            if let Some(item) = usize::try_from(at).ok().and_then(|at| items.get(at)) {
                texts_at(item, rest, texts);
            }
        }
        (Step::All, Value::Array(items)) => {
            for item in items {
                texts_at(item, rest, texts);
            }
        }
        (Step::All, Value::Object(object)) => {
            for value in object.values() {
                texts_at(value, rest, texts);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_find_the_texts_of_fields_items_and_all_elements() {
        let value = json!({
            "title": "T", "n": 3, "none": null,
            "chapters": [{"text": "one"}, {"text": "two"}, {"other": 1}],
            "author": {"name": "Ada"}, "tags": ["a", "b"],
        });
        let texts = |path: &str| {
            let mut texts = Vec::new();
            texts_at(&value, &steps_of(path).unwrap(), &mut texts);
            texts
        };
        assert_eq!(texts("title"), ["T"]);
        assert_eq!(texts("n"), ["3"]);
        assert_eq!(texts("author.name"), ["Ada"]);
        assert_eq!(texts("chapters[*].text"), ["one", "two"]);
        assert_eq!(texts("chapters[-2].text"), ["two"]);
        assert_eq!(texts("chapters[0].text"), ["one"]);
        assert_eq!(texts("tags"), ["a", "b"]);
        assert_eq!(texts("author"), [r#"{"name":"Ada"}"#]);
        assert_eq!(texts("$"), [value.to_string()]);
        for nothing in ["none", "absent", "title.x", "chapters[9].text"] {
            assert!(texts(nothing).is_empty(), "{nothing}");
        }
        for wrong in ["", "a..b", ".a", "a[", "a[x]", "a[0]b"] {
            assert_eq!(steps_of(wrong), None, "{wrong}");
        }
    }
}
