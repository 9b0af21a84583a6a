//! Reads the dialogue of a node, cut to a budget of whole turns.

use std::time::Instant;

use memory_agent_contract::node::NodeMessage;
use memory_budget::{Amount, Budget, Cut};
use memory_contract::{
    ThreadId,
    file::FileRef as File,
    message::{Content, Message, Part},
};
use memory_store::{Caller, Node, Store};

use crate::error::ContextError;
use crate::files::KnownFiles;
use crate::history;

/// The dialogue of a node that leads to a message.
#[derive(Debug, Default)]
pub struct Dialogue {
    /// Whole turns, the oldest first.
    pub messages: Vec<NodeMessage>,
    /// Their size, counted with the tokenizer of the budget.
    pub total_tokens: i32,
    /// Whether older turns were left out.
    pub truncated: bool,
    /// Whether texts were shortened.
    pub content_truncated: bool,
    /// The messages that were left out, and the tokens that were shortened off texts.
    pub omitted: Amount,
}

/// The newest turns of a node's dialogue that lead to the message `current` (empty: the
/// newest message) and fit into the budget. Bytes are not limited. Reads of object storage
/// end at `deadline`.
pub(crate) async fn dialogue(
    store: &Store,
    caller: &Caller,
    node: &Node,
    current: &str,
    budget: Budget,
    deadline: Instant,
) -> Result<Dialogue, ContextError> {
    let (ids, cut) = read(store, caller, node, current, budget, deadline).await?;
    Ok(Dialogue::of(ids, cut))
}

/// The newest turns of a node's dialogue that lead to the message `current` (empty: the
/// newest message), as many as fit into the budget and, with the metadata of their files,
/// into one answer. Reads of object storage end at `deadline`.
///
/// # Errors
/// `current_message_id` is not stored, a turn is too large and the budget asks to fail
/// then, or the database or object storage fails.
pub async fn read_dialogue(
    store: &Store,
    caller: &Caller,
    node: &Node,
    current: &str,
    budget: Budget,
    deadline: Instant,
) -> Result<(Dialogue, KnownFiles), ContextError> {
    let (ids, cut) = read(store, caller, node, current, budget, deadline).await?;
    let (cut, known) = history::fitting(store, caller, cut, budget).await?;
    Ok((Dialogue::of(ids, cut), known))
}

async fn read(
    store: &Store,
    caller: &Caller,
    node: &Node,
    current: &str,
    budget: Budget,
    deadline: Instant,
) -> Result<(Vec<Ids>, Cut), ContextError> {
    let nodes = store.nodes(caller);
    let path = nodes.node_dialogue(node, current, deadline).await;
    let path = path.map_err(|error| ContextError::naming(error, "current_message_id"))?;
    let (ids, messages) = as_messages(node.thread, path);
    Ok((ids, history::cut_whole(Vec::new(), messages, budget).await?))
}

impl Dialogue {
    fn of(ids: Vec<Ids>, cut: Cut) -> Self {
        let Cut {
            instructions: _,
            messages,
            total_tokens,
            truncated,
            content_truncated,
            omitted,
            needs_older: _,
        } = cut;
        Self {
            messages: with_ids(ids, messages),
            total_tokens,
            truncated,
            content_truncated,
            omitted,
        }
    }
}

/// The content and files of a node's message as parts.
pub fn parts_of(content: String, files: Vec<File>) -> Vec<Part> {
    let text = Some(content).filter(|content| !content.is_empty());
    text.map(Part::text)
        .into_iter()
        .chain(files.into_iter().map(|file| Content::File(file).into()))
        .collect()
}

/// The ids of a message, which cutting does not need.
struct Ids {
    id: String,
    parent: Option<String>,
    thread_message: Option<String>,
}

/// The messages in the form that `memory_budget` cuts. Their seq is their index.
fn as_messages(thread: ThreadId, path: Vec<NodeMessage>) -> (Vec<Ids>, Vec<Message>) {
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
                thread_message,
                created,
            } = message;
            let message = Message {
                thread,
                seq: place,
                tokens,
                created,
                ..Message::new(role, parts_of(content, files))
            };
            let ids = Ids {
                id,
                parent,
                thread_message,
            };
            (ids, message)
        })
        .unzip()
}

/// Reverts [`as_messages`] for the messages that are left.
fn with_ids(ids: Vec<Ids>, messages: Vec<Message>) -> Vec<NodeMessage> {
    let mut ids: Vec<Option<Ids>> = ids.into_iter().map(Some).collect();
    messages
        .into_iter()
        .filter_map(|message| {
            let place = usize::try_from(message.seq).ok()?;
            let Ids {
                id,
                parent,
                thread_message,
            } = ids.get_mut(place)?.take()?;
            let (mut content, mut files) = (String::new(), Vec::new());
            for part in message.parts {
                match part.content {
                    Content::Text(text) => content = text,
                    Content::File(file) => files.push(file),
                    // A node's message has text and files alone.
                    _ => {}
                }
            }
            Some(NodeMessage {
                id,
                parent,
                role: message.role,
                content,
                files,
                tokens: message.tokens,
                thread_message,
                created: message.created,
            })
        })
        .collect()
}
