//! Documents live for their ttl.

use memory_contract::convert::action_name;
use memory_contract::proto::{
    DeleteDocumentsRequest, Document, DocumentInput, GetDocumentsRequest, ListTransactionsRequest,
    SearchDocumentsRequest,
};
use recollect_tests::{
    Key, Options, SOON, Server, app, apply, eventually, seconds, trial, trial_with_own_server,
};
use serde_json::json;

use super::{database, document, get, keys, names, put, search, user};
use crate::access::transactions;
use crate::plain;

fn with_ttl(key: &str, ttl: i64) -> DocumentInput {
    DocumentInput {
        ttl: Some(seconds(ttl)),
        ..document("n", key, &json!({"is": key}))
    }
}

/// When a document expires, in nanoseconds since 1970.
fn expiry(document: &Document) -> i128 {
    let time = document.expire_time.unwrap();
    i128::from(time.seconds) * 1_000_000_000 + i128::from(time.nanos)
}

#[apply(trial)]
async fn b17_a_ttl_is_refreshed_only_by_reads_that_ask_for_it() {
    let client = plain().await;
    let app = app();
    let stored = vec![with_ttl("k", 3_600), document("n", "endless", &json!({}))];
    put(&client, &app, stored).await;
    let read = async |refresh_ttl| {
        let request = GetDocumentsRequest {
            user: user(&app, "ada"),
            documents: names(&[("n", "k"), ("n", "endless")]),
            refresh_ttl,
        };
        let documents = client.call(request).await.documents;
        assert_eq!(documents[0].ttl, Some(seconds(3_600)));
        assert_eq!((documents[1].ttl, documents[1].expire_time), (None, None));
        documents[0].clone()
    };
    let first = read(false).await;
    assert_eq!(expiry(&read(false).await), expiry(&first));
    let refreshed = read(true).await;
    assert!(expiry(&refreshed) > expiry(&first));
    assert_eq!(
        refreshed.update_time, first.update_time,
        "it was not stored again"
    );
    let found = SearchDocumentsRequest {
        refresh_ttl: true,
        ..search(&app, &["n"])
    };
    client.call(search(&app, &["n"])).await;
    assert_eq!(expiry(&read(false).await), expiry(&refreshed));
    client.call(found).await;
    assert!(expiry(&read(false).await) > expiry(&refreshed));
    // Stored without a ttl, it has no end.
    put(&client, &app, vec![document("n", "k", &json!({}))]).await;
    let endless = get(&client, &app, &[("n", "k")]).await;
    assert_eq!(endless[0].expire_time, None);
}

#[apply(trial)]
async fn b17_only_documents_in_the_answer_are_refreshed() {
    let client = plain().await;
    let app = app();
    let keys = ["0", "1", "2", "3", "4", "5"];
    for key in keys {
        let large = DocumentInput {
            json: json!({"text": "x".repeat(900_000)}).to_string(),
            ..with_ttl(key, 3_600)
        };
        put(&client, &app, vec![large]).await;
    }
    let wanted = keys.map(|key| ("n", key));
    let read = async |refresh_ttl, wanted: &[(&str, &str)]| {
        let request = GetDocumentsRequest {
            user: user(&app, "ada"),
            documents: names(wanted),
            refresh_ttl,
        };
        client.call(request).await
    };
    let expiries = async || {
        let mut all = Vec::new();
        for name in wanted {
            all.push(expiry(&read(false, &[name]).await.documents[0]));
        }
        all
    };
    let refreshed = |before: &[i128], after: &[i128]| -> Vec<bool> {
        before
            .iter()
            .zip(after)
            .map(|(before, after)| after > before)
            .collect()
    };
    let stored = expiries().await;
    let answer = read(true, &wanted).await;
    assert_eq!((answer.documents.len(), answer.read_count), (4, 4));
    let once = expiries().await;
    let expected = [true, true, true, true, false, false];
    assert_eq!(refreshed(&stored, &once), expected);
    assert_eq!(
        expiry(&answer.documents[3]),
        once[3],
        "as it is from now on"
    );

    // The one stored last comes first.
    let request = SearchDocumentsRequest {
        refresh_ttl: true,
        ..search(&app, &["n"])
    };
    let answer = client.call(request).await;
    assert_eq!(answer.documents.len(), 4);
    assert_ne!(answer.next_page_token, "", "there are more");
    let twice = expiries().await;
    let expected = [false, false, true, true, true, true];
    assert_eq!(refreshed(&once, &twice), expected);
}

#[apply(trial_with_own_server)]
async fn b17_an_expired_document_is_unreadable_and_then_erased() {
    let options = [
        "embedding.kind = \"none\"",
        "worker.expiry_interval = \"1s\"",
    ];
    let (_dir, server, client) = Server::start_own(&Options::with(&options)).await;
    let url = server.ready().line["postgres"].as_str().unwrap();
    let database = database(url).await;
    let stored = vec![with_ttl("short", 1), with_ttl("long", 3_600)];
    put(&client, "app", stored).await;
    eventually("it is unreadable", SOON, async || {
        get(&client, "app", &[("n", "short")]).await.is_empty()
    })
    .await;
    assert_eq!(
        keys(&client.call(search("app", &[])).await.documents),
        ["long"]
    );
    eventually("it is erased", SOON, async || {
        let sql = "SELECT array_agg(key) FROM recollect.documents";
        let left: Vec<String> = database.query_one(sql, &[]).await.unwrap().get(0);
        left == ["long"]
    })
    .await;
    // Its key is free again, as that of a new document.
    assert_eq!(put(&client, "app", vec![with_ttl("short", 3_600)]).await, 1);

    let delete = DeleteDocumentsRequest {
        user: user("app", "ada"),
        documents: names(&[("n", "long"), ("n", "none")]),
    };
    client.call(delete).await;
    let done = transactions(&client, ListTransactionsRequest::default()).await;
    let done: Vec<(String, String, String, i64)> = done
        .into_iter()
        .map(|one| {
            (
                one.actor.clone(),
                action_name(one.action()),
                one.subject,
                one.item_count,
            )
        })
        .collect();
    let acme = Key::Acme.name();
    let expected = [
        (acme, "delete_documents", "app", 1),
        (acme, "put_documents", "app", 1),
        ("worker", "expire_documents", "", 1),
        (acme, "put_documents", "app", 2),
    ];
    let expected = expected.map(|(actor, action, subject, count)| {
        (
            actor.to_owned(),
            action.to_owned(),
            subject.to_owned(),
            count,
        )
    });
    assert_eq!(done, expected);
}
