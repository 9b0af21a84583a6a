//! The Inspector, the reference client of the protocol, in its form for the command line.

use recollect_tests::{Key, PLAIN, Skipped, app, apply, recollect_binary, trial};
use serde_json::{Value, json};

use super::{each, program};

const INSPECTOR: &str = "@modelcontextprotocol/inspector/clients/launcher/build/index.js";

#[apply(trial)]
async fn b14_the_inspector_uses_the_server_over_http() -> Result<(), Skipped> {
    let app = app();
    let url = format!("http://{}/mcp", PLAIN.ready().addr);
    let key = format!("authorization: Bearer {}", Key::Acme.secret());
    let (app, user) = (
        format!("x-recollect-app: {app}"),
        "x-recollect-user: ada".to_owned(),
    );
    let headers = ["--header", &key, "--header", &app, "--header", &user];
    let target = [&[url.as_str(), "--transport", "http"], &headers[..]].concat();
    inspect(&target).await
}

#[apply(trial)]
async fn b14_the_inspector_uses_the_server_over_standard_input_and_output() -> Result<(), Skipped> {
    let app = app();
    let command = recollect_binary().display().to_string();
    let addr = format!("RECOLLECT_ADDR={}", PLAIN.ready().addr);
    let key = format!("RECOLLECT_API_KEY={}", Key::Acme.secret());
    let app = format!("RECOLLECT_APP={app}");
    let env = [
        "-e",
        &addr,
        "-e",
        &key,
        "-e",
        &app,
        "-e",
        "RECOLLECT_USER=ada",
    ];
    let target = [&[command.as_str(), "mcp"], &env[..]].concat();
    inspect(&target).await
}

async fn inspect(target: &[&str]) -> Result<(), Skipped> {
    // Exits with 6 if a schema is one that some clients cannot use.
    let tools = run(target, "tools/list", &["--strict"]).await?;
    assert_eq!(tools["tools"].as_array().map(Vec::len), Some(11), "{tools}");

    let fact = "text=Ada lives in Oslo.";
    let stored = call(target, "remember", &[fact, "topics=[\"home\"]"]).await?;
    assert_eq!(stored["structuredContent"]["created"], true, "{stored}");
    let found = call(target, "recall", &["query=Where does Ada live?", "top_k=3"]).await?;
    let found = &found["structuredContent"]["memories"];
    assert_eq!(each(found, "text"), ["Ada lives in Oslo."]);
    assert_eq!(found[0]["topics"], json!(["home"]));

    let said = "messages=[{\"role\": \"user\", \"text\": \"It snows.\"}]";
    call(target, "append_messages", &["session=thread:1", said]).await?;
    let listed = run(target, "resources/list", &[]).await?;
    let uri = each(&listed["resources"], "uri")[0].to_owned();
    let read = run(target, "resources/read", &["--uri", &uri]).await?;
    let text = read["contents"][0]["text"].as_str().unwrap();
    assert!(text.contains("It snows."), "{text}");
    let templates = run(target, "resources/templates/list", &[]).await?;
    let templates = templates["resourceTemplates"].as_array().unwrap();
    assert_eq!(templates.len(), 1, "{templates:?}");
    Ok(())
}

async fn call(target: &[&str], tool: &str, arguments: &[&str]) -> Result<Value, Skipped> {
    let mut more = vec!["--tool-name", tool];
    for argument in arguments {
        more.extend(["--tool-arg", argument]);
    }
    run(target, "tools/call", &more).await
}

async fn run(target: &[&str], method: &str, more: &[&str]) -> Result<Value, Skipped> {
    let args = [&["--cli"], target, &["--method", method], more].concat();
    let output = program(INSPECTOR)?.args(&args).output().await.unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{method} {more:?}: {output:?}");
    Ok(serde_json::from_str(&printed).unwrap_or_else(|error| panic!("{error}: {printed}")))
}
