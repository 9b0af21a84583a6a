//! Which fields of requests have texts, and a walk through them.

use memory_contract::Invalid;
use memory_redact::{Kinds, redact};
use prost_reflect::{DynamicMessage, ReflectMessage as _, Value};

use super::{json, redacted::Redacted};

/// The form of a field's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// Prose, code or any other text.
    Plain,
    /// A JSON value, or any text that was sent in its place.
    Json,
    /// A JSON value that is a provider's own part, some of which the provider compares.
    Opaque,
}

/// The fields that have texts, by the names of their messages. Other fields name or configure
/// something, filter what is stored, or have content that only its maker can read. Messages in
/// providers' formats are read before.
const TEXTS: &[(&str, Form, &[&str])] = &[
    ("AgentEvent", Form::Json, &["json"]),
    (
        "Attempt",
        Form::Plain,
        &["task", "action", "result", "error", "diagnosis", "fix"],
    ),
    ("BuildBriefingRequest", Form::Plain, &["task", "task_name"]),
    ("BuildContextRequest", Form::Plain, &["query"]),
    ("Checkpoint", Form::Json, &["metadata"]),
    ("CompareIndexesRequest", Form::Plain, &["queries"]),
    ("CreateThreadRequest", Form::Plain, &["title"]),
    ("CreateThreadRequest", Form::Json, &["metadata"]),
    ("DocumentInput", Form::Json, &["json"]),
    ("ExportedDocument", Form::Plain, &["indexed_text"]),
    ("ExportedDocument", Form::Json, &["json"]),
    ("File", Form::Plain, &["name"]),
    ("FileRef", Form::Plain, &["name", "caption"]),
    ("InsertIntoMemoryFileRequest", Form::Plain, &["text"]),
    ("ListAttemptsRequest", Form::Plain, &["task"]),
    ("Memory", Form::Plain, &["text", "topics", "entities"]),
    ("Memory", Form::Json, &["metadata", "attributes"]),
    ("MemoryInput", Form::Plain, &["text", "topics", "entities"]),
    ("MemoryInput", Form::Json, &["metadata", "attributes"]),
    ("Message", Form::Json, &["metadata"]),
    ("MessageInput", Form::Json, &["metadata"]),
    ("NodeMessage", Form::Plain, &["content"]),
    ("NodeMessageInput", Form::Plain, &["content"]),
    ("OpaquePart", Form::Opaque, &["json"]),
    ("Part", Form::Plain, &["text"]),
    ("Part", Form::Json, &["json"]),
    ("Plan", Form::Plain, &["goal", "current_phase"]),
    ("Plan", Form::Json, &["data"]),
    ("PlanStep", Form::Plain, &["title", "result"]),
    ("PutCheckpointRequest", Form::Json, &["metadata"]),
    ("PutMemoryFileRequest", Form::Plain, &["text"]),
    ("PutWorkingMemoryRequest", Form::Plain, &["summary"]),
    ("PutWorkingMemoryRequest", Form::Json, &["data"]),
    ("Reasoning", Form::Plain, &["text", "summaries"]),
    ("RecallRequest", Form::Plain, &["query"]),
    (
        "ReplaceInMemoryFileRequest",
        Form::Plain,
        &["old_text", "new_text"],
    ),
    ("ResolveThreadRequest", Form::Plain, &["title"]),
    ("ResolveThreadRequest", Form::Json, &["metadata"]),
    ("SearchDocumentsRequest", Form::Plain, &["query"]),
    ("SearchMemoriesRequest", Form::Plain, &["query"]),
    ("SearchMemoryFilesRequest", Form::Plain, &["query"]),
    ("SearchRequest", Form::Plain, &["query"]),
    ("Thread", Form::Plain, &["title"]),
    ("Thread", Form::Json, &["metadata"]),
    ("ToolCall", Form::Json, &["arguments"]),
    ("ToolResultPart", Form::Plain, &["text"]),
    ("ToolResultPart", Form::Json, &["json"]),
    ("UpdateMessageRequest", Form::Json, &["metadata"]),
    ("UpdatePlanStepRequest", Form::Plain, &["current_phase"]),
    ("UpdateWorkingMemoryDataRequest", Form::Json, &["patch"]),
];

/// Texts that are only looked for in what is stored: to refuse them would keep what was stored before the
/// policy from being removed.
const LOOKED_FOR: [(&str, &str); 1] = [("ReplaceInMemoryFileRequest", "old_text")];

/// What vouches for a model's text or reasoning. It does not for a changed one, and providers refuse
/// reasoning with a wrong one.
const VOUCHERS: [(&str, &[&str]); 2] = [
    ("Reasoning", &["signature", "encrypted_content", "id"]),
    ("Part", &["signature"]),
];

/// The form of the texts that a field has, if it has any.
pub(super) fn form_of(message: &str, field: &str) -> Option<Form> {
    let rows = TEXTS.iter().filter(|(name, _, _)| *name == message);
    let mut rows = rows.filter(|(_, _, fields)| fields.contains(&field));
    rows.next().map(|(_, form, _)| *form)
}

/// Replaces what the texts of a message have of the kinds. Returns what was found, by its name and
/// by the paths of the fields. Where it is to be `refused`, texts that are not stored are left alone.
pub(super) fn replace(
    message: &mut DynamicMessage,
    kinds: Kinds,
    refused: bool,
) -> (Redacted, Vec<Invalid>) {
    let mut walk = Walk {
        kinds,
        refused,
        found: Redacted::default(),
        fields: Vec::new(),
    };
    walk.message(message, "");
    (walk.found, walk.fields)
}

struct Walk {
    kinds: Kinds,
    refused: bool,
    found: Redacted,
    fields: Vec<Invalid>,
}

impl Walk {
    /// Replaces in a message and in those that it contains. Returns whether a text or a model's
    /// reasoning has changed.
    fn message(&mut self, message: &mut DynamicMessage, path: &str) -> bool {
        let descriptor = message.descriptor();
        let mut changed = false;
        for (field, value) in message.fields_mut() {
            let path = match path {
                "" => field.name().to_owned(),
                path => format!("{path}.{}", field.name()),
            };
            if self.refused && LOOKED_FOR.contains(&(descriptor.name(), field.name())) {
                continue;
            }
            let form = form_of(descriptor.name(), field.name());
            let is_own = form.is_some() || field.name() == "reasoning";
            changed |= self.value(value, form, &path) && is_own;
        }
        if changed {
            let vouchers = VOUCHERS
                .iter()
                .filter(|(name, _)| *name == descriptor.name());
            for voucher in vouchers.flat_map(|(_, vouchers)| *vouchers) {
                message.clear_field_by_name(voucher);
            }
        }
        changed
    }

    fn value(&mut self, value: &mut Value, form: Option<Form>, path: &str) -> bool {
        match (value, form) {
            (Value::String(text), Some(form)) => self.text(text, form, path),
            (Value::Message(message), _) => self.message(message, path),
            (Value::List(items), form) => {
                let mut changed = false;
                for (index, item) in items.iter_mut().enumerate() {
                    changed |= self.value(item, form, &format!("{path}[{index}]"));
                }
                changed
            }
            _ => false,
        }
    }

    fn text(&mut self, text: &mut String, form: Form, path: &str) -> bool {
        let (replaced, names) = match form {
            Form::Plain => {
                let (replaced, hits) = redact(text, self.kinds);
                let names: Vec<_> = hits.into_iter().map(|hit| hit.name).collect();
                (replaced.into_owned(), names)
            }
            Form::Json => json::redact(text, self.kinds, false),
            Form::Opaque => json::redact(text, self.kinds, true),
        };
        if names.is_empty() {
            return false;
        }
        *text = replaced;
        self.fields.push(Invalid::new(path, problem(&names)));
        self.found.add(names);
        true
    }
}

/// What is wrong with a field in which something was found, by the names alone.
fn problem(names: &[&'static str]) -> String {
    let mut different = names.to_vec();
    different.sort_unstable();
    different.dedup();
    format!("must not contain: {}", different.join(", "))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use memory_contract::policy::SensitiveKind;
    use memory_contract::proto::DESCRIPTORS;
    use prost_reflect::{DescriptorPool, Kind, MessageDescriptor};

    use super::*;

    /// Names of fields that are no texts in any message, besides those of ids.
    #[rustfmt::skip]
    const NAMES: &[&str] = &[
        // Who or what something is.
        "agent_session_key", "app_id_prefixes", "user_id_prefixes", "user_of_all_apps",
        "session_key", "tenant", "superseded_by", "task_path", "id", "key", "namespace",
        "namespace_prefix", "prefix", "suffix", "name", "names", "input_name", "channel", "version",
        "actor", "kind", "made_by", "url", "storage_key", "memory_space", "time_zone", "path", "new_path",
        // A state, a page, a type or a setting.
        "etag", "page_token", "cursor", "at_least_as_fresh", "before", "revision", "order_by",
        "last_error", "expected_head", "checksum", "type", "types", "mime_type", "model", "field", "index_fields",
        "paths", "user_label", "assistant_label", "query_prompt_template",
        "extraction_instructions", "system_prompt", "never_keep",
        // What only its maker can read.
        "signature", "encrypted_content", "value",
    ];

    fn is_name(message: &str, field: &str) -> bool {
        // Filters are compared with what is stored.
        let is_filter = ["DocumentCondition", "MemoryFilter", "MessageFilter"].contains(&message)
            || message.starts_with("List")
            || message == "DeleteCheckpointsRequest";
        // An app's settings.
        let is_setting = ["MemoryKind", "MemoryKindExample"].contains(&message);
        // Bodies are read before.
        let is_body = message == "ProviderMessages";
        NAMES.contains(&field)
            || field.ends_with("_id")
            || field.ends_with("_ids")
            || is_filter
            || is_setting
            || is_body
    }

    fn collect(
        message: &MessageDescriptor,
        seen: &mut BTreeSet<String>,
        found: &mut BTreeSet<(String, String)>,
    ) {
        if !seen.insert(message.full_name().to_owned()) {
            return;
        }
        for field in message.fields() {
            match field.kind() {
                Kind::String => {
                    found.insert((message.name().to_owned(), field.name().to_owned()));
                }
                Kind::Message(nested) => collect(&nested, seen, found),
                _ => {}
            }
        }
    }

    fn fields() -> BTreeSet<(String, String)> {
        let pool = DescriptorPool::decode(DESCRIPTORS).unwrap();
        let mut found = BTreeSet::new();
        for service in pool
            .services()
            .filter(|service| service.package_name() == "recollect.v1")
        {
            for method in service.methods() {
                collect(&method.input(), &mut BTreeSet::new(), &mut found);
            }
        }
        found
    }

    #[test]
    fn every_field_of_requests_is_a_text_or_a_name() {
        let fields = fields();
        assert!(fields.len() > 150, "{}", fields.len());
        let undecided: Vec<_> = fields
            .iter()
            .filter(|(message, field)| {
                form_of(message, field).is_none() && !is_name(message, field)
            })
            .collect();
        assert!(
            undecided.is_empty(),
            "add them to TEXTS or to NAMES: {undecided:?}"
        );
        for (message, _, names) in TEXTS {
            for name in *names {
                let field = ((*message).to_owned(), (*name).to_owned());
                assert!(
                    fields.contains(&field),
                    "{message}.{name} is no field of a request"
                );
            }
        }
    }

    #[test]
    fn reasoning_that_changes_loses_what_vouches_for_it() {
        let pool = DescriptorPool::decode(DESCRIPTORS).unwrap();
        let reasoning = pool.get_message_by_name("recollect.v1.Reasoning").unwrap();
        let redacted = |text: &str| {
            let mut message = DynamicMessage::new(reasoning.clone());
            message.set_field_by_name("text", Value::String(text.to_owned()));
            message.set_field_by_name("signature", Value::String("EqoB".to_owned()));
            replace(&mut message, Kinds::from([SensitiveKind::Email]), false);
            message
        };
        assert!(redacted("I write to her.").has_field_by_name("signature"));
        let changed = redacted("I write to ada@example.org.");
        assert!(!changed.has_field_by_name("signature"));
        let text = changed.get_field_by_name("text").unwrap();
        assert_eq!(text.as_str(), Some("I write to [REDACTED:email]."));
    }
}
