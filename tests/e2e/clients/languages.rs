//! One chat turn with the generated client of each language, and the page that shows it.

use std::fs;

use recollect_tests::{
    Client, Key, Options, PLAIN, Ready, Server, Skipped, apply, history_request, long_trial,
    long_trial_with_own_server, project_dir, recollect_binary, session, texts, trial,
};

use crate::plain;

/// Each language with its name in a fenced block and its program.
const PROGRAMS: [(&str, &str, &str); 9] = [
    ("Python", "python", "tests/clients/python/package_turn.py"),
    (
        "Python, generated",
        "python",
        "tests/clients/python/turn.py",
    ),
    (
        "TypeScript",
        "ts",
        "tests/clients/packages/typescript/turn.ts",
    ),
    (
        "TypeScript, generated",
        "ts",
        "tests/clients/typescript/turn.ts",
    ),
    ("Go", "go", "tests/clients/packages/go/turn/main.go"),
    ("Go, generated", "go", "tests/clients/go/turn.go"),
    ("Java", "java", "tests/clients/packages/java/Turn.java"),
    ("Java, generated", "java", "tests/clients/java/Turn.java"),
    ("grpcurl", "sh", "tests/clients/grpcurl/turn.sh"),
];

#[apply(trial)]
async fn a_generated_python_client_takes_a_chat_turn() -> Result<(), Skipped> {
    takes_a_chat_turn("python").await
}

// The own tests of a package run here too, against the same server. Those that delete a user, for which
// the server rewrites its database, have a server of their own.

#[apply(long_trial_with_own_server)]
async fn b12_the_python_package_takes_a_chat_turn_and_passes_its_tests() -> Result<(), Skipped> {
    takes_a_chat_turn_with_an_own_server("python-package").await
}

#[apply(long_trial)]
async fn b12_the_python_adapters_and_wrap_pass_their_tests() -> Result<(), Skipped> {
    plain().await;
    run("python-adapters").await.map(drop)
}

#[apply(long_trial)]
async fn b12_the_adapters_of_further_python_frameworks_pass_their_tests() -> Result<(), Skipped> {
    plain().await;
    run("python-frameworks").await.map(drop)
}

#[apply(long_trial)]
async fn b12_the_crewai_adapter_passes_its_tests() -> Result<(), Skipped> {
    plain().await;
    run("python-crewai").await.map(drop)
}

#[apply(long_trial_with_own_server)]
async fn the_typescript_package_takes_a_chat_turn_and_passes_its_tests() -> Result<(), Skipped> {
    takes_a_chat_turn_with_an_own_server("typescript-package").await
}

#[apply(long_trial)]
async fn the_go_module_takes_a_chat_turn_and_passes_its_tests() -> Result<(), Skipped> {
    takes_a_chat_turn("go-package").await
}

#[apply(long_trial)]
async fn the_java_package_takes_a_chat_turn_and_passes_its_tests() -> Result<(), Skipped> {
    takes_a_chat_turn("java-package").await
}

#[apply(long_trial)]
async fn a_generated_typescript_client_takes_a_chat_turn() -> Result<(), Skipped> {
    takes_a_chat_turn("typescript").await
}

#[apply(long_trial)]
async fn a_generated_go_client_takes_a_chat_turn() -> Result<(), Skipped> {
    takes_a_chat_turn("go").await
}

#[apply(long_trial)]
async fn a_generated_java_client_takes_a_chat_turn() -> Result<(), Skipped> {
    takes_a_chat_turn("java").await
}

#[apply(trial)]
async fn grpcurl_takes_a_chat_turn() -> Result<(), Skipped> {
    takes_a_chat_turn("grpcurl").await
}

#[apply(long_trial)]
async fn b13_the_langflow_component_passes_its_tests() -> Result<(), Skipped> {
    plain().await;
    run("langflow").await.map(drop)
}

#[apply(long_trial)]
async fn b13_the_dify_plugin_passes_its_tests() -> Result<(), Skipped> {
    plain().await;
    run("dify").await.map(drop)
}

/// Runs the programs and tests of a language against the shared server, and returns what they print.
async fn run(language: &str) -> Result<String, Skipped> {
    run_against(PLAIN.ready(), language).await
}

async fn run_against(server: &Ready, language: &str) -> Result<String, Skipped> {
    let mut command = tokio::process::Command::new(project_dir().join("tests/clients/run"));
    command
        .arg(language)
        .env("RECOLLECT_ADDR", &server.addr)
        .env("RECOLLECT_API_KEY", Key::Acme.secret());
    if language == "python-package" {
        command.env("RECOLLECT_PROGRAM", recollect_binary());
    }
    // Answering the server's pings must go on meanwhile, or it closes the connection.
    let output = command.output().await.unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(77) {
        return Err(Skipped(errors.trim().to_owned()));
    }
    assert!(output.status.success(), "{language}: {output:?}");
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

async fn takes_a_chat_turn(language: &str) -> Result<(), Skipped> {
    takes_a_chat_turn_with(&plain().await, PLAIN.ready(), language).await
}

async fn takes_a_chat_turn_with_an_own_server(language: &str) -> Result<(), Skipped> {
    let options = Options::with(&["embedding.kind = \"none\""]);
    let (_dir, server, client) = Server::start_own(&options).await;
    takes_a_chat_turn_with(&client, server.ready(), language).await
}

/// Runs the program of a language in a session that has one turn already.
async fn takes_a_chat_turn_with(
    client: &Client,
    server: &Ready,
    language: &str,
) -> Result<(), Skipped> {
    let named = session("support", "ada", language);
    let thread_id = client.resolve(named).await.thread_id;
    client
        .append_turn(&thread_id, "My dog is called Pixel.", "A fine name!")
        .await;

    let printed = run_against(server, language).await?;
    for text in ["My dog is called Pixel.", "What is my dog called?"] {
        assert!(printed.contains(text), "{language}: no {text} in {printed}");
    }
    let history = client.call(history_request(&thread_id)).await;
    let expected = [
        "My dog is called Pixel.",
        "A fine name!",
        "What is my dog called?",
        "Your dog is called Pixel.",
    ];
    assert_eq!(texts(&history.messages), expected, "{language}");
    Ok(())
}

#[apply(trial)]
async fn the_clients_page_shows_the_programs_that_the_tests_run() {
    let page = fs::read_to_string(project_dir().join("docs/clients.md")).unwrap();
    for (language, block, path) in PROGRAMS {
        let program = fs::read_to_string(project_dir().join(path)).unwrap();
        let turn = region(&program);
        let shown = blocks(&page, block);
        assert!(
            shown.iter().any(|block| *block == turn),
            "docs/clients.md must show this region of {path}:\n{turn}"
        );
        let lines = turn.lines().filter(|line| !line.trim().is_empty()).count();
        let row = format!("| {language} | {lines} |");
        assert!(page.contains(&row), "docs/clients.md must say: {row}");
    }
}

/// The lines between the two markers `region` and `endregion`.
fn region(program: &str) -> String {
    let marks = |line: &&str| line.contains("region");
    let lines = program.lines().skip_while(|line| !marks(line)).skip(1);
    let lines: Vec<&str> = lines.take_while(|line| !marks(line)).collect();
    assert!(!lines.is_empty(), "no region");
    lines.join("\n").trim().to_owned()
}

/// The fenced blocks of a page in a language.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    page.split(&format!("```{language}\n"))
        .skip(1)
        .filter_map(|rest| rest.split_once("```"))
        .map(|(block, _)| block.trim())
        .collect()
}
