//! Adds a turn to a node's memory.

use std::time::Duration;

use memory_agent_contract::node::{NewNodeMessage, NodeMessage, NodeParent, NodePlace};
use memory_contract::{AppId, MessageId, RequestId, message::Role};
use memory_database::{
    AppendError, NodeError, StoreError,
    rows::{column, only, unknown_status},
};
use memory_postgres::{Params, query};
use serde_json::json;
use sha2::{Digest as _, Sha256};
use time::OffsetDateTime;
use tokio_postgres::types::Json;

use super::{Node, StoredMessage};
use crate::NodeStore;

/// A turn to add.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeTurn {
    /// The node to add to.
    pub node: Node,
    /// The app of its conversation.
    pub app: AppId,
    /// The message that the turn follows.
    pub parent: NodeParent,
    /// Where it belongs in the conversation.
    pub place: NodePlace,
    /// The user's message and the node's answer.
    pub messages: [NewNodeMessage; 2],
    /// Their sizes in `o200k_base` tokens, frame included.
    pub tokens: [i32; 2],
    /// The claim to the content of the messages; `None` where they have none.
    pub contents: Option<MessageId>,
    /// Makes a retry safe.
    pub request_id: Option<RequestId>,
    /// How long the memory stays after this turn; `None` without end.
    pub ttl: Option<Duration>,
}

/// How the messages of a turn are named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddedTurn {
    /// The id of the user's message.
    pub user: String,
    /// The id of the answer.
    pub assistant: String,
    /// Whether the request id was known, so that nothing was added.
    pub replayed: bool,
}

impl NodeStore<'_> {
    /// Adds a turn to the memory of a node, in one round trip and one
    /// transaction. It waits for no object.
    ///
    /// # Errors
    /// `ThreadNotFound`, `AppendError::RequestReused`, `NodeError::ParentNotFound`,
    /// `NodeError::MessageExists`, `NodeError::Full`, `NoObjectStore`: nothing was
    /// stored. After `Unavailable` it may have been; a request id makes the
    /// retry safe.
    pub async fn add_node_turn(self, turn: &NodeTurn) -> Result<AddedTurn, StoreError> {
        let tenant = &self.caller.tenant;
        let max_bytes = self.store.require_objects()?.config().max_object_bytes;
        let hash = turn.request_id.map(|_| content_hash(turn));
        let NodeTurn {
            node,
            app,
            parent,
            place,
            messages,
            tokens,
            contents,
            request_id,
            ttl,
        } = turn;
        let stored = stored(messages, *tokens);
        let thread_message = match place {
            NodePlace::Message(id) => Some(id.as_str()),
            NodePlace::Head | NodePlace::Start => None,
        };
        // As it will be in the object, with its comma.
        let bytes =
            serde_json::to_vec(&stored).map_or(0, |json| json.len()) + messages[0].id.len() + 128;
        let [user, assistant] = messages;
        let chosen = [user.caller_chose_id, assistant.caller_chose_id];
        let chosen_parent = match parent {
            NodeParent::Message(id) => Some(id.as_str()),
            NodeParent::Follow | NodeParent::Root => None,
        };
        let params: Params<'_> = &[
            &tenant.as_str(),
            &self.caller.actor,
            &node.thread.uuid(),
            &node.id,
            &node.object_key(tenant, app),
            &chosen_parent,
            &(*parent == NodeParent::Root),
            &thread_message,
            &(*place == NodePlace::Start),
            &user.id,
            &assistant.id,
            &chosen.as_slice(),
            &Json(&stored),
            &i32::try_from(bytes).unwrap_or(i32::MAX),
            &i64::try_from(max_bytes).unwrap_or(i64::MAX),
            &ttl.map(|ttl| ttl.as_secs_f64()),
            &request_id.map(RequestId::uuid),
            &hash,
            &contents.map(|claim| claim.to_string()),
        ];
        let row = only(
            self.store
                .pool
                .call(self.caller, query!("nodes/add_turn"), params)
                .await?,
        )?;
        match column(&row, "status")? {
            status @ ("ok" | "replayed") => Ok(AddedTurn {
                user: column(&row, "user_id")?,
                assistant: column(&row, "assistant_id")?,
                replayed: status == "replayed",
            }),
            "thread_not_found" => Err(StoreError::ThreadNotFound),
            "request_reused" => Err(StoreError::Append(AppendError::RequestReused)),
            "parent_not_found" => Err(StoreError::Node(NodeError::ParentNotFound)),
            "message_exists" => Err(StoreError::Node(NodeError::MessageExists {
                id: column(&row, "fault_id")?,
            })),
            "full" => Err(StoreError::Node(NodeError::Full { max_bytes })),
            other => Err(unknown_status(other)),
        }
    }
}

/// Both messages as they are stored. The parents and the message of the thread are put in
/// when they are folded: the database alone knows them.
fn stored(messages: &[NewNodeMessage; 2], tokens: [i32; 2]) -> Vec<StoredMessage> {
    let now = now();
    messages
        .iter()
        .zip([Role::User, Role::Assistant])
        .zip(tokens)
        .map(|((message, role), tokens)| {
            let NewNodeMessage {
                id,
                caller_chose_id: _,
                content,
                files,
                created,
            } = message;
            NodeMessage {
                id: id.clone(),
                parent: None,
                role,
                content: content.clone(),
                files: files.clone(),
                tokens,
                thread_message: None,
                created: created.unwrap_or(now),
            }
            .into()
        })
        .collect()
}

/// To the microsecond, as the times of callers are.
fn now() -> OffsetDateTime {
    let now = OffsetDateTime::now_utc();
    now.replace_nanosecond(now.microsecond() * 1_000)
        .unwrap_or(now)
}

/// SHA-256 of a request's content: of each message all that the caller
/// chose. Ids generated by the server are left out, because a retry gets other ones.
fn content_hash(turn: &NodeTurn) -> Vec<u8> {
    let message = |message: &NewNodeMessage| {
        let NewNodeMessage {
            id,
            caller_chose_id,
            content,
            files,
            created,
        } = message;
        json!([
            caller_chose_id.then_some(id),
            content,
            files,
            created.map(|time| time.unix_timestamp_nanos().to_string()),
        ])
    };
    let parent = match &turn.parent {
        NodeParent::Follow => json!("follow"),
        NodeParent::Root => json!("root"),
        NodeParent::Message(id) => json!({ "message": id }),
    };
    let place = match &turn.place {
        NodePlace::Head => json!("head"),
        NodePlace::Start => json!("start"),
        NodePlace::Message(id) => json!({ "message": id }),
    };
    let content = json!([
        turn.node.thread,
        turn.node.id,
        parent,
        place,
        message(&turn.messages[0]),
        message(&turn.messages[1]),
    ]);
    Sha256::digest(content.to_string()).to_vec()
}
