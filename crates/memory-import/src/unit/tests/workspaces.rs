//! The export of a Slack workspace.

use super::*;

const CHANNEL: &str = "C024BE91L";
const THREAD: &str = "C024BE91L/1740819700.000300";

#[test]
fn channels_and_threads_of_slack_become_threads() {
    let found = read(&export("slack"));
    assert_eq!(
        found.of(CHANNEL),
        [
            "USER Ada: Morning! The release moves to Tuesday (https://cal.example.org/r?d=1&t=2), <noon>.",
            "ASSISTANT build: Build 812/2 tests failed on main (https://ci.example.org/812)",
            "USER Ben Okafor: [build.log]",
            "USER Ada: @here released.",
        ]
    );
    // The message that begins a thread, and the replies, those of another day too.
    assert_eq!(
        found.of(THREAD),
        [
            "USER Ada: @Ben Okafor who checks the backups in #general?",
            "USER Ben Okafor: I do, tonight.",
            "USER Ben Okafor: Backups are fine.",
        ]
    );
    assert_eq!(found.of("D024BE91L"), ["USER Ben Okafor: Lunch at one?"]);
    let titles: Vec<&str> = found
        .threads
        .iter()
        .map(|(_, title)| title.as_str())
        .collect();
    assert_eq!(
        titles,
        [
            "#D024BE91L",
            "#general",
            "#general: @Ben Okafor who checks the backups in #general?",
        ]
    );
    let left_out = BTreeMap::from([
        ("contents of files (their names are kept)", 1),
        ("deleted messages", 1),
        ("notices of Slack, such as joins", 1),
    ]);
    assert_eq!(found.left_out, left_out);
    assert_eq!(
        found.problems,
        ["general/2025-03-01.json, [7]: `ts` is missing or no time"]
    );
    let (_, first) = found
        .messages
        .iter()
        .find(|(key, _)| key == CHANNEL)
        .unwrap();
    assert_eq!(first.external_id, "1740819600.000200");
    let time = first.create_time.unwrap();
    assert_eq!((time.seconds, time.nanos), (1_740_819_600, 200_000));
    assert_eq!(first.metadata, "{\"edited_ts\":\"1740819660.000000\"}");
    assert!(
        !format!("{:?}", found.messages).contains("xoxe"),
        "a token of a URL"
    );
    assert_eq!(read(&export("slack")), found, "a second time");
}

#[test]
fn a_single_day_of_slack_is_read_with_what_lies_around_it() {
    let whole = read(&export("slack"));
    let day = read(&export("slack/general/2025-03-02.json"));
    let of_day = |found: &Found| -> Vec<MessageInput> {
        let of_day = found
            .messages
            .iter()
            .filter(|(_, one)| one.external_id.starts_with("17409"));
        of_day.map(|(_, one)| one.clone()).collect()
    };
    let mut expected = of_day(&whole);
    expected.sort_by_key(|one| one.external_id.clone());
    assert_eq!(of_day(&day), expected);

    // Alone: the channel is named for its folder, and members by their ids.
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().join("random");
    fs::create_dir(&folder).unwrap();
    fs::copy(
        export("slack/general/2025-03-02.json"),
        folder.join("2025-03-02.json"),
    )
    .unwrap();
    let alone = read(&folder.join("2025-03-02.json"));
    assert_eq!(alone.of("random"), ["USER U1ADA: @here released."]);
    assert_eq!(
        alone.of("random/1740819700.000300"),
        ["USER U2BEN: Backups are fine."]
    );
}

#[test]
fn attachments_of_slack_beside_a_text_are_counted() {
    let attachment = json!({"title": "Menu", "text": "Soup and bread"});
    let day = json!([
        {"type": "message", "user": "U1ADA", "ts": "1740819600.000200",
            "text": "See https://menu.example.org", "attachments": [attachment, attachment]},
        {"type": "message", "bot_id": "B1", "ts": "1740819700.000200", "text": "",
            "attachments": [attachment]},
    ]);
    let (_dir, path) = file("2025-03-01.json", day.to_string());
    let found = read(&path);
    assert_eq!(found.messages.len(), 2);
    let left_out = BTreeMap::from([("attachments of apps beside a text", 2)]);
    assert_eq!(found.left_out, left_out);
}
