//! The blocks of each page run in order, in a tenant of their own.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use futures::{StreamExt as _, stream};
use prost_reflect::DynamicMessage;
use recollect_tests::{
    DataDir, Dynamic, Options, Server, Skipped, apply, project_dir, recollect_binary, trial,
    trial_with_own_server,
};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::io::AsyncWriteExt as _;

use super::blocks::{Block, Programs, Treatment, blocks_of, pages};

/// Pages at a time.
const AT_ONCE: usize = 3;

/// What readers of the pages call.
const ADDRESSES: [&str; 2] = ["127.0.0.1:50051", "localhost:50051"];

#[apply(trial_with_own_server)]
async fn the_examples_of_the_pages_work() -> Result<(), Skipped> {
    for tool in ["python3", "curl", "grpcurl", "bash"] {
        let path = program_path(&[]);
        let found = Command::new(tool)
            .arg("--version")
            .env("PATH", path)
            .output();
        if !found.is_ok_and(|output| output.status.success()) {
            return Err(Skipped(format!("there is no {tool}")));
        }
    }
    let package = PythonPackage::build()?;
    let pages = pages();
    let programs = Programs::read();
    let read: Vec<(String, Vec<Block>)> = pages
        .iter()
        .map(|path| {
            let name = path.strip_prefix(project_dir()).unwrap().display();
            let page = fs::read_to_string(path).unwrap();
            (name.to_string(), blocks_of(&page, &programs))
        })
        .filter(|(_, blocks)| !blocks.is_empty())
        .collect();
    let keys: Vec<Value> = read.iter().map(|(name, _)| key_of(name)).collect();
    let data = DataDir::new();
    let server = Server::start(
        &data,
        &Options::with(&[
            "embedding.model = \"multilingual-e5-small\"",
            "embedding.query_timeout = \"20s\"",
            "index.search_timeout = \"20s\"",
            "auth.database = true",
            "worker.webhooks.allow_private = true",
        ])
        .env("RECOLLECT_AUTH__KEYS", &Value::from(keys).to_string()),
    );
    let addr = &server.ready().addr;
    let problems: Vec<Vec<String>> = stream::iter(&read)
        .map(|(name, blocks)| problems_of(name, blocks, addr, &package))
        .buffered(AT_ONCE)
        .collect()
        .await;
    report(&read);
    let problems = problems.concat();
    assert!(
        problems.is_empty(),
        "{} blocks fail:\n\n{}",
        problems.len(),
        problems.join("\n\n")
    );
    Ok(())
}

/// A key of an administrator of the page's own tenant.
fn key_of(page: &str) -> Value {
    let digest = Sha256::digest(secret_of(page));
    let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    let tenant: String = page
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    json!({"name": "reader", "tenant": tenant.to_lowercase(), "sha256": digest, "scopes": ["admin"]})
}

fn secret_of(page: &str) -> String {
    format!("key-of-the-reader-of-{page}")
}

/// Runs the blocks of a page and says what is wrong with each that fails.
async fn problems_of(
    page: &str,
    blocks: &[Block],
    addr: &str,
    package: &PythonPackage,
) -> Vec<String> {
    let here = |code: &str| {
        let replaced = |code: String, address: &&str| code.replace(*address, addr);
        ADDRESSES.iter().fold(code.to_owned(), replaced)
    };
    let directory = working_directory();
    let mut problems = Vec::new();
    let mut to_run = Vec::new();
    for block in blocks {
        let problem = match &block.treatment {
            Treatment::Run { first, .. } => {
                let code = format!("{first}\n{}", block.code);
                to_run.push(json!({
                    "line": block.line, "language": block.language, "code": here(&code),
                }));
                None
            }
            Treatment::Json => {
                let read = serde_json::from_str::<Value>(&block.code);
                read.err().map(|error| error.to_string())
            }
            Treatment::Configuration => refused_configuration(&block.code, directory.path()),
            Treatment::Unknown => Some(
                "no test runs a block of this language, or of none: let a file of examples/, clients/ or tests/clients/ \
                 contain the block, or put `<!-- shown: REASON -->` before it"
                    .to_owned(),
            ),
            Treatment::Output | Treatment::PartOf(_) | Treatment::Shown(_) => None,
        };
        problems.extend(problem.map(|problem| format!("{page}:{}: {problem}", block.line)));
        problems.extend(
            wrong_requests(&block.code)
                .map(|(request, problem)| format!("{page}:{}: {problem}: {request}", block.line)),
        );
    }
    if to_run.is_empty() {
        return problems;
    }
    let answers = run(page, &to_run, addr, package, directory.path()).await;
    for answer in answers {
        let block = blocks.iter().find(|block| answer["line"] == block.line);
        let problem = block.and_then(|block| difference(block, &answer));
        problems.extend(problem.map(|problem| format!("{page}:{}: {problem}", answer["line"])));
    }
    problems
}

/// What `run_page.py` says of each block.
async fn run(
    page: &str,
    blocks: &[Value],
    addr: &str,
    package: &PythonPackage,
    directory: &Path,
) -> Vec<Value> {
    let mut running = tokio::process::Command::new("python3")
        .arg(project_dir().join("tests/e2e/pages/run_page.py"))
        .current_dir(directory)
        .env(
            "PATH",
            program_path(&[recollect_binary().parent().unwrap()]),
        )
        .env("PYTHONPATH", &package.path)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("RECOLLECT_ADDR", addr)
        .env("RECOLLECT_API_KEY", secret_of(page))
        .env("NO_COLOR", "1")
        // A block that installs packages needs an environment of its own.
        .env("PIP_REQUIRE_VIRTUALENV", "1")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let mut stdin = running.stdin.take().unwrap();
    let input = Value::from(blocks.to_vec()).to_string();
    stdin.write_all(input.as_bytes()).await.unwrap();
    drop(stdin);
    let output = running.wait_with_output().await.unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    let answers: Vec<Value> = printed
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(answers.len(), blocks.len(), "{page}: {output:?}");
    answers
}

/// How what a block did differs from what its page says.
fn difference(block: &Block, answer: &Value) -> Option<String> {
    let Treatment::Run {
        prints, refused, ..
    } = &block.treatment
    else {
        return None;
    };
    let text = |name: &str| answer[name].as_str().unwrap_or_default().to_owned();
    let (stdout, stderr) = (text("stdout"), text("stderr"));
    let said = format!("{stdout}{stderr}");
    let success = answer["success"] == true;
    let problem = match (refused, prints) {
        (Some(word), _) if success || !said.contains(word.as_str()) => {
            format!("is not refused with {word}")
        }
        (None, _) if !success => "fails".to_owned(),
        (_, Some(expected)) if !matches(&lines(expected), &lines(&stdout)) => {
            format!("does not print\n{expected}\n")
        }
        _ => return None,
    };
    Some(format!("{problem}:\n{}\n{said}", block.code))
}

fn lines(text: &str) -> Vec<&str> {
    text.trim_end().lines().collect()
}

/// Whether lines were printed as expected. `…` is anything: alone any number of lines.
fn matches(expected: &[&str], printed: &[&str]) -> bool {
    match expected.split_first() {
        None => printed.is_empty(),
        Some((first, rest)) if first.trim() == "…" => {
            (0..=printed.len()).any(|skipped| matches(rest, &printed[skipped..]))
        }
        Some((first, rest)) => printed
            .split_first()
            .is_some_and(|(line, more)| line_matches(first, line) && matches(rest, more)),
    }
}

fn line_matches(expected: &str, printed: &str) -> bool {
    let mut parts = expected.trim_end().split('…');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = printed.trim_end().strip_prefix(first) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        let Some((_, after)) = rest.split_once(part) else {
            return false;
        };
        rest = after;
    }
    rest.ends_with(last)
}

/// Why the server would not start with a configuration.
fn refused_configuration(toml: &str, directory: &Path) -> Option<String> {
    let file = directory.join("page.toml");
    fs::write(&file, toml).unwrap();
    let output = Command::new(recollect_binary())
        .arg("config")
        .arg("--config")
        .arg(&file)
        .env("NO_COLOR", "1")
        .output()
        .unwrap();
    (!output.status.success()).then(|| String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Requests of grpcurl in a block that the contract does not have. They are checked in blocks that
/// do not run, too.
fn wrong_requests(code: &str) -> impl Iterator<Item = (String, String)> + '_ {
    code.split("grpcurl -plaintext -d '")
        .skip(1)
        .filter_map(|command| {
            let (request, rest) = command.split_once("' ")?;
            let method = rest
                .split_whitespace()
                .find(|word| word.starts_with("recollect.v1."))?;
            let method = Dynamic::method(method.strip_prefix("recollect.v1.")?);
            let problem = match serde_json::from_str::<Value>(request) {
                Err(error) => Some(error.to_string()),
                Ok(value) => {
                    let read = DynamicMessage::deserialize(method.input(), &value);
                    read.err().map(|error| error.to_string())
                }
            };
            problem.map(|problem| (request.to_owned(), problem))
        })
}

/// A directory in which blocks may write, with the examples of a checkout.
fn working_directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let examples = directory.path().join("examples");
    fs::create_dir(&examples).unwrap();
    for entry in fs::read_dir(project_dir().join("examples")).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            fs::copy(&path, examples.join(path.file_name().unwrap())).unwrap();
        }
    }
    directory
}

/// The PATH with the tools of the set-up, behind further directories.
fn program_path(first: &[&Path]) -> OsString {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let own = [
        project_dir().join(".setup/bin"),
        project_dir().join(".setup/python/bin"),
    ];
    let first = first.iter().map(|&path| path.to_path_buf());
    let all = first.chain(own).chain(std::env::split_paths(&path));
    std::env::join_paths(all).unwrap()
}

/// The Python package as it is in this checkout, with the code generated from the contract.
struct PythonPackage {
    path: OsString,
    _directory: tempfile::TempDir,
}

impl PythonPackage {
    fn build() -> Result<Self, Skipped> {
        const BUILD: &str = "import pathlib, shutil, sys
root, out = map(pathlib.Path, sys.argv[1:])
import grpc, grpc_tools, mypy_protobuf
shutil.copytree(root / 'clients/python/src/recollect', out / 'recollect',
    ignore=shutil.ignore_patterns('v1', '__pycache__'))
about = out / 'recollect_client-0.dist-info'
about.mkdir()
(about / 'METADATA').write_text('Metadata-Version: 2.1\\nName: recollect-client\\nVersion: 0\\n')
sys.path.insert(0, str(root / 'clients/python'))
import hatch_build
hatch_build.generate(root / 'proto', out / 'recollect/v1')";
        let directory = tempfile::tempdir().unwrap();
        let packages = project_dir().join(".setup/python");
        let output: Output = Command::new("python3")
            .args(["-c", BUILD])
            .args([project_dir(), directory.path()])
            .env("PATH", program_path(&[]))
            .env("PYTHONPATH", &packages)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .output()
            .unwrap();
        let problem = String::from_utf8_lossy(&output.stderr);
        if problem.contains("ModuleNotFoundError") {
            return Err(Skipped(
                "Python has no grpcio and grpcio-tools; scripts/setup clients installs them or \
                 says why not"
                    .to_owned(),
            ));
        }
        assert!(output.status.success(), "{problem}");
        let path = std::env::join_paths([directory.path(), &packages]).unwrap();
        Ok(Self {
            path,
            _directory: directory,
        })
    }
}

/// Prints what was done with the blocks, and why some were only shown.
fn report(read: &[(String, Vec<Block>)]) {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    let mut shown: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (page, block) in read
        .iter()
        .flat_map(|(page, blocks)| blocks.iter().map(move |block| (page, block)))
    {
        let kind = match &block.treatment {
            Treatment::Run { .. } => "run",
            Treatment::Output => "compared with what was printed",
            Treatment::Json | Treatment::Configuration => "read",
            Treatment::PartOf(_) => "part of programs that other tests run",
            Treatment::Shown(reason) => {
                let place = format!("{page}:{}", block.line);
                shown.entry(reason).or_default().push(place);
                "shown alone"
            }
            Treatment::Unknown => "unknown",
        };
        *counts.entry(kind).or_default() += 1;
    }
    println!("Blocks of {} pages: {counts:?}", read.len());
    for (reason, places) in shown {
        println!("  shown alone, {reason}: {}", places.join(", "));
    }
}

#[apply(trial)]
async fn printed_lines_are_compared_with_gaps() {
    let check = |expected: &str, printed: &str| matches(&lines(expected), &lines(printed));
    assert!(check("a\nb", "a\nb\n"));
    assert!(check("a … c\n…\nz", "a b c\n1\n2\nz"));
    assert!(check("…\nz", "z"));
    assert!(!check("a\nb", "a"));
    assert!(!check("a", "a\nb"));
    assert!(!check("a … c", "a b d"));
}
