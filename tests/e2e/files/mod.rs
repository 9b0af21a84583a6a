//! Registered files, and how references to them are resolved.

mod references;
mod refused;
mod registry;

use memory_contract::proto::{
    DeleteFileRequest, File, FileType, GetFileRequest, RegisterFileRequest, RegisterFileResponse,
    delete_file_request, file, get_file_request,
};
use recollect_tests::{Client, PLAIN};
use uuid::Uuid;

/// An upload id that no other test uses.
fn upload() -> file::Location {
    file::Location::UploadFileId(format!("upload-{}", Uuid::new_v4()))
}

fn tool() -> file::Location {
    file::Location::ToolFileId(format!("tool-{}", Uuid::new_v4()))
}

fn url() -> file::Location {
    file::Location::Url(format!("https://example.org/{}.png?s=1", Uuid::new_v4()))
}

/// A picture to register.
fn picture(location: &file::Location) -> File {
    File {
        location: Some(location.clone()),
        r#type: FileType::Image.into(),
        storage_key: "uploads/2026/cat.png".to_owned(),
        name: "cat.png".to_owned(),
        mime_type: "image/png".to_owned(),
        size_bytes: 52_100,
        ..Default::default()
    }
}

async fn register(client: &Client, file: File) -> RegisterFileResponse {
    let request = RegisterFileRequest { file: Some(file) };
    client.call(request).await
}

async fn delete(client: &Client, location: &file::Location) {
    let request = DeleteFileRequest {
        location: Some(match location.clone() {
            file::Location::UploadFileId(id) => delete_file_request::Location::UploadFileId(id),
            file::Location::ToolFileId(id) => delete_file_request::Location::ToolFileId(id),
            file::Location::Url(url) => delete_file_request::Location::Url(url),
        }),
    };
    assert!(client.call(request).await.deleted);
}

fn get_request(location: &file::Location) -> GetFileRequest {
    GetFileRequest {
        location: Some(match location.clone() {
            file::Location::UploadFileId(id) => get_file_request::Location::UploadFileId(id),
            file::Location::ToolFileId(id) => get_file_request::Location::ToolFileId(id),
            file::Location::Url(url) => get_file_request::Location::Url(url),
        }),
    }
}

/// The superuser's connection to the database of the shared server.
async fn database() -> tokio_postgres::Client {
    let url = PLAIN.ready().line["postgres"].as_str().unwrap();
    let (client, connection) = tokio_postgres::connect(url, tokio_postgres::NoTls)
        .await
        .unwrap();
    tokio::spawn(connection);
    client
}
