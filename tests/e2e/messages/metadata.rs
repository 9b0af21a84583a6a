//! Metadata is JSON text: it is returned as it was given, and filters compare it exactly.

use memory_contract::proto::{
    ListMemoriesRequest, ListMessagesRequest, ListThreadsRequest, MemoryFilter, MemoryInput,
    MessageFilter, MessageInput, PutPlanRequest, PutWorkingMemoryRequest, ResolveThreadRequest,
    Role, SearchMemoriesRequest, SearchRequest, UpdateThreadRequest,
};
use recollect_tests::{
    Client, Failure, app, apply, by_id, fresh_from, mask, memory, memory_search, memory_texts,
    parsed, plan, put_any, say, search_request, session, target_app, target_thread, target_user,
    texts, trial,
};
use serde_json::{Value, json};
use tonic::Code;

use crate::plain;

/// Two ids of 19 digits that differ in the last digit, which a double cannot hold apart.
const IDS: [&str; 2] = ["1234567890123456787", "1234567890123456788"];
/// Keys that are no identifiers.
const KEYS: [&str; 8] = [
    "a b",
    "a.b",
    "\"quoted\"",
    "größe",
    "ключ",
    "a\\b",
    "$.a[0]",
    "'; DROP TABLE messages; --",
];

/// Messages, a thread, and a memory for each of some metadata, in one app.
struct Stored {
    client: Client,
    app: String,
    thread: String,
    /// The revisions of the messages and of the memories.
    revisions: [String; 2],
}

impl Stored {
    async fn new(all: &[String]) -> Self {
        let (client, app) = (plain().await, app());
        let said = all
            .iter()
            .enumerate()
            .map(|(number, metadata)| MessageInput {
                metadata: metadata.clone(),
                ..say(Role::User, &format!("Harbor {number}"))
            });
        let thread = client.thread(&app).await;
        let stored = client.append(&thread, said.collect()).await;
        for (number, metadata) in all.iter().enumerate() {
            let request = ResolveThreadRequest {
                session: Some(session(&app, "ada", &format!("with {number}"))),
                metadata: metadata.clone(),
                ..Default::default()
            };
            client.call(request).await;
        }
        let known = all
            .iter()
            .enumerate()
            .map(|(number, metadata)| MemoryInput {
                metadata: metadata.clone(),
                ..memory(&format!("Harbor {number}"))
            });
        let known = client.remember(&app, "ada", known.collect()).await;
        Self {
            client,
            app,
            thread,
            revisions: [stored.revision, known.revision],
        }
    }

    /// The numbers of what a filter selects, which is the same in every list and search.
    async fn matching(&self, filter: &str) -> Vec<usize> {
        let number = |text: String| -> usize { text.split_once(' ').unwrap().1.parse().unwrap() };
        let sorted = |texts: Vec<String>| {
            let mut numbers: Vec<usize> = texts.into_iter().map(number).collect();
            numbers.sort_unstable();
            numbers
        };
        let of_messages = MessageFilter {
            metadata: filter.to_owned(),
            ..Default::default()
        };
        let of_memories = MemoryFilter {
            metadata: filter.to_owned(),
            ..Default::default()
        };
        let listed = |target| ListMessagesRequest {
            target,
            filter: Some(of_messages.clone()),
            ..Default::default()
        };
        let by_thread = self.client.list(listed(target_thread(&self.thread))).await;
        let by_app = self.client.list(listed(target_app(&self.app))).await;
        let search = SearchRequest {
            filter: Some(of_messages.clone()),
            top_k: Some(100),
            ..search_request(&self.thread, "harbor", &self.revisions[0])
        };
        let found = self.client.search(search).await;
        let unindexed = SearchRequest {
            filter: Some(of_messages),
            top_k: Some(100),
            freshness: None,
            ..search_request(&self.thread, "harbor", "")
        };
        let unindexed = self.client.search(unindexed).await;
        let threads = ListThreadsRequest {
            target: target_user(&self.app, "ada"),
            metadata: filter.to_owned(),
            ..Default::default()
        };
        let threads = self.client.call(threads).await.threads.into_iter();
        let threads = threads.map(|one| one.session_key);
        let memories = ListMemoriesRequest {
            target: target_user(&self.app, "ada"),
            filter: Some(of_memories.clone()),
            ..Default::default()
        };
        let memories = self.client.call(memories).await.memories.into_iter();
        let memories = memories.map(|one| one.text);
        let known = SearchMemoriesRequest {
            filter: Some(of_memories),
            top_k: Some(100),
            freshness: fresh_from(&self.revisions[1]),
            ..memory_search(&self.app, "ada", "harbor", "")
        };
        let known = self.client.search_memories(known).await;
        let ways = [
            ("ListMessages of a thread", sorted(texts(&by_thread))),
            ("ListMessages of an app", sorted(texts(&by_app))),
            ("Search", sorted(texts(&found.matches))),
            ("Search for the newest", sorted(texts(&unindexed.matches))),
            ("ListThreads", sorted(threads.collect())),
            ("ListMemories", sorted(memories.collect())),
            ("SearchMemories", sorted(memory_texts(&known))),
        ];
        let first = ways[0].1.clone();
        for (way, selected) in ways {
            assert_eq!(selected, first, "{way} by {filter}");
        }
        first
    }
}

#[apply(trial)]
async fn ids_that_differ_in_the_last_digit_stay_two() {
    let all: Vec<String> = IDS
        .into_iter()
        .map(|id| format!("{{\"order\": {id}, \"deep\": {{\"ids\": [{id}]}}}}"))
        .collect();
    let stored = Stored::new(&all).await;
    for (number, id) in IDS.into_iter().enumerate() {
        let filter = format!("{{\"order\": {id}}}");
        assert_eq!(stored.matching(&filter).await, [number]);
        let as_text = format!("{{\"order\": \"{id}\"}}");
        assert!(stored.matching(&as_text).await.is_empty());
    }
    // A neighbor of both is neither.
    let between = "{\"order\": 1234567890123456789}";
    assert!(stored.matching(between).await.is_empty());

    // They come back digit for digit.
    let messages = stored.client.all_messages(&stored.thread).await;
    for (message, id) in messages.iter().zip(IDS) {
        assert_eq!(message.metadata.matches(id).count(), 2, "{message:?}");
    }
    for memory in stored.client.all_memories(&stored.app, "ada").await {
        let number: usize = memory.text["Harbor ".len()..].parse().unwrap();
        assert_eq!(memory.metadata.matches(IDS[number]).count(), 2);
    }
}

#[apply(trial)]
async fn keys_of_filters_may_be_any_text() {
    let object = |key: &str, value: Value| json!({ key: value }).to_string();
    let all: Vec<String> = KEYS
        .into_iter()
        .map(|key| object(key, json!("x")))
        .collect();
    let stored = Stored::new(&all).await;
    for (number, key) in KEYS.into_iter().enumerate() {
        let found = stored.matching(&object(key, json!("x"))).await;
        assert_eq!(found, [number], "{key}");
        let other = stored.matching(&object(key, json!("y"))).await;
        assert!(other.is_empty(), "{key}");
    }
    // A key with a dot is no path.
    assert!(stored.matching(&object("a", json!("x"))).await.is_empty());
}

#[apply(trial)]
async fn values_of_filters_are_compared_with_their_types() {
    let all = [
        r#"{"v": 1}"#,
        r#"{"v": "1"}"#,
        r#"{"v": true}"#,
        r#"{"v": null}"#,
        r#"{"v": 1.5}"#,
        r#"{"v": "true"}"#,
        r#"{"w": 1}"#,
    ];
    let all = all.map(str::to_owned);
    let stored = Stored::new(&all).await;
    for (number, filter) in all.iter().enumerate() {
        assert_eq!(stored.matching(filter).await, [number], "{filter}");
    }
    let both = r#"{"v": 1, "w": 1}"#;
    assert!(stored.matching(both).await.is_empty());
}

#[apply(trial)]
async fn metadata_comes_back_as_it_was_given() {
    let client = plain().await;
    let thread_id = client.thread(&app()).await;
    let text = r#"{"z": 1.50, "a": [1e2, 12345678901234567890123, {"ß": "\u00e4"}], "b c": null}"#;
    let said = [text, "{}", ""].map(|metadata| MessageInput {
        metadata: metadata.to_owned(),
        ..say(Role::User, "Hello.")
    });
    client.append(&thread_id, said.to_vec()).await;
    let stored = client.all_messages(&thread_id).await;
    // Postgres writes numbers without exponents.
    assert_eq!(
        parsed(&stored[0].metadata),
        parsed(&text.replace("1e2", "100"))
    );
    for digits in ["1.50", "12345678901234567890123"] {
        assert!(stored[0].metadata.contains(digits), "{:?}", stored[0]);
    }
    // An empty object is no metadata.
    assert_eq!([&stored[1].metadata, &stored[2].metadata], ["", ""]);
}

/// Checks that metadata without a number where one is expected was refused, in words.
#[track_caller]
fn names_nan(refused: Failure, field: &str) {
    let refused = refused.is(Code::InvalidArgument, "INVALID_FIELD");
    assert_eq!(refused.field_names(), [field], "{refused:?}");
    assert!(refused.message.contains("NaN"), "{refused:?}");
    assert!(refused.fields[0].1.contains("NaN"), "{refused:?}");
}

#[apply(trial)]
async fn nan_in_metadata_is_refused_by_its_name() {
    let client = plain().await;
    let app = app();
    let thread_id = client.thread(&app).await;
    for text in [r#"{"a": NaN}"#, r#"{"a": [1, {"b": NaN}]}"#] {
        let nan = text.to_owned();
        let message = MessageInput {
            metadata: nan.clone(),
            ..say(Role::User, "Hello.")
        };
        let request = memory_contract::proto::AppendMessagesRequest {
            thread: by_id(&thread_id),
            messages: vec![message],
            ..Default::default()
        };
        names_nan(client.refused(request).await, "messages[0].metadata");
        let request = ResolveThreadRequest {
            session: Some(session(&app, "ada", "nan")),
            metadata: nan.clone(),
            ..Default::default()
        };
        names_nan(client.refused(request).await, "metadata");
        let mut thread = client.get_thread(&thread_id).await;
        thread.metadata = nan.clone();
        let request = UpdateThreadRequest {
            thread: Some(thread),
            update_mask: Some(mask(&["metadata"])),
            precondition: None,
        };
        names_nan(client.refused(request).await, "thread.metadata");
        let request = memory_contract::proto::AddMemoriesRequest {
            user: recollect_tests::of_user(&app, "ada"),
            memories: vec![MemoryInput {
                metadata: nan.clone(),
                ..memory("Likes tea.")
            }],
        };
        names_nan(client.refused(request).await, "memories[0].metadata");
        let mut wanted = plan("Go on", &["x"]);
        wanted.data = nan.clone();
        let request: PutPlanRequest = put_any(&thread_id, wanted);
        names_nan(client.refused(request).await, "plan.data");
        let request = PutWorkingMemoryRequest {
            thread: by_id(&thread_id),
            data: Some(nan.clone()),
            ..Default::default()
        };
        names_nan(client.refused(request).await, "data");
        let request = memory_contract::proto::UpdateWorkingMemoryDataRequest {
            thread: by_id(&thread_id),
            patch: nan.clone(),
            precondition: None,
        };
        names_nan(client.refused(request).await, "patch");
        let request = ListThreadsRequest {
            target: target_app(&app),
            metadata: nan.clone(),
            ..Default::default()
        };
        names_nan(client.refused(request).await, "metadata");
        let request = ListMessagesRequest {
            target: target_thread(&thread_id),
            filter: Some(MessageFilter {
                metadata: nan,
                ..Default::default()
            }),
            ..Default::default()
        };
        names_nan(client.refused(request).await, "filter.metadata");
    }
    // The word within a text is a text.
    let message = MessageInput {
        metadata: r#"{"NaN": "NaN"}"#.to_owned(),
        ..say(Role::User, "Hello.")
    };
    client.append(&thread_id, vec![message]).await;
    let stored = client.all_messages(&thread_id).await;
    assert_eq!(stored.len(), 1, "what is refused is not stored");
    assert_eq!(parsed(&stored[0].metadata), json!({"NaN": "NaN"}));
}
