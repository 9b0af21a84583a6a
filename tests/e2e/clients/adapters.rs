//! Adapters of frameworks: the own tests of each, run against the shared server.

use recollect_tests::{Key, PLAIN, Skipped, apply, long_trial, project_dir};

use crate::plain;

#[apply(long_trial)]
async fn b15_an_n8n_agent_remembers_with_the_community_node() -> Result<(), Skipped> {
    passes("n8n", "n8n").await
}

#[apply(long_trial)]
async fn b15_a_model_of_the_ai_sdk_remembers_with_the_middleware() -> Result<(), Skipped> {
    passes("typescript-package", "ai").await
}

#[apply(long_trial)]
async fn b15_an_agent_of_mastra_stores_and_recalls_messages() -> Result<(), Skipped> {
    passes("typescript-package", "mastra").await
}

#[apply(long_trial)]
async fn b15_a_chain_of_langchain_in_typescript_remembers() -> Result<(), Skipped> {
    passes("typescript-package", "langchain").await
}

#[apply(long_trial)]
async fn b15_a_graph_of_langgraph_in_typescript_continues_from_its_checkpoints()
-> Result<(), Skipped> {
    passes("typescript-package", "langgraph").await
}

/// Runs the tests of one adapter, which fail if none ran.
async fn passes(language: &str, program: &str) -> Result<(), Skipped> {
    plain().await;
    // Answering the server's pings must go on meanwhile, or it closes the connection.
    let output = tokio::process::Command::new(project_dir().join("tests/clients/run"))
        .arg(language)
        .env("RECOLLECT_PROGRAM", program)
        .env("RECOLLECT_ADDR", &PLAIN.ready().addr)
        .env("RECOLLECT_API_KEY", Key::Acme.secret())
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(77) {
        return Err(Skipped(errors.trim().to_owned()));
    }
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{program}: {printed}\n{errors}");
    let passed = printed
        .lines()
        .find_map(|line| {
            line.trim_start_matches(['#', 'ℹ', ' '])
                .strip_prefix("pass ")
        })
        .and_then(|count| count.trim().parse::<u32>().ok());
    assert!(
        passed.is_some_and(|count| count > 0),
        "{program}: {printed}"
    );
    Ok(())
}
