//! The Model Context Protocol: tools and resources over standard input and output and over
//! HTTP, for one user at a time.

mod conformance;
mod http;
mod inspector;
mod isolation;
mod stdio;
mod times;
mod tools;

use std::env;

use recollect_tests::{Key, Mcp, PLAIN, Skipped, project_dir};
use serde_json::Value;
use tokio::process::Command;

/// A client over HTTP with the key of tenant `acme`, for a user of an app.
fn ada(app: &str) -> Mcp {
    user(app, "ada")
}

/// The same for another user.
fn user(app: &str, user: &str) -> Mcp {
    Mcp::http(&PLAIN.ready().addr, Key::Acme, Some(app), Some(user))
}

/// A program of the packages that the set-up installs, on its Node.js.
fn program(path: &str) -> Result<Command, Skipped> {
    let tools = project_dir().join(".setup/mcp");
    if !tools.join(".installed").exists() {
        let problem = "no tools of the Model Context Protocol; scripts/setup clients installs them";
        return Err(Skipped(problem.to_owned()));
    }
    let path_of = env::var_os("PATH").unwrap_or_default();
    let own = [tools.join("bin")].into_iter();
    let dirs = env::join_paths(own.chain(env::split_paths(&path_of))).unwrap();
    let own = tools.join("bin/node");
    let mut command = Command::new(if own.exists() { own } else { "node".into() });
    command
        .arg(tools.join("node_modules").join(path))
        .env("PATH", dirs)
        .kill_on_drop(true);
    Ok(command)
}

/// The field of each entry of a list.
fn each<'a>(list: &'a Value, field: &str) -> Vec<&'a str> {
    let entries = list.as_array().unwrap_or_else(|| panic!("{list}"));
    let texts = entries.iter().map(|entry| entry[field].as_str());
    texts
        .map(|text| text.unwrap_or_else(|| panic!("no {field} in {list}")))
        .collect()
}
