//! The documents of files and of their versions.

use memory_agent_contract::document::{Document, DocumentName, NewDocument};
use memory_agent_contract::memory_file::{
    DELETED_FILES, FILE_VERSIONS, FILES, FilePath, MemoryFile,
};
use memory_contract::limits;
use serde_json::{Value, json};

/// The last number of a version: keys of versions have so many digits.
pub(super) const LAST_VERSION: i64 = 9_999_999_999;

/// What is left of a deleted file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Gone {
    pub(super) id: String,
    pub(super) version: i64,
}

/// The file that a document is. One that came from elsewhere has what it lacks by default.
pub fn memory_file_of(document: &Document) -> MemoryFile {
    MemoryFile {
        created: Some(document.created),
        updated: Some(document.updated),
        ..file_of(FilePath::of_document(&document.name), &document.json)
    }
}

/// A file from its JSON, without times.
pub(super) fn file_of(path: FilePath, json: &str) -> MemoryFile {
    let value: Value = serde_json::from_str(json).unwrap_or_default();
    let text = |name: &str| value[name].as_str().unwrap_or_default().to_owned();
    MemoryFile {
        path,
        id: text("id"),
        version: value["version"].as_i64().unwrap_or_default(),
        text: text("text"),
        created: None,
        updated: None,
    }
}

/// What is left of the files that were deleted at a path, the last one first, from its JSON.
pub(super) fn gone_of(json: &str) -> Vec<Gone> {
    let value: Value = serde_json::from_str(json).unwrap_or_default();
    let replaced = value["replaced"].as_array().into_iter().flatten();
    let gone = |value: &Value| Gone {
        id: value["id"].as_str().unwrap_or_default().to_owned(),
        version: value["version"].as_i64().unwrap_or_default(),
    };
    let all = std::iter::once(&value).chain(replaced).map(gone);
    all.filter(|gone| !gone.id.is_empty()).collect()
}

/// The document of a file.
pub(super) fn file_document(file: &MemoryFile) -> NewDocument {
    let meant: String = file.text.chars().take(limits::INDEXED_CHARS).collect();
    NewDocument {
        name: file.path.document(FILES),
        json: json!({"id": file.id, "version": file.version, "text": file.text}).to_string(),
        ttl: None,
        text: (!meant.trim().is_empty()).then_some(meant),
    }
}

/// The document of a file's version.
pub(super) fn version_document(file: &MemoryFile, change: &str) -> NewDocument {
    NewDocument {
        name: version_name(&file.id, file.version),
        json: json!({"change": change, "text": file.text}).to_string(),
        ttl: None,
        text: None,
    }
}

/// The document that is left of the files that were deleted at a path, the last one first; `None`
/// for no files.
pub(super) fn gone_document(path: &FilePath, gone: &[Gone]) -> Option<NewDocument> {
    let (last, replaced) = gone.split_first()?;
    let replaced = replaced.iter();
    let replaced: Vec<Value> = replaced
        .map(|gone| json!({"id": gone.id, "version": gone.version}))
        .collect();
    Some(NewDocument {
        name: path.document(DELETED_FILES),
        json: json!({"id": last.id, "version": last.version, "replaced": replaced}).to_string(),
        ttl: Some(limits::DELETED_MEMORY_FILE_AGE),
        text: None,
    })
}

/// Seconds for which the versions of a deleted file are kept.
pub(super) fn gone_seconds() -> f64 {
    limits::DELETED_MEMORY_FILE_AGE.as_secs_f64()
}

/// The namespace of the versions of a file.
pub(super) fn versions_of(id: &str) -> Vec<String> {
    vec![FILE_VERSIONS.to_owned(), id.to_owned()]
}

/// The name of the document of a version.
pub(super) fn version_name(id: &str, version: i64) -> DocumentName {
    DocumentName {
        namespace: versions_of(id),
        key: version_key(version),
    }
}

/// The key of a version: keys are ordered as the versions are.
pub(super) fn version_key(version: i64) -> String {
    format!("{version:010}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_comes_back_from_its_document() {
        let file = MemoryFile {
            path: FilePath::parse("path", "/projects/garden.md").unwrap(),
            id: "0198".to_owned(),
            version: 12,
            text: "# Garden\n\n\"Tulips\" \u{1b}[1m\n".to_owned(),
            created: None,
            updated: None,
        };
        let stored = file_document(&file);
        assert_eq!(
            file_of(FilePath::of_document(&stored.name), &stored.json),
            file
        );
        let long = MemoryFile {
            text: "é".repeat(10_000),
            ..file.clone()
        };
        assert_eq!(file_document(&long).text.unwrap().chars().count(), 8_192);
        assert!(
            file_document(&MemoryFile {
                text: " \n".to_owned(),
                ..file.clone()
            })
            .text
            .is_none()
        );
        assert_eq!(
            gone_of(&stored.json),
            [Gone {
                id: "0198".to_owned(),
                version: 12
            }]
        );
        // An import may store anything.
        for json in ["{}", r#"{"text": 7, "version": "x"}"#] {
            assert_eq!(file_of(FilePath::default(), json).text, "", "{json}");
            assert_eq!(gone_of(json), [], "{json}");
        }
        assert!(version_key(9) < version_key(10));
    }

    #[test]
    fn deleted_files_come_back_from_their_document() {
        let path = FilePath::parse("path", "/projects/garden.md").unwrap();
        let gone: Vec<Gone> = [("0199", 3), ("0198", 12)]
            .map(|(id, version)| Gone {
                id: id.to_owned(),
                version,
            })
            .into();
        let stored = gone_document(&path, &gone).unwrap();
        assert_eq!(FilePath::of_document(&stored.name), path);
        assert_eq!(gone_of(&stored.json), gone);
        assert_eq!(gone_document(&path, &[]), None);
        assert!(version_key(LAST_VERSION - 1) < version_key(LAST_VERSION));
    }
}
