//! Clients that are no part of this project: Connect's for TypeScript, and curl.

use std::fs;
use std::process::Command;

use recollect_tests::{Key, PLAIN, Skipped, app, apply, project_dir, trial};

use crate::plain;

/// The ways that `protocols.ts` calls, and what it prints of each.
const WAYS: [&str; 7] = [
    "connect json",
    "connect proto",
    "connect get",
    "connect http2",
    "grpc-web",
    "grpc-web http2",
    "grpc",
];

#[apply(trial)]
async fn b11_a_typescript_client_calls_by_every_protocol() -> Result<(), Skipped> {
    let client = plain().await;
    let app = app();
    client.thread(&app).await;
    let output = tokio::process::Command::new(project_dir().join("tests/clients/run"))
        .arg("typescript")
        .env("RECOLLECT_PROGRAM", "protocols")
        .env("RECOLLECT_ADDR", &PLAIN.ready().addr)
        .env("RECOLLECT_API_KEY", Key::Acme.secret())
        .env("RECOLLECT_APP", &app)
        .output()
        .await
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(77) {
        return Err(Skipped(errors.trim().to_owned()));
    }
    assert!(output.status.success(), "{output:?}");
    let printed = String::from_utf8(output.stdout).unwrap();
    let ways: Vec<&str> = printed.lines().collect();
    assert_eq!(ways, WAYS);
    Ok(())
}

#[apply(trial)]
async fn the_examples_of_the_page_work() -> Result<(), Skipped> {
    if Command::new("curl").arg("--version").output().is_err() {
        return Err(Skipped("there is no curl".to_owned()));
    }
    let page = fs::read_to_string(project_dir().join("docs/http.md")).unwrap();
    // Readers of the page have a server without keys on the usual port.
    let blocks: Vec<&str> = page
        .split("```sh\n")
        .skip(1)
        .filter_map(|rest| rest.split_once("```"))
        .map(|(block, _)| block)
        .collect();
    assert!(blocks.len() >= 3, "{blocks:?}");
    let key = format!("curl -H 'authorization: Bearer {}' ", Key::Acme.secret());
    let app = app();
    let mut said = String::new();
    for block in blocks {
        assert!(block.contains("localhost:50051"), "{block}");
        let script = block
            .replace("localhost:50051", &PLAIN.ready().addr)
            .replace("curl ", &key)
            .replace("support", &app);
        let output = tokio::process::Command::new("bash")
            .args(["-euo", "pipefail", "-c", &script])
            .output()
            .await
            .unwrap();
        assert!(output.status.success(), "{block}\n{output:?}");
        said += &String::from_utf8_lossy(&output.stdout);
    }
    for word in [
        "My dog is called Pixel.",
        "messageId",
        "INVALID_FIELD",
        "recollect",
    ] {
        assert!(said.contains(word), "{word} is not in {said}");
    }
    Ok(())
}
