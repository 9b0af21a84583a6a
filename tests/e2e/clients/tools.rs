//! Clients that know nothing of this repository but the contract: grpcurl, and a
//! program in Python.

use std::path::Path;
use std::process::{Command, Output};
use std::{env, fs};

use recollect_tests::{
    DataDir, Dynamic, Key, Options, PLAIN, Server, Skipped, app, apply, project_dir, setup_tool,
    trial, trial_with_own_server,
};
use serde_json::{Value, json};

/// Runs grpcurl with the key and gives back its output.
fn grpcurl(program: &Path, data: &Value, method: &str) -> Output {
    Command::new(program)
        .arg("-plaintext")
        .args([
            "-H",
            &format!("authorization: Bearer {}", Key::Acme.secret()),
        ])
        .args(["-d", &data.to_string()])
        .args([&PLAIN.ready().addr, method])
        .output()
        .unwrap()
}

#[apply(trial)]
async fn grpcurl_drives_the_service() -> Result<(), Skipped> {
    let Some(program) = setup_tool("grpcurl") else {
        return Err(Skipped(
            "grpcurl is neither in .setup/bin nor on the PATH; the set-up builds it where there \
             is a Go toolchain"
                .to_owned(),
        ));
    };
    // It learns the contract by reflection.
    let list = Command::new(&program)
        .args(["-plaintext", "-H"])
        .arg(format!("authorization: Bearer {}", Key::Acme.secret()))
        .args([&PLAIN.ready().addr, "list"])
        .output()
        .unwrap();
    let names = String::from_utf8(list.stdout).unwrap();
    for service in Dynamic::services() {
        assert!(
            names.lines().any(|name| name == service),
            "{service}: {names}"
        );
    }
    let call = |data: Value, method: &str| -> Value {
        let output = grpcurl(&program, &data, method);
        assert!(output.status.success(), "{method}: {output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    };
    // The examples at the top of the services.
    let session = json!({"app_id": app(), "user_id": "ada", "session_key": "thread:42"});
    let thread = call(
        json!({"session": session}),
        "recollect.v1.ThreadService/ResolveThread",
    );
    let thread_id = thread["thread"]["threadId"].as_str().unwrap();
    call(
        json!({"thread": {"thread_id": thread_id}, "messages": [
            {"role": "ROLE_USER", "parts": [{"text": "My dog is called Pixel."}]},
            {"role": "ROLE_ASSISTANT", "parts": [{"text": "A fine name!"}]}]}),
        "recollect.v1.MessageService/AppendMessages",
    );
    let history = call(
        json!({"thread": {"thread_id": thread_id}, "max_tokens": 2000}),
        "recollect.v1.MessageService/GetHistory",
    );
    assert_eq!(
        history["messages"][0]["parts"][0]["text"],
        "My dog is called Pixel."
    );
    let recalled = call(
        json!({"target": {"thread": {"thread_id": thread_id}}, "query": "What is my dog called?"}),
        "recollect.v1.RecallService/Recall",
    );
    assert_eq!(recalled["messages"].as_array().unwrap().len(), 2);
    let status = call(json!({}), "recollect.v1.AdminService/GetIndexStatus");
    assert_eq!(status["state"], "INDEX_STATE_READY");

    // An error is readable, its details included.
    let data = json!({"thread": {"thread_id": thread_id}, "max_tokens": -1});
    let refused = grpcurl(&program, &data, "recollect.v1.MessageService/GetHistory");
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success());
    for word in ["InvalidArgument", "max_tokens", "10000000"] {
        assert!(said.contains(word), "{word}: {said}");
    }
    Ok(())
}

#[apply(trial_with_own_server)]
async fn a_python_client_drives_the_service() -> Result<(), Skipped> {
    let packages = project_dir().join(".setup/python");
    let own = packages.join("bin/python3");
    let python = if own.is_file() { own } else { "python3".into() };
    let run = |args: &[&str], path: &Path| {
        Command::new(&python)
            .args(args)
            .env(
                "PYTHONPATH",
                env::join_paths([path, packages.as_path()]).unwrap(),
            )
            .output()
            .unwrap()
    };
    let dir = tempfile::tempdir().unwrap();
    if !run(&["-c", "import grpc, grpc_tools"], dir.path())
        .status
        .success()
    {
        return Err(Skipped(
            "Python has no grpcio and grpcio-tools; scripts/setup clients installs them or says \
             why not"
                .to_owned(),
        ));
    }
    // The stubs are generated from proto/, as the README describes.
    let (proto, out) = (
        project_dir().join("proto"),
        dir.path().display().to_string(),
    );
    let files = fs::read_dir(proto.join("recollect/v1")).unwrap();
    let files: Vec<String> = files
        .map(|entry| format!("recollect/v1/{}", entry.unwrap().file_name().display()))
        .collect();
    let include = format!("-I{}", proto.display());
    let outs = [
        format!("--python_out={out}"),
        format!("--grpc_python_out={out}"),
    ];
    let mut args = vec!["-m", "grpc_tools.protoc", &include, &outs[0], &outs[1]];
    args.extend(files.iter().map(String::as_str));
    let generated = run(&args, dir.path());
    assert!(generated.status.success(), "{generated:?}");

    let data = DataDir::new();
    let server = Server::start(
        &data,
        &Options {
            keys: Vec::new(),
            ..Options::default()
        },
    );
    for (example, expected) in [
        ("client.py", &["My dog is called Pixel."][..]),
        (
            "memories.py",
            &[
                "['Plan his week.', 'Monday: a long walk.']",
                "The next attempt is number 2.",
                "['Her dog Pixel gets no grain.']",
            ],
        ),
    ] {
        let script = fs::read_to_string(project_dir().join("examples").join(example)).unwrap();
        assert!(
            script.contains("127.0.0.1:50051"),
            "the example names the default address"
        );
        let script = script.replace("127.0.0.1:50051", &server.ready().addr);
        let output = run(&["-c", &script], dir.path());
        assert!(output.status.success(), "{output:?}");
        let said = String::from_utf8(output.stdout).unwrap();
        for expected in expected {
            assert!(said.lines().any(|line| line == *expected), "{said}");
        }
    }
    Ok(())
}
