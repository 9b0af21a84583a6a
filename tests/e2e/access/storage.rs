//! How the database stores keys and secrets.

use recollect_tests::{Cluster, DataDir, Key, Server, apply, trial_with_own_server};
use tonic::Code;

use super::{create_key, secrets, serve};

const OLD: &str = "secrets.key = \"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=\"";
const NEW: &str = "secrets.key = \"ZmVkY2JhOTg3NjU0MzIxMGZlZGNiYTk4NzY1NDMyMTA=\"";
const PREVIOUS: &str = "secrets.previous_keys = [\"MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=\"]";
const VALUE: &str = "correct horse battery staple";

/// Every row of a table, as text; bytes are hexadecimal.
async fn dump(admin: &tokio_postgres::Client, table: &str) -> String {
    let all = format!("SELECT COALESCE(string_agg(t::text, E'\\n'), '') FROM recollect.{table} t");
    admin.query_one(&all, &[]).await.unwrap().get(0)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[apply(trial_with_own_server)]
async fn l06_keys_are_stored_hashed_and_secrets_encrypted() {
    let (cluster, url) = Cluster::migrated().await;
    let admin = cluster.superuser().await;
    let dir = DataDir::new();
    let server = Server::start(&dir, &serve(&dir, &url, &[OLD]));
    let client = server.client(Key::Acme).await;
    let made = create_key(&client, "reports", &[]).await;
    secrets::set(&client, "openai", VALUE).await;

    let tables = "SELECT relname FROM pg_class WHERE relkind = 'r' \
                  AND relnamespace = 'recollect'::regnamespace";
    let mut seen = 0;
    for table in admin.query(tables, &[]).await.unwrap() {
        let rows = dump(&admin, table.get(0)).await;
        seen += rows.len();
        // Not as text, not as the hex of its text, and not as the hex of the decoded bytes.
        let random = &made.secret["rck_".len()..];
        let decoded = "SELECT encode(decode(translate($1, '-_', '+/') || '=', 'base64'), 'hex')";
        let decoded: String = admin.query_one(decoded, &[&random]).await.unwrap().get(0);
        let forms = [random.to_owned(), hex(random.as_bytes()), decoded];
        for form in forms {
            assert!(!rows.contains(&form), "a key is in {table:?}");
        }
        for form in [VALUE.to_owned(), hex(VALUE.as_bytes())] {
            assert!(!rows.contains(&form), "a secret is in {table:?}");
        }
    }
    assert!(seen > 500, "the tables have rows");
    let digest = "SELECT digest = sha256($1) FROM recollect.api_keys";
    let row = admin.query_one(digest, &[&made.secret.as_bytes()]).await;
    assert!(row.unwrap().get::<_, bool>(0), "the hash is a SHA-256");

    // A row is worth nothing in another place.
    for (tenant, name, key) in [
        ("acme", "another", Key::Acme),
        ("globex", "openai", Key::Globex),
    ] {
        let copy = "INSERT INTO recollect.secrets (tenant_id, name, key_id, nonce, ciphertext) \
                    SELECT $1, $2, key_id, nonce, ciphertext FROM recollect.secrets \
                    WHERE tenant_id = 'acme' AND name = 'openai'";
        admin.execute(copy, &[&tenant, &name]).await.unwrap();
        let thief = server.client(key).await;
        let failure = secrets::get(&thief, name).await.unwrap_err();
        let failure = failure.is(Code::Internal, "INTERNAL");
        assert!(!failure.message.contains(VALUE));
    }
    assert_eq!(secrets::get(&client, "openai").await.unwrap(), VALUE);
    let log = dir.log();
    assert!(!log.contains(VALUE) && !log.contains(&made.secret), "{log}");
}

#[apply(trial_with_own_server)]
async fn l06_a_new_key_for_secrets_leaves_the_old_ones_readable() {
    let (_cluster, url) = Cluster::migrated().await;
    let dir = DataDir::new();
    let start = |lines: &[&str]| Server::start(&dir, &serve(&dir, &url, lines));
    let unavailable = async |server: &Server, part: &str| {
        let client = server.client(Key::Acme).await;
        let failure = secrets::get(&client, "openai").await.unwrap_err();
        let failure = failure.is(Code::FailedPrecondition, "SECRETS_UNAVAILABLE");
        assert!(failure.message.contains(part), "{failure:?}");
    };
    let server = start(&[OLD]);
    let client = server.client(Key::Acme).await;
    secrets::set(&client, "openai", VALUE).await;
    drop(server);

    let server = start(&[NEW, PREVIOUS]);
    let client = server.client(Key::Acme).await;
    assert_eq!(secrets::get(&client, "openai").await.unwrap(), VALUE);
    secrets::set(&client, "new", "of today").await;
    drop(server);

    let server = start(&[NEW]);
    unavailable(&server, "secrets.previous_keys").await;
    let client = server.client(Key::Acme).await;
    assert_eq!(secrets::get(&client, "new").await.unwrap(), "of today");
    drop(server);

    // Without any key nothing is stored, and what is there can be seen to.
    let server = start(&[]);
    unavailable(&server, "secrets.key").await;
    let client = server.client(Key::Acme).await;
    let names: Vec<String> = secrets::list(&client, 0)
        .await
        .into_iter()
        .map(|secret| secret.name)
        .collect();
    assert_eq!(names, ["new", "openai"]);
    let request = memory_contract::proto::SetSecretRequest {
        name: "more".to_owned(),
        value: VALUE.to_owned(),
    };
    let failure: recollect_tests::Failure = client
        .secrets()
        .set_secret(request)
        .await
        .unwrap_err()
        .into();
    let failure = failure.is(Code::FailedPrecondition, "SECRETS_UNAVAILABLE");
    assert!(failure.message.contains("secrets.key"), "{failure:?}");
}

#[apply(trial_with_own_server)]
async fn l06_a_transaction_never_has_content() {
    let (cluster, url) = Cluster::migrated().await;
    let admin = cluster.superuser().await;
    let dir = DataDir::new();
    let server = Server::start(&dir, &serve(&dir, &url, &[OLD]));
    let client = server.client(Key::Acme).await;
    let thread_id = client.thread("app").await;
    let said = "flibbertigibbet";
    client.append_turn(&thread_id, said, said).await;
    let made = create_key(&client, "reports", &[]).await;
    secrets::set(&client, "openai", said).await;
    let rows = dump(&admin, "transactions").await;
    for action in [
        "create_thread",
        "append_messages",
        "create_api_key",
        "set_secret",
    ] {
        assert!(rows.contains(action), "{rows}");
    }
    assert!(
        !rows.contains(said) && !rows.contains(&made.secret),
        "{rows}"
    );
}
