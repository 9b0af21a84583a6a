//! The command line reports imports that differ from their file.

use std::fs;
use std::path::PathBuf;

use memory_contract::proto::{
    GetAppPolicyRequest, GetFileRequest, MemoryInput, MemoryPolicy, Role, file, get_file_request,
};
use recollect_tests::{
    Client, Finished, Key, PLAIN, app, apply, memory, node, recollect_at, say, session, trial,
};
use serde_json::json;
use tempfile::TempDir;

use super::{export_of, memories_of, register, summary};
use crate::plain;

/// An export of an app, as lines in a file.
struct Export {
    dir: TempDir,
    lines: Vec<String>,
}

impl Export {
    fn of(app: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("out.jsonl").display().to_string();
        let args = ["export", "--app", app, "--output", &file];
        recollect_at(&PLAIN.ready().addr, Key::Acme, &args).ok();
        let text = fs::read_to_string(&file).unwrap();
        Self {
            lines: text.lines().map(str::to_owned).collect(),
            dir,
        }
    }

    fn path(&self) -> PathBuf {
        self.dir.path().join("in.jsonl")
    }

    /// Imports the lines into the other tenant.
    fn import(&self, lines: &[String], more: &[&str]) -> Finished {
        fs::write(self.path(), lines.join("\n")).unwrap();
        let path = self.path().display().to_string();
        let args = ["import", &path, "--json", "--no-wait"];
        recollect_at(&PLAIN.ready().addr, Key::Globex, &[&args, more].concat())
    }
}

/// Checks that an import was refused in one part, for this reason.
#[track_caller]
fn refused(finished: &Finished, reason: &str) {
    assert_eq!(finished.code, Some(1), "{finished:?}");
    let reported = finished.json();
    assert_eq!(reported["refused"], 1, "{reported}");
    let error = reported["errors"][0]["error"].as_str().unwrap();
    assert!(error.contains(reason), "{error}");
}

async fn conversation(client: &Client, app: &str) -> String {
    let session = session(app, "ada", "thread:1");
    let thread_id = client.resolve(session).await.thread_id;
    client.append_turn(&thread_id, "Who?", "Ada.").await;
    client.append_turn(&thread_id, "Where?", "Here.").await;
    thread_id
}

#[apply(trial)]
async fn an_export_that_was_cut_short_is_reported() {
    let client = plain().await;
    let app = app();
    conversation(&client, &app).await;
    let export = Export::of(&app);
    let cut = &export.lines[..export.lines.len() - 2];
    let reported = export.import(cut, &[]);
    refused(&reported, "broke off");
    let reported = reported.json();
    assert_eq!(
        (&reported["stored"], &reported["checksum"]),
        (&json!(3), &json!(null))
    );
    assert_eq!(reported["errors"][0]["place"], "line 4");
}

#[apply(trial)]
async fn a_line_that_was_changed_is_found_by_the_checksum() {
    let client = plain().await;
    let app = app();
    conversation(&client, &app).await;
    let export = Export::of(&app);
    let mut changed = export.lines.clone();
    changed[2] = changed[2].replace("Ada.", "Eve.");
    assert_ne!(changed, export.lines);
    refused(&export.import(&changed, &["--no-check"]), "was changed");
    let mut shorter = export.lines.clone();
    shorter.remove(4);
    let again = ["--no-check", "--again"];
    refused(&export.import(&shorter, &again), "3 of 4 message");
}

#[apply(trial)]
async fn a_thread_that_went_on_is_reported() {
    let client = plain().await;
    let app = app();
    conversation(&client, &app).await;
    let export = Export::of(&app);
    let first = export.import(&export.lines, &[]).ok().json();
    assert_eq!(first["checked"], true);
    let reported = summary(&client, export_of(&app)).await;
    assert_eq!(first["checksum"], reported.checksum);

    let globex = PLAIN.client(Key::Globex).await;
    let copy = globex.resolve(session(&app, "ada", "thread:1")).await;
    let more = vec![say(Role::User, "And then?")];
    globex.append(&copy.thread_id, more).await;
    let again = export.import(&export.lines, &[]);
    refused(&again, "it has 5 messages, the file 4: it went on there");
    assert_eq!(again.json()["checked"], false);
    export.import(&export.lines, &["--no-check"]).ok();
    // Messages stored as new ones differ from the file.
    let new = export.import(&export.lines, &["--again"]).ok().json();
    assert_eq!(new["checked"], json!(null));
}

#[apply(trial)]
async fn a_policy_that_differs_is_kept_unless_it_is_to_be_replaced() {
    let client = plain().await;
    let globex = PLAIN.client(Key::Globex).await;
    let app = app();
    let set = async |client: &Client, top_k: i32| {
        let policy = MemoryPolicy {
            top_k: Some(top_k),
            ..Default::default()
        };
        client.set_policy(&app, policy).await;
    };
    set(&client, 7).await;
    let thread_id = conversation(&client, &app).await;
    let location = file::Location::UploadFileId(format!("file-{app}"));
    register(&client, location.clone()).await;
    let reference = memory_contract::proto::Part {
        content: Some(memory_contract::proto::part::Content::File(
            memory_contract::proto::FileRef {
                r#type: memory_contract::proto::FileType::Image.into(),
                location: Some(memory_contract::proto::file_ref::Location::UploadFileId(
                    format!("file-{app}"),
                )),
                ..Default::default()
            },
        )),
        ..Default::default()
    };
    let message = recollect_tests::with_parts(Role::User, vec![reference]);
    client.append(&thread_id, vec![message]).await;
    let export = Export::of(&app);

    set(&globex, 8).await;
    register(&globex, location).await;
    let policy = async || {
        let request = GetAppPolicyRequest {
            app_id: app.clone(),
        };
        let found = globex.call(request).await;
        let policy = found.app_policy.unwrap().policy.unwrap();
        policy.top_k
    };
    refused(&export.import(&export.lines, &[]), "which was kept");
    assert_eq!(policy().await, Some(8));
    let replaced = export.import(&export.lines, &["--replace"]).ok().json();
    assert_eq!(policy().await, Some(7));
    assert_eq!(
        (&replaced["app_policies"], &replaced["files"]),
        (&json!(1), &json!(1))
    );
    let request = GetFileRequest {
        location: Some(get_file_request::Location::UploadFileId(format!(
            "file-{app}"
        ))),
    };
    globex.call(request).await;
}

#[apply(trial)]
async fn the_commands_report_a_missing_memory() {
    let client = plain().await;
    let app = app();
    let thread_id = conversation(&client, &app).await;
    let planner = node(&thread_id, "planner");
    client.add_node_turn(&planner, "Q", "A").await;
    client.flush_node(&planner).await;
    let key = client.object_key(&planner).await;
    let object = PLAIN.data().join("objects").join(key);
    fs::write(object, "oops").unwrap();

    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("out.jsonl").display().to_string();
    let args = ["export", "--app", &app, "--output", &file];
    let exported = recollect_at(&PLAIN.ready().addr, Key::Acme, &args);
    assert_eq!(exported.code, Some(1), "{exported:?}");
    assert!(exported.stderr.contains("node planner"), "{exported:?}");
    let args = ["import", &file, "--json", "--no-wait"];
    let imported = recollect_at(&PLAIN.ready().addr, Key::Globex, &args);
    refused(&imported, "planner could not be read");
    let reported = imported.json();
    assert_eq!(
        (&reported["stored"], &reported["node_turns"]),
        (&json!(4), &json!(0))
    );
}

#[apply(trial)]
async fn existing_memories_are_kept_and_missing_sources_are_counted() {
    let client = plain().await;
    let globex = PLAIN.client(Key::Globex).await;
    let app = app();
    let thread_id = conversation(&client, &app).await;
    let said = client.all_messages(&thread_id).await;
    let proved = MemoryInput {
        source_message_ids: said.iter().map(|said| said.message_id.clone()).collect(),
        ..memory("Is here.")
    };
    client.remember(&app, "ada", vec![proved]).await;
    client.remember_one(&app, "bob", "Is Bob.").await;
    let export = Export::of(&app);

    // Without the conversation the memory has no sources.
    let memories: Vec<String> = export
        .lines
        .iter()
        .filter(|line| line.starts_with("{\"memory\""))
        .cloned()
        .collect();
    assert_eq!(memories.len(), 2);
    let alone = export.import(&memories, &["--no-check"]);
    let alone = alone.json();
    assert_eq!(
        (&alone["memories"], &alone["missing_sources"]),
        (&json!(2), &json!(4)),
        "{alone}"
    );
    let kept = globex.all_memories(&app, "ada").await;
    assert_eq!(kept[0].source_message_ids, [""; 0]);
    // It stays as it is, which is reported.
    refused(&export.import(&export.lines, &[]), "was kept");
}

#[apply(trial)]
async fn l12_memories_whose_text_is_stored_are_merged_and_counted() {
    let client = plain().await;
    let globex = PLAIN.client(Key::Globex).await;
    let app = app();
    for text in ["Lives in Oslo.", "Plays the violin."] {
        client.remember_one(&app, "ada", text).await;
    }
    let own = globex.remember_one(&app, "ada", "lives in Oslo").await;
    let export = Export::of(&app);
    let imported = || {
        let reported = export.import(&export.lines, &[]).ok().json();
        let counts = ["memories", "merged", "refused"].map(|name| reported[name].clone());
        (counts, reported["checked"].clone())
    };
    let mut held = Vec::new();
    for _ in ["the first time", "again"] {
        assert_eq!(imported(), ([json!(1), json!(1), json!(0)], json!(true)));
        let memories = memories_of(&globex, &app, "ada").await;
        let texts: Vec<&str> = memories.iter().map(|one| one.text.as_str()).collect();
        assert_eq!(texts, ["Plays the violin.", "lives in Oslo"]);
        assert_eq!(memories[1], own);
        held.push(memories);
    }
    assert_eq!(held[0], held[1]);
}
