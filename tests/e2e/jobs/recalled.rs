//! What is found again: days of users of Redis, Langflow, Tensorify, and of any agent.

use std::time::{SystemTime, UNIX_EPOCH};

use memory_contract::proto::{
    AppendMessagesRequest, BuildContextRequest, BuildContextResponse, ContextBlockKind as Kind,
    GetHistoryRequest, MemoryFilter, MemoryInput, MemoryMode, MemoryPolicy, Message, MessageInput,
    ProviderFormat, PutWorkingMemoryRequest, RecallRequest, Role, SearchMemoriesRequest,
    SearchRequest, SessionRef,
};
use prost_types::Timestamp;
use recollect_tests::{
    Client, Cluster, DataDir, Key, Options, Qdrant, Server, app, apply, block, block_texts, body,
    by_session, check_context, context_request, free_addr, kinds, known_texts, memory, metadata,
    mode, parsed, quoted_texts, records, say, search_request, session, target_session, target_user,
    texts, trial, trial_with_own_server, turn,
};
use serde_json::json;

use crate::acme;
use crate::recall::qdrant::{index_ready, role};

/// Appends to a session, which may not exist yet; the thread's id and the revision.
async fn append(
    client: &Client,
    session: &SessionRef,
    messages: Vec<MessageInput>,
) -> (String, String) {
    let request = AppendMessagesRequest {
        thread: by_session(session.clone()),
        messages,
        ..Default::default()
    };
    let stored = client.call(request).await;
    (stored.thread_id, stored.revision)
}

/// A context of a session for a question. Only the policy is set, if any.
async fn asked(
    client: &Client,
    session: &SessionRef,
    policy: Option<MemoryPolicy>,
    question: &str,
) -> BuildContextResponse {
    let request = BuildContextRequest {
        thread: by_session(session.clone()),
        system_prompt: "You help people on their journeys.".to_owned(),
        policy,
        max_tokens: None,
        formats: vec![
            ProviderFormat::OpenaiChat.into(),
            ProviderFormat::AnthropicMessages.into(),
        ],
        ..context_request("", question)
    };
    let context = client.context(request).await;
    check_context(&context, i32::MAX);
    assert_eq!(context.degradations, []);
    context
}

/// What was said in a session some days ago.
fn long_ago(days: i64, messages: Vec<MessageInput>) -> Vec<MessageInput> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    let now = i64::try_from(now.as_secs()).unwrap();
    let at = |index: i64| Timestamp {
        seconds: now - days * 86_400 + index * 30,
        nanos: 0,
    };
    let said = (0..).zip(messages).map(|(index, message)| MessageInput {
        create_time: Some(at(index)),
        ..message
    });
    said.collect()
}

/// Small talk of a session in which nothing is planted.
fn small_talk(session: usize, turns: usize) -> Vec<MessageInput> {
    const THINGS: [&str; 6] = ["invoice", "meeting", "printer", "lunch", "report", "backup"];
    let said = (0..turns).map(|number| {
        let thing = THINGS[(session + number) % THINGS.len()];
        let code = session * 1_000 + number;
        turn(
            &format!("Please note that {thing} number {code} is done."),
            &format!("I have noted that the {thing} with number {code} is done."),
        )
    });
    said.collect::<Vec<_>>().concat()
}

const SEAT: &str = "On the night train I always take seat 61 by the window.";

#[apply(trial)]
async fn j11_the_memory_prompt_has_working_memory_and_what_search_finds_in_one_call() {
    let client = acme().await;
    let app = app();
    let earlier = session(&app, "ada", "session:trip-1");
    let said = [
        turn("Which train leaves at ten?", "The night train to Narvik."),
        turn(SEAT, "I will remember that you like seat 61."),
    ];
    append(&client, &earlier, long_ago(40, said.concat())).await;
    let fact = "Ada needs a train with a place for her wheelchair.";
    client.remember(&app, "ada", vec![memory(fact)]).await;
    // Another user's session is about the same.
    let bobs = session(&app, "bob", "session:trip-1");
    let other = "On the night train I always take seat 12.";
    append(&client, &bobs, vec![say(Role::User, other)]).await;

    let today = session(&app, "ada", "session:trip-2");
    let messages = turn("I am going to Narvik again.", "When do you leave?");
    let put = PutWorkingMemoryRequest {
        thread: by_session(today.clone()),
        messages: messages
            .into_iter()
            .map(|message| Message {
                role: message.role,
                parts: message.parts,
                ..Default::default()
            })
            .collect(),
        summary: Some("They plan a second journey to Narvik in May.".to_owned()),
        ..Default::default()
    };
    client.call(put).await;

    let working = Some(mode(MemoryMode::Working));
    let question = "Which seat should you book for me on the night train?";
    let prompt = asked(&client, &today, working, question).await;
    assert_eq!(
        kinds(&prompt),
        [
            Kind::System,
            Kind::Distilled,
            Kind::Recent,
            Kind::Memories,
            Kind::Recalled,
            Kind::Input
        ]
    );
    let planned = "They plan a second journey to Narvik in May.";
    let summary = json!({"record": "summary", "text": planned});
    assert_eq!(records(&prompt), [summary]);
    let recent = ["I am going to Narvik again.", "When do you leave?"];
    assert_eq!(block_texts(&prompt, Kind::Recent), recent);
    assert_eq!(known_texts(&prompt), [fact]);
    let quoted = quoted_texts(&prompt);
    assert!(quoted.contains(&SEAT.to_owned()), "{quoted:?}");
    assert!(!quoted.contains(&other.to_owned()), "{quoted:?}");
    // Nothing is there twice, and each format has all of it.
    assert!(
        recent
            .iter()
            .all(|text| !quoted.contains(&(*text).to_owned()))
    );
    for format in [
        ProviderFormat::OpenaiChat,
        ProviderFormat::AnthropicMessages,
    ] {
        for text in [
            planned,
            recent[0],
            "place for her wheelchair",
            "seat 61",
            question,
        ] {
            assert!(body(&prompt, format).contains(text), "{format:?}: {text}");
        }
    }
    // The next question changes only what follows the messages.
    let working = Some(mode(MemoryMode::Working));
    let next = asked(&client, &today, working, "What do I travel with?").await;
    for kind in [Kind::System, Kind::Distilled, Kind::Recent] {
        let hash = |context| block(context, kind).unwrap().hash.clone();
        assert_eq!(hash(&prompt), hash(&next), "{kind:?}");
    }
}

#[apply(trial_with_own_server)]
async fn j12_a_memory_with_metadata_is_found_in_another_session_through_another_process() {
    let qdrant = Qdrant::new();
    let (_cluster, url) = Cluster::migrated().await;
    let dirs = [DataDir::new(), DataDir::new(), DataDir::new()];
    let one = Server::start(&dirs[0], &role("serve", &url, &qdrant));
    let two = Server::start(&dirs[1], &role("serve", &url, &qdrant));
    let _worker = Server::start(&dirs[2], &role("worker", &url, &qdrant));
    let (one, two) = (one.client(Key::Acme).await, two.client(Key::Acme).await);
    index_ready(&two).await;
    let (app, user) = ("trips", "01JD8YQ6W0V5J8M4Q2Z7N3C1XK");
    let (first, second) = (
        session(app, user, "session:01JD8YR1T6"),
        session(app, user, "session:01JD8YR9ZP"),
    );
    let said = turn("I cannot eat nuts.", "I will keep that in mind.");
    append(&one, &first, said).await;
    let input = |text: &str, source: &str| MemoryInput {
        metadata: metadata(json!({"source": source, "tier": 2})),
        topics: vec!["food".to_owned()],
        ..memory(text)
    };
    let fact = "Is allergic to walnuts and hazelnuts.";
    let memories = vec![input(fact, "form"), input("Likes to eat late.", "chat")];
    one.remember(app, user, memories).await;

    // With and without a filter, at once.
    let search = SearchMemoriesRequest {
        target: target_user(app, user),
        query: "What is the guest allergic to?".to_owned(),
        filter: Some(MemoryFilter {
            metadata: metadata(json!({"source": "form"})),
            ..Default::default()
        }),
        ..Default::default()
    };
    let found = two.search_memories(search).await;
    assert_eq!(found.degradations, []);
    assert_eq!(found.memories.len(), 1, "{found:?}");
    let stored = found.memories[0].memory.as_ref().unwrap();
    assert_eq!(stored.text, fact);
    assert_eq!(stored.topics, ["food"]);
    let expected = json!({"source": "form", "tier": 2});
    assert_eq!(parsed(&stored.metadata), expected);
    let context = asked(
        &two,
        &second,
        None,
        "Book a table, and mind what I am allergic to.",
    )
    .await;
    assert!(known_texts(&context).contains(&fact.to_owned()));
}

#[apply(trial_with_own_server)]
async fn j20_history_is_stored_and_read_with_no_model_and_no_index() {
    let dir = DataDir::new();
    let url = format!("index.url = \"http://{}\"", free_addr());
    let lines = [
        "index.backend = \"qdrant\"",
        &url,
        "embedding.kind = \"none\"",
    ];
    let server = Server::start(&dir, &Options::with(&lines));
    let client = server.client(Key::Acme).await;
    let chat = session("flow", "ada", "session:b7c1");
    let mut said = Vec::new();
    for number in 0..60 {
        let (question, answer) = (format!("Question {number}?"), format!("Answer {number}."));
        append(&client, &chat, turn(&question, &answer)).await;
        said.extend([question, answer]);
        let request = GetHistoryRequest {
            thread: by_session(chat.clone()),
            ..Default::default()
        };
        let history = client.call(request).await;
        // 100 messages by default.
        let newest = said.len().saturating_sub(100);
        assert_eq!(texts(&history.messages), said[newest..]);
    }
    // It is the same after a restart.
    assert!(server.stop().await.success());
    let server = Server::start(&dir, &Options::with(&lines));
    let client = server.client(Key::Acme).await;
    let request = GetHistoryRequest {
        thread: by_session(chat),
        max_messages: Some(500),
        ..Default::default()
    };
    assert_eq!(texts(&client.call(request).await.messages), said);
}

#[apply(trial)]
async fn j21_a_user_who_comes_back_weeks_later_is_remembered_in_a_new_session() {
    let client = acme().await;
    let app = app();
    let planted = "My daughter Ines starts school in Porto in September.";
    let mut written = Vec::new();
    for number in 0..6 {
        let key = format!("session:{}", uuid::Uuid::new_v4());
        let chat = session(&app, "ada", &key);
        let mut said = small_talk(number, 20);
        if number == 2 {
            let answer = "How exciting, I wish her a good start!";
            said.extend(turn(planted, answer));
        }
        said.extend(small_talk(number + 10, 30));
        let days = 60 - i64::try_from(number).unwrap();
        let said = long_ago(days, said);
        for part in said.chunks(50) {
            let stored = append(&client, &chat, part.to_vec()).await;
            written.push(stored);
        }
    }
    // Weeks later everything is in the index.
    for (thread_id, revision) in written {
        let search = search_request(&thread_id, "school", &revision);
        assert_eq!(client.search(search).await.degradations, []);
    }
    let today = session(&app, "ada", "session:today");
    let context = asked(&client, &today, None, "Where will Ines go to school?").await;
    let policy = context.effective_policy.as_ref().unwrap();
    assert_eq!(policy.origins, [], "nothing is set");
    assert_eq!(policy.policy.as_ref().unwrap().mode(), MemoryMode::Hybrid);
    let quoted = quoted_texts(&context);
    assert!(quoted.contains(&planted.to_owned()), "{quoted:?}");
    // The turn around it comes along.
    let answer = "How exciting, I wish her a good start!";
    assert!(quoted.contains(&answer.to_owned()), "{quoted:?}");
    // The conversation goes on, and still finds it.
    let said = turn("Good morning!", "Good morning, Ada.");
    append(&client, &today, said).await;
    let context = asked(&client, &today, None, "Which month does Ines start?").await;
    assert!(quoted_texts(&context).contains(&planted.to_owned()));
    assert_eq!(block_texts(&context, Kind::Recent).len(), 2);
    // Another user of the app does not.
    let stranger = session(&app, "bob", "session:today");
    let context = asked(&client, &stranger, None, "Where will Ines go to school?").await;
    assert_eq!(kinds(&context), [Kind::System, Kind::Input]);
}

#[apply(trial)]
async fn j23_two_workflows_share_a_memory_space_and_nothing_else() {
    let client = acme().await;
    let (sales, support) = (app(), app());
    let space = Some(format!("space-{sales}"));
    let of_sales = MemoryPolicy {
        memory_space: space.clone(),
        mode: MemoryMode::Window.into(),
        window_size: Some(6),
        ..Default::default()
    };
    let of_support = MemoryPolicy {
        memory_space: space,
        ..Default::default()
    };
    client.set_policy(&sales, of_sales).await;
    client.set_policy(&support, of_support).await;
    let key = "session:chat";
    let (bought, helped) = (session(&sales, "ada", key), session(&support, "ada", key));
    let planted = "I ordered the blue bicycle with the low frame.";
    let said = [turn(planted, "Good choice!"), small_talk(1, 8)].concat();
    append(&client, &bought, said).await;
    let fact = "Ada is 1.58 m tall.";
    client.remember(&sales, "ada", vec![memory(fact)]).await;
    let bobs = session(&sales, "bob", key);
    let other = "I ordered the red bicycle.";
    append(&client, &bobs, vec![say(Role::User, other)]).await;

    // Support knows what was said and is known in sales, of the same user alone.
    let question = "Which bicycle did I order, and how tall am I?";
    let context = asked(&client, &helped, None, question).await;
    let quoted = quoted_texts(&context);
    assert!(quoted.contains(&planted.to_owned()), "{quoted:?}");
    assert!(!quoted.contains(&other.to_owned()), "{quoted:?}");
    assert_eq!(known_texts(&context), [fact]);
    // Its session with the same key is its own and empty, its window and policy, too.
    assert!(block(&context, Kind::Recent).is_none());
    append(&client, &helped, turn("The brake squeaks.", "Which one?")).await;
    let context = asked(&client, &helped, None, "The front one.").await;
    let recent = ["The brake squeaks.", "Which one?"];
    assert_eq!(block_texts(&context, Kind::Recent), recent);
    let policy = |context: &BuildContextResponse| {
        let effective = context.effective_policy.clone().unwrap();
        effective.policy.unwrap()
    };
    assert_eq!(policy(&context).mode(), MemoryMode::Hybrid);
    assert_eq!(policy(&context).window_size(), 20);
    let context = asked(&client, &bought, None, "And now?").await;
    assert_eq!(policy(&context).mode(), MemoryMode::Window);
    let window = block_texts(&context, Kind::Recent);
    assert_eq!(window.len(), 6);
    assert!(
        window.iter().all(|text| text.contains("done")),
        "{window:?}"
    );
}

#[apply(trial)]
async fn j24_what_was_just_said_is_found_by_the_next_call_with_no_token() {
    let client = acme().await;
    let app = app();
    for number in 0..8 {
        let chat = session(&app, "ada", &format!("session:{number}"));
        let said = format!("The code of locker {number} is {}.", 7_000 + number * 13);
        let noted = turn(&said, "I have noted it.");
        append(&client, &chat, [noted, small_talk(number, 3)].concat()).await;
        // In the next call, from the same session and from a new one.
        let question = format!("What is the code of locker {number}?");
        let fresh = session(&app, "ada", &format!("session:new-{number}"));
        for chat in [&chat, &fresh] {
            let recall = RecallRequest {
                target: target_session(chat.clone()),
                query: question.clone(),
                ..Default::default()
            };
            let found = client.recall(recall).await;
            assert_eq!(found.degradations, []);
            assert!(
                texts(&found.messages).contains(&said),
                "{number}: {found:?}"
            );
            let search = SearchRequest {
                target: target_session(chat.clone()),
                query: question.clone(),
                ..Default::default()
            };
            let found = client.search(search).await;
            assert!(texts(&found.matches).contains(&said), "{number}: {found:?}");
            let context = asked(&client, chat, None, &question).await;
            let quoted = quoted_texts(&context);
            assert!(quoted.contains(&said), "{number}: {quoted:?}");
        }
        let fact = format!("Keeps a spare key in locker {number}.");
        client.remember(&app, "ada", vec![memory(&fact)]).await;
        let search = SearchMemoriesRequest {
            target: target_user(&app, "ada"),
            query: format!("What is in locker {number}?"),
            ..Default::default()
        };
        let found = client.search_memories(search).await;
        let found = recollect_tests::memory_texts(&found);
        assert!(found.contains(&fact), "{number}: {found:?}");
    }
}
