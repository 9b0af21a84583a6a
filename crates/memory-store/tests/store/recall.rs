use memory_contract::{
    AppId, UserId,
    memory::{MemoryFilter, MemoryOrigin, MemoryOwner, NewMemory},
    message::{MessageFilter, Parent, Role},
    policy::{MemoryPolicy, PolicyChange, ResolvedPolicy},
    precondition::Precondition,
};
use memory_store::{MemoryOwners, Scope, Space, Store};

use crate::world::{World, after, rows_read_by, said};

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
async fn words_of_a_message_do_not_put_it_into_another_scope() {
    let world = World::new().await;
    let ada = world.thread_of("app", "ada", "session:1").await.id;
    let bob = world.thread_of("app", "bob", "session:1").await.id;
    let own = world.say(ada, Role::User, "My dog is Pixel").await;
    // The lexeme of Ada's thread, where Postgres takes it for one word.
    let scope = format!("~t{}", ada.uuid().simple());
    for text in [format!("{scope} dog"), format!("a dog x{scope}")] {
        world.say(bob, Role::User, &text).await;
    }
    let everything = MessageFilter::default();
    let of_ada = found(&world, &Scope::Thread(ada), "dog", &everything).await;
    assert_eq!(of_ada, [own]);
    // Such a text is found by what else it says.
    let of_bob = found(&world, &Scope::Thread(bob), "dog", &everything).await;
    assert_eq!(of_bob.len(), 2);
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
    let search = "SELECT message_id FROM recollect.match_messages($1, 'hello', NULL, NULL, NULL, NULL, NULL, NULL, 10)";
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

impl World {
    /// Puts an app into a space, or out of any.
    async fn set_space(&self, app: &str, space: Option<&str>) {
        let change = PolicyChange {
            replace: true,
            set: MemoryPolicy {
                memory_space: space.map(str::to_owned),
                ..MemoryPolicy::default()
            },
            clear: Vec::new(),
        };
        let policies = self.store.policies(&self.caller);
        let (app, always) = (AppId::new(app), Precondition::default());
        let changed = policies.update_app_policy(&app, &always, &change).await;
        changed.unwrap();
    }

    /// The space that is searched from an app.
    async fn space_of(&self, app: &str) -> Option<Space> {
        let policies = self.store.policies(&self.caller);
        let app = AppId::new(app);
        let policy = MemoryPolicy {
            memory_space: Some("desk".to_owned()),
            ..MemoryPolicy::default()
        };
        let level = memory_contract::policy::PolicyLevel::App;
        let policy = ResolvedPolicy::resolve(&[(level, &policy)]);
        policies.searched_space(&app, &policy).await.unwrap()
    }
}

#[tokio::test]
async fn what_is_read_is_checked_against_the_space_as_it_is_now() {
    let world = World::new().await;
    let (store, caller) = (&world.store, &world.caller);
    world.set_space("one", Some("desk")).await;
    world.set_space("two", Some("desk")).await;
    world.set_space("three", Some("other")).await;
    let mut said = Vec::new();
    let mut known = Vec::new();
    for (app, user) in [
        ("one", "ada"),
        ("two", "ada"),
        ("two", "bob"),
        ("three", "ada"),
    ] {
        let thread = world.thread_of(app, user, "session:1").await.id;
        said.push(world.say(thread, Role::User, "The boat is red.").await);
        world.say(thread, Role::Assistant, "I see.").await;
        let owner = MemoryOwner {
            app: AppId::new(app),
            user: UserId::new(user),
        };
        let memory = NewMemory {
            text: "Has a boat.".to_owned(),
            ..NewMemory::default()
        };
        let added = store
            .memories(caller)
            .add_memories(&owner, &[memory], MemoryOrigin::Caller, None)
            .await
            .unwrap();
        known.push(added.memories[0].memory.id);
    }
    let space = world.space_of("one").await.unwrap();
    assert_eq!(space.apps, [AppId::new("one"), AppId::new("two")]);
    assert_eq!(world.space_of("three").await, None, "it is in another one");
    let owner = MemoryOwner {
        app: AppId::new("one"),
        user: UserId::new("ada"),
    };
    let of_ada = |apps: &[&str]| Space {
        name: space.name.clone(),
        apps: apps.iter().map(|app| AppId::new(*app)).collect(),
    };
    // An index that answers with too much, as if each app were in the space.
    let wide = of_ada(&["one", "two", "three"]);
    let owners = |space: &Space| MemoryOwners::User(owner.clone()).within(Some(space.clone()));
    let read = async || {
        let scope = Scope::Space {
            user: UserId::new("ada"),
            space: wide.clone(),
        };
        let messages = store.messages(caller);
        let hits = messages.hydrate(&scope, None, &said).await.unwrap();
        let mut hits: Vec<_> = hits.into_iter().map(|hit| hit.message.id).collect();
        hits.sort_by_key(|id| said.iter().position(|one| one == id));
        let near = messages.neighbors(&scope, None, &said, 0, 1).await.unwrap();
        let mut near: Vec<_> = near.into_iter().map(|near| near.anchor).collect();
        near.sort_by_key(|id| said.iter().position(|one| one == id));
        assert_eq!(hits, near);
        let all = MemoryFilter::default();
        let memories = store.memories(caller);
        let owners = owners(&wide);
        let found = memories.hydrate_memories(&owners, &all, &known);
        let mut found: Vec<_> = found.await.unwrap().into_iter().map(|one| one.id).collect();
        found.sort_by_key(|id| known.iter().position(|one| one == id));
        (hits, found)
    };
    assert_eq!(read().await, (said[..2].to_vec(), known[..2].to_vec()));

    // By word, and what waits to be indexed.
    let scope = Scope::Space {
        user: UserId::new("ada"),
        space: space.clone(),
    };
    let everything = MessageFilter::default();
    let mut by_word = found(&world, &scope, "boat", &everything).await;
    by_word.sort_by_key(|id| said.iter().position(|one| one == id));
    assert_eq!(by_word, said[..2]);
    let messages = store.messages(caller);
    let waiting = messages.unindexed(&scope, 10, 10).await.unwrap();
    assert_eq!((waiting.changes.len(), waiting.more), (4, 0));
    assert_eq!(
        (waiting.changes[1].subject, waiting.changes[3].subject),
        (said[1], said[0])
    );
    let all = MemoryFilter::default();
    let memories = store.memories(caller);
    let of_space = owners(&space);
    let by_word = memories.search_memories(&of_space, "boat", &all, 10);
    assert_eq!(by_word.await.unwrap().len(), 2);
    let waiting = memories.unindexed_memories(&of_space, 10, 10);
    let waiting: Vec<_> = waiting
        .await
        .unwrap()
        .changes
        .iter()
        .map(|one| one.subject)
        .collect();
    assert_eq!(waiting, [known[1], known[0]]);

    // An app that has left is not read any more, although the caller still names it.
    world.set_space("two", None).await;
    assert_eq!(read().await, (said[..1].to_vec(), known[..1].to_vec()));
    assert_eq!(world.space_of("one").await, Some(of_ada(&["one"])));
    assert_eq!(world.space_of("two").await, None);
    world.set_space("one", None).await;
    assert_eq!(read().await, (Vec::new(), Vec::new()));
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
        recent.iter().map(|message| message.id).collect::<Vec<_>>(),
        [question, again]
    );
    let policies = world.store.policies(&world.caller);
    let policies = policies.policies(thread.id).await.unwrap();
    assert_eq!(policies.thread.head, Some(again));
    assert!(policies.thread_ordinal > 0);
    assert!(
        world
            .store
            .messages(&world.caller)
            .recent(thread.id, 0)
            .await
            .unwrap()
            .is_empty()
    );
    let records = world
        .store
        .messages(&world.caller)
        .index_records(&[again], i32::MAX, None)
        .await
        .unwrap();
    assert_eq!(records[0].previous[0].id, question);
    assert_eq!(
        (records[0].app.as_str(), records[0].user.as_str()),
        ("app", "ada")
    );
}

#[tokio::test]
async fn hits_are_looked_up_alone_however_many_messages_the_app_has() {
    const THREADS: usize = 60;
    let world = World::new().await;
    let mut hits = Vec::new();
    for number in 0..THREADS {
        let key = format!("session:{number}");
        let thread = world.thread_of("app", "ada", &key).await.id;
        let said = world.say_each(thread, 20, "word").await;
        hits.push(said[10].to_string());
    }
    let owner = world.owner().await;
    owner.batch_execute("ANALYZE").await.unwrap();
    hits.truncate(5);
    let hits = format!("CAST(ARRAY['{}'] AS uuid[])", hits.join("', '"));
    let scope = "'app', NULL, NULL, NULL, NULL, NULL";
    let service = world.role("recollect_service").await;
    for call in [
        format!("SELECT * FROM recollect.hydrate('a', {hits}, {scope}, true)"),
        format!("SELECT * FROM recollect.hydrate('a', {hits}, {scope}, false)"),
        format!("SELECT * FROM recollect.neighbors('a', {hits}, {scope}, 2, 1)"),
    ] {
        for table in ["messages", "threads"] {
            let read = rows_read_by(&service, table, &call).await;
            assert!((5..100).contains(&read), "{read} rows of {table} by {call}");
        }
    }
}
