//! The memories of nodes.

use std::time::Duration;

use memory_contract::Invalid;
use memory_contract::proto::{
    AddNodeTurnRequest, ExportedNode, FlushNodeMemoryRequest, NodeMessage, NodeRef, Role,
    add_node_turn_request::{Parent, Place},
};
use memory_grpc::{ApiError, Deadline};
use memory_store::{NodeError, StoreError};
use tokio::time::Instant;

use super::errors::{orphan, renamed};
use super::open::OpenNode;
use super::state::Import;
use super::tally::Outcome;

/// How long an import waits for another flush of a node.
const FLUSH_TIME: Duration = Duration::from_secs(30);

impl Import {
    pub(super) fn open_node(&mut self, node: ExportedNode) -> Result<(), ApiError> {
        let thread = self.thread_of("node")?;
        if node.unreadable {
            let problem = format!(
                "has no content: the memory of the node {} could not be read when it was exported",
                node.node_id
            );
            return Err(Invalid::new("record.node", problem).into());
        }
        thread.node = Some(OpenNode {
            id: node.node_id,
            ..OpenNode::default()
        });
        Ok(())
    }

    /// Stores a turn when both of its messages are there.
    pub(super) async fn node_message(
        &mut self,
        position: i64,
        message: NodeMessage,
    ) -> Result<(), ApiError> {
        let node = self.thread.as_mut().and_then(|thread| thread.node.as_mut());
        let Some(node) = node else {
            return self.refuse(position, orphan("node_message", "node"));
        };
        if message.role() == Role::User {
            return match node.asked.replace((position, message)) {
                None => Ok(()),
                Some((earlier, _)) => self.refuse(earlier, unanswered()),
            };
        }
        match node.asked.take() {
            Some((_, asked)) if asked.message_id == message.parent_message_id => {
                let added = self.add_turn(asked, message).await;
                match added {
                    Ok(outcome) => {
                        self.tally
                            .add(outcome, 2, |counts| &mut counts.node_message_count);
                        Ok(())
                    }
                    Err(error) => self.refuse(position, error),
                }
            }
            asked => {
                if let Some((earlier, _)) = asked {
                    self.refuse(earlier, unanswered())?;
                }
                let problem = "must answer the record before it";
                let field = "record.node_message.parent_message_id";
                self.refuse(position, Invalid::new(field, problem))
            }
        }
    }

    async fn add_turn(
        &mut self,
        asked: NodeMessage,
        answer: NodeMessage,
    ) -> Result<Outcome, ApiError> {
        let new_ids = self.options.new_ids;
        let thread = self.thread_of("node_message")?;
        let place = thread.id_of(&answer.thread_message_id);
        let thread_id = thread.id.clone();
        let node = thread.node.as_mut();
        let node = node.ok_or_else(|| orphan("node_message", "node"))?;
        let parent = node.ids.get(&asked.parent_message_id);
        let parent = parent.unwrap_or(&asked.parent_message_id).clone();
        let (user, assistant) = (node.side(asked, new_ids), node.side(answer, new_ids));
        let mut request = AddNodeTurnRequest {
            node: Some(NodeRef {
                thread: Some(thread_id.clone().into()),
                node_id: node.id.clone(),
            }),
            parent: Some(match parent.is_empty() {
                true => Parent::Root(()),
                false => Parent::ParentMessageId(parent),
            }),
            user: Some(user),
            assistant: Some(assistant),
            request_id: String::new(),
            place: Some(match place.is_empty() {
                true => Place::ThreadStart(()),
                false => Place::MessageId(place),
            }),
        };
        request.request_id = self.request_id(&thread_id, std::slice::from_ref(&request));
        let added = self.handlers.nodes.add(self.call(request)).await;
        let outcome = match added {
            Ok(added) => Outcome::of(added.replayed),
            // By an earlier import, so long ago that its request is forgotten.
            Err(ApiError::Store(StoreError::Node(NodeError::MessageExists { .. }))) => {
                Outcome::Known
            }
            Err(error) => return Err(renamed(error, "assistant", "node_message")),
        };
        if let Some(node) = self.thread.as_mut().and_then(|thread| thread.node.as_mut()) {
            node.added = true;
        }
        Ok(outcome)
    }

    /// Ends a node: its turns are merged into its object, as far as that is possible now.
    pub(super) async fn close_node(&mut self) -> Result<(), ApiError> {
        let Some(thread) = &mut self.thread else {
            return Ok(());
        };
        let Some(node) = thread.node.take() else {
            return Ok(());
        };
        let thread_id = thread.id.clone();
        if let Some((position, _)) = node.asked {
            self.refuse(position, unanswered())?;
        }
        if !node.added {
            return Ok(());
        }
        let mut request = self.call(FlushNodeMemoryRequest {
            node: Some(NodeRef {
                thread: Some(thread_id.into()),
                node_id: node.id,
            }),
        });
        let deadline = Deadline(Instant::now() + FLUSH_TIME);
        request.extensions_mut().insert(deadline);
        // The turns are stored; a worker merges them if this fails.
        if let Err(error) = self.handlers.nodes.flush(request).await {
            tracing::warn!(%error, "an imported node's memory is not merged yet");
        }
        Ok(())
    }
}

fn unanswered() -> Invalid {
    Invalid::new("record.node_message", "has no answer after it")
}
