//! The conformance suite of the protocol.
//!
//! Scenarios that need something else of a server do not apply:
//!
//! - `tools-call-*`, `json-schema-*`, `resources-read-*`, `resources-templates-read`,
//!   `prompts-*`, `completion-complete`, `http-custom-header-*`: tools, resources and prompts
//!   with the names and contents of the suite's own sample server.
//! - `logging-*`, `resources-subscribe`, `resources-unsubscribe`, `elicitation-*`,
//!   `input-required-*`, `tasks-*`, `*-skills-*`: optional parts of the protocol that a memory
//!   does not need, and does not announce.
//! - `server-session-lifecycle`, `server-sse-*` of older revisions: sessions and streams, which
//!   a stateless server has none of.

use std::fs;

use recollect_tests::{Options, Server, Skipped, apply, long_trial_with_own_server};
use serde_json::Value;

use super::program;

const CONFORMANCE: &str = "@modelcontextprotocol/conformance/dist/index.js";

/// Checks of these scenarios that do not apply: they need diagnostic tools of the suite's own
/// sample server, or prompts, which a server need not have.
const NOT_APPLICABLE: [&str; 5] = [
    "sep-2575-server-rejects-undeclared-capability",
    "sep-2575-missing-capability-http-400",
    "sep-2575-http-server-no-independent-requests-on-stream",
    "sep-2575-server-no-log-without-loglevel",
    "sep-2549-prompts-list-caching-hints",
];

/// The scenarios that apply, each with the revisions of the protocol that have it.
const SCENARIOS: [(&str, &[&str]); 11] = [
    ("server-initialize", &["2025-06-18", "2025-11-25"]),
    ("server-stateless", &["2026-07-28"]),
    ("ping", &["2025-06-18", "2025-11-25"]),
    ("tools-list", &["2025-06-18", "2025-11-25", "2026-07-28"]),
    (
        "resources-list",
        &["2025-06-18", "2025-11-25", "2026-07-28"],
    ),
    ("sep-2164-resource-not-found", &["2026-07-28"]),
    ("dns-rebinding-protection", &["2025-11-25", "2026-07-28"]),
    ("caching", &["2026-07-28"]),
    ("http-header-validation", &["2026-07-28"]),
    ("server-sse-multiple-streams", &["2026-07-28"]),
    ("input-required-result-unsupported-methods", &["2026-07-28"]),
];

#[apply(long_trial_with_own_server)]
async fn b14_the_server_passes_the_conformance_suite() -> Result<(), Skipped> {
    program(CONFORMANCE)?;
    // The suite sends no keys.
    let (_dir, server, _client) = Server::start_own(&Options {
        keys: Vec::new(),
        ..Options::with(&["embedding.kind = \"none\""])
    })
    .await;
    let addr = &server.ready().addr;
    let url = format!("http://{addr}/mcp");
    for (scenario, revisions) in SCENARIOS {
        for revision in revisions {
            let checks = checks_of(&url, scenario, revision).await?;
            let failed: Vec<&Value> = checks
                .iter()
                .filter(|check| check["status"] == "FAILURE")
                .filter(|check| !NOT_APPLICABLE.contains(&check["id"].as_str().unwrap()))
                .collect();
            assert!(failed.is_empty(), "{scenario} of {revision}: {failed:#?}");
            let passed = checks.iter().any(|check| check["status"] == "SUCCESS");
            assert!(passed, "{scenario} of {revision}: {checks:#?}");
        }
    }
    Ok(())
}

/// Runs a scenario. Its checks, each with `id` and `status`.
async fn checks_of(url: &str, scenario: &str, revision: &str) -> Result<Vec<Value>, Skipped> {
    let results = tempfile::tempdir().unwrap();
    let output = program(CONFORMANCE)?
        .args(["server", "--url", url, "--scenario", scenario])
        .args(["--spec-version", revision, "--output-dir", "results"])
        .current_dir(results.path())
        .output()
        .await
        .unwrap();
    // One folder for the run.
    let folders = fs::read_dir(results.path().join("results"));
    let folder = folders.ok().and_then(|mut folders| folders.next());
    let folder = folder.unwrap_or_else(|| panic!("{scenario} of {revision}: {output:?}"));
    let checks = fs::read(folder.unwrap().path().join("checks.json")).unwrap();
    Ok(serde_json::from_slice(&checks).unwrap())
}
