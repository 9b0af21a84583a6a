//! `recollect memory`.

use recollect_tests::{Finished, Key, PLAIN, app, apply, eventually, memory, recollect_at, trial};

use super::supersede;
use crate::plain;

fn cli(args: &[&str]) -> Finished {
    let args: Vec<&str> = ["memory"].iter().chain(args).copied().collect();
    recollect_at(&PLAIN.ready().addr, Key::Acme, &args)
}

#[apply(trial)]
async fn memories_are_shown_and_managed_from_the_command_line() {
    let client = plain().await;
    let app = app();
    let owner = ["--app", &app, "--user", "ada"];
    let run = |args: &[&str]| {
        let args: Vec<&str> = args.iter().chain(&owner).copied().collect();
        cli(&args)
    };
    let empty = run(&["list"]).ok();
    assert!(empty.stdout.contains("memory add"), "{empty:?}");
    let metadata = ["--metadata", r#"{"team": "blue", "rank": 3}"#];
    let add = ["add", "Lives in Oslo", "--topic", "home", "--json"];
    let added = run(&[&add[..], &metadata[..]].concat()).ok().json();
    let id = added["memories"][0]["memory"]["memoryId"]
        .as_str()
        .unwrap()
        .to_owned();
    let again = run(&["add", "lives in OSLO."]).ok();
    assert!(
        again.stdout.contains(&id) && again.stdout.contains("known already"),
        "{again:?}"
    );
    run(&["add", "Likes tea", "--pin"]).ok();

    let listed = run(&["list"]).ok().stdout;
    assert!(
        listed.contains("Lives in Oslo") && listed.contains("[pinned] Likes tea"),
        "{listed}"
    );
    let listed = run(&["list", "--json", "--topic", "home"])
        .ok()
        .json_lines();
    assert_eq!(listed.len(), 1);
    assert_eq!(listed[0]["memoryId"], id.as_str());
    for (metadata, count) in [(r#"{"rank": 3}"#, 1), (r#"{"rank": "3"}"#, 0)] {
        let listed = run(&["list", "--json", "--metadata", metadata]).ok();
        assert_eq!(listed.json_lines().len(), count, "{metadata}");
    }
    let profile = run(&["profile"]).ok().stdout;
    for expected in [
        "home",
        "Lives in Oslo",
        "[pinned] Likes tea",
        "; 0 memories",
    ] {
        assert!(profile.contains(expected), "{profile}");
    }
    let profile = run(&["profile", "--max-tokens", "1", "--json"]).ok().json();
    assert_eq!(profile["omittedCount"], "2");
    assert_eq!(run(&["profile", "--max-tokens", "0"]).code, Some(2));
    let shown = cli(&["show", &id]).ok().stdout;
    assert!(shown.contains(r#"{"rank": 3, "team": "blue"}"#), "{shown}");
    let refused = run(&["list", "--metadata", "[1]"]);
    assert!(refused.stderr.contains("JSON object"), "{refused:?}");
    eventually(
        "the index has it",
        std::time::Duration::from_secs(30),
        async || {
            let found = run(&["search", "Oslo", "--json"]).ok().json();
            found["memories"][0]["memory"]["text"] == "Lives in Oslo"
        },
    )
    .await;
    assert!(
        run(&["search", "Oslo"])
            .ok()
            .stdout
            .contains("Lives in Oslo")
    );
    assert!(run(&["search", "zebra"]).ok().stdout.contains("Nothing"));

    let newer = supersede(&client, &id, memory("Lives in Bergen")).await;
    let newer = newer.memory.unwrap().memory_id;
    let shown = cli(&["show", &newer]).ok().stdout;
    assert!(
        shown.contains("Lives in Bergen") && shown.contains("It supersedes:"),
        "{shown}"
    );
    assert!(shown.contains("Lives in Oslo"), "{shown}");
    let (older, _) = client.get_memory(&id).await;
    let before = older.create_time.unwrap().to_string();
    for flags in [
        vec!["--known-at", &before],
        vec!["--as-of", &before],
        vec!["--as-of", &before, "--known-at", &before],
    ] {
        let listed = run(&[&["list", "--json"][..], &flags].concat()).ok();
        let listed = listed.json_lines();
        assert_eq!(listed.len(), 1, "{listed:?}");
        assert_eq!(listed[0]["memoryId"], id.as_str());
    }
    let found = run(&["search", "Oslo", "--known-at", &before]).ok().stdout;
    assert!(found.contains("Lives in Oslo"), "{found}");
    for (flags, holds, not) in [
        (vec![], "Lives in Bergen", "Lives in Oslo"),
        (
            vec!["--known-at", before.as_str()],
            "Lives in Oslo",
            "Lives in Bergen",
        ),
        (
            vec!["--as-of", before.as_str()],
            "Lives in Oslo",
            "Lives in Bergen",
        ),
    ] {
        let context = ["--session", "home", "--json", "Oslo or Bergen?"];
        let context = [&["context"], &owner[..], &context[..], &flags[..]].concat();
        let context = recollect_at(&PLAIN.ready().addr, Key::Acme, &context);
        let profile = run(&[&["profile"], &flags[..]].concat());
        for shown in [profile.ok().stdout, context.ok().stdout] {
            assert!(
                shown.contains(holds) && !shown.contains(not),
                "{flags:?}: {shown}"
            );
        }
    }
    let refused = run(&["list", "--known-at", "yesterday"]);
    assert!(refused.stderr.contains("must be a time"), "{refused:?}");
    let shown = cli(&["show", &id]).ok().stdout;
    assert!(shown.contains("known until"), "{shown}");
    assert!(cli(&["pin", &newer]).ok().stdout.contains("pinned"));
    assert!(client.get_memory(&newer).await.0.pinned());
    cli(&["pin", &newer, "--off"]).ok();
    assert!(!client.get_memory(&newer).await.0.pinned());

    let dry = run(&["delete", "--max-count", "1", "--dry-run"])
        .ok()
        .stdout;
    assert!(dry.contains("2 memories: would be deleted"), "{dry}");
    assert_eq!(client.all_memories(&app, "ada").await.len(), 3);
    let done = run(&["delete", "--max-count", "1", "--json"])
        .ok()
        .json_lines();
    assert_eq!(done[0]["deletedCount"], "2");
    let left = client.all_memories(&app, "ada").await;
    assert_eq!(left.len(), 1);
    assert_eq!(left[0].text, "Likes tea");

    let none = cli(&["show", &id]);
    assert_eq!(none.code, Some(4), "{none:?}");
    assert_eq!(run(&["delete"]).code, Some(2));
}
