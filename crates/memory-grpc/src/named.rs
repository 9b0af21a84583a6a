//! What a request names: the owners of data, by their names and by ids of their data.

use std::sync::LazyLock;

use memory_contract::proto::{DESCRIPTORS, RecallScope};
use prost_reflect::{
    DescriptorPool, DynamicMessage, MessageDescriptor, MethodDescriptor, ReflectMessage as _, Value,
};

/// Whose data a request is about. `field` is the path of the field that says so.
#[derive(Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the variants describe their fields")]
pub enum Name {
    /// A user of an app.
    User {
        field: String,
        app: String,
        user: String,
    },
    /// A user in all apps.
    UserOfAllApps { field: String, user: String },
    /// An app.
    App { field: String, app: String },
    /// All users of an app that is named elsewhere.
    AllUsers { field: String },
    /// The user who said a message.
    Speaker { field: String, user: String },
    /// The owner of a thread.
    Thread(String),
    /// The owner of a memory.
    Memory(String),
    /// The owner of what is deleted.
    Deletion(String),
}

/// The types of the contract, which are read once.
static POOL: LazyLock<DescriptorPool> =
    // A test decodes them.
    LazyLock::new(|| DescriptorPool::decode(DESCRIPTORS).unwrap_or_default());

/// The types of requests, by the paths of their calls. Clones share them.
#[derive(Clone, Debug)]
pub struct Requests(DescriptorPool);

impl Default for Requests {
    /// The types of the contract.
    fn default() -> Self {
        Self(POOL.clone())
    }
}

impl Requests {
    /// The type of a call's request, where the client sends one.
    pub fn of(&self, service: &str, method: &str) -> Option<MessageDescriptor> {
        let method = self.method(service, method)?;
        (!method.is_client_streaming()).then(|| method.input())
    }

    /// Whether the contract could not be read.
    pub fn is_empty(&self) -> bool {
        self.0.services().len() == 0
    }

    fn method(&self, service: &str, method: &str) -> Option<MethodDescriptor> {
        let service = self.0.get_service_by_name(service)?;
        service.methods().find(|found| found.name() == method)
    }

    /// A type by its name, such as `Thread`.
    pub fn message(&self, name: &str) -> Option<MessageDescriptor> {
        self.0.get_message_by_name(&format!("recollect.v1.{name}"))
    }
}

/// All names in a message, nested ones included.
pub fn names(message: &DynamicMessage) -> Vec<Name> {
    let mut names = Vec::new();
    collect(message, "", &mut names);
    names
}

fn collect(message: &DynamicMessage, path: &str, names: &mut Vec<Name>) {
    let at = |field: &str| match path {
        "" => field.to_owned(),
        path => format!("{path}.{field}"),
    };
    let text = |field: &str| {
        let value = message.get_field_by_name(field)?;
        Some(value.as_str()?.to_owned())
    };
    let known_by = |id: &str| text(id).filter(|id| !id.is_empty());
    names.extend(known_by("thread_id").map(Name::Thread));
    names.extend(known_by("memory_id").map(Name::Memory));
    names.extend(known_by("deletion_id").map(Name::Deletion));
    // A oneof: present means named, also if it is empty.
    if message.has_field_by_name("user_of_all_apps") {
        let field = "user_of_all_apps";
        let user = text(field).unwrap_or_default();
        names.push(Name::UserOfAllApps {
            field: at(field),
            user,
        });
    }
    let scope = message.get_field_by_name("scope");
    if scope.and_then(|scope| scope.as_enum_number()) == Some(RecallScope::App.into()) {
        names.push(Name::AllUsers { field: at("scope") });
    }
    match (text("app_id"), text("user_id")) {
        // A resource that is named by its id, or that has its owner's names from elsewhere.
        (Some(app), Some(_)) if app.is_empty() && is_resource(&message.descriptor()) => {}
        (Some(app), Some(user)) => names.push(Name::User {
            field: at("user_id"),
            app,
            user,
        }),
        (Some(app), None) => names.push(Name::App {
            field: at("app_id"),
            app,
        }),
        (None, _) => {}
    }
    if SAID.contains(&message.descriptor().name())
        && let Some(user) = known_by("user_id")
    {
        let field = at("user_id");
        names.push(Name::Speaker { field, user });
    }
    for (field, value) in message.fields() {
        let at = at(field.name());
        match value {
            Value::Message(nested) => collect(nested, &at, names),
            Value::List(items) => {
                let nested = items.iter().enumerate();
                for (index, item) in nested {
                    if let Value::Message(item) = item {
                        collect(item, &format!("{at}[{index}]"), names);
                    }
                }
            }
            _ => {}
        }
    }
}

/// The types whose `user_id` is the user who said them.
const SAID: [&str; 2] = ["Message", "MessageInput"];

/// Whether a type is stored data, and not a reference to it.
fn is_resource(descriptor: &MessageDescriptor) -> bool {
    ["Thread", "Memory"].contains(&descriptor.name())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(service: &str, method: &str, json: &str) -> Vec<Name> {
        let service = format!("recollect.v1.{service}");
        let descriptor = Requests::default().of(&service, method).unwrap();
        let json = &mut serde_json::Deserializer::from_str(json);
        names(&DynamicMessage::deserialize(descriptor, json).unwrap())
    }

    #[test]
    fn owners_and_ids_are_found_at_every_depth() {
        let user = |field: &str, user: &str| Name::User {
            field: field.to_owned(),
            app: "shop".to_owned(),
            user: user.to_owned(),
        };
        let json = r#"{"target": {"user": {"appId": "shop", "userId": "ada"}},
            "filter": {"thread": {"threadId": "t"}}}"#;
        assert_eq!(
            of("MemoryService", "ListMemories", json),
            [
                user("target.user.user_id", "ada"),
                Name::Thread("t".to_owned())
            ]
        );
        let json = r#"{"threads": [{"threadId": "t"}, {"session": {"appId": "shop"}}]}"#;
        assert_eq!(
            of("CheckpointService", "DeleteCheckpoints", json),
            [
                Name::Thread("t".to_owned()),
                user("threads[1].session.user_id", "")
            ]
        );
        let json = r#"{"thread": {"threadId": "t"}, "messages": [{}, {"userId": "bob"}]}"#;
        assert_eq!(
            of("MessageService", "AppendMessages", json),
            [
                Name::Thread("t".to_owned()),
                Name::Speaker {
                    field: "messages[1].user_id".to_owned(),
                    user: "bob".to_owned()
                }
            ]
        );
        let json = r#"{"memory": {"memoryId": "m"}}"#;
        assert_eq!(
            of("MemoryService", "UpdateMemory", json),
            [Name::Memory("m".to_owned())]
        );
        assert_eq!(of("ThreadService", "ListThreads", "{}"), []);
        assert!(
            Requests::default()
                .of("recollect.v1.TransferService", "ImportRecords")
                .is_none()
        );
    }
}
