//! Tests that need the embedding model which `scripts/setup` makes. Where it is missing they
//! are reported as ignored, with the reason: hence a `main` of their own.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test that fails may say so by panicking"
)]

#[path = "../recall/service.rs"]
#[allow(dead_code, reason = "the other tests of this crate use the rest")]
mod service;
#[path = "../../../memory-index/tests/index/world.rs"]
#[allow(dead_code, reason = "the tests of the index use the rest")]
mod world;

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use libtest_mimic::{Arguments, Completion, Trial};
use memory_contract::{
    AppId, UserId,
    memory::MemoryFilter,
    message::{NewMessage, Role},
};
use memory_embed::{EmbedError, Embedder, EmbedderConfig};
use memory_index::{EdgeIndex, IndexConfig, IndexSchema};
use memory_recall::{Freshness, MemoryQuery, Method, RecallQuery};
use memory_store::{MemoryOwners, Scope};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::service::{Service, TRIP, ids};
use crate::world::{APP, caller, message, owner};

fn main() -> ExitCode {
    let trials = vec![
        trial(
            "a_paraphrase_is_found_by_meaning",
            a_paraphrase_is_found_by_meaning,
        ),
        trial(
            "a_memory_is_found_by_meaning_whoever_the_question_names",
            a_memory_is_found_by_meaning_whoever_the_question_names,
        ),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// A test that is ignored without the model.
fn trial<F: Future<Output = ()>>(
    name: &str,
    test: impl FnOnce(Embedder) -> F + Send + 'static,
) -> Trial {
    Trial::ignorable_test(name, move || {
        let embedder = match Embedder::start(&EmbedderConfig::default()) {
            Ok(embedder) => embedder.unwrap(),
            Err(error @ EmbedError::ModelMissing { .. }) => {
                eprintln!("SKIPPED: {error}");
                return Ok(Completion::ignored_with(error.to_string()));
            }
            Err(error) => panic!("{error}: {:?}", std::error::Error::source(&error)),
        };
        Runtime::new().unwrap().block_on(test(embedder));
        Ok(Completion::Completed)
    })
}

/// A service with an embedded index in this directory.
async fn service(directory: &TempDir, embedder: Embedder) -> Service {
    let config = IndexConfig {
        path: Some(directory.path().to_owned()),
        ..IndexConfig::default()
    };
    let schema = IndexSchema::new("recollect", Some(embedder.model()));
    let index = EdgeIndex::open(&config, schema).unwrap();
    Service::over(Arc::new(index), Some(embedder)).await
}

async fn a_paraphrase_is_found_by_meaning(embedder: Embedder) {
    let directory = tempfile::tempdir().unwrap();
    let service = service(&directory, embedder).await;
    let (_, said) = service.conversation("ada", &TRIP).await;
    let scope = Scope::User {
        app: AppId::new(APP),
        user: UserId::new("ada"),
    };
    let query = RecallQuery {
        top_k: 1,
        neighbors_before: 0,
        neighbors_after: 0,
        ..RecallQuery::new(None, scope, "Which pet goes on the journey?")
    };
    let recalled = service.ask(query).await;
    assert_eq!(ids(&recalled), [said[2]]);
    assert!(recalled.messages[0].dense_score.unwrap() > 0.1);
}

async fn a_memory_is_found_by_meaning_whoever_the_question_names(embedder: Embedder) {
    let directory = tempfile::tempdir().unwrap();
    let service = service(&directory, embedder).await;
    let thread = service.world.thread("ada").await;
    let said = NewMessage {
        name: "Caroline".to_owned(),
        ..message(Role::User, "Good morning!")
    };
    service.world.append(thread, said).await;
    service.world.remember("ada", "Her name is Caroline.").await;
    let pet = service.world.remember("ada", "She has a hamster.").await;
    service.settle().await;
    let query = MemoryQuery {
        owners: MemoryOwners::User(owner("ada")),
        query: "What pet does Caroline have?".to_owned(),
        limit: 1,
        filter: MemoryFilter::default(),
        method: Method::Dense,
        min_score: 0.0,
        freshness: Freshness::Newest,
        max_wait: Duration::ZERO,
    };
    let found = service.recall.memories(&caller(), &query).await.unwrap();
    let found: Vec<_> = found.memories.iter().map(|one| one.memory.id).collect();
    assert_eq!(found, [pet]);
}
