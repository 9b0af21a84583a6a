//! Times of `recollect recall` and `recollect context`.

use memory_contract::proto::{MemoryPolicy, MessageInput, Role};
use recollect_tests::{Client, Finished, Key, PLAIN, app, apply, recollect_at, say, trial};
use serde_json::Value;

use crate::plain;

/// What was said at noon on three days of March 2026.
const LUNCHES: [(&str, &str); 3] = [
    ("2026-03-10T12:00:00Z", "For lunch I had soup."),
    ("2026-03-11T12:00:00Z", "For lunch I had ramen."),
    ("2026-03-12T12:00:00Z", "For lunch I had curry."),
];
/// The second day.
const DAY: [&str; 4] = ["--start", "2026-03-11", "--end", "2026-03-12T00:00:00Z"];

fn cli(args: &[&str]) -> Finished {
    recollect_at(&PLAIN.ready().addr, Key::Acme, args)
}

/// Stores the lunches of a user.
async fn with_lunches(client: &Client, app: &str) {
    let thread_id = client.thread_of(app, "ada").await;
    let lunches = LUNCHES.map(|(time, text)| MessageInput {
        create_time: Some(time.parse().unwrap()),
        ..say(Role::User, text)
    });
    client.append(&thread_id, lunches.to_vec()).await;
}

/// The texts of an answer of `recall --json`.
fn recalled(finished: Finished) -> Vec<String> {
    let answer = finished.ok().json();
    let messages = answer["messages"].as_array().cloned().unwrap_or_default();
    let text = |found: &Value| {
        found["message"]["parts"][0]["text"]
            .as_str()
            .map(str::to_owned)
    };
    messages.iter().filter_map(text).collect()
}

#[apply(trial)]
async fn recall_lists_and_searches_what_was_said_in_a_range() {
    let client = plain().await;
    let app = app();
    with_lunches(&client, &app).await;
    let recall = |args: &[&str]| {
        let owner = ["recall", "--app", &app, "--user", "ada"];
        cli(&[&owner[..], args].concat())
    };
    let json = |args: &[&str]| recalled(recall(&[&["--json"], args].concat()));
    let [soup, ramen, curry] = LUNCHES.map(|(_, text)| text);
    // Nothing around the messages of the range is listed unless it is asked for.
    assert_eq!(json(&DAY), [ramen]);
    assert_eq!(json(&["--start", "2026-03-11"]), [ramen, curry]);
    assert_eq!(json(&["--end", "2026-03-11"]), [soup]);
    assert_eq!(json(&["--end", "2026-03-13", "--top-k", "1"]), [curry]);
    let around = [&DAY[..], &["--before", "1"]].concat();
    assert_eq!(json(&around), [soup, ramen]);
    let alone = ["--before", "0", "--after", "0"];
    assert_eq!(json(&[&["lunch"], &alone[..]].concat()).len(), 3);
    assert_eq!(json(&[&["lunch"], &DAY[..], &alone].concat()), [ramen]);

    assert!(recall(&DAY).ok().stdout.contains(ramen));
    let never = recall(&["--start", "2026-03-13"]).ok().stdout;
    assert!(never.contains("Nothing was recalled."), "{never}");
    let wrong = recall(&["--start", "yesterday"]);
    assert_eq!(wrong.code, Some(2), "{wrong:?}");
    assert!(wrong.stderr.contains("must be a time"), "{wrong:?}");
    assert_eq!(recall(&[]).code, Some(2));
}

#[apply(trial)]
async fn context_takes_a_range_and_shows_how_times_in_the_question_were_read() {
    let client = plain().await;
    let app = app();
    with_lunches(&client, &app).await;
    // Neighbors of matches may be of other times.
    let alone = MemoryPolicy {
        neighbors_before: Some(0),
        neighbors_after: Some(0),
        ..Default::default()
    };
    client.set_policy(&app, alone).await;
    let later = client.thread_of(&app, "ada").await;
    let context = |args: &[&str]| cli(&[&["context", "--thread", &later], args].concat()).ok();
    let bounded = context(&[&DAY[..], &["--json", "lunch"]].concat()).stdout;
    assert!(bounded.contains("ramen"), "{bounded}");
    assert!(!bounded.contains("soup"), "{bounded}");

    let question = "What did I have for lunch yesterday?";
    // Midnight in Tokyo.
    let zoned = ["--time-zone", "Asia/Tokyo", question];
    let shown = context(&zoned).stdout;
    let read = shown
        .lines()
        .find(|line| line.starts_with("\"yesterday\" was read as "));
    let read = read.unwrap_or_else(|| panic!("{shown}"));
    assert_eq!(read.matches(" 15:00:00").count(), 2, "{read}");
    let named = context(&[&["--json"], &zoned[..]].concat()).json();
    let named = &named["namedTimes"];
    assert_eq!(named[0]["text"], "yesterday", "{named}");
    for bound in ["startTime", "endTime"] {
        let time = named[0][bound].as_str().unwrap();
        assert!(time.ends_with("T15:00:00Z"), "{named}");
    }
    let utc = context(&[question]).stdout;
    assert!(utc.contains(" 00:00:00 to "), "{utc}");
    let prompt = context(&["--text", question]).stdout;
    assert!(!prompt.contains("was read as"), "{prompt}");
    let unknown = [
        "context",
        "--thread",
        &later,
        "--time-zone",
        "Europe/Atlantis",
    ];
    let unknown = cli(&[&unknown[..], &[question]].concat());
    assert_eq!(unknown.code, Some(1), "{unknown:?}");
}
