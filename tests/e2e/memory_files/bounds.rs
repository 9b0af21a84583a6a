//! Edits at the same time, limits, and who sees which files.

use std::collections::BTreeSet;

use futures::{StreamExt as _, future, stream};
use memory_contract::proto::{
    GetMemoryFileRequest, ListMemoryFileVersionsRequest, PutMemoryFileRequest,
    RestoreMemoryFileRequest, SearchMemoryFilesRequest,
};
use recollect_tests::{
    Key, Options, PLAIN, SOON, Server, app, apply, trial, trial_with_own_server,
};
use tonic::Code;

use super::{GARDEN, directory, getting, inserting, put, putting, replacing, text, user};
use crate::plain;

#[apply(trial)]
async fn f23_two_hundred_edits_at_the_same_time_lose_none() {
    let client = plain().await;
    let app = app();
    let path = "/log.md";
    let marks: String = (0..100)
        .map(|number| format!("[ ] task {number:03}\n"))
        .collect();
    put(&client, &app, path, &marks).await;
    let (client, app) = (&client, app.as_str());
    let inserted = (0..100).map(move |number| async move {
        let line = format!("note {number:03}\n");
        client.call(inserting(app, path, 0, &line)).await;
    });
    let replaced = (0..100).map(move |number| async move {
        let old = format!("[ ] task {number:03}");
        let new = format!("[x] task {number:03}");
        client.call(replacing(app, path, &old, &new)).await;
    });
    future::join(future::join_all(inserted), future::join_all(replaced)).await;
    let text = text(client, app, path).await;
    let lines: BTreeSet<&str> = text.lines().collect();
    assert_eq!(text.lines().count(), 200, "{text}");
    for number in 0..100 {
        for line in [format!("note {number:03}"), format!("[x] task {number:03}")] {
            assert!(lines.contains(line.as_str()), "{line}: {text}");
        }
    }
    let versions = ListMemoryFileVersionsRequest {
        user: user(app, "ada"),
        path: path.to_owned(),
    };
    let versions = client.call(versions).await.versions;
    assert_eq!((versions.len(), versions[0].version), (50, 201));
}

#[apply(trial)]
async fn f23_files_have_bounds_that_errors_name() {
    let client = plain().await;
    let app = app();
    let largest = "0123456789abcde ".repeat(16 * 1024);
    put(&client, &app, "/large.md", &largest).await;
    let larger = format!("{largest}x");
    let refused = client.refused(putting(&app, "/large.md", &larger)).await;
    let refused = refused.names_field("text");
    assert!(refused.message.contains("262144 bytes"), "{refused:?}");
    let refused = client.refused(inserting(&app, "/large.md", 0, "x")).await;
    let refused = refused.names_field("text");
    assert!(refused.message.contains("divide it"), "{refused:?}");
    // Of this text the JSON has six bytes for each character.
    let escapes = "\u{1}".repeat(256 * 1024);
    client
        .refused(putting(&app, "/escapes.md", &escapes))
        .await
        .names_field("text");

    // 63 more files of this size are 16 MiB.
    for number in 1..63 {
        put(&client, &app, &format!("/large/{number}.md"), &largest).await;
    }
    let refused = client
        .refused(putting(&app, "/large/63.md", &largest))
        .await;
    let refused = refused.is(Code::FailedPrecondition, "MEMORY_FILES_FULL");
    assert!(refused.message.contains("delete files"), "{refused:?}");
    // A file may still be made smaller.
    put(&client, &app, "/large/1.md", "small").await;
    put(&client, &app, "/large/63.md", &largest).await;
}

#[apply(trial)]
async fn f23_a_user_has_a_thousand_files() {
    let client = plain().await;
    let app = app();
    let (client, app) = (&client, app.as_str());
    let puts = (0..1_000).map(move |number| async move {
        put(client, app, &format!("/{}/{number}.md", number % 10), "x").await;
    });
    let puts = stream::iter(puts).buffer_unordered(16);
    puts.for_each(|()| future::ready(())).await;
    assert_eq!(directory(client, getting(app, "/")).await.file_count, 1_000);
    let refused = client.refused(putting(app, "/one-more.md", "x")).await;
    let refused = refused.is(Code::FailedPrecondition, "MEMORY_FILES_FULL");
    assert!(refused.message.contains("1000 files"), "{refused:?}");
    // Those that there are can be changed, and another user has files.
    put(client, app, "/0/0.md", "y").await;
    let bob = PutMemoryFileRequest {
        user: user(app, "bob"),
        ..putting(app, "/one-more.md", "x")
    };
    client.call(bob).await;
}

#[apply(trial)]
async fn f23_no_other_user_or_tenant_sees_a_file() {
    let client = plain().await;
    let app = app();
    put(&client, &app, "/secret.md", GARDEN).await;
    let bob = user(&app, "bob");
    let other = PLAIN.client(Key::Globex).await;
    for (client, whose) in [(&client, bob), (&other, user(&app, "ada"))] {
        let get = |path: &str| GetMemoryFileRequest {
            user: whose.clone(),
            path: path.to_owned(),
            ..Default::default()
        };
        let root = directory(client, get("/")).await;
        assert_eq!(root.file_count, 0);
        let refused = client.refused(get("/secret.md")).await;
        refused.is(Code::NotFound, "MEMORY_FILE_NOT_FOUND");
        let search = SearchMemoryFilesRequest {
            user: whose.clone(),
            query: "tulips".to_owned(),
            ..Default::default()
        };
        assert_eq!(client.call(search).await.files, []);
        let mut edit = replacing(&app, "/secret.md", "tulips", "x");
        edit.user = whose.clone();
        let refused = client.refused(edit).await;
        refused.is(Code::NotFound, "MEMORY_FILE_NOT_FOUND");
        let restore = RestoreMemoryFileRequest {
            user: whose.clone(),
            path: "/secret.md".to_owned(),
            ..Default::default()
        };
        let refused = client.refused(restore).await;
        refused.is(Code::NotFound, "MEMORY_FILE_NOT_FOUND");
    }
    assert_eq!(text(&client, &app, "/secret.md").await, GARDEN);
}

#[apply(trial_with_own_server)]
async fn f23_deleting_the_user_erases_files_and_versions() {
    let options = Options::with(&["embedding.kind = \"none\""]);
    let (_dir, _server, client) = Server::start_own(&options).await;
    let app = app();
    put(&client, &app, "/garden.md", GARDEN).await;
    client
        .call(replacing(&app, "/garden.md", "tulips", "roses"))
        .await;
    let begun = client.delete_user(&app, "ada").await;
    client.finished(&begun, SOON).await;
    let root = directory(&client, getting(&app, "/")).await;
    assert_eq!(root.file_count, 0);
    let restore = RestoreMemoryFileRequest {
        user: user(&app, "ada"),
        path: "/garden.md".to_owned(),
        ..Default::default()
    };
    let refused = client.refused(restore).await;
    refused.is(Code::NotFound, "MEMORY_FILE_NOT_FOUND");
}
