//! A scripted provider of language models: an HTTP server that answers as a test says, in
//! pieces of any size, and remembers what it was asked.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::response::Response;
use bytes::Bytes;
use futures::{StreamExt as _, stream};
use http::HeaderMap;
use serde_json::{Value, json};

use crate::stand_in::StandIn;

/// The API that an answer is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProviderApi {
    Chat,
    Responses,
    Messages,
}

/// What a provider was asked.
#[derive(Clone, Debug)]
pub struct AskedProvider {
    pub method: String,
    /// The path with the query.
    pub path: String,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// What it answers.
#[derive(Clone, Debug)]
pub struct ProviderAnswer {
    pub status: u16,
    pub headers: Vec<(&'static str, String)>,
    pub pieces: Vec<Bytes>,
    /// Whether it goes on without an end.
    pub hangs: bool,
}

type Script = Arc<dyn Fn(&AskedProvider) -> ProviderAnswer + Send + Sync>;

pub struct Provider {
    server: StandIn,
    asked: Arc<Mutex<Vec<AskedProvider>>>,
}

impl ProviderApi {
    pub const ALL: [Self; 3] = [Self::Chat, Self::Responses, Self::Messages];

    pub fn path(self) -> &'static str {
        match self {
            Self::Chat => "/v1/chat/completions",
            Self::Responses => "/v1/responses",
            Self::Messages => "/v1/messages",
        }
    }

    /// A request with messages of `user` and `assistant` by turns, the user's first.
    pub fn request(self, texts: &[&str], user: Option<&str>) -> Value {
        let roles = ["user", "assistant"].into_iter().cycle();
        let messages: Vec<Value> = texts
            .iter()
            .zip(roles)
            .map(|(text, role)| json!({"role": role, "content": text}))
            .collect();
        let mut request = match self {
            Self::Responses => {
                json!({"model": "m", "instructions": "You help.", "input": messages})
            }
            Self::Chat => {
                let system = json!({"role": "system", "content": "You help."});
                let all: Vec<Value> = [system].into_iter().chain(messages).collect();
                json!({"model": "m", "messages": all})
            }
            Self::Messages => {
                json!({"model": "m", "max_tokens": 100, "system": "You help.", "messages": messages})
            }
        };
        if let Some(user) = user {
            match self {
                Self::Messages => request["metadata"] = json!({"user_id": user}),
                Self::Chat => request["user"] = json!(user),
                Self::Responses => request["safety_identifier"] = json!(user),
            }
        }
        request
    }

    /// An answer with this text that is not streamed.
    pub fn answer(self, id: &str, text: &str) -> ProviderAnswer {
        let body = match self {
            Self::Chat => json!({
                "id": format!("chatcmpl-{id}"), "object": "chat.completion", "model": "m",
                "choices": [{"index": 0, "finish_reason": "stop",
                    "message": {"role": "assistant", "content": text}}],
            }),
            Self::Responses => json!({
                "id": format!("resp_{id}"), "object": "response", "status": "completed",
                "output": [{"id": format!("msg_{id}"), "type": "message", "role": "assistant",
                    "content": [{"type": "output_text", "text": text, "annotations": []}]}],
            }),
            Self::Messages => json!({
                "id": format!("msg_{id}"), "type": "message", "role": "assistant", "model": "m",
                "content": [{"type": "text", "text": text}], "stop_reason": "end_turn",
            }),
        };
        ProviderAnswer::json(200, &body)
    }

    /// The stream of an answer with this text, word by word.
    pub fn stream(self, id: &str, text: &str) -> String {
        let words: Vec<&str> = text.split_inclusive(' ').collect();
        let event = |data: &Value| match data["type"].as_str() {
            Some(kind) => format!("event: {kind}\ndata: {data}\n\n"),
            None => format!("data: {data}\n\n"),
        };
        let (mut events, last) = match self {
            Self::Chat => {
                let chunk = |choice: Value| {
                    json!({"id": format!("chatcmpl-{id}"), "object": "chat.completion.chunk",
                        "choices": [choice]})
                };
                let words = words.iter().map(|word| {
                    chunk(json!({"index": 0, "delta": {"content": word}, "finish_reason": null}))
                });
                let end = chunk(json!({"index": 0, "delta": {}, "finish_reason": "stop"}));
                let all: Vec<Value> = words.chain([end]).collect();
                (all, "data: [DONE]\n\n")
            }
            Self::Responses => {
                let words = words
                    .iter()
                    .map(|word| json!({"type": "response.output_text.delta", "delta": word}));
                let whole: Value =
                    serde_json::from_slice(&self.answer(id, text).pieces[0]).unwrap();
                let end = json!({"type": "response.completed", "response": whole});
                (words.chain([end]).collect(), "")
            }
            Self::Messages => {
                let begin = [
                    json!({"type": "message_start", "message": {"id": format!("msg_{id}"),
                        "type": "message", "role": "assistant", "content": []}}),
                    json!({"type": "content_block_start", "index": 0,
                        "content_block": {"type": "text", "text": ""}}),
                ];
                let words = words.iter().map(|word| {
                    json!({"type": "content_block_delta", "index": 0,
                        "delta": {"type": "text_delta", "text": word}})
                });
                let end = [
                    json!({"type": "content_block_stop", "index": 0}),
                    json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}),
                    json!({"type": "message_stop"}),
                ];
                (begin.into_iter().chain(words).chain(end).collect(), "")
            }
        };
        let all: String = events.drain(..).map(|data| event(&data)).collect();
        all + last
    }
}

impl ProviderAnswer {
    pub fn json(status: u16, body: &Value) -> Self {
        Self {
            status,
            headers: vec![("content-type", "application/json".to_owned())],
            pieces: vec![Bytes::from(body.to_string())],
            hangs: false,
        }
    }

    /// A stream of events, cut at these places.
    pub fn events(stream: &str, cuts: &[usize]) -> Self {
        let bytes = Bytes::copy_from_slice(stream.as_bytes());
        let mut places = vec![0];
        places.extend(cuts.iter().map(|cut| cut % (bytes.len() + 1)));
        places.push(bytes.len());
        places.sort_unstable();
        Self {
            status: 200,
            headers: vec![(
                "content-type",
                "text/event-stream; charset=utf-8".to_owned(),
            )],
            pieces: places
                .windows(2)
                .map(|pair| bytes.slice(pair[0]..pair[1]))
                .collect(),
            hangs: false,
        }
    }
}

impl Provider {
    /// Starts one that answers as `script` says.
    pub fn new(script: impl Fn(&AskedProvider) -> ProviderAnswer + Send + Sync + 'static) -> Self {
        let asked = Arc::<Mutex<Vec<AskedProvider>>>::default();
        let script: Script = Arc::new(script);
        let routes = Router::new()
            .fallback(answer)
            .with_state((Arc::clone(&asked), script));
        Self {
            server: StandIn::on_free_port(routes),
            asked,
        }
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.server.addr)
    }

    /// The requests so far.
    pub fn asked(&self) -> Vec<AskedProvider> {
        self.asked.lock().unwrap().clone()
    }

    /// The newest request.
    ///
    /// # Panics
    /// If there was none.
    pub fn last(&self) -> AskedProvider {
        self.asked.lock().unwrap().last().unwrap().clone()
    }
}

impl AskedProvider {
    /// The body as JSON.
    ///
    /// # Panics
    /// If it is not.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    /// The body as text.
    ///
    /// # Panics
    /// If it is not UTF-8.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }
}

async fn answer(
    State((asked, script)): State<(Arc<Mutex<Vec<AskedProvider>>>, Script)>,
    request: Request,
) -> Response {
    let (head, body) = request.into_parts();
    let Ok(body) = axum::body::to_bytes(body, usize::MAX).await else {
        return Response::new(Body::empty());
    };
    let one = AskedProvider {
        method: head.method.to_string(),
        path: head.uri.to_string(),
        headers: head.headers,
        body,
    };
    let answer = script(&one);
    asked.lock().unwrap().push(one);
    let mut response = Response::builder().status(answer.status);
    for (name, value) in &answer.headers {
        response = response.header(*name, value);
    }
    if let [whole] = &answer.pieces[..]
        && !answer.hangs
    {
        return response.body(Body::from(whole.clone())).unwrap();
    }
    let pieces = stream::iter(answer.pieces).then(async |piece| {
        // Each piece is written alone.
        tokio::task::yield_now().await;
        Ok::<_, std::io::Error>(piece)
    });
    let end = match answer.hangs {
        true => stream::pending().left_stream(),
        false => stream::empty().right_stream(),
    };
    response.body(Body::from_stream(pieces.chain(end))).unwrap()
}
