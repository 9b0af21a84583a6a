//! A client that is no part of this project: Connect's for TypeScript.

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
