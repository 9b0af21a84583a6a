//! `recollect keys`.

use memory_contract::convert::action_name;
use memory_contract::proto::{GetServerInfoRequest, ListTransactionsRequest};
use recollect_tests::{
    Client, Cluster, DataDir, Finished, Options, Refused as _, SOON, Server, apply, eventually,
    recollect, trial, trial_with_own_server,
};
use tonic::Code;

use super::{caller, serve, transactions};

fn keys(url: &str, args: &[&str]) -> Finished {
    let args: Vec<&str> = ["keys"].iter().chain(args).copied().collect();
    recollect(&args, &[("DATABASE_URL", url)])
}

fn create(url: &str, args: &[&str]) -> Finished {
    let args: Vec<&str> = ["create", "--tenant", "initech"]
        .iter()
        .chain(args)
        .copied()
        .collect();
    keys(url, &args)
}

#[apply(trial_with_own_server)]
async fn l06_keys_are_made_listed_and_ended_from_the_command_line() {
    let (_cluster, url) = Cluster::migrated().await;
    let listed = keys(&url, &["list", "--tenant", "initech"]).ok();
    assert!(listed.stdout.contains("keys create"), "{listed:?}");

    // The first key of a server that has none in its configuration.
    let made = create(&url, &["--name", "backend", "--scope", "admin", "--json"]).ok();
    let made = made.json();
    let secret = made["secret"].as_str().unwrap().to_owned();
    assert_eq!(made["apiKey"]["name"], "backend");
    assert_eq!(
        made["apiKey"]["scopes"],
        serde_json::json!(["KEY_SCOPE_ADMIN"])
    );
    let dir = DataDir::new();
    let options = Options {
        keys: Vec::new(),
        ..serve(&dir, &url, &["auth.database = true"])
    };
    let server = Server::start(&dir, &options);
    let addr = &server.ready().addr;
    let info = async |client: &Client| {
        let request = GetServerInfoRequest {};
        client.admin().get_server_info(request).await
    };
    let client = caller(addr, &secret).await;
    let tenant = info(&client).await.unwrap().into_inner().tenant;
    assert_eq!(tenant, "initech");
    let unauthenticated = Client::with_authorization(addr, None).await;
    let failure = info(&unauthenticated).await.refused();
    failure.is(Code::Unauthenticated, "UNAUTHENTICATED");

    // For people: a table, and the key once.
    let shown = create(&url, &["--name", "reports", "--expires-in", "90d"]).ok();
    let reports = shown
        .stdout
        .split_whitespace()
        .find(|word| word.starts_with("rck_"))
        .unwrap();
    assert_eq!(shown.stdout.matches(reports).count(), 1, "{shown:?}");
    let reports = caller(addr, reports).await;
    info(&reports).await.unwrap();
    let list = ListTransactionsRequest::default();
    let refused = reports.refused(list.clone()).await;
    refused.is(Code::PermissionDenied, "PERMISSION_DENIED");

    let listed = keys(&url, &["list", "--tenant", "initech"]).ok().stdout;
    assert!(listed.contains("backend") && listed.contains("never"));
    assert!(listed.contains("read, write, delete") && listed.contains("admin"));
    assert!(!listed.contains("rck_") && !listed.contains(&secret));
    let listed = keys(&url, &["list", "--tenant", "initech", "--json"]).ok();
    let listed = listed.json_lines();
    assert_eq!(listed[0]["name"], "reports");
    assert!(listed[0]["expireTime"].is_string(), "{listed:?}");
    assert_eq!(listed[1]["name"], "backend");

    let revoke = ["revoke", "--tenant", "initech", "--name", "reports"];
    keys(&url, &revoke).ok();
    eventually("the key ends", SOON, async || info(&reports).await.is_err()).await;
    let again = keys(&url, &revoke);
    assert_eq!(again.code, Some(4), "{again:?}");
    let noted: Vec<_> = transactions(&client, list)
        .await
        .into_iter()
        .map(|done| {
            let action = action_name(done.action());
            (done.actor, action, done.subject)
        })
        .collect();
    let cli =
        |action: &str, subject: &str| ("cli".to_owned(), action.to_owned(), subject.to_owned());
    assert_eq!(
        noted,
        [
            cli("revoke_api_key", "reports"),
            cli("create_api_key", "reports"),
            cli("create_api_key", "backend"),
        ]
    );
}

#[apply(trial)]
async fn the_command_line_explains_an_invalid_key() {
    let (_cluster, url) = Cluster::migrated().await;
    create(&url, &["--name", "twice"]).ok();
    let check = |finished: Finished, code: i32, part: &str| {
        assert_eq!(finished.code, Some(code), "{finished:?}");
        assert!(finished.stderr.contains(part), "{finished:?}");
        assert_eq!(finished.stdout, "");
    };
    check(create(&url, &["--name", "twice"]), 1, "of this name");
    check(create(&url, &["--name", "worker"]), 2, "--name");
    check(create(&url, &["--name", ""]), 2, "--name");
    check(
        create(&url, &["--name", "late", "--expires-in", "9000y"]),
        2,
        "--expires-in",
    );
    check(
        create(&url, &["--name", "now", "--expires-in", "0s"]),
        2,
        "--expires-in",
    );
    check(keys("", &["list", "--tenant", "a"]), 5, "database.url");
    check(keys(&url, &["list", "--tenant", ""]), 2, "--tenant");
}
