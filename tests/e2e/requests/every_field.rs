//! Every field of every request with an invalid value. The fields come from the contract's
//! descriptors, so a new one is tested at once.

use prost::Message as _;
use prost::encoding::{WireType, encode_key, encode_varint};
use prost_reflect::{
    DynamicMessage, FieldDescriptor, Kind, MessageDescriptor, MethodDescriptor, Value,
};
use recollect_tests::{Client, Dynamic, Failure, apply, trial};
use serde_json::json;
use tonic::Code;

use crate::plain;

/// The fields of memories and messages that a put of a working memory reads.
const PUT_OF_MEMORIES: [&str; 11] = [
    "external_id",
    "text",
    "type",
    "topics",
    "entities",
    "event_time",
    "source_message_ids",
    "pinned",
    "metadata",
    "kind",
    "attributes",
];
const PUT_OF_MESSAGES: [&str; 7] = [
    "role",
    "name",
    "parts",
    "metadata",
    "create_time",
    "external_id",
    "user_id",
];
/// Fields that only answers have: in a request they are ignored, as the contract says.
const IGNORED: [&str; 19] = [
    "file.file.",
    "files[0].file.",
    "RegisterFile file.transfer_method",
    "RegisterFile file.create_time",
    "RegisterFile file.update_time",
    "PutPlan plan.etag",
    "UpdateAppPolicy app_policy.update_time",
    "UpdateAppPolicy app_policy.etag",
    "PutPlan plan.create_time",
    "PutPlan plan.update_time",
    "AppendAttempt attempt.number",
    "AppendAttempt attempt.task_number",
    "AppendAttempt attempt.create_time",
    "AppendEvents events[0].number",
    "ImportMemories memories[0].app_id",
    "ImportMemories memories[0].user_id",
    "ImportMemories memories[0].update_time",
    "ImportMemories memories[0].persist_time",
    "ImportMemories memories[0].etag",
];

/// What UpdateMemory may change: the mask names it, and nothing else is looked at.
const CHANGEABLE: [&str; 9] = [
    "text",
    "topics",
    "entities",
    "type",
    "event_time",
    "pinned",
    "metadata",
    "kind",
    "attributes",
];
/// What UpdateThread may change.
const CHANGEABLE_OF_THREADS: [&str; 4] = ["title", "metadata", "ttl", "policy"];

/// What UpdateSubscription may change, besides `enabled`.
const CHANGEABLE_OF_SUBSCRIPTIONS: [&str; 2] = ["url", "actions"];

/// Targets that a method does not take: they are refused as a whole.
const UNTAKEN: [(&str, &str); 5] = [
    ("ListThreads", "target.thread"),
    ("ListMemories", "target.thread"),
    ("SearchMemories", "target.thread"),
    ("DeleteMemories", "target.thread"),
    ("ListCheckpoints", "target.app"),
];

/// A field of a request, and the way to it.
#[derive(Clone)]
struct Place(Vec<FieldDescriptor>);

impl Place {
    /// All fields of a message and of the messages in it, those of Google's own
    /// messages excepted.
    fn all(message: &MessageDescriptor) -> Vec<Self> {
        let mut all = Vec::new();
        for field in message.fields() {
            let inner = field.kind().as_message().cloned();
            match inner.filter(|inner| inner.package_name() == "recollect.v1") {
                None => all.push(Self(vec![field])),
                Some(inner) => {
                    let below = Self::all(&inner);
                    all.extend(below.into_iter().map(|Self(mut place)| {
                        place.insert(0, field.clone());
                        Self(place)
                    }));
                }
            }
        }
        all
    }

    /// Its path, as an error names it.
    fn path(&self) -> String {
        let names = self.0.iter().map(|field| match field.is_list() {
            true => format!("{}[0]", field.name()),
            false => field.name().to_owned(),
        });
        names.collect::<Vec<_>>().join(".")
    }

    /// Whether it is this field of this message.
    fn is(&self, message: &str, field: &str) -> bool {
        let last = &self.0[self.0.len() - 1];
        last.name() == field && last.parent_message().name() == message
    }

    /// Whether it is the JSON text of an object, such as the caller's own metadata or data.
    fn is_object(&self) -> bool {
        let last = &self.0[self.0.len() - 1];
        let names = ["metadata", "data", "patch", "attributes", "json_schema"];
        self.kind() == Kind::String && names.contains(&last.name())
    }

    fn kind(&self) -> Kind {
        self.0[self.0.len() - 1].kind()
    }

    /// A message that has this, and is good otherwise as far as that matters.
    fn with(&self, value: Value) -> DynamicMessage {
        let (first, rest) = self.0.split_first().unwrap();
        let mut message = around(first, rest);
        let inner = match rest {
            [] => value,
            _ => Value::Message(Self(rest.to_vec()).with(value)),
        };
        let inner = match first.is_list() {
            true => Value::List(vec![inner]),
            false => inner,
        };
        message.set_field(first, inner);
        message
    }

    /// The encoded message that has only this, as these bytes.
    fn with_bytes(&self, bytes: &[u8]) -> Vec<u8> {
        self.0.iter().rev().fold(bytes.to_vec(), |inner, field| {
            let mut message = Vec::new();
            encode_key(field.number(), WireType::LengthDelimited, &mut message);
            encode_varint(inner.len() as u64, &mut message);
            message.extend(inner);
            message
        })
    }
}

/// What has to be good in a message where one field of it is wrong, because only
/// the first wrong field of such a message is reported.
fn around(first: &FieldDescriptor, rest: &[FieldDescriptor]) -> DynamicMessage {
    let message = first.parent_message();
    let id = "0198c1de-3e07-7a4b-9a56-0d6f3a5b8c11";
    let below = rest.first().map(FieldDescriptor::name);
    let role = match below {
        Some("tool_call" | "reasoning") => "ROLE_ASSISTANT",
        Some("tool_result") => "ROLE_TOOL",
        _ => "ROLE_USER",
    };
    let mut good = match message.name() {
        "MessageInput" | "Message" => json!({"role": role, "parts": [{"text": "x"}]}),
        "FileRef" => json!({"type": 1, "url": "u"}),
        "ToolCall" => json!({"tool_call_id": "c", "name": "n"}),
        "ToolResult" => json!({"tool_call_id": "c"}),
        "Reasoning" => json!({"provider": 1}),
        "OpaquePart" => json!({"provider": 1, "type": "t", "json": "{}"}),
        "ProviderMessages" => json!({"format": 1, "json": "[]"}),
        "SessionRef" => json!({"app_id": "a", "session_key": "k"}),
        "UserRef" => json!({"app_id": "a", "user_id": "u"}),
        "AppRef" => json!({"app_id": "a"}),
        "ThreadRef" => json!({"thread_id": id}),
        "Target" => json!({"thread": {"thread_id": id}}),
        "NodeRef" => json!({"thread": {"thread_id": id}, "node_id": "n"}),
        "NodeMessageInput" => json!({"content": "x"}),
        "Plan" => json!({"goal": "g"}),
        "PlanStep" => json!({"step_id": "s", "title": "t"}),
        "UpdatePlanStepRequest" => {
            json!({"thread": {"thread_id": id}, "step": {"step_id": "s", "status": 3}})
        }
        "Attempt" => json!({"action": "a"}),
        "AgentEvent" => json!({"type": "t"}),
        "DocumentInput" => json!({"namespace": ["n"], "key": "k", "json": "{}"}),
        "DocumentRef" => json!({"namespace": ["n"], "key": "k"}),
        "DocumentCondition" => json!({"field": ["f"], "json": "1"}),
        "CheckpointValue" => json!({"channel": "c", "version": "1"}),
        "CheckpointWrite" => json!({"task_id": "t", "channel": "c"}),
        "Memory" => json!({"memory_id": id, "text": "t", "origin": 1}),
        "MemoryInput" => json!({"text": "t"}),
        "MemoryKind" => json!({"name": "k", "description": "d"}),
        "MemoryKindExample" => json!({"said": "s", "text": "t"}),
        "SearchMemoriesRequest" => json!({"target": {"user": {"app_id": "a"}}, "query": "q"}),
        "ImportMemoriesRequest" | "GetProfileRequest" => json!({"user": {"app_id": "a"}}),
        "DeleteMemoriesRequest" => {
            json!({"target": {"user": {"app_id": "a"}}, "max_count": 5})
        }
        "ListMemoriesRequest" | "ListThreadsRequest" => {
            json!({"target": {"user": {"app_id": "a"}}})
        }
        "UpdateMemoryRequest" => {
            let mask = below.filter(|field| CHANGEABLE.contains(field));
            json!({"memory": {"memory_id": id, "text": "t"}, "update_mask": camel(mask.unwrap_or("text"))})
        }
        "UpdateThreadRequest" => {
            let mask = below.filter(|field| CHANGEABLE_OF_THREADS.contains(field));
            json!({"thread": {"thread_id": id}, "update_mask": mask.unwrap_or("title")})
        }
        "UpdateSubscriptionRequest" => {
            let mask = below.filter(|field| CHANGEABLE_OF_SUBSCRIPTIONS.contains(field));
            json!({"subscription": {"name": "n"}, "update_mask": mask.unwrap_or("enabled")})
        }
        "Subscription" => json!({"name": "n"}),
        "UpdateAppPolicyRequest" => {
            json!({"app_policy": {"app_id": "a"}, "update_mask": "policy"})
        }
        "AppPolicy" => json!({"app_id": "a"}),
        "AddNodeTurnRequest" => json!({"user": {"content": "x"}, "assistant": {"content": "x"}}),
        _ if takes(message, "thread", "ThreadRef") => json!({"thread": {"thread_id": id}}),
        _ if takes(message, "target", "Target") => {
            json!({"target": {"thread": {"thread_id": id}}})
        }
        _ => json!({}),
    };
    let fields = good.as_object_mut().unwrap();
    fields.remove(first.name());
    let of_choice = first.containing_oneof();
    let others = of_choice.iter().flat_map(|choice| choice.fields());
    others.for_each(|other| drop(fields.remove(other.name())));
    DynamicMessage::deserialize(message.clone(), good).unwrap()
}

/// Whether a message has this field with this kind of message in it.
fn takes(message: &MessageDescriptor, field: &str, kind: &str) -> bool {
    let field = message.get_field_by_name(field);
    field.is_some_and(|field| {
        let inner = field.kind().as_message().cloned();
        inner.is_some_and(|inner| inner.name() == kind)
    })
}

/// A field's name in JSON, in which a mask is written.
fn camel(name: &str) -> String {
    let mut words = name.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.fold(first, |text, word| {
        let (initial, rest) = word.split_at(1);
        text + &initial.to_uppercase() + rest
    })
}

/// Sends every field of every method with the values that there are for its
/// kind, and checks that each refusal names the field.
async fn each(client: &Client, values: impl Fn(&Place) -> Vec<Value>) {
    let (mut tried, mut wrong) = (0, Vec::new());
    // The fields of records are those of the other methods' requests and answers.
    let methods = Dynamic::methods();
    let methods = methods.into_iter();
    for method in methods.filter(|method| method.name() != "ImportRecords") {
        for place in Place::all(&method.input()) {
            let path = place.path();
            let title = format!("{} {path}", method.name());
            let ignored = |resource: &str, id: &str, fields: &[&str]| {
                let field = title.split_once(resource).map(|(_, field)| field);
                let mut used = fields.iter().chain([&id]);
                field.is_some_and(|field| !used.any(|one| field.starts_with(one)))
            };
            let unchanged = ignored("UpdateMemory memory.", "memory_id", &CHANGEABLE)
                || ignored("UpdateThread thread.", "thread_id", &CHANGEABLE_OF_THREADS)
                || ignored(
                    "UpdateSubscription subscription.",
                    "name",
                    &CHANGEABLE_OF_SUBSCRIPTIONS,
                )
                || ignored(
                    "PutWorkingMemory memories[0].",
                    "memory_id",
                    &PUT_OF_MEMORIES,
                )
                || ignored(
                    "PutWorkingMemory messages[0].",
                    "message_id",
                    &PUT_OF_MESSAGES,
                );
            if unchanged || IGNORED.iter().any(|ignored| title.contains(ignored)) {
                continue;
            }
            for value in values(&place) {
                tried += 1;
                let mut shown = format!("{value:?}");
                shown.truncate(shown.floor_char_boundary(60));
                let request = place.with(value).encode_to_vec();
                if let Err(problem) = refused(client, &method, request, &path).await {
                    wrong.push(format!("{title} of {shown}: {problem}"));
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {tried}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(tried > 20, "{tried} values were tried");
}

async fn refused(
    client: &Client,
    method: &MethodDescriptor,
    request: Vec<u8>,
    path: &str,
) -> Result<(), String> {
    let failure = match Dynamic::send(client, method, request).await {
        // Its errors are answers.
        Ok(answers) if method.name() == "ImportMessages" => {
            let answers = answers.into_inner();
            return match answers[0]["error"]["reason"].as_str() {
                Some("ERROR_REASON_INVALID_FIELD") => Ok(()),
                _ => Err(format!("{answers:?}")),
            };
        }
        Ok(_) => return Err("it is taken".to_owned()),
        Err(status) => Failure::from(status),
    };
    let bare = path.trim_end_matches("[0]");
    // A context accepts no fields of these.
    let part = [
        "input[0].tool_call",
        "input[0].tool_result",
        "input[0].reasoning",
    ];
    let part = part.into_iter().find(|part| path.starts_with(part));
    let untaken = UNTAKEN.into_iter().find(|(untaken, target)| {
        method.name() == *untaken && path.starts_with(&format!("{target}."))
    });
    let untaken =
        |field: &str| untaken.is_some_and(|(_, target)| field == "target" || field == target);
    let names = |field: &String| {
        field == path
            || field == bare
            || Some(field.as_str()) == part
            || untaken(field)
            || field.starts_with(&format!("{path}."))
            || field.starts_with(&format!("{path}["))
    };
    let right = failure.code == Code::InvalidArgument
        && failure.reason == "INVALID_FIELD"
        && failure.fields.iter().any(|(field, _)| names(field));
    match right {
        true => Ok(()),
        false => Err(format!("{:?} {}", failure.code, failure.message)),
    }
}

#[apply(trial)]
async fn nul_and_huge_texts_are_refused_in_every_field() {
    let client = plain().await;
    let huge = "x".repeat(300_000);
    each(&client, |place| match place.kind() {
        // It is encrypted, so it may be any text.
        Kind::String if place.is("SetSecretRequest", "value") => {
            vec![Value::String(huge.clone())]
        }
        // It may contain the file itself.
        Kind::String if place.is("FileRef", "url") => {
            vec![Value::String("a\0b".to_owned())]
        }
        Kind::String => vec![
            Value::String("a\0b".to_owned()),
            Value::String(huge.clone()),
        ],
        _ => Vec::new(),
    })
    .await;
}

#[apply(trial)]
async fn numbers_and_choices_out_of_range_are_refused_in_every_field() {
    let client = plain().await;
    each(&client, |place| match place.kind() {
        Kind::Int32 => vec![Value::I32(-1), Value::I32(i32::MIN)],
        Kind::Int64 => vec![Value::I64(-1), Value::I64(i64::MIN)],
        Kind::Float => vec![Value::F32(f32::NAN), Value::F32(f32::NEG_INFINITY)],
        Kind::Double => vec![Value::F64(f64::NAN)],
        Kind::Enum(_) => vec![Value::EnumNumber(9_999), Value::EnumNumber(-1)],
        _ => Vec::new(),
    })
    .await;
}

#[apply(trial)]
async fn invalid_times_and_objects_are_refused_in_every_field() {
    let client = plain().await;
    each(&client, |place| {
        if place.is_object() {
            let huge = format!("{{\"a\": \"{}\"}}", "x".repeat(300_000));
            let texts = [
                r#"{"a": "\u0000"}"#,
                r#"{"a\u0000": "b"}"#,
                r#"{"a": NaN}"#,
                r#"{"a": [-Infinity]}"#,
                r#"{"a": 1"#,
                "[1]",
                "null",
                &huge,
            ];
            return texts.map(|text| Value::String(text.to_owned())).to_vec();
        }
        let Kind::Message(message) = place.kind() else {
            return Vec::new();
        };
        let with = |field: &str, value: Value| {
            let mut object = DynamicMessage::new(message.clone());
            object.set_field_by_name(field, value);
            Value::Message(object)
        };
        match message.full_name() {
            "google.protobuf.Timestamp" => vec![
                with("seconds", Value::I64(i64::MAX)),
                with("seconds", Value::I64(i64::MIN)),
                with("nanos", Value::I32(-1)),
            ],
            "google.protobuf.Duration" => vec![
                with("seconds", Value::I64(i64::MAX)),
                with("seconds", Value::I64(i64::MIN)),
                with("nanos", Value::I32(-1)),
            ],
            "google.protobuf.FieldMask" => {
                let paths = |path: &str| Value::List(vec![Value::String(path.to_owned())]);
                vec![with("paths", paths("nothing")), with("paths", paths("\0"))]
            }
            // It has no fields.
            "google.protobuf.Empty" => Vec::new(),
            other => panic!("no wrong {other} is known"),
        }
    })
    .await;
}

#[apply(trial)]
async fn bytes_that_are_not_utf8_are_refused_in_every_field() {
    let client = plain().await;
    let mut tried = 0;
    for method in Dynamic::methods() {
        for place in Place::all(&method.input()) {
            if place.kind() != Kind::String {
                continue;
            }
            for bytes in [&b"\xff\xfe"[..], b"a\xc3", b"\xed\xa0\x80", b"\xc0\x80"] {
                tried += 1;
                let request = place.with_bytes(bytes);
                let answer = Dynamic::send(&client, &method, request).await;
                let failure = Failure::from(answer.unwrap_err());
                assert_eq!(
                    (failure.code, failure.reason.as_str()),
                    (Code::InvalidArgument, "INVALID_FIELD"),
                    "{} {}: {failure:?}",
                    method.full_name(),
                    place.path()
                );
            }
        }
    }
    assert!(tried > 200, "{tried}");
}
