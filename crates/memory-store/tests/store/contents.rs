//! What holds content, and when it is erased.

use memory_agent_contract::node::{NewNodeMessage, NodeParent, NodePlace};
use memory_contract::{
    MessageId,
    file::{ContentDigest, InlineContent},
    message::{Part, Role},
};
use memory_objects::{Objects, ObjectsConfig};
use memory_store::{CountedMessage, HeldContent, Node, NodeTurn, Store};
use tempfile::TempDir;
use tokio_postgres::Client;

use crate::world::{World, said};

struct Contents {
    world: World,
    store: Store,
    owner: Client,
    _dir: TempDir,
}

impl Contents {
    async fn new() -> Self {
        let world = World::new().await;
        let dir = tempfile::tempdir().unwrap();
        let mut config = ObjectsConfig::default();
        config.use_directory(dir.path());
        let objects = Objects::open(&config, 50).unwrap();
        Self {
            store: world.store.clone().with_objects(Some(objects)),
            owner: world.owner().await,
            world,
            _dir: dir,
        }
    }

    /// Holds content for a message, or under a claim.
    async fn hold(&self, holder: MessageId, text: &str) -> ContentDigest {
        let digest = ContentDigest::of(text.as_bytes());
        let content = InlineContent {
            mime_type: "text/plain".to_owned(),
            bytes: text.as_bytes().to_vec(),
        };
        let held = HeldContent {
            holder,
            digest,
            content: Some(content),
        };
        let contents = self.store.contents(&self.world.caller);
        assert!(contents.hold(vec![held]).await.unwrap().1.is_empty());
        digest
    }

    async fn is_stored(&self, digest: ContentDigest) -> bool {
        let contents = self.store.contents(&self.world.caller);
        !contents.find(&[digest]).await.unwrap().is_empty()
    }

    /// As if everything had been held long ago.
    async fn age(&self) {
        let sql = "UPDATE recollect.content_holders SET held_at = held_at - interval '1 day'";
        self.owner.batch_execute(sql).await.unwrap();
    }

    async fn settle(&self) -> u64 {
        let workers = &self.world.workers;
        workers
            .contents(&self.store)
            .settle_contents(10)
            .await
            .unwrap()
    }

    async fn add_turn(&self, node: &Node, claim: MessageId) {
        let said = |id: &str| NewNodeMessage {
            id: format!("{id} {claim}"),
            caller_chose_id: true,
            content: "step".to_owned(),
            files: Vec::new(),
            created: None,
        };
        let turn = NodeTurn {
            node: node.clone(),
            app: memory_contract::AppId::new("app"),
            parent: NodeParent::Follow,
            place: NodePlace::Head,
            messages: [said("question"), said("answer")],
            tokens: [1, 1],
            contents: Some(claim),
            request_id: None,
            ttl: None,
        };
        let nodes = self.store.nodes(&self.world.caller);
        nodes.add_node_turn(&turn).await.unwrap();
    }
}

#[tokio::test]
async fn only_messages_that_refer_to_content_hold_it_for_good() {
    let contents = Contents::new().await;
    let thread = contents.world.thread().await.id;
    let id = MessageId::new();
    let named = contents.hold(id, "named").await;
    let refused = contents.hold(id, "of a refused call").await;
    let claimed = contents.hold(MessageId::new(), "of a claim").await;
    let mut message = said(Role::User, "");
    message.message.id = id;
    message.message.parts = vec![Part::text(named.url())];
    let messages: Vec<CountedMessage> = vec![message];
    contents.world.append(thread, messages).await.unwrap();
    assert_eq!(contents.settle().await, 0, "they were held just now");

    contents.age().await;
    assert_eq!(contents.settle().await, 3);
    assert!(contents.is_stored(named).await);
    assert!(!contents.is_stored(refused).await);
    assert!(!contents.is_stored(claimed).await);
    // Another holder is settled alone.
    contents.hold(MessageId::new(), "named").await;
    contents.age().await;
    assert_eq!(contents.settle().await, 1);
    assert!(contents.is_stored(named).await);
    assert_eq!(contents.settle().await, 0);
}

#[tokio::test]
async fn content_of_a_turn_outlives_the_expired_memory_of_its_node() {
    let contents = Contents::new().await;
    let node = Node {
        thread: contents.world.thread().await.id,
        id: "planner".to_owned(),
    };
    let claim = MessageId::new();
    let both = contents.hold(claim, "in both").await;
    let former = contents.hold(claim, "in the first").await;
    contents.add_turn(&node, claim).await;
    let sql = "UPDATE recollect.node_memories SET expires_at = clock_timestamp()";
    contents.owner.batch_execute(sql).await.unwrap();

    let claim = MessageId::new();
    contents.hold(claim, "in both").await;
    contents.add_turn(&node, claim).await;
    assert!(contents.is_stored(both).await);
    assert!(!contents.is_stored(former).await);
    contents.age().await;
    assert_eq!(contents.settle().await, 0, "a node adopts its content");
    let nodes = contents.store.nodes(&contents.world.caller);
    nodes.clear_node(&node).await.unwrap();
    assert!(!contents.is_stored(both).await);
}

#[tokio::test]
async fn a_tenant_that_cannot_be_settled_holds_up_no_other() {
    let contents = Contents::new().await;
    let claimed = contents.hold(MessageId::new(), "x").await;
    let sql = "INSERT INTO recollect.content_holders (tenant_id, holder, digest)
               VALUES ('0', gen_random_uuid()::text, '\\x00'), ('zz', gen_random_uuid()::text, '\\x00');
               CREATE FUNCTION recollect.refuse() RETURNS trigger LANGUAGE plpgsql AS
               'BEGIN RAISE EXCEPTION ''refused''; END';
               CREATE TRIGGER refuse BEFORE DELETE ON recollect.content_holders
               FOR EACH ROW WHEN (OLD.tenant_id IN ('0', 'zz')) EXECUTE FUNCTION recollect.refuse()";
    contents.owner.batch_execute(sql).await.unwrap();
    contents.age().await;
    assert_eq!(contents.settle().await, 1);
    assert!(!contents.is_stored(claimed).await);
}
