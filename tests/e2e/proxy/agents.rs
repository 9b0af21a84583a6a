//! `recollect connect` and `disconnect` on the files of agents, and the hooks that they set.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use memory_contract::proto::{GetHistoryRequest, Role};
use recollect_tests::{
    Finished, Key, PLAIN, app, apply, by_session, history_request, recollect, recollect_reading,
    session, text_of, trial,
};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::plain;

/// The home directory of a user with agents.
struct Home(TempDir);

/// Files of each agent, with what they have before.
const FILES: [(&str, &str, &str); 7] = [
    (
        "claude-code",
        ".claude.json",
        "{\"numStartups\": 3,\n \"mcpServers\": {\"other\": {\"command\": \"x\"}} }",
    ),
    (
        "claude-code",
        ".claude/settings.json",
        "{\n  \"hooks\": {\n    \"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"beep\"}]}]\n  }\n}\n",
    ),
    (
        "codex",
        ".codex/config.toml",
        "# mine\nmodel   = \"m\"\n\n[tui]\ntheme = 'dark' # keep\n",
    ),
    (
        "cursor",
        ".cursor/mcp.json",
        "{\n\t\"mcpServers\": {\n\t\t\"a\": {\"url\": \"http://a\"}\n\t}\n}",
    ),
    (
        "gemini-cli",
        ".gemini/settings.json",
        "{\"theme\":\"GitHub\"}",
    ),
    (
        "opencode",
        ".config/opencode/opencode.jsonc",
        "{\n  // my model\n  \"model\": \"a/b\",\n  \"mcp\": {\n    /* none */\n  },\n}\n",
    ),
    (
        "windsurf",
        ".codeium/windsurf/mcp_config.json",
        "{\"mcpServers\": {}}\n",
    ),
];

impl Home {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// One in which each agent has its files.
    fn with_files() -> Self {
        let home = Self::new();
        for (_, path, text) in FILES {
            let path = home.path(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        home
    }

    fn path(&self, path: &str) -> std::path::PathBuf {
        self.0.path().join(path)
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap()
    }

    fn run_with(&self, args: &[&str], env: &[(&str, &str)]) -> Finished {
        let home = self.0.path().to_str().unwrap().to_owned();
        let state = self.path("state").to_str().unwrap().to_owned();
        let config = self.path(".config").to_str().unwrap().to_owned();
        let mut all = vec![
            ("HOME", home.as_str()),
            ("XDG_STATE_HOME", state.as_str()),
            ("XDG_CONFIG_HOME", config.as_str()),
        ];
        all.extend(env);
        recollect(args, &all)
    }

    fn run(&self, args: &[&str]) -> Finished {
        self.run_with(args, &[])
    }

    fn connect(&self, agent: &str) -> Finished {
        self.run(&["connect", agent, "--user", "ada", "--yes"])
    }
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[apply(trial)]
async fn an_agent_is_connected_and_disconnected_to_the_byte() {
    let home = Home::with_files();
    let key = [("RECOLLECT_API_KEY", "key-1234")];
    for (agent, path, before) in FILES {
        let path_of = home.path(path);
        fs::set_permissions(&path_of, fs::Permissions::from_mode(0o640)).unwrap();
        let args = ["connect", agent, "--user", "Ada B.", "--yes"];
        let shown = home.run_with(&args, &key).ok().stdout;
        assert!(shown.contains(path) || agent == "claude-code", "{shown}");
        assert!(!shown.contains("key-1234"), "{shown}");
        let after = home.read(path);
        assert!(
            after.contains("recollect") && after.contains("Ada B."),
            "{after}"
        );
        // A key is named, not written.
        assert!(!after.contains("key-1234"), "{after}");
        assert_eq!(mode(&path_of), 0o640);
        // Whatever was there is there.
        for word in before.split_whitespace() {
            let word = word.trim_matches(['{', '}', '[', ']', ',']);
            assert!(after.contains(word), "{word}: {after}");
        }
        // Again, nothing changes.
        let again = home.run_with(&args, &key).ok();
        assert!(again.stdout.contains("connected already"), "{again:?}");
        assert_eq!(home.read(path), after);
        home.run(&["disconnect", agent, "--yes"]).ok();
        assert_eq!(home.read(path), before, "{agent}");
        let none = home.run(&["disconnect", agent, "--yes"]).ok();
        assert!(none.stdout.contains("not connected"), "{none:?}");
    }
}

#[apply(trial)]
async fn what_an_agent_reads_is_what_its_documentation_asks_for() {
    let home = Home::new();
    for (agent, ..) in FILES {
        let args = ["connect", agent, "--user", "ada", "--yes"];
        home.run_with(&args, &[("RECOLLECT_API_KEY", "key-1234")]);
    }
    let json = |path: &str| -> Value { serde_json::from_str(&home.read(path)).unwrap() };
    let args = json!([
        "mcp",
        "--addr",
        "http://127.0.0.1:50051",
        "--app",
        "assistant",
        "--user",
        "ada"
    ]);
    for (path, reference) in [
        (".claude.json", "${RECOLLECT_API_KEY}"),
        (".cursor/mcp.json", "${env:RECOLLECT_API_KEY}"),
        (".gemini/settings.json", "$RECOLLECT_API_KEY"),
        (
            ".codeium/windsurf/mcp_config.json",
            "${env:RECOLLECT_API_KEY}",
        ),
    ] {
        let server = &json(path)["mcpServers"]["recollect"];
        assert_eq!(server["args"], args, "{path}");
        assert_eq!(
            server["env"],
            json!({"RECOLLECT_API_KEY": reference}),
            "{path}"
        );
        let command = server["command"].as_str().unwrap();
        assert!(Path::new(command).is_absolute(), "{command}");
    }
    let server = &json(".config/opencode/opencode.json")["mcp"]["recollect"];
    assert_eq!(
        (&server["type"], &server["enabled"]),
        (&json!("local"), &json!(true))
    );
    assert_eq!(server["command"].as_array().unwrap().len(), 8);
    assert_eq!(
        server["environment"]["RECOLLECT_API_KEY"],
        "{env:RECOLLECT_API_KEY}"
    );
    let codex = home.read(".codex/config.toml");
    assert!(
        codex.contains("[mcp_servers.recollect]\ncommand = "),
        "{codex}"
    );
    assert!(
        codex.contains("env_vars = [\"RECOLLECT_API_KEY\"]"),
        "{codex}"
    );
    for event in ["UserPromptSubmit", "Stop"] {
        let hook = &json(".claude/settings.json")["hooks"][event][0]["hooks"][0];
        assert_eq!(hook["type"], "command");
        assert!(
            hook["command"].as_str().unwrap().contains(" hook --addr="),
            "{hook}"
        );
    }
    // What was made is removed.
    for (agent, path, _) in FILES {
        home.run(&["disconnect", agent, "--yes"]).ok();
        assert!(!home.path(path).exists(), "{path}");
    }
}

#[apply(trial)]
async fn changes_of_others_stay_when_an_agent_is_disconnected() {
    let home = Home::with_files();
    let path = ".cursor/mcp.json";
    home.connect("cursor").ok();
    let edited = home.read(path).replace("http://a", "http://b");
    fs::write(home.path(path), &edited).unwrap();
    home.run(&["disconnect", "cursor", "--yes"]).ok();
    let left: Value = serde_json::from_str(&home.read(path)).unwrap();
    assert_eq!(left, json!({"mcpServers": {"a": {"url": "http://b"}}}));

    // Other settings replace the entry, and what was before both is restored.
    home.connect("codex").ok();
    home.run(&["connect", "codex", "--user", "eve", "--yes"])
        .ok();
    let path = ".codex/config.toml";
    assert_eq!(home.read(path).matches("mcp_servers.recollect").count(), 1);
    assert!(home.read(path).contains("eve"), "{}", home.read(path));
    home.run(&["disconnect", "codex", "--yes"]).ok();
    assert_eq!(home.read(path), FILES[2].2);
}

#[apply(trial)]
async fn an_entry_that_was_there_before_does_not_come_back() {
    let home = Home::with_files();
    let path = ".cursor/mcp.json";
    home.connect("cursor").ok();
    let args = ["connect", "cursor", "--user", "eve", "--yes"];
    // Nothing remembers the first entry, such as in a configuration that was copied.
    fs::remove_dir_all(home.path("state")).unwrap();
    home.run(&args).ok();
    assert!(home.read(path).contains("eve"), "{}", home.read(path));
    home.run(&["disconnect", "cursor", "--yes"]).ok();
    let left: Value = serde_json::from_str(&home.read(path)).unwrap();
    assert_eq!(left, json!({"mcpServers": {"a": {"url": "http://a"}}}));
}

#[apply(trial)]
async fn hooks_are_removed_from_a_connection_that_goes_on_without_them() {
    let home = Home::with_files();
    home.connect("claude-code").ok();
    let args = [
        "connect",
        "claude-code",
        "--user",
        "ada",
        "--no-hooks",
        "--yes",
    ];
    home.run(&args).ok();
    assert_eq!(home.read(".claude/settings.json"), FILES[1].2);
    assert!(home.read(".claude.json").contains("recollect"));
    let again = home.run(&args).ok();
    assert!(again.stdout.contains("connected already"), "{again:?}");
}

#[apply(trial)]
async fn a_file_that_cannot_be_read_is_left_as_it_is() {
    let home = Home::with_files();
    for (agent, path, text) in [
        ("cursor", ".cursor/mcp.json", "{\"mcpServers\": "),
        ("gemini-cli", ".gemini/settings.json", "[1, 2]"),
        (
            "windsurf",
            ".codeium/windsurf/mcp_config.json",
            "{\"mcpServers\": []}",
        ),
        ("codex", ".codex/config.toml", "model = "),
        ("claude-code", ".claude/settings.json", "{\"hooks\": 1}"),
    ] {
        fs::write(home.path(path), text).unwrap();
        let ended = home.connect(agent);
        assert_eq!(ended.code, Some(6), "{agent}: {ended:?}");
        assert!(ended.stderr.contains("is left as it is"), "{ended:?}");
        assert_eq!(home.read(path), text);
    }
    // Neither file of an agent is changed if one of them cannot be.
    assert_eq!(home.read(".claude.json"), FILES[0].2);
}

#[apply(trial)]
async fn a_link_that_leads_nowhere_stays() {
    let home = Home::new();
    fs::create_dir(home.path(".cursor")).unwrap();
    let path = home.path(".cursor/mcp.json");
    std::os::unix::fs::symlink("elsewhere.json", &path).unwrap();
    let ended = home.connect("cursor");
    assert_eq!(ended.code, Some(6), "{ended:?}");
    assert!(ended.stderr.contains("remove the link"), "{ended:?}");
    assert!(path.is_symlink());
    // Once there is the file, it is changed behind the link.
    fs::write(home.path(".cursor/elsewhere.json"), "{}").unwrap();
    home.connect("cursor").ok();
    assert!(path.is_symlink());
    assert!(home.read(".cursor/elsewhere.json").contains("ada"));
}

#[apply(trial)]
async fn nothing_is_written_unasked() {
    let home = Home::with_files();
    let dry = home
        .run(&["connect", "cursor", "--user", "ada", "--dry-run"])
        .ok();
    assert!(dry.stdout.contains("+"), "{dry:?}");
    assert!(dry.stdout.contains("Nothing was written"), "{dry:?}");
    let asked = home.run(&["connect", "cursor", "--user", "ada"]);
    assert_eq!(asked.code, Some(2), "{asked:?}");
    assert!(asked.stderr.contains("--yes"), "{asked:?}");
    assert_eq!(home.read(".cursor/mcp.json"), FILES[3].2);
    assert_eq!(home.run(&["connect", "cursor", "--yes"]).code, Some(2));

    let listed = home.run(&["connect", "--list"]).ok().stdout;
    assert!(
        listed.contains("Windsurf") && listed.contains("yes"),
        "{listed}"
    );
    assert_eq!(listed.matches("Claude").count(), 2, "{listed}");
}

#[apply(trial)]
async fn a_project_has_its_own_files_and_a_key_is_for_its_user_alone() {
    let home = Home::new();
    let project = home.path("work");
    fs::create_dir(&project).unwrap();
    let project = project.to_str().unwrap();
    for (agent, path) in [
        ("claude-code", "work/.mcp.json"),
        ("codex", "work/.codex/config.toml"),
        ("cursor", "work/.cursor/mcp.json"),
        ("gemini-cli", "work/.gemini/settings.json"),
        ("opencode", "work/opencode.json"),
    ] {
        let args = ["connect", agent, "--yes", "--project", project];
        // Whoever connects it is not the only one who uses it.
        let shown = home.run_with(&args, &[("RECOLLECT_USER", "ada")]).ok();
        assert!(shown.stdout.contains("sets RECOLLECT_USER"), "{shown:?}");
        let text = home.read(path);
        // Others have the program elsewhere.
        assert!(text.contains("\"recollect\""), "{text}");
        assert!(!text.contains("ada"), "{text}");
        if agent == "claude-code" {
            let hooks = home.read("work/.claude/settings.local.json");
            assert!(hooks.contains(" hook "), "{hooks}");
            assert!(!home.path("work/.claude/settings.json").exists());
        }
        if agent != "gemini-cli" {
            assert!(text.contains("RECOLLECT_USER"), "{text}");
        }
        home.run(&["disconnect", agent, "--yes", "--project", project])
            .ok();
        assert!(!home.path(path).exists());
        let named = home.run(&[&args[..], &["--user", "ada"]].concat());
        assert_eq!(named.code, Some(2), "{named:?}");
        assert!(named.stderr.contains("RECOLLECT_USER"), "{named:?}");
    }
    let args = ["connect", "windsurf", "--yes", "--project", project];
    assert_eq!(home.run(&args).code, Some(2));

    // Claude Desktop has no references to the environment.
    let args = ["connect", "claude-desktop", "--user", "ada", "--yes"];
    let shown = home
        .run_with(&args, &[("RECOLLECT_API_KEY", "key-1234")])
        .ok();
    assert!(!shown.stdout.contains("key-1234"), "{shown:?}");
    let path = match cfg!(target_os = "macos") {
        true => "Library/Application Support/Claude/claude_desktop_config.json",
        false => ".config/Claude/claude_desktop_config.json",
    };
    assert!(home.read(path).contains("key-1234"));
    assert_eq!(mode(&home.path(path)), 0o600);
}

#[apply(trial)]
async fn hooks_store_prompts_and_bring_memory_to_the_next_session() {
    let app = app();
    let args = ["hook", "--app", &app, "--user", "ada"];
    let addr = &PLAIN.ready().addr;
    let fire = |event: Value| recollect_reading(addr, Key::Acme, &args, &event.to_string()).ok();
    let prompt = |session: &str, prompt: &str| {
        fire(
            json!({"hook_event_name": "UserPromptSubmit", "session_id": session,
            "transcript_path": "/nowhere", "cwd": "/", "prompt": prompt}),
        )
    };
    let first = prompt("one", "My dog is called Pixel.");
    assert_eq!(first.stdout, "");
    fire(
        json!({"hook_event_name": "Stop", "session_id": "one", "stop_hook_active": false,
        "last_assistant_message": "A fine name."}),
    );
    // Two files of the agent may have the hook; the same words later are another prompt.
    let folder = tempfile::tempdir().unwrap();
    let transcript = folder.path().join("transcript.jsonl");
    let go_on = || {
        fire(
            json!({"hook_event_name": "UserPromptSubmit", "session_id": "three",
            "transcript_path": &transcript, "prompt": "Go on."}),
        )
    };
    fs::write(&transcript, "{}").unwrap();
    go_on();
    go_on();
    fs::write(&transcript, "{}{}").unwrap();
    go_on();
    let client = plain().await;
    let history = client.call(GetHistoryRequest {
        thread: by_session(session(&app, "ada", "three")),
        ..history_request("")
    });
    assert_eq!(history.await.messages.len(), 2);

    let second = prompt("two", "What is my dog called?");
    assert!(second.stdout.contains("Pixel"), "{second:?}");
    assert!(
        second.stdout.starts_with("Each line below quotes"),
        "{second:?}"
    );
    // The agent has its own conversation.
    let own = prompt("one", "What is my dog called?");
    assert!(!own.stdout.contains("My dog is called Pixel"), "{own:?}");
    let history = client.call(GetHistoryRequest {
        thread: by_session(session(&app, "ada", "one")),
        ..history_request("")
    });
    let history = history.await.messages;
    let shown: Vec<(Role, String)> = history
        .iter()
        .map(|message| (message.role(), text_of(message)))
        .collect();
    assert_eq!(
        shown,
        [
            (Role::User, "My dog is called Pixel.".to_owned()),
            (Role::Assistant, "A fine name.".to_owned()),
            (Role::User, "What is my dog called?".to_owned())
        ]
    );

    // The code 2 would remove the prompt.
    for wrong in [&["hook", "--nothing"][..], &["hook"]] {
        let ended = recollect_reading(addr, Key::Acme, wrong, "");
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(!ended.stderr.is_empty(), "{ended:?}");
    }

    // The agent goes on without Recollect, and with events of any kind.
    let away = recollect_reading(
        "127.0.0.1:1",
        Key::Acme,
        &args,
        "{\"hook_event_name\": \
        \"UserPromptSubmit\", \"session_id\": \"x\", \"prompt\": \"y\"}",
    )
    .ok();
    assert_eq!(away.stdout, "");
    assert!(!away.stderr.is_empty());
    for event in [
        "",
        "{}",
        "{\"hook_event_name\": \"Other\", \"session_id\": \"x\"}",
    ] {
        assert_eq!(
            recollect_reading(addr, Key::Acme, &args, event).ok().stdout,
            ""
        );
    }
}
