//! memory-bench, which starts services of its own.

use std::fs;

use recollect_tests::{Qdrant, apply, built_binary, run_to_end, trial};
use serde_json::json;

#[apply(trial)]
async fn memory_bench_starts_a_server_and_workers_apart() {
    let qdrant = Qdrant::new();
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name).display().to_string();
    let conversation = json!({
        "speaker_a": "Caroline", "speaker_b": "Melanie",
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [{"speaker": "Caroline", "dia_id": "D1:1", "text": "My dog is called Pixel."}],
        "qa": [],
    });
    fs::create_dir(path("talks")).unwrap();
    fs::write(path("talks/talk.json"), conversation.to_string()).unwrap();
    fs::write(path("queries"), "What is the dog called?\n".repeat(2_000)).unwrap();
    // The service runs as long as this script, which imports with its workers and asks its server.
    let script = "set -e; \"$1\" import \"$2\" --app pets > /dev/null; \
        \"$1\" search --app pets --user talk --queries \"$3\" --seconds 2 --json";
    let memory_bench = built_binary("memory-bench").display().to_string();
    let (talks, queries) = (path("talks"), path("queries"));
    let args = [
        "run",
        "--qdrant",
        qdrant.url(),
        "--workers",
        "2",
        "--",
        "sh",
        "-c",
        script,
        "sh",
        &memory_bench,
        &talks,
        &queries,
    ];
    // A degraded search ends memory-bench.
    let env = [
        ("RECOLLECT_EMBEDDING__MODEL", "all-minilm-l6-v2"),
        ("RECOLLECT_EMBEDDING__QUERY_TIMEOUT", "20s"),
        ("RECOLLECT_INDEX__SEARCH_TIMEOUT", "20s"),
    ];
    let found = run_to_end(&built_binary("memory-bench"), &args, &env).ok();
    let found = found.json();
    assert!(found["asked"].as_u64().unwrap() > 4, "{found}");
    assert!(found["latencies_ms"][0].as_f64().unwrap() > 0.0, "{found}");
}
