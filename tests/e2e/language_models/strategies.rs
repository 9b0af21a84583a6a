//! Facts extracted from messages, by strategy.

use memory_contract::proto::{
    DeleteMemoryRequest, DeleteThreadRequest, ExportRecordsRequest, ExtractionStrategy,
    MemoryOrigin, MemoryType, MessageInput, Role, message_input::Parent, record::Kind,
};
use recollect_tests::{
    Answering, SOON, app, apply, by_id, eventually, eventually_some, memory_search, memory_texts,
    reply, say, target_app, trial, trial_with_own_server,
};

use super::{extract, extracting, known, set, start, status};
use crate::acme;
use crate::branches::heads::set_head;
use crate::threads::ephemeral::ephemeral;

#[apply(trial_with_own_server)]
async fn r11_single_facts_are_extracted_with_their_sources() {
    let (_dir, _model, _server, client) = start(&[]).await;
    let app = app();
    // Extraction is not switched on yet.
    let thread_id = client.thread(&app).await;
    let first = client
        .append_turn(&thread_id, "FACT(Ada has two dogs.)", "How nice.")
        .await;
    extract(&client, &app, ExtractionStrategy::Discrete).await;
    let second = client
        .append_turn(
            &thread_id,
            "FACT(Ada lives in Oslo.) UNPROVEN(Ada is rich.)",
            "Good.",
        )
        .await;
    let dogs = known(&client, &app, "ada", "two dogs").await;
    let oslo = known(&client, &app, "ada", "Oslo").await;
    assert_eq!(
        dogs.source_message_ids,
        [first.messages[0].message_id.as_str()]
    );
    assert_eq!(
        oslo.source_message_ids,
        [second.messages[0].message_id.as_str()]
    );
    assert_eq!(oslo.origin(), MemoryOrigin::Extracted);
    assert_eq!(
        (oslo.made_by.as_str(), oslo.thread_id.as_str()),
        ("large", thread_id.as_str())
    );
    assert!(oslo.valid_from.is_some());
    // A fact without evidence is dropped and counted.
    eventually("it is counted", SOON, async || {
        status(&client).await.dropped_fact_count == 1
    })
    .await;
    assert_eq!(client.all_memories(&app, "ada").await.len(), 2);
    let found = client
        .search_memories(memory_search(&app, "ada", "dogs", ""))
        .await;
    assert!(memory_texts(&found).len() <= 2);

    // Said again, it is the same memory with a further source.
    let again = client
        .append_turn(&thread_id, "FACT(ada lives in OSLO)", "I know.")
        .await;
    eventually("a further source", SOON, async || {
        let (oslo, _) = client.get_memory(&oslo.memory_id).await;
        oslo.source_message_ids
            .contains(&again.messages[0].message_id)
    })
    .await;
    // A fact that makes it untrue supersedes it.
    client
        .append_turn(
            &thread_id,
            "FACT(Ada lives in Rome.) REPLACES(Ada lives in Oslo.)",
            "Ciao.",
        )
        .await;
    let rome = known(&client, &app, "ada", "Rome").await;
    let (oslo, _) = client.get_memory(&oslo.memory_id).await;
    assert_eq!(oslo.superseded_by, rome.memory_id);
    assert_eq!(client.all_memories(&app, "ada").await.len(), 3);
}

/// Answers as models write them: words and a fence around the object, a comma too many,
/// fields that were not asked for, and a fact that no message proves.
const ANSWERS: [&str; 2] = [
    r#"Here are the facts I found:

```json
{
  "facts": [
    {"text": "Ada lives in Bergen with her brother Nils.", "type": "semantic",
     "event_date": null, "topics": ["home", "family"], "entities": ["Bergen", "Nils"],
     "evidence": ["m1"], "supersedes": [], "confidence": 0.93},
    {"text": "Ada moved to Bergen on 7 May 2023.", "type": "episodic",
     "event_date": "2023-05-07", "topics": ["home"], "entities": ["Bergen"],
     "evidence": ["m1", "m2"]},
    {"text": "Ada owns a house.", "type": "semantic", "evidence": ["m9"]},
  ]
}
```
Let me know if you need anything else!"#,
    r#"{"facts":[{"text":"Ada lives in Tromsø.","type":"semantic","topics":["home"],"entities":["Tromsø"],"evidence":["m1"],"supersedes":["f1"]}]}"#,
];

#[apply(trial_with_own_server)]
async fn r11_answers_as_models_write_them_are_stored_field_by_field() {
    let (_dir, model, _server, client, app) = extracting(ExtractionStrategy::Discrete, &[]).await;
    let thread_id = client.thread(&app).await;
    model.answers(Answering::Words(ANSWERS[0].to_owned()));
    let question = "I moved to Bergen on 7 May 2023. My brother Nils lives with me.";
    let said = client.append_turn(&thread_id, question, "In May!").await;
    let said: Vec<&str> = said.messages.iter().map(|one| &*one.message_id).collect();
    let home = known(&client, &app, "ada", "with her brother Nils").await;
    let moved = known(&client, &app, "ada", "moved to Bergen").await;
    assert_eq!(home.text, "Ada lives in Bergen with her brother Nils.");
    assert_eq!(home.r#type(), MemoryType::Semantic);
    assert_eq!(home.topics, ["home", "family"]);
    assert_eq!(home.entities, ["Bergen", "Nils"]);
    assert_eq!(home.source_message_ids, said[..1]);
    assert_eq!(home.event_time, None);
    assert_eq!(moved.r#type(), MemoryType::Episodic);
    assert_eq!(moved.source_message_ids, said);
    // Midnight of 7 May 2023, UTC.
    let day = moved.event_time.unwrap();
    assert_eq!((day.seconds, day.nanos), (1_683_417_600, 0));
    for memory in [&home, &moved] {
        assert_eq!(memory.origin(), MemoryOrigin::Extracted);
        assert_eq!(memory.extraction_strategy(), ExtractionStrategy::Discrete);
        assert_eq!((&*memory.made_by, &memory.thread_id), ("large", &thread_id));
        assert!(memory.superseded_by.is_empty() && memory.valid_until.is_none());
    }
    eventually("the fact without a proof is counted", SOON, async || {
        status(&client).await.dropped_fact_count == 1
    })
    .await;
    assert_eq!(client.all_memories(&app, "ada").await.len(), 2);

    // The model is shown what is known, under names that its answer refers to.
    model.answers(Answering::Words(ANSWERS[1].to_owned()));
    let said = client
        .append_turn(&thread_id, "Now I live in Tromsø.", "So far north!")
        .await;
    let north = known(&client, &app, "ada", "Tromsø").await;
    assert_eq!(
        north.source_message_ids,
        [said.messages[0].message_id.as_str()]
    );
    let asked = model.asked_about("Now I live in Tromsø.");
    let shown = asked[0].user.lines().find(|line| line.contains("\"f1\""));
    let shown = shown.unwrap_or_else(|| panic!("{}", asked[0].user));
    let former = match shown.contains(&home.text) {
        true => &home,
        false => &moved,
    };
    let (former, _) = client.get_memory(&former.memory_id).await;
    assert_eq!(former.superseded_by, north.memory_id);
    assert!(former.valid_until.is_some());
    assert_eq!(client.all_memories(&app, "ada").await.len(), 3);
}

#[apply(trial_with_own_server)]
async fn facts_of_an_ephemeral_thread_replace_only_its_own_and_are_not_exported() {
    let (_dir, _model, _server, client, app) = extracting(ExtractionStrategy::Discrete, &[]).await;
    let kept = client.thread(&app).await;
    client
        .append_turn(&kept, "FACT(Ada lives in Oslo.)", "Good.")
        .await;
    let oslo = known(&client, &app, "ada", "Oslo").await;
    let brief = ephemeral(&client, &app, "ada").await;
    let moves = [
        "FACT(Ada lives in Rome.) REPLACES(Ada lives in Oslo.)",
        "FACT(Ada lives in Bern.) REPLACES(Ada lives in Rome.)",
    ];
    client.append_turn(&brief, moves[0], "Ciao.").await;
    let rome = known(&client, &app, "ada", "Rome").await;
    client.append_turn(&brief, moves[1], "Ah.").await;
    let bern = known(&client, &app, "ada", "Bern").await;
    let (oslo, _) = client.get_memory(&oslo.memory_id).await;
    let (rome, _) = client.get_memory(&rome.memory_id).await;
    assert_eq!(oslo.superseded_by, "");
    assert_eq!(rome.superseded_by, bern.memory_id);

    let request = ExportRecordsRequest {
        target: target_app(&app),
        ..Default::default()
    };
    let exported = client.transfers().export_records(request).await.unwrap();
    let mut exported = exported.into_inner();
    let mut texts = Vec::new();
    while let Some(record) = exported.message().await.unwrap() {
        if let Some(Kind::Memory(memory)) = record.record.and_then(|record| record.kind) {
            texts.push(memory.text);
        }
    }
    assert_eq!(texts, ["Ada lives in Oslo."]);
    client
        .call(DeleteThreadRequest {
            thread: by_id(brief),
        })
        .await;
    let left = client.all_memories(&app, "ada").await;
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].memory_id, oslo.memory_id);
}

#[apply(trial_with_own_server)]
async fn r11_the_summary_strategy_keeps_one_summary_of_a_thread() {
    let (_dir, model, _server, client, app) = extracting(ExtractionStrategy::Summary, &[]).await;
    let thread_id = client.thread(&app).await;
    client
        .append_turn(&thread_id, "We sail in May.", "To Bergen.")
        .await;
    let first = known(&client, &app, "ada", "We sail in May.").await;
    assert!(first.superseded_by.is_empty());
    client
        .append_turn(&thread_id, "The boat is red.", "And old.")
        .await;
    let second = known(&client, &app, "ada", "The boat is red.").await;
    let (first, _) = client.get_memory(&first.memory_id).await;
    assert_eq!(first.superseded_by, second.memory_id);
    // The model went on from the summary before.
    let asked = model.asked_about("The boat is red.");
    assert!(
        asked
            .iter()
            .any(|asked| asked.user.contains("Of We sail in May.")),
        "{asked:?}"
    );
    // Another thread has another one.
    let other = client.thread_of(&app, "ada").await;
    client.append_turn(&other, "I bake bread.", "Of rye.").await;
    let third = known(&client, &app, "ada", "I bake bread.").await;
    let (second, _) = client.get_memory(&second.memory_id).await;
    assert_eq!(
        (second.superseded_by.as_str(), third.thread_id),
        ("", other)
    );
}

#[apply(trial)]
async fn r11_a_summary_is_made_again_without_a_deleted_message() {
    let client = acme().await;
    let app = app();
    extract(&client, &app, ExtractionStrategy::Summary).await;
    let thread_id = client.thread(&app).await;
    let said = [
        "I live in Bergen with two dogs.",
        "My code is 4711.",
        "I bake bread.",
    ];
    let mut ids = Vec::new();
    for text in said {
        let appended = client.append_turn(&thread_id, text, "I see.").await;
        ids.push(appended.messages[0].message_id.clone());
        known(&client, &app, "ada", text).await;
    }
    client.delete_message(&thread_id, &ids[1]).await;
    let again = eventually_some("it is summed up anew", SOON, async || {
        let all = client.all_memories(&app, "ada").await;
        all.into_iter().find(|memory| {
            memory.superseded_by.is_empty()
                && memory.text.contains(said[0])
                && memory.text.contains(said[2])
        })
    })
    .await;
    assert!(!again.text.contains("4711"), "{again:?}");
    let all = client.all_memories(&app, "ada").await;
    assert!(
        all.iter().all(|memory| !memory.text.contains("4711")),
        "{all:?}"
    );
    let valid = all.iter().filter(|memory| memory.superseded_by.is_empty());
    assert_eq!(valid.count(), 1, "{all:?}");
}

#[apply(trial)]
async fn b06_the_summary_of_a_thread_follows_its_head() {
    let client = acme().await;
    let app = app();
    extract(&client, &app, ExtractionStrategy::Summary).await;
    let thread_id = client.thread(&app).await;
    // The valid summary has both branches' common past, and the head's branch alone.
    let holds = async |said: &str, other: &str| {
        eventually(said, SOON, async || {
            let all = client.all_memories(&app, "ada").await;
            let mut valid = all.iter().filter(|one| one.superseded_by.is_empty());
            let one = valid.next().filter(|_| valid.next().is_none());
            one.is_some_and(|one| {
                let past = one.text.contains("We sail in May.");
                past && one.text.contains(said) && !one.text.contains(other)
            })
        })
        .await;
    };
    let start = client
        .append_turn(&thread_id, "We sail in May.", "To Bergen.")
        .await;
    holds("We sail in May.", "The boat").await;
    let red = client
        .append_turn(&thread_id, "The boat is red.", "And old.")
        .await;
    holds("The boat is red.", "blue").await;
    let blue = reply(
        &start.messages[1].message_id,
        Role::User,
        "The boat is blue.",
    );
    let blue = client.append(&thread_id, vec![blue]).await;
    holds("The boat is blue.", "red").await;
    for (branch, said, other) in [(&red, "red", "blue"), (&blue, "blue", "red")] {
        let last = &branch.messages.last().unwrap().message_id;
        set_head(&client, &thread_id, last).await;
        holds(said, other).await;
    }
    // Not at the end of either, and then at one again, before anybody looks.
    for message in [&start.messages[1], &red.messages[1]] {
        set_head(&client, &thread_id, &message.message_id).await;
    }
    holds("red", "blue").await;
    set_head(&client, &thread_id, &start.messages[1].message_id).await;
    holds("To Bergen.", "The boat").await;
    let last = &blue.messages.last().unwrap().message_id;
    set_head(&client, &thread_id, last).await;
    holds("The boat is blue.", "red").await;
    // New messages continue that summary.
    client
        .append_turn(&thread_id, "Its sails are white.", "Good.")
        .await;
    holds("Its sails are white.", "red").await;
    holds("The boat is blue.", "red").await;
}

#[apply(trial)]
async fn b06_a_summary_holds_again_when_the_head_returns_from_another_root() {
    let client = acme().await;
    let app = app();
    extract(&client, &app, ExtractionStrategy::Summary).await;
    let thread_id = client.thread(&app).await;
    let sails = client
        .append_turn(&thread_id, "We sail in May.", "To Bergen.")
        .await;
    let sailing = known(&client, &app, "ada", "We sail in May.").await;
    let root = MessageInput {
        parent: Some(Parent::Root(())),
        ..say(Role::User, "I bake bread.")
    };
    let bakes = client.append(&thread_id, vec![root]).await;
    let baking = known(&client, &app, "ada", "I bake bread.").await;
    // The summaries themselves, not others with their texts.
    for (branch, holds, ended) in [
        (&sails, &sailing, &baking),
        (&bakes, &baking, &sailing),
        (&sails, &sailing, &baking),
    ] {
        let last = &branch.messages.last().unwrap().message_id;
        set_head(&client, &thread_id, last).await;
        eventually("the summary of the branch holds", SOON, async || {
            let (memory, _) = client.get_memory(&holds.memory_id).await;
            memory.valid_until.is_none()
        })
        .await;
        let (ended, _) = client.get_memory(&ended.memory_id).await;
        assert_eq!(ended.superseded_by, holds.memory_id);
    }
    assert_eq!(client.all_memories(&app, "ada").await.len(), 2);
}

#[apply(trial)]
async fn b06_a_deleted_summary_does_not_come_back() {
    let client = acme().await;
    let app = app();
    extract(&client, &app, ExtractionStrategy::Summary).await;
    let thread_id = client.thread(&app).await;
    let mut ids = Vec::new();
    for text in ["My code is 4711.", "We sail in May.", "The boat is red."] {
        if text == "The boat is red." {
            // This ends the summaries before it, and none repeats them.
            let all = client.all_memories(&app, "ada").await;
            let valid = all.iter().find(|one| one.superseded_by.is_empty());
            let request = DeleteMemoryRequest {
                memory_id: valid.unwrap().memory_id.clone(),
            };
            client.call(request).await;
        }
        let appended = client.append_turn(&thread_id, text, "I see.").await;
        ids.push(appended.messages[1].message_id.clone());
        known(&client, &app, "ada", text).await;
    }
    let anew = reply(&ids[1], Role::User, "The boat is blue.");
    client.append(&thread_id, vec![anew]).await;
    known(&client, &app, "ada", "The boat is blue.").await;
    let all = client.all_memories(&app, "ada").await;
    let valid: Vec<&str> = all
        .iter()
        .filter(|one| one.valid_until.is_none())
        .map(|one| one.text.as_str())
        .collect();
    assert_eq!(valid.len(), 1, "{all:?}");
    for missing in ["4711", "We sail", "red"] {
        assert!(!valid[0].contains(missing), "{valid:?}");
    }
}

#[apply(trial_with_own_server)]
async fn r11_unread_messages_are_extracted_when_their_branch_has_the_head() {
    let (_dir, model, _server, client, app) = extracting(ExtractionStrategy::Discrete, &[]).await;
    let thread_id = client.thread(&app).await;
    let start = client
        .append_turn(&thread_id, "FACT(Ada has a boat.)", "How nice.")
        .await;
    known(&client, &app, "ada", "a boat").await;
    // Two answers at once: the head is at the second one.
    let after = &start.messages[1].message_id;
    let answers = ["FACT(Ada keeps bees.)", "FACT(Ada keeps hens.)"]
        .map(|text| reply(after, Role::User, text));
    let both = client.append(&thread_id, answers.to_vec()).await;
    known(&client, &app, "ada", "hens").await;
    assert!(model.asked_about("bees").is_empty());
    set_head(&client, &thread_id, &both.messages[0].message_id).await;
    known(&client, &app, "ada", "bees").await;
    // The model is not asked about a message twice.
    set_head(&client, &thread_id, &both.messages[1].message_id).await;
    client
        .append_turn(&thread_id, "FACT(Ada keeps goats.)", "Oh.")
        .await;
    known(&client, &app, "ada", "goats").await;
    for word in ["boat", "bees", "hens", "goats"] {
        let asked = model.asked();
        let said = format!("FACT(Ada keeps {word}.)").replace("keeps boat", "has a boat");
        let asked = asked.iter().filter(|asked| asked.user.contains(&said));
        assert_eq!(asked.count(), 1, "{word}");
    }
}

#[apply(trial_with_own_server)]
async fn r11_preferences_and_instructions_reach_the_model() {
    let (_dir, model, _server, client) = start(&[]).await;
    let (likes, orders, plain) = (app(), app(), app());
    extract(&client, &likes, ExtractionStrategy::Preferences).await;
    let instructions = "Take every allergy.";
    set(
        &client,
        &orders,
        ExtractionStrategy::Custom,
        Some(instructions),
    )
    .await;
    // Without instructions it is as discrete.
    set(&client, &plain, ExtractionStrategy::Custom, None).await;
    for (app, text) in [
        (&likes, "FACT(Ada likes tea.)"),
        (&orders, "FACT(Ada cannot eat nuts.)"),
        (&plain, "FACT(Ada has a cat.)"),
    ] {
        let thread_id = client.thread(app).await;
        client.append_turn(&thread_id, text, "I see.").await;
    }
    let asked = async |app: &str, words: &str| {
        known(&client, app, "ada", words).await;
        model.asked_about(words)[0].clone()
    };
    let tea = asked(&likes, "likes tea").await;
    assert!(tea.system.contains("only preferences"), "{tea:?}");
    let nuts = asked(&orders, "eat nuts").await;
    assert!(nuts.system.contains(instructions), "{nuts:?}");
    let cat = asked(&plain, "a cat").await;
    assert!(!cat.system.contains("operator") && !cat.system.contains("only preferences"));
}

#[apply(trial)]
async fn r11_facts_are_extracted_without_a_model() {
    let client = acme().await;
    let (single, likes, ordered) = (app(), app(), app());
    extract(&client, &single, ExtractionStrategy::Discrete).await;
    extract(&client, &likes, ExtractionStrategy::Preferences).await;
    set(
        &client,
        &ordered,
        ExtractionStrategy::Custom,
        Some("Take all."),
    )
    .await;
    for app in [&single, &likes, &ordered] {
        let thread_id = client.thread(app).await;
        let said = "I live in Bergen. I prefer tea without sugar. What is the time?";
        client.append_turn(&thread_id, said, "It is noon.").await;
    }
    for (app, words) in [(&single, "Bergen"), (&ordered, "Bergen"), (&likes, "tea")] {
        let fact = known(&client, app, "ada", words).await;
        assert_eq!(
            (fact.origin(), fact.made_by.as_str()),
            (MemoryOrigin::Extracted, "")
        );
        let all = client.all_memories(app, "ada").await;
        assert!(
            !all.iter().any(|memory| memory.text.contains("noon")),
            "{all:?}"
        );
    }
    let likes = client.all_memories(&likes, "ada").await;
    assert!(
        !likes.iter().any(|memory| memory.text.contains("Bergen")),
        "{likes:?}"
    );
}

#[apply(trial)]
async fn r10_extracted_memories_are_indexed_and_stamped() {
    let client = acme().await;
    let app = app();
    extract(&client, &app, ExtractionStrategy::Discrete).await;
    let thread_id = client.thread(&app).await;
    let said = "I live in Tromsø.";
    client.append_turn(&thread_id, said, "How far north!").await;
    let fact = known(&client, &app, "ada", "Tromsø").await;
    let stamped = eventually_some("it is stamped", SOON * 2, async || {
        let (memory, _) = client.get_memory(&fact.memory_id).await;
        memory.persist_time
    })
    .await;
    let found = client
        .search_memories(memory_search(&app, "ada", "Where does Ada live?", ""))
        .await;
    assert_eq!(memory_texts(&found), [fact.text.as_str()]);
    // A repeated statement changes neither.
    client.append_turn(&thread_id, said, "You said so.").await;
    eventually("a further source", SOON, async || {
        let (memory, _) = client.get_memory(&fact.memory_id).await;
        memory.source_message_ids.len() == 2
    })
    .await;
    let (memory, _) = client.get_memory(&fact.memory_id).await;
    assert_eq!(memory.persist_time, Some(stamped));
    assert_eq!(client.all_memories(&app, "ada").await.len(), 1);
}
