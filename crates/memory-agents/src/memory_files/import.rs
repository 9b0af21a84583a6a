//! Documents of an export in the namespaces of files.

use memory_agent_contract::document::NewDocument;
use memory_agent_contract::memory_file::{
    DELETED_FILES, FILE_VERSIONS, FILES, FileEdit, FilePath, RESERVED,
};
use memory_contract::{Invalid, key::KeyScope, limits, memory::MemoryOwner};
use memory_database::{StoreError, rows::only};
use memory_postgres::Params;
use serde_json::{Map, Value};
use uuid::Uuid;

use super::begin::Begun;
use super::edit::SPACES;
use super::stored::{LAST_VERSION, version_key};
use crate::MemoryFileStore;
use crate::document_calls::{PUT, PutCall, created_count};

impl MemoryFileStore<'_> {
    /// Stores the document of a file that [`check_reserved`] has accepted, in place of one at its path.
    /// The limits of a user's files hold.
    ///
    /// # Errors
    /// `DeletionInProgress`, `NeedsErase`; `MemoryFileError::IsDirectory`, `BelowFile`, `TooMany` and
    /// `TooManyBytes`.
    pub async fn import(
        self,
        owner: &MemoryOwner,
        document: &NewDocument,
    ) -> Result<(), StoreError> {
        let path = FilePath::of_document(&document.name);
        let begun = self.begin(owner, &path).await?;
        let fits = begun.place.check_free();
        let fits = fits.and_then(|()| begun.check_room(document.json.len() + SPACES));
        let Begun { transaction, .. } = begun;
        if let Err(error) = fits {
            transaction.rollback().await?;
            return Err(error.into());
        }
        let may_erase = self.caller.scopes.allow(KeyScope::Delete);
        let documents = std::slice::from_ref(document);
        let put = PutCall::of(self.caller, owner, documents, may_erase, None);
        let put = put.params();
        let params: Params<'_> = &put;
        let mut results = transaction.commit(&[(PUT, params)]).await?;
        created_count(&only(results.pop().unwrap_or_default())?)?;
        Ok(())
    }
}

/// Checks a document in a namespace of Recollect's own: an import may have one that no call makes.
///
/// # Errors
/// The field that is wrong: another namespace than those of files, a path that no file may have, and
/// a value of another form.
pub fn check_reserved(document: &NewDocument) -> Result<(), Invalid> {
    let NewDocument {
        name,
        json,
        ttl,
        text,
    } = document;
    let value: Map<String, Value> = serde_json::from_str(json)
        .map_err(|_malformed| Invalid::new("json", "must be a JSON object"))?;
    let may_end = match name.namespace.first().map(String::as_str) {
        Some(FILES) => {
            check_path(&FilePath::of_document(name))?;
            check_fields(&value, &["id", "version", "text"])?;
            check_known(&value)?;
            check_text(&value)?;
            false
        }
        Some(DELETED_FILES) => {
            check_path(&FilePath::of_document(name))?;
            check_fields(&value, &["id", "version", "replaced"])?;
            check_gone(&value)?;
            if ttl.is_none() {
                return Err(Invalid::new("ttl", "is required for a deleted file"));
            }
            true
        }
        Some(FILE_VERSIONS) => {
            check_version(&name.namespace, &name.key)?;
            check_fields(&value, &["change", "text"])?;
            let change = value.get("change").and_then(Value::as_str);
            if !change.is_some_and(FileEdit::is_change) {
                return Err(Invalid::new("json", "must have a `change` of a file"));
            }
            check_text(&value)?;
            true
        }
        _ => {
            return Err(Invalid::new(
                "namespace[0]",
                format!(
                    "must not begin with `{RESERVED}`, which is reserved, unless it is `{FILES}`, \
                     `{DELETED_FILES}` or `{FILE_VERSIONS}`"
                ),
            ));
        }
    };
    if ttl.is_some_and(|ttl| !may_end || ttl > limits::DELETED_MEMORY_FILE_AGE) {
        let problem = "must be unset for a file, and at most 30 days for a deleted one";
        return Err(Invalid::new("ttl", problem));
    }
    match text.is_some() && may_end {
        true => Err(Invalid::new(
            "indexed_text",
            "must be empty: only files that exist are searched",
        )),
        false => Ok(()),
    }
}

fn check_path(path: &FilePath) -> Result<(), Invalid> {
    if path.names().iter().any(|name| name.contains('/')) {
        let problem =
            "must have no slashes in its labels, nor in the key: they are names of a path";
        return Err(Invalid::new("namespace", problem));
    }
    FilePath::parse_file("namespace", &path.to_string()).map(|_path| ())
}

fn check_version(namespace: &[String], key: &str) -> Result<(), Invalid> {
    if !matches!(namespace, [_, id] if is_id(id)) {
        let problem = "must have the id of a file, a UUID, as its second and last label";
        return Err(Invalid::new("namespace", problem));
    }
    let version = key
        .parse::<i64>()
        .ok()
        .filter(|version| is_version(*version));
    match version.is_some_and(|version| version_key(version) == key) {
        true => Ok(()),
        false => Err(Invalid::new(
            "key",
            "must be a number of ten digits, 0000000001 for the first version",
        )),
    }
}

fn check_fields(value: &Map<String, Value>, names: &[&str]) -> Result<(), Invalid> {
    match value.keys().all(|name| names.contains(&name.as_str())) {
        true => Ok(()),
        false => Err(Invalid::new(
            "json",
            format!("must have no fields but `{}`", names.join("`, `")),
        )),
    }
}

/// Checks what is known of a file: its id and its version.
fn check_known(value: &Map<String, Value>) -> Result<(), Invalid> {
    let id = value.get("id").and_then(Value::as_str);
    let version = value.get("version").and_then(Value::as_i64);
    match id.is_some_and(is_id) && version.is_some_and(is_version) {
        true => Ok(()),
        false => Err(Invalid::new(
            "json",
            format!("must have an `id`, a UUID, and a `version`, 1 to {LAST_VERSION}"),
        )),
    }
}

fn check_gone(value: &Map<String, Value>) -> Result<(), Invalid> {
    check_known(value)?;
    let wrong = || Invalid::new("json", "must have as `replaced` a list of ids and versions");
    let replaced = match value.get("replaced") {
        None => return Ok(()),
        Some(replaced) => replaced.as_array().ok_or_else(wrong)?,
    };
    for one in replaced {
        let one = one.as_object().ok_or_else(wrong)?;
        check_fields(one, &["id", "version"])?;
        check_known(one)?;
    }
    Ok(())
}

fn check_text(value: &Map<String, Value>) -> Result<(), Invalid> {
    let most = limits::MEMORY_FILE_BYTES;
    let text = value.get("text").and_then(Value::as_str);
    match text.is_some_and(|text| text.len() <= most) {
        true => Ok(()),
        false => Err(Invalid::new(
            "json",
            format!("must have a `text` of at most {most} bytes"),
        )),
    }
}

/// Whether a text is a UUID in the form in which files have it.
fn is_id(text: &str) -> bool {
    Uuid::try_parse(text).is_ok_and(|id| id.to_string() == text)
}

fn is_version(number: i64) -> bool {
    (1..=LAST_VERSION).contains(&number)
}

#[cfg(test)]
mod tests {
    use memory_agent_contract::document::DocumentName;
    use memory_agent_contract::memory_file::MemoryFile;

    use super::super::stored::{Gone, file_document, gone_document, version_document};
    use super::*;

    const ID: &str = "0198c1de-3e07-7a4b-9a56-0d6f3a5b8c12";

    fn file() -> MemoryFile {
        MemoryFile {
            path: FilePath::parse("path", "/projects/garden.md").unwrap(),
            id: ID.to_owned(),
            version: 3,
            text: "# Garden\n".to_owned(),
            created: None,
            updated: None,
        }
    }

    fn gone() -> NewDocument {
        let gone = Gone {
            id: ID.to_owned(),
            version: 3,
        };
        gone_document(&file().path, &[gone.clone(), gone]).unwrap()
    }

    fn named(namespace: &[&str], key: &str, document: NewDocument) -> NewDocument {
        NewDocument {
            name: DocumentName {
                namespace: namespace.iter().map(|label| (*label).to_owned()).collect(),
                key: key.to_owned(),
            },
            ..document
        }
    }

    #[test]
    fn what_is_stored_is_accepted() {
        let version = version_document(&file(), "insert");
        let kept = NewDocument {
            ttl: Some(limits::DELETED_MEMORY_FILE_AGE),
            ..version.clone()
        };
        for document in [file_document(&file()), gone(), version, kept] {
            assert_eq!(check_reserved(&document), Ok(()), "{document:?}");
        }
    }

    #[test]
    fn what_no_call_stores_is_refused() {
        let field = |document: NewDocument| check_reserved(&document).unwrap_err().field;
        let file = || file_document(&file());
        let version = || version_document(&self::file(), "put");
        for (namespace, key) in [
            (&[FILES, ".."][..], "a"),
            (&[FILES][..], "etc/x\n0B\t/memories/forged"),
            (&[FILES][..], "a/b"),
            (&[FILES, "a/b"][..], "c"),
        ] {
            assert_eq!(field(named(namespace, key, file())), "namespace", "{key:?}");
        }
        assert_eq!(
            field(named(&["recollect.other"], "a", file())),
            "namespace[0]"
        );
        for (namespace, key, wrong) in [
            (&[FILE_VERSIONS, "x"][..], "0000000001", "namespace"),
            (&[FILE_VERSIONS, ID, "x"][..], "0000000001", "namespace"),
            (&[FILE_VERSIONS, ID][..], "1", "key"),
            (&[FILE_VERSIONS, ID][..], "0000000000", "key"),
            (&[FILE_VERSIONS, ID][..], "+000000001", "key"),
        ] {
            assert_eq!(field(named(namespace, key, version())), wrong, "{key}");
        }
        for json in [
            "{}".to_owned(),
            format!(r#"{{"id": "{ID}", "version": 9223372036854775807, "text": ""}}"#),
            format!(r#"{{"id": "{ID}", "version": 0, "text": ""}}"#),
            format!(r#"{{"id": "{ID}", "version": 1, "text": 7}}"#),
            format!(r#"{{"id": "{ID}", "version": 1, "text": "", "other": 1}}"#),
            r#"{"id": "x", "version": 1, "text": ""}"#.to_owned(),
        ] {
            assert_eq!(field(NewDocument { json, ..file() }), "json");
        }
        let json = r#"{"change": "forged", "text": ""}"#.to_owned();
        assert_eq!(field(NewDocument { json, ..version() }), "json");
        let ttl = Some(limits::DELETED_MEMORY_FILE_AGE);
        assert_eq!(field(NewDocument { ttl, ..file() }), "ttl");
        assert_eq!(
            field(NewDocument {
                ttl: None,
                ..gone()
            }),
            "ttl"
        );
        let text = Some("searched".to_owned());
        assert_eq!(field(NewDocument { text, ..gone() }), "indexed_text");
    }
}
