//! `recollect proxy`: memory for applications that change nothing but their base URL.

mod agents;
mod hooks;
mod memory;
mod outages;
mod passing;
mod turns;

use recollect_tests::{
    Client, Http, HttpAnswer, Key, Provider, ProviderApi, SOON, Spawned, by_session, eventually,
    history_request,
};
use serde_json::Value;

/// A running proxy.
struct Proxy {
    http: Http,
    process: Spawned,
}

impl Proxy {
    /// Starts one between a provider and the server at this address.
    fn start(provider: &Provider, server: &str, args: &[&str]) -> Self {
        let url = provider.url();
        let mut all = vec!["proxy", "--listen", "127.0.0.1:0", "--upstream", &url];
        // The machine may be busy.
        if !args.contains(&"--recall-timeout") {
            all.extend(["--recall-timeout", "20s"]);
        }
        all.extend(args);
        let (addr, key) = (format!("http://{server}"), Key::Acme.secret());
        let process = Spawned::start(
            &all,
            &[("RECOLLECT_ADDR", &addr), ("RECOLLECT_API_KEY", &key)],
        );
        let line = process.line();
        let own = line.strip_prefix("Listening on http://").unwrap();
        Self {
            http: Http::with_authorization(own, Some("Bearer key-of-provider".to_owned())),
            process,
        }
    }

    /// Sends a request.
    async fn ask(&self, api: ProviderApi, headers: &[(&str, &str)], body: &Value) -> HttpAnswer {
        let mut all = vec![("content-type", "application/json")];
        all.extend(headers);
        self.http
            .send("POST", api.path(), &all, body.to_string())
            .await
    }

    /// A counter of the proxy.
    async fn count(&self, name: &str) -> u64 {
        let status = self.http.send("GET", "/recollect/status", &[], "").await;
        status.json()[name].as_u64().unwrap()
    }

    /// Waits until no turn waits, and checks that so many were stored and none was lost.
    async fn stored(&self, turns: u64) {
        let counted = async || {
            let names = ["turns_stored", "turns_lost"];
            let counts = names.map(|name| self.count(name));
            futures::future::join_all(counts).await
        };
        eventually("all turns are stored", SOON, async || {
            let all = counted().await;
            self.count("turns_waiting").await == 0 && all.iter().sum::<u64>() >= turns
        })
        .await;
        assert_eq!(counted().await, [turns, 0]);
    }
}

/// What the answer says about memory.
fn memory(answer: &HttpAnswer) -> (&str, u64) {
    let text = |name: &str| answer.headers[name].to_str().unwrap();
    (
        text("x-recollect-memory"),
        text("x-recollect-recalled").parse().unwrap(),
    )
}

/// The roles and texts of a conversation, calls and results in brackets.
async fn history(client: &Client, app: &str, user: &str, session: &str) -> Vec<String> {
    use memory_contract::proto::{GetHistoryRequest, Role, part::Content};

    let request = GetHistoryRequest {
        thread: by_session(recollect_tests::session(app, user, session)),
        ..history_request("")
    };
    let history = client.call(request).await;
    let shown = history.messages.iter().map(|message| {
        let role = match message.role() {
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::Tool => "tool",
            _ => "other",
        };
        let parts = message.parts.iter().map(|part| match &part.content {
            Some(Content::Text(text)) => text.clone(),
            Some(Content::ToolCall(call)) => {
                format!("[call {} {}]", call.tool_call_id, call.arguments)
            }
            Some(Content::ToolResult(result)) => format!("[result {}]", result.tool_call_id),
            other => format!("{other:?}"),
        });
        format!("{role}: {}", parts.collect::<Vec<_>>().join(" "))
    });
    shown.collect()
}

/// The session that an answer was stored in.
fn session_of(answer: &HttpAnswer) -> String {
    answer.headers["x-recollect-session"]
        .to_str()
        .unwrap()
        .to_owned()
}
