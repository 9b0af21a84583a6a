//! The rules of ARCHITECTURE.md that the compiler does not check: which crate
//! depends on which, and how large crates and files grow.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test that fails panics"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};

#[path = "layout/modules.rs"]
mod modules;
#[path = "layout/pages.rs"]
mod pages;

use modules::{Module, Source};

/// The workspace's crates from the bottom up. A crate depends on crates of lower
/// levels alone.
const LEVELS: [&[&str]; 21] = [
    &["memory-contract", "memory-runtime"],
    &[
        "memory-agent-contract",
        "memory-budget",
        "memory-checksum",
        "memory-connect",
        "memory-datasets",
        "memory-formats",
        "memory-http",
        "memory-ledger",
        "memory-outbound",
        "memory-postgres",
        "memory-redact",
        "memory-text",
        "memory-times",
    ],
    &["memory-kinds", "memory-objects"],
    &["memory-database"],
    &[
        "memory-agents",
        "memory-conversations",
        "memory-outbox",
        "memory-tenants",
    ],
    &["memory-derived"],
    &["memory-import", "memory-store"],
    &[
        "memory-embed",
        "memory-distill",
        "memory-embedded",
        "memory-flags",
        "memory-webhooks",
    ],
    &["memory-index"],
    &["memory-recall"],
    &["memory-context"],
    &["memory-mcp", "memory-proxy", "memory-worker", "memory-grpc"],
    &["memory-api"],
    &["memory-transfer"],
    &["memory-server"],
    &["memory-config"],
    &["memory-process"],
    &["recollect"],
    // For tests and measurements.
    &["memory-testing", "memory-test-qdrant"],
    &["memory-bench", "recollect-tests"],
    // Outside the product.
    &["ranking", "recollect-chaos"],
];

/// Third-party crates that are the business of few, and the crates that may
/// depend on them. Tests may use what they need.
const OWNERS: [(&str, &[&str]); 35] = [
    // Storage. `memory-embedded` connects to its cluster before there is a
    // schema, and `doctor` to a database that may have none. `memory-runtime` formats errors of
    // Postgres without the rows that they quote.
    (
        "tokio-postgres",
        &[
            "memory-runtime",
            "memory-postgres",
            "memory-database",
            "memory-agents",
            "memory-conversations",
            "memory-outbox",
            "memory-tenants",
            "memory-derived",
            "memory-embedded",
            "recollect",
        ],
    ),
    ("tokio-postgres-rustls", &["memory-postgres"]),
    (
        "deadpool-postgres",
        &["memory-postgres", "memory-conversations"],
    ),
    ("object_store", &["memory-objects"]),
    ("zstd", &["memory-objects", "memory-agents", "memory-bench"]),
    ("fastcdc", &["memory-agents"]),
    ("boon", &["memory-kinds"]),
    // Search and inference.
    ("qdrant-edge", &["memory-index", "memory-test-qdrant"]),
    ("qdrant-client", &["memory-index", "memory-test-qdrant"]),
    ("fastembed", &["memory-embed"]),
    ("ort", &["memory-embed"]),
    ("kitoken", &["memory-embed"]),
    // Language models.
    ("genai", &["memory-distill"]),
    ("tiktoken-rs", &["memory-budget"]),
    ("minijinja", &["memory-context"]),
    // gRPC. `memory-index` reads the codes of Qdrant's answers.
    (
        "tonic",
        &[
            "memory-contract",
            "memory-http",
            "memory-mcp",
            "memory-proxy",
            "memory-index",
            "memory-test-qdrant",
            "memory-grpc",
            "memory-api",
            "memory-transfer",
            "memory-server",
            "recollect",
            "memory-bench",
        ],
    ),
    ("tonic-prost-build", &["memory-contract"]),
    ("protox", &["memory-contract"]),
    (
        "tonic-health",
        &["memory-server", "recollect", "memory-bench"],
    ),
    ("tonic-reflection", &["memory-server"]),
    ("tower", &["memory-http", "memory-mcp", "memory-server"]),
    ("tonic-web", &["memory-http"]),
    ("tower-http", &["memory-http"]),
    ("governor", &["memory-server"]),
    ("rmcp", &["memory-mcp"]),
    // The metrics listener. Every crate may record; these export.
    ("axum", &["memory-server", "memory-process"]),
    (
        "metrics-exporter-prometheus",
        &["memory-server", "memory-process"],
    ),
    ("opentelemetry-otlp", &["memory-process"]),
    ("tracing-subscriber", &["memory-config", "memory-process"]),
    // The command line and the configuration.
    (
        "clap",
        &["memory-flags", "recollect", "memory-bench", "ranking"],
    ),
    ("comfy-table", &["recollect", "memory-bench"]),
    ("indicatif", &["recollect", "memory-bench"]),
    ("figment", &["memory-config"]),
    ("jsonc-parser", &["memory-connect"]),
    ("toml_edit", &["memory-connect"]),
];

/// Lines of a crate's `src`, tests included.
const MAX_CRATE_LINES: usize = 10_000;
/// Lines of a file in `src`. The style asks for a second file from 400 on.
const MAX_FILE_LINES: usize = 550;

#[test]
fn crates_depend_on_lower_levels_alone() {
    let packages = packages();
    let levels: BTreeMap<&str, usize> = LEVELS
        .iter()
        .enumerate()
        .flat_map(|(level, names)| names.iter().map(move |name| (*name, level)))
        .collect();

    for package in &packages {
        let name = package.name.as_str();
        assert!(levels.contains_key(name), "{name} is not in LEVELS");
    }

    let upward: Vec<String> = packages
        .iter()
        .flat_map(|package| {
            package
                .dependencies
                .iter()
                .map(move |to| (&package.name, to))
        })
        .filter(|(from, to)| {
            let (from, to) = (levels[from.as_str()], levels.get(to.as_str()));
            to.is_some_and(|to| *to >= from)
        })
        .map(|(from, to)| format!("{from} depends on {to}"))
        .collect();
    assert!(upward.is_empty(), "dependencies that point up: {upward:#?}");
}

#[test]
fn third_party_crates_stay_with_their_owners() {
    let packages = packages();
    let owners: BTreeMap<&str, &[&str]> = OWNERS.into_iter().collect();
    let misplaced: Vec<String> = packages
        .iter()
        .filter(|package| !["recollect-tests", "recollect-chaos"].contains(&package.name.as_str()))
        .flat_map(|package| {
            package
                .dependencies
                .iter()
                .map(move |to| (&package.name, to))
        })
        .filter(|(from, to)| {
            let owners = owners.get(to.as_str());
            owners.is_some_and(|owners| !owners.contains(&from.as_str()))
        })
        .map(|(from, to)| format!("{from} depends on {to}"))
        .collect();
    assert!(misplaced.is_empty(), "not in OWNERS: {misplaced:#?}");
}

#[test]
fn crates_and_files_stay_small() {
    let mut large = Vec::new();
    for package in packages() {
        let mut total = 0;
        for file in rust_files(&package.directory.join("src")) {
            let lines = lines(&file);
            total += lines;
            if lines > MAX_FILE_LINES {
                large.push(format!("{}: {lines} lines", file.display()));
            }
        }
        if total > MAX_CRATE_LINES {
            large.push(format!("{}: {total} lines", package.name));
        }
    }
    assert!(large.is_empty(), "too large: {large:#?}");
}

#[test]
fn unit_tests_are_in_libraries_that_run_them() {
    let mut never_run = Vec::new();
    for package in packages().iter().filter(|package| !package.runs_unit_tests) {
        for file in rust_files(&package.directory.join("src")) {
            let source = fs::read_to_string(&file).unwrap();
            if source.contains("#[cfg(test)]") {
                never_run.push(file);
            }
        }
    }
    assert!(
        never_run.is_empty(),
        "Cargo.toml has `test = false`: {never_run:#?}"
    );
}

#[test]
fn each_source_file_is_a_module_of_the_file_above_it() {
    let mut unused = Vec::new();
    let mut found = 0;
    let directories = packages().into_iter().flat_map(|package| {
        ["src", "tests", "e2e", "store"].map(|name| package.directory.join(name))
    });
    for file in directories
        .filter(|one| one.is_dir())
        .flat_map(|one| rust_files(&one))
    {
        let directory = file.parent().unwrap();
        let name = file.file_stem().unwrap().to_str().unwrap();
        let above = match name {
            "mod" => directory.parent().unwrap(),
            _ => directory,
        };
        let name = match name {
            "mod" => directory.file_name().unwrap().to_str().unwrap(),
            name => name,
        };
        let roots = ["main.rs", "lib.rs", "mod.rs"].map(|root| above.join(root));
        let roots = roots.into_iter().chain([above.with_extension("rs")]);
        let roots: Vec<PathBuf> = roots.filter(|one| one.is_file()).collect();
        // Such as the file of each test of a package, or of each program.
        if roots.is_empty() {
            continue;
        }
        if matches!(name, "main" | "lib") {
            continue;
        }
        found += 1;
        let code: String = roots
            .iter()
            .map(|root| fs::read_to_string(root).unwrap())
            .collect();
        if ![format!("mod {name};"), format!("mod {name} {{")]
            .iter()
            .any(|one| code.contains(one))
        {
            unused.push(file.display().to_string());
        }
    }
    assert!(found > 500, "{found} modules");
    assert!(unused.is_empty(), "the compiler does not see {unused:#?}");
}

#[test]
fn no_files_depend_on_each_other_in_a_circle() {
    let mut circles = Vec::new();
    let mut dependencies = 0;
    for package in packages() {
        let source = package.directory.join("src");
        let programs = fs::read_dir(source.join("bin")).into_iter().flatten();
        let programs = programs.map(|program| program.unwrap().path());
        for root in programs.filter(|one| one.is_dir()).chain([source.clone()]) {
            let uses = Source::read(&root).dependencies();
            dependencies += uses.values().map(BTreeSet::len).sum::<usize>();
            for (module, used) in &uses {
                let back = |one: &&Module| reached(&uses, one).contains(module);
                circles.extend(used.iter().filter(back).map(|one| {
                    let (module, one) = (module.join("::"), one.join("::"));
                    format!("{}: {module} uses {one}", package.name)
                }));
            }
        }
    }
    assert!(dependencies > 1_000, "{dependencies} dependencies");
    assert!(circles.is_empty(), "in circles: {circles:#?}");
}

/// The modules that a module uses, and those that these use.
fn reached<'a>(
    uses: &'a BTreeMap<Module, BTreeSet<Module>>,
    from: &'a Module,
) -> BTreeSet<&'a Module> {
    let mut reached = BTreeSet::new();
    let mut next = vec![from];
    while let Some(module) = next.pop() {
        for used in uses.get(module).into_iter().flatten() {
            if reached.insert(used) {
                next.push(used);
            }
        }
    }
    reached
}

#[test]
fn every_crate_has_the_license_of_the_workspace() {
    for package in packages() {
        assert_eq!(package.license, "Apache-2.0", "{}", package.name);
    }
    let text = fs::read_to_string(root().join("LICENSE")).unwrap();
    assert!(text.contains("Apache License") && text.contains("Version 2.0, January 2004"));
}

#[test]
fn the_metrics_of_dashboard_and_alerts_exist() {
    let described = pages::described_metrics();
    for file in ["dashboard.json", "alerts.yaml"] {
        let text = fs::read_to_string(root().join("deploy/monitoring").join(file)).unwrap();
        let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        let used: BTreeSet<&str> = words
            .filter(|word| word.starts_with("recollect_"))
            .map(|word| word.strip_suffix("_bucket").unwrap_or(word))
            .collect();
        assert!(used.len() > 5, "{file} names {used:?} alone");
        let unknown: Vec<&&str> = used
            .iter()
            .filter(|name| !described.contains(**name))
            .collect();
        assert!(
            unknown.is_empty(),
            "{file} names metrics that no code describes: {unknown:?}"
        );
    }
}

#[test]
fn the_tests_that_pages_name_exist() {
    for (page, at_least) in [("SECURITY.md", 10), ("docs/stacks.md", 15)] {
        let text = fs::read_to_string(root().join(page)).unwrap();
        let named = test_names(text.split('`').skip(1).step_by(2));
        assert!(named.len() >= at_least, "{page}: {named:?}");
        let missing = missing_tests(&named);
        assert!(missing.is_empty(), "{page}: no such test: {missing:#?}");
    }
    // The reasons of blocks that are only shown.
    for page in pages::all() {
        let text = fs::read_to_string(&page).unwrap();
        let reasons = text.split("<!-- shown:").skip(1);
        let reasons = reasons.filter_map(|rest| rest.split("-->").next());
        let missing = missing_tests(&test_names(reasons.flat_map(str::split_whitespace)))
            .into_iter()
            .map(str::to_owned)
            .collect::<Vec<_>>();
        assert!(missing.is_empty(), "{page:?}: no such test: {missing:#?}");
    }
}

/// Those of some words that are names of tests: four words or more.
fn test_names<'a>(words: impl Iterator<Item = &'a str>) -> BTreeSet<&'a str> {
    words
        .filter(|name| name.matches('_').count() >= 3)
        .filter(|name| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
        .collect()
}

/// The names that no test has.
fn missing_tests<'a>(named: &BTreeSet<&'a str>) -> Vec<&'a str> {
    if named.is_empty() {
        return Vec::new();
    }
    let mut code = String::new();
    for directory in [
        "tests/e2e",
        "tests/layout",
        "crates/memory-store/tests",
        "crates/memory-embed/tests",
        "crates/memory-index/tests",
        "crates/memory-recall/tests",
    ] {
        for file in rust_files(&root().join(directory)) {
            code += &fs::read_to_string(file).unwrap();
        }
    }
    let missing = |name: &&str| !code.contains(&format!("fn {name}("));
    named.iter().copied().filter(missing).collect()
}

struct Package {
    name: String,
    license: String,
    directory: PathBuf,
    /// Whether `cargo test` runs the tests within its library.
    runs_unit_tests: bool,
    /// Names of direct dependencies for building and running, not for tests.
    dependencies: BTreeSet<String>,
}

/// The workspace's crates, as `cargo metadata` describes them.
fn packages() -> Vec<Package> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--no-deps", "--offline", "--format-version=1"])
        .current_dir(root())
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let packages = metadata["packages"].as_array().unwrap();
    packages
        .iter()
        .map(|package| Package {
            name: text(&package["name"]),
            license: text(&package["license"]),
            directory: PathBuf::from(text(&package["manifest_path"]))
                .parent()
                .unwrap()
                .into(),
            runs_unit_tests: package["targets"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|target| target["kind"] == json!(["lib"]))
                .all(|target| target["test"] == true),
            dependencies: package["dependencies"]
                .as_array()
                .unwrap()
                .iter()
                .filter(|dependency| dependency["kind"] != "dev")
                .map(|dependency| text(&dependency["name"]))
                .collect(),
        })
        .collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn rust_files(directory: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(rust_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

fn lines(file: &Path) -> usize {
    fs::read_to_string(file).unwrap().lines().count()
}
