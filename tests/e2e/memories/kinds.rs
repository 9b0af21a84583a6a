//! An app's own kinds of memories.

use memory_contract::proto::{
    AddMemoriesRequest, ExtractionStrategy, ListMemoriesRequest, Memory, MemoryFilter, MemoryInput,
    MemoryKind, MemoryKindExample, MemoryPolicy, PutWorkingMemoryRequest, SearchMemoriesRequest,
    SupersedeMemoryRequest, UpdateMemoryRequest,
};
use recollect_tests::{
    Client, Key, PLAIN, SOON, app, apply, by_id, eventually_some, memory, memory_search,
    memory_texts, of_user, recollect_at, target_user, trial,
};
use serde_json::{Value, json};

use super::{supersede, update};
use crate::plain;

const ALLERGY: &str = r##"{
    "properties": {"substance": {"type": "string"}, "severity": {"$ref": "#/$defs/severity"}},
    "required": ["substance"],
    "$defs": {"severity": {"enum": ["mild", "severe"]}}
}"##;

fn allergy() -> MemoryKind {
    MemoryKind {
        name: "allergy".to_owned(),
        description: "A substance that a person cannot take.".to_owned(),
        json_schema: ALLERGY.to_owned(),
        examples: vec![MemoryKindExample {
            said: "Penicillin gives me a rash.".to_owned(),
            text: "Is allergic to penicillin.".to_owned(),
            attributes: r#"{"substance": "penicillin"}"#.to_owned(),
        }],
    }
}

fn preference() -> MemoryKind {
    MemoryKind {
        name: "travel_preference".to_owned(),
        description: "How a person wants to travel.".to_owned(),
        ..Default::default()
    }
}

fn clinic() -> MemoryPolicy {
    MemoryPolicy {
        memory_kinds: vec![allergy(), preference()],
        ..Default::default()
    }
}

fn of_kind(kind: &str, text: &str, attributes: &str) -> MemoryInput {
    MemoryInput {
        kind: kind.to_owned(),
        attributes: attributes.to_owned(),
        ..memory(text)
    }
}

fn of_kinds(kinds: &[&str]) -> MemoryFilter {
    MemoryFilter {
        kinds: kinds.iter().map(|kind| (*kind).to_owned()).collect(),
        ..Default::default()
    }
}

async fn listed(client: &Client, app: &str, kinds: &[&str]) -> Vec<String> {
    let request = ListMemoriesRequest {
        target: target_user(app, "ada"),
        filter: Some(of_kinds(kinds)),
        ..Default::default()
    };
    let page = client.call(request).await;
    page.memories
        .into_iter()
        .map(|memory| memory.text)
        .collect()
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

#[apply(trial)]
async fn f15_memories_of_a_kind_are_stored_listed_and_found() {
    let client = plain().await;
    let app = app();
    client.set_policy(&app, clinic()).await;
    let nuts = of_kind(
        "allergy",
        "Cannot have nuts.",
        r#"{"substance": "nuts", "severity": "severe"}"#,
    );
    let seat = of_kind("travel_preference", "Likes the window seat.", "");
    let inputs = vec![nuts, seat, memory("Has two cats.")];
    let added = client.remember(&app, "ada", inputs).await;
    let stored: Vec<Memory> = added
        .memories
        .into_iter()
        .filter_map(|one| one.memory)
        .collect();
    assert_eq!(stored[0].kind, "allergy");
    assert_eq!(
        parsed(&stored[0].attributes),
        json!({"substance": "nuts", "severity": "severe"})
    );
    assert_eq!(
        (stored[1].kind.as_str(), stored[1].attributes.as_str()),
        ("travel_preference", "")
    );
    assert_eq!(
        (stored[2].kind.as_str(), stored[2].attributes.as_str()),
        ("", "")
    );

    assert_eq!(
        listed(&client, &app, &["allergy"]).await,
        ["Cannot have nuts."]
    );
    let both = listed(&client, &app, &["allergy", "travel_preference"]).await;
    assert_eq!(both, ["Likes the window seat.", "Cannot have nuts."]);
    assert_eq!(listed(&client, &app, &["order"]).await, [""; 0]);
    assert_eq!(listed(&client, &app, &[]).await.len(), 3);

    // The newest, and then what is indexed.
    let search = |revision: &str| SearchMemoriesRequest {
        filter: Some(of_kinds(&["allergy"])),
        ..memory_search(&app, "ada", "nuts, a window seat, and two cats", revision)
    };
    for revision in ["", &added.revision] {
        let found = client.search_memories(search(revision)).await;
        assert_eq!(memory_texts(&found), ["Cannot have nuts."], "{revision}");
    }
}

#[apply(trial)]
async fn f15_a_known_text_without_a_kind_gets_one_and_keeps_it() {
    let client = plain().await;
    let app = app();
    client.set_policy(&app, clinic()).await;
    let text = "Cannot have nuts.";
    let nuts = r#"{"substance": "nuts"}"#;
    let first = client.remember_one(&app, "ada", text).await;
    let allergy = vec![of_kind("allergy", text, nuts)];
    let added = client.remember(&app, "ada", allergy).await;
    assert!(!added.memories[0].created);
    let known = added.memories[0].memory.clone().unwrap();
    assert_eq!(
        (&known.memory_id, known.kind.as_str()),
        (&first.memory_id, "allergy")
    );
    assert_eq!(parsed(&known.attributes), parsed(nuts));
    assert_ne!(known.etag, first.etag);

    // The newest, and then what is indexed.
    assert_eq!(listed(&client, &app, &["allergy"]).await, [text]);
    for revision in ["", &added.revision] {
        let search = SearchMemoriesRequest {
            filter: Some(of_kinds(&["allergy"])),
            ..memory_search(&app, "ada", "nuts", revision)
        };
        let found = client.search_memories(search).await;
        assert_eq!(memory_texts(&found), [text], "{revision}");
    }

    for other in [
        of_kind("allergy", text, r#"{"substance": "all nuts"}"#),
        of_kind("travel_preference", text, ""),
        memory(text),
    ] {
        let added = client.remember(&app, "ada", vec![other]).await;
        let same = added.memories[0].memory.as_ref().unwrap();
        assert_eq!(
            (&same.kind, &same.attributes),
            (&known.kind, &known.attributes)
        );
        assert_eq!(same.etag, known.etag);
    }
}

#[apply(trial)]
async fn f15_a_memory_that_does_not_fit_its_kind_is_refused_with_the_place() {
    let client = plain().await;
    let (app, without) = (app(), app());
    client.set_policy(&app, clinic()).await;
    let nuts = of_kind("allergy", "Cannot have nuts.", r#"{"substance": "nuts"}"#);
    let stored = client.remember(&app, "ada", vec![nuts]).await;
    let stored = stored.memories[0].memory.clone().unwrap();
    let cases = [
        (
            of_kind("order", "x", "{}"),
            "kind",
            "allergy, travel_preference",
        ),
        (of_kind("allergy", "x", ""), "attributes", "substance"),
        (
            of_kind("allergy", "x", r#"{"substance": 5}"#),
            "attributes",
            "/substance",
        ),
        (
            of_kind("allergy", "x", r#"{"substance": "a", "severity": "bad"}"#),
            "attributes",
            "/severity",
        ),
        (
            of_kind("travel_preference", "x", r#"{"a": 1}"#),
            "attributes",
            "no attributes",
        ),
        (
            of_kind("", "x", r#"{"a": 1}"#),
            "attributes",
            "require a kind",
        ),
    ];
    let told = |failure: recollect_tests::Failure, path: &str, field: &str, part: &str| {
        let failure = failure.names_field(&format!("{path}.{field}"));
        assert!(failure.fields[0].1.contains(part), "{failure:?}");
    };
    for (input, field, part) in cases {
        let add = AddMemoriesRequest {
            user: of_user(&app, "ada"),
            memories: vec![memory("Has two cats."), input.clone()],
        };
        told(client.refused(add).await, "memories[1]", field, part);
        let replace = SupersedeMemoryRequest {
            memory_id: stored.memory_id.clone(),
            replacement: Some(input.clone()),
        };
        told(client.refused(replace).await, "replacement", field, part);
        let change = UpdateMemoryRequest {
            memory: Some(Memory {
                memory_id: stored.memory_id.clone(),
                kind: input.kind.clone(),
                attributes: input.attributes.clone(),
                ..Default::default()
            }),
            update_mask: Some(prost_types::FieldMask {
                paths: vec!["kind".to_owned(), "attributes".to_owned()],
            }),
            precondition: None,
        };
        told(client.refused(change).await, "memory", field, part);
        let put = PutWorkingMemoryRequest {
            thread: by_id(&client.thread(&app).await),
            memories: vec![Memory {
                text: input.text,
                kind: input.kind,
                attributes: input.attributes,
                ..Default::default()
            }],
            ..Default::default()
        };
        told(client.refused(put).await, "memories[0]", field, part);
    }
    // Another app does not have the kinds.
    let add = AddMemoriesRequest {
        user: of_user(&without, "ada"),
        memories: vec![of_kind("allergy", "x", r#"{"substance": "a"}"#)],
    };
    told(
        client.refused(add).await,
        "memories[0]",
        "kind",
        "no memory_kinds",
    );
    let all = client.all_memories(&app, "ada").await;
    let all: Vec<&String> = all.iter().map(|memory| &memory.text).collect();
    assert_eq!(all, [&stored.text]);
}

#[apply(trial)]
async fn f15_kinds_change_with_updates_and_outlive_the_policy() {
    let client = plain().await;
    let app = app();
    client.set_policy(&app, clinic()).await;
    let nuts = of_kind("allergy", "Cannot have nuts.", r#"{"substance": "nuts"}"#);
    let stored = client.remember(&app, "ada", vec![nuts]).await;
    let id = stored.memories[0]
        .memory
        .as_ref()
        .unwrap()
        .memory_id
        .clone();
    let with = |kind: &str, attributes: &str| Memory {
        memory_id: id.clone(),
        kind: kind.to_owned(),
        attributes: attributes.to_owned(),
        ..Default::default()
    };
    let severe = r#"{"substance": "nuts", "severity": "severe"}"#;
    let changed = update(&client, with("", severe), &["attributes"]).await;
    let changed = changed.memory.unwrap();
    assert_eq!(
        (changed.kind.as_str(), parsed(&changed.attributes)),
        ("allergy", parsed(severe))
    );
    assert_eq!(listed(&client, &app, &["allergy"]).await.len(), 1);
    // Without its kind it has no attributes.
    let changed = update(&client, with("", ""), &["kind"])
        .await
        .memory
        .unwrap();
    assert_eq!(
        (changed.kind.as_str(), changed.attributes.as_str()),
        ("", "")
    );
    update(&client, with("allergy", severe), &["kind", "attributes"]).await;
    let newer = of_kind(
        "allergy",
        "Cannot have peanuts.",
        r#"{"substance": "peanuts"}"#,
    );
    let newer = supersede(&client, &id, newer).await.memory.unwrap();
    assert_eq!(newer.kind, "allergy");

    // The policy has other kinds now; what is stored stays as it is.
    let policy = MemoryPolicy {
        memory_kinds: vec![preference()],
        ..Default::default()
    };
    client.set_policy(&app, policy).await;
    let text = Memory {
        memory_id: newer.memory_id.clone(),
        text: "Cannot have any peanuts.".to_owned(),
        ..Default::default()
    };
    let changed = update(&client, text, &["text"]).await.memory.unwrap();
    assert_eq!(
        (&changed.kind, &changed.attributes),
        (&newer.kind, &newer.attributes)
    );
    assert_eq!(
        listed(&client, &app, &["allergy"]).await,
        ["Cannot have any peanuts."]
    );
}

#[apply(trial)]
async fn f15_a_memory_is_sent_back_as_compact_json_when_the_policy_lacks_its_kind() {
    let client = plain().await;
    let app = app();
    client.set_policy(&app, clinic()).await;
    let thread_id = client.thread(&app).await;
    let put = |memory: Memory| PutWorkingMemoryRequest {
        thread: by_id(&thread_id),
        memories: vec![memory],
        ..Default::default()
    };
    let nuts = Memory {
        text: "Cannot have nuts.".to_owned(),
        kind: "allergy".to_owned(),
        attributes: r#"{"severity":"mild","substance":"nuts"}"#.to_owned(),
        ..Default::default()
    };
    let answer = client.call(put(nuts)).await;
    let stored = answer.working_memory.unwrap().memories.remove(0);
    let policy = MemoryPolicy {
        memory_kinds: vec![preference()],
        ..Default::default()
    };
    client.set_policy(&app, policy).await;

    let with = |attributes: &str| Memory {
        attributes: attributes.to_owned(),
        ..stored.clone()
    };
    let compact = r#"{"severity":"mild","substance":"nuts"}"#;
    assert_ne!(stored.attributes, compact);
    for same in [
        compact,
        r#"{"substance":"nuts","severity":"mild"}"#,
        &stored.attributes,
    ] {
        let answer = client.call(put(with(same))).await;
        let put = answer.working_memory.unwrap().memories.remove(0);
        assert_eq!(
            (&put.memory_id, &put.kind, &put.attributes),
            (&stored.memory_id, &stored.kind, &stored.attributes)
        );
        let changed = update(&client, with(same), &["kind", "attributes"]).await;
        assert_eq!(changed.memory.unwrap().attributes, stored.attributes);
    }
    let other = with(r#"{"severity":"severe","substance":"nuts"}"#);
    let refused = client.refused(put(other.clone())).await;
    refused.names_field("memories[0].kind");
    let change = UpdateMemoryRequest {
        memory: Some(other),
        update_mask: Some(prost_types::FieldMask {
            paths: vec!["attributes".to_owned()],
        }),
        precondition: None,
    };
    client.refused(change).await.names_field("memory.kind");
}

#[apply(trial)]
async fn f15_kinds_and_attributes_are_exported_and_imported() {
    let client = plain().await;
    let globex = PLAIN.client(Key::Globex).await;
    let app = app();
    client.set_policy(&app, clinic()).await;
    let attributes = r#"{"substance": "nuts", "grams": 0.10000000000000000000001}"#;
    let nuts = of_kind("allergy", "Cannot have nuts.", attributes);
    client
        .remember(&app, "ada", vec![nuts, memory("Has two cats.")])
        .await;
    // The kinds have changed since: what was exported is imported as it was.
    let policy = MemoryPolicy {
        memory_kinds: vec![preference()],
        ..Default::default()
    };
    client.set_policy(&app, policy.clone()).await;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("out.jsonl").display().to_string();
    let addr = &PLAIN.ready().addr;
    recollect_at(
        addr,
        Key::Acme,
        &["export", "--app", &app, "--output", &file],
    )
    .ok();
    let args = ["import", &file, "--json", "--no-wait"];
    let imported = recollect_at(addr, Key::Globex, &args).ok().json();
    assert_eq!(
        (&imported["memories"], &imported["checked"]),
        (&json!(2), &json!(true)),
        "{imported}"
    );
    let of = |memories: Vec<Memory>| {
        let kinds = memories
            .into_iter()
            .map(|one| (one.text, one.kind, one.attributes));
        kinds.collect::<Vec<_>>()
    };
    let (here, there) = (
        of(client.all_memories(&app, "ada").await),
        of(globex.all_memories(&app, "ada").await),
    );
    assert_eq!(there, here);
    let (_, kind, attributes) = &there[1];
    assert_eq!(kind, "allergy");
    assert!(
        attributes.contains("0.10000000000000000000001"),
        "{attributes}"
    );
    let get = memory_contract::proto::GetAppPolicyRequest {
        app_id: app.clone(),
    };
    let there = globex.call(get).await.app_policy.unwrap();
    assert_eq!(there.policy, Some(policy));
}

#[apply(trial)]
async fn f15_kinds_are_stored_and_listed_from_the_command_line() {
    let client = plain().await;
    let app = app();
    client.set_policy(&app, clinic()).await;
    let run = |args: &[&str]| {
        let owner = ["--app", &app, "--user", "ada"];
        let args: Vec<&str> = ["memory"]
            .iter()
            .chain(args)
            .chain(&owner)
            .copied()
            .collect();
        recollect_at(&PLAIN.ready().addr, Key::Acme, &args)
    };
    let attributes = r#"{"substance": "nuts"}"#;
    let add = [
        "add",
        "Cannot have nuts",
        "--kind",
        "allergy",
        "--attributes",
        attributes,
    ];
    run(&add).ok();
    run(&["add", "Has two cats"]).ok();
    let listed = run(&["list", "--kind", "allergy", "--json"])
        .ok()
        .json_lines();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0]["kind"], "allergy");
    assert_eq!(listed[0]["attributes"], attributes);
    let id = listed[0]["memoryId"].as_str().unwrap();
    let shown = recollect_at(&PLAIN.ready().addr, Key::Acme, &["memory", "show", id]).ok();
    assert!(shown.stdout.contains(attributes), "{shown:?}");
    let refused = run(&["add", "x", "--kind", "car"]);
    assert!(
        refused.stderr.contains("allergy, travel_preference"),
        "{refused:?}"
    );
}

#[apply(trial)]
async fn f15_kinds_that_cannot_be_used_are_refused_by_field() {
    let client = plain().await;
    let app = app();
    let refused = async |kind: MemoryKind, field: &str, part: &str| {
        let policy = MemoryPolicy {
            memory_kinds: vec![preference(), kind],
            ..Default::default()
        };
        let update = memory_contract::proto::UpdateAppPolicyRequest {
            app_policy: Some(memory_contract::proto::AppPolicy {
                app_id: app.clone(),
                policy: Some(policy),
                ..Default::default()
            }),
            update_mask: Some(prost_types::FieldMask {
                paths: vec!["policy.memory_kinds".to_owned()],
            }),
            ..Default::default()
        };
        let failure = client.refused(update).await;
        let field = format!("app_policy.policy.memory_kinds[1].{field}");
        let failure = failure.names_field(&field);
        assert!(failure.fields[0].1.contains(part), "{failure:?}");
    };
    let named = |name: &str| MemoryKind {
        name: name.to_owned(),
        ..preference()
    };
    for name in ["", "Order", "7th", "an order", "größe", &"k".repeat(65)] {
        refused(named(name), "name", "a-z").await;
    }
    refused(preference(), "name", "another kind").await;
    let with_schema = |json_schema: &str| MemoryKind {
        json_schema: json_schema.to_owned(),
        examples: Vec::new(),
        ..allergy()
    };
    let remote = r#"{"properties": {"a": {"$ref": "https://example.org/a.json"}}}"#;
    refused(with_schema(remote), "json_schema", "#/$defs/NAME").await;
    let local = r#"{"properties": {"a": {"$ref": "file:///etc/passwd"}}}"#;
    refused(with_schema(local), "json_schema", "#/$defs/NAME").await;
    refused(
        with_schema(r#"{"type": "text"}"#),
        "json_schema",
        "JSON Schema",
    )
    .await;
    refused(with_schema("[]"), "json_schema", "object").await;
    let look_around = r#"{"properties": {"a": {"pattern": "(?=b)c"}}}"#;
    refused(with_schema(look_around), "json_schema", "look-around").await;
    let large = r#"{"properties": {"a": {"pattern": "^\\p{L}{300}$"}}}"#;
    refused(with_schema(large), "json_schema", "maxLength").await;
    let mut wrong = allergy();
    wrong.examples[0].attributes = r#"{"severity": "severe"}"#.to_owned();
    refused(wrong, "examples[0].attributes", "substance").await;
    let get = memory_contract::proto::GetAppPolicyRequest {
        app_id: app.clone(),
    };
    let policy = client.call(get).await.app_policy.unwrap();
    assert_eq!(policy.update_time, None);
}

#[apply(trial)]
async fn f14_what_must_never_be_kept_is_in_no_memory_of_the_built_in_algorithm() {
    let client = plain().await;
    let app = app();
    let policy = MemoryPolicy {
        extraction: ExtractionStrategy::Discrete.into(),
        never_keep: vec!["Bergen".to_owned(), "diabetes".to_owned()],
        ..Default::default()
    };
    client.set_policy(&app, policy).await;
    let thread_id = client.thread(&app).await;
    let said = "I live in BERGEN. I have diabetes and a dog. I don't like mushrooms.";
    client.append_turn(&thread_id, said, "I see.").await;
    eventually_some("what may be kept", SOON, async || {
        let all = client.all_memories(&app, "ada").await;
        all.into_iter()
            .find(|memory| memory.text.contains("mushrooms"))
    })
    .await;
    for memory in client.all_memories(&app, "ada").await {
        let text = memory.text.to_lowercase();
        assert!(
            !text.contains("bergen") && !text.contains("diabetes"),
            "{text}"
        );
    }
    // A caller who stores a memory decides for itself.
    client.remember_one(&app, "ada", "Has diabetes.").await;
    let all = client.all_memories(&app, "ada").await;
    assert!(all.iter().any(|memory| memory.text == "Has diabetes."));
}
