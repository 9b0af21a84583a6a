//! The contract's methods by path.

use std::collections::HashMap;
use std::sync::LazyLock;

use memory_contract::proto::DESCRIPTORS;
use prost_reflect::{DescriptorPool, FieldDescriptor, MethodDescriptor};
use prost_types::FileDescriptorSet;
use prost_types::method_options::IdempotencyLevel;

/// The package of the contract.
pub(crate) const PACKAGE: &str = "recollect.v1";

/// The contract's descriptors.
pub(crate) static CONTRACT: LazyLock<Contract> = LazyLock::new(Contract::read);

/// All types and methods.
pub(crate) struct Contract {
    pub(crate) pool: DescriptorPool,
    /// The same, with the comments of the proto files.
    pub(crate) files: FileDescriptorSet,
    methods: HashMap<String, Method>,
}

/// A method of the contract.
#[derive(Clone, Debug)]
pub(crate) struct Method {
    pub(crate) descriptor: MethodDescriptor,
    /// Whether it changes nothing, so that GET may call it.
    pub(crate) reads: bool,
}

impl Contract {
    fn read() -> Self {
        // A test decodes them.
        let pool = DescriptorPool::decode(DESCRIPTORS).unwrap_or_default();
        let files = prost::Message::decode(DESCRIPTORS).unwrap_or_default();
        let reading = reading(&files);
        let methods = pool
            .services()
            .filter(|service| service.package_name() == PACKAGE)
            .flat_map(|service| service.methods().collect::<Vec<_>>())
            .map(|descriptor| {
                let path = path_of(&descriptor);
                let reads = reading.contains(&path);
                (path, Method { descriptor, reads })
            })
            .collect();
        Self {
            pool,
            files,
            methods,
        }
    }

    /// The method that a path names.
    pub(crate) fn method(&self, path: &str) -> Option<&Method> {
        self.methods.get(path)
    }
}

impl Method {
    /// Whether either side sends a stream.
    pub(crate) fn streams(&self) -> bool {
        self.descriptor.is_client_streaming() || self.descriptor.is_server_streaming()
    }
}

/// Whether a field has a behavior: the name of a value of `google.api.FieldBehavior`.
pub(crate) fn behaves(field: &FieldDescriptor, behavior: &str) -> bool {
    let pool = field.parent_pool();
    let Some(option) = pool.get_extension_by_name("google.api.field_behavior") else {
        return false;
    };
    let options = field.options();
    let behaviors = options.get_extension(&option);
    let numbers = behaviors.as_list().unwrap_or_default().iter();
    let kind = option.kind();
    let values = kind.as_enum();
    numbers
        .filter_map(|number| values?.get_value(number.as_enum_number()?))
        .any(|value| value.name() == behavior)
}

/// Such as `/recollect.v1.ThreadService/GetThread`.
pub(crate) fn path_of(method: &MethodDescriptor) -> String {
    format!("/{}/{}", method.parent_service().full_name(), method.name())
}

/// The paths of methods that change nothing.
fn reading(files: &FileDescriptorSet) -> Vec<String> {
    let mut reading = Vec::new();
    for file in &files.file {
        for service in &file.service {
            for method in &service.method {
                let options = method.options.as_ref();
                let level = options.map(|options| options.idempotency_level());
                if level == Some(IdempotencyLevel::NoSideEffects) {
                    let (service, method) = (service.name(), method.name());
                    reading.push(format!("/{}.{service}/{method}", file.package()));
                }
            }
        }
    }
    reading
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_found_by_path() {
        let get = CONTRACT
            .method("/recollect.v1.ThreadService/GetThread")
            .unwrap();
        assert!(get.reads && !get.streams());
        let append = CONTRACT
            .method("/recollect.v1.MessageService/AppendMessages")
            .unwrap();
        assert!(!append.reads && !append.streams());
        let watch = CONTRACT
            .method("/recollect.v1.ThreadService/WatchThread")
            .unwrap();
        assert!(watch.streams());
        assert!(CONTRACT.method("/recollect.v1.ThreadService/No").is_none());
    }
}
