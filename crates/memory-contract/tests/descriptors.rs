//! Rules for the proto files that `buf lint` has no rule for.

use memory_contract::proto::DESCRIPTORS;
use prost::Message as _;
use prost_types::{FileDescriptorProto, FileDescriptorSet};

const PACKAGE: &str = "recollect.v1";

fn files() -> Vec<FileDescriptorProto> {
    let mut files = FileDescriptorSet::decode(DESCRIPTORS)
        .expect("the build script encodes it")
        .file;
    files.retain(|file| file.package() == PACKAGE);
    assert!(files.len() > 20, "{} files", files.len());
    files
}

#[test]
fn no_service_file_is_imported() {
    let files = files();
    let services: Vec<&str> = files
        .iter()
        .filter(|file| !file.service.is_empty())
        .map(FileDescriptorProto::name)
        .collect();
    let imported: Vec<String> = files
        .iter()
        .flat_map(|file| file.dependency.iter().map(move |import| (file, import)))
        .filter(|(_, import)| services.contains(&import.as_str()))
        .map(|(file, import)| format!("{} imports {import}", file.name()))
        .collect();
    assert!(
        imported.is_empty(),
        "shared types belong into a file without a service: {imported:#?}"
    );
}

#[test]
fn every_file_has_the_options_of_each_language() {
    for file in files() {
        let name = file.name();
        let options = file.options.clone().unwrap_or_default();
        assert_eq!(
            options.go_package(),
            "github.com/recollect-memory/recollect/gen/go/recollect/v1;recollectv1",
            "{name}"
        );
        assert_eq!(options.java_package(), "dev.recollect.v1", "{name}");
        assert!(options.java_multiple_files(), "{name}");
        assert_eq!(options.java_outer_classname(), outer_class(name), "{name}");
        assert_eq!(options.csharp_namespace(), "Recollect.V1", "{name}");
        assert_eq!(options.php_namespace(), "Recollect\\V1", "{name}");
        assert_eq!(options.ruby_package(), "Recollect::V1", "{name}");
    }
}

/// `NodeMemoryProto` for `recollect/v1/node_memory.proto`.
fn outer_class(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or_default();
    let words = name.trim_end_matches(".proto").split('_');
    let capitalized = words.map(|word| {
        let (first, rest) = word.split_at(1);
        first.to_uppercase() + rest
    });
    capitalized.collect::<String>() + "Proto"
}
