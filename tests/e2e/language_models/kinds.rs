//! An app's own kinds of facts, and what is never kept.

use memory_contract::proto::{
    ExtractionStrategy, Memory, MemoryKind, MemoryKindExample, MemoryPolicy,
};
use recollect_tests::{
    Answering, Client, SOON, app, apply, eventually, http_get, trial_with_own_server,
};
use serde_json::{Value, json};

use super::{known, set_policy, start};

const ALLERGY: &str = r##"{
    "type": "object",
    "properties": {
        "substance": {"type": "string", "minLength": 1},
        "severity": {"enum": ["mild", "severe"]},
        "since": {"type": "string", "format": "date"}
    },
    "required": ["substance"],
    "additionalProperties": false
}"##;
const ORDER: &str = r##"{
    "properties": {
        "number": {"type": "string", "pattern": "^[0-9]{4,8}$"},
        "total": {"$ref": "#/$defs/amount"}
    },
    "required": ["number"],
    "$defs": {"amount": {"type": "number", "minimum": 0}}
}"##;

fn kind(name: &str, description: &str, json_schema: &str) -> MemoryKind {
    MemoryKind {
        name: name.to_owned(),
        description: description.to_owned(),
        json_schema: json_schema.to_owned(),
        examples: Vec::new(),
    }
}

/// The policy of a shop.
fn shop() -> MemoryPolicy {
    let mut allergy = kind("allergy", "A substance that a person cannot take.", ALLERGY);
    allergy.examples.push(MemoryKindExample {
        said: "Penicillin gives me a rash.".to_owned(),
        text: "Ada is allergic to penicillin.".to_owned(),
        attributes: r#"{"substance": "penicillin"}"#.to_owned(),
    });
    MemoryPolicy {
        extraction: ExtractionStrategy::Discrete.into(),
        memory_kinds: vec![
            allergy,
            kind("order", "An order in the shop.", ORDER),
            kind("travel_preference", "How a person wants to travel.", ""),
        ],
        ..Default::default()
    }
}

fn attributes(memory: &Memory) -> Value {
    match memory.attributes.as_str() {
        "" => Value::Null,
        text => serde_json::from_str(text).unwrap(),
    }
}

/// How many extracted facts had an outcome, according to the metrics.
async fn outcomes(addr: &str, outcome: &str) -> u64 {
    let (_, metrics) = http_get(addr, "/metrics").await;
    let line = format!("recollect_extracted_facts_total{{outcome=\"{outcome}\"}} ");
    let count = metrics.lines().find_map(|one| one.strip_prefix(&line));
    count.map_or(0, |count| count.parse().unwrap())
}

/// Says a thing to a new thread of the user ada.
async fn say(client: &Client, app: &str, text: &str) {
    let thread_id = client.thread(app).await;
    client.append_turn(&thread_id, text, "I see.").await;
}

#[apply(trial_with_own_server)]
async fn f13_facts_of_an_apps_kinds_are_extracted_with_attributes_that_fit() {
    let (_dir, model, server, client) = start(&[]).await;
    let app = app();
    set_policy(&client, &app, shop()).await;
    let said = r#"FACT(Ada is allergic to nuts.) IS(allergy {"substance": "nuts", "severity": "severe"})
        FACT(Ada likes the window seat.) IS(travel_preference {})
        FACT(Ada lives in Oslo.)"#;
    say(&client, &app, said).await;
    let nuts = known(&client, &app, "ada", "nuts").await;
    let wanted = json!({"substance": "nuts", "severity": "severe"});
    assert_eq!((nuts.kind.as_str(), attributes(&nuts)), ("allergy", wanted));
    let seat = known(&client, &app, "ada", "window").await;
    assert_eq!(
        (seat.kind.as_str(), attributes(&seat)),
        ("travel_preference", Value::Null)
    );
    let home = known(&client, &app, "ada", "Oslo").await;
    assert_eq!((home.kind.as_str(), home.attributes.as_str()), ("", ""));
    // The model was sent the kinds as data.
    let asked = model.asked_about("Ada is allergic to nuts.");
    let lines = asked[0]
        .user
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let kinds: Vec<Value> = lines
        .filter(|line| line["description"].is_string())
        .collect();
    assert_eq!(kinds.len(), 3, "{}", asked[0].user);
    assert_eq!(kinds[0]["json_schema"]["required"], json!(["substance"]));
    assert_eq!(
        kinds[0]["examples"][0]["attributes"],
        json!({"substance": "penicillin"})
    );
    assert!(!asked[0].system.contains("penicillin"));

    // Attributes that do not fit are asked for again.
    let said =
        r#"FACT(Ada waits for order 10482.) IS(order {"number": "soon"} THEN {"number": "10482"})"#;
    say(&client, &app, said).await;
    let order = known(&client, &app, "ada", "10482").await;
    assert_eq!(
        (order.kind.as_str(), attributes(&order)),
        ("order", json!({"number": "10482"}))
    );
    let asked = model.asked_about("Ada waits for order 10482.");
    assert!(
        asked[1].system.contains("`#/properties/number`"),
        "{}",
        asked[1].system
    );

    // Those that never fit are dropped, and what fits is kept.
    let said = r#"FACT(Ada paid for order 7.) IS(order {"number": "7", "total": -1})
        FACT(Ada drives a van.) IS(car {})
        FACT(Ada has a red tent.)"#;
    say(&client, &app, said).await;
    known(&client, &app, "ada", "red tent").await;
    let all = client.all_memories(&app, "ada").await;
    assert_eq!(all.len(), 5, "{all:?}");
    eventually("the dropped facts are counted", SOON, async || {
        outcomes(&server.ready().metrics_addr, "invalid").await == 2
    })
    .await;
}

#[apply(trial_with_own_server)]
async fn f14_what_must_never_be_kept_is_in_no_memory_though_the_model_says_it() {
    let (_dir, model, server, client) = start(&[]).await;
    let app = app();
    let policy = MemoryPolicy {
        never_keep: ["salary", "Gehalt", "estado de salud", "工资"]
            .map(str::to_owned)
            .to_vec(),
        ..shop()
    };
    set_policy(&client, &app, policy).await;
    let said = r#"FACT(Ada's SALARY is 50,000 a year.)
        FACT(Ada bekommt ihr Gehalt am Ersten.)
        FACT(El Estado de Salud de Ada es bueno.)
        FACT(Ada的工资是五万。)
        FACT(Ada asked about an order.) IS(order {"number": "1138", "note": "her salary"})
        FACT(Ada lives in Oslo.)"#;
    say(&client, &app, said).await;
    known(&client, &app, "ada", "Oslo").await;
    let all = client.all_memories(&app, "ada").await;
    let texts: Vec<&String> = all.iter().map(|memory| &memory.text).collect();
    assert_eq!(texts, ["Ada lives in Oslo."]);
    let asked = model.asked_about("Ada lives in Oslo.");
    for entry in ["\"salary\"", "\"estado de salud\""] {
        assert!(asked[0].user.contains(entry), "{}", asked[0].user);
        assert!(!asked[0].system.contains(entry), "{}", asked[0].system);
    }
    eventually("the dropped facts are counted", SOON, async || {
        outcomes(&server.ready().metrics_addr, "forbidden").await == 5
    })
    .await;
}

#[apply(trial_with_own_server)]
async fn f14_a_summary_loses_the_sentences_with_what_must_never_be_kept() {
    let (_dir, model, _server, client) = start(&[]).await;
    let app = app();
    let policy = MemoryPolicy {
        extraction: ExtractionStrategy::Summary.into(),
        never_keep: vec!["salary".to_owned()],
        ..Default::default()
    };
    set_policy(&client, &app, policy).await;
    let words = "Ada lives in Oslo. Her salary is 50,000. She has two cats.";
    model.answers(Answering::Words(words.to_owned()));
    say(&client, &app, "I live in Oslo, and my salary is 50,000.").await;
    let summary = known(&client, &app, "ada", "Oslo").await;
    assert_eq!(summary.text, "Ada lives in Oslo. She has two cats.");
}
