//! References in messages, and how each read method resolves them.

use memory_contract::proto::{
    DeleteFileRequest, ExportRecordsRequest, File, FileRef, FileType, GetHistoryRequest,
    GetMessageRequest, ListMessagesRequest, MemoryMode, MemoryPolicy, Message, Part, RecallRequest,
    Role, TransferMethod, delete_file_request, file, file_ref, part::Content, record::Kind,
};
use prost::Message as _;
use recollect_tests::{
    Client, Key, PLAIN, app, apply, by_id, history_request, ids, recall_request, search_request,
    target_thread, trial, with_parts,
};
use serde_json::{Value, json};
use tokio_stream::StreamExt as _;
use tonic::Code;

use super::{database, delete, get_request, picture, register, tool, upload, url};
use crate::plain;

/// A reference as a caller stores it.
fn reference(location: &file::Location, kind: FileType) -> FileRef {
    FileRef {
        r#type: kind.into(),
        location: Some(match location.clone() {
            file::Location::UploadFileId(id) => file_ref::Location::UploadFileId(id),
            file::Location::ToolFileId(id) => file_ref::Location::ToolFileId(id),
            file::Location::Url(url) => file_ref::Location::Url(url),
        }),
        name: "my name for it".to_owned(),
        mime_type: "image/x-mine".to_owned(),
        size_bytes: 7,
        caption: "A heron on a jetty".to_owned(),
        ..Default::default()
    }
}

fn part(reference: &FileRef) -> Part {
    Part {
        content: Some(Content::File(reference.clone())),
        ..Default::default()
    }
}

fn references(message: &Message) -> Vec<FileRef> {
    let files = message.parts.iter().filter_map(|part| match &part.content {
        Some(Content::File(file)) => Some(file.clone()),
        _ => None,
    });
    files.collect()
}

/// A message in a new thread.
struct Said {
    thread_id: String,
    message_id: String,
    revision: String,
}

async fn said(client: &Client, role: Role, references: &[FileRef]) -> Said {
    let thread_id = client.thread(&app()).await;
    let parts = references.iter().map(part).collect();
    let stored = client
        .append(&thread_id, vec![with_parts(role, parts)])
        .await;
    Said {
        message_id: stored.messages[0].message_id.clone(),
        revision: stored.revision,
        thread_id,
    }
}

/// The message as each way of reading gives it.
async fn every_reading(client: &Client, said: &Said) -> Vec<(&'static str, Message)> {
    let Said {
        thread_id,
        message_id,
        revision,
    } = said;
    let request = GetMessageRequest {
        thread: by_id(thread_id),
        message_id: message_id.clone(),
    };
    let got = client.call(request).await.message.unwrap();
    let listed = client.all_messages(thread_id).await.remove(0);
    let history = client.call(history_request(thread_id)).await;
    let window = RecallRequest {
        policy: Some(MemoryPolicy {
            mode: MemoryMode::Window.into(),
            ..Default::default()
        }),
        ..recall_request(thread_id, "", revision)
    };
    let recalled = client.recall(window).await.messages.remove(0);
    let search = search_request(thread_id, "heron jetty", revision);
    let found = client.search(search).await.matches.remove(0);
    vec![
        ("GetMessage", got),
        ("ListMessages", listed),
        ("GetHistory", history.messages[0].clone()),
        ("Recall", recalled.message.unwrap()),
        ("Search", found.message.unwrap()),
    ]
}

#[apply(trial)]
async fn d07_attachments_of_each_kind_come_back_as_parts() {
    let client = plain().await;
    let kinds = [
        FileType::Image,
        FileType::Audio,
        FileType::Video,
        FileType::Document,
        FileType::Custom,
    ];
    let sent: Vec<FileRef> = kinds
        .into_iter()
        .flat_map(|kind| [upload(), tool(), url()].map(|location| reference(&location, kind)))
        .collect();
    for role in [Role::User, Role::Assistant] {
        let said = said(&client, role, &sent).await;
        for (how, message) in every_reading(&client, &said).await {
            assert_eq!(message.role(), role, "{how}");
            let got = references(&message);
            assert_eq!(got.len(), 15, "{how}");
            for (got, sent) in got.into_iter().zip(&sent) {
                let unflagged = FileRef {
                    dangling: false,
                    ..got
                };
                assert_eq!(unflagged, *sent, "{how}");
            }
        }
    }
}

#[apply(trial)]
async fn d10_a_file_is_a_reference_and_nothing_more() {
    let client = plain().await;
    let place = upload();
    // Fields that only answers have are ignored in requests.
    let boasting = FileRef {
        file: Some(picture(&place)),
        dangling: true,
        ..reference(&place, FileType::Document)
    };
    let said = said(&client, Role::User, &[boasting]).await;
    let admin = database().await;
    let row = admin
        .query_one(
            "SELECT parts::text FROM recollect.messages WHERE message_id = $1::text::uuid",
            &[&said.message_id],
        )
        .await
        .unwrap();
    let stored: Value = serde_json::from_str(row.get(0)).unwrap();
    let file::Location::UploadFileId(id) = &place else {
        unreachable!()
    };
    assert_eq!(
        stored,
        json!([{"file": {
            "type": "document",
            "location": {"upload_file_id": id},
            "name": "my name for it",
            "mime_type": "image/x-mine",
            "size_bytes": 7,
            "caption": "A heron on a jetty",
        }}])
    );
    for (how, message) in every_reading(&client, &said).await {
        let got = references(&message).remove(0);
        assert_eq!((got.file, got.dangling), (None, true), "{how}");
    }
}

#[apply(trial)]
async fn d11_a_registered_file_is_returned_with_its_metadata() {
    let client = plain().await;
    for (place, method) in [
        (upload(), TransferMethod::LocalFile),
        (tool(), TransferMethod::ToolFile),
        (url(), TransferMethod::RemoteUrl),
    ] {
        let known = register(&client, picture(&place)).await.file.unwrap();
        assert_eq!(known.transfer_method(), method);
        let sent = reference(&place, FileType::Image);
        let said = said(&client, Role::User, &[sent.clone(), sent.clone()]).await;
        let expected = FileRef {
            file: Some(known.clone()),
            ..sent
        };
        for (how, message) in every_reading(&client, &said).await {
            let got = references(&message);
            assert_eq!(got, [expected.clone(), expected.clone()], "{how}");
            let file = got[0].file.as_ref().unwrap();
            assert_eq!(file.storage_key, "uploads/2026/cat.png", "{how}");
            assert_eq!(file.name, "cat.png", "{how}");
            assert_eq!(file.mime_type, "image/png", "{how}");
            assert_eq!(file.size_bytes, 52_100, "{how}");
        }
    }
}

#[apply(trial)]
async fn d11_a_dangling_reference_is_flagged_and_stays() {
    let client = plain().await;
    let (known, nowhere, made, net) = (upload(), upload(), tool(), url());
    register(&client, picture(&known)).await;
    // The same id is another file where it was reached otherwise.
    let file::Location::UploadFileId(id) = &known else {
        unreachable!()
    };
    let other = file::Location::ToolFileId(id.clone());
    let places = [&known, &nowhere, &made, &other, &net];
    let sent = places.map(|place| reference(place, FileType::Audio));
    let said = said(&client, Role::Assistant, &sent).await;
    for (how, message) in every_reading(&client, &said).await {
        let got = references(&message);
        let flags: Vec<(bool, bool)> = got
            .iter()
            .map(|reference| (reference.file.is_some(), reference.dangling))
            .collect();
        assert_eq!(
            flags,
            [
                (true, false),
                (false, true),
                (false, true),
                (false, true),
                (false, false)
            ],
            "{how}"
        );
        assert_eq!(got[1].caption, "A heron on a jetty", "{how}");
    }
}

#[apply(trial)]
async fn d11_a_reference_dangles_again_after_its_file_was_deleted() {
    let client = plain().await;
    for (place, dangles) in [(upload(), true), (tool(), true), (url(), false)] {
        let said = said(&client, Role::User, &[reference(&place, FileType::Image)]).await;
        for known in [false, true, false] {
            if known {
                register(&client, picture(&place)).await;
            }
            for (how, message) in every_reading(&client, &said).await {
                let got = references(&message).remove(0);
                assert_eq!(got.file.is_some(), known, "{how}");
                assert_eq!(got.dangling, dangles && !known, "{how}");
            }
            if known {
                delete(&client, &place).await;
                let missing = client.refused(get_request(&place)).await;
                missing.is(Code::NotFound, "FILE_NOT_FOUND");
            }
        }
    }
}

#[apply(trial)]
async fn d11_a_file_of_another_tenant_is_not_there() {
    let (acme, globex) = (plain().await, PLAIN.client(Key::Globex).await);
    for place in [upload(), url()] {
        register(&globex, picture(&place)).await;
        let said = said(&acme, Role::User, &[reference(&place, FileType::Image)]).await;
        for (how, message) in every_reading(&acme, &said).await {
            let got = references(&message).remove(0);
            assert_eq!(got.file, None, "{how}");
            let on_the_net = matches!(place, file::Location::Url(_));
            assert_eq!(got.dangling, !on_the_net, "{how}");
        }
        let others = acme.refused(get_request(&place)).await;
        let unknown = acme.refused(get_request(&upload())).await;
        assert_eq!(others, unknown);
        let request = DeleteFileRequest {
            location: Some(delete_file_request::Location::ToolFileId("nowhere".into())),
        };
        assert!(!acme.call(request).await.deleted);
        let own = File {
            name: "of acme".to_owned(),
            ..picture(&place)
        };
        assert!(register(&acme, own).await.created);
        delete(&acme, &place).await;
        let theirs = globex.call(get_request(&place)).await;
        assert_eq!(theirs.file.unwrap().name, "cat.png");
        delete(&globex, &place).await;
    }
}

#[apply(trial)]
async fn d11_an_answer_has_room_for_the_metadata_of_its_files() {
    const MESSAGES: usize = 12;
    const REFERENCES: usize = 64;
    let client = plain().await;
    let places: Vec<file::Location> = (0..REFERENCES).map(|_| upload()).collect();
    for place in &places {
        // A letter of four bytes, so that a file has 6.6 KiB.
        let file = File {
            storage_key: "𝒶".repeat(1_024),
            name: "𝒷".repeat(512),
            mime_type: "𝒸".repeat(128),
            ..picture(place)
        };
        register(&client, file).await;
    }
    let thread_id = client.thread(&app()).await;
    let sent = places.iter().map(|place| reference(place, FileType::Image));
    let parts: Vec<Part> = sent.map(|reference| part(&reference)).collect();
    for _ in 0..MESSAGES {
        client
            .append(&thread_id, vec![with_parts(Role::User, parts.clone())])
            .await;
    }
    let stored = client.append_text(&thread_id, "The newest.").await;
    let whole = |messages: &[Message]| {
        messages
            .iter()
            .flat_map(references)
            .all(|reference| reference.file.is_some() && !reference.dangling)
    };

    let mut request = ListMessagesRequest {
        target: target_thread(&thread_id),
        page_size: 500,
        ..Default::default()
    };
    let (mut pages, mut seqs) = (0, Vec::new());
    loop {
        let page = client.call(request.clone()).await;
        assert!(page.encoded_len() <= 4 << 20, "{}", page.encoded_len());
        assert!(whole(&page.messages));
        seqs.extend(page.messages.iter().map(|message| message.seq));
        pages += 1;
        if page.next_page_token.is_empty() {
            break;
        }
        request.page_token = page.next_page_token;
    }
    assert_eq!(seqs, (1..=MESSAGES as i64 + 1).collect::<Vec<_>>());
    assert!(pages > 1, "one answer could not hold them");

    let request = GetHistoryRequest {
        max_tokens: Some(10_000_000),
        ..history_request(&thread_id)
    };
    let history = client.call(request).await;
    assert!(
        history.encoded_len() <= 3_670_016,
        "{}",
        history.encoded_len()
    );
    assert!(history.truncated && whole(&history.messages));
    assert_eq!(
        ids(&history.messages).last(),
        Some(&stored.messages[0].message_id),
        "the newest is the last to go"
    );

    let request = RecallRequest {
        policy: Some(MemoryPolicy {
            mode: MemoryMode::Window.into(),
            window_size: Some(500),
            ..Default::default()
        }),
        ..recall_request(&thread_id, "", &stored.revision)
    };
    let recalled = client.recall(request).await;
    assert!(
        recalled.encoded_len() <= 4 << 20,
        "{}",
        recalled.encoded_len()
    );
    let found: Vec<Message> = recalled
        .messages
        .into_iter()
        .map(|hit| hit.message.unwrap())
        .collect();
    assert!(found.len() > 3 && whole(&found), "{}", found.len());
}

#[apply(trial)]
async fn an_export_has_references_as_they_were_stored() {
    let client = plain().await;
    let (known, nowhere) = (upload(), tool());
    register(&client, picture(&known)).await;
    let sent = [&known, &nowhere].map(|place| reference(place, FileType::Image));
    let said = said(&client, Role::User, &sent).await;
    let request = ExportRecordsRequest {
        target: target_thread(said.thread_id),
        ..Default::default()
    };
    let stream = client.transfers().export_records(request).await.unwrap();
    let records: Vec<Kind> = stream
        .into_inner()
        .map(|record| record.unwrap().record.unwrap().kind.unwrap())
        .collect()
        .await;
    let [
        Kind::Thread(_),
        Kind::File(file),
        Kind::Message(message),
        Kind::Summary(_),
    ] = records.as_slice()
    else {
        panic!("{records:?}")
    };
    assert_eq!(references(message), sent);
    assert_eq!(file.location.as_ref(), Some(&known));
}
