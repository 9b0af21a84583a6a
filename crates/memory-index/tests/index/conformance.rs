//! Tests of the trait [`Index`], run with each index: the embedded one, Qdrant's client
//! against the test server, and, with `make test-qdrant`, a real Qdrant.

use std::f32::consts::LN_2;
use std::future::Future;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use memory_contract::{
    AppId, MessageId, TenantId, UserId,
    json::JsonObject,
    memory::{MemoryFilter, MemoryOrigin, MemoryOwner, MemoryTimes, MemoryType},
    message::{MessageFilter, Role},
};
use memory_embed::EmbeddingModel;
use memory_index::{
    Backend, BackendChoice, Candidate, Change, Index, IndexConfig, IndexError, IndexSchema,
    IndexState, MemoryPoint, Point, Prepared, Search, Selection, Subject, VectorPrecision,
    open_index,
};
use memory_store::{MemoryOwners, MemoryRecord, Scope};
use memory_test_qdrant::{Fault, RemoteCollections, TestQdrant};
use memory_testing::files_with;
use serde_json::{Value, json};
use time::{Duration as Span, OffsetDateTime};
use uuid::Uuid;

use crate::differential::generated_searches_find_what_a_comparison_with_all_points_finds;
use crate::point::{form, point, thread, uuid, words};

fn object(value: Value) -> JsonObject {
    value.as_object().unwrap().clone().into()
}

/// An empty index, and what keeps it running.
struct Fresh {
    index: Arc<dyn Index>,
    _directory: Option<tempfile::TempDir>,
    _server: Option<TestQdrant>,
}

fn schema(alias: &str) -> IndexSchema {
    IndexSchema::new(
        alias,
        Some(&EmbeddingModel {
            name: "test-model".to_owned(),
            dimensions: 4,
        }),
    )
}

fn edge() -> Fresh {
    let directory = tempfile::tempdir().unwrap();
    let config = IndexConfig {
        path: Some(directory.path().to_owned()),
        ..IndexConfig::default()
    };
    let index = open_index(&config, schema("recollect")).unwrap();
    Fresh {
        index,
        _directory: Some(directory),
        _server: None,
    }
}

fn client(url: String, alias: &str) -> Arc<dyn Index> {
    let config = IndexConfig {
        backend: BackendChoice::Qdrant,
        url: Some(url),
        alias: alias.to_owned(),
        search_timeout: Duration::from_secs(3),
        write_timeout: Duration::from_secs(30),
        ..IndexConfig::default()
    };
    open_index(&config, schema(alias)).unwrap()
}

async fn served() -> Fresh {
    let server = TestQdrant::start().await.unwrap();
    Fresh {
        index: client(server.url(), "recollect"),
        _directory: None,
        _server: Some(server),
    }
}

/// Runs a case on the embedded index and on Qdrant's client with the test server.
async fn on_local_indexes<F: Future<Output = ()>>(case: impl Fn(Arc<dyn Index>) -> F) {
    let edge = edge();
    case(Arc::clone(&edge.index)).await;
    edge.index.stop().await;
    let served = served().await;
    case(Arc::clone(&served.index)).await;
}

/// Runs a case on the Qdrant that `QDRANT_URL` names, in a new collection.
async fn on_real_qdrant<F: Future<Output = ()>>(case: impl Fn(Arc<dyn Index>) -> F) {
    with_real_qdrant(async |url, alias| case(client(url, alias)).await).await;
}

/// Runs a case with the address of the Qdrant that `QDRANT_URL` names and a new alias, and
/// removes its collections if it passes.
async fn with_real_qdrant(case: impl AsyncFn(String, &str)) {
    let url = std::env::var("QDRANT_URL").expect("QDRANT_URL names the Qdrant to test");
    let alias = format!("recollect-test-{}", Uuid::new_v4().simple());
    case(url.clone(), &alias).await;
    let made = RemoteCollections::at(&url, alias).unwrap();
    made.delete().await.unwrap();
}

/// Makes two tests of each case: one runs everywhere, the other needs a real Qdrant.
macro_rules! on_each_index {
    ($($case:ident,)*) => {
        mod local {
            $(
                #[tokio::test(flavor = "multi_thread")]
                async fn $case() {
                    super::on_local_indexes(super::$case).await;
                }
            )*
        }

        mod real_qdrant {
            $(
                #[tokio::test(flavor = "multi_thread")]
                #[ignore = "needs a Qdrant: make test-qdrant QDRANT_URL=…"]
                async fn $case() {
                    super::on_real_qdrant(super::$case).await;
                }
            )*
        }
    };
}

on_each_index! {
    preparing_reports_the_existing_collection,
    a_search_finds_by_meaning_and_by_word_and_returns_the_fields_for_ranking,
    generated_searches_find_what_a_comparison_with_all_points_finds,
    a_query_without_known_words_finds_nothing_by_word,
    passages_are_found_for_their_message_and_removed_with_it,
    no_tenant_sees_another_even_with_the_same_message_id,
    each_scope_finds_its_own,
    filters_keep_what_they_say,
    messages_and_memories_never_find_each_other,
    memories_are_found_by_their_labels_and_by_their_user_alone,
    memories_are_found_by_what_was_true_and_by_what_was_known_at_a_time,
    changes_are_carried_out_in_order_and_once,
    names_are_the_speakers_of_the_selection,
    words_are_counted_for_each_tenant_alone,
    vectors_of_another_model_are_refused,
    a_user_is_erased_and_all_others_stay,
    searches_and_changes_run_concurrently,
    a_discarded_index_is_new_again,
}

pub(super) fn learn(points: impl IntoIterator<Item = Point>) -> Vec<Change> {
    points
        .into_iter()
        .map(|point| Change::Upsert(Box::new(point)))
        .collect()
}

fn all(tenant: &str) -> Selection {
    Selection::tenant(&TenantId::new(tenant))
}

fn filtered(filter: MessageFilter) -> Selection {
    Selection::new(
        &TenantId::new("acme"),
        &Scope::App(AppId::new("support")),
        &filter,
    )
}

fn by_meaning(selection: Selection) -> Search {
    Search {
        selection,
        dense: Some(vec![1.0, 0.0, 0.0, 0.0]),
        lexical: None,
        limit: 50,
    }
}

pub(super) fn numbers(list: &[Candidate]) -> Vec<u128> {
    list.iter().map(|one| one.id.as_u128()).collect()
}

async fn found(index: &dyn Index, selection: Selection) -> Vec<u128> {
    let mut found = numbers(&index.search(by_meaning(selection)).await.unwrap().dense);
    found.sort_unstable();
    found
}

async fn preparing_reports_the_existing_collection(index: Arc<dyn Index>) {
    assert_eq!(index.prepare().await.unwrap(), Prepared::New);
    // A worker that dies between preparing and queuing leaves a new index.
    assert_eq!(index.prepare().await.unwrap(), Prepared::New);
    index.mark_rebuilding(true).await.unwrap();
    assert_eq!(index.prepare().await.unwrap(), Prepared::Rebuilding);
    assert_eq!(index.last_state(), IndexState::Rebuilding);
    index.mark_rebuilding(false).await.unwrap();
    assert_eq!(index.prepare().await.unwrap(), Prepared::Whole);
    assert_eq!(index.last_state(), IndexState::Ready);
    let status = index.status(&TenantId::new("acme")).await;
    assert_eq!((status.state, status.points), (IndexState::Ready, 0));
    assert!(
        status.collection.ends_with(".test-model-r10"),
        "{}",
        status.collection
    );
}

async fn a_search_finds_by_meaning_and_by_word_and_returns_the_fields_for_ranking(
    index: Arc<dyn Index>,
) {
    index.prepare().await.unwrap();
    let points = [
        point(1, [1.0, 0.0, 0.0, 0.0]),
        point(2, [0.6, 0.8, 0.0, 0.0]),
        point(3, [0.0, 1.0, 0.0, 0.0]),
    ];
    index.apply(learn(points)).await.unwrap();
    let search = Search {
        lexical: Some(words(&[3])),
        ..by_meaning(all("acme"))
    };
    let found = index.search(search.clone()).await.unwrap();
    assert_eq!(numbers(&found.dense), [1, 2, 3]);
    assert!(
        (found.dense[1].score - 0.6).abs() < 1e-4,
        "cosine: {}",
        found.dense[1].score
    );
    assert_eq!(numbers(&found.lexical), [3]);
    assert_eq!(found.lexical[0].score, 1.0, "the product of both weights");
    let three = &found.lexical[0];
    assert_eq!(
        (three.thread, three.seq, three.branch, three.depth),
        (thread(1), 3, 1, 3)
    );
    assert_eq!(
        (&*three.name, three.question, three.short),
        ("Ada", false, true)
    );
    let day = 24 * 3_600 * 1_000_000;
    assert_eq!((three.said, &three.form), (3 * day, &Some(form())));
    let limited = index.search(Search { limit: 1, ..search }).await.unwrap();
    assert_eq!(numbers(&limited.dense), [1]);
}

async fn passages_are_found_for_their_message_and_removed_with_it(index: Arc<dyn Index>) {
    index.prepare().await.unwrap();
    let long = Point {
        passages: vec![vec![0.6, 0.8, 0.0, 0.0], vec![0.8, 0.6, 0.0, 0.0]],
        ..point(1, [0.0, 1.0, 0.0, 0.0])
    };
    let other = point(2, [0.7, 0.0, 0.0, 0.714_142_8]);
    index.apply(learn([long, other])).await.unwrap();
    let found = async |selection| {
        let found = index.search(by_meaning(selection)).await.unwrap().dense;
        let passage = |one: &Candidate| one.passage.map(|passage| (passage.number, passage.of));
        let found = found.iter().map(|one| (one.id.as_u128(), passage(one)));
        found.collect::<Vec<_>>()
    };
    let all_found = [(1, Some((3, 3))), (2, None), (1, Some((2, 3))), (1, None)];
    assert_eq!(found(all("acme")).await, all_found);
    // A passage has the fields of its message, but no words.
    let of_ada = MessageFilter {
        names: vec!["Ada".to_owned()],
        ..MessageFilter::default()
    };
    assert_eq!(found(filtered(of_ada)).await, all_found);
    let by_word = Search {
        lexical: Some(words(&[1])),
        dense: None,
        ..by_meaning(all("acme"))
    };
    assert_eq!(numbers(&index.search(by_word).await.unwrap().lexical), [1]);
    let tenant = TenantId::new("acme");
    let counts = index.word_counts(&tenant, 2_048).await.unwrap();
    assert_eq!(counts.points(), 2);
    let deleted = Change::Delete {
        tenant: tenant.clone(),
        subject: Subject::Message(uuid(1).into()),
    };
    index.apply(vec![deleted]).await.unwrap();
    assert_eq!(found(all("acme")).await, [(2, None)]);
    assert_eq!(index.status(&tenant).await.points, 1);
}

async fn a_query_without_known_words_finds_nothing_by_word(index: Arc<dyn Index>) {
    index.prepare().await.unwrap();
    index
        .apply(learn([point(1, [1.0, 0.0, 0.0, 0.0])]))
        .await
        .unwrap();
    for lexical in [words(&[77]), words(&[])] {
        let search = Search {
            selection: all("acme"),
            dense: None,
            lexical: Some(lexical),
            limit: 10,
        };
        let found = index.search(search).await.unwrap();
        assert!(found.dense.is_empty() && found.lexical.is_empty());
    }
}

async fn no_tenant_sees_another_even_with_the_same_message_id(index: Arc<dyn Index>) {
    index.prepare().await.unwrap();
    let own = point(1, [1.0, 0.0, 0.0, 0.0]);
    let other = Point {
        tenant: TenantId::new("rival"),
        name: "Eve".to_owned(),
        ..own.clone()
    };
    index.apply(learn([own, other])).await.unwrap();
    for (tenant, name) in [("acme", "Ada"), ("rival", "Eve")] {
        let found = index.search(by_meaning(all(tenant))).await.unwrap().dense;
        assert_eq!(found.len(), 1);
        assert_eq!(&*found[0].name, name);
        assert_eq!(index.names(&all(tenant), 10).await.unwrap(), [name]);
        assert_eq!(index.status(&TenantId::new(tenant)).await.points, 1);
    }
    let message = MessageId::from(uuid(1));
    let tenant = TenantId::new("rival");
    index
        .apply(vec![Change::Delete {
            tenant,
            subject: Subject::Message(message),
        }])
        .await
        .unwrap();
    assert_eq!(found(&*index, all("rival")).await, Vec::<u128>::new());
    assert_eq!(found(&*index, all("acme")).await, [1]);
    assert_eq!(found(&*index, all("")).await, Vec::<u128>::new());
}

async fn each_scope_finds_its_own(index: Arc<dyn Index>) {
    index.prepare().await.unwrap();
    let base = point(1, [1.0, 0.0, 0.0, 0.0]);
    let with = |number, app: &str, user: &str, thread_number| Point {
        message: uuid(number).into(),
        app: AppId::new(app),
        user: UserId::new(user),
        thread: thread(thread_number),
        ..base.clone()
    };
    let points = [
        with(1, "support", "ada", 1),
        with(2, "support", "ada", 2),
        with(3, "support", "bo", 3),
        with(4, "sales", "ada", 4),
        with(5, "support", "", 5),
    ];
    index.apply(learn(points)).await.unwrap();
    let user = |app: &str, user: &str| Scope::User {
        app: AppId::new(app),
        user: UserId::new(user),
    };
    for (scope, expected) in [
        (Scope::Thread(thread(2)), vec![2]),
        (user("support", "ada"), vec![1, 2]),
        (user("sales", "ada"), vec![4]),
        (user("support", ""), vec![5]),
        (Scope::App(AppId::new("support")), vec![1, 2, 3, 5]),
        (user("other", "ada"), vec![]),
    ] {
        let selection = Selection::new(&TenantId::new("acme"), &scope, &MessageFilter::default());
        assert_eq!(found(&*index, selection).await, expected, "{scope:?}");
    }
}

async fn filters_keep_what_they_say(index: Arc<dyn Index>) {
    index.prepare().await.unwrap();
    let base = point(1, [1.0, 0.0, 0.0, 0.0]);
    let long = "x".repeat(2_000);
    let points = [
        Point {
            said_by: UserId::new("bob"),
            metadata: object(json!({"tier": "gold", "age": 3, "vip": true})),
            ..base.clone()
        },
        Point {
            role: Role::Assistant,
            name: "Bot".to_owned(),
            metadata: object(json!({"tier": "3", "age": 3.0, "tenant": "rival", "note": long})),
            ..point(2, [1.0, 0.0, 0.0, 0.0])
        },
        Point {
            role: Role::Tool,
            name: String::new(),
            metadata: object(json!({"tier": ["gold"], "age": 3.5, "vip": "true"})),
            ..point(3, [1.0, 0.0, 0.0, 0.0])
        },
    ];
    index.apply(learn(points)).await.unwrap();
    let day = |day| Some(OffsetDateTime::UNIX_EPOCH + Span::days(day));
    let none = MessageFilter::default;
    let meta = |value| MessageFilter {
        metadata: object(value),
        ..none()
    };
    for (filter, expected) in [
        (none(), vec![1, 2, 3]),
        (
            MessageFilter {
                roles: vec![Role::User, Role::Tool],
                ..none()
            },
            vec![1, 3],
        ),
        (
            MessageFilter {
                names: vec!["Bot".to_owned()],
                ..none()
            },
            vec![2],
        ),
        (
            MessageFilter {
                names: vec!["bot".to_owned(), "Ada".to_owned()],
                ..none()
            },
            vec![1],
        ),
        (
            MessageFilter {
                users: vec![UserId::new("bob"), UserId::new("ada")],
                ..none()
            },
            vec![1],
        ),
        (
            MessageFilter {
                start: day(2),
                ..none()
            },
            vec![2, 3],
        ),
        (
            MessageFilter {
                end: day(2),
                ..none()
            },
            vec![1],
        ),
        (
            MessageFilter {
                start: day(2),
                end: day(3),
                ..none()
            },
            vec![2],
        ),
        (meta(json!({"tier": "gold"})), vec![1]),
        (meta(json!({"tier": "3"})), vec![2]),
        (meta(json!({"tier": 3})), vec![]),
        (meta(json!({"age": 3})), vec![1, 2]),
        (meta(json!({"age": 3, "vip": true})), vec![1]),
        (meta(json!({"vip": "true"})), vec![3]),
        (meta(json!({"note": long})), vec![2]),
        // No key of metadata can shadow a payload field.
        (meta(json!({"tenant": "rival"})), vec![2]),
        (meta(json!({"tenant": "acme"})), vec![]),
    ] {
        assert_eq!(
            found(&*index, filtered(filter.clone())).await,
            expected,
            "{filter:?}"
        );
    }
}

fn owner(user: &str) -> MemoryOwner {
    MemoryOwner {
        app: AppId::new("support"),
        user: UserId::new(user),
    }
}

/// The point of a memory with an id and words made of a number.
fn memory(number: u32, user: &str) -> MemoryPoint {
    MemoryPoint {
        tenant: TenantId::new("acme"),
        memory: MemoryRecord {
            id: uuid(u128::from(number)).into(),
            owner: owner(user),
            text: format!("memory {number}"),
            kind: MemoryType::Semantic,
            topics: vec![format!("topic {number}")],
            entities: vec![format!("name {}", number % 2)],
            origin: MemoryOrigin::Caller,
            thread: Some(thread(1)),
            valid_from: OffsetDateTime::UNIX_EPOCH + Span::days(i64::from(number)),
            valid_until: None,
            ended: None,
            event: None,
            created: OffsetDateTime::UNIX_EPOCH + Span::days(i64::from(number)),
            version: 1,
            metadata: object(json!({"team": format!("t{}", number % 2), "rank": number})),
            own_kind: format!("kind_{}", number % 2),
        },
        dense: Some(vec![1.0, 0.0, 0.0, 0.0]),
        lexical: words(&[number, 1_000]),
    }
}

fn remember(points: impl IntoIterator<Item = MemoryPoint>) -> Vec<Change> {
    points
        .into_iter()
        .map(|point| Change::UpsertMemory(Box::new(point)))
        .collect()
}

fn memories(user: &str, filter: &MemoryFilter) -> Selection {
    let owners = MemoryOwners::User(owner(user));
    Selection::memories(&TenantId::new("acme"), &owners, filter)
}

async fn messages_and_memories_never_find_each_other(index: Arc<dyn Index>) {
    index.prepare().await.unwrap();
    // The same ids, words and vectors on both sides.
    index
        .apply(learn((1..=3).map(|n| point(n, [1.0, 0.0, 0.0, 0.0]))))
        .await
        .unwrap();
    index
        .apply(remember((1..=4).map(|n| memory(n, "ada"))))
        .await
        .unwrap();
    let all_of = MemoryFilter::default();
    let both = |selection: Selection| {
        let mut search = by_meaning(selection);
        search.lexical = Some(words(&[1_000]));
        search
    };
    let scopes = [
        Scope::App(AppId::new("support")),
        Scope::Thread(thread(1)),
        Scope::User {
            app: AppId::new("support"),
            user: UserId::new("ada"),
        },
    ];
    let listed = |mut list: Vec<u128>| {
        list.sort_unstable();
        list
    };
    for scope in scopes {
        let selection = Selection::new(&TenantId::new("acme"), &scope, &MessageFilter::default());
        let found = index.search(both(selection)).await.unwrap();
        for list in [&found.dense, &found.lexical] {
            assert_eq!(listed(numbers(list)), [1, 2, 3], "{scope:?}");
            assert!(list.iter().all(|one| one.depth > 0));
        }
    }
    let found = index.search(both(memories("ada", &all_of))).await.unwrap();
    for list in [&found.dense, &found.lexical] {
        assert_eq!(listed(numbers(list)), [1, 2, 3, 4]);
        assert!(list.iter().all(|one| one.depth == 0));
    }
    let tenant = TenantId::new("acme");
    assert_eq!(index.status(&tenant).await.points, 7);
    // A purge deletes messages alone; a deletion, one memory alone.
    let gone = vec![
        Change::Purge {
            tenant: tenant.clone(),
            thread: thread(1),
            up_to_seq: 2,
        },
        Change::Delete {
            tenant: tenant.clone(),
            subject: Subject::Memory(uuid(3).into()),
        },
    ];
    index.apply(gone).await.unwrap();
    let found = index.search(both(memories("ada", &all_of))).await.unwrap();
    assert_eq!(listed(numbers(&found.dense)), [1, 2, 4]);
    let scope = Scope::Thread(thread(1));
    let selection = Selection::new(&tenant, &scope, &MessageFilter::default());
    let found = index.search(both(selection)).await.unwrap();
    assert_eq!(numbers(&found.dense), [3]);
}

async fn memories_are_found_by_their_labels_and_by_their_user_alone(index: Arc<dyn Index>) {
    index.prepare().await.unwrap();
    let mut points: Vec<MemoryPoint> = (1..=4).map(|n| memory(n, "ada")).collect();
    let day = |n: i64| Some(OffsetDateTime::UNIX_EPOCH + Span::days(n));
    points[1].memory.valid_until = day(3);
    points[1].memory.ended = day(3);
    points[2].memory.event = day(20);
    points[3].memory.event = day(21);
    points[2].memory.kind = MemoryType::Episodic;
    points[3].memory.origin = MemoryOrigin::Extracted;
    points[3].memory.thread = None;
    points.push(memory(5, "bob"));
    points.push(memory(6, ""));
    index.apply(remember(points)).await.unwrap();
    let found = async |user: &str, filter: MemoryFilter| {
        let search = by_meaning(memories(user, &filter));
        let mut found = numbers(&index.search(search).await.unwrap().dense);
        found.sort_unstable();
        found
    };
    let filter = MemoryFilter::default;
    assert_eq!(found("ada", filter()).await, [1, 3, 4]);
    assert_eq!(found("bob", filter()).await, [5]);
    assert_eq!(found("", filter()).await, [6]);
    assert_eq!(found("eve", filter()).await, Vec::<u128>::new());
    let all = || MemoryFilter {
        superseded: true,
        ..filter()
    };
    assert_eq!(found("ada", all()).await, [1, 2, 3, 4]);
    let episodic = MemoryFilter {
        kind: Some(MemoryType::Episodic),
        ..filter()
    };
    assert_eq!(found("ada", episodic).await, [3]);
    let topics = MemoryFilter {
        topics: vec![
            "topic 1".to_owned(),
            "topic 3".to_owned(),
            "topic".to_owned(),
        ],
        ..filter()
    };
    assert_eq!(found("ada", topics).await, [1, 3]);
    let entities = MemoryFilter {
        entities: vec!["name 0".to_owned()],
        ..all()
    };
    assert_eq!(found("ada", entities).await, [2, 4]);
    let kinds = MemoryFilter {
        own_kinds: vec!["kind_0".to_owned(), "kind".to_owned()],
        ..all()
    };
    assert_eq!(found("ada", kinds).await, [2, 4]);
    let origins = MemoryFilter {
        origins: vec![MemoryOrigin::Extracted, MemoryOrigin::WorkingMemory],
        ..filter()
    };
    assert_eq!(found("ada", origins).await, [4]);
    let of_thread = MemoryFilter {
        thread: Some(thread(1)),
        ..filter()
    };
    assert_eq!(found("ada", of_thread).await, [1, 3]);
    let between = MemoryFilter {
        after: day(3),
        before: day(4),
        ..filter()
    };
    assert_eq!(found("ada", between).await, [3]);
    let happened = |from: i64, until: i64| MemoryFilter {
        event_from: day(from),
        event_until: day(until),
        ..filter()
    };
    assert_eq!(found("ada", happened(20, 21)).await, [3]);
    assert_eq!(found("ada", happened(0, 99)).await, [3, 4]);
    let held = |at: i64| MemoryFilter {
        times: MemoryTimes {
            valid_at: day(at),
            known_at: None,
        },
        ..filter()
    };
    assert_eq!(found("ada", held(0)).await, Vec::<u128>::new());
    assert_eq!(found("ada", held(2)).await, [1, 2]);
    assert_eq!(found("ada", held(3)).await, [1, 3]);
    let of_app = Selection::memories(
        &TenantId::new("acme"),
        &MemoryOwners::App(AppId::new("support")),
        &filter(),
    );
    let search = by_meaning(of_app);
    let mut of_app = numbers(&index.search(search).await.unwrap().dense);
    of_app.sort_unstable();
    assert_eq!(of_app, [1, 3, 4, 5, 6]);
    let metadata = |value: Value| MemoryFilter {
        metadata: object(value),
        ..all()
    };
    assert_eq!(found("ada", metadata(json!({"team": "t0"}))).await, [2, 4]);
    let both = metadata(json!({"team": "t1", "rank": 3}));
    assert_eq!(found("ada", both).await, [3]);
    for other in [
        json!({"rank": "3"}),
        json!({"team": "t2"}),
        // Keys of metadata are not labels, nor the reverse.
        json!({"topic": "topic 1"}),
        json!({"holds": "true"}),
    ] {
        assert_eq!(found("ada", metadata(other)).await, Vec::<u128>::new());
    }
}

async fn memories_are_found_by_what_was_true_and_by_what_was_known_at_a_time(
    index: Arc<dyn Index>,
) {
    index.prepare().await.unwrap();
    let day = |n: i64| OffsetDateTime::UNIX_EPOCH + Span::days(n);
    let mut points: Vec<MemoryPoint> = (1..=4).map(|n| memory(n, "ada")).collect();
    // On day 6 it becomes known that the third replaced the second on day 3.
    points[1].memory.valid_until = Some(day(3));
    points[1].memory.ended = Some(day(6));
    points[2].memory.created = day(6);
    // On day 5 it becomes known that the fourth was never true.
    points[3].memory.valid_until = Some(day(4));
    points[3].memory.ended = Some(day(5));
    points.push(memory(5, "bob"));
    index.apply(remember(points)).await.unwrap();
    for (valid_at, known_at, expected) in [
        (Some(2), None, vec![1, 2]),
        (Some(3), None, vec![1, 3]),
        (Some(4), None, vec![1, 3]),
        (None, Some(0), vec![]),
        (None, Some(2), vec![1, 2]),
        (None, Some(4), vec![1, 2, 4]),
        (None, Some(5), vec![1, 2]),
        (None, Some(6), vec![1, 3]),
        (Some(0), Some(9), vec![]),
        (Some(2), Some(6), vec![1, 2]),
        (Some(3), Some(5), vec![1, 2]),
        (Some(3), Some(6), vec![1, 3]),
        (Some(4), Some(4), vec![1, 2, 4]),
        (Some(4), Some(5), vec![1, 2]),
    ] {
        let filter = MemoryFilter {
            times: MemoryTimes {
                valid_at: valid_at.map(day),
                known_at: known_at.map(day),
            },
            ..MemoryFilter::default()
        };
        let found = found(&*index, memories("ada", &filter)).await;
        assert_eq!(found, expected, "{valid_at:?} {known_at:?}");
    }
}

async fn changes_are_carried_out_in_order_and_once(index: Arc<dyn Index>) {
    index.prepare().await.unwrap();
    let points: Vec<Point> = (1..=6)
        .map(|number| point(number, [1.0, 0.0, 0.0, 0.0]))
        .collect();
    let tenant = TenantId::new("acme");
    let delete = |number| Change::Delete {
        tenant: tenant.clone(),
        subject: Subject::Message(uuid(number).into()),
    };
    let mut changes = learn(points.clone());
    changes.push(delete(2));
    changes.push(Change::Purge {
        tenant: tenant.clone(),
        thread: thread(1),
        up_to_seq: 3,
    });
    // A purge up to a seq keeps later messages.
    changes.extend(learn([Point {
        thread: thread(1),
        seq: 9,
        ..points[0].clone()
    }]));
    changes.push(Change::Purge {
        tenant: tenant.clone(),
        thread: thread(2),
        up_to_seq: 99,
    });
    for _ in 0..2 {
        index.apply(changes.clone()).await.unwrap();
        assert_eq!(found(&*index, all("acme")).await, [1, 4, 5, 6]);
    }
    let moved = index.search(by_meaning(all("acme"))).await.unwrap().dense;
    let one = moved.iter().find(|one| one.id == uuid(1)).unwrap();
    assert_eq!(one.seq, 9);
    // An empty list of changes and a deletion of a missing point succeed.
    index.apply(Vec::new()).await.unwrap();
    index.apply(vec![delete(77)]).await.unwrap();
    assert_eq!(index.status(&tenant).await.points, 4);
}

async fn names_are_the_speakers_of_the_selection(index: Arc<dyn Index>) {
    index.prepare().await.unwrap();
    let base = point(1, [1.0, 0.0, 0.0, 0.0]);
    let said = |number, name: &str, user: &str| Point {
        message: uuid(number).into(),
        name: name.to_owned(),
        user: UserId::new(user),
        ..base.clone()
    };
    let points = [
        said(1, "Ada", "ada"),
        said(2, "Bo", "ada"),
        said(3, "", "ada"),
        said(4, "Eve", "eve"),
    ];
    index.apply(learn(points)).await.unwrap();
    let scope = Scope::User {
        app: AppId::new("support"),
        user: UserId::new("ada"),
    };
    let selection = Selection::new(&TenantId::new("acme"), &scope, &MessageFilter::default());
    let mut names = index.names(&selection, 64).await.unwrap();
    names.sort_unstable();
    assert_eq!(names, ["Ada", "Bo"]);
    assert_eq!(index.names(&selection, 1).await.unwrap().len(), 1);
}

async fn words_are_counted_for_each_tenant_alone(index: Arc<dyn Index>) {
    index.prepare().await.unwrap();
    let acme = (1..=3).map(|number| point(number, [1.0, 0.0, 0.0, 0.0]));
    // More than are read at once.
    let rival = (1..=700).map(|number| Point {
        tenant: TenantId::new("rival"),
        lexical: words(&[1, 1_000]),
        ..point(number, [1.0, 0.0, 0.0, 0.0])
    });
    index.apply(learn(acme)).await.unwrap();
    index.apply(learn(rival)).await.unwrap();
    let weights = async |tenant: &str| {
        let counts = index
            .word_counts(&TenantId::new(tenant), 2_048)
            .await
            .unwrap();
        counts.weigh(words(&[1, 77, 1_000])).values
    };
    // ln(1 + (points - having + 0.5) / (having + 0.5)).
    for (tenant, expected) in [
        ("acme", [0.980_829, 2.079_442, 0.133_531]),
        ("rival", [0.000_713_5, 7.245_655, 0.000_713_5]),
        ("", [LN_2; 3]),
    ] {
        let found = weights(tenant).await;
        for (found, expected) in found.iter().zip(expected) {
            let difference: f32 = found - expected;
            assert!(difference.abs() < 1e-5, "{tenant}: {found} {expected}");
        }
    }
    let deleted = Change::Delete {
        tenant: TenantId::new("acme"),
        subject: Subject::Message(uuid(1).into()),
    };
    index.apply(vec![deleted]).await.unwrap();
    let found = weights("acme").await;
    assert_eq!(found[0], found[1], "no point has either");
}

async fn vectors_of_another_model_are_refused(index: Arc<dyn Index>) {
    index.prepare().await.unwrap();
    let wrong = Point {
        dense: Some(vec![1.0; 3]),
        ..point(1, [1.0; 4])
    };
    let missing = Point {
        dense: None,
        ..point(1, [1.0; 4])
    };
    for point in [wrong, missing] {
        let refused = index.apply(learn([point])).await.unwrap_err();
        assert!(
            matches!(refused, IndexError::Dimensions { expected: 4, .. }),
            "{refused}"
        );
        assert!(!refused.retryable());
    }
    let search = Search {
        dense: Some(vec![1.0; 5]),
        ..by_meaning(all("acme"))
    };
    let refused = index.search(search).await.unwrap_err();
    assert!(
        matches!(refused, IndexError::Dimensions { found: 5, .. }),
        "{refused}"
    );
}

async fn a_user_is_erased_and_all_others_stay(index: Arc<dyn Index>) {
    index.prepare().await.unwrap();
    index.mark_rebuilding(false).await.unwrap();
    let of = |number: u32, tenant: &str, user: &str| Point {
        tenant: TenantId::new(tenant),
        user: UserId::new(user),
        ..point(number, [1.0, 0.0, 0.0, 0.0])
    };
    let points = [
        of(1, "acme", "ada"),
        of(2, "acme", "bo"),
        of(3, "rival", "ada"),
    ];
    index.apply(learn(points)).await.unwrap();
    let memories = [memory(4, "ada"), memory(5, "bo")];
    index.apply(remember(memories)).await.unwrap();

    let (tenant, app, user) = (
        TenantId::new("acme"),
        AppId::new("support"),
        UserId::new("ada"),
    );
    let ada = Selection::owner(&tenant, Some(&app), Some(&user));
    let support = Selection::owner(&tenant, Some(&app), None);
    let erased_thread = Selection::threads(&tenant, &[thread(1)]);
    assert_eq!(index.count(&ada).await.unwrap(), 2);
    assert_eq!(index.count(&support).await.unwrap(), 4);
    index.erase(&ada).await.unwrap();
    // A second time, as after a crash.
    index.erase(&ada).await.unwrap();
    assert_eq!(index.count(&ada).await.unwrap(), 0);
    assert_eq!(index.count(&support).await.unwrap(), 2);
    assert_ne!(index.count(&erased_thread).await.unwrap(), 0);
    assert_eq!(found(&*index, all("rival")).await, [3]);
    assert_eq!(found(&*index, all("acme")).await, [2, 5]);
    let mut search = by_meaning(all("acme"));
    search.lexical = Some(words(&[1_000]));
    let candidates = index.search(search).await.unwrap();
    assert_eq!(candidates.lexical.len(), 2);
    assert!(candidates.dense.iter().all(|one| one.score > 0.99));

    assert_eq!(index.last_state(), IndexState::Ready);
    assert_eq!(index.prepare().await.unwrap(), Prepared::Whole);
    index.apply(learn([of(6, "acme", "ada")])).await.unwrap();
    assert_eq!(index.count(&ada).await.unwrap(), 1);
    index
        .erase(&Selection::owner(&tenant, None, None))
        .await
        .unwrap();
    assert_eq!(found(&*index, all("acme")).await, Vec::<u128>::new());
    assert_eq!(found(&*index, all("rival")).await, [3]);
}

async fn searches_and_changes_run_concurrently(index: Arc<dyn Index>) {
    index.prepare().await.unwrap();
    let writer = {
        let index = Arc::clone(&index);
        tokio::spawn(async move {
            for batch in 0..20_u32 {
                let points =
                    (1..=20).map(|number| point(batch * 20 + number, [1.0, 0.1, 0.0, 0.0]));
                index.apply(learn(points)).await.unwrap();
            }
        })
    };
    while !writer.is_finished() {
        let search = Search {
            lexical: Some(words(&[1_000])),
            ..by_meaning(all("acme"))
        };
        index.search(search).await.unwrap();
    }
    writer.await.unwrap();
    assert_eq!(index.status(&TenantId::new("acme")).await.points, 400);
}

// The embedded engine.

async fn a_discarded_index_is_new_again(index: Arc<dyn Index>) {
    let collection = index.schema().collection().to_owned();
    index.prepare().await.unwrap();
    index.mark_rebuilding(false).await.unwrap();
    index
        .apply(learn([point(1, [1.0, 0.0, 0.0, 0.0])]))
        .await
        .unwrap();
    for _ in 0..2 {
        index
            .discard("recollect-test-no-such-collection")
            .await
            .unwrap();
        assert_eq!(found(&*index, all("acme")).await, [1]);
    }
    index.discard(&collection).await.unwrap();
    index.discard(&collection).await.unwrap();
    assert_eq!(index.prepare().await.unwrap(), Prepared::New);
    assert_eq!(found(&*index, all("acme")).await, [0_u128; 0]);
}

#[tokio::test(flavor = "multi_thread")]
async fn acknowledged_changes_survive_the_embedded_engine() {
    let directory = tempfile::tempdir().unwrap();
    let config = IndexConfig {
        path: Some(directory.path().to_owned()),
        ..IndexConfig::default()
    };
    for round in 1..=3_u32 {
        let index = open_index(&config, schema("recollect")).unwrap();
        let expected = if round == 1 {
            Prepared::New
        } else {
            Prepared::Whole
        };
        assert_eq!(index.prepare().await.unwrap(), expected);
        index.mark_rebuilding(false).await.unwrap();
        index
            .apply(learn([point(round, [1.0, 0.0, 0.0, 0.0])]))
            .await
            .unwrap();
        let candidates = index.search(by_meaning(all("acme"))).await.unwrap().dense;
        assert_eq!(candidates.len(), round as usize);
        assert!(candidates.iter().all(|one| &*one.name == "Ada"));
        index.stop().await;
        assert_eq!(index.last_state(), IndexState::Unavailable);
        assert!(
            index
                .search(by_meaning(all("acme")))
                .await
                .unwrap_err()
                .retryable()
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_broken_directory_is_set_aside_and_the_index_is_rebuilt() {
    let directory = tempfile::tempdir().unwrap();
    let config = IndexConfig {
        path: Some(directory.path().to_owned()),
        ..IndexConfig::default()
    };
    let index = open_index(&config, schema("recollect")).unwrap();
    index.prepare().await.unwrap();
    index.mark_rebuilding(false).await.unwrap();
    index
        .apply(learn([point(1, [1.0, 0.0, 0.0, 0.0])]))
        .await
        .unwrap();
    index.stop().await;
    drop(index);
    let collection = directory.path().join(schema("recollect").collection());
    let engine = std::fs::read_to_string(collection.join("current")).unwrap();
    for entry in std::fs::read_dir(collection.join(engine).join("segments")).unwrap() {
        for file in std::fs::read_dir(entry.unwrap().path()).unwrap() {
            let file = file.unwrap().path();
            if file.is_file() {
                std::fs::write(file, b"not what was here").unwrap();
            }
        }
    }
    let index = open_index(&config, schema("recollect")).unwrap();
    assert_eq!(index.prepare().await.unwrap(), Prepared::New);
    assert_eq!(index.status(&TenantId::new("acme")).await.points, 0);
    index
        .apply(learn([point(2, [1.0, 0.0, 0.0, 0.0])]))
        .await
        .unwrap();
    assert_eq!(found(&*index, all("acme")).await, [2]);
    let aside = std::fs::read_dir(directory.path())
        .unwrap()
        .filter(|entry| {
            entry
                .as_ref()
                .unwrap()
                .file_name()
                .to_string_lossy()
                .contains(".broken-")
        })
        .count();
    assert_eq!(aside, 1);
}

/// The files below a directory.
fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let entries = match std::fs::read_dir(directory) {
        // A merge that was abandoned may go on for a while, and removes directories.
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return found,
        entries => entries.unwrap(),
    };
    for entry in entries {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files(&path)),
            false => found.push(path),
        }
    }
    found
}

#[tokio::test(flavor = "multi_thread")]
async fn an_erasure_leaves_no_byte_in_the_files_of_any_index() {
    let directory = tempfile::tempdir().unwrap();
    let config = IndexConfig {
        path: Some(directory.path().to_owned()),
        ..IndexConfig::default()
    };
    let of = |number: u32, user: &str, mark: &str| Point {
        user: UserId::new(user),
        name: mark.to_owned(),
        metadata: object(json!({"color": mark})),
        ..point(number, [1.0, 0.0, 0.0, 0.0])
    };
    let (mark, other) = ("zqerasedzq", "zqkeptzq");
    // A former model's, one that was moved aside, and the present one.
    for name in ["former", "recollect"] {
        let index = open_index(&config, schema(name)).unwrap();
        index.prepare().await.unwrap();
        index.mark_rebuilding(false).await.unwrap();
        let points = [of(1, "ada", mark), of(2, "bo", other)];
        index.apply(learn(points)).await.unwrap();
        index.stop().await;
    }
    let former = directory.path().join(schema("former").collection());
    std::fs::rename(&former, former.with_extension("broken-1")).unwrap();
    assert!(files_with(directory.path(), mark.as_bytes()).len() > 1);

    let index = open_index(&config, schema("recollect")).unwrap();
    assert_eq!(index.prepare().await.unwrap(), Prepared::Whole);
    let ada = Selection::owner(
        &TenantId::new("acme"),
        Some(&AppId::new("support")),
        Some(&UserId::new("ada")),
    );
    index.erase(&ada).await.unwrap();
    assert_eq!(found(&*index, all("acme")).await, [2]);
    index.stop().await;
    drop(index);
    assert_eq!(
        files_with(directory.path(), mark.as_bytes()),
        Vec::<PathBuf>::new()
    );
    assert!(!files_with(directory.path(), other.as_bytes()).is_empty());

    let index = open_index(&config, schema("recollect")).unwrap();
    assert_eq!(index.prepare().await.unwrap(), Prepared::Whole);
    assert_eq!(found(&*index, all("acme")).await, [2]);
    index.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn changes_go_on_during_an_erasure_and_none_is_lost() {
    const STORED: u32 = 5_000;
    let edge = edge();
    let index = Arc::clone(&edge.index);
    index.prepare().await.unwrap();
    index.mark_rebuilding(false).await.unwrap();
    let of = |number: u32, user: &str| Point {
        user: UserId::new(user),
        ..point(number, [1.0, 0.0, 0.0, 0.0])
    };
    index.apply(learn([of(STORED + 1, "ada")])).await.unwrap();
    for first in (1..=STORED).step_by(1_000) {
        let points = (first..first + 1_000).map(|number| of(number, "bo"));
        index.apply(learn(points)).await.unwrap();
    }
    let (tenant, app) = (TenantId::new("acme"), AppId::new("support"));
    let of_user = |user: &str| Selection::owner(&tenant, Some(&app), Some(&UserId::new(user)));
    let (ada, bo, cy) = (of_user("ada"), of_user("bo"), of_user("cy"));
    let erasing = tokio::spawn({
        let (index, ada) = (Arc::clone(&index), ada.clone());
        async move { index.erase(&ada).await }
    });
    while index.count(&ada).await.unwrap() > 0 {
        tokio::task::yield_now().await;
    }
    // Another one's point is found all the time, also when the copy takes the place of the engine.
    index.apply(learn([of(STORED + 3, "dee")])).await.unwrap();
    let ended = Arc::new(AtomicBool::new(false));
    let searching = tokio::spawn({
        let (index, ended, dee) = (Arc::clone(&index), Arc::clone(&ended), of_user("dee"));
        async move {
            while !ended.load(Ordering::Relaxed) {
                assert_eq!(found(&*index, dee.clone()).await, [u128::from(STORED + 3)]);
            }
        }
    });
    // Copying the others takes much longer than a change. The first and the last points that are
    // copied become another user's, and others are deleted.
    let mut changed = 0;
    while !erasing.is_finished() && changed < 100 {
        changed += 1;
        let mut changes = learn([of(changed, "cy"), of(STORED + 1 - changed, "cy")]);
        for number in [STORED / 2 - changed, STORED / 2 + changed] {
            changes.push(Change::Delete {
                tenant: tenant.clone(),
                subject: Subject::Message(uuid(u128::from(number)).into()),
            });
        }
        index.apply(changes).await.unwrap();
    }
    assert!(changed > 1, "the erasure ended before the changes");
    // A second one waits for the first.
    index.apply(learn([of(STORED + 2, "ada")])).await.unwrap();
    index.erase(&ada).await.unwrap();
    erasing.await.unwrap().unwrap();
    ended.store(true, Ordering::Relaxed);
    searching.await.unwrap();
    let expected = u64::from(changed) * 2;
    assert_eq!(index.count(&ada).await.unwrap(), 0);
    assert_eq!(index.count(&cy).await.unwrap(), expected);
    let stays = u64::from(STORED) - 2 * expected;
    assert_eq!(index.count(&bo).await.unwrap(), stays);
}

#[tokio::test(flavor = "multi_thread")]
async fn more_writes_than_the_queue_has_room_for_are_all_done() {
    let edge = edge();
    let index = &edge.index;
    index.prepare().await.unwrap();
    let writes = (1..=300).map(|number| index.apply(learn([point(number, [1.0, 0.0, 0.0, 0.0])])));
    for written in futures::future::join_all(writes).await {
        written.unwrap();
    }
    let status = index.status(&TenantId::new("acme")).await;
    assert_eq!(status.points, 300);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_has_one_owner() {
    let first = edge();
    let path = first._directory.as_ref().unwrap().path().to_owned();
    let config = IndexConfig {
        path: Some(path),
        ..IndexConfig::default()
    };
    let Err(second) = open_index(&config, schema("recollect")) else {
        panic!("opened twice")
    };
    assert!(matches!(second, IndexError::Directory { .. }), "{second}");
}

#[test]
fn a_backend_without_its_setting_is_refused() {
    for (backend, key) in [
        (BackendChoice::Edge, "index.path"),
        (BackendChoice::Qdrant, "index.url"),
    ] {
        let config = IndexConfig {
            backend,
            ..IndexConfig::default()
        };
        let Err(error) = open_index(&config, schema("recollect")) else {
            panic!("opened")
        };
        assert!(error.to_string().starts_with(key), "{error}");
    }
}

// Qdrant's faults.

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_answer_is_unavailable_and_comes_back() {
    let server = TestQdrant::start().await.unwrap();
    let index = client(server.url(), "recollect");
    assert_eq!(index.backend(), Backend::Qdrant);
    index.prepare().await.unwrap();
    index.mark_rebuilding(false).await.unwrap();
    index
        .apply(learn([point(1, [1.0, 0.0, 0.0, 0.0])]))
        .await
        .unwrap();

    server.set_fault(Fault::Unavailable);
    let error = index.search(by_meaning(all("acme"))).await.unwrap_err();
    assert!(
        matches!(error, IndexError::Unavailable { .. }) && error.retryable(),
        "{error}"
    );
    assert_eq!(index.last_state(), IndexState::Unavailable);
    assert_eq!(
        index.status(&TenantId::new("acme")).await.state,
        IndexState::Unavailable
    );

    server.set_fault(Fault::Slow(Duration::from_secs(20)));
    let error = index.search(by_meaning(all("acme"))).await.unwrap_err();
    assert!(
        matches!(error, IndexError::Timeout { .. }) && error.retryable(),
        "{error}"
    );

    server.set_fault(Fault::None);
    assert_eq!(found(&*index, all("acme")).await, [1]);
    assert_eq!(index.last_state(), IndexState::Ready);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_write_differs_from_an_outage() {
    let server = TestQdrant::start().await.unwrap();
    let index = client(server.url(), "recollect");
    index.prepare().await.unwrap();
    let write = async || {
        let points = learn([point(1, [1.0, 0.0, 0.0, 0.0])]);
        index.apply(points).await.unwrap_err()
    };
    server.set_fault(Fault::RefuseSpeaker("Ada".to_owned()));
    let error = write().await;
    assert!(
        matches!(error, IndexError::Refused { .. }) && !error.retryable(),
        "{error}"
    );
    // A full disk is no defect of what is written.
    server.set_fault(Fault::FullDisk);
    let error = write().await;
    assert!(
        matches!(error, IndexError::Unavailable { .. }) && error.retryable(),
        "{error}"
    );
    server.set_fault(Fault::None);
    assert_eq!(found(&*index, all("acme")).await, Vec::<u128>::new());
}

/// Two nodes of which one ends: the other is asked, first and from then on.
#[tokio::test(flavor = "multi_thread")]
async fn another_address_is_asked_when_one_does_not_answer() {
    let (one, two) = (
        TestQdrant::start().await.unwrap(),
        TestQdrant::start().await.unwrap(),
    );
    let index = client(format!("{}, {}", one.url(), two.url()), "recollect");
    for server in [&two, &one] {
        let alone = client(server.url(), "recollect");
        alone.prepare().await.unwrap();
        alone.mark_rebuilding(false).await.unwrap();
    }
    let write = |number| learn([point(number, [1.0, 0.0, 0.0, 0.0])]);
    index.apply(write(1)).await.unwrap();
    one.set_fault(Fault::Unavailable);
    assert_eq!(found(&*index, all("acme")).await, Vec::<u128>::new());
    assert_eq!(index.last_state(), IndexState::Ready);
    index.apply(write(2)).await.unwrap();
    assert_eq!(found(&*index, all("acme")).await, [2]);
    // It stays with the one that answers.
    one.set_fault(Fault::None);
    assert_eq!(found(&*index, all("acme")).await, [2]);
    two.set_fault(Fault::Unavailable);
    assert_eq!(found(&*index, all("acme")).await, [1]);
    one.set_fault(Fault::Unavailable);
    let error = index.search(by_meaning(all("acme"))).await.unwrap_err();
    assert!(matches!(error, IndexError::Unavailable { .. }), "{error}");
    assert_eq!(index.last_state(), IndexState::Unavailable);
}

async fn points_of_another_process_are_found_with_the_same_fields(url: String, alias: &str) {
    let worker = client(url.clone(), alias);
    worker.prepare().await.unwrap();
    let some = |numbers: std::ops::Range<u32>| learn(numbers.map(|one| point(one, [1.0; 4])));
    worker.apply(some(1..4)).await.unwrap();
    worker.apply(remember([memory(9, "ada")])).await.unwrap();
    let server = client(url, alias);
    let ask = Search {
        lexical: Some(words(&[1_000])),
        ..by_meaning(all("acme"))
    };
    for known in [4, 6] {
        let written = worker.search(ask.clone()).await.unwrap();
        let read = server.search(ask.clone()).await.unwrap();
        assert_eq!(sorted(read.dense), sorted(written.dense));
        let read = sorted(read.lexical);
        assert_eq!(read.len(), known);
        assert_eq!(read, sorted(written.lexical));
        // Half of the next points are cached by the server, and half are not.
        worker.apply(some(4..6)).await.unwrap();
    }
    let gone = Change::Delete {
        tenant: TenantId::new("acme"),
        subject: Subject::Message(uuid(5).into()),
    };
    worker.apply(vec![gone]).await.unwrap();
    let left = server.search(ask).await.unwrap();
    assert_eq!(numbers(&sorted(left.lexical)), [1, 2, 3, 4, 9]);
}

/// The candidates in the order of their ids.
fn sorted(mut list: Vec<Candidate>) -> Vec<Candidate> {
    list.sort_unstable_by_key(|one| one.id);
    list
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_finds_the_points_of_a_worker_with_the_same_fields() {
    let server = TestQdrant::start().await.unwrap();
    points_of_another_process_are_found_with_the_same_fields(server.url(), "recollect").await;
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs a Qdrant: make test-qdrant QDRANT_URL=…"]
async fn a_server_finds_the_points_of_a_worker_with_the_same_fields_in_real_qdrant() {
    with_real_qdrant(points_of_another_process_are_found_with_the_same_fields).await;
}

/// A collection that another process makes anew is empty: a search has to notice by itself.
#[tokio::test(flavor = "multi_thread")]
async fn a_search_notices_a_collection_that_was_made_anew() {
    let server = TestQdrant::start().await.unwrap();
    let index = client(server.url(), "recollect");
    index.prepare().await.unwrap();
    index.mark_rebuilding(false).await.unwrap();
    assert_eq!(found(&*index, all("acme")).await, Vec::<u128>::new());
    assert_eq!(index.last_state(), IndexState::Ready);
    server.lose_everything();
    let worker = client(server.url(), "recollect");
    worker.prepare().await.unwrap();
    for (rebuilding, state) in [
        (None, IndexState::Rebuilding),
        (Some(true), IndexState::Rebuilding),
        (Some(false), IndexState::Ready),
    ] {
        if let Some(rebuilding) = rebuilding {
            worker.mark_rebuilding(rebuilding).await.unwrap();
        }
        found(&*index, all("acme")).await;
        assert_eq!(index.last_state(), state);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_collection_is_noticed_and_recreated() {
    let server = TestQdrant::start().await.unwrap();
    let index = client(server.url(), "recollect");
    index.prepare().await.unwrap();
    index.mark_rebuilding(false).await.unwrap();
    server.lose_everything();
    let error = index
        .apply(learn([point(1, [1.0, 0.0, 0.0, 0.0])]))
        .await
        .unwrap_err();
    assert!(
        matches!(error, IndexError::Lost { .. }) && error.retryable(),
        "{error}"
    );
    assert!(matches!(
        index.search(by_meaning(all("acme"))).await.unwrap_err(),
        IndexError::Lost { .. }
    ));
    assert_eq!(index.prepare().await.unwrap(), Prepared::New);
    index
        .apply(learn([point(1, [1.0, 0.0, 0.0, 0.0])]))
        .await
        .unwrap();
    assert_eq!(found(&*index, all("acme")).await, [1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_alias_points_to_the_collection_that_is_published() {
    let server = TestQdrant::start().await.unwrap();
    let index = client(server.url(), "memory");
    index.prepare().await.unwrap();
    let alias = |collection: &str| vec![("memory".to_owned(), collection.to_owned())];
    let first = index.schema().collection().to_owned();
    assert_eq!(server.aliases(), alias(&first));

    let config = IndexConfig {
        url: Some(server.url()),
        alias: "memory".to_owned(),
        ..IndexConfig::default()
    };
    let model = EmbeddingModel {
        name: "Another/Model".to_owned(),
        dimensions: 3,
    };
    let other = open_index(&config, IndexSchema::new("memory", Some(&model))).unwrap();
    let second = other.schema().collection().to_owned();
    assert_eq!(second, "memory.another-model-r10");
    other.prepare().await.unwrap();
    other.mark_rebuilding(true).await.unwrap();
    assert_eq!(server.aliases(), alias(&first));
    other.mark_rebuilding(false).await.unwrap();
    assert_eq!(server.aliases(), alias(&first));
    other.publish().await.unwrap();
    assert_eq!(server.aliases(), alias(&second));
    assert_eq!(server.collections(), [second.clone(), first.clone()]);
    for _ in 0..2 {
        other.discard(&first).await.unwrap();
        assert_eq!(server.collections(), [&*second]);
    }
    other.discard(&second).await.unwrap();
    assert_eq!(other.prepare().await.unwrap(), Prepared::New);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_address_without_a_server_is_unavailable() {
    let url = {
        let server = TestQdrant::start().await.unwrap();
        server.url()
    };
    let index = client(url, "recollect");
    let error = index.prepare().await.unwrap_err();
    assert!(error.retryable(), "{error}");
    assert_eq!(index.last_state(), IndexState::Unavailable);
}

/// A vector of pseudo-random numbers in -0.5 to 0.5 (xorshift).
pub(super) fn noise(seed: u32, dimensions: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2_654_435_761) | 1;
    let numbers = (0..dimensions).map(|_| {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        f32::from((state >> 16) as u16) / 65_535.0 - 0.5
    });
    numbers.collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_index_goes_on_with_int8_and_finds_the_same() {
    // So large that 1,400 vectors get a graph.
    const DIMENSIONS: usize = 4_096;
    const POINTS: u32 = 1_400;
    let directory = tempfile::tempdir().unwrap();
    let schema = IndexSchema::new(
        "recollect",
        Some(&EmbeddingModel {
            name: "large-model".to_owned(),
            dimensions: DIMENSIONS,
        }),
    );
    let full = IndexConfig {
        path: Some(directory.path().to_owned()),
        ..IndexConfig::default()
    };
    let int8 = IndexConfig {
        vectors: VectorPrecision::Int8,
        ..full.clone()
    };
    let of = |number: u32| Point {
        dense: Some(noise(number, DIMENSIONS)),
        ..point(number, [0.0; 4])
    };
    // The first fills the index. The others load it, and optimize it with their first change.
    for (config, rounds) in [(&full, 1), (&full, 1), (&int8, 1), (&int8, 0), (&full, 1)] {
        let index = open_index(config, schema.clone()).unwrap();
        index.prepare().await.unwrap();
        index.mark_rebuilding(false).await.unwrap();
        for _ in 0..rounds {
            for first in (1..=POINTS).step_by(100) {
                let points = (first..first + 100).map(of);
                index.apply(learn(points)).await.unwrap();
            }
        }
        for number in [1, 700, POINTS] {
            // Near a point, but not equal to it.
            let own = noise(number, DIMENSIONS);
            let other = noise(number + POINTS, DIMENSIONS);
            let near = own.iter().zip(other).map(|(own, other)| own + 0.3 * other);
            let near: Vec<f32> = near.collect();
            let dot = |one: &[f32], other: &[f32]| -> f32 {
                one.iter().zip(other).map(|(one, other)| one * other).sum()
            };
            let cosine = dot(&own, &near) / (dot(&own, &own) * dot(&near, &near)).sqrt();
            let search = Search {
                selection: filtered(MessageFilter::default()),
                dense: Some(near),
                lexical: None,
                limit: 3,
            };
            let found = index.search(search).await.unwrap().dense;
            assert_eq!(numbers(&found)[0], u128::from(number));
            // The score is that of the full vectors.
            let score = found[0].score;
            assert!((score - cosine).abs() < 1e-4, "{score} instead of {cosine}");
        }
        index.stop().await;
        let files = files(directory.path());
        let quantized = files.iter().any(|file| file.ends_with("quantized.data"));
        let expected = config.vectors == VectorPrecision::Int8;
        assert_eq!(quantized, expected, "of {:?}", config.vectors);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_collection_of_qdrant_keeps_the_configured_vectors() {
    for (vectors, quantized) in [
        (VectorPrecision::Full, false),
        (VectorPrecision::Int8, true),
    ] {
        let server = TestQdrant::start().await.unwrap();
        let config = IndexConfig {
            backend: BackendChoice::Qdrant,
            url: Some(server.url()),
            vectors,
            ..IndexConfig::default()
        };
        let index = open_index(&config, schema("recollect")).unwrap();
        index.prepare().await.unwrap();
        index.mark_rebuilding(false).await.unwrap();
        let collection = index.schema().collection();
        assert_eq!(server.is_quantized(collection), Some(quantized));
        let points = learn([point(1, [1.0, 0.0, 0.0, 0.0])]);
        index.apply(points).await.unwrap();
        assert_eq!(found(&*index, all("acme")).await, [1]);
    }
}
