//! The console: what the server serves at `/console/`, and its pages in a real browser.

use std::fs;

use recollect_tests::{
    Http, HttpAnswer, Key, Options, PLAIN, Server, Skipped, apply, long_trial_with_own_server,
    project_dir, trial, trial_with_own_server,
};

/// Drives the console of a server with the tests in `tests/console`.
async fn drive(server: &Server, key: &str) -> Result<(), Skipped> {
    let output = tokio::process::Command::new(project_dir().join("tests/console/run"))
        .env("RECOLLECT_ADDR", &server.ready().addr)
        .env("RECOLLECT_API_KEY", key)
        .env_remove("RECOLLECT_APP")
        .kill_on_drop(true)
        .output()
        .await
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    if output.status.code() == Some(77) {
        return Err(Skipped(errors.trim().to_owned()));
    }
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{printed}\n{errors}");
    Ok(())
}

#[apply(long_trial_with_own_server)]
async fn b16_every_page_of_the_console_works_by_clicks_and_by_keyboard() -> Result<(), Skipped> {
    let (_dir, server, _client) = Server::start_own(&Options::default()).await;
    drive(&server, &Key::Acme.secret()).await
}

#[apply(long_trial_with_own_server)]
async fn b16_the_console_of_a_server_without_keys_needs_no_sign_in() -> Result<(), Skipped> {
    let (_dir, server, _client) = Server::start_own(&Options {
        keys: Vec::new(),
        ..Options::with(&["embedding.kind = \"none\""])
    })
    .await;
    drive(&server, "").await
}

/// A GET without a key.
async fn get(addr: &str, path: &str, headers: &[(&str, &str)]) -> HttpAnswer {
    let http = Http::with_authorization(addr, None);
    http.send("GET", path, headers, "").await
}

#[apply(trial)]
async fn b16_the_console_is_static_and_loads_nothing_from_elsewhere() {
    let addr = &PLAIN.ready().addr;
    let directory = project_dir().join("crates/memory-http/console");
    for entry in fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let file = fs::read(entry.path()).unwrap();
        let answer = get(addr, &format!("/console/{name}"), &[]).await;
        assert_eq!(answer.status, 200, "{name}");
        assert_eq!(answer.body, file, "{name}");
        let policy = answer.headers["content-security-policy"].to_str().unwrap();
        for directive in [
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "connect-src 'self'",
            "frame-ancestors 'none'",
            "require-trusted-types-for 'script'",
        ] {
            assert!(policy.contains(directive), "{name}: {policy}");
        }
        assert_eq!(answer.headers["x-content-type-options"], "nosniff");
        assert_eq!(answer.headers["referrer-policy"], "no-referrer");

        let tag = answer.headers["etag"].to_str().unwrap();
        let known = get(addr, &format!("/console/{name}"), &[("if-none-match", tag)]).await;
        assert_eq!(
            (known.status.as_u16(), known.body.len()),
            (304, 0),
            "{name}"
        );
        // The names of SVG's elements are the one address in them.
        let text = String::from_utf8(file).unwrap();
        let elsewhere = text.replace("http://www.w3.org/2000/svg", "");
        for scheme in ["http://", "https://", "//cdn", "innerHTML", "eval("] {
            assert!(!elsewhere.contains(scheme), "{name} has {scheme}");
        }
    }
    let moved = get(addr, "/console", &[]).await;
    assert_eq!(moved.status, 308);
    assert_eq!(moved.headers["location"], "console/");
    assert_eq!(get(addr, "/console/none.js", &[]).await.status, 404);
    let post = Http::with_authorization(addr, None);
    let post = post.send("POST", "/console/", &[], "").await;
    assert_eq!(post.status, 405);
}

#[apply(trial_with_own_server)]
async fn the_console_can_be_switched_off() {
    let (_dir, server, _client) = Server::start_own(&Options::with(&[
        "embedding.kind = \"none\"",
        "server.console = false",
    ]))
    .await;
    for path in ["/console", "/console/", "/console/app.js"] {
        assert_eq!(
            get(&server.ready().addr, path, &[]).await.status,
            404,
            "{path}"
        );
    }
    get(&server.ready().addr, "/openapi.json", &[]).await.ok();
}
