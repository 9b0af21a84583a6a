//! The providers' protocols, errors and timeouts, against a local HTTP server.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "a test that fails may say so by panicking"
)]

mod schema;
mod support;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use memory_distill::{Answer, Finish, ModelConfig, ModelError, Provider, TextModel, open_model};
use serde_json::json;
use support::{Reply, Server, config, prompt, usage};

fn open(config: &ModelConfig) -> Arc<dyn TextModel> {
    open_model("distill.generation", config).unwrap().unwrap()
}

async fn ask(
    provider: Provider,
    path: &str,
    key: Option<&str>,
    reply: Reply,
) -> (Server, Result<Answer, ModelError>) {
    let server = Server::start(reply).await;
    let model = open(&config(provider, format!("{}{path}", server.address), key));
    let answer = model.generate(&prompt(), None).await;
    (server, answer)
}

#[tokio::test]
async fn openai_is_asked_in_its_own_words() {
    let reply = Reply::json(json!({
        "id": "c-1", "object": "chat.completion", "model": "small-model-2026",
        "choices": [{"index": 0, "finish_reason": "stop",
            "message": {"role": "assistant", "content": " {} ", "refusal": null}}],
        "usage": {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15},
    }));
    let (server, answer) = ask(Provider::Openai, "/v1", Some("sk-1"), reply).await;
    let answer = answer.unwrap();
    assert_eq!(answer.text(), Ok("{}"));
    assert_eq!(answer.usage, usage(12, 3));
    let [request] = &server.requests()[..] else {
        panic!("asked once")
    };
    schema::matches(Provider::Openai, &request.body);
    assert_eq!(request.line, "POST /v1/chat/completions HTTP/1.1");
    assert_eq!(request.headers["authorization"], "Bearer sk-1");
    assert_eq!(request.body["model"], "small-model");
    assert_eq!(
        request.body["messages"],
        json!([
            {"role": "system", "content": "Do this."},
            {"role": "user", "content": "the-private-words"},
        ])
    );
    assert_eq!(request.body["max_tokens"], 300);
    assert_eq!(
        request.body["response_format"],
        json!({"type": "json_object"})
    );
}

#[tokio::test]
async fn ollama_needs_no_key_and_gets_none() {
    let reply = Reply::json(json!({
        "id": "chatcmpl-7", "object": "chat.completion", "created": 1, "model": "llama3:8b",
        "system_fingerprint": "fp_ollama",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 5, "completion_tokens": 1, "total_tokens": 6},
    }));
    let (server, answer) = ask(Provider::OpenaiCompatible, "/v1/", None, reply).await;
    assert_eq!(answer.unwrap().text(), Ok("hi"));
    let [request] = &server.requests()[..] else {
        panic!("asked once")
    };
    schema::matches(Provider::OpenaiCompatible, &request.body);
    assert_eq!(request.line, "POST /v1/chat/completions HTTP/1.1");
    assert!(!request.headers.contains_key("authorization"));
}

#[tokio::test]
async fn vllm_may_think_aloud_and_keep_its_usage_to_itself() {
    let reply = Reply::json(json!({
        "id": "x", "object": "chat.completion", "model": "qwen", "prompt_logprobs": null,
        "choices": [{"index": 0, "logprobs": null, "stop_reason": null, "finish_reason": "length",
            "message": {"role": "assistant", "reasoning_content": "hm", "content": "hal", "tool_calls": []}}],
        "usage": null,
    }));
    let (_, answer) = ask(Provider::OpenaiCompatible, "/v1", Some("token"), reply).await;
    let answer = answer.unwrap();
    assert_eq!((answer.usage, answer.finish), (None, Finish::Length));
    assert_eq!(answer.text(), Err(ModelError::Truncated));
}

#[tokio::test]
async fn anthropic_is_asked_in_its_own_words() {
    let reply = Reply::json(json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "small-model",
        "content": [{"type": "text", "text": "one "}, {"type": "text", "text": "two"}],
        "stop_reason": "end_turn", "stop_sequence": null,
        "usage": {"input_tokens": 9, "output_tokens": 4},
    }));
    let (server, answer) = ask(Provider::Anthropic, "/v1", Some("ak-1"), reply).await;
    let answer = answer.unwrap();
    assert_eq!(answer.text(), Ok("one two"));
    assert_eq!(answer.usage, usage(9, 4));
    let [request] = &server.requests()[..] else {
        panic!("asked once")
    };
    schema::matches(Provider::Anthropic, &request.body);
    assert_eq!(request.line, "POST /v1/messages HTTP/1.1");
    assert_eq!(request.headers["x-api-key"], "ak-1");
    assert!(request.headers.contains_key("anthropic-version"));
    assert_eq!(request.body["system"], "Do this.");
    assert_eq!(request.body["max_tokens"], 300);
}

#[tokio::test]
async fn bedrock_is_asked_in_its_own_words() {
    let server = Server::start(Reply::json(json!({
        "output": {"message": {"role": "assistant", "content": [{"text": "fine"}]}},
        "stopReason": "end_turn", "usage": {"inputTokens": 7, "outputTokens": 2, "totalTokens": 9},
        "metrics": {"latencyMs": 1},
    })))
    .await;
    let mut config = config(Provider::Bedrock, server.address.clone(), Some("bk-1"));
    config.model = "amazon.nova-lite-v1:0".to_owned();
    let answer = open(&config).generate(&prompt(), None).await.unwrap();
    assert_eq!(answer.text(), Ok("fine"));
    assert_eq!(answer.usage, usage(7, 2));
    let [request] = &server.requests()[..] else {
        panic!("asked once")
    };
    schema::matches(Provider::Bedrock, &request.body);
    assert_eq!(
        request.line,
        "POST /model/amazon.nova-lite-v1%3A0/converse HTTP/1.1"
    );
    assert_eq!(request.headers["authorization"], "Bearer bk-1");
    assert_eq!(request.body["inferenceConfig"]["maxTokens"], 300);
}

#[tokio::test]
async fn refusals_are_distinguished_from_answers() {
    let openai = json!({"choices": [{"finish_reason": "stop",
        "message": {"content": null, "refusal": "I will not."}}]});
    let filtered =
        json!({"choices": [{"finish_reason": "content_filter", "message": {"content": "a"}}]});
    let anthropic = json!({"content": [], "stop_reason": "refusal", "usage": {"input_tokens": 1, "output_tokens": 0}});
    let bedrock = json!({"output": {"message": {"content": [{"text": "Blocked."}]}}, "stopReason": "guardrail_intervened"});
    for (provider, body) in [
        (Provider::Openai, openai),
        (Provider::Openai, filtered),
        (Provider::Anthropic, anthropic),
        (Provider::Bedrock, bedrock),
    ] {
        let (_, answer) = ask(provider, "/v1", Some("k"), Reply::json(body)).await;
        assert_eq!(
            answer.unwrap().text(),
            Err(ModelError::Refused),
            "{provider:?}"
        );
    }
    let body = r#"{"error": {"code": "content_filter"}}"#;
    let (_, answer) = ask(Provider::Openai, "/v1", Some("k"), Reply::status(400, body)).await;
    assert_eq!(answer, Err(ModelError::Refused));
}

#[tokio::test]
async fn an_answer_without_text_is_empty() {
    for message in [
        json!({"content": ""}),
        json!({"content": null}),
        json!({"content": " \n"}),
    ] {
        let reply =
            Reply::json(json!({"choices": [{"finish_reason": "stop", "message": message}]}));
        let (_, answer) = ask(Provider::Openai, "/v1", Some("k"), reply).await;
        assert_eq!(answer.unwrap().text(), Err(ModelError::Empty));
    }
    let (_, answer) = ask(
        Provider::Openai,
        "/v1",
        Some("k"),
        Reply::json(json!({"choices": []})),
    )
    .await;
    assert_eq!(answer.unwrap().text(), Err(ModelError::Empty));
}

#[tokio::test]
async fn each_failure_has_its_error() {
    let limited = |headers| Reply::Answer(429, headers, "{}".to_owned());
    let html = vec![("content-type", "text/html".to_owned())];
    let huge = json!({"choices": [{"finish_reason": "stop", "message": {"content": "x".repeat(9 << 20)}}]});
    let of_status = |status| Reply::status(status, r#"{"error": {"message": "no"}}"#);
    for (reply, expected) in [
        (of_status(400), ModelError::BadRequest { status: 400 }),
        (of_status(404), ModelError::BadRequest { status: 404 }),
        (of_status(401), ModelError::Unauthorized),
        (of_status(403), ModelError::Unauthorized),
        (of_status(500), ModelError::Failed { status: 500 }),
        (of_status(529), ModelError::Failed { status: 529 }),
        (
            limited(vec![]),
            ModelError::RateLimited { retry_after: None },
        ),
        (
            limited(vec![("retry-after", "17".to_owned())]),
            ModelError::RateLimited {
                retry_after: Some(Duration::from_secs(17)),
            },
        ),
        (
            Reply::status(200, "{\"choices\": ["),
            ModelError::Unreadable,
        ),
        (
            Reply::Answer(200, html, "<html>".to_owned()),
            ModelError::Unreadable,
        ),
        (Reply::json(huge), ModelError::Unreadable),
        (Reply::Drop, ModelError::Disconnected),
        (Reply::HalfThenDrop, ModelError::Disconnected),
    ] {
        let sent = format!("{reply:?}").chars().take(80).collect::<String>();
        let (_, answer) = ask(Provider::OpenaiCompatible, "/v1", None, reply).await;
        assert_eq!(answer, Err(expected), "{sent}");
    }
    // No server listens on this port.
    let model = open(&config(
        Provider::OpenaiCompatible,
        "http://127.0.0.1:9".to_owned(),
        None,
    ));
    assert_eq!(
        model.generate(&prompt(), None).await,
        Err(ModelError::Unreachable)
    );
}

/// The clock is paused and jumps to the next deadline, so the test does not wait.
#[tokio::test(start_paused = true)]
async fn a_provider_that_stalls_is_given_up() {
    for reply in [Reply::Hang, Reply::HalfThenHang] {
        let (_, answer) = ask(Provider::OpenaiCompatible, "/v1", None, reply).await;
        let after = Duration::from_secs(20);
        assert_eq!(answer, Err(ModelError::Timeout { after }));
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed_with_the_key() {
    let other = Server::start(Reply::json(json!({}))).await;
    let to = vec![("location", other.address.clone())];
    let (_, answer) = ask(
        Provider::Openai,
        "/v1",
        Some("k"),
        Reply::Answer(307, to, String::new()),
    )
    .await;
    assert_eq!(answer, Err(ModelError::BadRequest { status: 307 }));
    assert!(other.requests().is_empty());
}

#[tokio::test]
async fn no_error_repeats_text_that_a_provider_echoes() {
    let echo = "the-private-words sk-very-secret";
    for reply in [
        Reply::status(400, echo),
        Reply::status(401, echo),
        Reply::status(500, echo),
        Reply::status(200, echo),
        Reply::json(json!({"choices": echo})),
    ] {
        let (_, answer) = ask(Provider::Openai, "/v1", Some("sk-very-secret"), reply).await;
        let shown = format!("{answer:?}");
        assert!(
            !shown.contains("private") && !shown.contains("secret"),
            "{shown}"
        );
        if let Err(error) = answer {
            let shown = format!("{error} {error:?}");
            assert!(
                !shown.contains("private") && !shown.contains("secret"),
                "{shown}"
            );
        }
    }
}

/// Keeps what is logged.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
async fn nothing_that_is_said_is_logged() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::TRACE)
        .with_writer(move || writer.clone())
        .finish();
    let _guard = tracing::subscriber::set_default(subscriber);
    tracing::trace!("the log works");
    let answer = json!({"choices": [{"finish_reason": "stop",
        "message": {"content": "the-private-words"}}], "usage": "the-private-words"});
    for reply in [
        Reply::json(answer),
        Reply::status(500, "the-private-words"),
        Reply::status(200, "the-private-words"),
    ] {
        let _ = ask(Provider::Openai, "/v1", Some("sk-very-secret"), reply).await;
    }
    let logged = String::from_utf8(log.0.lock().unwrap().clone()).unwrap();
    assert!(logged.contains("the log works"));
    assert!(
        !logged.contains("private") && !logged.contains("secret"),
        "{logged}"
    );
}

#[test]
fn missing_settings_of_a_model_are_named_by_key() {
    let good = |provider| config(provider, "http://localhost:1/v1".to_owned(), Some("k"));
    let no_key = |provider| ModelConfig {
        api_key: None,
        ..good(provider)
    };
    for (config, key) in [
        (no_key(Provider::Openai), "api_key"),
        (no_key(Provider::Anthropic), "api_key"),
        (no_key(Provider::Bedrock), "api_key"),
        (
            ModelConfig {
                api_key: Some(" ".to_owned().into()),
                ..good(Provider::Openai)
            },
            "api_key",
        ),
        (
            ModelConfig {
                model: String::new(),
                ..good(Provider::Openai)
            },
            "model",
        ),
        (
            ModelConfig {
                endpoint: None,
                ..good(Provider::OpenaiCompatible)
            },
            "endpoint",
        ),
        (
            ModelConfig {
                endpoint: None,
                ..good(Provider::Bedrock)
            },
            "endpoint",
        ),
        (
            ModelConfig {
                endpoint: Some("ftp://x".to_owned()),
                ..good(Provider::Openai)
            },
            "endpoint",
        ),
        (
            ModelConfig {
                endpoint: Some("http://a:b@x".to_owned()),
                ..good(Provider::Openai)
            },
            "endpoint",
        ),
        (
            ModelConfig {
                endpoint: Some("nonsense".to_owned()),
                ..good(Provider::Openai)
            },
            "endpoint",
        ),
        (
            ModelConfig {
                context_window: 100,
                ..good(Provider::Openai)
            },
            "context_window",
        ),
        (
            ModelConfig {
                max_output_tokens: 0,
                ..good(Provider::Openai)
            },
            "max_output_tokens",
        ),
        (
            ModelConfig {
                max_output_tokens: 100_000,
                ..good(Provider::Openai)
            },
            "max_output_tokens",
        ),
        (
            ModelConfig {
                timeout: Duration::ZERO,
                ..good(Provider::Openai)
            },
            "timeout",
        ),
    ] {
        let error = open_model("distill.observer", &config).err().unwrap();
        assert_eq!(error.key, format!("distill.observer.{key}"), "{config:?}");
    }
    assert!(
        open_model("distill.generation", &ModelConfig::default())
            .unwrap()
            .is_none()
    );
    let shown = format!("{:?}", good(Provider::Openai))
        + &serde_json::to_string(&good(Provider::Openai)).unwrap();
    assert!(!shown.contains("\"k\""), "{shown}");
}
