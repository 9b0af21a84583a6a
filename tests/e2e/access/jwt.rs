//! Tokens of an issuer, beside API keys.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::Router;
use axum::routing::get;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use memory_contract::proto::{AppendMessagesRequest, ListTransactionsRequest, Role};
use rcgen::{KeyPair, PKCS_ED25519, PublicKeyData as _, SigningKey as _};
use recollect_tests::{
    Client, Cluster, DataDir, Key, Options, Server, apply, by_id, eventually_some, free_addr, say,
    trial_with_own_server, watch_request,
};
use serde_json::{Value, json};
use tonic::{Code, Status};

use super::{done_to, transactions};

const ISSUER: &str = "https://issuer.example";
/// The server reads changed keys at most every five seconds.
const REFRESHED: Duration = Duration::from_secs(60);

/// An issuer with one key.
struct Issuer {
    id: &'static str,
    key: KeyPair,
}

impl Issuer {
    fn new(id: &'static str) -> Self {
        Self {
            id,
            key: KeyPair::generate_for(&PKCS_ED25519).unwrap(),
        }
    }

    /// Its public keys.
    fn keys(&self) -> Value {
        let key = URL_SAFE_NO_PAD.encode(self.key.der_bytes());
        json!({"keys": [{"kty": "OKP", "kid": self.id, "crv": "Ed25519", "x": key}]})
    }

    fn token(&self, tenant: &str, scope: &str, lifetime: Duration) -> String {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
        let claims = json!({
            "iss": ISSUER,
            "aud": "recollect",
            "sub": "checkout",
            "exp": (now + lifetime).as_secs(),
            "tenant": tenant,
            "scope": scope,
        });
        let header = json!({"alg": "EdDSA", "kid": self.id});
        let text = |value: Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let message = format!("{}.{}", text(header), text(claims));
        let signature = self.key.sign(message.as_bytes()).unwrap();
        format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))
    }
}

const HOUR: Duration = Duration::from_secs(3_600);

fn options(source: &str) -> Options {
    Options::default()
        .line(format!("auth.jwt.issuer = \"{ISSUER}\""))
        .line("auth.jwt.audience = \"recollect\"".to_owned())
        .line(format!("auth.jwt.{source}"))
}

fn write(path: &Path, issuer: &Issuer) {
    fs::write(path, issuer.keys().to_string()).unwrap();
}

async fn with_token(server: &Server, token: &str) -> Client {
    let header = format!("Bearer {token}");
    Client::with_authorization(&server.ready().addr, Some(&header)).await
}

async fn append(client: &Client, thread_id: &str) -> Result<(), Status> {
    let request = AppendMessagesRequest {
        thread: by_id(thread_id),
        messages: vec![say(Role::User, "Hello")],
        ..Default::default()
    };
    let appended = client.messages().append_messages(request).await;
    appended.map(|_| ())
}

#[apply(trial_with_own_server)]
async fn a_token_names_its_tenant_its_scopes_and_its_actor() {
    let issuer = Issuer::new("one");
    let files = tempfile::tempdir().unwrap();
    let path = files.path().join("keys.json");
    write(&path, &issuer);
    let dir = DataDir::new();
    let server = Server::start(&dir, &options(&format!("keys_file = {path:?}")));

    let token = issuer.token("acme", "openid read write", HOUR);
    let client = with_token(&server, &token).await;
    let thread_id = client.thread("tokens").await;
    append(&client, &thread_id).await.unwrap();
    let admin = server.client(Key::Acme).await;
    let done = done_to(&admin, &thread_id).await;
    assert!(
        done.iter().all(|(actor, ..)| actor == "jwt:checkout"),
        "{done:?}"
    );

    // Another tenant, fewer scopes, and none.
    let other = issuer.token("globex", "read write", HOUR);
    let error = append(&with_token(&server, &other).await, &thread_id).await;
    assert_eq!(error.unwrap_err().code(), Code::NotFound);
    for scope in ["read", "openid", ""] {
        let token = issuer.token("acme", scope, HOUR);
        let error = append(&with_token(&server, &token).await, &thread_id).await;
        assert_eq!(error.unwrap_err().code(), Code::PermissionDenied, "{scope}");
    }
    let request = ListTransactionsRequest::default();
    let error = client.admin().list_transactions(request.clone()).await;
    assert_eq!(error.unwrap_err().code(), Code::PermissionDenied);
    assert!(!transactions(&admin, request).await.is_empty());

    // Of a stranger with the same key id.
    let stranger = Issuer::new("one").token("acme", "admin", HOUR);
    let error = append(&with_token(&server, &stranger).await, &thread_id).await;
    assert_eq!(error.unwrap_err().code(), Code::Unauthenticated);
    assert!(!dir.log().contains(&token), "a token is in the log");
}

#[apply(trial_with_own_server)]
async fn a_watch_ends_when_its_token_expires() {
    let issuer = Issuer::new("one");
    let files = tempfile::tempdir().unwrap();
    let path = files.path().join("keys.json");
    write(&path, &issuer);
    let dir = DataDir::new();
    let server = Server::start(&dir, &options(&format!("keys_file = {path:?}")));
    let thread_id = server.client(Key::Acme).await.thread("tokens").await;

    let token = issuer.token("acme", "read", Duration::from_secs(4));
    let client = with_token(&server, &token).await;
    let request = watch_request(&thread_id, "");
    let events = client.threads().watch_thread(request).await;
    let mut events = events.unwrap().into_inner();
    let ended = loop {
        match events.message().await {
            Ok(Some(_)) => {}
            Ok(None) => panic!("the watch ended without an error"),
            Err(status) => break status,
        }
    };
    assert_eq!(ended.code(), Code::Unauthenticated, "{ended:?}");
}

#[apply(trial_with_own_server)]
async fn a_new_key_of_the_issuer_is_fetched_when_a_token_names_it() {
    let (first, second) = (Issuer::new("first"), Issuer::new("second"));
    let addr = free_addr();
    let dir = DataDir::new();
    let source = format!("keys_url = \"http://{addr}/keys\"");
    let server = Server::start(&dir, &options(&source));
    let thread_id = server.client(Key::Acme).await.thread("tokens").await;

    // The issuer does not answer yet.
    let client = with_token(&server, &first.token("acme", "write", HOUR)).await;
    let error = append(&client, &thread_id).await.unwrap_err();
    assert_eq!(error.code(), Code::Unavailable, "{error:?}");

    let asked = Arc::new(AtomicUsize::new(0));
    let current = Arc::new(std::sync::Mutex::new(first.keys()));
    let (counter, keys) = (asked.clone(), current.clone());
    let routes = Router::new().route(
        "/keys",
        get(async move || {
            counter.fetch_add(1, Ordering::SeqCst);
            keys.lock().unwrap().to_string()
        }),
    );
    let listener = tokio::net::TcpListener::bind(&addr).await.unwrap();
    let serving = tokio::spawn(async move { axum::serve(listener, routes).await });
    let appended = async |client: &Client| append(client, &thread_id).await.ok();
    eventually_some("the keys are fetched", REFRESHED, async || {
        appended(&client).await
    })
    .await;
    for _ in 0..20 {
        append(&client, &thread_id).await.unwrap();
    }
    assert_eq!(asked.load(Ordering::SeqCst), 1, "the keys are kept");

    let newer = with_token(&server, &second.token("acme", "write", HOUR)).await;
    *current.lock().unwrap() = second.keys();
    eventually_some("the new key is fetched", REFRESHED, async || {
        appended(&newer).await
    })
    .await;
    let error = append(&client, &thread_id).await.unwrap_err();
    assert_eq!(
        error.code(),
        Code::Unauthenticated,
        "the first key was withdrawn"
    );

    // Known keys stay in use while the issuer does not answer.
    serving.abort();
    append(&newer, &thread_id).await.unwrap();
}

#[apply(trial_with_own_server)]
async fn with_an_issuer_alone_calls_need_a_token() {
    let issuer = Issuer::new("one");
    let files = tempfile::tempdir().unwrap();
    let path = files.path().join("keys.json");
    write(&path, &issuer);
    let (_cluster, url) = Cluster::migrated().await;
    let dir = DataDir::new();
    let mut options = options(&format!("keys_file = {path:?}"));
    options.keys = Vec::new();
    options.command = "serve";
    let server = Server::start(&dir, &options.env("DATABASE_URL", &url).without_worker());

    let nobody = Client::with_authorization(&server.ready().addr, None).await;
    let error = append(&nobody, "t").await.unwrap_err();
    assert_eq!(error.code(), Code::Unauthenticated);
    let client = with_token(&server, &issuer.token("acme", "write read", HOUR)).await;
    append(&client, &client.thread("tokens").await)
        .await
        .unwrap();
}
