//! Converts contexts to protobuf.

use memory_context::{
    Block, BlockCut, BlockKind, BlockSource, Context, ContextMessage, KnownFiles, Omission,
    SourceId, StoredMessage,
};
use memory_contract::convert::timestamp;
use memory_contract::proto::{self, BuildContextResponse, ContextBlockKind};

use crate::files::{add_metadata, references_in};
use crate::recall::{degradation, named_time, omission_reason, reason, searched_by};

/// A context with the metadata of its files.
pub(super) fn of(context: Context, files: &KnownFiles, explain: bool) -> BuildContextResponse {
    let Context {
        blocks,
        total_tokens,
        max_tokens,
        tokenizer,
        policy,
        omitted,
        method,
        named_times,
        pending,
        cuts,
        degradations,
        rendered,
        hash,
    } = context;
    let mut blocks: Vec<proto::ContextBlock> = blocks.into_iter().map(block).collect();
    let messages = blocks.iter_mut().flat_map(|block| &mut block.messages);
    for reference in messages.flat_map(|message| references_in(&mut message.parts)) {
        add_metadata(reference, files);
    }
    BuildContextResponse {
        blocks,
        total_tokens,
        max_tokens,
        cuts: cuts.into_iter().map(cut).collect(),
        tokenizer: tokenizer.name().to_owned(),
        effective_policy: explain.then(|| policy.into()),
        omitted: match explain {
            true => omitted.into_iter().map(omission).collect(),
            false => Vec::new(),
        },
        method: searched_by(method),
        named_times: named_times.into_iter().map(named_time).collect(),
        pending_count: i64::try_from(pending).unwrap_or(i64::MAX),
        degradations: degradations.into_iter().map(degradation).collect(),
        rendered: rendered.into_iter().map(Into::into).collect(),
        hash,
    }
}

fn block(block: Block) -> proto::ContextBlock {
    let (token_count, hash) = (block.tokens(), block.hash().to_owned());
    let Block {
        kind,
        messages,
        sources,
        truncated,
        content_truncated,
        ..
    } = block;
    proto::ContextBlock {
        kind: block_kind(kind).into(),
        messages: messages.into_iter().map(message).collect(),
        token_count,
        hash,
        sources: sources.into_iter().map(source).collect(),
        truncated,
        content_truncated,
    }
}

fn block_kind(kind: BlockKind) -> ContextBlockKind {
    match kind {
        BlockKind::System => ContextBlockKind::System,
        BlockKind::Instructions => ContextBlockKind::Instructions,
        BlockKind::Profile => ContextBlockKind::Profile,
        BlockKind::Derived => ContextBlockKind::Distilled,
        BlockKind::Memories => ContextBlockKind::Memories,
        BlockKind::Recalled => ContextBlockKind::Recalled,
        BlockKind::Recent => ContextBlockKind::Recent,
        BlockKind::Node => ContextBlockKind::Node,
        BlockKind::Plan => ContextBlockKind::Plan,
        BlockKind::Input => ContextBlockKind::Input,
    }
}

fn message(message: ContextMessage) -> proto::ContextMessage {
    let ContextMessage {
        role,
        name,
        parts,
        stored,
        tokens,
    } = message;
    let (message_id, create_time) = match stored {
        Some(StoredMessage { id, created }) => (id, Some(timestamp(created))),
        None => (String::new(), None),
    };
    proto::ContextMessage {
        role: proto::Role::from(role).into(),
        name,
        parts: parts.into_iter().map(proto::Part::from).collect(),
        message_id,
        token_count: tokens,
        create_time,
    }
}

fn source(source: BlockSource) -> proto::ContextSource {
    let BlockSource {
        id,
        thread,
        reasons,
        rank,
        score,
    } = source;
    let (message_id, memory_id, number) = ids(id);
    proto::ContextSource {
        message_id,
        memory_id,
        number,
        thread_id: thread.map(|id| id.to_string()).unwrap_or_default(),
        reasons: reasons.into_iter().map(reason).collect(),
        rank: i32::try_from(rank).unwrap_or(i32::MAX),
        score,
    }
}

fn omission(omission: Omission) -> proto::ContextOmission {
    let Omission {
        kind,
        id,
        reason,
        score,
    } = omission;
    let (message_id, memory_id, number) = ids(id);
    proto::ContextOmission {
        kind: block_kind(kind).into(),
        message_id,
        reason: omission_reason(reason).into(),
        score,
        memory_id,
        number,
    }
}

fn cut(cut: BlockCut) -> proto::ContextCut {
    let BlockCut { kind, omitted } = cut;
    proto::ContextCut {
        kind: block_kind(kind).into(),
        item_count: omitted.count,
        token_count: omitted.tokens,
    }
}

/// `message_id`, `memory_id` and `number`, of which one is set.
fn ids(id: SourceId) -> (String, String, i64) {
    match id {
        SourceId::Message(id) => (id, String::new(), 0),
        SourceId::Memory(id) => (String::new(), id.to_string(), 0),
        SourceId::Derived(number) => (String::new(), String::new(), number),
    }
}
