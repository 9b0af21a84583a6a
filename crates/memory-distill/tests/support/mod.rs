//! A scripted provider over real HTTP on the loopback interface, and scripted models and
//! ledgers.

#![allow(dead_code, reason = "each test file uses its own part of this")]
#![expect(clippy::disallowed_methods, reason = "a provider is a task")]

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use memory_budget::Tokenizer;
use memory_contract::{
    TenantId,
    message::{Content, Message, Part, Role, ToolCall, ToolOutput, ToolResult},
    policy::ExtractionStrategy,
};
use memory_distill::{
    Account, Answer, CallsConfig, Distiller, Extraction, Finish, KnownFact, ModelConfig,
    ModelError, ModelInfo, NoKeys, Prompt, Provider, Reliable, Reservation, SourceMessage, Spent,
    TextModel, TokenLedger, TokenLedgerError, UnlimitedTokens, Usage,
};
use memory_kinds::{Kinds, NeverKept};
use secrecy::SecretString;
use serde_json::Value;
use time::macros::datetime;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// How the provider answers a request.
#[derive(Clone, Debug)]
pub enum Reply {
    /// Status, further headers, body.
    Answer(u16, Vec<(&'static str, String)>, String),
    /// Reads the request and says nothing more.
    Hang,
    /// Says half of an answer and nothing more.
    HalfThenHang,
    /// Says half of an answer and hangs up.
    HalfThenDrop,
    /// Hangs up.
    Drop,
}

impl Reply {
    /// A good answer.
    pub fn json(body: Value) -> Self {
        Self::Answer(200, Vec::new(), body.to_string())
    }

    /// An answer with a status.
    pub fn status(status: u16, body: &str) -> Self {
        Self::Answer(status, Vec::new(), body.to_owned())
    }
}

/// A request to the provider.
#[derive(Clone, Debug)]
pub struct Request {
    pub line: String,
    pub headers: HashMap<String, String>,
    pub body: Value,
}

/// The provider.
pub struct Server {
    pub address: String,
    requests: Arc<Mutex<Vec<Request>>>,
}

impl Server {
    /// Starts one that does the same with each request.
    pub async fn start(reply: Reply) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let asked = requests.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (reply, asked) = (reply.clone(), asked.clone());
                tokio::spawn(async move { serve(stream, reply, asked).await });
            }
        });
        Self { address, requests }
    }

    pub fn requests(&self) -> Vec<Request> {
        self.requests.lock().unwrap().clone()
    }
}

async fn serve(mut stream: TcpStream, reply: Reply, asked: Arc<Mutex<Vec<Request>>>) -> Option<()> {
    let request = read(&mut stream).await?;
    asked.lock().unwrap().push(request);
    match reply {
        Reply::Answer(status, headers, body) => {
            let typed = headers.iter().any(|(name, _)| *name == "content-type");
            let mut head = format!(
                "HTTP/1.1 {status} Said\r\ncontent-length: {}\r\n",
                body.len()
            );
            if !typed {
                head.push_str("content-type: application/json; charset=utf-8\r\n");
            }
            for (name, value) in headers {
                head.push_str(&format!("{name}: {value}\r\n"));
            }
            head.push_str("connection: close\r\n\r\n");
            stream.write_all(head.as_bytes()).await.ok()?;
            stream.write_all(body.as_bytes()).await.ok()?;
            stream.shutdown().await.ok()
        }
        Reply::Hang => hang().await,
        Reply::HalfThenHang => {
            half(&mut stream).await?;
            hang().await
        }
        Reply::HalfThenDrop => half(&mut stream).await,
        Reply::Drop => Some(()),
    }
}

async fn hang() -> Option<()> {
    std::future::pending().await
}

async fn half(stream: &mut TcpStream) -> Option<()> {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{\"choices\": [";
    stream.write_all(head.as_bytes()).await.ok()?;
    stream.flush().await.ok()
}

async fn read(stream: &mut TcpStream) -> Option<Request> {
    let mut bytes = Vec::new();
    let end = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    };
    let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
    let mut lines = head.lines();
    let line = lines.next()?.to_owned();
    let headers: HashMap<String, String> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()))
        .collect();
    let length: usize = headers.get("content-length")?.parse().ok()?;
    while bytes.len() < end + 4 + length {
        if stream.read_buf(&mut bytes).await.ok()? == 0 {
            return None;
        }
    }
    let body = serde_json::from_slice(&bytes[end + 4..end + 4 + length]).ok()?;
    Some(Request {
        line,
        headers,
        body,
    })
}

/// A configuration that leads to a server.
pub fn config(provider: Provider, endpoint: String, key: Option<&str>) -> ModelConfig {
    ModelConfig {
        provider,
        model: "small-model".to_owned(),
        endpoint: Some(endpoint),
        api_key: key.map(|key| key.to_owned().into()),
        timeout: Duration::from_secs(20),
        ..ModelConfig::default()
    }
}

/// A prompt with something that must never come out again.
pub fn prompt() -> Prompt {
    Prompt {
        system: "Do this.".to_owned(),
        user: "the-private-words".to_owned(),
        max_output_tokens: 300,
        json: true,
    }
}

/// A scripted model: gives these answers in order, then is unreachable.
pub struct Script {
    info: ModelInfo,
    answers: Mutex<VecDeque<Result<Answer, ModelError>>>,
    pub prompts: Mutex<Vec<Prompt>>,
    /// How long it takes for each.
    pub takes: Duration,
}

impl Script {
    pub fn new(answers: impl IntoIterator<Item = Result<Answer, ModelError>>) -> Self {
        Self {
            info: ModelInfo {
                name: "script".to_owned(),
                context_window: 20_000,
                max_output_tokens: 1_000,
                tokenizer: Tokenizer::O200kBase,
                tenant_key_secret: None,
            },
            answers: Mutex::new(answers.into_iter().collect()),
            prompts: Mutex::new(Vec::new()),
            takes: Duration::ZERO,
        }
    }

    pub fn saying(texts: &[&str]) -> Arc<Self> {
        Arc::new(Self::new(texts.iter().map(|text| Ok(said(text)))))
    }

    pub fn with_window(mut self, context_window: i32) -> Self {
        self.info.context_window = context_window;
        self
    }

    pub fn asked(&self) -> Vec<Prompt> {
        self.prompts.lock().unwrap().clone()
    }
}

#[async_trait]
impl TextModel for Script {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    async fn generate(
        &self,
        prompt: &Prompt,
        _: Option<&SecretString>,
    ) -> Result<Answer, ModelError> {
        self.prompts.lock().unwrap().push(prompt.clone());
        tokio::time::sleep(self.takes).await;
        let next = self.answers.lock().unwrap().pop_front();
        next.unwrap_or(Err(ModelError::Unreachable))
    }
}

pub fn said(text: &str) -> Answer {
    Answer {
        said: text.to_owned(),
        usage: None,
        finish: Finish::Complete,
    }
}

/// A ledger of one tenant, in memory.
pub struct Purse {
    left: Mutex<i64>,
    pub settled: Mutex<Vec<u64>>,
}

impl Purse {
    pub fn with(tokens: i64) -> Arc<Self> {
        Arc::new(Self {
            left: Mutex::new(tokens),
            settled: Mutex::new(Vec::new()),
        })
    }

    pub fn left(&self) -> i64 {
        *self.left.lock().unwrap()
    }
}

#[async_trait]
impl TokenLedger for Purse {
    async fn reserve(
        &self,
        _: &TenantId,
        _: &str,
        most: Usage,
    ) -> Result<Reservation, TokenLedgerError> {
        let mut left = self.left.lock().unwrap();
        let after = *left - i64::try_from(most.total()).unwrap();
        if after < 0 {
            return Err(TokenLedgerError::Spent);
        }
        *left = after;
        let id = uuid::Uuid::nil();
        Ok(Reservation { id, most })
    }

    async fn settle(&self, _: &TenantId, reservation: Reservation, spent: Spent) {
        let (most, spent) = (reservation.most.total(), spent.usage.total());
        *self.left.lock().unwrap() += i64::try_from(most).unwrap() - i64::try_from(spent).unwrap();
        self.settled.lock().unwrap().push(spent);
    }
}

pub fn usage(input_tokens: u64, output_tokens: u64) -> Option<Usage> {
    Some(Usage {
        input_tokens,
        output_tokens,
    })
}

pub fn message(role: Role, name: &str, parts: Vec<Part>) -> SourceMessage {
    SourceMessage::new(Message {
        name: name.to_owned(),
        tokens: 1,
        created: datetime!(2023-05-08 13:56 UTC),
        ..Message::new(role, parts)
    })
}

pub fn user(text: &str) -> SourceMessage {
    message(Role::User, "Ada", vec![Part::text(text)])
}

pub fn assistant(text: &str) -> SourceMessage {
    message(Role::Assistant, "", vec![Part::text(text)])
}

/// A call of a tool and what came of it.
pub fn step(name: &str, arguments: Value, output: Value, is_error: bool) -> [SourceMessage; 2] {
    let id = uuid::Uuid::now_v7().to_string();
    let call = ToolCall {
        id: id.clone(),
        name: name.to_owned(),
        arguments: arguments.to_string(),
    };
    let result = ToolResult {
        call_id: id,
        name: name.to_owned(),
        output: vec![match output {
            Value::String(text) => ToolOutput::Text(text),
            other => ToolOutput::Json(other.to_string()),
        }],
        is_error,
    };
    [
        message(Role::Assistant, "", vec![Content::ToolCall(call).into()]),
        message(Role::Tool, "", vec![Content::ToolResult(result).into()]),
    ]
}

/// The tenant on whose account models are asked.
pub fn tenant() -> TenantId {
    TenantId::new("acme")
}

/// An account without a token limit.
pub fn account(tenant: &TenantId) -> Account<'_> {
    Account {
        ledger: &UnlimitedTokens,
        keys: &NoKeys,
        tenant,
    }
}

/// A model that is asked once.
pub fn once(model: &Arc<Script>) -> Arc<Reliable> {
    let calls = CallsConfig {
        max_attempts: 1,
        ..CallsConfig::default()
    };
    Arc::new(Reliable::new(model.clone(), "distill.calls", &calls).unwrap())
}

/// One that asks this model for everything.
pub fn distiller(model: &Arc<Script>) -> Distiller {
    let model = once(model);
    Distiller::new(
        Some(model.clone()),
        Some(model),
        Arc::new(UnlimitedTokens),
        None,
    )
}

pub fn without_model() -> Distiller {
    Distiller::new(None, None, Arc::new(UnlimitedTokens), None)
}

/// A wish for single facts.
pub fn discrete<'a>(messages: &'a [SourceMessage], known: &'a [KnownFact]) -> Extraction<'a> {
    static KINDS: LazyLock<Kinds> = LazyLock::new(Kinds::default);
    static NEVER_KEPT: LazyLock<NeverKept> = LazyLock::new(NeverKept::default);
    Extraction {
        strategy: ExtractionStrategy::Discrete,
        instructions: "",
        kinds: &KINDS,
        never_keep: &NEVER_KEPT,
        owner: "",
        messages,
        known,
    }
}
