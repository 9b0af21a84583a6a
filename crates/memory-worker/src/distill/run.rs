//! Distilling one thread once, and its dependencies.

use std::sync::Arc;

use memory_contract::{policy::ResolvedPolicy, thread::Thread};
use memory_distill::{Distiller, Method};
use memory_index::Background;
use memory_recall::Recall;
use memory_store::{Caller, Store};

use crate::config::DistillWorkConfig;

/// The dependencies of distilling.
#[derive(Clone)]
pub(crate) struct Distilling {
    pub(crate) store: Store,
    pub(crate) recall: Recall,
    pub(crate) distiller: Arc<Distiller>,
    pub(crate) background: Background,
    pub(crate) config: DistillWorkConfig,
}

/// Distilling one thread once.
pub(super) struct DistillRun<'a> {
    pub(super) with: &'a Distilling,
    pub(super) caller: &'a Caller,
    pub(super) thread: &'a Thread,
    pub(super) policy: &'a ResolvedPolicy,
    /// The model, or the extractive distiller once the attempts with the model are
    /// used up.
    pub(super) method: Method,
}
