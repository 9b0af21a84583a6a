//! Interrupted exports and imports are resumed.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Command, Stdio};
use std::time::Duration;

use memory_contract::proto::{ExportRecordsRequest, ListThreadsRequest, record::Kind};
use recollect_tests::{
    Client, Key, Options, PLAIN, Refused as _, S3, S3Fault, Server, app, apply, eventually, node,
    node_turn, recollect_at, recollect_binary, session, target_app, target_thread, trial,
    trial_with_own_server,
};
use serde_json::json;
use tonic::Code;
use uuid::Uuid;

use super::{export_of, records, split, summary};
use crate::plain;

const PROGRESS_TIMEOUT: Duration = Duration::from_secs(30);

/// Threads of an app, each with a few messages; their ids.
async fn threads(client: &Client, app: &str, number: u32) -> Vec<String> {
    let mut threads = Vec::new();
    for key in 0..number {
        let session = session(app, "ada", &format!("thread:{key}"));
        let thread_id = client.resolve(session).await.thread_id;
        let said = format!("Question {key}?");
        client.append_turn(&thread_id, &said, "Answer.").await;
        client.append_turn(&thread_id, "And?", "Or.").await;
        threads.push(thread_id);
    }
    threads
}

fn thread_ids(records: &[Kind]) -> Vec<String> {
    records
        .iter()
        .filter_map(|record| match record {
            Kind::Thread(thread) => Some(thread.thread_id.clone()),
            _ => None,
        })
        .collect()
}

#[apply(trial)]
async fn l12_an_export_resumes_after_a_thread() {
    let client = plain().await;
    let app = app();
    let threads = threads(&client, &app, 5).await;
    let after = |thread_id: &str| ExportRecordsRequest {
        after_thread_id: thread_id.to_owned(),
        ..export_of(&app)
    };
    let (all, whole) = split(records(&client, export_of(&app)).await);
    assert_eq!(thread_ids(&all), threads, "in order of creation");
    for known in 0..5 {
        let (rest, reported) = split(records(&client, after(&threads[known])).await);
        assert_eq!(thread_ids(&rest), threads[known + 1..]);
        assert_eq!(rest, all[5 * (known + 1)..], "each has 4 messages");
        assert_eq!(reported.thread_count, 4 - known as i64);
        assert_ne!(reported.checksum, whole.checksum);
    }

    // To another tenant it is unknown.
    let globex = PLAIN.client(Key::Globex).await;
    let others = globex.transfers().export_records(after(&threads[0])).await;
    others.refused().is(Code::NotFound, "THREAD_NOT_FOUND");

    client.delete_thread(&threads[1]).await;
    for unknown in [&threads[1], &Uuid::new_v4().to_string()] {
        let refused = client.transfers().export_records(after(unknown)).await;
        refused.refused().is(Code::NotFound, "THREAD_NOT_FOUND");
    }
    let both = ExportRecordsRequest {
        target: target_thread(&threads[0]),
        ..after(&threads[0])
    };
    for wrong in [both, after("no-uuid")] {
        let refused = client.transfers().export_records(wrong).await;
        refused.refused().names_field("after_thread_id");
    }
}

#[apply(trial)]
async fn l12_an_interrupted_import_is_finished_by_running_it_again() {
    let client = plain().await;
    let app = app();
    let ids = threads(&client, &app, 6).await;
    for thread_id in &ids {
        for question in ["One?", "Two?"] {
            let turn = node_turn(&node(thread_id, "planner"), question, "Yes.");
            client.call(turn).await;
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("out.jsonl").display().to_string();
    let addr = &PLAIN.ready().addr;
    recollect_at(
        addr,
        Key::Acme,
        &["export", "--app", &app, "--output", &file],
    )
    .ok();
    let lines = fs::read_to_string(&file).unwrap();
    let half: String = lines
        .lines()
        .take(24)
        .map(|line| format!("{line}\n"))
        .collect();

    // Killed in the middle: what it read is stored, and the rest never came.
    let mut import = Command::new(recollect_binary())
        .args(["import", "-", "--addr", &format!("http://{addr}")])
        .args(["--api-key", &Key::Globex.secret()])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut pipe = import.stdin.take().unwrap();
    pipe.write_all(half.as_bytes()).unwrap();
    pipe.flush().unwrap();
    let globex = PLAIN.client(Key::Globex).await;
    let listed = async || {
        let request = ListThreadsRequest {
            target: target_app(&app),
            ..Default::default()
        };
        let listed = globex.threads().list_threads(request).await.unwrap();
        listed.into_inner().threads
    };
    eventually(
        "the first threads are stored",
        PROGRESS_TIMEOUT,
        async || listed().await.iter().any(|thread| thread.message_count > 0),
    )
    .await;
    import.kill().unwrap();
    import.wait().unwrap();
    drop(pipe);
    assert!(listed().await.len() < ids.len(), "it was interrupted");

    let import = || {
        let args = ["import", &file, "--json", "--no-wait"];
        recollect_at(addr, Key::Globex, &args).ok().json()
    };
    let finished = import();
    assert!(finished["known"].as_u64().unwrap() > 0, "{finished}");
    assert_eq!(finished["checked"], true, "{finished}");
    let reported = summary(&client, export_of(&app)).await;
    assert_eq!(finished["checksum"], reported.checksum);
    assert_eq!(summary(&globex, export_of(&app)).await, reported);
    assert_eq!(import()["stored"], 0);
    assert_eq!(summary(&globex, export_of(&app)).await, reported);
}

#[apply(trial)]
async fn l12_an_interrupted_export_is_finished_by_resuming_it() {
    let client = plain().await;
    let app = app();
    let ids = threads(&client, &app, 4).await;
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("out.jsonl");
    let file = path.display().to_string();
    let part = dir.path().join("out.jsonl.part");
    let of = dir.path().join("out.jsonl.part.of");
    let addr = &PLAIN.ready().addr;
    let export = |more: &[&str]| {
        let args = ["export", "--app", &app, "--output", &file];
        recollect_at(addr, Key::Acme, &[&args, more].concat())
    };
    export(&[]).ok();
    assert!(!part.exists() && !of.exists());
    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let whole = fs::read_to_string(&path).unwrap();
    let server = format!("http://{addr}");
    let selection = json!({"selection": {"app": app}, "server": server}).to_string();
    let broken_off = |text: &[u8]| {
        fs::write(&part, text).unwrap();
        fs::write(&of, &selection).unwrap();
    };

    // After any number of bytes, also in the middle of a line.
    for bytes in [
        0,
        40,
        whole.len() / 3,
        whole.len() / 2,
        whole.len() - 300,
        whole.len() - 1,
    ] {
        fs::remove_file(&path).unwrap();
        broken_off(&whole.as_bytes()[..bytes]);
        export(&["--resume"]).ok();
        assert_eq!(fs::read_to_string(&path).unwrap(), whole, "{bytes}");
        assert!(!part.exists() && !of.exists());
    }
    // Without anything to go on with, it begins.
    fs::remove_file(&path).unwrap();
    export(&["--resume"]).ok();
    assert_eq!(fs::read_to_string(&path).unwrap(), whole);

    // The thread that it would go on behind is not there any more.
    broken_off(whole.as_bytes());
    client.delete_thread(&ids[3]).await;
    export(&["--resume"]).ok();
    let lines = fs::read_to_string(&path).unwrap();
    assert_eq!(lines.lines().count(), 3 * 5 + 1);
    let reported = summary(&client, export_of(&app)).await;
    assert!(lines.contains(&reported.checksum));

    // The file of another export is not changed.
    broken_off(whole.as_bytes());
    let resume = ["export", "--output", &file, "--resume"];
    // A wider one would leave out what this one has passed over.
    for more in [
        &["--app", "other"][..],
        &["--app", &app, "--user", "ada"],
        &[],
    ] {
        let refused = recollect_at(addr, Key::Acme, &[&resume, more].concat());
        assert_eq!(refused.code, Some(2), "{refused:?}");
        assert_eq!(fs::read_to_string(&part).unwrap(), whole);
    }
    fs::remove_file(&of).unwrap();
    let refused = export(&["--resume"]);
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.stderr.contains("starts over"), "{refused:?}");
}

#[apply(trial_with_own_server)]
async fn an_export_that_the_object_store_ended_resumes_when_it_is_back() {
    let s3 = S3::new();
    let mut options = Options::with(&["embedding.kind = \"none\""]);
    options.config.extend(s3.config());
    let (_dir, server, client) = Server::start_own(&options).await;
    let ids = threads(&client, "app", 4).await;
    let planner = node(&ids[2], "planner");
    client.add_node_turn(&planner, "Q", "A").await;
    client.flush_node(&planner).await;

    let out = tempfile::tempdir().unwrap();
    let export = |name: &str, more: &[&str]| {
        let file = out.path().join(name).display().to_string();
        let args = ["export", "--output", &file];
        recollect_at(&server.ready().addr, Key::Acme, &[&args, more].concat())
    };
    export("whole", &[]).ok();
    s3.set_fault(S3Fault::Forbidden);
    let request = ExportRecordsRequest::default();
    let stream = client.transfers().export_records(request).await.unwrap();
    let mut stream = stream.into_inner();
    let ended = loop {
        match stream.message().await {
            Ok(Some(_)) => {}
            Ok(None) => panic!("it has an end"),
            Err(status) => break Err::<tonic::Response<()>, _>(status),
        }
    };
    ended
        .refused()
        .is(Code::Unavailable, "OBJECT_STORE_UNAVAILABLE");
    let broken = export("out", &[]);
    assert_eq!(broken.code, Some(1), "{broken:?}");
    assert!(broken.stderr.contains("--resume"), "{broken:?}");
    s3.set_fault(S3Fault::None);
    let resumed = export("out", &["--resume"]).ok();
    assert!(
        resumed.stderr.contains("8 messages of 2 threads"),
        "{resumed:?}"
    );
    let read = |name: &str| fs::read_to_string(out.path().join(name)).unwrap();
    assert_eq!(read("out"), read("whole"));
}
