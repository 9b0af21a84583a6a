//! Secrets.

use memory_contract::convert::action_name;
use memory_contract::proto::{
    DeleteSecretRequest, GetSecretRequest, ListSecretsRequest, ListTransactionsRequest, Secret,
    SetSecretRequest,
};
use recollect_tests::{Client, Failure, Key, PLAIN, Refused as _, app, apply, trial};
use tonic::Code;

use super::transactions;
use crate::plain;

pub async fn set(client: &Client, name: &str, value: &str) -> Secret {
    let request = SetSecretRequest {
        name: name.to_owned(),
        value: value.to_owned(),
    };
    client.call(request).await.secret.unwrap()
}

pub async fn get(client: &Client, name: &str) -> Result<String, Failure> {
    let request = GetSecretRequest {
        name: name.to_owned(),
    };
    match client.secrets().get_secret(request).await {
        Ok(response) => {
            let response = response.into_inner();
            assert_eq!(response.secret.unwrap().name, name);
            Ok(response.value)
        }
        Err(status) => Err(status.into()),
    }
}

pub async fn list(client: &Client, page_size: i32) -> Vec<Secret> {
    let mut request = ListSecretsRequest {
        page_size,
        page_token: String::new(),
    };
    let mut all = Vec::new();
    loop {
        let page = client.call(request.clone()).await;
        all.extend(page.secrets);
        if page.next_page_token.is_empty() {
            return all;
        }
        request.page_token = page.next_page_token;
    }
}

/// Whether there was such a secret.
async fn delete(client: &Client, name: &str) -> bool {
    let request = DeleteSecretRequest {
        name: name.to_owned(),
    };
    client.call(request).await.deleted
}

fn not_found<T: std::fmt::Debug>(answer: Result<T, Failure>) {
    answer.unwrap_err().is(Code::NotFound, "SECRET_NOT_FOUND");
}

#[apply(trial)]
async fn l06_a_secret_comes_back_as_it_was_set() {
    let (client, name) = (plain().await, app());
    not_found(get(&client, &name).await);
    let first = set(&client, &name, "hunter6 🗝 \0 \n").await;
    assert_eq!(first.create_time, first.update_time);
    assert_eq!(get(&client, &name).await.unwrap(), "hunter6 🗝 \0 \n");
    let second = set(&client, &name, "another").await;
    assert_eq!(second.create_time, first.create_time);
    assert_ne!(second.update_time, first.update_time);
    assert_eq!(get(&client, &name).await.unwrap(), "another");
    assert!(delete(&client, &name).await);
    not_found(get(&client, &name).await);
    assert!(!delete(&client, &name).await);
    assert!(!PLAIN.log().contains("hunter6"), "a secret is logged");
}

#[apply(trial)]
async fn l06_secrets_of_another_tenant_are_out_of_reach() {
    let (acme, globex) = (plain().await, PLAIN.client(Key::Globex).await);
    let name = app();
    set(&acme, &name, "ours").await;
    not_found(get(&globex, &name).await);
    assert!(!delete(&globex, &name).await);
    assert!(list(&globex, 500).await.iter().all(|it| it.name != name));
    set(&globex, &name, "theirs").await;
    assert_eq!(get(&acme, &name).await.unwrap(), "ours");
    assert_eq!(get(&globex, &name).await.unwrap(), "theirs");
}

#[apply(trial)]
async fn l06_setting_and_deleting_secrets_is_listed_without_values() {
    let (client, name) = (plain().await, app());
    set(&client, &name, "flibbertigibbet").await;
    assert!(delete(&client, &name).await);
    let request = ListTransactionsRequest {
        actor: Key::Acme.name().to_owned(),
        page_size: 500,
        ..Default::default()
    };
    let all = transactions(&client, request).await;
    assert!(!format!("{all:?}").contains("flibbertigibbet"));
    let noted: Vec<String> = all
        .iter()
        .filter(|done| done.subject == name)
        .map(|done| action_name(done.action()))
        .collect();
    assert_eq!(noted, ["delete_secret", "set_secret"]);
}

#[apply(trial)]
async fn secrets_are_listed_by_name() {
    let (client, app) = (plain().await, app());
    let name = |end: &str| format!("{app}.{end}");
    // In the order of bytes, in which capitals come first.
    let names = ["B", "_", "a", "ab", "b"].map(name);
    for name in names.iter().rev() {
        set(&client, name, "x").await;
    }
    for page_size in [1, 2, 500] {
        let listed: Vec<String> = list(&client, page_size)
            .await
            .into_iter()
            .map(|secret| secret.name)
            .filter(|name| name.starts_with(&app))
            .collect();
        assert_eq!(listed, names, "{page_size}");
    }
}

#[apply(trial)]
async fn a_secret_has_a_size_and_a_name_of_plain_characters() {
    let (client, app) = (plain().await, app());
    let attempt = async |name: &str, value: &str| {
        let request = SetSecretRequest {
            name: name.to_owned(),
            value: value.to_owned(),
        };
        client.secrets().set_secret(request).await
    };
    let most = "x".repeat(16 * 1024);
    attempt(&app, &most).await.unwrap();
    assert_eq!(get(&client, &app).await.unwrap(), most);
    for value in ["", &format!("{most}y")] {
        let failure = attempt(&app, value).await.refused();
        failure.names_field("value");
    }
    attempt(&"a".repeat(128), "x").await.unwrap();
    for name in ["", "a b", "a/b", "é", "a\0", &"a".repeat(129)] {
        attempt(name, "x").await.refused().names_field("name");
    }
}
