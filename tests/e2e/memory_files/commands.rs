//! The commands of a memory tool: view, create, replace, insert, delete, rename, and search.

use memory_contract::proto::{
    DeleteMemoryFileRequest, DocumentInput, DocumentRef, GetDocumentsRequest, GetMemoryFileRequest,
    ListNamespacesRequest, Precondition, PutDocumentsRequest, PutMemoryFileRequest,
    SearchDocumentsRequest, SearchMemoryFilesRequest, precondition::State,
};
use recollect_tests::{app, apply, trial};
use tonic::Code;

use super::{
    GARDEN, directory, file, getting, inserting, paths, put, putting, renaming, replacing, text,
    user,
};
use crate::plain;

#[apply(trial)]
async fn f21_an_agent_views_creates_and_edits_its_notes() {
    let client = plain().await;
    let app = app();
    let root = directory(&client, getting(&app, "/")).await;
    assert_eq!((root.file_count, root.entries.len()), (0, 0));

    let path = "/projects/garden.md";
    let created = client.call(putting(&app, path, GARDEN)).await;
    assert!(created.created);
    let first = created.file.unwrap();
    assert_eq!((first.version, first.line_count), (1, 4));
    assert_eq!(first.size_bytes, GARDEN.len() as i64);
    // Only as a new file.
    let absent = PutMemoryFileRequest {
        precondition: Some(Precondition {
            state: Some(State::Absent(())),
        }),
        ..putting(&app, path, "x")
    };
    let refused = client.refused(absent).await;
    let refused = refused.is(Code::Aborted, "ETAG_CHANGED");
    assert_eq!(refused.metadata["etag"], first.etag);
    // The same text makes no version.
    let again = client.call(putting(&app, path, GARDEN)).await;
    assert!(!again.created);
    assert_eq!(again.file.unwrap().etag, first.etag);

    let edited = client
        .call(replacing(&app, path, "tulips in October", "roses in May"))
        .await;
    let lines = edited.lines.unwrap();
    assert_eq!(lines.first_line, 1);
    assert_eq!(
        lines.text,
        GARDEN.replace("tulips in October", "roses in May")
    );
    let second = edited.file.unwrap();
    assert_eq!(second.version, 2);
    assert_ne!(second.etag, first.etag);

    let refused = client
        .refused(replacing(&app, path, "the garden", "x"))
        .await;
    refused.is(Code::FailedPrecondition, "TEXT_NOT_FOUND");
    let refused = client.refused(replacing(&app, path, "on", "off")).await;
    let refused = refused.is(Code::FailedPrecondition, "TEXT_NOT_UNIQUE");
    assert_eq!(refused.metadata["lines"], "4,4");
}

#[apply(trial)]
async fn f21_lines_are_viewed_and_inserted_by_their_numbers() {
    let client = plain().await;
    let app = app();
    let path = "/todo.md";
    put(&client, &app, path, "buy soil\nbuy seeds\ncall Bob").await;
    let view = |first: Option<i32>, last: Option<i32>| GetMemoryFileRequest {
        first_line: first,
        last_line: last,
        ..getting(&app, path)
    };
    for (first, last, expected) in [
        (None, None, "buy soil\nbuy seeds\ncall Bob"),
        (Some(2), Some(2), "buy seeds\n"),
        (Some(2), None, "buy seeds\ncall Bob"),
        (None, Some(9), "buy soil\nbuy seeds\ncall Bob"),
        (Some(7), None, ""),
    ] {
        let lines = file(&client, view(first, last)).await.lines.unwrap();
        assert_eq!(lines.text, expected);
        assert_eq!(lines.first_line, first.unwrap_or(1));
    }
    client
        .refused(view(Some(0), None))
        .await
        .names_field("first_line");
    client
        .refused(view(Some(3), Some(2)))
        .await
        .names_field("last_line");

    client.call(inserting(&app, path, 0, "# To do")).await;
    client
        .call(inserting(&app, path, 4, "- done: compost\n"))
        .await;
    let inserted = client.call(inserting(&app, path, 2, "buy a rake")).await;
    assert_eq!(
        text(&client, &app, path).await,
        "# To do\nbuy soil\nbuy a rake\nbuy seeds\ncall Bob\n- done: compost\n"
    );
    let lines = inserted.lines.unwrap();
    assert_eq!((lines.first_line, lines.text.lines().count()), (1, 5));
    let beyond = client.refused(inserting(&app, path, 7, "x")).await;
    let beyond = beyond.names_field("line");
    assert_eq!(beyond.metadata["line_count"], "6");
    // Where a text occurs twice, the error names the lines.
    let twice = client.refused(replacing(&app, path, "buy s", "x")).await;
    let twice = twice.is(Code::FailedPrecondition, "TEXT_NOT_UNIQUE");
    assert_eq!(twice.metadata["lines"], "2,4");
    assert!(twice.message.contains("lines 2, 4"), "{twice:?}");
    // In place of a text nothing may stand.
    client.call(replacing(&app, path, "buy a rake\n", "")).await;
    assert!(!text(&client, &app, path).await.contains("rake"));
}

#[apply(trial)]
async fn f21_directories_are_those_that_files_are_in() {
    let client = plain().await;
    let app = app();
    for path in [
        "/projects/garden.md",
        "/projects/2026/q1/plan.md",
        "/projects/2026/goals.md",
        "/people/bob.md",
        "/readme.md",
    ] {
        put(&client, &app, path, GARDEN).await;
    }
    let two_levels = directory(&client, getting(&app, "/")).await;
    assert_eq!(two_levels.file_count, 5);
    assert_eq!(two_levels.size_bytes, 5 * GARDEN.len() as i64);
    assert_eq!(
        paths(&two_levels),
        [
            "/people/",
            "/people/bob.md",
            "/projects/",
            "/projects/2026/",
            "/projects/garden.md",
            "/readme.md"
        ]
    );
    let entry = &two_levels.entries[2];
    assert_eq!(entry.size_bytes, 3 * GARDEN.len() as i64);
    let all = GetMemoryFileRequest {
        depth: 15,
        ..getting(&app, "/projects/2026")
    };
    let all = directory(&client, all).await;
    assert_eq!(
        paths(&all),
        [
            "/projects/2026/goals.md",
            "/projects/2026/q1/",
            "/projects/2026/q1/plan.md"
        ]
    );

    // A path has a file or a directory.
    for (path, code) in [
        ("/projects", "NOT_A_MEMORY_FILE"),
        ("/readme.md/a.md", "NOT_A_MEMORY_FILE"),
    ] {
        let refused = client.refused(putting(&app, path, "x")).await;
        refused.is(Code::FailedPrecondition, code);
    }
    let refused = client.refused(inserting(&app, "/projects", 0, "x")).await;
    refused.is(Code::FailedPrecondition, "NOT_A_MEMORY_FILE");
    for missing in ["/nothing.md", "/projects/garden"] {
        let refused = client.refused(getting(&app, missing)).await;
        refused.is(Code::NotFound, "MEMORY_FILE_NOT_FOUND");
    }

    let renamed = client
        .call(renaming(&app, "/projects", "/archive/2026"))
        .await;
    assert_eq!(renamed.renamed_count, 3);
    assert_eq!(
        text(&client, &app, "/archive/2026/2026/q1/plan.md").await,
        GARDEN
    );
    let gone = client.refused(getting(&app, "/projects")).await;
    gone.is(Code::NotFound, "MEMORY_FILE_NOT_FOUND");
    let deep = "/deep".repeat(15);
    for (path, new_path, code, reason) in [
        ("/projects", "/a", Code::NotFound, "MEMORY_FILE_NOT_FOUND"),
        (
            "/people",
            "/archive",
            Code::AlreadyExists,
            "MEMORY_FILE_ALREADY_EXISTS",
        ),
        (
            "/people",
            "/readme.md",
            Code::AlreadyExists,
            "MEMORY_FILE_ALREADY_EXISTS",
        ),
        (
            "/people",
            "/readme.md/a",
            Code::FailedPrecondition,
            "NOT_A_MEMORY_FILE",
        ),
        (
            "/readme.md",
            "/readme.md",
            Code::AlreadyExists,
            "MEMORY_FILE_ALREADY_EXISTS",
        ),
        (
            "/people",
            "/people/inner",
            Code::InvalidArgument,
            "INVALID_FIELD",
        ),
        (
            "/people",
            deep.as_str(),
            Code::InvalidArgument,
            "INVALID_FIELD",
        ),
    ] {
        let refused = client.refused(renaming(&app, path, new_path)).await;
        refused.is(code, reason);
    }

    let delete = |path: &str| DeleteMemoryFileRequest {
        user: user(&app, "ada"),
        path: path.to_owned(),
        ..Default::default()
    };
    assert_eq!(
        client
            .call(delete("/archive/2026/2026"))
            .await
            .deleted_count,
        2
    );
    assert_eq!(client.call(delete("/readme.md")).await.deleted_count, 1);
    let refused = client.refused(delete("/readme.md")).await;
    refused.is(Code::NotFound, "MEMORY_FILE_NOT_FOUND");
    assert_eq!(client.call(delete("/")).await.deleted_count, 2);
    assert_eq!(client.call(delete("/")).await.deleted_count, 0);
}

#[apply(trial)]
async fn f21_paths_lead_nowhere_else() {
    let client = plain().await;
    let app = app();
    let long = format!("/{}", "n".repeat(257));
    let deep = "/d".repeat(16);
    for path in [
        "",
        "notes.md",
        "../notes.md",
        "/../notes.md",
        "/a/../../etc/passwd",
        "/a/./b",
        "/a//b",
        "/a/",
        "/..\\a",
        "/a\0b",
        "/a\nb",
        long.as_str(),
        deep.as_str(),
    ] {
        client
            .refused(putting(&app, path, "x"))
            .await
            .names_field("path");
        client
            .refused(getting(&app, path))
            .await
            .names_field("path");
        let refused = client.refused(renaming(&app, "/a", path)).await;
        refused.names_field("new_path");
    }
    client
        .refused(putting(&app, "/", "x"))
        .await
        .names_field("path");
    // An escape is a part of a name.
    put(&client, &app, "/%2e%2e/é…/.hidden", "kept").await;
    assert_eq!(text(&client, &app, "/%2e%2e/é…/.hidden").await, "kept");
    let root = directory(&client, getting(&app, "/")).await;
    assert_eq!(paths(&root), ["/%2e%2e/", "/%2e%2e/é…/"]);
}

#[apply(trial)]
async fn f21_notes_are_found_by_their_words_with_the_lines() {
    let client = plain().await;
    let app = app();
    put(&client, &app, "/projects/garden.md", GARDEN).await;
    put(
        &client,
        &app,
        "/people/bob.md",
        "# Bob\n\nBob lends us his rake.\n",
    )
    .await;
    // A word far behind is found too.
    let log = format!(
        "{}\nThe pump has the serial number 7741-QX.\n",
        "Nothing to report.\n".repeat(2_000)
    );
    put(&client, &app, "/log.md", &log).await;
    let search = |query: &str, path: &str| SearchMemoryFilesRequest {
        user: user(&app, "ada"),
        query: query.to_owned(),
        path: path.to_owned(),
        top_k: None,
    };
    for (query, path, found, line) in [
        ("When are tulips planted?", "", "/projects/garden.md", 3),
        ("rake", "/people", "/people/bob.md", 3),
        ("serial number of the pump", "/", "/log.md", 2_002),
    ] {
        let files = client.call(search(query, path)).await.files;
        assert!(!files.is_empty(), "{query}");
        assert_eq!(files[0].file.as_ref().unwrap().path, found, "{query}");
        let mut lines = files[0].lines.iter().map(|lines| lines.first_line);
        assert!(lines.any(|one| one == line), "{query}: {files:?}");
        assert!(files[0].score > 0.0 && files[0].score <= 1.0);
    }
    assert!(
        client
            .call(search("tulips", "/people"))
            .await
            .files
            .is_empty()
    );
    client
        .call(replacing(&app, "/projects/garden.md", "tulips", "roses"))
        .await;
    assert!(client.call(search("tulips", "")).await.files.is_empty());
}

#[apply(trial)]
async fn f21_a_search_finds_large_files_too() {
    let client = plain().await;
    let app = app();
    let long = "Nothing to report on this day.\n".repeat(8_000);
    for number in 0..20 {
        let text = format!("Tulips grow in bed {number}.\n{long}");
        put(&client, &app, &format!("/beds/{number}.md"), &text).await;
    }
    let search = SearchMemoryFilesRequest {
        user: user(&app, "ada"),
        query: "tulips".to_owned(),
        path: String::new(),
        top_k: Some(20),
    };
    let files = client.call(search).await.files;
    assert_eq!(files.len(), 20);
    for file in files {
        let numbers: Vec<_> = file.lines.iter().map(|lines| lines.first_line).collect();
        assert_eq!(numbers, [1], "{file:?}");
    }
}

#[apply(trial)]
async fn f21_documents_and_files_do_not_mix() {
    let client = plain().await;
    let app = app();
    put(&client, &app, "/notes.md", GARDEN).await;
    let ada = user(&app, "ada");
    let search = SearchDocumentsRequest {
        user: ada.clone(),
        ..Default::default()
    };
    assert!(client.call(search.clone()).await.documents.is_empty());
    let by_query = SearchDocumentsRequest {
        query: "tulips".to_owned(),
        ..search.clone()
    };
    assert!(client.call(by_query).await.documents.is_empty());
    let listing = ListNamespacesRequest {
        user: ada.clone(),
        ..Default::default()
    };
    assert!(client.call(listing).await.namespaces.is_empty());
    let reserved = vec!["recollect.files".to_owned()];
    let named = SearchDocumentsRequest {
        namespace_prefix: reserved.clone(),
        ..search
    };
    client
        .refused(named)
        .await
        .names_field("namespace_prefix[0]");
    let document = DocumentInput {
        namespace: reserved.clone(),
        key: "notes.md".to_owned(),
        json: "{}".to_owned(),
        ..Default::default()
    };
    let putting = PutDocumentsRequest {
        user: ada.clone(),
        documents: vec![document],
    };
    let refused = client.refused(putting).await;
    refused.names_field("documents[0].namespace[0]");
    let reading = GetDocumentsRequest {
        user: ada,
        documents: vec![DocumentRef {
            namespace: reserved,
            key: "notes.md".to_owned(),
        }],
        refresh_ttl: false,
    };
    let refused = client.refused(reading).await;
    refused.names_field("documents[0].namespace[0]");
}
