//! From stored messages and memories to points.

use memory_contract::TenantId;
use memory_store::{IndexRecord, MemoryRecord};

use super::{Change, MemoryPoint, Point};
use crate::text::{self, Form};

impl Point {
    /// The point of a message, without a dense vector.
    pub(crate) fn of(tenant: &TenantId, record: IndexRecord) -> Self {
        let IndexRecord {
            message,
            previous,
            app,
            user,
            thread_ordinal: _,
        } = record;
        Self {
            lexical: text::lexical_document(&message, &previous),
            question: text::is_question(&message),
            short: text::is_short(&message),
            form: Form::of(&message),
            message: message.id,
            tenant: tenant.clone(),
            app,
            user,
            thread: message.thread,
            seq: message.seq,
            branch: message.branch,
            depth: message.depth,
            role: message.role,
            name: message.name,
            said: message.created,
            metadata: message.metadata,
            dense: None,
        }
    }
}

impl MemoryPoint {
    /// The point of a memory, without a dense vector.
    pub(crate) fn of(tenant: &TenantId, memory: MemoryRecord) -> Self {
        let labels = memory.topics.iter().chain(&memory.entities);
        let texts = std::iter::once(&memory.text).chain(labels);
        Self {
            lexical: text::lexical_memory(texts.map(String::as_str), memory.event),
            tenant: tenant.clone(),
            memory,
            dense: None,
        }
    }
}

impl Change {
    /// Gives the point that it adds a dense vector.
    pub(crate) fn set_dense(&mut self, vector: Vec<f32>) {
        match self {
            Self::Upsert(point) => point.dense = Some(vector),
            Self::UpsertMemory(point) => point.dense = Some(vector),
            Self::Delete { .. } | Self::Purge { .. } => {}
        }
    }
}
