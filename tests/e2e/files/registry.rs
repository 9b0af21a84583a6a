//! FileService itself.

use std::collections::HashSet;

use memory_contract::proto::{File, FileType, ListFilesRequest, TransferMethod, file};
use recollect_tests::{Dynamic, Refused as _, apply, trial};
use serde_json::{Value, json};
use tonic::Code;
use uuid::Uuid;

use super::{database, delete, get_request, picture, register, tool, upload, url};
use crate::plain;

#[apply(trial)]
async fn d21_the_metadata_of_a_file_is_in_the_database() {
    let client = plain().await;
    let place = upload();
    let file::Location::UploadFileId(id) = &place else {
        unreachable!()
    };
    register(&client, picture(&place)).await;
    let admin = database().await;
    let row = admin
        .query_one(
            "SELECT tenant_id, transfer_method, type, storage_key, name, mime_type, size_bytes \
             FROM recollect.files WHERE reference = $1",
            &[id],
        )
        .await
        .unwrap();
    let texts: Vec<String> = (0..6).map(|place| row.get(place)).collect();
    assert_eq!(
        texts,
        [
            "acme",
            "local_file",
            "image",
            "uploads/2026/cat.png",
            "cat.png",
            "image/png"
        ]
    );
    assert_eq!(row.get::<_, i64>(6), 52_100);

    // The audit log has the actor, and the URL without its query.
    let net = url();
    let file::Location::Url(address) = &net else {
        unreachable!()
    };
    register(&client, picture(&net)).await;
    delete(&client, &net).await;
    let path = address.split('?').next().unwrap();
    let noted = admin
        .query(
            "SELECT action FROM recollect.transactions \
             WHERE tenant_id = 'acme' AND subject = $1 AND item_count = 1 ORDER BY id",
            &[&path],
        )
        .await
        .unwrap();
    let actions: Vec<&str> = noted.iter().map(|row| row.get(0)).collect();
    assert_eq!(actions, ["register_file", "delete_file"]);
}

#[apply(trial)]
async fn a_file_that_is_registered_again_is_replaced() {
    let client = plain().await;
    let place = upload();
    let first = register(&client, picture(&place)).await;
    assert!(first.created);
    let first = first.file.unwrap();
    assert_eq!(first.create_time, first.update_time);

    let again = register(&client, picture(&place)).await;
    assert!(!again.created);
    let again = again.file.unwrap();
    assert_eq!(again.create_time, first.create_time);
    assert_eq!(
        File {
            update_time: first.update_time,
            ..again
        },
        first
    );

    let changed = File {
        r#type: FileType::Document.into(),
        storage_key: "elsewhere".to_owned(),
        name: String::new(),
        mime_type: "application/pdf".to_owned(),
        size_bytes: 0,
        ..picture(&place)
    };
    let changed = register(&client, changed).await;
    assert!(!changed.created);
    let got = client.call(get_request(&place)).await.file.unwrap();
    assert_eq!(Some(&got), changed.file.as_ref());
    assert_eq!((got.storage_key.as_str(), got.size_bytes), ("elsewhere", 0));
    let later = |time: Option<prost_types::Timestamp>| time.map(|at| (at.seconds, at.nanos));
    assert!(later(got.update_time) > later(first.update_time));
}

#[apply(trial)]
async fn an_id_that_is_left_empty_becomes_a_uuid() {
    let client = plain().await;
    let mut seen = HashSet::new();
    for empty in [
        file::Location::UploadFileId(String::new()),
        file::Location::UploadFileId(String::new()),
        file::Location::ToolFileId(String::new()),
    ] {
        let made = register(&client, picture(&empty)).await;
        assert!(made.created);
        let location = made.file.unwrap().location.unwrap();
        let (id, same_kind) = match &location {
            file::Location::UploadFileId(id) => {
                (id, matches!(empty, file::Location::UploadFileId(_)))
            }
            file::Location::ToolFileId(id) => (id, matches!(empty, file::Location::ToolFileId(_))),
            file::Location::Url(url) => panic!("{url}"),
        };
        assert!(same_kind);
        assert!(seen.insert(Uuid::parse_str(id).unwrap()));
        client.call(get_request(&location)).await;
    }
}

#[apply(trial)]
async fn a_list_of_files_has_each_once() {
    let client = plain().await;
    let places: Vec<file::Location> = (0..7).flat_map(|_| [upload(), tool(), url()]).collect();
    for place in &places {
        register(&client, picture(place)).await;
    }
    // Registered again, it keeps its place.
    register(&client, picture(&places[3])).await;
    let list = async |transfer_method: TransferMethod| {
        let mut request = ListFilesRequest {
            page_size: 4,
            transfer_method: transfer_method.into(),
            ..Default::default()
        };
        let mut all = Vec::new();
        loop {
            let page = client.call(request.clone()).await;
            assert!(page.files.len() <= 4);
            all.extend(page.files);
            if page.next_page_token.is_empty() {
                return all;
            }
            request.page_token = page.next_page_token;
        }
    };
    for (method, every) in [
        (TransferMethod::Unspecified, 1),
        (TransferMethod::LocalFile, 3),
        (TransferMethod::ToolFile, 3),
        (TransferMethod::RemoteUrl, 3),
    ] {
        let first = match method {
            TransferMethod::Unspecified | TransferMethod::LocalFile => 0,
            TransferMethod::ToolFile => 1,
            TransferMethod::RemoteUrl => 2,
        };
        let expected = places.iter().skip(first).step_by(every).rev();
        let all = list(method).await;
        let right =
            |file: &File| method == TransferMethod::Unspecified || file.transfer_method() == method;
        assert!(all.iter().all(right));
        // Other tests register files too.
        let ours: Vec<&file::Location> = all
            .iter()
            .filter_map(|file| file.location.as_ref())
            .filter(|location| places.contains(location))
            .collect();
        assert_eq!(ours, expected.collect::<Vec<_>>(), "{method:?}");
    }

    let request = ListFilesRequest {
        page_size: 1,
        ..Default::default()
    };
    let page = client.call(request).await;
    let other = ListFilesRequest {
        page_token: page.next_page_token,
        transfer_method: TransferMethod::LocalFile.into(),
        ..Default::default()
    };
    client.refused(other).await.names_field("page_token");
}

#[apply(trial)]
async fn fields_of_files_have_limits() {
    let client = plain().await;
    let good = json!({"upload_file_id": "limits", "type": "FILE_TYPE_IMAGE", "storage_key": "k"});
    let with = |key: &str, value: Value| {
        let mut file = good.clone();
        if matches!(key, "tool_file_id" | "url") {
            file.as_object_mut().unwrap().remove("upload_file_id");
        }
        file[key] = value;
        json!({"file": file})
    };
    let register = "FileService/RegisterFile";
    for (key, limit) in [
        ("upload_file_id", 256),
        ("tool_file_id", 256),
        ("url", 2_048),
        ("storage_key", 1_024),
        ("name", 512),
        ("mime_type", 128),
    ] {
        let letters = |count: usize| json!("ä".repeat(count));
        Dynamic::call(&client, register, with(key, letters(limit)))
            .await
            .unwrap_or_else(|error| panic!("{key}: {error:?}"));
        for wrong in [letters(limit + 1), json!("a\u{0}b")] {
            let refused = Dynamic::call(&client, register, with(key, wrong)).await;
            refused.refused().names_field(&format!("file.{key}"));
        }
    }
    for (request, field) in [
        (json!({}), "file"),
        (with("size_bytes", json!(-1)), "file.size_bytes"),
        (with("storage_key", json!("")), "file.storage_key"),
        (with("type", json!(0)), "file.type"),
        (with("type", json!(99)), "file.type"),
        (with("url", json!("")), "file.url"),
        (json!({"file": {"type": 1}}), "file.location"),
    ] {
        let refused = Dynamic::call(&client, register, request).await;
        refused.refused().names_field(field);
    }
    // Only a URL does without a key, and all wrong fields are named at once.
    let net = json!({"file": {"url": format!("https://{}", Uuid::new_v4()), "type": 1}});
    Dynamic::call(&client, register, net).await.unwrap();
    let wrong = json!({"file": {"tool_file_id": "x", "size_bytes": -1}});
    let refused = Dynamic::call(&client, register, wrong).await.refused();
    let refused = refused.is(Code::InvalidArgument, "INVALID_FIELD");
    let named = refused.field_names();
    assert_eq!(named, ["file.type", "file.storage_key", "file.size_bytes"]);

    for (method, request, field) in [
        ("GetFile", json!({}), "location"),
        ("GetFile", json!({"url": ""}), "url"),
        (
            "GetFile",
            json!({"upload_file_id": "x".repeat(257)}),
            "upload_file_id",
        ),
        ("DeleteFile", json!({"tool_file_id": ""}), "tool_file_id"),
        ("DeleteFile", json!({"url": "x".repeat(2_049)}), "url"),
        ("ListFiles", json!({"page_size": -1}), "page_size"),
        (
            "ListFiles",
            json!({"transfer_method": 9}),
            "transfer_method",
        ),
        ("ListFiles", json!({"page_token": "no"}), "page_token"),
    ] {
        let refused = Dynamic::call(&client, &format!("FileService/{method}"), request).await;
        refused.refused().names_field(field);
    }
}
