//! A client of the Model Context Protocol.

use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::Mutex;
use tokio::time::timeout;

use crate::process::bare_command;
use crate::{Http, HttpAnswer, Key, recollect_binary};

const VERSION: &str = "2025-06-18";
/// How long an answer may take.
const LIMIT: Duration = Duration::from_secs(60);

/// A client, over HTTP or on the standard input and output of `recollect mcp`.
pub struct Mcp {
    way: Way,
    last_id: AtomicU64,
}

enum Way {
    Http(Http, Vec<(String, String)>),
    Stdio(Box<Mutex<Pipe>>),
}

struct Pipe {
    child: Child,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

/// What a tool returned.
#[derive(Clone, Debug)]
pub struct ToolAnswer {
    /// Whether it is an error.
    pub is_error: bool,
    /// Its text.
    pub text: String,
    /// Its structured content; null for an error.
    pub data: Value,
}

impl Mcp {
    /// Over HTTP, with the app and the user in headers where they are given.
    pub fn http(addr: &str, key: Key, app: Option<&str>, user: Option<&str>) -> Self {
        Self::http_as(Http::new(addr, key), app, user)
    }

    /// Over HTTP as a caller.
    pub fn http_as(http: Http, app: Option<&str>, user: Option<&str>) -> Self {
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let names = [("x-recollect-app", app), ("x-recollect-user", user)];
        let names = names.into_iter();
        let headers = names.filter_map(|(name, value)| Some(header(name, value?)));
        Self {
            way: Way::Http(http, headers.collect()),
            last_id: AtomicU64::new(0),
        }
    }

    /// Starts `recollect mcp` with these arguments, and opens a session.
    ///
    /// # Panics
    /// If it does not answer.
    pub async fn stdio(addr: &str, key: Key, args: &[&str]) -> Self {
        let mut command = Command::from(bare_command(Path::new(&recollect_binary())));
        let mut child = command
            .arg("mcp")
            .args(args)
            .env("RECOLLECT_ADDR", addr)
            .env("RECOLLECT_API_KEY", key.secret())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let pipe = Pipe {
            stdin: child.stdin.take().unwrap(),
            lines: BufReader::new(child.stdout.take().unwrap()).lines(),
            child,
        };
        let mcp = Self {
            way: Way::Stdio(Box::new(Mutex::new(pipe))),
            last_id: AtomicU64::new(0),
        };
        let opened = mcp.request("initialize", initialize()).await;
        assert_eq!(opened["protocolVersion"], VERSION, "{opened}");
        let Way::Stdio(pipe) = &mcp.way else {
            unreachable!()
        };
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        pipe.lock().await.send(&ready).await;
        mcp
    }

    /// The result of a request.
    ///
    /// # Panics
    /// If it is an error.
    pub async fn request(&self, method: &str, params: Value) -> Value {
        let answer = self.send(method, params).await;
        assert!(answer.get("error").is_none(), "{method}: {answer}");
        answer["result"].clone()
    }

    /// The error of a request: its code and its message.
    ///
    /// # Panics
    /// If it has a result.
    pub async fn refused(&self, method: &str, params: Value) -> (i64, String) {
        let answer = self.send(method, params).await;
        let error = &answer["error"];
        let code = error["code"].as_i64();
        let code = code.unwrap_or_else(|| panic!("{method}: {answer}"));
        (code, error["message"].as_str().unwrap().to_owned())
    }

    /// Calls a tool.
    pub async fn call(&self, tool: &str, arguments: Value) -> ToolAnswer {
        let params = json!({"name": tool, "arguments": arguments});
        let result = self.request("tools/call", params).await;
        let content = result["content"].as_array().unwrap();
        assert_eq!(content.len(), 1, "{result}");
        ToolAnswer {
            is_error: result["isError"].as_bool().unwrap_or_default(),
            text: content[0]["text"].as_str().unwrap().to_owned(),
            data: result["structuredContent"].clone(),
        }
    }

    /// What a tool returns.
    ///
    /// # Panics
    /// If it is an error.
    pub async fn tool(&self, tool: &str, arguments: Value) -> Value {
        let answer = self.call(tool, arguments).await;
        assert!(!answer.is_error, "{tool}: {answer:?}");
        answer.data
    }

    /// The error of a tool.
    ///
    /// # Panics
    /// If the tool succeeds.
    pub async fn tool_error(&self, tool: &str, arguments: Value) -> String {
        let answer = self.call(tool, arguments).await;
        assert!(answer.is_error, "{tool}: {answer:?}");
        answer.text
    }

    /// Closes the standard input of the command. The exit code.
    ///
    /// # Panics
    /// If this is over HTTP, or the command does not end.
    pub async fn close(self) -> Option<i32> {
        let Way::Stdio(pipe) = self.way else {
            panic!("there is nothing to close");
        };
        let Pipe {
            mut child,
            stdin,
            lines: _lines,
        } = pipe.into_inner();
        drop(stdin);
        timeout(LIMIT, child.wait()).await.unwrap().unwrap().code()
    }

    async fn send(&self, method: &str, params: Value) -> Value {
        let id = self.last_id.fetch_add(1, Ordering::Relaxed) + 1;
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        let answer = match &self.way {
            Way::Stdio(pipe) => pipe.lock().await.ask(&request).await,
            Way::Http(http, headers) => {
                let answer = post(http, headers, &request).await;
                assert!(answer.status == 200 || answer.status == 400, "{answer:?}");
                answer.json()
            }
        };
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }
}

impl Pipe {
    async fn send(&mut self, message: &Value) {
        let line = format!("{message}\n");
        self.stdin.write_all(line.as_bytes()).await.unwrap();
        self.stdin.flush().await.unwrap();
    }

    async fn ask(&mut self, request: &Value) -> Value {
        self.send(request).await;
        let line = timeout(LIMIT, self.lines.next_line()).await.unwrap();
        let line = line
            .unwrap()
            .unwrap_or_else(|| panic!("no answer to {request}"));
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }
}

/// Sends a message of the protocol over HTTP.
pub async fn mcp_post(http: &Http, headers: &[(&str, &str)], message: &Value) -> HttpAnswer {
    let owned = |text: &str| text.to_owned();
    let headers = headers
        .iter()
        .map(|(name, value)| (owned(name), owned(value)));
    post(http, &headers.collect::<Vec<_>>(), message).await
}

async fn post(http: &Http, headers: &[(String, String)], message: &Value) -> HttpAnswer {
    let mut all = vec![
        ("content-type", "application/json"),
        ("accept", "application/json, text/event-stream"),
        ("mcp-protocol-version", VERSION),
    ];
    let more = headers.iter();
    all.extend(more.map(|(name, value)| (name.as_str(), value.as_str())));
    http.send("POST", "/mcp", &all, message.to_string()).await
}

/// The parameters of the request that opens a session.
pub fn initialize() -> Value {
    json!({
        "protocolVersion": VERSION,
        "capabilities": {},
        "clientInfo": {"name": "tests", "version": "1"},
    })
}
