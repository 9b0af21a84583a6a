//! Every method answers JSON as it answers gRPC.

use std::collections::BTreeSet;
use std::time::Duration;

use boon::{Compiler, Schemas};
use memory_contract::proto::{AddMemoriesRequest, MemoryInput};
use prost_reflect::{DynamicMessage, MethodDescriptor, SerializeOptions};
use prost_types::method_options::IdempotencyLevel;
use recollect_tests::{
    Client, Dynamic, Envelope, Failure, Http, Key, Options, Server, VALID_REQUESTS, apply,
    eventually, of_user, session, trial_with_own_server,
};
use serde_json::{Value, json};

/// Further requests: of methods that need no field, and of those that delete much.
const MORE_REQUESTS: &str = r#"
AdminService/GetServerInfo {}
AdminService/GetIndexStatus {}
AdminService/GetNodeMemoryStatus {}
AdminService/GetDistillStatus {}
AdminService/GetDeletionStatus {}
AdminService/DeleteUser {"user": {"app_id": "fuzz", "user_id": "$NEW"}}
AdminService/DeleteApp {"app": {"app_id": "$NEW"}}
AdminService/DeleteTenant {"tenant": "another"}
AdminService/GetDeletion {"deletion_id": "$UUID"}
AdminService/ListDeletions {"page_size": 1}
ThreadService/GetThread {"thread": {"thread_id": "$UUID"}}
MessageService/GetHistory {"thread": {"thread_id": "$THREAD"}, "max_tokens": -1}
"#;

/// It does not end; `streams.rs` watches.
const ENDLESS: &str = "ThreadService/WatchThread";

/// Fields that depend on time, chance or the tenant.
const VOLATILE: [&str; 19] = [
    "checksum",
    "cursor",
    "etag",
    "lag",
    "next_page_token",
    "pending_count",
    "pending_deletion_count",
    "persist_time",
    "point_count",
    "queued_count",
    "revision",
    "secret",
    "step",
    "storage",
    "tenant",
    "waiting_count",
    "waiting_memory_count",
    "waiting_thread_count",
    "waiting_turn_count",
];

/// One tenant's view of what exists.
struct Side {
    client: Client,
    http: Http,
    thread: String,
    message: String,
    reply: String,
    memory: String,
}

impl Side {
    /// A new thread with a turn, and a memory.
    async fn new(server: &Server, key: Key, number: usize) -> Self {
        let client = server.client(key).await;
        let named = session("fuzz", "ada", &format!("thread:{number}"));
        let thread = client.resolve(named).await.thread_id;
        let stored = client
            .append_turn(&thread, "What is red?", "Cherries are.")
            .await
            .messages;
        let memories = client
            .call(AddMemoriesRequest {
                user: of_user("fuzz", "ada"),
                memories: vec![MemoryInput {
                    text: format!("Likes the number {number}."),
                    ..Default::default()
                }],
            })
            .await
            .memories;
        Self {
            http: Http::new(&server.ready().addr, key),
            client,
            thread,
            message: stored[0].message_id.clone(),
            reply: stored[1].message_id.clone(),
            memory: memories[0].memory.as_ref().unwrap().memory_id.clone(),
        }
    }

    fn request(&self, request: &str, number: usize) -> Value {
        let request = request
            .replace("$THREAD", &self.thread)
            .replace("$KEY", &format!("thread:{number}"))
            .replace("$MESSAGE", &self.message)
            .replace("$REPLY", &self.reply)
            .replace("$MEMORY", &self.memory)
            .replace("$UUID", &uuid::Uuid::new_v4().to_string())
            .replace("$NEW", &format!("new-{number}"));
        serde_json::from_str(&request).unwrap()
    }

    /// The answer over gRPC, in JSON with the names of the proto files.
    async fn grpc(&self, method: &MethodDescriptor, request: Value) -> Value {
        let name = Dynamic::name(method);
        match Dynamic::call(&self.client, &name, request).await {
            Ok(answers) => json!(answers.into_inner()),
            Err(status) => {
                let failure = Failure::from(status);
                json!({
                    "code": format!("{:?}", failure.code).to_lowercase(),
                    "message": failure.message,
                    "reason": failure.reason,
                    "fields": failure.field_names(),
                })
            }
        }
    }

    /// The same over HTTP.
    async fn http(
        &self,
        method: &MethodDescriptor,
        request: &Value,
        described: &Described,
    ) -> Value {
        let name = Dynamic::name(method);
        let streams = method.is_client_streaming() || method.is_server_streaming();
        let mut answers = Vec::new();
        if streams {
            let envelopes = self.http.stream(&name, std::slice::from_ref(request)).await;
            let (end, messages) = envelopes.split_last().unwrap();
            assert_eq!(end.flags, 2, "{name}");
            if let Some(error) = end.json().get("error") {
                return error_of(error);
            }
            answers.extend(messages.iter().map(Envelope::json));
        } else {
            let answer = self.http.call(&name, request).await;
            assert_eq!(answer.headers["content-type"], "application/json");
            if answer.status != 200 {
                described.check("ConnectError", &answer.json());
                return error_of(&answer.json());
            }
            answers.push(answer.json());
        }
        for answer in &answers {
            described.check(method.output().name(), answer);
        }
        answers
            .iter()
            .map(|answer| with_proto_names(method, answer))
            .collect()
    }
}

/// An error of the Connect protocol, as [`Side::grpc`] writes it.
fn error_of(error: &Value) -> Value {
    let debug = |kind: &str| {
        let details = error["details"].as_array().unwrap();
        let detail = details.iter().find(|detail| detail["type"] == kind);
        detail.map_or(Value::Null, |detail| detail["debug"].clone())
    };
    let violations = debug("google.rpc.BadRequest")["fieldViolations"].clone();
    let fields: Vec<Value> = violations
        .as_array()
        .into_iter()
        .flatten()
        .map(|violation| violation["field"].clone())
        .collect();
    json!({
        "code": error["code"].as_str().unwrap().replace('_', ""),
        "message": error["message"],
        "reason": debug("google.rpc.ErrorInfo")["reason"],
        "fields": fields,
    })
}

/// Whether a method changes nothing.
fn reads(method: &MethodDescriptor) -> bool {
    let options = method.method_descriptor_proto().options.as_ref();
    options.is_some_and(|options| options.idempotency_level() == IdempotencyLevel::NoSideEffects)
}

fn with_proto_names(method: &MethodDescriptor, answer: &Value) -> Value {
    let message = DynamicMessage::deserialize(method.output(), answer)
        .unwrap_or_else(|error| panic!("{}: {error}: {answer}", Dynamic::name(method)));
    let options = SerializeOptions::new().use_proto_field_name(true);
    message
        .serialize_with_options(serde_json::value::Serializer, &options)
        .unwrap()
}

/// An answer without what differs between two tenants: ids, times and chance.
fn masked(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .filter(|(name, _)| !VOLATILE.contains(&name.as_str()))
            .map(|(name, value)| (name.clone(), masked(value)))
            .collect(),
        Value::Array(items) => items.iter().map(masked).collect(),
        Value::String(text) => masked_text(text).into(),
        other => other.clone(),
    }
}

/// A text without ids, times and the tenant.
fn masked_text(text: &str) -> String {
    let is_time = text.len() >= 20 && text.as_bytes()[10] == b'T' && text.ends_with('Z');
    if is_time {
        return "time".to_owned();
    }
    let (mut masked, mut rest) = (String::new(), text);
    while let Some(next) = rest.chars().next() {
        let id = rest
            .get(..36)
            .filter(|id| uuid::Uuid::parse_str(id).is_ok());
        let taken = match id {
            Some(_) => {
                masked.push_str("id");
                36
            }
            None => {
                masked.push(next);
                next.len_utf8()
            }
        };
        rest = &rest[taken..];
    }
    masked.replace("globex", "acme")
}

/// The OpenAPI document that the server publishes.
struct Described(Value);

impl Described {
    async fn by(http: &Http) -> Self {
        Self(http.send("GET", "/openapi.json", &[], "").await.ok())
    }

    /// Checks JSON with the schema of its message.
    #[track_caller]
    fn check(&self, message: &str, json: &Value) {
        let url = "https://schemas.invalid/openapi.json";
        let (mut schemas, mut compiler) = (Schemas::new(), Compiler::new());
        compiler.add_resource(url, self.0.clone()).unwrap();
        let place = format!("{url}#/components/schemas/{message}");
        let schema = compiler.compile(&place, &mut schemas).unwrap();
        if let Err(error) = schemas.validate(json, schema) {
            panic!("{message}: {error:#}\n{json:#}");
        }
    }
}

#[apply(trial_with_own_server)]
async fn b11_every_method_answers_json_as_it_answers_grpc() {
    let (_dir, server, _client) =
        Server::start_own(&Options::with(&["embedding.kind = \"none\""])).await;
    let described = Described::by(&Http::new(&server.ready().addr, Key::Acme)).await;
    let mut seen = BTreeSet::new();
    let requests = VALID_REQUESTS
        .trim()
        .lines()
        .chain(MORE_REQUESTS.trim().lines());
    let mut changes = 0;
    for (number, line) in requests.enumerate() {
        let (name, request) = line.split_once(' ').unwrap();
        seen.insert(name.to_owned());
        if name == ENDLESS {
            continue;
        }
        let method = Dynamic::method(name);
        let acme = Side::new(&server, Key::Acme, number).await;
        let wanted = acme.request(request, number);
        if reads(&method) {
            eventually(
                "both answer the same",
                Duration::from_secs(30),
                async || {
                    let expected = acme.grpc(&method, wanted.clone()).await;
                    let answered = acme.http(&method, &wanted, &described).await;
                    let same = masked(&answered) == masked(&expected);
                    if !same {
                        eprintln!("{line}\n{answered:#}\n{expected:#}");
                    }
                    same
                },
            )
            .await;
            continue;
        }
        // Two tenants with the same history: one is called by gRPC, the other by HTTP.
        let globex = Side::new(&server, Key::Globex, number).await;
        let expected = acme.grpc(&method, wanted).await;
        let answered = globex
            .http(&method, &globex.request(request, number), &described)
            .await;
        assert_eq!(masked(&answered), masked(&expected), "{line}");
        changes += usize::from(answered.is_array());
    }
    let all: BTreeSet<String> = Dynamic::methods().iter().map(Dynamic::name).collect();
    assert_eq!(seen, all);
    assert!(changes > 28, "{changes} of the changes succeeded");
}
