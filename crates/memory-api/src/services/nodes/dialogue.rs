//! A node's dialogue, cut to a budget.

use memory_budget::{Budget, Cut};
use memory_contract::{FileRef as File, Message, MessageId, NodeMessage, Part, TenantId, ThreadId};
use memory_store::{Node, Store};
use serde_json::Map;

use crate::error::ApiError;
use crate::services::files::KnownFiles;
use crate::services::history;

/// The dialogue of a node that leads to a message, cut to a budget.
#[derive(Debug, Default)]
pub(in crate::services) struct Dialogue {
    /// Whole turns in the order in which they were said.
    pub(in crate::services) messages: Vec<NodeMessage>,
    /// Their size by the budget's tokenizer.
    pub(in crate::services) total_tokens: i32,
    pub(in crate::services) truncated: bool,
    pub(in crate::services) content_truncated: bool,
}

/// Reads a node's dialogue, however many bytes it takes. An empty `current` reads
/// from the message added last.
pub(in crate::services) async fn dialogue(
    store: &Store,
    tenant: &TenantId,
    node: &Node,
    current: &str,
    budget: Budget,
) -> Result<Dialogue, ApiError> {
    let (names, cut) = read(store, tenant, node, current, budget).await?;
    Ok(Dialogue::of(names, cut))
}

/// Like [`dialogue`], as much as fits into an answer with what is known of its
/// files.
pub(super) async fn with_files(
    store: &Store,
    tenant: &TenantId,
    node: &Node,
    current: &str,
    budget: Budget,
) -> Result<(Dialogue, KnownFiles), ApiError> {
    let (names, cut) = read(store, tenant, node, current, budget).await?;
    let (cut, known) = history::fitting(store, tenant, cut, budget).await?;
    Ok((Dialogue::of(names, cut), known))
}

async fn read(
    store: &Store,
    tenant: &TenantId,
    node: &Node,
    current: &str,
    budget: Budget,
) -> Result<(Vec<Names>, Cut), ApiError> {
    let path = store.node_dialogue(tenant, node, current).await;
    let path = path.map_err(|error| ApiError::from(error).naming("current_message_id"))?;
    let (names, messages) = as_messages(node.thread, path);
    Ok((names, history::cut_whole(messages, budget).await?))
}

impl Dialogue {
    fn of(names: Vec<Names>, cut: Cut) -> Self {
        let Cut {
            messages,
            total_tokens,
            truncated,
            content_truncated,
            needs_older: _,
        } = cut;
        Self {
            messages: named(names, messages),
            total_tokens,
            truncated,
            content_truncated,
        }
    }
}

/// What a message of a node has as its parts.
pub(super) fn parts_of(content: String, files: Vec<File>) -> Vec<Part> {
    let text = Some(content).filter(|content| !content.is_empty());
    text.map(Part::Text)
        .into_iter()
        .chain(files.into_iter().map(Part::File))
        .collect()
}

/// The names of a message, which the budget does not look at.
struct Names {
    id: String,
    parent: Option<String>,
}

/// The messages as the budget knows messages. Their seq is their place.
fn as_messages(thread: ThreadId, path: Vec<NodeMessage>) -> (Vec<Names>, Vec<Message>) {
    path.into_iter()
        .zip(0_i64..)
        .map(|(message, place)| {
            let NodeMessage {
                id,
                parent,
                role,
                content,
                files,
                tokens,
                created,
            } = message;
            let message = Message {
                id: MessageId::new(),
                thread,
                parent: None,
                seq: place,
                branch: 1,
                depth: 1,
                role,
                name: String::new(),
                parts: parts_of(content, files),
                metadata: Map::new(),
                tokens,
                created,
            };
            (Names { id, parent }, message)
        })
        .unzip()
}

/// The messages as they were before [`as_messages`], those that are left.
fn named(names: Vec<Names>, messages: Vec<Message>) -> Vec<NodeMessage> {
    let mut names: Vec<Option<Names>> = names.into_iter().map(Some).collect();
    messages
        .into_iter()
        .filter_map(|message| {
            let place = usize::try_from(message.seq).ok()?;
            let Names { id, parent } = names.get_mut(place)?.take()?;
            let (mut content, mut files) = (String::new(), Vec::new());
            for part in message.parts {
                match part {
                    Part::Text(text) => content = text,
                    Part::File(file) => files.push(file),
                    Part::Json(_) | Part::ToolCall(_) | Part::ToolResult(_) => {}
                }
            }
            Some(NodeMessage {
                id,
                parent,
                role: message.role,
                content,
                files,
                tokens: message.tokens,
                created: message.created,
            })
        })
        .collect()
}
