//! A scripted embedding model behind an endpoint of OpenAI's form. Its vectors have a direction for
//! each word, and one for all words of a group of synonyms.

use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::stand_in::StandIn;

/// Dimensions of its vectors.
pub const EMBEDDING_DIMENSIONS: usize = 256;

/// The words of each line mean the same.
const SYNONYMS: [&[&str]; 3] = [
    &["bicycle", "bike", "vehicle", "fahrrad"],
    &["stolen", "taken", "thieves", "robbed"],
    &["doctor", "physician", "cardiologist"],
];

/// How it answers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Embedding {
    /// With a vector for each text.
    #[default]
    Well,
    /// With these vectors, the last one first, each with its index.
    LastFirst,
    /// With an HTTP status.
    Status(u16),
    /// With the status 429 and `Retry-After` in seconds.
    Limited(u64),
    /// With one vector less than there are texts.
    Fewer,
    /// With vectors of half the dimensions.
    Shorter,
    /// With the same index for each vector.
    OneIndex,
    /// With vectors of zeros.
    Zeros,
    /// With an error, but only once the setting changes.
    Never,
}

/// A request for vectors.
#[derive(Clone, Debug)]
pub struct AskedEmbedding {
    /// The texts.
    pub texts: Vec<String>,
    /// The value of the header `authorization`.
    pub authorization: String,
    /// The whole request.
    pub body: Value,
}

pub struct EmbeddingModel {
    server: StandIn,
    state: Arc<Mutex<Asked>>,
}

#[derive(Default)]
struct Asked {
    asked: Vec<AskedEmbedding>,
    answering: watch::Sender<Embedding>,
}

impl EmbeddingModel {
    /// Starts it.
    #[expect(clippy::new_without_default, reason = "it starts a server")]
    pub fn new() -> Self {
        let state = Arc::<Mutex<Asked>>::default();
        let routes = Router::new()
            .fallback(answer)
            .with_state(Arc::clone(&state));
        Self {
            server: StandIn::on_free_port(routes),
            state,
        }
    }

    /// The lines of a configuration that choose it in a section, with short pauses.
    pub fn config(&self, section: &str) -> Vec<String> {
        vec![
            format!("{section}.kind = \"openai_compatible\""),
            format!("{section}.model = \"words\""),
            format!("{section}.dimensions = {EMBEDDING_DIMENSIONS}"),
            format!("{section}.endpoint = \"http://{}/v1\"", self.server.addr),
            format!("{section}.calls.first_pause = \"5ms\""),
            format!("{section}.calls.longest_pause = \"20ms\""),
            format!("{section}.calls.breaker_pause = \"100ms\""),
        ]
    }

    /// How it answers from now on.
    pub fn answers(&self, embedding: Embedding) {
        self.state.lock().unwrap().answering.send_replace(embedding);
    }

    /// The requests so far.
    pub fn asked(&self) -> Vec<AskedEmbedding> {
        self.state.lock().unwrap().asked.clone()
    }
}

impl Drop for EmbeddingModel {
    fn drop(&mut self) {
        self.answers(Embedding::Well);
    }
}

async fn answer(
    State(state): State<Arc<Mutex<Asked>>>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let Ok(body) = serde_json::from_slice::<Value>(&body) else {
        return StatusCode::BAD_REQUEST.into_response();
    };
    let authorization = headers.get(header::AUTHORIZATION);
    let texts = body["input"].as_array().into_iter().flatten();
    let texts: Vec<String> = texts
        .filter_map(|text| Some(text.as_str()?.to_owned()))
        .collect();
    let mut answering = {
        let mut state = state.lock().unwrap();
        state.asked.push(AskedEmbedding {
            texts: texts.clone(),
            authorization: authorization
                .and_then(|value| value.to_str().ok())
                .unwrap_or_default()
                .to_owned(),
            body,
        });
        state.answering.subscribe()
    };
    let now = answering.borrow().clone();
    let mut data: Vec<Value> = texts
        .iter()
        .enumerate()
        .map(|(index, text)| json!({"index": index, "embedding": vector(text)}))
        .collect();
    let numbers = |number: f32, count: usize| json!(vec![number; count]);
    match now {
        Embedding::Well => {}
        Embedding::LastFirst => data.reverse(),
        Embedding::Status(status) => {
            return StatusCode::from_u16(status).unwrap().into_response();
        }
        Embedding::Limited(seconds) => {
            let pause = [(header::RETRY_AFTER, seconds.to_string())];
            return (StatusCode::TOO_MANY_REQUESTS, pause).into_response();
        }
        Embedding::Fewer => drop(data.pop()),
        Embedding::Shorter => data
            .iter_mut()
            .for_each(|one| one["embedding"] = numbers(1.0, EMBEDDING_DIMENSIONS / 2)),
        Embedding::OneIndex => data.iter_mut().for_each(|one| one["index"] = json!(7)),
        Embedding::Zeros => data
            .iter_mut()
            .for_each(|one| one["embedding"] = numbers(0.0, EMBEDDING_DIMENSIONS)),
        Embedding::Never => {
            let _ = answering.changed().await;
            return StatusCode::SERVICE_UNAVAILABLE.into_response();
        }
    }
    let tokens = texts.len() * 7;
    let body = json!({
        "object": "list", "model": "words", "data": data,
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    });
    (
        [(header::CONTENT_TYPE, "application/json")],
        body.to_string(),
    )
        .into_response()
}

/// The sum of the directions of a text's words.
fn vector(text: &str) -> Vec<f32> {
    let mut vector = vec![0.01; EMBEDDING_DIMENSIONS];
    for word in text
        .to_lowercase()
        .split(|char: char| !char.is_alphanumeric())
    {
        if word.is_empty() {
            continue;
        }
        let group = SYNONYMS.iter().position(|group| group.contains(&word));
        let (place, weight) = match group {
            Some(group) => (group, 3.0),
            None => {
                let hash = word.bytes().fold(17_usize, |hash, byte| {
                    hash.wrapping_mul(31).wrapping_add(byte.into())
                });
                let free = EMBEDDING_DIMENSIONS - SYNONYMS.len();
                (SYNONYMS.len() + hash % free, 1.0)
            }
        };
        vector[place] += weight;
    }
    vector
}
