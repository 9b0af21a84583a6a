//! Contexts: the memories of nodes.

use memory_contract::proto::{
    BuildContextRequest, ContextBlockKind as Kind, File, FileType, MemoryMode, MemoryPolicy, Part,
    RegisterFileRequest, Role, file,
};
use prost::Message as _;
use recollect_tests::{
    app, apply, block, block_texts, check_context, context_request, kinds, mode, node, node_turn,
    trial,
};
use uuid::Uuid;

use crate::context::budgets::text;
use crate::plain;

#[apply(trial)]
async fn d19_a_nodes_dialogue_comes_before_the_current_message() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    client.append_turn(&thread_id, "Not", "this.").await;
    let (planner, other) = (node(&thread_id, "planner"), node(&thread_id, "other"));
    client.add_node_turn(&other, "Nor", "that.").await;
    let request = BuildContextRequest {
        system_prompt: "You plan.".to_owned(),
        node_id: "planner".to_owned(),
        policy: Some(mode(MemoryMode::Node)),
        ..context_request(&thread_id, "Now?")
    };
    let empty = client.context(request.clone()).await;
    assert_eq!(kinds(&empty), [Kind::System, Kind::Input]);

    // A model's answer is in the next request's context, flushed or not.
    let first = client.add_node_turn(&planner, "q0", "a0").await;
    client.flush_node(&planner).await;
    let second = client.add_node_turn(&planner, "q1", "a1").await;
    let context = client.context(request.clone()).await;
    check_context(&context, 1_000_000);
    assert_eq!(kinds(&context), [Kind::System, Kind::Node, Kind::Input]);
    assert_eq!(block_texts(&context, Kind::Node), ["q0", "a0", "q1", "a1"]);
    let block = block(&context, Kind::Node).unwrap();
    let roles: Vec<Role> = block.messages.iter().map(|said| said.role()).collect();
    assert_eq!(
        roles,
        [Role::User, Role::Assistant, Role::User, Role::Assistant]
    );
    assert_eq!(block.messages[3].message_id, second.assistant_message_id);

    let back = BuildContextRequest {
        current_message_id: first.assistant_message_id.clone(),
        ..request.clone()
    };
    let back = client.context(back).await;
    assert_eq!(block_texts(&back, Kind::Node), ["q0", "a0"]);
    let windowed = BuildContextRequest {
        policy: Some(MemoryPolicy {
            window_size: Some(3),
            ..mode(MemoryMode::Node)
        }),
        ..request
    };
    let windowed = client.context(windowed).await;
    assert_eq!(block_texts(&windowed, Kind::Node), ["q1", "a1"]);
}

#[apply(trial)]
async fn t16_a_nodes_dialogue_never_exceeds_the_budget() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let planner = node(&thread_id, "planner");
    for number in 0..6 {
        let question = format!("Question {number}, {}", "and more ".repeat(number));
        let turn = node_turn(&planner, &question, "Überraschung! 你好");
        client.call(turn).await;
    }
    for model in ["", "gpt-4"] {
        let request = BuildContextRequest {
            model: model.to_owned(),
            system_prompt: "You plan.".to_owned(),
            node_id: "planner".to_owned(),
            policy: Some(mode(MemoryMode::Node)),
            formats: vec![1, 2, 3, 4, 5],
            ..context_request(&thread_id, "Now?")
        };
        let whole = client.context(request.clone()).await;
        assert_eq!(block_texts(&whole, Kind::Node).len(), 12);
        let least: i32 = [Kind::System, Kind::Input]
            .map(|kind| block(&whole, kind).unwrap().token_count)
            .iter()
            .sum();
        let mut counts = Vec::new();
        for max_tokens in least..=whole.total_tokens {
            let request = BuildContextRequest {
                max_tokens: Some(max_tokens),
                ..request.clone()
            };
            let context = client.context(request).await;
            check_context(&context, max_tokens);
            counts.push(block_texts(&context, Kind::Node).len());
        }
        assert!(counts.is_sorted(), "{counts:?}");
        assert_eq!((counts[0], counts.last()), (0, Some(&12)));
    }
}

#[apply(trial)]
async fn the_metadata_of_files_fits_into_the_answer() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let id = format!("upload-{}", Uuid::new_v4());
    let known = File {
        location: Some(file::Location::UploadFileId(id.clone())),
        r#type: FileType::Image.into(),
        storage_key: "🦭".repeat(1_024),
        name: "🦭".repeat(512),
        ..Default::default()
    };
    let request = RegisterFileRequest { file: Some(known) };
    client.call(request).await;
    let wide = " ".repeat(200 * 1_024);
    let mut files: Vec<Part> = (0..64).map(|_| picture(&id)).collect();
    files[0] = text("Walrus?");
    for count in 1..=9 {
        client.append_turn(&thread_id, &wide, &wide).await;
        let request = BuildContextRequest {
            policy: Some(mode(MemoryMode::Window)),
            max_tokens: Some(10_000_000),
            system_prompt: wide.clone(),
            input: files.clone(),
            ..context_request(&thread_id, "")
        };
        let bytes = client.context(request).await.encoded_len();
        assert!(bytes <= 3_670_016, "{count}: {bytes}");
    }
}

fn picture(id: &str) -> Part {
    use memory_contract::proto::{FileRef, file_ref, part};
    Part {
        content: Some(part::Content::File(FileRef {
            r#type: FileType::Image.into(),
            location: Some(file_ref::Location::UploadFileId(id.to_owned())),
            ..Default::default()
        })),
        ..Default::default()
    }
}
