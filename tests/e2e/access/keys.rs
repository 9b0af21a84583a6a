//! API keys that the database keeps.

use std::time::{Duration, SystemTime};

use memory_contract::convert::action_name;
use memory_contract::proto::{
    ApiKey, CreateApiKeyRequest, GetServerInfoRequest, GetThreadRequest, KeyScope,
    ListApiKeysRequest, ListTransactionsRequest, RevokeApiKeyRequest,
};
use prost_types::Timestamp;
use recollect_tests::{
    Client, Cluster, DataDir, Dynamic, Key, PLAIN, Refused as _, SOON, Server, app, apply,
    eventually, trial, trial_with_own_server,
};
use tonic::Code;

use super::{caller, create_key, done_to, serve, transactions};
use crate::plain;

/// How long a key that was ended may go on.
const END: Duration = Duration::from_secs(5);

fn name() -> String {
    format!("key-{}", app())
}

async fn list(client: &Client, page_size: i32) -> Vec<ApiKey> {
    let mut request = ListApiKeysRequest {
        page_size,
        page_token: String::new(),
    };
    let mut all = Vec::new();
    loop {
        let page = client.call(request.clone()).await;
        all.extend(page.api_keys);
        if page.next_page_token.is_empty() {
            return all;
        }
        request.page_token = page.next_page_token;
    }
}

async fn tenant(client: &Client) -> Option<String> {
    let request = GetServerInfoRequest {};
    let answer = client.admin().get_server_info(request).await;
    match answer {
        Ok(answer) => Some(answer.into_inner().tenant),
        Err(status) => {
            assert_eq!(status.code(), Code::Unauthenticated, "{status:?}");
            None
        }
    }
}

async fn revoke(client: &Client, name: &str) {
    client.revoke_key(name).await;
}

#[apply(trial)]
async fn l06_a_created_key_works_at_once_and_a_revoked_one_ends() {
    let (admin, name) = (plain().await, name());
    let made = create_key(&admin, &name, &[]).await;
    assert!(made.secret.starts_with("rck_") && made.secret.len() == 47);
    let key = made.api_key.unwrap();
    assert_eq!(key.name, name);
    let scopes = [KeyScope::Read, KeyScope::Write, KeyScope::Delete];
    assert_eq!(key.scopes().collect::<Vec<_>>(), scopes);
    assert!(key.create_time.is_some() && key.expire_time.is_none());

    let client = caller(&PLAIN.ready().addr, &made.secret).await;
    assert_eq!(tenant(&client).await.as_deref(), Some("acme"));
    let thread_id = client.thread(&app()).await;
    client.append_turn(&thread_id, "Q", "A").await;
    let noted = done_to(&admin, &thread_id).await;
    assert!(noted.iter().all(|(actor, ..)| *actor == name), "{noted:?}");
    assert_eq!(admin.all_messages(&thread_id).await.len(), 2);

    revoke(&admin, &name).await;
    eventually("the key ends", END, async || {
        tenant(&client).await.is_none()
    })
    .await;
    // For good, and only once.
    assert_eq!(tenant(&client).await, None);
    let request = RevokeApiKeyRequest { name: name.clone() };
    assert!(!admin.call(request).await.revoked);
    assert!(list(&admin, 500).await.iter().all(|key| key.name != name));
    assert!(!PLAIN.log().contains(&made.secret), "a key is logged");
}

#[apply(trial)]
async fn l06_a_key_ends_when_it_expires() {
    let (admin, name) = (plain().await, name());
    let at = |seconds: i64| {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        Some(Timestamp {
            seconds: i64::try_from(now.unwrap().as_secs()).unwrap() + seconds,
            nanos: 0,
        })
    };
    let request = |expire_time| CreateApiKeyRequest {
        name: name.clone(),
        scopes: Vec::new(),
        expire_time,
        ..Default::default()
    };
    let past = admin.refused(request(at(-1))).await;
    past.names_field("expire_time");
    let expires = at(8);
    let made = admin.call(request(expires)).await;
    assert_eq!(made.api_key.unwrap().expire_time, expires);
    let client = caller(&PLAIN.ready().addr, &made.secret).await;
    assert_eq!(tenant(&client).await.as_deref(), Some("acme"));
    let limit = Duration::from_secs(8) + END;
    eventually("the key ends", limit, async || {
        tenant(&client).await.is_none()
    })
    .await;
}

#[apply(trial)]
async fn l06_keys_of_another_tenant_are_out_of_reach() {
    let (acme, globex) = (plain().await, PLAIN.client(Key::Globex).await);
    let name = name();
    let made = create_key(&acme, &name, &[KeyScope::Admin]).await;
    assert!(list(&globex, 500).await.iter().all(|key| key.name != name));
    let request = RevokeApiKeyRequest { name: name.clone() };
    assert!(!globex.call(request).await.revoked);
    // The same name there is another key.
    let theirs = create_key(&globex, &name, &[]).await;
    revoke(&globex, &name).await;
    let client = caller(&PLAIN.ready().addr, &made.secret).await;
    assert_eq!(tenant(&client).await.as_deref(), Some("acme"));
    assert_ne!(made.secret, theirs.secret);
}

#[apply(trial)]
async fn l06_only_administrators_manage_keys_and_secrets_and_read_the_audit_log() {
    let admin = plain().await;
    let made = create_key(&admin, &name(), &[]).await;
    let promoted = create_key(&admin, &name(), &[KeyScope::Admin]).await;
    let addr = &PLAIN.ready().addr;
    let others = [
        PLAIN.client(Key::AcmeToo).await,
        caller(addr, &made.secret).await,
    ];
    let mut checked = 0;
    for method in Dynamic::methods() {
        let name = Dynamic::name(&method);
        let service = name.split('/').next().unwrap();
        let restricted = ["KeyService", "SecretService"].contains(&service)
            || [
                "AdminService/CompareIndexes",
                "AdminService/DeleteTenant",
                "AdminService/ListTransactions",
                "SubscriptionService/CreateSubscription",
                "SubscriptionService/DeleteSubscription",
                "SubscriptionService/RotateSubscriptionSecret",
                "SubscriptionService/UpdateSubscription",
            ]
            .contains(&name.as_str());
        for other in &others {
            let answer = Dynamic::call_empty(other, &method).await;
            if restricted {
                answer
                    .refused()
                    .is(Code::PermissionDenied, "PERMISSION_DENIED");
                checked += 1;
            } else if let Err(status) = answer {
                assert_ne!(status.code(), Code::PermissionDenied, "{name}");
            }
        }
    }
    assert_eq!(checked, 2 * 14);
    let promoted = caller(addr, &promoted.secret).await;
    assert!(!list(&promoted, 1).await.is_empty());
}

#[apply(trial)]
async fn l06_making_and_ending_keys_is_listed() {
    let (admin, name) = (plain().await, name());
    create_key(&admin, &name, &[]).await;
    revoke(&admin, &name).await;
    let request = ListTransactionsRequest {
        actor: Key::Acme.name().to_owned(),
        page_size: 500,
        ..Default::default()
    };
    let noted: Vec<String> = transactions(&admin, request)
        .await
        .into_iter()
        .filter(|done| done.subject == name)
        .map(|done| action_name(done.action()))
        .collect();
    assert_eq!(noted, ["revoke_api_key", "create_api_key"]);
}

#[apply(trial)]
async fn names_of_keys_are_unique_and_some_are_taken() {
    let admin = plain().await;
    let create = async |name: &str| {
        let request = CreateApiKeyRequest {
            name: name.to_owned(),
            ..Default::default()
        };
        admin.keys().create_api_key(request).await
    };
    let long = "ü".repeat(129);
    for wrong in ["", "anonymous", "cli", "worker", "a\nb", "a\0b", &long] {
        create(wrong).await.refused().names_field("name");
    }
    create(&format!("{}{}", app(), "ü".repeat(80)))
        .await
        .unwrap();
    let name = name();
    create(&name).await.unwrap();
    for taken in [name.as_str(), Key::Acme.name(), Key::AcmeToo.name()] {
        create(taken)
            .await
            .refused()
            .is(Code::AlreadyExists, "API_KEY_ALREADY_EXISTS");
    }
}

#[apply(trial)]
async fn keys_are_listed_the_newest_first() {
    let admin = plain().await;
    let names = [name(), name(), name()];
    for name in &names {
        create_key(&admin, name, &[]).await;
    }
    for page_size in [1, 2, 500] {
        let listed: Vec<String> = list(&admin, page_size)
            .await
            .into_iter()
            .map(|key| key.name)
            .filter(|name| names.contains(name))
            .collect();
        let newest_first: Vec<_> = names.iter().rev().cloned().collect();
        assert_eq!(listed, newest_first, "{page_size}");
    }
}

#[apply(trial_with_own_server)]
async fn without_a_database_the_configured_keys_go_on() {
    let (mut cluster, url) = Cluster::migrated().await;
    let dir = DataDir::new();
    let server = Server::start(&dir, &serve(&dir, &url, &[]));
    let addr = &server.ready().addr;
    let admin = server.client(Key::Acme).await;
    let made = create_key(&admin, "reports", &[]).await;
    let client = caller(addr, &made.secret).await;
    cluster.crash();
    // A wrong field is reported without the database, once the caller is known.
    let get = async |client: &Client| {
        let request = GetThreadRequest::default();
        client.refused(request).await
    };
    get(&admin).await.names_field("thread");
    let failure = get(&client).await;
    let failure = failure.is(Code::Unavailable, "DATABASE_UNAVAILABLE");
    assert!(failure.retry.is_some(), "{failure:?}");
    let unauthenticated = Client::with_authorization(addr, Some("Bearer nonsense")).await;
    get(&unauthenticated)
        .await
        .is(Code::Unauthenticated, "UNAUTHENTICATED");
    cluster.restart().await;
    eventually("the key works again", SOON, async || {
        get(&client).await.code == Code::InvalidArgument
    })
    .await;
}
