//! A model behind a scripted endpoint on the loopback interface.

#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test that fails may say so by panicking"
)]

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::future::join_all;
use memory_embed::{
    EmbedError, Embedder, EmbedderConfig, EmbedderKind, EmbeddingCalls, EndpointError, Urgency,
};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::Barrier;

/// What the endpoint answers to texts, beginning with the second request: the first is the
/// embedder's own at its start.
type Script = dyn Fn(&[String]) -> Response + Send + Sync;

struct Endpoint {
    url: String,
    requests: Arc<Mutex<Vec<Value>>>,
}

#[derive(Clone)]
struct Scripted {
    script: Arc<Script>,
    requests: Arc<Mutex<Vec<Value>>>,
    barrier: Option<Arc<Barrier>>,
}

impl Endpoint {
    async fn start(script: impl Fn(&[String]) -> Response + Send + Sync + 'static) -> Self {
        Self::start_together(script, None).await
    }

    /// Answers once as many requests have come.
    async fn start_together(
        script: impl Fn(&[String]) -> Response + Send + Sync + 'static,
        barrier: Option<usize>,
    ) -> Self {
        let requests = Arc::<Mutex<Vec<Value>>>::default();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/v1", listener.local_addr().unwrap());
        let state = Scripted {
            script: Arc::new(script),
            requests: Arc::clone(&requests),
            barrier: barrier.map(|requests| Arc::new(Barrier::new(requests))),
        };
        let routes = Router::new().fallback(answer).with_state(state);
        tokio::spawn(async move { axum::serve(listener, routes).await });
        Self { url, requests }
    }

    fn config(&self, model: &str) -> EmbedderConfig {
        EmbedderConfig {
            kind: EmbedderKind::OpenaiCompatible,
            model: model.to_owned(),
            endpoint: Some(self.url.clone()),
            calls: EmbeddingCalls {
                first_pause: Duration::from_millis(1),
                longest_pause: Duration::from_millis(5),
                ..EmbeddingCalls::default()
            },
            ..EmbedderConfig::default()
        }
    }

    /// The texts of the requests after the first.
    fn sent(&self) -> Vec<Vec<String>> {
        self.requests.lock().unwrap()[1..]
            .iter()
            .map(texts)
            .collect()
    }

    fn first(&self) -> Value {
        self.requests.lock().unwrap()[0].clone()
    }
}

async fn answer(State(scripted): State<Scripted>, body: Bytes) -> Response {
    let request: Value = serde_json::from_slice(&body).unwrap();
    let is_first = {
        let mut requests = scripted.requests.lock().unwrap();
        requests.push(request.clone());
        requests.len() == 1
    };
    if is_first {
        let dimensions = request["dimensions"].as_u64().unwrap_or(4);
        return vectors(&texts(&request), dimensions as usize);
    }
    if let Some(barrier) = &scripted.barrier {
        barrier.wait().await;
    }
    (scripted.script)(&texts(&request))
}

fn texts(request: &Value) -> Vec<String> {
    let texts = request["input"].as_array().unwrap().iter();
    texts
        .map(|text| text.as_str().unwrap().to_owned())
        .collect()
}

/// A vector for each text, whose first number is the length of the text.
fn vectors(texts: &[String], dimensions: usize) -> Response {
    let data = texts.iter().enumerate().map(|(index, text)| {
        let mut vector = vec![1.0; dimensions];
        vector[0] = text.len() as f32;
        json!({"index": index, "embedding": vector})
    });
    axum_json(&json!({"data": data.collect::<Vec<_>>(), "usage": {"prompt_tokens": 1}}))
}

fn axum_json(body: &Value) -> Response {
    let json = [(header::CONTENT_TYPE, "application/json")];
    (json, body.to_string()).into_response()
}

fn status(status: u16, body: &'static str) -> Response {
    (StatusCode::from_u16(status).unwrap(), body).into_response()
}

fn well(texts: &[String]) -> Response {
    vectors(texts, 4)
}

async fn start(config: &EmbedderConfig) -> Result<Embedder, EmbedError> {
    let config = config.clone();
    let started = tokio::task::spawn_blocking(move || Embedder::start(&config));
    started.await.unwrap().map(Option::unwrap)
}

async fn embed(embedder: &Embedder, texts: &[&str]) -> Result<Vec<Vec<f32>>, EmbedError> {
    let texts = texts.iter().map(|&text| text.to_owned()).collect();
    embedder.documents(texts, Urgency::Live).await
}

fn source(error: EmbedError) -> EndpointError {
    match error {
        EmbedError::Endpoint { source, .. } => source,
        other => panic!("{other}"),
    }
}

#[tokio::test]
async fn texts_are_sent_with_the_prefixes_of_a_well_known_model() {
    let endpoint = Endpoint::start(|texts| vectors(texts, 384)).await;
    let mut config = endpoint.config("multilingual-e5-small");
    // The first answer has as many numbers as the model.
    config.dimensions = 4;
    let embedder = start(&config).await.unwrap();
    assert_eq!(embedder.model().name, "multilingual-e5-small-4");
    assert_eq!(embedder.languages(), "about 100 languages");
    let wrong = embedder.query("Who?").await.unwrap_err();
    assert_eq!(
        source(wrong),
        EndpointError::Dimensions {
            expected: 4,
            found: 384
        }
    );
    let _ = embed(&embedder, &["Ada", " "]).await;
    assert_eq!(endpoint.sent()[..1], [["query: Who?"]]);
    assert!(
        endpoint
            .sent()
            .contains(&vec!["passage:  ".to_owned(), "passage: Ada".to_owned()])
    );
    // E5 was not trained to shorten its vectors.
    assert!(endpoint.first()["dimensions"].is_null());
}

#[tokio::test]
async fn a_model_that_can_shorten_its_vectors_is_asked_to_where_that_is_set() {
    let endpoint = Endpoint::start(|texts| vectors(texts, 512)).await;
    let mut config = endpoint.config("text-embedding-3-small");
    config.dimensions = 512;
    let embedder = start(&config).await.unwrap();
    assert_eq!(embedder.model().name, "text-embedding-3-small-512");
    assert_eq!(endpoint.first()["dimensions"], 512);
    assert_eq!(embedder.query("Who?").await.unwrap().len(), 512);

    let whole = Endpoint::start(|texts| vectors(texts, 1_536)).await;
    // Its first answer has 4 numbers.
    let error = start(&whole.config("text-embedding-3-small"))
        .await
        .err()
        .unwrap();
    assert!(error.to_string().contains("set it to 4"), "{error}");
    assert!(whole.first()["dimensions"].is_null());
}

#[tokio::test]
async fn vectors_belong_to_their_texts_have_length_1_and_are_kept() {
    let endpoint = Endpoint::start(well).await;
    let mut config = endpoint.config("own");
    config.batch_size = 3;
    let embedder = start(&config).await.unwrap();
    let texts = ["a", "", "dddd", "bb", "ccc", "eeeee"];
    let found = embed(&embedder, &texts).await.unwrap();
    for (text, vector) in texts.iter().zip(&found) {
        let length: f32 = vector.iter().map(|number| number * number).sum();
        assert!((length - 1.0).abs() < 1e-5);
        // A blank text is sent as one character.
        let expected = text.len().max(1) as f32;
        assert!((vector[0] / vector[1] - expected).abs() < 1e-4, "{text}");
    }
    assert_eq!(endpoint.sent().len(), 2);
    assert_eq!(embed(&embedder, &texts).await.unwrap(), found);
    assert_eq!(endpoint.sent().len(), 2, "they are known");
}

#[tokio::test]
async fn several_queries_are_asked_at_once() {
    let endpoint = Endpoint::start_together(well, Some(8)).await;
    let mut config = endpoint.config("own");
    config.query_timeout = Duration::from_secs(60);
    let embedder = start(&config).await.unwrap();
    let queries = (0..8).map(|number| embedder.query(["Who?", "Where?"][number % 2]));
    for vector in join_all(queries).await {
        vector.unwrap();
    }
}

#[tokio::test]
async fn a_query_ends_in_time_and_a_full_queue_at_once() {
    let endpoint = Endpoint::start_together(well, Some(1_000)).await;
    let mut config = endpoint.config("own");
    config.query_timeout = Duration::from_millis(200);
    config.query_queue = 1;
    config.calls.max_queries = 1;
    let embedder = start(&config).await.unwrap();
    let begun = Instant::now();
    let error = embedder.query("Who?").await.unwrap_err();
    assert!(error.retryable(), "{error}");
    let all = join_all((0..4).map(|_| embedder.query("Who?"))).await;
    assert!(
        all.iter().any(|one| matches!(one, Err(EmbedError::Busy))),
        "{all:?}"
    );
    assert!(begun.elapsed() < Duration::from_secs(10));
}

#[tokio::test]
async fn too_many_and_too_long_texts_are_sent_in_parts() {
    let endpoint = Endpoint::start(|texts| match texts {
        [one] if one.len() <= 100 => well(texts),
        [_, _] if texts.concat().len() <= 100 => well(texts),
        [_] => status(400, "maximum context length is 100 tokens"),
        _ => status(422, "batch size 5 > maximum allowed batch size 2"),
    })
    .await;
    let embedder = start(&endpoint.config("own")).await.unwrap();
    let long = "x".repeat(390);
    let texts = ["a", "bb", "ccc", "dddd", &long];
    let found = embed(&embedder, &texts).await.unwrap();
    let lengths: Vec<f32> = found
        .iter()
        .map(|vector| (vector[0] / vector[1]).round())
        .collect();
    assert_eq!(lengths, [1.0, 2.0, 3.0, 4.0, 97.0]);

    let longer = "y".repeat(1_000);
    let error = embed(&embedder, &[&longer]).await.unwrap_err();
    assert!(!error.retryable(), "it must not be sent for ever: {error}");
    let EndpointError::OneText { source } = source(error) else {
        panic!()
    };
    assert_eq!(*source, EndpointError::TooLong);
}

#[tokio::test]
async fn a_text_that_the_endpoint_cannot_embed_is_told_from_an_outage() {
    let endpoint = Endpoint::start(|texts| match texts.iter().any(|text| text == "poison") {
        true => status(500, "unsupported value: NaN"),
        false => well(texts),
    })
    .await;
    let embedder = start(&endpoint.config("own")).await.unwrap();
    let error = embed(&embedder, &["poison"]).await.unwrap_err();
    assert!(!error.retryable(), "{error}");
    embed(&embedder, &["good"]).await.unwrap();

    for (answer, expected) in [
        (
            (|_| status(500, "")) as fn(&[String]) -> Response,
            EndpointError::Failed { status: 500 },
        ),
        (|_| status(404, ""), EndpointError::Rejected { status: 404 }),
        (|_| status(401, ""), EndpointError::Unauthorized),
        (
            |_| status(307, ""),
            EndpointError::Redirected { status: 307 },
        ),
        (|_| status(200, "<html>"), EndpointError::Unreadable),
        (
            |_| axum_json(&json!({"data": []})),
            EndpointError::Count { sent: 1, found: 0 },
        ),
        (
            |texts| {
                axum_json(
                    &json!({"data": texts.iter().map(|_| json!({"embedding": [0, 0, 0, 0]})).collect::<Vec<_>>()}),
                )
            },
            EndpointError::NoDirection,
        ),
    ] {
        let endpoint = Endpoint::start(answer).await;
        let embedder = start(&endpoint.config("own")).await.unwrap();
        let error = embed(&embedder, &["good"]).await.unwrap_err();
        assert!(error.retryable(), "{error}");
        assert_eq!(source(error), expected);
    }
}

#[tokio::test]
async fn an_answer_that_is_larger_than_its_vectors_can_be_is_refused() {
    let endpoint =
        Endpoint::start(|_| (StatusCode::OK, "[".repeat(1_000_000)).into_response()).await;
    let embedder = start(&endpoint.config("own")).await.unwrap();
    let error = source(embedder.query("Who?").await.unwrap_err());
    assert!(matches!(error, EndpointError::TooLarge { .. }), "{error}");
}

#[tokio::test]
async fn an_endpoint_that_is_away_at_the_start_prevents_it_only_if_dimensions_are_missing() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let nobody = Endpoint {
        url: format!("http://{}/v1", listener.local_addr().unwrap()),
        requests: Arc::default(),
    };
    drop(listener);
    let error = start(&nobody.config("own")).await.err().unwrap();
    let EmbedError::Config { key, problem } = error else {
        panic!("{error}")
    };
    assert_eq!(key, "embedding.dimensions");
    assert!(problem.contains("set it to the length"), "{problem}");

    for (model, set, expected) in [("own", 5, 5), ("bge-m3", 0, 1_024)] {
        let mut config = nobody.config(model);
        config.dimensions = set;
        let embedder = start(&config).await.unwrap();
        assert_eq!(embedder.model().dimensions, expected);
        let error = embedder.query("Who?").await.unwrap_err();
        assert!(error.retryable(), "{error}");
    }
}

#[tokio::test]
async fn no_error_contains_the_key_or_a_text() {
    let endpoint = Endpoint::start(|_| status(400, "wrong: hunter2 my secret text")).await;
    let mut config = endpoint.config("own");
    config.api_key = Some("hunter2".to_owned().into());
    assert!(!format!("{config:?}").contains("hunter2"));
    let embedder = start(&config).await.unwrap();
    let error = embed(&embedder, &["my secret text"]).await.unwrap_err();
    let shown = format!("{error} {error:?}");
    assert!(!shown.contains("hunter2") && !shown.contains("secret"));
}
