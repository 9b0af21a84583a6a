//! The fields of the contract.

use std::collections::HashMap;
use std::sync::LazyLock;

use memory_contract::proto::DESCRIPTORS;
use prost_reflect::{DescriptorPool, FieldDescriptor};

/// The package of the contract.
const PACKAGE: &str = "recollect.v1";

/// The descriptors of the contract and of what it imports.
pub static POOL: LazyLock<DescriptorPool> = LazyLock::new(|| {
    DescriptorPool::decode(DESCRIPTORS).expect("the build script encodes descriptors")
});

/// Every field of the contract, with its comment on one line.
pub fn fields() -> Vec<(FieldDescriptor, String)> {
    let mut comments = HashMap::new();
    for file in POOL.files() {
        let info = file.file_descriptor_proto().source_code_info.as_ref();
        for place in info.iter().flat_map(|info| &info.location) {
            let words: Vec<&str> = place.leading_comments().split_whitespace().collect();
            comments.insert(
                (file.name().to_owned(), place.path.clone()),
                words.join(" "),
            );
        }
    }
    let messages = POOL.all_messages();
    let messages = messages.filter(|message| message.package_name() == PACKAGE);
    let fields = messages.flat_map(|message| message.fields().collect::<Vec<_>>());
    let fields: Vec<(FieldDescriptor, String)> = fields
        .map(|field| {
            let place = (field.parent_file().name().to_owned(), field.path().to_vec());
            let comment = comments.remove(&place).unwrap_or_default();
            (field, comment)
        })
        .collect();
    assert!(fields.len() > 500, "{} fields", fields.len());
    fields
}

/// Such as `Thread.title`.
pub fn name(field: &FieldDescriptor) -> String {
    format!("{}.{}", field.parent_message().name(), field.name())
}
