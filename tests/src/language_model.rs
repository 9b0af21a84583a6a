//! A scripted language model, controlled by messages: a small HTTP server that speaks the
//! protocols of OpenAI, Anthropic and Bedrock. It takes `FACT(…)` in a message for
//! a fact, `FACT(…) REPLACES(…)` for one that makes a known one untrue,
//! `FACT(…) IS(order {"number": "1"})` for one of a kind, and `UNPROVEN(…)` for one that it has no
//! proof of. Attributes `{} THEN {"number": "1"}` are the second ones where it is asked again.
//! `KNOWN` in a fact becomes the first fact that is known, which it does not mention otherwise.
//! `ECHO` in a message makes it take all that is known for facts of that message, word by word, in
//! other words, and as replacements of themselves.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri, header};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::stand_in::StandIn;

/// Tokens that each answer is said to have cost: of the prompt, of the answer.
pub const ANSWER_COSTS: (i64, i64) = (100, 20);

pub struct LanguageModel {
    server: StandIn,
    state: Arc<Mutex<Talk>>,
}

/// How it answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Answering {
    /// As messages say.
    #[default]
    Well,
    /// What any message says is a fact of the user who is asked about, proven by this message; what
    /// two messages in a row of users say, proven by both; and what others say, proven by the
    /// messages of that user right before and after it.
    ForEveryone,
    /// As messages say, but without JSON where the system prompt has these words.
    UnusableAbout(String),
    /// Always with these words.
    Words(String),
    /// With an HTTP status.
    Status(u16),
    /// With these words, once the setting changes.
    Late(String),
    /// With an error, but only once the setting changes.
    Never,
}

/// A request to the model.
#[derive(Clone, Debug)]
pub struct AskedModel {
    /// The name of the model that was asked for.
    pub model: String,
    /// The system prompt.
    pub system: String,
    /// The user message.
    pub user: String,
    pub path: String,
    pub key: String,
    /// The whole request.
    pub body: Value,
}

#[derive(Default)]
struct Talk {
    asked: Vec<AskedModel>,
    /// Requests that have no response yet, and whose client waits for it.
    in_progress: usize,
    answering: watch::Sender<Answering>,
}

impl LanguageModel {
    /// Starts it.
    #[expect(clippy::new_without_default, reason = "it starts a server")]
    pub fn new() -> Self {
        let state = Arc::<Mutex<Talk>>::default();
        let routes = Router::new()
            .fallback(answer)
            .with_state(Arc::clone(&state));
        Self {
            server: StandIn::on_free_port(routes),
            state,
        }
    }

    /// The address under which a provider's paths begin.
    pub fn endpoint(&self, path: &str) -> String {
        format!("http://{}{path}", self.server.addr)
    }

    /// The lines of a configuration that choose it, with short timeouts: for a
    /// server whose workers look often.
    pub fn config(&self) -> Vec<String> {
        vec![
            "distill.generation.provider = \"openai_compatible\"".to_owned(),
            "distill.generation.model = \"large\"".to_owned(),
            format!("distill.generation.endpoint = \"{}\"", self.endpoint("/v1")),
            "distill.calls.max_attempts = 1".to_owned(),
            "worker.distill.poll_interval = \"50ms\"".to_owned(),
            "worker.distill.quiet = \"50ms\"".to_owned(),
        ]
    }

    /// How it answers from now on.
    pub fn answers(&self, answering: Answering) {
        self.state.lock().unwrap().answering.send_replace(answering);
    }

    /// The requests so far.
    pub fn asked(&self) -> Vec<AskedModel> {
        self.state.lock().unwrap().asked.clone()
    }

    /// The number of requests that have no response yet and whose client waits for it.
    pub fn in_progress(&self) -> usize {
        self.state.lock().unwrap().in_progress
    }

    /// The requests so far that contain these words.
    pub fn asked_about(&self, words: &str) -> Vec<AskedModel> {
        let mut asked = self.asked();
        asked.retain(|asked| asked.user.contains(words));
        asked
    }
}

impl Drop for LanguageModel {
    fn drop(&mut self) {
        self.answers(Answering::Well);
    }
}

/// Counts a request as in progress until it is dropped: with the response, or when the
/// client closes the connection.
struct InProgress(Arc<Mutex<Talk>>);

impl InProgress {
    fn new(talk: &Arc<Mutex<Talk>>) -> Self {
        talk.lock().unwrap().in_progress += 1;
        Self(Arc::clone(talk))
    }
}

impl Drop for InProgress {
    fn drop(&mut self) {
        self.0.lock().unwrap().in_progress -= 1;
    }
}

async fn answer(
    State(talk): State<Arc<Mutex<Talk>>>,
    uri: Uri,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let Ok(body) = serde_json::from_slice::<Value>(&body) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let asked = asked(&uri, &headers, &body);
    let _in_progress = InProgress::new(&talk);
    let mut answering = {
        let mut talk = talk.lock().unwrap();
        talk.asked.push(asked.clone());
        talk.answering.subscribe()
    };
    let now = answering.borrow().clone();
    let words = match now {
        Answering::Well => words(&asked),
        Answering::ForEveryone => words_for_everyone(&asked),
        Answering::UnusableAbout(about) if asked.system.contains(&about) => "No.".to_owned(),
        Answering::UnusableAbout(_) => words(&asked),
        Answering::Words(words) => words,
        Answering::Status(status) => {
            return StatusCode::from_u16(status).unwrap().into_response();
        }
        Answering::Late(words) => {
            let _ = answering.changed().await;
            words
        }
        Answering::Never => {
            let _ = answering.changed().await;
            return StatusCode::SERVICE_UNAVAILABLE.into_response();
        }
    };
    let body = in_the_words_of(&asked.path, &words);
    (
        [(header::CONTENT_TYPE, "application/json")],
        body.to_string(),
    )
        .into_response()
}

fn asked(uri: &Uri, headers: &HeaderMap, body: &Value) -> AskedModel {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let of_role = |role: &str| {
        let messages = body["messages"].as_array().into_iter().flatten();
        let said = messages.filter(|message| message["role"] == role);
        said.map(|message| text(&message["content"]))
            .collect::<String>()
    };
    let path = uri.path().to_owned();
    AskedModel {
        model: match body["model"].as_str() {
            Some(model) => model.to_owned(),
            None => path.split('/').nth(2).unwrap_or_default().to_owned(),
        },
        system: format!("{}{}", text(&body["system"]), of_role("system")),
        user: of_role("user"),
        path,
        key: header("x-api-key")
            .or_else(|| header("authorization")?.strip_prefix("Bearer "))
            .unwrap_or_default()
            .to_owned(),
        body: body.clone(),
    }
}

/// A text, or a list of parts with one each.
fn text(content: &Value) -> String {
    match content {
        Value::Array(parts) => parts.iter().map(|part| text(&part["text"])).collect(),
        other => other.as_str().unwrap_or_default().to_owned(),
    }
}

fn words(asked: &AskedModel) -> String {
    let lines: Vec<Value> = asked
        .user
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok())
        .collect();
    if !asked.system.contains("\"facts\"") {
        let said = lines.iter().filter_map(|line| line["text"].as_str());
        return format!("Of {}.", said.collect::<Vec<_>>().join(" / "));
    }
    let is = |line: &Value, kind| line["id"].as_str().is_some_and(|id| id.starts_with(kind));
    let first_known = lines.iter().find(|line| is(line, 'f'));
    let first_known = first_known.and_then(|line| line["text"].as_str());
    let mut facts = Vec::new();
    for line in &lines {
        let (id, text) = (&line["id"], line["text"].as_str().unwrap_or_default());
        if !is(line, 'm') {
            continue;
        }
        for stated in text.split("FACT(").skip(1) {
            let (fact, rest) = stated.split_once(')').unwrap();
            let fact = fact.replace("KNOWN", first_known.unwrap_or("nothing"));
            let replaced = rest
                .strip_prefix(" REPLACES(")
                .and_then(|rest| rest.split_once(')'))
                .map(|(old, _)| old);
            let of_kind = rest
                .strip_prefix(" IS(")
                .and_then(|rest| rest.split_once(')'))
                .and_then(|(kind, _)| kind.split_once(' '));
            let (kind, attributes) = of_kind.unwrap_or_default();
            let attributes = match attributes.split_once(" THEN ") {
                Some((_, second)) if asked.system.contains("An earlier answer") => second,
                Some((first, _)) => first,
                None => attributes,
            };
            let known = lines
                .iter()
                .find(|line| replaced.is_some() && line["text"].as_str() == replaced);
            facts.push(json!({
                "text": fact, "type": "semantic", "evidence": [id], "kind": kind,
                "attributes": serde_json::from_str::<Value>(attributes).unwrap_or_default(),
                "supersedes": known.map(|known| &known["id"]).into_iter().collect::<Vec<_>>(),
            }));
        }
        if text.contains("ECHO") {
            facts.extend(echoes(&lines, id));
        }
        for stated in text.split("UNPROVEN(").skip(1) {
            let (fact, _) = stated.split_once(')').unwrap();
            facts.push(json!({"text": fact, "type": "semantic", "evidence": ["m999"]}));
        }
    }
    json!({"facts": facts}).to_string()
}

/// All that is known, said again by a message.
fn echoes(lines: &[Value], message: &Value) -> Vec<Value> {
    let id = |line: &Value| line["id"].as_str().unwrap_or_default().to_owned();
    let known = lines.iter().filter(|line| id(line).starts_with('f'));
    let known: Vec<(String, &str)> = known
        .map(|line| (id(line), line["text"].as_str().unwrap_or_default()))
        .collect();
    let fact = |text: String, supersedes: &[&String]| json!({"text": text, "type": "semantic", "evidence": [message], "supersedes": supersedes});
    let mut facts = Vec::new();
    for (id, text) in &known {
        facts.push(fact((*text).to_owned(), &[]));
        facts.push(fact(format!("It is so that {text}"), &[]));
        facts.push(fact(format!("Now it is so: {text}"), &[id]));
    }
    let texts: Vec<&str> = known.iter().map(|(_, text)| *text).collect();
    if !texts.is_empty() {
        facts.push(fact(texts.join(" And "), &[]));
    }
    facts
}

/// Facts of the messages of all speakers.
fn words_for_everyone(asked: &AskedModel) -> String {
    let lines = asked.user.lines();
    let said: Vec<Value> = lines
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
        .filter(|line| line["role"].is_string())
        .collect();
    let alone = said
        .iter()
        .map(|line| json!({"text": line["text"], "evidence": [line["id"]]}));
    let users = said
        .windows(2)
        .filter(|two| two.iter().all(|line| line["role"] == "user"));
    let mixed = users.map(|two| {
        let texts = two
            .iter()
            .map(|line| line["text"].as_str().unwrap_or_default());
        let text = texts.collect::<Vec<_>>().join(" / ");
        json!({"text": text, "evidence": [two[0]["id"], two[1]["id"]]})
    });
    // The label of the user whose facts are wanted, where several users speak.
    let wanted = asked.system.split("Take only what ").nth(1);
    let wanted = wanted.and_then(|rest| rest.split(' ').next());
    let is_own = |line: &&Value| wanted.is_some() && line["speaker"].as_str() == wanted;
    let others = (0..said.len()).filter(|place| !is_own(&&said[*place]));
    let wrong = others.flat_map(|place| {
        let before = said[..place].iter().rfind(is_own);
        let near = before.into_iter().chain(said[place..].iter().find(is_own));
        near.map(move |line| (place, line))
    });
    let wrong =
        wrong.map(|(place, line)| json!({"text": said[place]["text"], "evidence": [line["id"]]}));
    let facts: Vec<Value> = alone.chain(mixed).chain(wrong).collect();
    json!({ "facts": facts }).to_string()
}

fn in_the_words_of(path: &str, words: &str) -> Value {
    let (input, output) = ANSWER_COSTS;
    if path.ends_with("/messages") {
        return json!({
            "id": "msg_1", "type": "message", "role": "assistant", "model": "m",
            "content": [{"type": "text", "text": words}],
            "stop_reason": "end_turn", "stop_sequence": null,
            "usage": {"input_tokens": input, "output_tokens": output},
        });
    }
    if path.ends_with("/converse") {
        return json!({
            "output": {"message": {"role": "assistant", "content": [{"text": words}]}},
            "stopReason": "end_turn", "metrics": {"latencyMs": 1},
            "usage": {
                "inputTokens": input, "outputTokens": output, "totalTokens": input + output,
            },
        });
    }
    json!({
        "id": "c-1", "object": "chat.completion", "created": 1, "model": "m",
        "choices": [{
            "index": 0, "finish_reason": "stop",
            "message": {"role": "assistant", "content": words},
        }],
        "usage": {
            "prompt_tokens": input, "completion_tokens": output, "total_tokens": input + output,
        },
    })
}
