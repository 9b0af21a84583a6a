//! Comparing two indexes on a server that has one.

use memory_contract::proto::CompareIndexesRequest;
use recollect_tests::{Key, PLAIN, app, apply, recollect_at, trial};
use tonic::Code;

use crate::plain;

const MOST_QUERIES: usize = 100;
const QUERY_CHARS: usize = 8_192;

fn request(app: &str) -> CompareIndexesRequest {
    CompareIndexesRequest {
        app_id: app.to_owned(),
        ..Default::default()
    }
}

#[apply(trial)]
async fn a_server_with_one_index_refuses_to_compare_and_names_the_next_step() {
    let (client, app) = (plain().await, app());
    for request in [
        request(&app),
        CompareIndexesRequest {
            user_id: "ada".to_owned(),
            queries: vec!["Where is the spare key?".to_owned()],
            ..request(&app)
        },
    ] {
        let refused = client.refused(request).await;
        let refused = refused.is(Code::FailedPrecondition, "NO_SECOND_INDEX");
        for part in ["embedding_next", "restart", "deploy/README.md"] {
            assert!(refused.message.contains(part), "{refused:?}");
        }
        assert_eq!(refused.retry, None, "{refused:?}");
    }
}

#[apply(trial)]
async fn the_command_line_says_how_to_get_a_second_index() {
    let app = app();
    let compare = ["index", "compare", "--app", app.as_str()];
    let finished = recollect_at(&PLAIN.ready().addr, Key::Acme, &compare);
    assert_eq!(finished.code, Some(1), "{finished:?}");
    assert_eq!(finished.stdout, "");
    assert!(finished.stderr.contains("embedding_next"), "{finished:?}");
}

#[apply(trial)]
async fn fields_of_a_comparison_have_limits() {
    let (client, app) = (plain().await, app());
    let queries = |count: usize, chars: usize| CompareIndexesRequest {
        queries: vec!["ä".repeat(chars); count],
        ..request(&app)
    };
    let numbers = |sample_size: i32, top_k: i32| CompareIndexesRequest {
        sample_size: (sample_size != 0).then_some(sample_size),
        top_k: (top_k != 0).then_some(top_k),
        ..request(&app)
    };
    let user = |chars: usize| CompareIndexesRequest {
        user_id: "ä".repeat(chars),
        ..request(&app)
    };
    // Valid requests fail only because the server has one index.
    for valid in [
        queries(MOST_QUERIES, 1),
        queries(1, QUERY_CHARS),
        numbers(1, 1),
        numbers(100, 100),
        user(256),
        request(&"ä".repeat(128)),
    ] {
        let refused = client.refused(valid).await;
        refused.is(Code::FailedPrecondition, "NO_SECOND_INDEX");
    }
    for (wrong, field) in [
        (queries(MOST_QUERIES + 1, 1), "queries"),
        (queries(1, QUERY_CHARS + 1), "queries[0]"),
        (queries(1, 0), "queries[0]"),
        (numbers(101, 0), "sample_size"),
        (numbers(-1, 0), "sample_size"),
        (numbers(0, 101), "top_k"),
        (numbers(0, -1), "top_k"),
        (user(257), "user_id"),
        (request(""), "app_id"),
        (request(&"ä".repeat(129)), "app_id"),
    ] {
        client.refused(wrong).await.names_field(field);
    }
}
