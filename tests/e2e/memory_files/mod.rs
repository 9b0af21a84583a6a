//! Text files of agents.

mod bounds;
mod cli;
mod commands;
mod imports;
mod versions;

use memory_contract::proto::{
    GetMemoryFileRequest, InsertIntoMemoryFileRequest, MemoryDirectory, MemoryFile,
    MemoryFileContent, PutMemoryFileRequest, RenameMemoryFileRequest, ReplaceInMemoryFileRequest,
    UserRef, get_memory_file_response::Entry,
};
use recollect_tests::Client;

/// What an agent notes on a project.
const GARDEN: &str = "# Garden\n\n- Plant tulips in October.\n- Water the beds on Mondays.\n";

fn user(app: &str, user: &str) -> Option<UserRef> {
    Some(UserRef {
        app_id: app.to_owned(),
        user_id: user.to_owned(),
    })
}

fn putting(app: &str, path: &str, text: &str) -> PutMemoryFileRequest {
    PutMemoryFileRequest {
        user: user(app, "ada"),
        path: path.to_owned(),
        text: text.to_owned(),
        precondition: None,
    }
}

/// Stores a file of `ada`.
async fn put(client: &Client, app: &str, path: &str, text: &str) -> MemoryFile {
    let put = client.call(putting(app, path, text)).await;
    put.file.unwrap()
}

fn replacing(app: &str, path: &str, old: &str, new: &str) -> ReplaceInMemoryFileRequest {
    ReplaceInMemoryFileRequest {
        user: user(app, "ada"),
        path: path.to_owned(),
        old_text: old.to_owned(),
        new_text: new.to_owned(),
        precondition: None,
    }
}

fn inserting(app: &str, path: &str, line: i32, text: &str) -> InsertIntoMemoryFileRequest {
    InsertIntoMemoryFileRequest {
        user: user(app, "ada"),
        path: path.to_owned(),
        line,
        text: text.to_owned(),
        precondition: None,
    }
}

fn renaming(app: &str, path: &str, new_path: &str) -> RenameMemoryFileRequest {
    RenameMemoryFileRequest {
        user: user(app, "ada"),
        path: path.to_owned(),
        new_path: new_path.to_owned(),
        precondition: None,
    }
}

fn getting(app: &str, path: &str) -> GetMemoryFileRequest {
    GetMemoryFileRequest {
        user: user(app, "ada"),
        path: path.to_owned(),
        ..Default::default()
    }
}

/// A file of `ada`.
async fn file(client: &Client, request: GetMemoryFileRequest) -> MemoryFileContent {
    match client.call(request).await.entry {
        Some(Entry::File(file)) => file,
        other => panic!("no file: {other:?}"),
    }
}

/// The text of a file of `ada`.
async fn text(client: &Client, app: &str, path: &str) -> String {
    let file = file(client, getting(app, path)).await;
    file.lines.unwrap_or_default().text
}

/// A directory of `ada`.
async fn directory(client: &Client, request: GetMemoryFileRequest) -> MemoryDirectory {
    match client.call(request).await.entry {
        Some(Entry::Directory(directory)) => directory,
        other => panic!("no directory: {other:?}"),
    }
}

/// The paths in a directory, of directories with a slash at the end.
fn paths(directory: &MemoryDirectory) -> Vec<String> {
    let entries = directory.entries.iter();
    let paths = entries.map(|entry| match entry.is_directory {
        true => format!("{}/", entry.path),
        false => entry.path.clone(),
    });
    paths.collect()
}
