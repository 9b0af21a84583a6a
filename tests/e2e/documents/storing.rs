//! Documents are stored, read, replaced, listed and deleted.

use memory_contract::proto::{
    CopyCheckpointsRequest, DeleteDocumentsRequest, DocumentInput, GetDocumentsRequest,
    ListNamespacesRequest, ListNamespacesResponse, PutDocumentsRequest,
};
use recollect_tests::{
    Client, Key, Options, PLAIN, Refused as _, Server, app, apply, by_session, session, trial,
    trial_with_own_server,
};
use serde_json::{Value, json};
use tonic::Code;

use super::{database, document, get, keys, names, put, search, user};
use crate::plain;

async fn delete(client: &Client, app: &str, wanted: &[(&str, &str)]) -> i64 {
    let request = DeleteDocumentsRequest {
        user: user(app, "ada"),
        documents: names(wanted),
    };
    client.call(request).await.deleted_count
}

async fn namespaces(client: &Client, request: ListNamespacesRequest) -> Vec<String> {
    let listed = client.call(request).await.namespaces;
    listed.into_iter().map(|one| one.labels.join("/")).collect()
}

#[apply(trial)]
async fn b17_documents_are_read_as_they_were_stored() {
    let client = plain().await;
    let app = app();
    let value = json!({"text": "Grüße \u{1F680}", "list": [1, 2.5, null, {"deep": true}], "": {}});
    let numbers = r#"{"big": 123456789012345678901234567890, "exact": 0.1000, "small": 1e-300}"#;
    let exact = DocumentInput {
        json: numbers.to_owned(),
        ..document("notes", "numbers", &Value::Null)
    };
    let stored = vec![
        document("notes/2026", "a", &value),
        exact,
        document("notes", "a.b/c", &json!({})),
    ];
    assert_eq!(put(&client, &app, stored).await, 3);

    let wanted = [
        ("notes", "a.b/c"),
        ("notes", "missing"),
        ("notes/2026", "a"),
        ("notes", "numbers"),
    ];
    let read = get(&client, &app, &wanted).await;
    let found: Vec<_> = read
        .iter()
        .map(|one| (one.namespace.join("/"), one.key.as_str()))
        .collect();
    let expected = [
        ("notes", "a.b/c"),
        ("notes/2026", "a"),
        ("notes", "numbers"),
    ];
    assert_eq!(
        found,
        expected.map(|(namespace, key)| (namespace.to_owned(), key))
    );
    let parsed: Value = serde_json::from_str(&read[1].json).unwrap();
    assert_eq!(parsed, value);
    for digits in ["123456789012345678901234567890", "0.1000"] {
        assert!(read[2].json.contains(digits), "{}", read[2].json);
    }
    assert!(
        read.iter()
            .all(|one| one.ttl.is_none() && one.expire_time.is_none())
    );

    // A second time it is replaced, and its creation stays.
    let replaced = vec![document("notes/2026", "a", &json!({"n": 2}))];
    assert_eq!(put(&client, &app, replaced.clone()).await, 0);
    assert_eq!(
        put(&client, &app, replaced).await,
        0,
        "a repeat changes nothing"
    );
    let again = get(&client, &app, &[("notes/2026", "a")]).await;
    assert_eq!(again[0].json, r#"{"n": 2}"#);
    assert_eq!(again[0].create_time, read[1].create_time);
    let time = |time: &Option<prost_types::Timestamp>| time.map(|time| (time.seconds, time.nanos));
    assert!(time(&again[0].update_time) > time(&read[1].update_time));

    assert_eq!(
        delete(&client, &app, &[("notes", "a.b/c"), ("notes", "missing")]).await,
        1
    );
    assert_eq!(
        delete(&client, &app, &[("notes", "a.b/c")]).await,
        0,
        "it is idempotent"
    );
    assert!(get(&client, &app, &[("notes", "a.b/c")]).await.is_empty());
}

#[apply(trial)]
async fn b17_namespaces_are_listed_by_prefix_suffix_and_depth() {
    let client = plain().await;
    let app = app();
    let stored = ["a", "a/b", "a/b/c", "a/x/c", "ab/c", "z/b/c", "a.b/c"];
    let documents = stored
        .iter()
        .map(|namespace| document(namespace, "k", &json!({})));
    put(&client, &app, documents.collect()).await;
    put(&client, &app, vec![document("a/b", "second", &json!({}))]).await;
    let list = |prefix: &str, suffix: &str, max_depth| {
        let path = |labels: &str| -> Vec<String> {
            labels
                .split('/')
                .filter(|label| !label.is_empty())
                .map(str::to_owned)
                .collect()
        };
        ListNamespacesRequest {
            user: user(&app, "ada"),
            prefix: path(prefix),
            suffix: path(suffix),
            max_depth,
            ..Default::default()
        }
    };
    let cases = [
        (
            "",
            "",
            None,
            vec!["a", "a/b", "a/b/c", "a/x/c", "a.b/c", "ab/c", "z/b/c"],
        ),
        ("a", "", None, vec!["a", "a/b", "a/b/c", "a/x/c"]),
        ("a/*/c", "", None, vec!["a/b/c", "a/x/c"]),
        (
            "",
            "c",
            None,
            vec!["a/b/c", "a/x/c", "a.b/c", "ab/c", "z/b/c"],
        ),
        ("", "b/*", None, vec!["a/b/c", "z/b/c"]),
        ("a", "c", Some(2), vec!["a/b", "a/x"]),
        ("", "", Some(1), vec!["a", "a.b", "ab", "z"]),
        ("b", "", None, vec![]),
    ];
    for (prefix, suffix, depth, expected) in cases {
        let listed = namespaces(&client, list(prefix, suffix, depth)).await;
        assert_eq!(listed, expected, "{prefix} {suffix} {depth:?}");
    }

    let mut request = ListNamespacesRequest {
        page_size: 3,
        ..list("", "", None)
    };
    let mut paged = Vec::new();
    loop {
        let page = client.call(request.clone()).await;
        assert!(page.namespaces.len() <= 3);
        paged.extend(page.namespaces.into_iter().map(|one| one.labels.join("/")));
        request.page_token = page.next_page_token;
        if request.page_token.is_empty() {
            break;
        }
    }
    let all = namespaces(&client, list("", "", None)).await;
    assert_eq!(paged, all);
    // From the middle on.
    let skipped = ListNamespacesRequest {
        skip: 2,
        page_size: 2,
        ..list("", "", None)
    };
    let page = client.call(skipped.clone()).await;
    let labels = |page: &ListNamespacesResponse| -> Vec<String> {
        page.namespaces
            .iter()
            .map(|one| one.labels.join("/"))
            .collect()
    };
    assert_eq!(labels(&page), all[2..4]);
    let next = ListNamespacesRequest {
        skip: 0,
        page_token: page.next_page_token.clone(),
        ..skipped.clone()
    };
    assert_eq!(labels(&client.call(next).await), all[4..6]);
    let other = ListNamespacesRequest {
        page_token: page.next_page_token,
        ..list("a", "", None)
    };
    client.refused(other).await.names_field("page_token");

    delete(&client, &app, &[("ab/c", "k")]).await;
    let left = namespaces(&client, list("ab", "", None)).await;
    assert!(
        left.is_empty(),
        "without documents there is no namespace: {left:?}"
    );
}

#[apply(trial)]
async fn b17_documents_of_others_are_not_seen() {
    let (acme, globex) = (plain().await, PLAIN.client(Key::Globex).await);
    let app = app();
    let secret = vec![document("n", "k", &json!({"secret": "plugh"}))];
    put(&acme, &app, secret).await;
    // Another tenant, another user, no user, and another app with names that seem alike.
    let owners = [
        (&globex, app.clone(), "ada"),
        (&acme, app.clone(), "bob"),
        (&acme, app.clone(), ""),
        (&acme, format!("{app}a"), "da"),
    ];
    for (client, app, name) in owners {
        let owner = user(&app, name);
        let read = GetDocumentsRequest {
            user: owner.clone(),
            documents: names(&[("n", "k")]),
            refresh_ttl: true,
        };
        assert!(client.call(read).await.documents.is_empty(), "{app} {name}");
        let mut found = search(&app, &[]);
        found.user = owner.clone();
        assert!(
            client.call(found).await.documents.is_empty(),
            "{app} {name}"
        );
        let list = ListNamespacesRequest {
            user: owner.clone(),
            ..Default::default()
        };
        assert!(
            client.call(list).await.namespaces.is_empty(),
            "{app} {name}"
        );
        let delete = DeleteDocumentsRequest {
            user: owner,
            documents: names(&[("n", "k")]),
        };
        assert_eq!(client.call(delete).await.deleted_count, 0, "{app} {name}");
    }
    assert_eq!(get(&acme, &app, &[("n", "k")]).await.len(), 1);
    assert_eq!(keys(&acme.call(search(&app, &[])).await.documents), ["k"]);
}

#[apply(trial)]
async fn documents_over_a_limit_are_refused_and_none_is_stored() {
    let client = plain().await;
    let app = app();
    let good = document("n", "good", &json!({}));
    let with = |change: &dyn Fn(&mut DocumentInput)| {
        let mut wrong = document("n", "k", &json!({}));
        change(&mut wrong);
        wrong
    };
    let deep = "[".repeat(101) + &"]".repeat(101);
    let cases: Vec<(&str, DocumentInput)> = vec![
        ("namespace", with(&|one| one.namespace.clear())),
        (
            "namespace",
            with(&|one| one.namespace = vec!["l".to_owned(); 17]),
        ),
        (
            "namespace",
            with(&|one| one.namespace = vec!["l".repeat(250); 5]),
        ),
        (
            "namespace[0]",
            with(&|one| one.namespace = vec![String::new()]),
        ),
        (
            "namespace[1]",
            with(&|one| one.namespace.push("l".repeat(257))),
        ),
        ("key", with(&|one| one.key.clear())),
        ("key", with(&|one| one.key = "k".repeat(513))),
        ("json", with(&|one| one.json = "[1]".to_owned())),
        ("json", with(&|one| one.json = "{\"a\": NaN}".to_owned())),
        (
            "json",
            with(&|one| one.json = r#"{"a": "\u0000"}"#.to_owned()),
        ),
        (
            "json",
            with(&|one| one.json = r#"{"a\u0000": 1}"#.to_owned()),
        ),
        (
            "json",
            with(&|one| one.json = r#"{"a": "\ud800"}"#.to_owned()),
        ),
        (
            "json",
            with(&|one| one.json = r#"{"a": 1e-99999}"#.to_owned()),
        ),
        (
            "json",
            with(&|one| one.json = r#"{"a": 1e99999}"#.to_owned()),
        ),
        ("json", with(&|one| one.json = format!("{{\"a\": {deep}}}"))),
        // Postgres writes each of these numbers with 301 digits.
        (
            "json",
            with(&|one| one.json = format!("{{\"a\": [{}1]}}", "1e300,".repeat(4_000))),
        ),
        (
            "json",
            with(&|one| one.json = json!({"a": "x".repeat(1_048_577)}).to_string()),
        ),
        (
            "ttl",
            with(&|one| one.ttl = Some(recollect_tests::seconds(0))),
        ),
        (
            "index_fields",
            with(&|one| one.index_fields = vec!["a".to_owned(); 17]),
        ),
        (
            "index_fields[0]",
            with(&|one| one.index_fields = vec!["a[".to_owned()]),
        ),
    ];
    for (field, wrong) in cases {
        let request = PutDocumentsRequest {
            user: user(&app, "ada"),
            documents: vec![good.clone(), wrong],
        };
        let failure = client.refused(request).await;
        failure.names_field(&format!("documents[1].{field}"));
    }
    let twice = PutDocumentsRequest {
        user: user(&app, "ada"),
        documents: vec![good.clone(), document("n", "k", &json!({})), good.clone()],
    };
    client.refused(twice).await.names_field("documents[2]");
    let many = PutDocumentsRequest {
        user: user(&app, "ada"),
        documents: vec![good; 501],
    };
    client.refused(many).await.names_field("documents");
    assert!(client.call(search(&app, &[])).await.documents.is_empty());
    // What is at the limits is stored.
    let mut largest = document("n", &"k".repeat(512), &json!({"a": "x".repeat(1_000_000)}));
    largest.namespace = (0..4).map(|n| n.to_string().repeat(256)).collect();
    assert_eq!(put(&client, &app, vec![largest.clone()]).await, 1);
    let found = client.call(search(&app, &[])).await.documents;
    let found = found.into_iter().filter_map(|one| one.document);
    let found: Vec<_> = found.map(|one| (one.namespace, one.key)).collect();
    assert_eq!(found, [(largest.namespace, largest.key)]);
}

#[apply(trial)]
async fn a_response_ends_before_a_document_that_would_make_it_too_large() {
    let client = plain().await;
    let app = app();
    let text = "x".repeat(900_000);
    let keys = ["1", "2", "3", "4", "5", "6"];
    for key in keys {
        put(
            &client,
            &app,
            vec![document("n", key, &json!({"text": text}))],
        )
        .await;
    }
    let mut wanted = names(&keys.map(|key| ("n", key)));
    let mut read = Vec::new();
    while !wanted.is_empty() {
        let request = GetDocumentsRequest {
            user: user(&app, "ada"),
            documents: wanted.clone(),
            refresh_ttl: false,
        };
        let page = client.call(request).await;
        assert!(page.documents.len() <= 4);
        read.extend(page.documents.into_iter().map(|one| one.key));
        wanted.drain(..page.read_count as usize);
    }
    assert_eq!(read, keys);

    let mut request = search(&app, &["n"]);
    let mut found = Vec::new();
    loop {
        let page = client.call(request.clone()).await;
        found.extend(super::keys(&page.documents).into_iter().map(str::to_owned));
        request.page_token = page.next_page_token;
        if request.page_token.is_empty() {
            break;
        }
    }
    assert_eq!(found, ["6", "5", "4", "3", "2", "1"]);
}

#[apply(trial_with_own_server)]
async fn documents_and_checkpoints_count_toward_the_bytes_of_a_tenant() {
    let options = ["embedding.kind = \"none\"", "server.tenant_bytes = 20000"];
    let (_dir, server, client) = Server::start_own(&Options::with(&options)).await;
    let database = database(server.ready().line["postgres"].as_str().unwrap()).await;
    // Bytes that hardly compress.
    let mut state = 1_u64;
    let noise: Vec<u8> = std::iter::repeat_with(|| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    })
    .take(9_000)
    .collect();
    let text = |bytes: usize| json!({"text": "x".repeat(bytes)});
    assert_eq!(
        put(&client, "app", vec![document("n", "large", &text(9_000))]).await,
        1
    );
    let state =
        |id: &str, data: &[u8]| super::checkpoints::checkpoint("app", "s", id, &[("c", id, data)]);
    client.call(state("1", &noise)).await;
    let sql = "SELECT u.stored_bytes
               FROM (SELECT DISTINCT d.tenant_id FROM recollect.documents d) AS t
               CROSS JOIN LATERAL recollect.storage_usage(t.tenant_id) AS u";
    let stored: i64 = database.query_one(sql, &[]).await.unwrap().get(0);
    assert!((18_000..20_000).contains(&stored), "{stored}");
    let request = PutDocumentsRequest {
        user: user("app", "ada"),
        documents: vec![document("n", "more", &text(3_000))],
    };
    let full = client.documents().put_documents(request).await.refused();
    full.is(Code::ResourceExhausted, "QUOTA_EXCEEDED");
    let more = state("2", &noise[..3_000]);
    let full = client.checkpoints().put_checkpoint(more).await.refused();
    full.is(Code::ResourceExhausted, "QUOTA_EXCEEDED");
    let copy = CopyCheckpointsRequest {
        source: by_session(session("app", "ada", "s")),
        target: by_session(session("app", "ada", "copy")),
    };
    let full = client.refused(copy).await;
    full.is(Code::ResourceExhausted, "QUOTA_EXCEEDED");
    assert_eq!(
        put(&client, "app", vec![document("n", "k", &json!({}))]).await,
        1
    );
}
