//! Files of a user of Dify: uploads, images that tools return, histories with images.

use std::path::{Path, PathBuf};

use memory_contract::file::InlineContent;
use memory_contract::proto::{
    AddNodeTurnRequest, AppendMessagesRequest, BuildContextRequest, BuildContextResponse,
    ContextBlockKind as Kind, File, FileDelivery, FileRef, FileType, GetFileContentRequest,
    GetHistoryRequest, GetNodeHistoryRequest, ImageDetail, MemoryMode, MemoryPolicy, Message,
    NodeMessageInput, NodeRef, Part, ProviderFormat, PutWorkingMemoryRequest, RegisterFileRequest,
    Role, ToolResult, file, file_ref, part, tool_result_part,
};
use recollect_tests::{
    Client, Key, Options, S3, SOON, Server, app, apply, block, body, body_json, by_id,
    chat_messages, context_request, eventually, history_request, mode, node, tool_call, trial,
    trial_with_own_server, with_parts,
};
use serde_json::{Value, json};
use tonic::Code;

use crate::plain;

const FORMATS: [ProviderFormat; 3] = [
    ProviderFormat::OpenaiChat,
    ProviderFormat::AnthropicMessages,
    ProviderFormat::Gemini,
];

/// The beginning of a PNG image, which says its size.
fn png(width: u32, height: u32, end: &str) -> Vec<u8> {
    let mut bytes = b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR".to_vec();
    bytes.extend(width.to_be_bytes());
    bytes.extend(height.to_be_bytes());
    bytes.extend([8, 6, 0, 0, 0, 0, 0, 0, 0]);
    bytes.extend(end.as_bytes());
    bytes
}

fn data_url(bytes: &[u8]) -> String {
    let mime_type = "image/png".to_owned();
    let bytes = bytes.to_vec();
    InlineContent { mime_type, bytes }.url()
}

fn image(location: file_ref::Location) -> FileRef {
    FileRef {
        r#type: FileType::Image.into(),
        location: Some(location),
        ..Default::default()
    }
}

fn part_of(content: part::Content) -> Part {
    Part {
        content: Some(content),
        ..Default::default()
    }
}

fn url_of(file: &FileRef) -> &str {
    match &file.location {
        Some(file_ref::Location::Url(url)) => url,
        other => panic!("{other:?}"),
    }
}

/// Registers an image whose file is under this key.
async fn register(client: &Client, location: file::Location, storage_key: &str) {
    let file = File {
        location: Some(location),
        r#type: FileType::Image.into(),
        storage_key: storage_key.to_owned(),
        name: "cat.png".to_owned(),
        mime_type: "image/png".to_owned(),
        ..Default::default()
    };
    let request = RegisterFileRequest { file: Some(file) };
    client.call(request).await;
}

/// Adds a turn in which the user shows an image, and flushes, as Dify does after a node.
async fn show(client: &Client, node: &NodeRef, file: FileRef) {
    let request = AddNodeTurnRequest {
        node: Some(node.clone()),
        user: Some(NodeMessageInput {
            content: "What is this?".to_owned(),
            files: vec![file],
            ..Default::default()
        }),
        assistant: Some(NodeMessageInput {
            content: "A cat.".to_owned(),
            ..Default::default()
        }),
        ..Default::default()
    };
    client.call(request).await;
    client.flush_node(node).await;
}

/// The prompt of the node with the default budget; `policy` is what the app sets.
async fn prompt(client: &Client, node: &NodeRef, policy: MemoryPolicy) -> BuildContextResponse {
    let request = BuildContextRequest {
        policy: Some(MemoryPolicy {
            mode: MemoryMode::Node.into(),
            ..policy
        }),
        node_id: node.node_id.clone(),
        formats: FORMATS.map(i32::from).to_vec(),
        max_tokens: None,
        ..context_request(recollect_tests::thread_of(node), "And its color?")
    };
    let context = client.context(request).await;
    assert_eq!(context.max_tokens, 32_000);
    context
}

/// A policy under which images are described in text.
fn documents_only(mode: MemoryMode) -> MemoryPolicy {
    MemoryPolicy {
        mode: mode.into(),
        file_types: vec![FileType::Document.into()],
        ..Default::default()
    }
}

/// Checks that every format has the words for this many images, and no image.
#[track_caller]
fn check_words(context: &BuildContextResponse, images: usize) {
    for format in FORMATS {
        let body = body(context, format);
        assert_eq!(body.matches("[image").count(), images, "{body}");
        for sent in ["image_url", "\"source\"", "inlineData", "fileData"] {
            assert!(!body.contains(sent), "{body}");
        }
    }
}

/// The content of the first message in OpenAI's and in Anthropic's format.
fn first_contents(context: &BuildContextResponse) -> [Value; 2] {
    let openai = chat_messages(context).remove(0)["content"].clone();
    let anthropic = body_json(context, ProviderFormat::AnthropicMessages);
    [openai, anthropic["messages"][0]["content"].clone()]
}

fn options(config: &[String]) -> Options {
    let mut options = Options::with(&[
        "embedding.kind = \"none\"",
        "worker.nodes.interval = \"50ms\"",
    ]);
    options.config.extend(config.iter().cloned());
    options
}

/// Checks that the image after the first text has a signed URL that gives its bytes, in the
/// formats of providers that fetch URLs, and is inline for Gemini.
async fn check_signed(s3: &S3, context: &BuildContextResponse, path: &str, bytes: &[u8]) {
    let [openai, anthropic] = first_contents(context);
    let url = openai[1]["image_url"]["url"].as_str().unwrap();
    for text in [path, "X-Amz-Signature=", "X-Amz-Expires=900"] {
        assert!(url.contains(text), "{url}");
    }
    assert_eq!(
        anthropic[1],
        json!({"type": "image", "source": {"type": "url", "url": url}})
    );
    assert_eq!(s3.fetch(url).await, bytes);
    let gemini = body_json(context, ProviderFormat::Gemini);
    let inline = &gemini["contents"][0]["parts"][1]["inlineData"];
    let data = format!("data:image/png;base64,{}", inline["data"].as_str().unwrap());
    assert_eq!(data, data_url(bytes));
}

#[apply(trial_with_own_server)]
async fn j01_an_uploaded_image_is_in_the_nodes_prompt_by_a_signed_url() {
    let s3 = S3::new();
    let (_dir, _server, client) = Server::start_own(&options(&s3.config())).await;
    let cat = png(640, 480, "cat");
    s3.put("acme/files/cat.png", cat.clone());
    s3.put("globex/files/secret.png", png(1, 1, "secret"));
    let upload = file::Location::UploadFileId("u-1".to_owned());
    register(&client, upload.clone(), "acme/files/cat.png").await;
    let node = node(&client.thread("app").await, "llm");
    show(
        &client,
        &node,
        image(file_ref::Location::UploadFileId("u-1".into())),
    )
    .await;

    let context = prompt(&client, &node, MemoryPolicy::default()).await;
    let [openai, _] = first_contents(&context);
    assert_eq!(openai[0], json!({"type": "text", "text": "What is this?"}));
    check_signed(&s3, &context, "/acme/files/cat.png?", &cat).await;
    // Of unknown size: as 1,024 × 1,024 pixels.
    let shown = &block(&context, Kind::Node).unwrap().messages[0];
    assert!((765..800).contains(&shown.token_count), "{shown:?}");
    // The prompt stays the same, so that prompt caches match.
    let again = prompt(&client, &node, MemoryPolicy::default()).await;
    assert_eq!(
        body(&again, ProviderFormat::OpenaiChat),
        body(&context, ProviderFormat::OpenaiChat)
    );

    let inline = MemoryPolicy {
        file_delivery: FileDelivery::Inline.into(),
        image_detail: ImageDetail::Low.into(),
        ..Default::default()
    };
    let context = prompt(&client, &node, inline).await;
    let [openai, anthropic] = first_contents(&context);
    assert_eq!(openai[1]["image_url"]["url"], data_url(&cat));
    assert_eq!(openai[1]["image_url"]["detail"], "low");
    assert_eq!(anthropic[1]["source"]["type"], "base64");
    let shown = &block(&context, Kind::Node).unwrap().messages[0];
    assert!((85..120).contains(&shown.token_count), "{shown:?}");

    // Where only documents may be sent, the image is words, and counts as such.
    let context = prompt(&client, &node, documents_only(MemoryMode::Node)).await;
    check_words(&context, 1);
    let [openai, _] = first_contents(&context);
    assert_eq!(openai[1], json!({"type": "text", "text": "[image]"}));
    let shown = &block(&context, Kind::Node).unwrap().messages[0];
    assert!((3..30).contains(&shown.token_count), "{shown:?}");

    // Neither another tenant's object nor a path that leaves the tenant's is ever signed.
    for key in [
        "globex/files/secret.png",
        "acme/files/../../globex/files/secret.png",
        "acme/node_memory/app/x.json",
        "acme/files/",
        "/acme/files/cat.png",
    ] {
        register(&client, upload.clone(), key).await;
        for delivery in [FileDelivery::Auto, FileDelivery::Inline] {
            let policy = MemoryPolicy {
                file_delivery: delivery.into(),
                ..Default::default()
            };
            let context = prompt(&client, &node, policy).await;
            let [openai, _] = first_contents(&context);
            assert_eq!(
                openai[1],
                json!({"type": "text", "text": "[image]"}),
                "{key}"
            );
        }
    }
}

#[apply(trial_with_own_server)]
async fn j01_a_file_of_a_tool_is_in_the_nodes_prompt_by_a_signed_url() {
    let s3 = S3::new();
    let (_dir, _server, client) = Server::start_own(&options(&s3.config())).await;
    let plot = png(512, 512, "plot");
    s3.put("acme/files/tools/plot.png", plot.clone());
    let tool_file = file::Location::ToolFileId("t-1".to_owned());
    register(&client, tool_file, "acme/files/tools/plot.png").await;
    let node = node(&client.thread("app").await, "llm");
    let file = image(file_ref::Location::ToolFileId("t-1".into()));
    show(&client, &node, file).await;

    let context = prompt(&client, &node, MemoryPolicy::default()).await;
    check_signed(&s3, &context, "/acme/files/tools/plot.png?", &plot).await;
    let shown = &block(&context, Kind::Node).unwrap().messages[0];
    assert!((765..800).contains(&shown.token_count), "{shown:?}");

    let context = prompt(&client, &node, documents_only(MemoryMode::Node)).await;
    check_words(&context, 1);
    let shown = &block(&context, Kind::Node).unwrap().messages[0];
    assert!((3..30).contains(&shown.token_count), "{shown:?}");
}

/// The objects of content in a directory of objects.
fn contents_in(objects: &Path) -> Vec<PathBuf> {
    let found = std::fs::read_dir(objects.join("acme/contents"));
    let found = found.into_iter().flatten();
    found.map(|entry| entry.unwrap().path()).collect()
}

#[apply(trial_with_own_server)]
async fn j01_an_image_in_the_message_itself_is_stored_once_and_sent_inline() {
    let (dir, _server, client) = Server::start_own(&options(&[])).await;
    let objects = dir.data().join("objects");
    let cat = png(640, 480, "cat");
    let first = node(&client.thread("app").await, "llm");
    let second = node(&client.thread("app").await, "llm");
    for node in [&first, &second] {
        show(
            &client,
            node,
            image(file_ref::Location::Url(data_url(&cat))),
        )
        .await;
    }
    assert_eq!(contents_in(&objects).len(), 1, "stored once");

    let context = prompt(&client, &first, MemoryPolicy::default()).await;
    let [openai, anthropic] = first_contents(&context);
    assert_eq!(openai[1]["image_url"]["url"], data_url(&cat));
    let source = &anthropic[1]["source"];
    assert_eq!(
        (&source["type"], &source["media_type"]),
        (&json!("base64"), &json!("image/png"))
    );
    // Two squares of 512 pixels, and the overview.
    let shown = &block(&context, Kind::Node).unwrap().messages[0];
    assert!((425..460).contains(&shown.token_count), "{shown:?}");
    let words = MemoryPolicy {
        file_delivery: FileDelivery::Text.into(),
        ..Default::default()
    };
    let context = prompt(&client, &first, words).await;
    let [openai, _] = first_contents(&context);
    assert_eq!(openai[1], json!({"type": "text", "text": "[image]"}));
    let shown = &block(&context, Kind::Node).unwrap().messages[0];
    assert!((3..30).contains(&shown.token_count), "{shown:?}");
    let context = prompt(&client, &first, documents_only(MemoryMode::Node)).await;
    check_words(&context, 1);
    let shown = &block(&context, Kind::Node).unwrap().messages[0];
    assert!((3..30).contains(&shown.token_count), "{shown:?}");

    let request = GetNodeHistoryRequest {
        node: Some(first.clone()),
        ..Default::default()
    };
    let history = client.call(request).await;
    let file = history.messages[0].files[0].clone();
    assert_eq!(
        (file.width, file.height, file.size_bytes),
        (640, 480, cat.len() as i64)
    );
    assert_eq!(file.mime_type, "image/png");
    let url = url_of(&file).to_owned();
    assert!(url.starts_with("ni:///sha-256;"), "{url}");
    let request = GetFileContentRequest { url };
    assert_eq!(client.call(request.clone()).await.content, cat);

    // It is erased with what refers to it last, here the second thread.
    client.delete_node(&first).await;
    assert_eq!(client.call(request.clone()).await.content, cat);
    client
        .delete_thread(recollect_tests::thread_of(&second))
        .await;
    let refused = client.refused(request).await;
    refused.is(Code::NotFound, "FILE_NOT_FOUND");
    eventually("the object is erased", SOON, async || {
        contents_in(&objects).is_empty()
    })
    .await;
}

#[apply(trial_with_own_server)]
async fn content_of_a_message_is_erased_with_the_last_message_that_has_it() {
    let (dir, server, client) = Server::start_own(&options(&[])).await;
    let objects = dir.data().join("objects");
    let thread_id = client.thread("app").await;
    let picture = |url: String| {
        let file = image(file_ref::Location::Url(url));
        with_parts(Role::User, vec![part_of(part::Content::File(file))])
    };
    let url = data_url(&png(8, 8, "cat"));
    let appended = client.append(&thread_id, vec![picture(url)]).await;
    let stored = client.all_messages(&thread_id).await;
    let Some(part::Content::File(file)) = &stored[0].parts[0].content else {
        panic!("{stored:?}")
    };
    // A message may name what another one of the tenant contains.
    let name = url_of(file).to_owned();
    let named = client.append(&thread_id, vec![picture(name.clone())]).await;
    let request = GetFileContentRequest { url: name.clone() };
    // Another tenant neither reads nor names it.
    let globex = server.client(Key::Globex).await;
    let refused = globex.refused(request.clone()).await;
    refused.is(Code::NotFound, "FILE_NOT_FOUND");
    let theirs = AppendMessagesRequest {
        thread: by_id(globex.thread("app").await),
        messages: vec![picture(name.clone())],
        ..Default::default()
    };
    let refused = globex.refused(theirs).await;
    refused.is(Code::InvalidArgument, "INVALID_FIELD");
    let first = &appended.messages[0].message_id;
    client.delete_message(&thread_id, first).await;
    client.call(request.clone()).await;
    assert_eq!(contents_in(&objects).len(), 1);
    client
        .delete_message(&thread_id, &named.messages[0].message_id)
        .await;
    client
        .refused(request)
        .await
        .is(Code::NotFound, "FILE_NOT_FOUND");
    eventually("the object is erased", SOON, async || {
        contents_in(&objects).is_empty()
    })
    .await;
    // What is gone cannot be named.
    let request = AppendMessagesRequest {
        thread: by_id(&thread_id),
        messages: vec![picture(name)],
        ..Default::default()
    };
    let refused = client.refused(request).await;
    refused.is(Code::InvalidArgument, "INVALID_FIELD");
}

#[apply(trial_with_own_server)]
async fn content_of_a_branched_working_memory_outlives_the_former_message() {
    let (dir, _server, client) = Server::start_own(&options(&[])).await;
    let objects = dir.data().join("objects");
    let thread_id = client.thread("app").await;
    let file = image(file_ref::Location::Url(data_url(&png(8, 8, "cat"))));
    let picture = vec![part_of(part::Content::File(file))];
    let said = vec![with_parts(Role::User, picture.clone())];
    let appended = client.append(&thread_id, said).await;
    // A new message comes first: the former one comes back on a branch, with a new id.
    let former = &appended.messages[0].message_id;
    let first = Message {
        role: Role::User.into(),
        parts: recollect_tests::say(Role::User, "Look.").parts,
        ..Default::default()
    };
    let second = Message {
        message_id: former.clone(),
        role: Role::User.into(),
        parts: picture,
        ..Default::default()
    };
    let put = PutWorkingMemoryRequest {
        thread: by_id(&thread_id),
        messages: vec![first, second],
        ..Default::default()
    };
    let put = client.call(put).await;
    assert!(put.branched);
    let renewed = put.working_memory.unwrap().messages.remove(1);
    assert_ne!(renewed.message_id, *former);
    let Some(part::Content::File(file)) = &renewed.parts[0].content else {
        panic!("{renewed:?}")
    };
    let request = GetFileContentRequest {
        url: url_of(file).to_owned(),
    };
    client.delete_message(&thread_id, former).await;
    assert_eq!(client.call(request.clone()).await.content, png(8, 8, "cat"));
    client.delete_message(&thread_id, &renewed.message_id).await;
    client
        .refused(request)
        .await
        .is(Code::NotFound, "FILE_NOT_FOUND");
    eventually("the object is erased", SOON, async || {
        contents_in(&objects).is_empty()
    })
    .await;
}

#[apply(trial_with_own_server)]
async fn content_of_a_refused_node_turn_is_erased() {
    let (dir, _server, client) = Server::start_own(&options(&[])).await;
    let objects = dir.data().join("objects");
    let node = node(&client.thread("app").await, "llm");
    let turn = |end: &str| AddNodeTurnRequest {
        node: Some(node.clone()),
        user: Some(NodeMessageInput {
            message_id: "question".to_owned(),
            content: "What is this?".to_owned(),
            files: vec![image(file_ref::Location::Url(data_url(&png(8, 8, end))))],
            ..Default::default()
        }),
        assistant: Some(NodeMessageInput {
            content: "A cat.".to_owned(),
            ..Default::default()
        }),
        ..Default::default()
    };
    client.call(turn("cat")).await;
    let kept = contents_in(&objects);
    assert_eq!(kept.len(), 1);
    let refused = client.refused(turn("dog")).await;
    assert_eq!(refused.code, Code::AlreadyExists, "{refused:?}");
    eventually("the object is erased", SOON, async || {
        contents_in(&objects) == kept
    })
    .await;
}

#[apply(trial)]
async fn j02_an_image_that_a_tool_returns_is_in_the_next_prompt_with_its_call() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let plot = data_url(&png(512, 512, "plot"));
    let url = "https://example.org/plot.png";
    let output = [plot.clone(), url.to_owned()].map(|url| {
        let file = image(file_ref::Location::Url(url));
        tool_result_part::Content::File(file).into()
    });
    let result = ToolResult {
        tool_call_id: "call_1".to_owned(),
        name: "plot".to_owned(),
        content: output.to_vec(),
        is_error: false,
    };
    let said = vec![
        recollect_tests::say(Role::User, "Plot the sales of May."),
        tool_call("call_1", "plot", json!({"month": 5})),
        with_parts(Role::Tool, vec![part_of(part::Content::ToolResult(result))]),
    ];
    client.append(&thread_id, said).await;
    let request = BuildContextRequest {
        policy: Some(mode(MemoryMode::Window)),
        formats: FORMATS.map(i32::from).to_vec(),
        max_tokens: None,
        ..context_request(&thread_id, "What does it show?")
    };
    let context = client.context(request.clone()).await;
    assert_eq!(context.max_tokens, 32_000);

    let openai = chat_messages(&context);
    assert_eq!(openai[1]["tool_calls"][0]["id"], "call_1");
    assert_eq!(openai[2]["role"], "tool");
    assert_eq!(openai[2]["tool_call_id"], "call_1");
    let images = |content: &Value| -> Vec<String> {
        let parts = content.as_array().unwrap().iter();
        let url = |part: &Value| Some(part["image_url"]["url"].as_str()?.to_owned());
        parts.filter_map(url).collect()
    };
    assert_eq!(openai[3]["role"], "user");
    assert_eq!(images(&openai[3]["content"]), [plot.as_str(), url]);

    let anthropic = body_json(&context, ProviderFormat::AnthropicMessages);
    let result = &anthropic["messages"][2]["content"][0];
    assert_eq!(
        (&result["type"], &result["tool_use_id"]),
        (&json!("tool_result"), &json!("call_1"))
    );
    assert_eq!(result["content"][0]["source"]["type"], "base64");
    let by_url = json!({"type": "image", "source": {"type": "url", "url": url}});
    assert_eq!(result["content"][1], by_url);

    let gemini = body_json(&context, ProviderFormat::Gemini);
    let parts = &gemini["contents"][2]["parts"];
    assert_eq!(parts[0]["functionResponse"]["name"], "plot");
    assert_eq!(parts[1]["inlineData"]["mimeType"], "image/png");
    // One of 512 × 512 pixels, and one of unknown size.
    let messages = &block(&context, Kind::Recent).unwrap().messages;
    assert!(messages[2].token_count >= 255 + 765, "{messages:?}");

    let request = BuildContextRequest {
        policy: Some(documents_only(MemoryMode::Window)),
        ..request
    };
    let context = client.context(request).await;
    check_words(&context, 2);
    let messages = &block(&context, Kind::Recent).unwrap().messages;
    assert!((6..40).contains(&messages[2].token_count), "{messages:?}");
}

#[apply(trial)]
async fn j06_a_history_with_images_stays_within_its_budget_as_the_provider_counts() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    for number in 0..12 {
        let file = image(file_ref::Location::Url(data_url(&png(
            640,
            480,
            &number.to_string(),
        ))));
        let question = vec![
            part_of(part::Content::File(file)),
            part_of(part::Content::Text(format!("Who is in photo {number}?"))),
        ];
        let answer = recollect_tests::say(Role::Assistant, "The dog called Pixel.");
        let turn = vec![with_parts(Role::User, question), answer];
        client.append(&thread_id, turn).await;
    }
    for (model, of_image) in [
        ("gpt-4o", 425),
        ("claude-sonnet-4-5", 410),
        // 2 × 2 tiles of 320 pixels.
        ("gemini-2.5-pro", 1_032),
    ] {
        let request = GetHistoryRequest {
            max_tokens: None,
            model: model.to_owned(),
            ..history_request(&thread_id)
        };
        let history = client.call(request).await;
        let turns = i32::try_from(history.messages.len() / 2).unwrap();
        // Message.token_count is GPT-4o's.
        let stored: i32 = history.messages.iter().map(|one| one.token_count).sum();
        assert!(stored > turns * 425);
        let counted = stored + turns * (of_image - 425);
        assert_eq!(history.total_tokens, counted, "{model}");
        assert!(counted <= 2_000, "{model}: {counted}");
        assert!(history.truncated);
        // No turn was left out that fits.
        assert!(
            counted + counted / turns > 2_000,
            "{model}: {counted} in {turns} turns"
        );
    }
}
