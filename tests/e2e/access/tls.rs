//! Encrypted connections: of callers to the server, and of the server to Postgres.

use std::fs;
use std::path::Path;
use std::time::Duration;

use memory_contract::proto::{ListThreadsRequest, thread_service_client::ThreadServiceClient};
use recollect_tests::{
    Authority, Certificate, Client, Cluster, DataDir, Finished, Key, Options, Server, apply,
    eventually, eventually_some, recollect, trial_with_own_server,
};
use tonic::Code;
use tonic::transport::{self, Channel, ClientTlsConfig, Endpoint, Identity};

/// The server looks at its files every five seconds.
const RELOAD: Duration = Duration::from_secs(20);

fn write(dir: &Path, certificate: &Certificate) {
    // First the key: until both are there, the server goes on with the former pair.
    fs::write(dir.join("tls.key"), &certificate.key).unwrap();
    fs::write(dir.join("tls.crt"), &certificate.certificate).unwrap();
}

fn options(dir: &Path) -> Options {
    let (certificate, key) = (dir.join("tls.crt"), dir.join("tls.key"));
    Options::default()
        .line(format!("server.tls.certificate = {certificate:?}"))
        .line(format!("server.tls.key = {key:?}"))
}

fn trust(authority: &Authority) -> ClientTlsConfig {
    ClientTlsConfig::new().ca_certificate(transport::Certificate::from_pem(authority.pem()))
}

#[track_caller]
fn failed(finished: Finished) -> Finished {
    assert!(finished.code.is_some_and(|code| code != 0), "{finished:#?}");
    finished
}

async fn connect(server: &Server, tls: ClientTlsConfig) -> Result<Channel, transport::Error> {
    Endpoint::from_shared(format!("https://{}", server.ready().addr))
        .unwrap()
        .tls_config(tls)
        .unwrap()
        .connect()
        .await
}

async fn can_call(channel: Channel) -> bool {
    let client = Client::over(channel, Key::Acme);
    let request = ListThreadsRequest::default();
    client.threads().list_threads(request).await.is_ok()
}

#[apply(trial_with_own_server)]
async fn a_server_with_a_certificate_speaks_tls_alone() {
    let authority = Authority::new();
    let files = tempfile::tempdir().unwrap();
    write(files.path(), &authority.issue(&["localhost", "127.0.0.1"]));
    let dir = DataDir::new();
    let server = Server::start(&dir, &options(files.path()));

    let channel = connect(&server, trust(&authority)).await.unwrap();
    assert!(can_call(channel).await);

    let stranger = connect(&server, trust(&Authority::new())).await;
    assert!(stranger.is_err(), "the authority is not the server's");

    let plain = Endpoint::from_shared(format!("http://{}", server.ready().addr)).unwrap();
    let plain = match plain.connect().await {
        Ok(channel) => can_call(channel).await,
        Err(_) => false,
    };
    assert!(!plain, "a connection in the clear is served");

    let ca = files.path().join("ca.crt");
    fs::write(&ca, authority.pem()).unwrap();
    let addr = format!("https://{}", server.ready().addr);
    let key = Key::Acme.secret();
    let run =
        |env: &[(&str, &str)]| recollect(&["status", "--addr", &addr, "--api-key", &key], env);
    run(&[("SSL_CERT_FILE", ca.to_str().unwrap())]).ok();
    failed(run(&[("SSL_CERT_FILE", "/nowhere")]));
}

#[apply(trial_with_own_server)]
async fn a_replaced_certificate_is_used_without_a_restart() {
    let (first, second) = (Authority::new(), Authority::new());
    let files = tempfile::tempdir().unwrap();
    write(files.path(), &first.issue(&["127.0.0.1"]));
    let dir = DataDir::new();
    let server = Server::start(&dir, &options(files.path()));
    let before = connect(&server, trust(&first)).await.unwrap();

    // A file that is no certificate changes nothing.
    fs::write(files.path().join("tls.crt"), "not a certificate").unwrap();
    eventually("the server says what is wrong", RELOAD, async || {
        dir.log().contains("cannot be used")
    })
    .await;
    assert!(connect(&server, trust(&first)).await.is_ok());

    write(files.path(), &second.issue(&["127.0.0.1"]));
    let after = eventually_some("the new certificate is used", RELOAD, async || {
        connect(&server, trust(&second)).await.ok()
    })
    .await;
    assert!(can_call(after).await);
    assert!(can_call(before).await, "open connections go on");
}

#[apply(trial_with_own_server)]
async fn with_a_client_authority_callers_need_a_certificate_and_a_key() {
    let (ours, theirs) = (Authority::new(), Authority::new());
    let files = tempfile::tempdir().unwrap();
    write(files.path(), &ours.issue(&["127.0.0.1"]));
    let ca = files.path().join("ca.crt");
    fs::write(&ca, ours.pem()).unwrap();
    let dir = DataDir::new();
    let options = options(files.path()).line(format!("server.tls.client_ca = {ca:?}"));
    let server = Server::start(&dir, &options);

    let as_client = |certificate: &Certificate| {
        trust(&ours).identity(Identity::from_pem(
            &certificate.certificate,
            &certificate.key,
        ))
    };
    // In TLS 1.3 a client learns with its first call that its certificate is refused.
    let served = async |tls: ClientTlsConfig| match connect(&server, tls).await {
        Ok(channel) => can_call(channel).await,
        Err(_) => false,
    };
    assert!(served(as_client(&ours.issue(&["backend"]))).await);
    assert!(!served(as_client(&theirs.issue(&["backend"]))).await);
    assert!(!served(trust(&ours)).await);

    // The certificate does not stand for a key.
    let channel = connect(&server, as_client(&ours.issue(&["backend"]))).await;
    let mut keyless = ThreadServiceClient::new(channel.unwrap());
    let refused = keyless.list_threads(ListThreadsRequest::default()).await;
    assert_eq!(refused.unwrap_err().code(), Code::Unauthenticated);
}

#[apply(trial_with_own_server)]
async fn a_connection_to_postgres_is_encrypted_and_checked_as_the_url_says() {
    let (cluster, url) = Cluster::migrated().await;
    let (ours, theirs) = (Authority::new(), Authority::new());
    cluster.enable_tls(&ours.issue(&["localhost"])).await;
    let files = tempfile::tempdir().unwrap();
    let file = |name: &str, authority: &Authority| {
        let path = files.path().join(name);
        fs::write(&path, authority.pem()).unwrap();
        path.display().to_string()
    };
    let (our_file, their_file) = (file("ours.crt", &ours), file("theirs.crt", &theirs));
    let by_name = url.replace("127.0.0.1", "localhost");
    let try_url = |url: &str, parameters: &str| {
        let url = format!("{url}?{parameters}");
        recollect(&["migrate"], &[("DATABASE_URL", &url)])
    };
    let trusting = format!("sslmode=verify-full&sslrootcert={our_file}");
    try_url(&by_name, &trusting).ok();
    failed(try_url(&url, &trusting));
    try_url(&url, &trusting.replace("verify-full", "verify-ca")).ok();
    failed(try_url(
        &by_name,
        &format!("sslmode=verify-ca&sslrootcert={their_file}"),
    ));
    // The machine trusts neither authority.
    failed(try_url(&by_name, "sslmode=require"));
    try_url(&by_name, "sslmode=prefer").ok();
    let unknown = failed(try_url(&by_name, "sslmode=sometimes"));
    assert!(unknown.stderr.contains("verify-full"), "{unknown:?}");

    let admin = cluster.superuser().await;
    let encrypted = async || -> Vec<bool> {
        let rows = admin
            .query(
                "SELECT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
                 WHERE application_name = 'recollect'",
                &[],
            )
            .await
            .unwrap();
        rows.iter().map(|row| row.get(0)).collect()
    };
    for (parameters, expected) in [("", true), ("?sslmode=disable", false)] {
        let dir = DataDir::new();
        let options = Options::serve(&format!("{by_name}{parameters}"), &[]).without_worker();
        let server = Server::start(&dir, &options);
        let client = server.client(Key::Acme).await;
        client.thread("tls").await;
        let found = encrypted().await;
        assert!(!found.is_empty(), "the server has no connection");
        assert!(
            found.iter().all(|&ssl| ssl == expected),
            "{parameters}: {found:?}"
        );
        assert!(server.terminate().await.success(), "{}", dir.log());
        eventually("its connections are closed", RELOAD, async || {
            encrypted().await.is_empty()
        })
        .await;
    }
}
