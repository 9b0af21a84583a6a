//! The OpenAPI 3.1 document of the contract, from its descriptors and their comments.

use std::collections::HashMap;

use prost_reflect::{
    DescriptorPool, EnumDescriptor, FieldDescriptor, Kind, MessageDescriptor, MethodDescriptor,
    ServiceDescriptor,
};
use prost_types::FileDescriptorSet;
use serde_json::{Map, Value, json};

use crate::contract::{CONTRACT, PACKAGE, behaves, path_of};

const SCHEMAS: &str = "#/components/schemas/";
/// The schema of errors.
const ERROR: &str = "ConnectError";
/// The codes of the Connect protocol.
const CODES: [&str; 16] = [
    "canceled",
    "unknown",
    "invalid_argument",
    "deadline_exceeded",
    "not_found",
    "already_exists",
    "permission_denied",
    "resource_exhausted",
    "failed_precondition",
    "aborted",
    "out_of_range",
    "unimplemented",
    "internal",
    "unavailable",
    "data_loss",
    "unauthenticated",
];

/// The document, as it is served at `/openapi.json`.
pub fn document() -> Value {
    let comments = Comments::collect(&CONTRACT.files);
    let pool = &CONTRACT.pool;
    let services: Vec<ServiceDescriptor> = pool
        .services()
        .filter(|service| service.package_name() == PACKAGE)
        .collect();
    let methods = services.iter().flat_map(ServiceDescriptor::methods);
    let paths: Map<String, Value> = methods
        .map(|method| {
            let operation = operation(&comments, &method);
            (path_of(&method), json!({ "post": operation }))
        })
        .collect();
    let tags: Vec<Value> = services
        .iter()
        .map(|service| {
            let file = service.parent_file();
            let description = comments.at(file.name(), service.path());
            json!({ "name": service.name(), "description": description })
        })
        .collect();
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Recollect",
            "version": PACKAGE,
            "description": "Memory for LLM agents: JSON over HTTP, in the unary form of the \
                            Connect protocol. Requests may name fields in lowerCamelCase or \
                            snake_case; numbers of 64 bits are strings. Methods that stream \
                            take and return envelopes of five bytes and JSON.",
            "license": { "name": "Apache-2.0", "identifier": "Apache-2.0" },
        },
        "security": [{ "key": [] }],
        "tags": tags,
        "paths": paths,
        "components": {
            "schemas": schemas(&comments, pool),
            "securitySchemes": {
                "key": {
                    "type": "http",
                    "scheme": "bearer",
                    "description": "An API key, or a token of the configured issuer.",
                },
            },
        },
    })
}

fn operation(comments: &Comments, method: &MethodDescriptor) -> Value {
    let service = method.parent_service();
    let file = service.parent_file();
    let streams = method.is_client_streaming() || method.is_server_streaming();
    let media = match streams {
        true => "application/connect+json",
        false => "application/json",
    };
    let content = |message: MessageDescriptor| json!({ media: { "schema": reference(&message) } });
    json!({
        "operationId": format!("{}_{}", service.name(), method.name()),
        "tags": [service.name()],
        "description": comments.at(file.name(), method.path()),
        "requestBody": { "required": true, "content": content(method.input()) },
        "responses": {
            "200": {
                "description": match method.is_server_streaming() {
                    true => "A stream of answers",
                    false => "The answer",
                },
                "content": content(method.output()),
            },
            "default": {
                "description": "An error",
                "content": {
                    "application/json": { "schema": { "$ref": format!("{SCHEMAS}{ERROR}") } },
                },
            },
        },
    })
}

fn schemas(comments: &Comments, pool: &DescriptorPool) -> Map<String, Value> {
    let mut schemas = Map::new();
    for message in pool.all_messages() {
        if message.package_name() == PACKAGE && !message.is_map_entry() {
            let name = short(message.full_name()).to_owned();
            schemas.insert(name, object(comments, &message));
        }
    }
    for values in pool.all_enums() {
        if values.package_name() == PACKAGE {
            let name = short(values.full_name()).to_owned();
            schemas.insert(name, enumeration(comments, &values));
        }
    }
    schemas.insert(ERROR.to_owned(), error());
    schemas
}

fn object(comments: &Comments, message: &MessageDescriptor) -> Value {
    let file = message.parent_file();
    let properties: Map<String, Value> = message
        .fields()
        .map(|field| {
            let mut schema = of_field(&field);
            let description = comments.at(file.name(), field.path());
            let alternatives = field.containing_oneof();
            let description = match alternatives.filter(|oneof| !oneof.is_synthetic()) {
                Some(oneof) => format!("One of `{}`. {description}", oneof.name()),
                None => description,
            };
            if let (Some(schema), false) = (schema.as_object_mut(), description.is_empty()) {
                schema.insert("description".to_owned(), description.trim().into());
            }
            for (behavior, keyword) in [("OUTPUT_ONLY", "readOnly"), ("INPUT_ONLY", "writeOnly")] {
                if behaves(&field, behavior) {
                    schema[keyword] = true.into();
                }
            }
            (field.json_name().to_owned(), schema)
        })
        .collect();
    let mut schema = json!({
        "type": "object",
        "description": comments.at(file.name(), message.path()),
        "properties": properties,
        "additionalProperties": false,
    });
    let required: Vec<String> = message
        .fields()
        .filter(|field| behaves(field, "REQUIRED"))
        .map(|field| field.json_name().to_owned())
        .collect();
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    schema
}

fn enumeration(comments: &Comments, values: &EnumDescriptor) -> Value {
    let file = values.parent_file();
    let names: Vec<String> = values
        .values()
        .map(|value| value.name().to_owned())
        .collect();
    let mut lines = vec![comments.at(file.name(), values.path())];
    for value in values.values() {
        let comment = comments.at(file.name(), value.path());
        if !comment.is_empty() {
            lines.push(format!("- `{}`: {comment}", value.name()));
        }
    }
    json!({ "type": "string", "enum": names, "description": lines.join("\n") })
}

fn error() -> Value {
    json!({
        "type": "object",
        "description": "An error. Its details are those of gRPC: google.rpc.ErrorInfo with a \
                        reason always, BadRequest, QuotaFailure and RetryInfo where they apply.",
        "required": ["code"],
        "properties": {
            "code": { "type": "string", "enum": CODES },
            "message": { "type": "string" },
            "details": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["type", "value"],
                    "properties": {
                        "type": { "type": "string", "description": "Such as google.rpc.ErrorInfo." },
                        "value": {
                            "type": "string",
                            "contentEncoding": "base64",
                            "description": "The detail in protobuf.",
                        },
                        "debug": { "description": "The detail as JSON." },
                    },
                },
            },
        },
    })
}

fn of_field(field: &FieldDescriptor) -> Value {
    if let (true, Some(entry)) = (field.is_map(), field.kind().as_message()) {
        let values = of_kind(&entry.map_entry_value_field().kind());
        return json!({ "type": "object", "additionalProperties": values });
    }
    let one = of_kind(&field.kind());
    match field.is_list() {
        true => json!({ "type": "array", "items": one }),
        false => one,
    }
}

fn of_kind(kind: &Kind) -> Value {
    match kind {
        Kind::Double | Kind::Float => json!({ "type": "number" }),
        Kind::Int32 | Kind::Sint32 | Kind::Sfixed32 | Kind::Uint32 | Kind::Fixed32 => {
            json!({ "type": "integer", "format": "int32" })
        }
        Kind::Int64 | Kind::Sint64 | Kind::Sfixed64 | Kind::Uint64 | Kind::Fixed64 => {
            json!({ "type": "string", "format": "int64" })
        }
        Kind::Bool => json!({ "type": "boolean" }),
        Kind::String => json!({ "type": "string" }),
        Kind::Bytes => json!({ "type": "string", "contentEncoding": "base64" }),
        Kind::Enum(values) => json!({ "$ref": format!("{SCHEMAS}{}", short(values.full_name())) }),
        Kind::Message(message) => reference(message),
    }
}

/// A message, or what a well-known type is in JSON.
fn reference(message: &MessageDescriptor) -> Value {
    match message.full_name() {
        "google.protobuf.Timestamp" => json!({ "type": "string", "format": "date-time" }),
        "google.protobuf.Duration" => {
            json!({ "type": "string", "pattern": r"^-?\d+(\.\d{1,9})?s$" })
        }
        "google.protobuf.FieldMask" => json!({ "type": "string" }),
        "google.protobuf.Empty" => json!({ "type": "object" }),
        name => json!({ "$ref": format!("{SCHEMAS}{}", short(name)) }),
    }
}

/// A name without the package.
fn short(full_name: &str) -> &str {
    let name = full_name.strip_prefix(PACKAGE);
    name.map_or(full_name, |name| name.trim_start_matches('.'))
}

/// The comments of the proto files.
struct Comments(HashMap<(String, Vec<i32>), String>);

impl Comments {
    fn collect(files: &FileDescriptorSet) -> Self {
        let mut comments = HashMap::new();
        for file in &files.file {
            let locations = file.source_code_info.iter().flat_map(|info| &info.location);
            for location in locations {
                let text = location.leading_comments().lines();
                let lines: Vec<&str> = text
                    .map(|line| line.strip_prefix(' ').unwrap_or(line).trim_end())
                    .collect();
                let text = lines.join("\n").trim().to_owned();
                comments.insert((file.name().to_owned(), location.path.clone()), text);
            }
        }
        Self(comments)
    }

    fn at(&self, file: &str, path: &[i32]) -> String {
        let key = (file.to_owned(), path.to_vec());
        self.0.get(&key).cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every `$ref` of a value.
    fn references(value: &Value, found: &mut Vec<String>) {
        match value {
            Value::Object(fields) => {
                for (name, value) in fields {
                    match (name.as_str(), value) {
                        ("$ref", Value::String(target)) => found.push(target.clone()),
                        _ => references(value, found),
                    }
                }
            }
            Value::Array(items) => items.iter().for_each(|item| references(item, found)),
            _ => {}
        }
    }

    #[test]
    fn every_method_is_described_and_every_reference_leads_somewhere() {
        let document = document();
        let paths = document["paths"].as_object().unwrap();
        let methods: Vec<MethodDescriptor> = CONTRACT
            .pool
            .services()
            .filter(|service| service.package_name() == PACKAGE)
            .flat_map(|service| service.methods().collect::<Vec<_>>())
            .collect();
        assert_eq!(paths.len(), methods.len());
        for method in &methods {
            let operation = &paths[&path_of(method)]["post"];
            let description = operation["description"].as_str().unwrap();
            assert!(description.starts_with(method.name()), "{description}");
        }
        let mut targets = Vec::new();
        references(&document, &mut targets);
        assert!(targets.len() > methods.len() * 2);
        for target in targets {
            let pointer = target.strip_prefix('#').unwrap();
            assert!(document.pointer(pointer).is_some(), "{target}");
        }
    }

    #[test]
    fn fields_have_their_types_and_comments() {
        let document = document();
        let schema = |name: &str| document["components"]["schemas"][name].clone();
        let append = schema("AppendMessagesRequest");
        let thread = &append["properties"]["thread"];
        assert_eq!(thread["$ref"], format!("{SCHEMAS}ThreadRef"));
        let reference = schema("ThreadRef");
        let thread = &reference["properties"]["threadId"];
        assert_eq!(thread["type"], "string");
        let description = thread["description"].as_str().unwrap();
        assert!(description.starts_with("One of `thread`."), "{description}");
        let messages = &append["properties"]["messages"];
        assert_eq!(messages["type"], "array");
        assert_eq!(messages["items"]["$ref"], format!("{SCHEMAS}MessageInput"));
        let message = schema("Message");
        assert_eq!(message["properties"]["seq"]["type"], "string");
        assert_eq!(message["properties"]["createTime"]["format"], "date-time");
        assert_eq!(append["required"], json!(["thread"]));
        assert_eq!(schema("Part").get("required"), None);
        let thread = schema("Thread");
        assert_eq!(thread["properties"]["etag"]["readOnly"], true);
        assert_eq!(thread["properties"]["ttl"]["writeOnly"], true);
        assert_eq!(thread["properties"]["title"].get("readOnly"), None);
        let role = schema("Role");
        let roles = role["enum"].as_array().unwrap();
        assert!(roles.contains(&"ROLE_USER".into()), "{role}");
    }
}
