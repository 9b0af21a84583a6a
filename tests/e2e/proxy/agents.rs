//! `recollect connect` and `disconnect` on the files of agents.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use recollect_tests::{Finished, apply, recollect, trial};
use serde_json::{Value, json};
use tempfile::TempDir;

/// The home directory of a user with agents.
struct Home(TempDir);

/// Files of each agent, with what they have before.
const FILES: [(&str, &str, &str); 8] = [
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
        "codex",
        ".codex/hooks.json",
        "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \"command\": \"beep\"}]}]}}",
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
    let seconds = ["UserPromptSubmit", "Stop"].map(|event| (event, 10));
    let milliseconds = ["BeforeAgent", "AfterAgent"].map(|event| (event, 10_000));
    for (path, (event, timeout)) in [
        (".claude/settings.json", seconds[0]),
        (".claude/settings.json", seconds[1]),
        (".codex/hooks.json", seconds[0]),
        (".codex/hooks.json", seconds[1]),
        (".gemini/settings.json", milliseconds[0]),
        (".gemini/settings.json", milliseconds[1]),
    ] {
        let hook = &json(path)["hooks"][event][0]["hooks"][0];
        assert_eq!(hook["type"], "command");
        assert_eq!(hook["timeout"], timeout);
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
async fn an_entry_of_an_earlier_connect_does_not_come_back() {
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
async fn an_entry_of_ones_own_comes_back() {
    let home = Home::new();
    let path = ".claude.json";
    let own = "{\"mcpServers\":{\"recollect\":{\"command\":\"mine\",\"args\":[\"mcp\"]}},\"x\":1}";
    fs::write(home.path(path), own).unwrap();
    home.connect("claude-code").ok();
    home.run(&["connect", "claude-code", "--user", "eve", "--yes"])
        .ok();
    assert!(!home.read(path).contains("mine"), "{}", home.read(path));
    home.run(&["disconnect", "claude-code", "--yes"]).ok();
    assert_eq!(home.read(path), own);
    // It is not one of `connect`, so a second time nothing is removed.
    let none = home.run(&["disconnect", "claude-code", "--yes"]).ok();
    assert!(none.stdout.contains("not connected"), "{none:?}");
    assert_eq!(home.read(path), own);

    // Claude Code writes this file at each start.
    home.connect("claude-code").ok();
    let edited = home.read(path).replace("\"x\":1", "\"x\":2");
    fs::write(home.path(path), edited).unwrap();
    home.run(&["disconnect", "claude-code", "--yes"]).ok();
    let left: Value = serde_json::from_str(&home.read(path)).unwrap();
    let mine = json!({"command": "mine", "args": ["mcp"]});
    assert_eq!(left, json!({"mcpServers": {"recollect": mine}, "x": 2}));
}

#[apply(trial)]
async fn a_byte_order_mark_and_null_are_no_obstacle() {
    let home = Home::with_files();
    let path = ".cursor/mcp.json";
    let before = "\u{feff}{\"mcpServers\": null}\r\n";
    fs::write(home.path(path), before).unwrap();
    home.connect("cursor").ok();
    let after = home.read(path);
    let read: Value = serde_json::from_str(after.strip_prefix('\u{feff}').unwrap()).unwrap();
    assert!(
        read["mcpServers"]["recollect"]["command"].is_string(),
        "{after}"
    );
    home.run(&["disconnect", "cursor", "--yes"]).ok();
    assert_eq!(home.read(path), before);
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

    // Gemini CLI has servers and hooks in one file.
    home.connect("gemini-cli").ok();
    let args = ["connect", "gemini-cli", "--user", "ada", "--no-hooks"];
    home.run(&[&args[..], &["--yes"]].concat()).ok();
    let settings: Value = serde_json::from_str(&home.read(".gemini/settings.json")).unwrap();
    assert_eq!(settings["hooks"], Value::Null, "{settings}");
    assert!(settings["mcpServers"]["recollect"].is_object());
    home.run(&["disconnect", "gemini-cli", "--yes"]).ok();
    assert_eq!(home.read(".gemini/settings.json"), FILES[5].2);
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
    assert_eq!(home.read(".cursor/mcp.json"), FILES[4].2);
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
        // The hooks of a project would be those of all who work on it.
        assert!(!text.contains(" hook "), "{text}");
        assert!(!home.path("work/.codex/hooks.json").exists());
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
