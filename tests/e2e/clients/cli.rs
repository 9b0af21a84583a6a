//! The command line.

use std::fs;
use std::time::Duration;

use memory_contract::proto::{PlanStepStatus, Role, SetHeadRequest};
use recollect_tests::{
    Client, Finished, Key, PLAIN, S3, S3Fault, app, apply, attempt, built_binary, by_id,
    eventually, history_request, plan, project_dir, put, recollect_at, reply, run_to_end, session,
    target_app, texts, trial,
};
use serde_json::{Value, json};

use crate::plain;
use crate::recall::diary;

/// Runs a client command against the shared server.
fn cli(args: &[&str]) -> Finished {
    recollect_at(&PLAIN.ready().addr, Key::Acme, args)
}

fn find<'a>(value: &'a Value, key: &str) -> &'a Value {
    // Names are as in the proto file or in lower camel case.
    let mut camel = String::new();
    for (index, word) in key.split('_').enumerate() {
        let (first, rest) = word.split_at(1);
        camel += &if index == 0 {
            first.to_owned()
        } else {
            first.to_uppercase()
        };
        camel += rest;
    }
    value
        .get(key)
        .or_else(|| value.get(&camel))
        .unwrap_or(&Value::Null)
}

#[apply(trial)]
async fn the_example_is_imported_recalled_and_stored_once() {
    let client = plain().await;
    let app = app();
    let file = project_dir()
        .join("examples/conversation.jsonl")
        .display()
        .to_string();
    let import = || cli(&["import", &file, "--app", &app, "--user", "ada"]).ok();
    import();
    let request = memory_contract::proto::ListThreadsRequest {
        target: target_app(&app),
        ..Default::default()
    };
    let count = async || -> i64 {
        client
            .call(request.clone())
            .await
            .threads
            .iter()
            .map(|thread| thread.message_count)
            .sum()
    };
    let first = count().await;
    assert!(first > 20, "{first} messages");
    import();
    assert_eq!(count().await, first, "a second import stores nothing twice");

    let args = [
        "recall",
        "--app",
        &app,
        "--user",
        "ada",
        "--json",
        "Where is the spare key kept?",
    ];
    eventually("the index has it", Duration::from_secs(30), async || {
        let recalled = cli(&args).ok().json_lines();
        assert_eq!(recalled.len(), 1, "one object");
        find(&recalled[0], "messages")
            .as_array()
            .is_some_and(|messages| messages.len() >= 5)
    })
    .await;
    let shown = cli(&[
        "recall",
        "--app",
        &app,
        "--user",
        "ada",
        "Where is the spare key kept?",
    ]);
    assert!(shown.ok().stdout.contains("match 1"));
}

#[apply(trial)]
async fn openai_files_are_imported() {
    let client = plain().await;
    let dir = tempfile::tempdir().unwrap();
    let write = |name: &str, value: Value| {
        let path = dir.path().join(name);
        fs::write(&path, value.to_string()).unwrap();
        path.display().to_string()
    };
    let chat = write(
        "chat.json",
        json!({"messages": [
            {"role": "system", "content": "Be kind."},
            {"role": "user", "content": [{"type": "text", "text": "How warm is it in Oslo?"}]},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "c1", "type": "function",
                 "function": {"name": "weather", "arguments": "{\"city\": \"Oslo\"}"}}]},
            {"role": "tool", "tool_call_id": "c1", "content": "12 degrees"},
            {"role": "assistant", "content": "Twelve degrees."},
        ]}),
    );
    for format in ["openai", "openai-chat", "auto"] {
        let app = app();
        let args = [
            "import", &chat, "--format", format, "--app", &app, "--user", "ada",
        ];
        cli(&args).ok();
        let expected = [[
            "ROLE_SYSTEM",
            "ROLE_USER",
            "ROLE_ASSISTANT",
            "ROLE_TOOL",
            "ROLE_ASSISTANT",
        ]];
        assert_eq!(speakers(&client, &app).await, expected, "{format}");
    }
}

#[apply(trial)]
async fn files_of_all_providers_are_imported_once() {
    let client = plain().await;
    let golden = |name: &str| {
        let folder = project_dir().join("crates/memory-formats/tests/golden");
        folder.join(format!("{name}.json")).display().to_string()
    };
    let (system, user, assistant, tool) =
        ("ROLE_SYSTEM", "ROLE_USER", "ROLE_ASSISTANT", "ROLE_TOOL");
    for (name, format, expected) in [
        (
            "openai_chat",
            "openai-chat",
            vec![system, "Ada", assistant, tool, tool, assistant, "Ada"],
        ),
        (
            "openai_responses",
            "openai-responses",
            vec![system, user, assistant, tool, assistant, user],
        ),
        (
            "anthropic_messages",
            "anthropic-messages",
            vec![system, user, assistant, tool, user, assistant, user],
        ),
        (
            "gemini",
            "gemini",
            vec![system, user, assistant, tool, assistant, user],
        ),
    ] {
        let (app, file) = (app(), golden(name));
        for format in ["auto", format] {
            let args = [
                "import",
                &file,
                "--format",
                format,
                "--app",
                &app,
                "--user",
                "ada",
                "--no-wait",
            ];
            cli(&args).ok();
            let stored = speakers(&client, &app).await;
            assert_eq!(stored, [expected.as_slice()], "{name} {format}");
        }
    }
    // An answer keeps its provider's id.
    let (app, file) = (app(), golden("anthropic_messages.response"));
    let session = session(&app, "ada", "answers");
    let args = [
        "import",
        &file,
        "--format",
        "anthropic",
        "--app",
        &app,
        "--user",
        "ada",
        "--session",
        "answers",
        "--no-wait",
    ];
    cli(&args).ok();
    let thread_id = client.resolve(session).await.thread_id;
    let messages = client.all_messages(&thread_id).await;
    assert_eq!(messages[0].external_id, "msg_01XFDUDYJgAACzvnptvVoYEL");
}

/// The speakers of each thread of an app, the oldest thread first: names, or else roles.
async fn speakers(client: &Client, app: &str) -> Vec<Vec<String>> {
    let request = memory_contract::proto::ListThreadsRequest {
        target: target_app(app),
        ..Default::default()
    };
    let threads = client.call(request).await.threads;
    let mut speakers = Vec::new();
    for thread in threads.iter().rev() {
        let messages = client.all_messages(&thread.thread_id).await;
        let who = messages.iter().map(|message| match message.name.as_str() {
            "" => message.role().as_str_name().to_owned(),
            name => name.to_owned(),
        });
        speakers.push(who.collect());
    }
    speakers
}

#[apply(trial)]
async fn memory_bench_imports_locomo_conversations() {
    let client = plain().await;
    let dir = tempfile::tempdir().unwrap();
    let conversation = json!({
        "speaker_a": "Caroline", "speaker_b": "Melanie",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [
            {"speaker": "Caroline", "dia_id": "D1:1", "text": "Hey Mel!"},
            {"speaker": "Melanie", "dia_id": "D1:2", "text": "Hey!", "blip_caption": "a photo of a dog"},
        ],
        "session_2_date_time": "9:00 am on 9 May, 2023",
        "session_2": [{"speaker": "Caroline", "dia_id": "D2:1", "text": "Good morning!"}],
        "qa": [],
    });
    fs::write(dir.path().join("talk.json"), conversation.to_string()).unwrap();
    let app = app();
    let addr = format!("http://{}", PLAIN.ready().addr);
    let key = Key::Acme.secret();
    let env = [
        ("RECOLLECT_ADDR", addr.as_str()),
        ("RECOLLECT_API_KEY", key.as_str()),
    ];
    let path = dir.path().display().to_string();
    let args = ["import", path.as_str(), "--app", app.as_str()];
    run_to_end(&built_binary("memory-bench"), &args, &env).ok();
    let expected = [vec!["Caroline", "Melanie"], vec!["Caroline"]];
    assert_eq!(speakers(&client, &app).await, expected);
}

#[apply(trial)]
async fn l12_an_export_is_imported_as_it_was() {
    let client = plain().await;
    let app = app();
    let thread = client.resolve(session(&app, "ada", "thread:1")).await;
    let stored = client
        .append_turn(&thread.thread_id, "Question?", "First answer.")
        .await;
    let question = &stored.messages[0].message_id;
    client
        .append(
            &thread.thread_id,
            vec![reply(question, Role::Assistant, "Second answer.")],
        )
        .await;
    client
        .append_text(&thread.thread_id, "Thanks \u{1F600}")
        .await;
    // Back to the first answer.
    let request = SetHeadRequest {
        thread: by_id(&thread.thread_id),
        head_message_id: stored.messages[1].message_id.clone(),
        expected_head: None,
    };
    client.call(request).await;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("export.jsonl").display().to_string();
    cli(&["export", "--app", &app, "--output", &file]).ok();
    let lines = fs::read_to_string(&file).unwrap();
    assert_eq!(lines.lines().count(), 6, "{lines}");
    for line in lines.lines() {
        serde_json::from_str::<Value>(line).unwrap();
    }
    let before = client.all_messages(&thread.thread_id).await;

    // Into the other tenant.
    let addr = format!("http://{}", PLAIN.ready().addr);
    let key = Key::Globex.secret();
    let args = ["import", &file, "--addr", &addr, "--api-key", &key];
    for _ in 0..2 {
        recollect_tests::recollect(&args, &[]).ok();
    }
    let globex = PLAIN.client(Key::Globex).await;
    let copy = globex.resolve(session(&app, "ada", "thread:1")).await;
    let after = globex.all_messages(&copy.thread_id).await;
    assert_eq!(after.len(), before.len());
    let parent = |messages: &[memory_contract::proto::Message], index: usize| {
        let id = messages[index].parent_message_id.clone();
        messages.iter().position(|message| message.message_id == id)
    };
    for index in 0..before.len() {
        assert_eq!(after[index].parts, before[index].parts);
        assert_eq!(after[index].seq, before[index].seq);
        assert_eq!(after[index].branch, before[index].branch);
        assert_eq!(after[index].create_time, before[index].create_time);
        assert_eq!(
            parent(&after, index),
            parent(&before, index),
            "branches are kept"
        );
    }
    let history = globex.call(history_request(&copy.thread_id)).await;
    assert_eq!(texts(&history.messages), ["Question?", "First answer."]);

    // The next import does not undo later messages there.
    globex.append_text(&copy.thread_id, "And then?").await;
    let again = recollect_tests::recollect(&args, &[]);
    assert_eq!(again.code, Some(1), "{again:?}");
    assert!(again.stderr.contains("it went on there"), "{again:?}");
    let history = globex.call(history_request(&copy.thread_id)).await;
    assert_eq!(texts(&history.messages)[2..], ["And then?"]);
}

#[apply(trial)]
async fn threads_and_history_are_printed_for_people_and_programs() {
    let client = plain().await;
    let app = app();
    let thread_id = client.thread(&app).await;
    diary::store(&client, &thread_id).await;
    let threads = cli(&["threads", "--app", &app, "--json"]).ok().json_lines();
    assert_eq!(threads.len(), 1);
    assert_eq!(find(&threads[0], "thread_id"), &json!(thread_id));
    assert!(
        cli(&["threads", "--app", &app])
            .ok()
            .stdout
            .contains(&thread_id)
    );

    let history = cli(&["history", &thread_id, "--max-tokens", "60", "--json"])
        .ok()
        .json_lines();
    let messages = find(&history[0], "messages").as_array().unwrap();
    assert!(
        messages.len() > 1 && messages.len() < 20,
        "{}",
        messages.len()
    );
    let shown = cli(&["history", &thread_id]).ok().stdout;
    assert!(shown.contains("Enjoy your evening!"), "{shown}");

    let context = ["context", "--thread", &thread_id, "--system", "Be brief."];
    let shown = cli(&[&context[..], &["And now?"]].concat()).ok().stdout;
    for word in ["system", "recent", "Enjoy your evening!", "And now?"] {
        assert!(shown.contains(word), "{word}: {shown}");
    }
    let text = cli(&[&context[..], &["--mode", "window", "--text", "And now?"]].concat());
    let text = text.ok().stdout;
    assert!(text.starts_with("Be brief.\n\nHuman: "), "{text}");
    assert!(text.ends_with("Human: And now?\n\nAssistant:\n"), "{text}");
    let none = cli(&["context", "--mode", "none", "--json", "And now?"]).ok();
    let blocks = &none.json_lines()[0]["blocks"];
    assert_eq!(blocks.as_array().map(Vec::len), Some(1), "{blocks}");
}

#[apply(trial)]
async fn a_plan_is_printed_for_people_and_programs() {
    let client = plain().await;
    let app = app();
    let named = session(&app, "ada", "thread:42");
    let thread_id = client.resolve(named).await.thread_id;
    // The thread has no plan yet.
    assert_eq!(cli(&["plan", &thread_id]).code, Some(4));
    let mut intended = plan(
        "Build the workflow",
        &["Find the nodes", "Connect\u{1b}[2J"],
    );
    intended.current_phase = "draft".to_owned();
    intended.iteration_count = 1;
    intended.steps[0].status = PlanStepStatus::InProgress.into();
    client.put_plan(put(&thread_id, "", intended)).await;
    for (action, error) in [("Ran it", "401"), ("Added the key", "")] {
        let tried = attempt("build", action, error);
        client.log_attempt(&thread_id, tried, "").await;
    }

    let shown = cli(&["plan", &thread_id]).ok().stdout;
    for word in [
        "Build the workflow",
        "phase draft, 1 iteration,",
        "in progress",
        "Find the nodes",
        "failed: 401",
        "Added the key",
    ] {
        assert!(shown.contains(word), "{word}: {shown}");
    }
    assert!(!shown.contains('\u{1b}'), "{shown}");
    let failed = cli(&["plan", &thread_id, "--failed"]).ok().stdout;
    assert!(!failed.contains("Added the key"), "{failed}");
    let few = cli(&["plan", &thread_id, "--attempts", "1"]).ok().stdout;
    assert!(few.contains("There are more"), "{few}");
    let by_name = ["--app", &app, "--user", "ada", "--session", "thread:42"];
    let json = cli(&[&["plan", "--json"], &by_name[..]].concat());
    let json = json.ok().json_lines();
    assert_eq!(find(&json[0]["plan"], "current_phase"), &json!("draft"));
    assert_eq!(json[1]["attempts"][0]["error"], json!("401"));
    assert_eq!(json.len(), 2);
}

#[apply(trial)]
async fn exit_codes_name_the_kind_of_error() {
    let never = uuid::Uuid::new_v4().to_string();
    let unused = format!("http://{}", recollect_tests::free_addr());
    let wrong_key = ["threads", "--api-key", "wrong"];
    for (args, code) in [
        (vec!["threads", "--app", "no-such-app"], 0),
        (vec!["history", "no-uuid"], 1),
        (wrong_key.to_vec(), 1),
        (vec!["recall"], 2),
        (vec!["no-such-command"], 2),
        (vec!["threads", "--addr", &unused], 3),
        (vec!["history", &never], 4),
        (vec!["threads", "--config", "/no/such/file"], 0),
    ] {
        let finished = cli(&args);
        if args.contains(&"--config") {
            // A client command needs no configuration; it may still refuse one.
            assert!(
                matches!(finished.code, Some(0 | 5)),
                "{args:?}: {finished:?}"
            );
            continue;
        }
        assert_eq!(finished.code, Some(code), "{args:?}: {finished:?}");
        if code != 0 {
            assert!(!finished.stderr.is_empty(), "{args:?} says nothing");
            assert_eq!(finished.stdout, "", "{args:?}");
        }
    }
    // A missing file counts as a part that failed.
    let missing = cli(&["import", "/no/such/file"]);
    assert_eq!(missing.code, Some(1), "{missing:?}");
    assert!(missing.stderr.contains("/no/such/file"), "{missing:?}");
}

#[apply(trial)]
async fn completions_are_printed_for_each_shell() {
    for shell in ["bash", "zsh", "fish"] {
        let script = cli(&["completions", shell]).ok().stdout;
        assert!(
            script.contains("recollect") && script.contains("import"),
            "{shell}"
        );
    }
}

#[apply(trial)]
async fn the_doctor_reports_the_state_of_everything() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data").display().to_string();
    let checks = cli(&["doctor", "--data-dir", &data, "--json"]);
    assert!(matches!(checks.code, Some(0)), "{checks:?}");
    assert!(checks.json_lines().len() >= 4, "{checks:?}");
    let broken = recollect_tests::recollect(
        &["doctor", "--data-dir", &data],
        &[("RECOLLECT_EMBEDDING__MODEL_DIR", "/no/such/directory")],
    );
    // Recall still works by word, so it is a warning; it says how to fix it.
    assert!(broken.stdout.contains("warn"), "{broken:?}");
    assert!(broken.stdout.contains("/no/such/directory"), "{broken:?}");
    assert!(broken.stdout.contains("scripts/setup"), "{broken:?}");
}

#[apply(trial)]
async fn the_doctor_tries_the_object_storage() {
    let dir = tempfile::tempdir().unwrap();
    let data = dir.path().join("data").display().to_string();
    let config = dir.path().join("recollect.toml");
    let look = |lines: &[String]| {
        fs::write(&config, lines.join("\n")).unwrap();
        let config = config.display().to_string();
        let args = ["doctor", "--config", &config, "--data-dir", &data, "--json"];
        let checks = recollect_tests::recollect(&args, &[]).json_lines();
        let check = checks.iter().find(|line| line["check"] == "object storage");
        check.unwrap_or_else(|| panic!("{checks:?}")).clone()
    };
    // The default directory, and a missing one: neither is created.
    assert_eq!(look(&[])["verdict"], "ok");
    let path = dir.path().join("objects");
    let in_directory = [format!("objects.url = \"file://{}\"", path.display())];
    assert_eq!(look(&in_directory)["verdict"], "ok");
    assert!(!path.exists());
    fs::create_dir(&path).unwrap();
    assert_eq!(look(&in_directory)["verdict"], "ok");
    assert!(
        !path.join("recollect_probe").exists(),
        "nothing is left behind"
    );
    fs::remove_dir_all(&path).unwrap();
    fs::write(&path, "no directory").unwrap();
    let found = look(&in_directory);
    assert_eq!(found["verdict"], "fail", "{found}");
    assert!(found["fix"].as_str().unwrap().contains("objects.url"));

    let s3 = S3::new();
    let mut lines = s3.config();
    lines.push("objects.timeout = \"2s\"".to_owned());
    let found = look(&lines);
    assert_eq!(found["verdict"], "ok", "{found}");
    s3.set_fault(S3Fault::Forbidden);
    let found = look(&lines);
    assert_eq!(found["verdict"], "fail", "{found}");
    assert!(!found.to_string().contains("secret"), "{found}");
}
