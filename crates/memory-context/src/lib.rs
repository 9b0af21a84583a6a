#![doc = include_str!("../README.md")]

pub mod counting;
pub mod quote;
pub mod template;
pub mod working;

mod briefing;
mod context;
mod derived;
mod dialogue;
mod error;
mod excerpt;
mod files;
mod fit;
mod history;
mod inline;
mod plan;
mod profile;
mod resolve;
mod sending;

pub use briefing::{Briefing, BriefingCut, BriefingPart, BriefingRequest, build_briefing};
pub use context::{
    Block, BlockCut, BlockKind, BlockSource, Context, ContextMessage, ContextRequest, Omission,
    SourceId, StoredMessage, build_context, query_of,
};
pub use dialogue::{Dialogue, parts_of, read_dialogue};
pub use error::ContextError;
pub use files::KnownFiles;
pub use history::{read_history, render_history};
pub use inline::{
    claim_contents, claim_node_contents, erase_unwritten, read_contents, restore_contents,
    store_contents,
};
pub use profile::{Profile, ProfileEntry, read_profile};
pub use resolve::{Conversation, Place, Resolved, Searched, effective_policy, resolve};
