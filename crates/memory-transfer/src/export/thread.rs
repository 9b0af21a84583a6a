//! A thread with everything that belongs to it.

use std::collections::HashSet;

use memory_agent_contract::node::NodeMessage;
use memory_context::restore_contents;
use memory_contract::proto::ExportedNode;
use memory_contract::proto::record::Kind;
use memory_contract::{
    ThreadId,
    file::{FileLocation, FileRef},
    limits,
    message::{Message, MessageFilter, Part},
    thread::Thread,
};
use memory_grpc::ApiError;
use memory_store::{Lookup, MessageQuery, Node, NodeError, Order, StoreError};

use super::Export;
use super::output::{Output, Stop};
use crate::transfers::CONTENT_BYTES;

const MESSAGES: u32 = 200;
const NODES: u32 = 100;

impl Export {
    /// Sends a thread with its messages, the memories of its nodes, its plan, attempts, events and
    /// checkpoints. If it is erased or expires meanwhile, its records end early.
    pub(super) async fn send_thread(
        &self,
        thread: Thread,
        output: &mut Output,
    ) -> Result<(), Stop> {
        match self.send_all_of(thread, output).await {
            Err(Stop::Failed(error)) if is_gone(&error) => Ok(()),
            ended => ended,
        }
    }

    async fn send_all_of(&self, thread: Thread, output: &mut Output) -> Result<(), Stop> {
        let (id, last_seq) = (thread.id, thread.last_seq);
        let mut query = MessageQuery {
            thread: id,
            filter: MessageFilter::default(),
            order: Order::Ascending,
            after: None,
            limit: MESSAGES,
            max_bytes: u32::try_from(limits::PAGE_BYTES).unwrap_or(u32::MAX),
        };
        let mut record = Some(Kind::Thread(thread.into()));
        let mut files_sent = HashSet::new();
        let mut before = None;
        loop {
            let page = self
                .store
                .messages(&self.caller)
                .list_messages(&query)
                .await?;
            let mut messages = page.items;
            // The head does not include messages that came after the thread was read.
            messages.retain(|message| message.seq <= last_seq);
            let repaired =
                self.store
                    .messages(&self.caller)
                    .repair_parents(id, before, &mut messages);
            repaired.await?;
            before = messages.last().map(|message| message.id).or(before);
            if let Some(record) = record.take() {
                output.send(record).await?;
            }
            self.send_files_of(references(&messages), &mut files_sent, output)
                .await?;
            for mut message in messages {
                let files = message.parts.iter_mut().flat_map(Part::files_mut);
                self.restore(files.collect()).await?;
                output.send(Kind::Message(message.into())).await?;
            }
            match page.next {
                Some(next) if next < last_seq => query.after = Some(next),
                _ => break,
            }
        }
        self.send_nodes(id, &mut files_sent, output).await?;
        self.send_plan(id, output).await
    }

    async fn send_nodes(
        &self,
        thread: ThreadId,
        files_sent: &mut HashSet<FileLocation>,
        output: &mut Output,
    ) -> Result<(), Stop> {
        let mut after = Some(0);
        while let Some(key) = after {
            let page = self
                .store
                .nodes(&self.caller)
                .list_node_memories(thread, key, NODES)
                .await?;
            for memory in page.items {
                let node = Node {
                    thread,
                    id: memory.node,
                };
                self.send_node(node, files_sent, output).await?;
            }
            after = page.next;
        }
        Ok(())
    }

    async fn send_node(
        &self,
        node: Node,
        files_sent: &mut HashSet<FileLocation>,
        output: &mut Output,
    ) -> Result<(), Stop> {
        let messages = match self.store.nodes(&self.caller).node_messages(&node).await {
            Ok(messages) => Some(messages),
            // One corrupt object must not fail the export of the others.
            Err(StoreError::Node(NodeError::Corrupt {
                object_key,
                kept_as,
                why,
            })) => {
                tracing::error!(object_key, kept_as, why, "a node's memory is not exported");
                None
            }
            Err(error) => return Err(error.into()),
        };
        let unreadable = messages.is_none();
        let messages = messages.unwrap_or_default();
        if messages.is_empty() && !unreadable {
            // It was cleared since it was listed.
            return Ok(());
        }
        self.send_files_of(node_references(&messages), files_sent, output)
            .await?;
        let record = ExportedNode {
            node_id: node.id,
            unreadable,
        };
        output.send(Kind::Node(record)).await?;
        for mut message in messages {
            self.restore(message.files.iter_mut().collect()).await?;
            output.send(Kind::NodeMessage(message.into())).await?;
        }
        Ok(())
    }

    /// Puts content back that was sent in `data:` URLs: another server has none of it.
    async fn restore(&self, files: Vec<&mut FileRef>) -> Result<(), StoreError> {
        restore_contents(&self.store, &self.caller, files, CONTENT_BYTES).await
    }

    /// Sends what is registered of the files that are referred to, once a thread;
    /// nothing where all files are sent anyway.
    async fn send_files_of<'a>(
        &self,
        references: impl Iterator<Item = &'a FileLocation>,
        sent: &mut HashSet<FileLocation>,
        output: &mut Output,
    ) -> Result<(), Stop> {
        if self.is_whole() {
            return Ok(());
        }
        let mut wanted: Vec<FileLocation> = Vec::new();
        for location in references {
            if sent.insert(location.clone()) {
                wanted.push(location.clone());
            }
        }
        while !wanted.is_empty() {
            let found = self.store.files(&self.caller).files_of(&wanted).await?;
            let mut unread = Vec::new();
            for location in wanted {
                match found.get(&location) {
                    Lookup::Known(file) => output.send(Kind::File(file.clone().into())).await?,
                    Lookup::Unknown => {}
                    // They are read a few megabytes at a time.
                    Lookup::Unread => unread.push(location),
                }
            }
            wanted = unread;
        }
        Ok(())
    }
}

fn is_gone(error: &ApiError) -> bool {
    matches!(error, ApiError::Store(StoreError::ThreadNotFound))
}

fn references(messages: &[Message]) -> impl Iterator<Item = &FileLocation> {
    let parts = messages.iter().flat_map(|message| &message.parts);
    parts.flat_map(Part::files).map(|file| &file.location)
}

fn node_references(messages: &[NodeMessage]) -> impl Iterator<Item = &FileLocation> {
    messages
        .iter()
        .flat_map(|message| &message.files)
        .map(|file| &file.location)
}
