//! Who acts. The name goes with a call like a trace does, so that what is written
//! deep down can note it.

use std::future::Future;

tokio::task_local! {
    static ACTOR: String;
}

/// Who acts where nobody is named: the server itself.
const WORKER: &str = "worker";

/// Runs a call as the work of `actor`, the name of an API key. A task that the
/// call spawns has to be wrapped anew.
pub async fn acting<F: Future>(actor: String, call: F) -> F::Output {
    ACTOR.scope(actor, call).await
}

/// Whether nobody but the server itself acts now.
pub(crate) fn is_worker() -> bool {
    ACTOR.try_with(|actor| actor == WORKER).unwrap_or(true)
}

/// Who acts now.
pub fn actor() -> String {
    ACTOR
        .try_with(Clone::clone)
        .unwrap_or_else(|_| WORKER.to_owned())
}
