//! Memories of nodes together with conversations, files, policies and contexts.

use memory_contract::proto::{
    AddNodeTurnRequest, BuildContextRequest, ContextBlockKind as Kind, File, FileRef, FileType,
    GetNodeHistoryRequest, MemoryMode, MemoryPolicy, NodeMessageInput, NodeRef,
    RegisterFileRequest, Thread, UpdateThreadRequest, file, file_ref, part::Content,
};
use prost::Message as _;
use prost_types::Duration;
use recollect_tests::{
    Client, PLAIN, SOON, app, apply, block, block_texts, check_context, context_request,
    eventually, history_request, kinds, mask, mode, node, node_turn, says, texts, thread_of, trial,
};
use uuid::Uuid;

use super::dialogue::ask;
use crate::plain;
use crate::threads::ephemeral::ephemeral;

/// The most bytes of messages in one answer.
const ANSWER_BYTES: usize = 3_670_016;

#[apply(trial)]
async fn d01_conversations_and_nodes_have_memories_of_their_own() {
    let client = plain().await;
    let (first_app, other_app) = (app(), app());
    let mut expected = Vec::new();
    // The same name of a node in two apps, and in two conversations of one.
    for (app, text) in [(&first_app, "a"), (&first_app, "b"), (&other_app, "c")] {
        let thread_id = client.thread(app).await;
        let said = [format!("{text} asked"), format!("{text} answered")];
        client.append_turn(&thread_id, &said[0], &said[1]).await;
        for name in ["planner", "writer"] {
            let node = node(&thread_id, name);
            let said = [format!("{name} {text} asked"), format!("{text} {name}")];
            client.add_node_turn(&node, &said[0], &said[1]).await;
            client.flush_node(&node).await;
            let key = format!("acme/node_memory/{app}/{thread_id}/{name}.json");
            let object = PLAIN.data().join("objects").join(key);
            assert!(object.is_file(), "{}", object.display());
            expected.push((node, said));
        }
        let history = client.call(history_request(&thread_id)).await;
        assert_eq!(texts(&history.messages), said);
    }
    for (node, said) in &expected {
        assert_eq!(client.node_dialogue(node, "").await, *said);
        let stored = client.all_messages(thread_of(node)).await;
        assert_eq!(stored.len(), 2, "nothing of a node is in the conversation");
    }
    // One is cleared, and the others stay.
    let ((cleared, _), others) = expected.split_first().unwrap();
    assert_eq!(client.delete_node(cleared).await, 2);
    assert!(client.node_dialogue(cleared, "").await.is_empty());
    assert_eq!(client.all_messages(thread_of(cleared)).await.len(), 2);
    for (node, said) in others {
        assert_eq!(client.node_dialogue(node, "").await, *said);
    }
}

fn reference(location: file_ref::Location) -> FileRef {
    FileRef {
        r#type: FileType::Image.into(),
        location: Some(location),
        // Small enough for several in a history.
        width: 320,
        height: 240,
        ..Default::default()
    }
}

/// A picture that is registered, and how a message refers to it.
pub async fn registered(client: &Client) -> (File, FileRef) {
    let id = format!("upload-{}", Uuid::new_v4());
    let picture = File {
        location: Some(file::Location::UploadFileId(id.clone())),
        r#type: FileType::Image.into(),
        storage_key: "uploads/2026/heron.png".to_owned(),
        name: "heron.png".to_owned(),
        mime_type: "image/png".to_owned(),
        size_bytes: 52_100,
        ..Default::default()
    };
    let request = RegisterFileRequest {
        file: Some(picture),
    };
    let stored = client.call(request).await.file.unwrap();
    (stored, reference(file_ref::Location::UploadFileId(id)))
}

/// A turn with files on both sides.
pub fn pictured(node: &NodeRef, asked: &[FileRef], answered: &[FileRef]) -> AddNodeTurnRequest {
    let with = |text: &str, files: &[FileRef]| NodeMessageInput {
        files: files.to_vec(),
        ..says(text)
    };
    AddNodeTurnRequest {
        node: Some(node.clone()),
        user: Some(with("What is this?", asked)),
        assistant: Some(with("A heron.", answered)),
        ..Default::default()
    }
}

#[apply(trial)]
async fn d11_the_files_of_a_node_come_back_with_their_metadata() {
    let client = plain().await;
    let node = node(&client.thread(&app()).await, "planner");
    let (picture, known) = registered(&client).await;
    let unknown = format!("tool-{}", Uuid::new_v4());
    let lost = reference(file_ref::Location::ToolFileId(unknown.clone()));
    let address = "https://example.org/heron.png".to_owned();
    let remote = reference(file_ref::Location::Url(address));
    let asked = [lost, known.clone()];
    client
        .call(pictured(&node, &asked, std::slice::from_ref(&remote)))
        .await;
    for flushed in [false, true] {
        if flushed {
            client.flush_node(&node).await;
        }
        let history = client.call(ask(&node, "")).await;
        let [user, assistant] = history.messages.as_slice() else {
            panic!("{history:?}");
        };
        let [lost, found] = user.files.as_slice() else {
            panic!("{user:?}");
        };
        assert!(lost.dangling && lost.file.is_none(), "{lost:?}");
        assert_eq!(lost.location, asked[0].location, "it is not dropped");
        assert!(!found.dangling);
        assert_eq!(found.file.as_ref(), Some(&picture));
        let remote = &assistant.files[0];
        assert!(!remote.dangling && remote.file.is_none(), "{remote:?}");
    }
    // Each read looks up the metadata.
    let late = File {
        location: Some(file::Location::ToolFileId(unknown)),
        ..picture
    };
    let request = RegisterFileRequest { file: Some(late) };
    client.call(request).await;
    let history = client.call(ask(&node, "")).await;
    let found = &history.messages[0].files[0];
    assert!(!found.dangling);
    assert_eq!(
        found.file.as_ref().unwrap().storage_key,
        "uploads/2026/heron.png"
    );
}

#[apply(trial)]
async fn d11_a_node_with_many_files_keeps_its_older_turns() {
    const TURNS: usize = 5;
    const FILES: usize = 64;
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let node = node(&thread_id, "planner");
    let id = format!("upload-{}", Uuid::new_v4());
    let files = vec![reference(file_ref::Location::UploadFileId(id.clone())); FILES];
    for _ in 0..TURNS {
        client.call(pictured(&node, &files, &files)).await;
    }
    let ask_all = GetNodeHistoryRequest {
        max_tokens: Some(10_000_000),
        ..ask(&node, "")
    };
    let build = BuildContextRequest {
        policy: Some(mode(MemoryMode::Node)),
        node_id: node.node_id.clone(),
        max_tokens: Some(10_000_000),
        ..context_request(&thread_id, "And now?")
    };
    // The files are not registered, so they take little of an answer.
    let history = client.call(ask_all.clone()).await;
    assert_eq!(history.messages.len(), 2 * TURNS);
    assert!(!history.truncated);
    let references = history.messages.iter().flat_map(|message| &message.files);
    assert!(references.clone().all(|reference| reference.dangling));
    assert_eq!(references.count(), 2 * TURNS * FILES);
    let context = client.context(build.clone()).await;
    let block_of = |context| block(context, Kind::Node).unwrap().clone();
    assert_eq!(block_of(&context).messages.len(), 2 * TURNS);
    assert!(!block_of(&context).truncated);

    // With all that can be known of each, one answer cannot hold them. A letter of
    // four bytes, so that it has 6.6 KiB.
    let file = File {
        location: Some(file::Location::UploadFileId(id)),
        r#type: FileType::Image.into(),
        storage_key: "𝒶".repeat(1_024),
        name: "𝒷".repeat(512),
        mime_type: "𝒸".repeat(128),
        ..Default::default()
    };
    let request = RegisterFileRequest { file: Some(file) };
    client.call(request).await;
    let history = client.call(ask_all).await;
    assert!(history.encoded_len() <= ANSWER_BYTES);
    assert!(history.truncated && !history.messages.is_empty());
    let mut references = history.messages.iter().flat_map(|message| &message.files);
    assert!(references.all(|reference| reference.file.is_some()));
    let context = client.context(build).await;
    assert!(context.encoded_len() <= ANSWER_BYTES);
    let node = block_of(&context);
    assert!(node.truncated && !node.messages.is_empty());
    let mut parts = node.messages.iter().flat_map(|message| &message.parts);
    assert!(parts.all(|part| match &part.content {
        Some(Content::File(file)) => file.file.is_some() && !file.dangling,
        _ => true,
    }));
}

#[apply(trial)]
async fn d19_a_context_with_a_nodes_pictures_is_the_same_after_a_flush() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    client.append_turn(&thread_id, "elsewhere", "said").await;
    let node = node(&thread_id, "planner");
    let (picture, known) = registered(&client).await;
    let request = BuildContextRequest {
        system_prompt: "Be brief.".to_owned(),
        policy: Some(mode(MemoryMode::Node)),
        node_id: node.node_id.clone(),
        ..context_request(&thread_id, "And now?")
    };
    let context = client.context(request.clone()).await;
    assert_eq!(kinds(&context), [Kind::System, Kind::Input]);

    // After the model has answered: appended, and flushed.
    let added = client.call(pictured(&node, &[known], &[])).await;
    let waiting = client.context(request.clone()).await;
    client.flush_node(&node).await;
    let context = client.context(request.clone()).await;
    assert_eq!(waiting, context, "a flush changes nothing");
    check_context(&context, 1_000_000);
    assert_eq!(kinds(&context), [Kind::System, Kind::Node, Kind::Input]);
    let said = &block(&context, Kind::Node).unwrap().messages;
    assert_eq!(said[0].message_id, added.user_message_id);
    assert_eq!(said[1].message_id, added.assistant_message_id);
    let [text, file] = said[0].parts.as_slice() else {
        panic!("{said:?}");
    };
    assert_eq!(
        text.content,
        Some(Content::Text("What is this?".to_owned()))
    );
    let Some(Content::File(file)) = &file.content else {
        panic!("{file:?}");
    };
    assert_eq!(file.file.as_ref(), Some(&picture));
    assert_eq!(block_texts(&context, Kind::Input), ["And now?"]);

    client.add_node_turn(&node, "Once more?", "Yes.").await;
    let context = client.context(request.clone()).await;
    let said = block_texts(&context, Kind::Node);
    assert_eq!(said[2..], ["Once more?", "Yes."]);
    let back = BuildContextRequest {
        current_message_id: added.assistant_message_id,
        ..request
    };
    let context = client.context(back).await;
    assert_eq!(block_texts(&context, Kind::Node), said[..2]);
}

#[apply(trial)]
async fn an_ephemeral_conversation_has_memories_of_nodes() {
    let client = plain().await;
    let thread_id = ephemeral(&client, &app(), "ada").await;
    let node = node(&thread_id, "planner");
    client.call(node_turn(&node, "Q", "A")).await;
    client.flush_node(&node).await;
    assert_eq!(client.node_dialogue(&node, "").await, ["Q", "A"]);
    let build = BuildContextRequest {
        policy: Some(mode(MemoryMode::Node)),
        node_id: node.node_id,
        ..context_request(&thread_id, "Hello!")
    };
    let context = client.context(build).await;
    assert_eq!(block_texts(&context, Kind::Node), ["Q", "A"]);
}

fn node_ttl(seconds: i64) -> Option<MemoryPolicy> {
    Some(MemoryPolicy {
        node_ttl: Some(Duration { seconds, nanos: 0 }),
        ..Default::default()
    })
}

async fn set_of_thread(client: &Client, node: &NodeRef, policy: Option<MemoryPolicy>) {
    let request = UpdateThreadRequest {
        thread: Some(Thread {
            thread_id: thread_of(node).to_owned(),
            policy,
            ..Default::default()
        }),
        update_mask: Some(mask(&["policy"])),
        precondition: None,
    };
    client.call(request).await;
}

/// The seconds from the last turn to the end of the only memory.
async fn life(client: &Client, node: &NodeRef) -> Option<i64> {
    client.add_node_turn(node, "Q", "A").await;
    let memory = client.node_memories(thread_of(node)).await.remove(0);
    let expires = memory.expire_time?.seconds;
    // To ten seconds: both are taken one after the other.
    Some((expires - memory.update_time.unwrap().seconds) / 10 * 10)
}

#[apply(trial)]
async fn a_nodes_memory_ends_by_the_policy_that_was_set() {
    let client = plain().await;
    let app = app();
    let node = node(&client.thread(&app).await, "planner");
    assert_eq!(life(&client, &node).await, None);
    client.set_policy(&app, node_ttl(3_605).unwrap()).await;
    assert_eq!(life(&client, &node).await, Some(3_600));
    set_of_thread(&client, &node, node_ttl(7_205)).await;
    assert_eq!(life(&client, &node).await, Some(7_200));
    set_of_thread(&client, &node, None).await;
    client.delete_policy(&app).await;
    assert_eq!(life(&client, &node).await, None);

    set_of_thread(&client, &node, node_ttl(1)).await;
    client.add_node_turn(&node, "Q", "A").await;
    eventually("the memory has ended", SOON, async || {
        client.node_dialogue(&node, "").await.is_empty()
    })
    .await;
    assert!(client.node_memories(thread_of(&node)).await.is_empty());
    client.add_node_turn(&node, "new", "memory").await;
    assert_eq!(client.delete_node(&node).await, 2, "it begins anew");
}
