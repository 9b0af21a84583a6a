#![doc = include_str!("../README.md")]
#![allow(
    missing_docs,
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    clippy::panic,
    reason = "a harness fails a test by panicking"
)]

mod binary;
mod calls;
mod certificates;
mod cli;
mod client;
mod clock;
pub mod clusters;
mod contexts;
mod data_dir;
mod deletions;
mod durations;
mod dynamic;
mod embedding_model;
mod failure;
mod features;
mod freshness;
mod http;
mod language_model;
mod mcp;
mod memories;
mod messages;
mod nodes;
mod plans;
mod pooler;
mod postgres;
mod process;
mod provider;
mod qdrant;
mod raw;
mod real_model;
mod receiver;
mod s3;
mod schemas;
mod scratch;
mod server;
mod shared;
mod short_calls;
mod skipped;
mod slots;
mod small_disk;
mod stand_in;
mod trial;
mod valid_requests;
mod wait;
mod watching;

#[doc(hidden)]
pub use inventory;
pub use macro_rules_attribute::apply;

pub use self::http::{Envelope, Http, HttpAnswer, envelopes, framed};
pub use binary::{built_binary, project_dir, recollect_binary, setup_tool};
pub use calls::Call;
pub use certificates::{Authority, Certificate};
pub use cli::{Finished, Spawned, recollect, recollect_at, recollect_reading, run_to_end};
pub use client::{Client, Key};
pub use clock::Clock;
pub use contexts::{
    block, block_texts, body, body_json, chat_messages, check_context, context_request, cut,
    domain, kinds, mode, profile_texts, quoted_texts, quotes, records,
};
pub use data_dir::DataDir;
pub use deletions::erased;
pub use dynamic::Dynamic;
pub use embedding_model::{AskedEmbedding, EMBEDDING_DIMENSIONS, Embedding, EmbeddingModel};
pub use failure::{Failure, Refused};
pub use features::{Ending, Endings, Promise, mismatches, promises, report, row_of};
pub use freshness::{at_least, at_least_within, eventual, fresh_from, fresh_wait};
pub use language_model::{ANSWER_COSTS, Answering, AskedModel, LanguageModel};
pub use mcp::{Mcp, ToolAnswer, initialize, mcp_post};
pub use memories::{known_texts, listed, memory, memory_search, memory_texts};
pub use messages::{
    app, by_id, by_session, file, has_etag, has_reason, history_request, ids, is_absent, mask,
    metadata, of_user, parsed, recall_request, reply, say, search_request, seconds, session,
    target_app, target_session, target_thread, target_user, text_of, texts, tool_call, tool_result,
    turn, with_parts,
};
pub use nodes::{node, node_texts, node_turn, says, thread_of};
pub use plans::{attempt, briefing_request, plan, put, put_any, sections};
pub use pooler::drop_options;
pub use postgres::Cluster;
pub use process::{HTTP_2_GREETING, bare_command, free_addr, http_get, runs, send_signal};
pub use provider::{AskedProvider, Provider, ProviderAnswer, ProviderApi};
pub use qdrant::{Fault, Qdrant};
pub use raw::raw_call;
pub use real_model::RealModel;
pub use receiver::{Delivery, Receiver, ReceiverAnswer};
pub use s3::{S3, S3Fault};
pub use schemas::{check_model_request, check_rendered};
pub use server::{GUARD, Options, Ready, Server};
pub use shared::{BULK, PLAIN, SHARED, Shared};
pub use short_calls::USER_DEFAULT;
pub use skipped::Skipped;
pub use small_disk::SmallDisk;
pub use trial::{Outcome, Registered, run_trials};
pub use valid_requests::VALID_REQUESTS;
pub use wait::{SOON, eventually, eventually_some};
pub use watching::{Events, Reported, watch_request};
