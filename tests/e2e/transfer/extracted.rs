//! Extracted memories keep working after an import elsewhere.

use memory_contract::proto::{
    DeleteMemoryRequest, ExtractionStrategy, ImportMemoriesRequest, Memory, MemoryOrigin,
    MemoryPolicy, UserRef,
};
use recollect_tests::{
    Client, Key, PLAIN, SOON, app, apply, eventually_some, recollect_at, session, trial, turn,
};
use serde_json::json;
use uuid::Uuid;

use crate::plain;

/// Waits for a memory that holds and has these words.
async fn known(client: &Client, app: &str, words: &str) -> Memory {
    eventually_some(words, SOON, async || {
        let mut all = client.all_memories(app, "ada").await;
        all.retain(|memory| memory.valid_until.is_none());
        all.into_iter().find(|memory| memory.text.contains(words))
    })
    .await
}

#[apply(trial)]
async fn l12_the_summary_of_a_thread_continues_on_another_server() {
    let client = plain().await;
    let globex = PLAIN.client(Key::Globex).await;
    let app = app();
    let policy = MemoryPolicy {
        extraction: ExtractionStrategy::Summary.into(),
        ..Default::default()
    };
    client.set_policy(&app, policy).await;
    let of_ada = session(&app, "ada", "thread:1");
    let thread_id = client.resolve(of_ada.clone()).await.thread_id;
    let said = turn("We sail to Bergen in May.", "With a red boat.");
    client.append(&thread_id, said).await;
    let first = known(&client, &app, "Bergen").await;
    let strategy = first.extraction_strategy();
    assert_eq!(strategy, ExtractionStrategy::Summary);

    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("out.jsonl").display().to_string();
    let addr = &PLAIN.ready().addr;
    let args = ["export", "--app", &app, "--output", &file];
    recollect_at(addr, Key::Acme, &args).ok();
    let args = ["import", &file, "--json", "--no-wait"];
    let imported = recollect_at(addr, Key::Globex, &args).ok().json();
    assert_eq!(
        (&imported["memories"], &imported["checked"]),
        (&json!(1), &json!(true)),
        "{imported}"
    );
    let copy = globex.resolve(of_ada).await.thread_id;
    let moved = globex.all_memories(&app, "ada").await;
    assert_eq!(
        (&moved[0].thread_id, moved[0].extraction_strategy()),
        (&copy, strategy)
    );

    // New messages there extend the same summary.
    let said = turn("My sister plays the violin.", "Since when?");
    let said = globex.append(&copy, said).await;
    let second = known(&globex, &app, "violin").await;
    let all = globex.all_memories(&app, "ada").await;
    let links: Vec<(&str, &str)> = all
        .iter()
        .map(|memory| (memory.memory_id.as_str(), memory.superseded_by.as_str()))
        .collect();
    let [first, second] = [&first.memory_id, &second.memory_id].map(String::as_str);
    assert_eq!(links, [(second, ""), (first, second)]);

    // Only the second has the words of what was said here.
    globex
        .delete_message(&copy, &said.messages[0].message_id)
        .await;
    let left = globex.all_memories(&app, "ada").await;
    assert!(left.iter().any(|memory| memory.memory_id == first));
    for memory in &left {
        assert!(
            memory.memory_id != second && !memory.text.contains("violin"),
            "{left:?}"
        );
    }
    // Both may have the words of what was imported.
    let imported = globex.all_messages(&copy).await;
    globex.delete_message(&copy, &imported[0].message_id).await;
    let left = globex.all_memories(&app, "ada").await;
    for memory in &left {
        assert!(
            memory.memory_id != first && !memory.text.contains("Bergen"),
            "{left:?}"
        );
    }
}

#[apply(trial)]
async fn l12_only_what_an_imported_summary_covered_is_summarized_again() {
    let client = plain().await;
    let globex = PLAIN.client(Key::Globex).await;
    let app = app();
    let extract = async |client: &Client, strategy: ExtractionStrategy| {
        let policy = MemoryPolicy {
            extraction: strategy.into(),
            ..Default::default()
        };
        client.set_policy(&app, policy).await;
    };
    extract(&client, ExtractionStrategy::Summary).await;
    let of_ada = session(&app, "ada", "thread:1");
    let thread_id = client.resolve(of_ada.clone()).await.thread_id;
    let said = turn("We sail to Bergen in May.", "With a red boat.");
    client.append(&thread_id, said).await;
    known(&client, &app, "Bergen").await;
    extract(&client, ExtractionStrategy::Discrete).await;
    let said = turn("I live in Rome with two dogs.", "How nice.");
    client.append(&thread_id, said).await;
    let fact = known(&client, &app, "Rome").await;
    assert_eq!(fact.extraction_strategy(), ExtractionStrategy::Discrete);

    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("out.jsonl").display().to_string();
    let addr = &PLAIN.ready().addr;
    recollect_at(
        addr,
        Key::Acme,
        &["export", "--app", &app, "--output", &file],
    )
    .ok();
    recollect_at(addr, Key::Globex, &["import", &file, "--no-wait"]).ok();
    extract(&globex, ExtractionStrategy::Summary).await;
    let copy = globex.resolve(of_ada).await.thread_id;
    let imported = globex.all_messages(&copy).await;
    globex.delete_message(&copy, &imported[1].message_id).await;
    let again = known(&globex, &app, "We sail to Bergen in May.").await;
    assert_eq!(again.extraction_strategy(), ExtractionStrategy::Summary);
    for missing in ["red boat", "Rome", "How nice"] {
        assert!(!again.text.contains(missing), "{again:?}");
    }
    let all = globex.all_memories(&app, "ada").await;
    let summary = ExtractionStrategy::Summary;
    let summaries = all
        .iter()
        .filter(|memory| memory.extraction_strategy() == summary);
    assert_eq!(summaries.count(), 1, "{all:?}");
    assert!(all.iter().any(|memory| memory.text == fact.text), "{all:?}");
}

#[apply(trial)]
async fn what_an_imported_memory_was_built_on_takes_it_along() {
    let client = plain().await;
    let globex = PLAIN.client(Key::Globex).await;
    let app = app();
    let user = || {
        Some(UserRef {
            app_id: app.clone(),
            user_id: "ada".to_owned(),
        })
    };
    let extracted = |text: &str, built_on: &[&Memory]| Memory {
        memory_id: Uuid::new_v4().to_string(),
        text: text.to_owned(),
        origin: MemoryOrigin::Extracted.into(),
        built_on_memory_ids: built_on.iter().map(|one| one.memory_id.clone()).collect(),
        ..Default::default()
    };
    let [known, first] = ["Rex is a dog.", "Tom is a cat."].map(|text| extracted(text, &[]));
    let second = extracted("The vet knows Tom is a cat.", &[&first]);
    let third = extracted("The vet knows Tom and Rex.", &[&second, &known]);
    let other = extracted("Ada keeps bees.", &[]);
    let all = [&known, &first, &second, &third, &other].map(Clone::clone);
    let request = ImportMemoriesRequest {
        user: user(),
        memories: all.to_vec(),
    };
    client.call(request).await;
    // There the user has one of them with another id.
    let before = extracted("Rex is a dog.", &[]);
    let request = ImportMemoriesRequest {
        user: user(),
        memories: vec![before.clone()],
    };
    globex.call(request).await;

    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("out.jsonl").display().to_string();
    let addr = &PLAIN.ready().addr;
    recollect_at(
        addr,
        Key::Acme,
        &["export", "--app", &app, "--output", &file],
    )
    .ok();
    let exported = std::fs::read_to_string(&file).unwrap();
    assert!(exported.contains(&format!("\"builtOnMemoryIds\":[\"{}\"]", first.memory_id)));
    // It says that one memory was kept as it was.
    recollect_at(addr, Key::Globex, &["import", &file, "--json", "--no-wait"]);

    let texts = async || {
        let all = globex.all_memories(&app, "ada").await;
        let mut texts: Vec<String> = all.into_iter().map(|memory| memory.text).collect();
        texts.sort();
        texts
    };
    let five = texts().await;
    assert_eq!(five.len(), 5, "{five:?}");
    let delete = |memory: &Memory| DeleteMemoryRequest {
        memory_id: memory.memory_id.clone(),
    };
    globex.call(delete(&before)).await;
    let left = [&other.text, &second.text, &first.text];
    let mut left: Vec<String> = left.map(Clone::clone).to_vec();
    left.sort();
    assert_eq!(texts().await, left, "the third was built on it");
    globex.call(delete(&first)).await;
    assert_eq!(texts().await, [other.text]);
}

#[apply(trial)]
async fn what_an_imported_memory_was_built_on_takes_it_along_where_another_call_named_it() {
    let client = plain().await;
    let app = app();
    let import = async |memory: &Memory| {
        let user = UserRef {
            app_id: app.clone(),
            user_id: "ada".to_owned(),
        };
        let request = ImportMemoriesRequest {
            user: Some(user),
            memories: vec![memory.clone()],
        };
        client.call(request).await;
    };
    let extracted = |text: &str, built_on: &[&Memory]| Memory {
        memory_id: Uuid::new_v4().to_string(),
        text: text.to_owned(),
        origin: MemoryOrigin::Extracted.into(),
        built_on_memory_ids: built_on.iter().map(|one| one.memory_id.clone()).collect(),
        ..Default::default()
    };
    // The user has the first one with another id.
    let there = extracted("Rex is a dog.", &[]);
    import(&there).await;
    let known = extracted("Rex is a dog.", &[]);
    let before = extracted("The vet knows Rex.", &[&known]);
    let after = extracted("The baker knows Rex.", &[&known]);
    let last = extracted("The baker sells biscuits for Rex.", &[&after]);
    let other = extracted("Ada keeps bees.", &[]);
    for memory in [&before, &known, &after, &last, &other] {
        import(memory).await;
    }
    assert_eq!(client.all_memories(&app, "ada").await.len(), 5);

    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("out.jsonl").display().to_string();
    let addr = &PLAIN.ready().addr;
    let arguments = ["export", "--app", &app, "--output", &file];
    recollect_at(addr, Key::Acme, &arguments).ok();
    let exported = std::fs::read_to_string(&file).unwrap();
    let built_on = format!("\"builtOnMemoryIds\":[\"{}\"]", there.memory_id);
    assert_eq!(exported.matches(&built_on).count(), 2, "{exported}");

    let delete = DeleteMemoryRequest {
        memory_id: there.memory_id,
    };
    client.call(delete).await;
    let left = client.all_memories(&app, "ada").await;
    let left: Vec<String> = left.into_iter().map(|memory| memory.text).collect();
    assert_eq!(left, [other.text]);
}
