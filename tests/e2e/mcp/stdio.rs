//! `recollect mcp`.

use recollect_tests::{Key, Mcp, PLAIN, app, apply, free_addr, recollect, trial};
use serde_json::json;

use super::each;

#[apply(trial)]
async fn b14_a_server_that_is_not_there_is_named() {
    let mcp = Mcp::stdio(&free_addr(), Key::Acme, &["--user", "ada"]).await;
    let problem = mcp.tool_error("recall", json!({"query": "tea"})).await;
    assert!(problem.contains("cannot be reached"), "{problem}");
    assert!(problem.contains("Ask the user"), "{problem}");
    // It goes on.
    let tools = mcp.request("tools/list", json!({})).await;
    assert!(each(&tools["tools"], "name").contains(&"recall"));
    assert_eq!(mcp.close().await, Some(0));
}

#[apply(trial)]
async fn a_wrong_user_is_a_wrong_command_line() {
    let ended = recollect(&["mcp", "--user", ""], &[]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("`user`"), "{ended:?}");
    let long = "u".repeat(257);
    let ended = recollect(&["mcp"], &[("RECOLLECT_USER", long.as_str())]);
    assert_eq!(ended.code, Some(2), "{ended:?}");
}

#[apply(trial)]
async fn without_input_the_command_ends() {
    let ended = recollect(&["mcp", "--user", "ada"], &[]).ok();
    assert_eq!(ended.stdout, "");
}

#[apply(trial)]
async fn standard_output_has_the_protocol_alone() {
    let app = app();
    let args = ["--app", &app, "--user", "ada"];
    let mcp = Mcp::stdio(&PLAIN.ready().addr, Key::Acme, &args).await;
    // Each answer is one line of JSON with the id of its request, or this would panic.
    for _ in 0..3 {
        mcp.tool_error("recall", json!({})).await;
        mcp.tool("recall", json!({"query": "tea"})).await;
    }
    assert_eq!(mcp.close().await, Some(0));
}
