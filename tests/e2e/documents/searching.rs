//! Documents are found by their fields and by the words of their texts.

use memory_contract::proto::{
    DocumentCondition, DocumentInput, DocumentOperator as Operator, SearchDocumentsRequest,
    SearchMethod,
};
use recollect_tests::{SOON, app, apply, eventually_some, trial};
use serde_json::{Map, Value, json};

use super::{document, keys, put, search};
use crate::{acme, plain};

fn condition(field: &[&str], operator: Operator, value: &Value) -> DocumentCondition {
    DocumentCondition {
        field: field.iter().map(|&name| name.to_owned()).collect(),
        operator: operator.into(),
        json: value.to_string(),
    }
}

#[apply(trial)]
async fn b17_documents_are_found_by_the_values_of_their_fields() {
    let client = plain().await;
    let app = app();
    let documents = [
        ("int", json!({"n": 10, "s": "b", "o": {"in": 1, "a.b": 2}})),
        ("float", json!({"n": 10.0, "s": "B"})),
        ("nine", json!({"n": 9, "s": "10"})),
        ("text", json!({"n": "10", "s": "ä"})),
        ("null", json!({"n": null, "s": null})),
        ("list", json!({"n": [1, 2], "s": true})),
        ("none", json!({})),
    ];
    let all = documents
        .iter()
        .map(|(key, value)| document("n", key, value));
    put(&client, &app, all.collect()).await;
    let cases: Vec<(&[&str], Operator, Value, &[&str])> = vec![
        (&["n"], Operator::Equal, json!(10), &["float", "int"]),
        (
            &["n"],
            Operator::Unspecified,
            json!(10.0),
            &["float", "int"],
        ),
        (&["n"], Operator::Equal, json!("10"), &["text"]),
        (&["n"], Operator::Equal, json!([1, 2]), &["list"]),
        (&["n"], Operator::Equal, json!([2, 1]), &[]),
        (&["n"], Operator::Equal, json!(null), &["none", "null"]),
        (
            &["n"],
            Operator::NotEqual,
            json!(10),
            &["list", "nine", "none", "null", "text"],
        ),
        (
            &["n"],
            Operator::NotEqual,
            json!(null),
            &["float", "int", "list", "nine", "text"],
        ),
        (&["n"], Operator::Greater, json!(9), &["float", "int"]),
        (
            &["n"],
            Operator::GreaterOrEqual,
            json!(9),
            &["float", "int", "nine"],
        ),
        (&["n"], Operator::Less, json!(9.5), &["nine"]),
        (&["n"], Operator::LessOrEqual, json!(9), &["nine"]),
        (&["n"], Operator::Greater, json!("1"), &["text"]),
        (&["s"], Operator::Less, json!("b"), &["float", "nine"]),
        (&["s"], Operator::Greater, json!("b"), &["text"]),
        (&["s"], Operator::Equal, json!(true), &["list"]),
        (&["s"], Operator::GreaterOrEqual, json!(true), &[]),
        (&["o", "in"], Operator::Equal, json!(1), &["int"]),
        (&["o", "a.b"], Operator::Equal, json!(2), &["int"]),
        (
            &["o"],
            Operator::Equal,
            json!({"a.b": 2, "in": 1}),
            &["int"],
        ),
        (&["s", "x"], Operator::Equal, json!("b"), &[]),
    ];
    for (field, operator, value, expected) in cases {
        let request = SearchDocumentsRequest {
            conditions: vec![condition(field, operator, &value)],
            ..search(&app, &["n"])
        };
        let found = client.call(request).await.documents;
        assert!(found.iter().all(|one| one.score.is_none()));
        let mut found = keys(&found);
        found.sort_unstable();
        assert_eq!(found, expected, "{field:?} {operator:?} {value}");
    }
    let both = SearchDocumentsRequest {
        conditions: vec![
            condition(&["n"], Operator::GreaterOrEqual, &json!(9)),
            condition(&["s"], Operator::NotEqual, &json!("B")),
            condition(&["n"], Operator::Less, &json!(10.5)),
        ],
        ..search(&app, &["n"])
    };
    let found = client.call(both).await.documents;
    let mut found = keys(&found);
    found.sort_unstable();
    assert_eq!(found, ["int", "nine"]);
}

#[apply(trial)]
async fn b17_a_search_covers_a_namespace_and_those_below_it_newest_first() {
    let client = plain().await;
    let app = app();
    let places = ["a", "a/b", "ab", "a/b/c", "b/a", "a_b", "a%"];
    for namespace in places {
        put(
            &client,
            &app,
            vec![document(namespace, namespace, &json!({}))],
        )
        .await;
    }
    let cases: [(&[&str], &[&str]); 6] = [
        (&[], &["a%", "a_b", "b/a", "a/b/c", "ab", "a/b", "a"]),
        (&["a"], &["a/b/c", "a/b", "a"]),
        (&["a", "b"], &["a/b/c", "a/b"]),
        (&["a_b"], &["a_b"]),
        (&["a", "b", "c", "d"], &[]),
        (&["*"], &[]),
    ];
    for (prefix, expected) in cases {
        let found = client.call(search(&app, prefix)).await;
        assert_eq!(keys(&found.documents), expected, "{prefix:?}");
        assert_eq!(
            (found.next_page_token.as_str(), found.method()),
            ("", SearchMethod::Unspecified)
        );
        assert!(found.degradations.is_empty());
    }
    // Stored again, it is the newest.
    put(&client, &app, vec![document("a", "a", &json!({"n": 2}))]).await;
    let mut request = SearchDocumentsRequest {
        page_size: 2,
        ..search(&app, &["a"])
    };
    let first = client.call(request.clone()).await;
    assert_eq!(keys(&first.documents), ["a", "a/b/c"]);
    request.page_token = first.next_page_token;
    let last = client.call(request.clone()).await;
    assert_eq!(keys(&last.documents), ["a/b"]);
    assert_eq!(last.next_page_token, "", "it is the last page");
    // A token belongs to its search.
    for other in [
        SearchDocumentsRequest {
            namespace_prefix: vec!["b".to_owned()],
            ..request.clone()
        },
        SearchDocumentsRequest {
            query: "a".to_owned(),
            ..request.clone()
        },
        SearchDocumentsRequest {
            page_token: "x".to_owned(),
            ..request
        },
    ] {
        client.refused(other).await.names_field("page_token");
    }
    // The documents before the page are left out.
    let skipped = SearchDocumentsRequest {
        skip: 2,
        ..search(&app, &["a"])
    };
    let found = client.call(skipped).await;
    assert_eq!(keys(&found.documents), ["a/b"]);
    assert_eq!(found.next_page_token, "");
}

#[apply(trial)]
async fn b17_a_query_ranks_documents_by_the_fields_that_are_indexed() {
    let client = plain().await;
    let app = app();
    let indexed = |key: &str, value: Value, fields: &[&str]| DocumentInput {
        index_fields: fields.iter().map(|&field| field.to_owned()).collect(),
        ..document("n", key, &value)
    };
    let other = "Rain is expected all week.";
    let documents = vec![
        indexed("hidden", json!({"text": "cherries"}), &[]),
        indexed(
            "one",
            json!({"text": "Red cherries taste good.", "n": 1}),
            &["text"],
        ),
        indexed(
            "part",
            json!({"text": other, "notes": ["x", "cherries"]}),
            &["text", "notes[*]"],
        ),
        indexed(
            "not",
            json!({"text": other, "secret": "cherries"}),
            &["text"],
        ),
        indexed(
            "whole",
            json!({"deep": {"er": "cherries and red cherries"}, "n": 2}),
            &["$"],
        ),
    ];
    put(&client, &app, documents).await;
    let query = SearchDocumentsRequest {
        query: "red cherries".to_owned(),
        ..search(&app, &["n"])
    };
    let found = client.call(query.clone()).await;
    let ranked = keys(&found.documents);
    let mut best = ranked[..2].to_vec();
    best.sort_unstable();
    assert_eq!(
        (best, &ranked[2..]),
        (vec!["one", "whole"], &["part", "not", "hidden"][..])
    );
    let scores: Vec<Option<f32>> = found.documents.iter().map(|one| one.score).collect();
    assert!(scores.is_sorted_by(|a, b| a >= b), "{scores:?}");
    assert!(
        scores[2].unwrap() > 0.0 && scores[0].unwrap() <= 1.0,
        "{scores:?}"
    );
    assert_eq!(scores[3..], [Some(0.0), None]);
    assert_eq!(found.method(), SearchMethod::Lexical, "without a model");
    assert!(found.degradations.is_empty());

    let filtered = SearchDocumentsRequest {
        conditions: vec![condition(&["n"], Operator::GreaterOrEqual, &json!(2))],
        ..query.clone()
    };
    let filtered = client.call(filtered).await;
    assert_eq!(keys(&filtered.documents), ["whole"]);
    let second = SearchDocumentsRequest {
        page_size: 2,
        skip: 1,
        ..query
    };
    let page = client.call(second.clone()).await;
    assert_eq!(keys(&page.documents), ranked[1..3]);
    let third = SearchDocumentsRequest {
        skip: 0,
        page_token: page.next_page_token,
        ..second
    };
    let page = client.call(third.clone()).await;
    assert_eq!(keys(&page.documents), ranked[3..5]);
    assert_eq!(page.next_page_token, "");
    let skipped = SearchDocumentsRequest { skip: 1, ..third };
    let page = client.call(skipped).await;
    assert_eq!(keys(&page.documents), ranked[4..5]);
}

#[apply(trial)]
async fn b17_a_query_finds_documents_by_meaning() {
    let client = acme().await;
    let app = app();
    let texts = [
        ("pet", "My dog chases cats around the garden."),
        ("money", "The bank raised its interest rates again."),
        ("trip", "We flew to Lisbon and stayed near the beach."),
        ("food", "She bakes bread with rye flour every Sunday."),
    ];
    let documents = texts.iter().map(|(key, text)| DocumentInput {
        index_fields: vec!["text".to_owned()],
        ..document("n", key, &json!({"text": text}))
    });
    put(&client, &app, documents.collect()).await;
    // None of their words is in the text that they should find.
    for (query, expected) in [
        ("animals", "pet"),
        ("finance and economy", "money"),
        ("holiday by the sea", "trip"),
        ("cooking", "food"),
    ] {
        let request = SearchDocumentsRequest {
            query: query.to_owned(),
            page_size: 2,
            ..search(&app, &["n"])
        };
        // A search waits a second for the vectors of new documents, and then says so.
        let found = eventually_some("all have vectors", SOON, async || {
            let found = client.call(request.clone()).await;
            found.degradations.is_empty().then_some(found)
        })
        .await;
        assert_eq!(keys(&found.documents)[0], expected, "{query}: {found:?}");
        assert_eq!(found.method(), SearchMethod::Hybrid);
        let scores: Vec<f32> = found.documents.iter().filter_map(|one| one.score).collect();
        assert!(scores.len() == 2 && scores[0] > scores[1], "{found:?}");
        assert_ne!(found.next_page_token, "", "there are more");
    }
}

#[apply(trial)]
async fn b17_equal_values_are_found_among_many() {
    let client = plain().await;
    let app = app();
    let many: Map<String, Value> = (0..100)
        .map(|n| (format!("field {n}"), json!(n)))
        .chain([("group".to_owned(), json!(1))])
        .collect();
    put(
        &client,
        &app,
        vec![
            document("n/x", "of many fields", &Value::Object(many)),
            document("n/y", "first", &json!({"group": 1.0, "n": -1})),
            document("n", "quoted", &json!({"\"a\\.\u{1}$": "\"\u{1}'$1"})),
            document("other", "elsewhere", &json!({"group": 1})),
        ],
    )
    .await;
    let rest = (0..60).map(|n| {
        let value = json!({"group": 1, "n": n, "list": [n]});
        document("n", &format!("{n:02}"), &value)
    });
    put(&client, &app, rest.collect()).await;
    let group = condition(&["group"], Operator::Equal, &json!(1));
    let find = async |others: Vec<DocumentCondition>, page_size, skip| {
        let request = SearchDocumentsRequest {
            conditions: [vec![group.clone()], others].concat(),
            page_size,
            skip,
            ..search(&app, &["n"])
        };
        let found = client.call(request).await;
        let keys = keys(&found.documents).into_iter();
        (
            keys.map(str::to_owned).collect::<Vec<_>>(),
            !found.next_page_token.is_empty(),
        )
    };
    assert!(find(vec![], 2, 0).await.1);
    let (last, more) = find(vec![], 3, 60).await;
    assert_eq!(
        (last.as_slice(), more),
        (&["of many fields", "first"].map(str::to_owned)[..], false)
    );
    // The other conditions hold for few of them, which are not the newest.
    let negative = condition(&["n"], Operator::Less, &json!(0));
    assert_eq!(
        find(vec![negative], 1, 0).await,
        (vec!["first".to_owned()], false)
    );
    let list = condition(&["list"], Operator::Equal, &json!([59]));
    assert_eq!(
        find(vec![list.clone()], 1, 0).await,
        (vec!["59".to_owned()], false)
    );
    let field = condition(&["field 99"], Operator::Equal, &json!(99));
    let many = vec!["of many fields".to_owned()];
    assert_eq!(find(vec![field], 10, 0).await, (many, false));
    let unlike = DocumentCondition {
        operator: Operator::NotEqual.into(),
        ..list
    };
    assert_eq!(find(vec![unlike], 100, 0).await.0.len(), 61);
    for operator in [Operator::Equal, Operator::GreaterOrEqual] {
        let quoted = condition(&["\"a\\.\u{1}$"], operator, &json!("\"\u{1}'$1"));
        let request = SearchDocumentsRequest {
            conditions: vec![quoted],
            ..search(&app, &[])
        };
        assert_eq!(keys(&client.call(request).await.documents), ["quoted"]);
    }
}

#[apply(trial)]
async fn b17_labels_with_control_characters_stay_apart() {
    let client = plain().await;
    let app = app();
    let places = [
        "a",
        "a\u{1}",
        "a\u{1}\u{1}",
        "a\u{2}",
        "a/\u{1}",
        "\u{1}a",
        "\u{10ffff}",
    ];
    for place in places {
        put(&client, &app, vec![document(place, place, &json!({}))]).await;
    }
    for (prefix, expected) in [
        (vec!["a"], vec!["a/\u{1}", "a"]),
        (vec!["a\u{1}"], vec!["a\u{1}"]),
        (vec!["\u{1}"], vec![]),
        (vec!["\u{10ffff}"], vec!["\u{10ffff}"]),
    ] {
        let found = client.call(search(&app, &prefix)).await;
        assert_eq!(keys(&found.documents), expected, "{prefix:?}");
    }
    let all = client.call(search(&app, &[])).await;
    assert_eq!(all.documents.len(), places.len());
}
