//! The keys of objects.

use memory_contract::{AppId, TenantId, ThreadId, file::ContentDigest};
use object_store::path::{Path, PathPart};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::error::ObjectsError;

/// The longest part of a key, in bytes. File systems take names of 255 bytes, and files
/// are written under a longer name first.
const PART_BYTES: usize = 200;
/// The bytes that are kept of a longer part, before its digest.
const KEPT_BYTES: usize = 100;

/// The key of a node's memory: `TENANT/node_memory/APP/THREAD/NODE.json`. Each
/// name is percent-encoded where it has to be. One that is longer than 200 bytes
/// then is cut after 100, and `~` and its SHA-256 follow; `~` is always encoded
/// otherwise.
pub fn memory_key(tenant: &TenantId, app: &AppId, thread: ThreadId, node: &str) -> String {
    format!(
        "{}/node_memory/{}/{thread}/{}.json",
        part(tenant.as_str()),
        part(app.as_str()),
        part(node),
    )
}

/// The key of content that messages contain: `TENANT/contents/DIGEST-VERSION`. Content that
/// was erased and comes back has another version.
pub fn content_key(tenant: &TenantId, digest: ContentDigest, version: Uuid) -> String {
    format!(
        "{}/contents/{digest}-{}",
        part(tenant.as_str()),
        version.simple()
    )
}

/// The beginning of the storage keys of a tenant's own files, by the setting `file_prefix`.
pub(crate) fn file_prefix(template: &str, tenant: &TenantId) -> String {
    template.replace("{tenant}", &part(tenant.as_str()))
}

/// The key of a copy of an object that cannot be read, by the object's own key:
/// the same place under `node_memory_corrupt`, with the first 16 digits of the
/// content's SHA-256 in its name.
pub fn copy_key(key: &str, content: &[u8]) -> String {
    let mut digest = hex::encode(Sha256::digest(content));
    digest.truncate(16);
    let moved = key.replacen("/node_memory/", "/node_memory_corrupt/", 1);
    let name = moved.strip_suffix(".json").unwrap_or(&moved);
    format!("{name}.{digest}.json")
}

fn part(name: &str) -> String {
    let mut encoded = PathPart::from(name).as_ref().to_owned();
    if encoded.len() <= PART_BYTES {
        return encoded;
    }
    // Encoded names are ASCII; only an encoded character must stay whole.
    let start = encoded[KEPT_BYTES - 2..KEPT_BYTES]
        .find('%')
        .map_or(KEPT_BYTES, |at| KEPT_BYTES - 2 + at);
    encoded.truncate(start);
    format!("{encoded}~{}", hex::encode(Sha256::digest(name)))
}

/// The path of a key.
///
/// # Errors
/// The key is not a valid path.
pub(crate) fn path_of(key: &str) -> Result<Path, ObjectsError> {
    Path::parse(key).map_err(|_| ObjectsError::Key)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(app: &str, node: &str) -> String {
        let thread = ThreadId::from(uuid::Uuid::nil());
        memory_key(&TenantId::new("acme"), &AppId::new(app), thread, node)
    }

    #[test]
    fn plain_names_stay_as_they_are() {
        assert_eq!(
            key("bot", "planner"),
            "acme/node_memory/bot/00000000-0000-0000-0000-000000000000/planner.json"
        );
    }

    #[test]
    fn no_name_leaves_its_place() {
        for name in ["..", ".", "a/b", "/", "a%2Fb", "ä", "~", "x\\y"] {
            let key = key(name, name);
            assert_eq!(key.split('/').count(), 5, "{key}");
            assert!(
                !key.split('/').any(|part| part == ".." || part == "."),
                "{key}"
            );
            assert!(object_store::path::Path::parse(&key).is_ok(), "{key}");
        }
        assert_ne!(key("a/b", "n"), key("a%2Fb", "n"));
    }

    #[test]
    fn long_names_fit_and_stay_apart() {
        let long = |end: char| "ü".repeat(120) + &end.to_string();
        let (one, other) = (key("bot", &long('1')), key("bot", &long('2')));
        assert_ne!(one, other);
        for key in [one, other] {
            assert!(key.split('/').all(|part| part.len() <= 200), "{key}");
        }
        let ascii = "n".repeat(128);
        assert!(key("bot", &ascii).ends_with(&format!("/{ascii}.json")));
    }

    #[test]
    fn a_copy_of_a_broken_object_is_named_by_its_content() {
        let key = key("bot", "planner");
        let copy = copy_key(&key, b"broken");
        assert!(copy.starts_with("acme/node_memory_corrupt/bot/"), "{copy}");
        assert!(copy.contains("/planner."), "{copy}");
        assert_ne!(copy, copy_key(&key, b"otherwise broken"));
    }
}
