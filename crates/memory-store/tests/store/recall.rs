use memory_contract::{AppId, MessageFilter, Parent, Role, UserId};
use memory_store::{Scope, Store};

use crate::world::{World, after, said};

fn user(app: &str, user: &str) -> Scope {
    Scope::User {
        app: AppId::new(app),
        user: UserId::new(user),
    }
}

async fn found(
    world: &World,
    scope: &Scope,
    query: &str,
    filter: &MessageFilter,
) -> Vec<memory_contract::MessageId> {
    let matches = world
        .store
        .messages(&world.caller)
        .search_text(scope, query, filter, 10)
        .await
        .unwrap();
    assert!(matches.iter().all(|found| found.score > 0.0));
    assert!(
        matches
            .windows(2)
            .all(|pair| pair[0].score >= pair[1].score)
    );
    matches.into_iter().map(|found| found.id).collect()
}

#[tokio::test]
async fn text_search_finds_words_in_their_scope() {
    let world = World::new().await;
    let ada = world.thread_of("app", "ada", "session:1").await.id;
    let adas_other = world.thread_of("app", "ada", "session:2").await.id;
    let bob = world.thread_of("app", "bob", "session:1").await.id;
    let dog = world
        .say(ada, Role::User, "My dogs are called Pixel and Voxel")
        .await;
    let swim = world
        .say(ada, Role::Assistant, "Does the dog like swimming?")
        .await;
    let order = world
        .say(adas_other, Role::User, "Refund of order 1138, it's broken")
        .await;
    let bobs = world.say(bob, Role::User, "A dog's life").await;
    let tokyo = world
        .say(ada, Role::User, "昨日は東京タワーへ行きました")
        .await;
    let everything = MessageFilter::default();

    let check = async |scope: &Scope, query: &str, expected: &[memory_contract::MessageId]| {
        assert_eq!(
            found(&world, scope, query, &everything).await,
            expected,
            "{query}"
        );
    };
    check(&user("app", "ada"), "what is my dog called?", &[dog, swim]).await;
    check(&user("app", "ada"), "order #1138", &[order]).await;
    check(&user("app", "ada"), "東京", &[tokyo]).await;
    check(&user("app", "ada"), "the 'is'; \\ | & ! <-> :*", &[]).await;
    check(&user("app", "ada"), "", &[]).await;
    check(&Scope::Thread(adas_other), "dog order", &[order]).await;
    check(&user("app", "bob"), "dog", &[bobs]).await;
    check(&user("other", "ada"), "dog", &[]).await;
    assert_eq!(
        found(&world, &Scope::App(AppId::new("app")), "dog", &everything)
            .await
            .len(),
        3
    );

    let assistant = MessageFilter {
        roles: vec![Role::Assistant],
        ..MessageFilter::default()
    };
    assert_eq!(
        found(&world, &user("app", "ada"), "dog", &assistant).await,
        [swim]
    );
    world
        .store
        .messages(&world.caller)
        .delete_message(ada, dog)
        .await
        .unwrap();
    assert_eq!(
        found(&world, &user("app", "ada"), "pixel", &everything).await,
        []
    );
}

#[tokio::test]
async fn text_search_is_answered_by_the_index_over_words() {
    let world = World::new().await;
    let thread = world.thread().await.id;
    world.say(thread, Role::User, "hello").await;
    let service = world.role("recollect_service").await;
    service
        .batch_execute("BEGIN; SELECT set_config('recollect.tenant', 'a', true)")
        .await
        .unwrap();
    let scope = format!("'~t{}'", thread.uuid().simple());
    let search = "SELECT message_id FROM recollect.match_messages($1, 'hello', NULL, NULL, NULL, NULL, NULL, 10)";
    assert_eq!(service.query(search, &[&scope]).await.unwrap().len(), 1);
    let scans = "SELECT pg_stat_get_xact_numscans('recollect.messages_by_words'::regclass)";
    let scans: i64 = service.query_one(scans, &[]).await.unwrap().get(0);
    assert!(scans > 0);
}

#[tokio::test]
async fn hydration_checks_the_scope_again() {
    let world = World::new().await;
    let thread = world.thread_of("app", "ada", "session:1").await;
    let other = world.thread_of("app", "bob", "session:1").await;
    let ours = world.say(thread.id, Role::User, "ours").await;
    let theirs = world.say(other.id, Role::User, "theirs").await;
    let unknown = memory_contract::MessageId::new();
    let ids = [ours, theirs, unknown];
    let count = async |store: &Store, scope: Scope| {
        let hits = store
            .messages(&world.caller)
            .hydrate(&scope, None, &ids)
            .await
            .unwrap();
        let neighbors = store
            .messages(&world.caller)
            .neighbors(&scope, None, &ids, 2, 2)
            .await
            .unwrap();
        assert!(neighbors.is_empty());
        hits.len()
    };
    assert_eq!(count(&world.store, user("app", "ada")).await, 1);
    assert_eq!(count(&world.store, user("other", "ada")).await, 0);
    assert_eq!(count(&world.store, Scope::App(AppId::new("app"))).await, 2);
    assert_eq!(count(&world.store, Scope::Thread(other.id)).await, 1);
    assert!(
        world
            .store
            .messages(&world.caller)
            .hydrate(&user("app", "ada"), None, &[])
            .await
            .unwrap()
            .is_empty()
    );
}

#[tokio::test]
async fn the_recent_window_follows_the_active_branch() {
    let world = World::new().await;
    let thread = world.thread().await;
    let question = world.say(thread.id, Role::User, "A").await;
    world
        .append(
            thread.id,
            vec![said(Role::Assistant, "B"), said(Role::User, "C")],
        )
        .await
        .unwrap();
    let again = after(Parent::Message(question.into()), Role::Assistant, "B'");
    let again = world.append(thread.id, vec![again]).await.unwrap().messages[0].id;
    let recent = world
        .store
        .messages(&world.caller)
        .recent(thread.id, 4)
        .await
        .unwrap();
    assert_eq!(
        recent
            .messages
            .iter()
            .map(|message| message.id)
            .collect::<Vec<_>>(),
        [question, again]
    );
    assert_eq!(recent.thread.head, Some(again));
    assert!(recent.thread_ordinal > 0);
    assert!(
        world
            .store
            .messages(&world.caller)
            .recent(thread.id, 0)
            .await
            .unwrap()
            .messages
            .is_empty()
    );
    let records = world
        .store
        .messages(&world.caller)
        .index_records(&[again], i32::MAX)
        .await
        .unwrap();
    assert_eq!(records[0].previous[0].id, question);
    assert_eq!(
        (records[0].app.as_str(), records[0].user.as_str()),
        ("app", "ada")
    );
}
