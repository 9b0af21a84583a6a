//! A user of working memory in the manner of Redis: a window that fills, and its settings.

use std::collections::HashSet;

use memory_contract::proto::{
    AppendMessagesRequest, BuildContextRequest, BuildContextResponse, ContextBlockKind as Kind,
    EffectivePolicy, GetEffectivePolicyRequest, GetWorkingMemoryRequest, ListMessagesRequest,
    MemoryMode, MemoryPolicy, Message, MessageInput, PolicyLevel, PutWorkingMemoryRequest,
    RecallRequest, RecallResponse, Role, SearchRequest, SessionRef, WorkingMemory,
};
use recollect_tests::{
    Client, DataDir, Options, SOON, Server, app, apply, block, block_texts, by_session,
    check_context, context_request, cut, eventually, eventually_some, mode, say, seconds, session,
    target_session, texts, trial, trial_with_own_server, turn,
};

use crate::bulk;
use crate::distill::ledger::verify;

/// The window of the user's model.
const WINDOW: i64 = 128_000;

/// What a traveler and an agent say about one day of a journey: about 110 tokens.
fn day(number: usize) -> Vec<MessageInput> {
    const TOWNS: [&str; 7] = [
        "Bergen", "Uppsala", "Aarhus", "Turku", "Tartu", "Gdansk", "Lund",
    ];
    let (town, booking) = (TOWNS[number % TOWNS.len()], 40_000 + number * 37);
    turn(
        &format!(
            "For day {number} we would like to see {town}. We like small museums, slow trains \
             and early mornings, and booking {booking} must stay as it is. What do you suggest?"
        ),
        &format!(
            "On day {number} take the train at {}:{:02} to {town}, visit the museum by the \
             harbor before noon, and keep booking {booking}. A table for {} is reserved nearby; \
             ask for the window seat, and carry coins for the lockers.",
            6 + number % 4,
            number % 60,
            2 + number % 5
        ),
    )
}

async fn working(client: &Client, session: &SessionRef) -> WorkingMemory {
    let request = GetWorkingMemoryRequest {
        thread: by_session(session.clone()),
        model: "gpt-4o".to_owned(),
    };
    client.call(request).await.working_memory.unwrap()
}

/// The memory prompt: nothing is set but the mode.
async fn prompt(client: &Client, session: &SessionRef) -> BuildContextResponse {
    let request = BuildContextRequest {
        thread: by_session(session.clone()),
        policy: Some(mode(MemoryMode::Working)),
        max_tokens: None,
        ..context_request("", "What is planned for the last day?")
    };
    let context = client.context(request).await;
    check_context(&context, i32::MAX);
    context
}

/// Checks that the percentages are those of the tokens in a window of 128,000.
fn check_percentages(memory: &WorkingMemory) {
    assert_eq!(i64::from(memory.context_window), WINDOW);
    let used = (memory.message_tokens + i64::from(memory.summary_tokens)) as f64;
    let check = |reported: f32, of: f64| {
        let right = (100.0 * used / of).min(100.0);
        assert!(
            (f64::from(reported) - right).abs() < 0.01,
            "{reported}, not {right}"
        );
    };
    check(memory.context_percentage_total_used, WINDOW as f64);
    check(
        memory.context_percentage_until_summarization,
        0.7 * WINDOW as f64,
    );
}

/// Checks that each message is in the prompt or covered by its summary. Returns how many
/// are covered.
async fn check_whole(client: &Client, session: &SessionRef, ids: &[String]) -> usize {
    let context = prompt(client, session).await;
    assert_eq!(context.max_tokens, 112_000);
    assert_eq!(cut(&context, Kind::Recent).item_count, 0);
    assert_eq!(cut(&context, Kind::Distilled).item_count, 0);
    let recent = block(&context, Kind::Recent).unwrap();
    let shown: Vec<&String> = recent.messages.iter().map(|one| &one.message_id).collect();
    let covered = ids.len() - shown.len();
    assert_eq!(shown, ids[covered..].iter().collect::<Vec<_>>());
    assert_eq!(block(&context, Kind::Distilled).is_some(), covered > 0);
    // Coverage only grows, so a later answer covers no less.
    let memory = working(client, session).await;
    assert!(memory.summarized_message_count >= covered as i64);
    covered
}

#[apply(trial)]
async fn j08_a_session_passes_its_share_of_the_window_and_nothing_is_lost() {
    let client = bulk().await;
    let session = session(&app(), "ada", "session:journey");
    let (mut ids, mut tokens) = (Vec::new(), 0_i64);
    let append = async |messages: Vec<MessageInput>| {
        let request = AppendMessagesRequest {
            thread: by_session(session.clone()),
            messages,
            ..Default::default()
        };
        client.call(request).await
    };
    let mut thread_id = String::new();
    // 2,000 messages, 100 at a time.
    for days in 0..20 {
        let mut said: Vec<_> = (days * 50..days * 50 + 50).flat_map(day).collect();
        if days == 0 {
            said[6] = say(Role::User, "My grandmother's ring lies in locker Zanzibar.");
        }
        let stored = append(said).await;
        tokens += stored
            .messages
            .iter()
            .map(|one| i64::from(one.token_count))
            .sum::<i64>();
        ids.extend(stored.messages.into_iter().map(|one| one.message_id));
        thread_id = stored.thread_id;
        let memory = working(&client, &session).await;
        check_percentages(&memory);
        if memory.summarized_message_count == 0 {
            // All of them count, also those that the answer has no room for.
            assert_eq!(memory.message_tokens, tokens);
            let listed = memory.messages.len() as i64 + memory.omitted_message_count;
            assert_eq!(listed, ids.len() as i64);
        }
        check_whole(&client, &session, &ids).await;
    }
    assert_eq!(ids.len(), 2_000);
    assert!(tokens > WINDOW * 7 / 10, "{tokens}");

    let memory = eventually_some("older turns are summarized", SOON, async || {
        let memory = working(&client, &session).await;
        check_percentages(&memory);
        let until = memory.context_percentage_until_summarization;
        (memory.summarized_message_count > 0 && until < 100.0).then_some(memory)
    })
    .await;
    assert!(!memory.summary.is_empty() && memory.summary_tokens <= 2_000);
    let covered = check_whole(&client, &session, &ids).await;
    assert!(covered > 500, "{covered}");
    assert!(verify(&client, &thread_id).await.ok);

    // What was summarized stays readable and is found.
    let listed = ListMessagesRequest {
        target: target_session(session.clone()),
        page_size: 500,
        ..Default::default()
    };
    let listed = client.list(listed).await;
    let listed: Vec<&String> = listed.iter().map(|one| &one.message_id).collect();
    assert_eq!(listed, ids.iter().collect::<Vec<_>>());
    let request = SearchRequest {
        target: target_session(session.clone()),
        query: "Where is my grandmother's ring?".to_owned(),
        ..Default::default()
    };
    let found = texts(&client.call(request).await.matches);
    assert!(found[0].contains("Zanzibar"), "{found:?}");
}

/// The thresholds, the extraction, the rebuilding and top-k of a server, as its
/// environment sets them.
fn environment() -> Options {
    [
        ("MODE", "working"),
        ("CONTEXT_WINDOW", "4000"),
        ("SUMMARIZATION_THRESHOLD", "0.5"),
        ("EXTRACTION", "discrete"),
        ("REBUILD_EXPIRED", "true"),
        ("TOP_K", "2"),
        ("CONTEXT_TOKENS", "3000"),
        ("TTL", "30d"),
    ]
    .into_iter()
    .fold(
        Options::with(&[
            "embedding.kind = \"none\"",
            "worker.distill.quiet = \"50ms\"",
        ]),
        |options, (name, value)| options.env(&format!("RECOLLECT_POLICY__{name}"), value),
    )
}

async fn effective(client: &Client, session: &SessionRef) -> EffectivePolicy {
    let request = GetEffectivePolicyRequest {
        target: target_session(session.clone()),
        ..Default::default()
    };
    client.call(request).await.effective_policy.unwrap()
}

#[apply(trial_with_own_server)]
async fn j10_thresholds_extraction_and_top_k_are_set_once_for_the_server() {
    let (_dir, _server, client) = Server::start_own(&environment()).await;
    let app = app();
    let chat = session(&app, "ada", "session:chat");
    let policy = effective(&client, &chat).await;
    let levels: HashSet<PolicyLevel> = policy.origins.iter().map(|one| one.level()).collect();
    assert_eq!(levels, [PolicyLevel::Server].into());
    assert_eq!(policy.origins.len(), 8, "{policy:?}");
    let values = policy.policy.unwrap();
    assert_eq!((values.mode(), values.top_k()), (MemoryMode::Working, 2));
    assert_eq!(values.context_tokens, Some(3_000));

    // Half of a window of 4,000 tokens is passed: older turns are summarized.
    let mut said = turn("I am allergic to peanuts.", "Noted.");
    said.extend((0..26).flat_map(day));
    let request = AppendMessagesRequest {
        thread: by_session(chat.clone()),
        messages: said,
        ..Default::default()
    };
    client.call(request).await;
    let thread = client.resolve(chat.clone()).await;
    assert!(thread.expire_time.is_some(), "{thread:?}");
    let unnamed = GetWorkingMemoryRequest {
        thread: by_session(chat.clone()),
        ..Default::default()
    };
    let memory = eventually_some("older turns are summarized", SOON, async || {
        let memory = client.call(unnamed.clone()).await.working_memory.unwrap();
        (memory.summarized_message_count > 0).then_some(memory)
    })
    .await;
    assert_eq!(memory.context_window, 4_000);
    let context = BuildContextRequest {
        thread: by_session(chat.clone()),
        max_tokens: None,
        ..context_request("", "What did we plan?")
    };
    let context = client.context(context).await;
    assert_eq!(context.max_tokens, 3_000);
    assert!(block(&context, Kind::Distilled).is_some());

    // Facts are extracted, and found in another session.
    eventually("the allergy is known elsewhere", SOON, async || {
        let elsewhere = BuildContextRequest {
            thread: by_session(session(&app, "ada", "session:later")),
            max_tokens: None,
            ..context_request("", "Which food should I avoid, peanuts?")
        };
        let context = client.context(elsewhere).await;
        let known = block_texts(&context, Kind::Memories);
        known.iter().any(|text| text.contains("peanuts"))
    })
    .await;

    // An expired session is rebuilt from its messages.
    let short = session(&app, "ada", "session:short");
    let put = PutWorkingMemoryRequest {
        thread: by_session(short.clone()),
        messages: day(1)
            .into_iter()
            .map(|one| Message {
                role: one.role,
                parts: one.parts,
                ..Default::default()
            })
            .collect(),
        ttl: Some(seconds(1)),
        ..Default::default()
    };
    client.call(put).await;
    let expired = GetWorkingMemoryRequest {
        thread: by_session(short.clone()),
        ..Default::default()
    };
    let rebuilt = eventually_some("the session is rebuilt", SOON, async || {
        let found = client.call(expired.clone()).await;
        found.rebuilt.then_some(found.working_memory.unwrap())
    })
    .await;
    assert_eq!(rebuilt.messages.len(), 2);

    // At most two matches, and an app may ask for others.
    let recall = RecallRequest {
        target: target_session(chat.clone()),
        query: "Which museum is by the harbor?".to_owned(),
        policy: Some(mode(MemoryMode::Hybrid)),
        ..Default::default()
    };
    let found = client.call(recall.clone()).await;
    let matches = |found: &RecallResponse| found.messages.iter().filter(|one| one.rank > 0).count();
    assert_eq!(matches(&found), 2);
    let own = MemoryPolicy {
        top_k: Some(1),
        ..Default::default()
    };
    client.set_policy(&app, own).await;
    let found = client.call(recall).await;
    assert_eq!(matches(&found), 1);
    let policy = effective(&client, &chat).await;
    let top_k = policy.origins.iter().find(|one| one.field == "top_k");
    assert_eq!(top_k.unwrap().level(), PolicyLevel::App);
}

#[apply(trial_with_own_server)]
async fn j10_a_wrong_default_stops_the_start_and_is_named() {
    let options = Options::default().env("RECOLLECT_POLICY__TOP_K", "1000");
    let problem = Server::try_start(&DataDir::new(), &options).err().unwrap();
    for part in ["policy.top_k", "RECOLLECT_POLICY__TOP_K", "0 to 100"] {
        assert!(problem.contains(part), "{problem}");
    }
}
