//! `recollect files`.

use std::fs;

use recollect_tests::{Finished, Key, PLAIN, app, apply, recollect_at, trial};

use super::{GARDEN, put, replacing};
use crate::plain;

#[apply(trial)]
async fn f22_files_are_shown_and_managed_from_the_command_line() {
    let client = plain().await;
    let app = app();
    let owner = ["--app", &app, "--user", "ada"];
    let run = |args: &[&str]| -> Finished {
        let args: Vec<&str> = ["files"]
            .iter()
            .chain(args)
            .chain(&owner)
            .copied()
            .collect();
        recollect_at(&PLAIN.ready().addr, Key::Acme, &args)
    };
    let empty = run(&["ls"]).ok().stdout;
    assert!(empty.contains("There are no files."), "{empty}");
    let path = "/projects/garden.md";
    let directory = tempfile::tempdir().unwrap();
    let local = directory.path().join("garden.md");
    fs::write(&local, GARDEN).unwrap();
    let stored = run(&["put", path, local.to_str().unwrap()]).ok().stdout;
    assert!(stored.contains("was created, version 1"), "{stored}");
    client.call(replacing(&app, path, "tulips", "roses")).await;
    put(&client, &app, "/readme.md", "# Notes\n").await;

    let listed = run(&["ls"]).ok().stdout;
    for expected in ["/projects/", path, "/readme.md", "2 files of 73 bytes"] {
        assert!(listed.contains(expected), "{expected}: {listed}");
    }
    assert_eq!(run(&["cat", path, "--at", "1"]).ok().stdout, GARDEN);
    let log = run(&["log", path]).ok().stdout;
    assert!(log.contains("replace") && log.contains("put"), "{log}");
    let diff = run(&["diff", path]).ok().stdout;
    assert!(diff.contains("+- Plant roses in October."), "{diff}");
    let found = run(&["search", "roses", "--json"]).ok().json();
    assert_eq!(found["files"][0]["lines"][0]["firstLine"], 3);
    run(&["mv", "/projects", "/archive"]).ok();
    let removed = run(&["rm", "/archive/garden.md"]).ok().stdout;
    assert!(removed.contains("1 file deleted"), "{removed}");
    let missing = run(&["cat", "/archive/garden.md"]);
    assert_eq!(missing.code, Some(4), "{missing:?}");
    assert!(missing.stderr.contains("files ls"), "{missing:?}");
    let restored = run(&["restore", "/archive/garden.md", "1"]).ok().stdout;
    assert!(restored.contains("as version 3"), "{restored}");
    assert_eq!(run(&["cat", "/archive/garden.md"]).ok().stdout, GARDEN);
}
