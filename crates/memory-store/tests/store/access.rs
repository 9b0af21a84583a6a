//! Keys, secrets and transactions: what the roles may do, and what is forgotten.

use std::time::Duration;

use memory_contract::Role;
use memory_store::{Authenticator, NewApiKey, Outbox, TransactionQuery, acting};
use secrecy::ExposeSecret as _;
use sha2::{Digest as _, Sha256};
use time::OffsetDateTime;

use crate::world::{World, config, tenant};

fn key(name: &str, expires: Option<OffsetDateTime>) -> NewApiKey {
    NewApiKey {
        name: name.to_owned(),
        admin: true,
        expires,
    }
}

#[tokio::test]
async fn one_function_alone_sees_keys_of_all_tenants() {
    let world = World::new().await;
    let (_, secret) = world
        .store
        .create_api_key(&world.tenant, &key("backend", None))
        .await
        .unwrap();
    let digest = Sha256::digest(secret.expose_secret()).to_vec();
    let ask = "SELECT tenant_id, name, admin FROM recollect.authenticate($1)";

    let service = world.role("recollect_service").await;
    let rows = service.query(ask, &[&digest]).await.unwrap();
    assert_eq!(rows.len(), 1);
    let found: (String, String, bool) = (rows[0].get(0), rows[0].get(1), rows[0].get(2));
    assert_eq!(found, ("a".to_owned(), "backend".to_owned(), true));
    let other = vec![0_u8; 32];
    assert!(service.query(ask, &[&other]).await.unwrap().is_empty());

    let denied = async |role: &str, sql: &str| {
        let error = world.role(role).await.query(sql, &[]).await.unwrap_err();
        assert_eq!(error.code().unwrap().code(), "42501", "{role}: {sql}");
    };
    denied("recollect_service", "SELECT digest FROM recollect.api_keys").await;
    denied(
        "recollect_service",
        "UPDATE recollect.api_keys SET admin = true",
    )
    .await;
    for role in ["recollect_worker", "recollect_search"] {
        denied(role, "SELECT name FROM recollect.api_keys").await;
        denied(role, "SELECT name FROM recollect.secrets").await;
        denied(role, "SELECT * FROM recollect.authenticate('\\x00')").await;
    }
    denied(
        "recollect_auth",
        "SELECT created_at FROM recollect.api_keys",
    )
    .await;
    denied("recollect_auth", "SELECT name FROM recollect.secrets").await;
    denied("recollect_auth", "DELETE FROM recollect.api_keys").await;
    // What was done stays done.
    denied("recollect_service", "DELETE FROM recollect.transactions").await;
    denied(
        "recollect_service",
        "UPDATE recollect.transactions SET actor = 'x'",
    )
    .await;
    denied(
        "recollect_worker",
        "SELECT actor FROM recollect.transactions",
    )
    .await;
}

#[tokio::test]
async fn an_expired_key_stands_for_nobody_and_a_fresh_answer_is_remembered() {
    let world = World::new().await;
    let soon = OffsetDateTime::now_utc() - time::Duration::seconds(1);
    let make = async |name: &str, expires| {
        let made = world
            .store
            .create_api_key(&world.tenant, &key(name, expires))
            .await;
        let digest: [u8; 32] = Sha256::digest(made.unwrap().1.expose_secret()).into();
        digest
    };
    let (expired, good) = (make("old", Some(soon)).await, make("new", None).await);
    let keys = Authenticator::new(world.store.clone());
    assert_eq!(keys.holder(expired).await.unwrap(), None);
    let holder = keys.holder(good).await.unwrap().unwrap();
    assert_eq!((holder.tenant, holder.admin), (tenant("a"), true));

    // Remembered: the row is gone, and whoever has not asked before knows it.
    world
        .store
        .revoke_api_key(&world.tenant, "new")
        .await
        .unwrap();
    assert!(keys.holder(good).await.unwrap().is_some());
    let others = Authenticator::new(world.store.clone());
    assert_eq!(others.holder(good).await.unwrap(), None);
}

#[tokio::test]
async fn old_transactions_are_forgotten_and_new_ones_are_not() {
    let world = World::new().await;
    let thread = acting("backend".to_owned(), world.thread()).await.id;
    world.say(thread, Role::User, "hello").await;
    let owner = world.owner().await;
    owner
        .execute(
            "UPDATE recollect.transactions SET created_at = created_at - interval '91 days'
             WHERE action = 'create_thread'",
            &[],
        )
        .await
        .unwrap();
    let list = async || {
        let query = TransactionQuery {
            limit: 10,
            ..TransactionQuery::default()
        };
        let page = world.store.list_transactions(&world.tenant, &query).await;
        page.unwrap()
            .items
            .into_iter()
            .map(|it| format!("{} {}", it.actor, it.action))
            .collect::<Vec<_>>()
    };
    assert_eq!(
        list().await,
        ["worker append_messages", "backend create_thread"]
    );
    assert_eq!(world.outbox.sweep_transactions(10).await.unwrap(), 1);
    assert_eq!(world.outbox.sweep_transactions(10).await.unwrap(), 0);
    assert_eq!(list().await, ["worker append_messages"]);
    let mut config = config(&world.url);
    config.transaction_retention = Duration::ZERO;
    let all = Outbox::connect(&config).await.unwrap();
    assert_eq!(all.sweep_transactions(10).await.unwrap(), 1);
}
