//! Versions of files: listed, compared, restored, and what deletion and renaming do to them.

use memory_contract::proto::{
    CompareMemoryFileVersionsRequest, DeleteMemoryFileRequest, GetMemoryFileRequest,
    ListMemoryFileVersionsRequest, ListMemoryFileVersionsResponse, MemoryFileChange, Precondition,
    RestoreMemoryFileRequest, precondition::State,
};
use recollect_tests::{Client, app, apply, trial};
use tonic::Code;

use super::{GARDEN, file, getting, inserting, put, putting, renaming, replacing, text, user};
use crate::plain;

async fn versions(client: &Client, app: &str, path: &str) -> ListMemoryFileVersionsResponse {
    let request = ListMemoryFileVersionsRequest {
        user: user(app, "ada"),
        path: path.to_owned(),
    };
    client.call(request).await
}

fn numbers(listed: &ListMemoryFileVersionsResponse) -> Vec<i64> {
    listed.versions.iter().map(|one| one.version).collect()
}

fn restoring(app: &str, path: &str, version: i64) -> RestoreMemoryFileRequest {
    RestoreMemoryFileRequest {
        user: user(app, "ada"),
        path: path.to_owned(),
        version,
        precondition: None,
    }
}

fn deleting(app: &str, path: &str, erase_versions: bool) -> DeleteMemoryFileRequest {
    DeleteMemoryFileRequest {
        user: user(app, "ada"),
        path: path.to_owned(),
        erase_versions,
        precondition: None,
    }
}

/// A file with three versions.
async fn garden(client: &Client, app: &str, path: &str) {
    put(client, app, path, GARDEN).await;
    client.call(replacing(app, path, "tulips", "roses")).await;
    client
        .call(inserting(app, path, 4, "- Order compost."))
        .await;
}

#[apply(trial)]
async fn f22_versions_are_listed_read_compared_and_restored() {
    let client = plain().await;
    let app = app();
    let path = "/projects/garden.md";
    garden(&client, &app, path).await;
    let listed = versions(&client, &app, path).await;
    assert_eq!(numbers(&listed), [3, 2, 1]);
    let changes: Vec<_> = listed.versions.iter().map(|one| one.change()).collect();
    use MemoryFileChange::{Insert, Put, Replace, Restore};
    assert_eq!(changes, [Insert, Replace, Put]);
    assert_eq!(listed.versions[2].size_bytes, GARDEN.len() as i64);
    assert!(!listed.deleted);

    let earlier = GetMemoryFileRequest {
        version: 1,
        ..getting(&app, path)
    };
    let earlier = file(&client, earlier).await;
    assert_eq!(earlier.lines.unwrap().text, GARDEN);
    assert_eq!(earlier.file.unwrap().version, 1);

    let compare = |from, to| CompareMemoryFileVersionsRequest {
        user: user(&app, "ada"),
        path: path.to_owned(),
        from_version: from,
        to_version: to,
    };
    let newest = client.call(compare(0, 0)).await;
    assert_eq!((newest.from_version, newest.to_version), (2, 3));
    assert!(
        newest
            .diff
            .ends_with(" - Water the beds on Mondays.\n+- Order compost.\n"),
        "{newest:?}"
    );
    let both = client.call(compare(1, 3)).await.diff;
    let head =
        format!("--- {path}\tversion 1\n+++ {path}\tversion 3\n@@ -1,4 +1,5 @@\n # Garden\n");
    assert!(both.starts_with(&head), "{both}");
    assert!(
        both.contains("\n-- Plant tulips in October.\n+- Plant roses in October.\n"),
        "{both}"
    );
    let first = client.call(compare(0, 1)).await;
    assert_eq!(first.from_version, 0);
    assert!(first.diff.starts_with("--- /dev/null\n"), "{first:?}");
    assert_eq!(client.call(compare(2, 2)).await.diff, "");
    let missing = client.refused(compare(1, 4)).await;
    missing.is(Code::NotFound, "MEMORY_FILE_NOT_FOUND");

    let restored = client.call(restoring(&app, path, 1)).await.file.unwrap();
    assert_eq!(restored.version, 4);
    assert_eq!(text(&client, &app, path).await, GARDEN);
    let listed = versions(&client, &app, path).await;
    assert_eq!(numbers(&listed), [4, 3, 2, 1]);
    assert_eq!(listed.versions[0].change(), Restore);
    let refused = client.refused(restoring(&app, path, 9)).await;
    refused.is(Code::NotFound, "MEMORY_FILE_NOT_FOUND");
}

#[apply(trial)]
async fn f22_a_deleted_file_comes_back_with_its_versions() {
    let client = plain().await;
    let app = app();
    let path = "/projects/garden.md";
    garden(&client, &app, path).await;
    put(&client, &app, "/projects/other.md", "x").await;
    // With its directory.
    let deleted = client.call(deleting(&app, "/projects", false)).await;
    assert_eq!(deleted.deleted_count, 2);
    let gone = client.refused(getting(&app, path)).await;
    gone.is(Code::NotFound, "MEMORY_FILE_NOT_FOUND");
    let listed = versions(&client, &app, path).await;
    assert!(listed.deleted);
    assert_eq!(numbers(&listed), [3, 2, 1]);
    let kept = listed.versions[0].expire_time.unwrap().seconds
        - listed.versions[0].create_time.unwrap().seconds;
    assert!((29..=30).contains(&(kept / 86_400)), "{kept}");

    let back = client.call(restoring(&app, path, 0)).await.file.unwrap();
    assert_eq!(back.version, 4);
    assert!(text(&client, &app, path).await.contains("compost"));
    let listed = versions(&client, &app, path).await;
    assert!(!listed.deleted);
    assert_eq!(numbers(&listed), [4, 3, 2, 1]);
    assert!(listed.versions.iter().all(|one| one.expire_time.is_none()));

    // A new file at the path continues the versions.
    client.call(deleting(&app, path, false)).await;
    let put = client.call(putting(&app, path, "# Anew\n")).await;
    assert!(put.created);
    assert_eq!(put.file.unwrap().version, 5);
    assert_eq!(
        numbers(&versions(&client, &app, path).await),
        [5, 4, 3, 2, 1]
    );

    // Erased at once, also what was deleted before.
    client.call(deleting(&app, path, false)).await;
    let erased = client.call(deleting(&app, "/projects", true)).await;
    assert_eq!(erased.deleted_count, 0);
    for path in [path, "/projects/other.md"] {
        let refused = client.refused(restoring(&app, path, 0)).await;
        refused.is(Code::NotFound, "MEMORY_FILE_NOT_FOUND");
    }
    let anew = client.call(putting(&app, path, "x")).await;
    assert_eq!(anew.file.unwrap().version, 1);
}

#[apply(trial)]
async fn f22_a_renamed_file_keeps_its_versions() {
    let client = plain().await;
    let app = app();
    garden(&client, &app, "/projects/garden.md").await;
    let before = file(&client, getting(&app, "/projects/garden.md")).await;
    client.call(renaming(&app, "/projects", "/archive")).await;
    client
        .call(renaming(&app, "/archive/garden.md", "/garden.md"))
        .await;
    let after = file(&client, getting(&app, "/garden.md")).await;
    assert_eq!(after.lines, before.lines);
    assert_eq!(after.file.unwrap().etag, before.file.unwrap().etag);
    assert_eq!(
        numbers(&versions(&client, &app, "/garden.md").await),
        [3, 2, 1]
    );
    client.call(restoring(&app, "/garden.md", 1)).await;
    assert_eq!(text(&client, &app, "/garden.md").await, GARDEN);
    // Nothing of it is left at the former path.
    let former = put(&client, &app, "/projects/garden.md", "x").await;
    assert_eq!(former.version, 1);
}

/// Deletes a file with the text `first` at `/a.md`, and renames one with the text `second` to its path.
async fn replaced(client: &Client, app: &str) {
    put(client, app, "/a.md", "first").await;
    client.call(deleting(app, "/a.md", false)).await;
    put(client, app, "/b.md", "second").await;
    client.call(renaming(app, "/b.md", "/a.md")).await;
}

#[apply(trial)]
async fn f22_files_deleted_at_one_path_come_back_one_after_the_other() {
    let client = plain().await;
    let app = app();
    replaced(&client, &app).await;
    client.call(deleting(&app, "/a.md", false)).await;
    client.call(restoring(&app, "/a.md", 0)).await;
    assert_eq!(text(&client, &app, "/a.md").await, "second");
    client.call(renaming(&app, "/a.md", "/c.md")).await;
    client.call(restoring(&app, "/a.md", 0)).await;
    assert_eq!(text(&client, &app, "/a.md").await, "first");
    assert_eq!(text(&client, &app, "/c.md").await, "second");
    // Nothing is left that could be restored.
    client.call(renaming(&app, "/a.md", "/d.md")).await;
    let refused = client.refused(restoring(&app, "/a.md", 0)).await;
    refused.is(Code::NotFound, "MEMORY_FILE_NOT_FOUND");
}

#[apply(trial)]
async fn f22_erasing_a_path_erases_all_files_that_were_deleted_there() {
    let client = plain().await;
    for deleted in [false, true] {
        let app = app();
        replaced(&client, &app).await;
        if deleted {
            client.call(deleting(&app, "/a.md", false)).await;
        }
        client.call(deleting(&app, "/a.md", true)).await;
        let refused = client.refused(restoring(&app, "/a.md", 0)).await;
        refused.is(Code::NotFound, "MEMORY_FILE_NOT_FOUND");
        let left = super::imports::documents(&client, &app).await;
        assert_eq!(left, []);
    }
}

#[apply(trial)]
async fn f22_fifty_versions_are_kept() {
    let client = plain().await;
    let app = app();
    for number in 1..=60 {
        put(&client, &app, "/counter.md", &format!("{number}\n")).await;
    }
    let listed = versions(&client, &app, "/counter.md").await;
    let expected: Vec<i64> = (11..=60).rev().collect();
    assert_eq!(numbers(&listed), expected);
    let refused = client.refused(restoring(&app, "/counter.md", 10)).await;
    refused.is(Code::NotFound, "MEMORY_FILE_NOT_FOUND");
    client.call(restoring(&app, "/counter.md", 11)).await;
    assert_eq!(text(&client, &app, "/counter.md").await, "11\n");
}

#[apply(trial)]
async fn f22_a_change_of_an_outdated_version_is_refused() {
    let client = plain().await;
    let app = app();
    let path = "/notes.md";
    let first = put(&client, &app, path, "one\n").await;
    let second = put(&client, &app, path, "two\n").await;
    let mut change = inserting(&app, path, 0, "zero");
    change.precondition = Some(Precondition {
        state: Some(State::Etag(first.etag.clone())),
    });
    let refused = client.refused(change.clone()).await;
    let refused = refused.is(Code::Aborted, "ETAG_CHANGED");
    assert_eq!(refused.metadata["etag"], second.etag);
    let mut rename = renaming(&app, path, "/other.md");
    rename.precondition = change.precondition.clone();
    let refused = client.refused(rename).await;
    refused.is(Code::Aborted, "ETAG_CHANGED");
    let mut delete = deleting(&app, path, false);
    delete.precondition = change.precondition.clone();
    let refused = client.refused(delete).await;
    refused.is(Code::Aborted, "ETAG_CHANGED");
    change.precondition = Some(Precondition {
        state: Some(State::Etag(second.etag)),
    });
    client.call(change).await;
    assert_eq!(text(&client, &app, path).await, "zero\ntwo\n");
}
