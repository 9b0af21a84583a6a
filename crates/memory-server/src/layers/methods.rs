//! The server's methods and what each needs, from the contract's descriptors.

use std::collections::HashMap;
use std::sync::Arc;

use memory_contract::{key::KeyScope, proto::DESCRIPTORS};
use prost::Message as _;
use prost_types::FileDescriptorSet;

use super::scopes::{changes, scope_of};

/// The service and method of every call of the contract, by path.
#[derive(Clone, Debug)]
pub(crate) struct Methods(Arc<Known>);

/// One call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Method {
    /// The full name of its service, such as `recollect.v1.ThreadService`.
    pub(crate) service: Arc<str>,
    /// Its own name, such as `GetThread`.
    pub(crate) name: Arc<str>,
    /// Whether either side sends a stream.
    pub(crate) streams: bool,
    /// Whether it waits for what others do, for as long as it may.
    pub(crate) watches: bool,
    /// Whether it is one of ours; health and reflection are not.
    pub(crate) ours: bool,
    /// The scope that a key needs for it. `None` where there is nothing to
    /// protect: health, reflection, and paths that lead nowhere.
    pub(crate) scope: Option<KeyScope>,
    /// Its action in the audit log, such as `append_messages`. `None`
    /// where it changes nothing.
    pub(crate) change: Option<Arc<str>>,
}

#[derive(Debug)]
struct Known {
    methods: HashMap<String, Method>,
    services: Vec<String>,
    unknown: Method,
}

/// Services that anybody may call.
const OPEN: [(&str, &str); 4] = [
    ("grpc.health.v1.Health", "Check"),
    ("grpc.health.v1.Health", "Watch"),
    (
        "grpc.reflection.v1.ServerReflection",
        "ServerReflectionInfo",
    ),
    (
        "grpc.reflection.v1alpha.ServerReflection",
        "ServerReflectionInfo",
    ),
];

/// The calls that watch.
const WATCHES: [(&str, &str); 2] = [
    ("recollect.v1.ThreadService", "WatchThread"),
    ("recollect.v1.SubscriptionService", "StreamEvents"),
];

/// The service and the name of all methods that the server does not know.
pub(super) const UNKNOWN: &str = "unknown";

impl Methods {
    /// Reads the descriptors.
    pub(crate) fn new() -> Self {
        let mut methods = HashMap::new();
        let mut services = Vec::new();
        let set = FileDescriptorSet::decode(DESCRIPTORS).unwrap_or_default();
        for file in &set.file {
            for service in &file.service {
                let full_name = format!("{}.{}", file.package(), service.name());
                for method in &service.method {
                    let streams = method.client_streaming() || method.server_streaming();
                    let (service, name) = (service.name(), method.name());
                    let scope = scope_of(service, name);
                    let (path, mut method) = entry(&full_name, name, streams, Some(scope), true);
                    method.change = changes(service, name).then(|| snake_case(name).into());
                    methods.insert(path, method);
                }
                services.push(full_name);
            }
        }
        methods.extend(OPEN.map(|(service, name)| entry(service, name, true, None, false)));
        let (_, unknown) = entry(UNKNOWN, UNKNOWN, false, None, true);
        Self(Arc::new(Known {
            methods,
            services,
            unknown,
        }))
    }

    /// The call of a path. All paths that the server does not know are one
    /// call, so that callers cannot fill the metrics with names.
    pub(crate) fn of(&self, path: &str) -> &Method {
        self.0.methods.get(path).unwrap_or(&self.0.unknown)
    }

    /// The full names of the contract's services.
    pub(crate) fn services(&self) -> &[String] {
        &self.0.services
    }
}

fn entry(
    service: &str,
    name: &str,
    streams: bool,
    scope: Option<KeyScope>,
    ours: bool,
) -> (String, Method) {
    let method = Method {
        service: service.into(),
        name: name.into(),
        streams,
        watches: WATCHES.contains(&(service, name)),
        ours,
        scope,
        change: None,
    };
    (format!("/{service}/{name}"), method)
}

/// `AppendMessages` as `append_messages`.
fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use memory_contract::convert::action_name;
    use memory_contract::proto::TransactionAction;

    use super::*;

    #[test]
    fn changes_have_the_names_of_the_record() {
        let methods = Methods::new();
        let change = |path: &str| methods.of(path).change.clone();
        let append = change("/recollect.v1.MessageService/AppendMessages");
        assert_eq!(append.as_deref(), Some("append_messages"));
        let create = change("/recollect.v1.KeyService/CreateApiKey");
        assert_eq!(create.as_deref(), Some("create_api_key"));
        assert_eq!(change("/recollect.v1.ThreadService/GetThread"), None);
        assert_eq!(change("/grpc.health.v1.Health/Check"), None);
        assert_eq!(change("/no/such"), None);
    }

    /// The actions that the SQL files below a directory record.
    fn recorded_below(directory: &Path) -> Vec<String> {
        let mut actions = Vec::new();
        for entry in fs::read_dir(directory).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                actions.extend(recorded_below(&path));
            } else if path.extension().is_some_and(|end| end == "sql")
                && !path.ends_with("audit.sql")
                && !path.ends_with("audit_of.sql")
            {
                let sql = fs::read_to_string(&path).unwrap();
                // Also of `recollect.audit_of`.
                let calls = sql.split("recollect.audit").skip(1);
                actions.extend(calls.map(|call| call.split('\'').nth(1).unwrap().to_owned()));
            }
        }
        actions
    }

    #[test]
    fn each_recorded_action_is_one_of_the_contract_and_the_other_way_round() {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let crates = fs::read_dir(crates).unwrap();
        let calls = Methods::new().0.methods.clone().into_values();
        let calls = calls.filter_map(|method| method.change);
        let recorded: BTreeSet<String> = crates
            .map(|one| one.unwrap().path())
            .flat_map(|one| ["functions", "queries"].map(|below| one.join(below)))
            .filter(|below| below.is_dir())
            .flat_map(|below| recorded_below(&below))
            .chain(calls.map(|action| action.to_string()))
            .collect();
        let known: BTreeSet<String> = (1..)
            .map_while(|number| TransactionAction::try_from(number).ok())
            .map(action_name)
            .collect();
        assert_eq!(recorded, known);
    }
}
