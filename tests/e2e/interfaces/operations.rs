//! Carries out the operations of a seed, and says which one has failed.

use std::panic::AssertUnwindSafe;

use futures::FutureExt as _;

use super::asking::Interface;
use super::run::{Run, USERS};

/// An operation.
#[derive(Clone, Copy, Debug)]
enum Operation {
    /// Begins a conversation by an interface.
    Begin(usize, Interface),
    /// Stores a first memory of a user.
    Introduce(usize),
    Append,
    Branch,
    SetHead,
    UpdateMessage,
    DeleteMessage,
    UpdateThread,
    Remember,
    UpdateMemory,
    SupersedeMemory,
    ForgetMemory,
    PutWorkingMemory,
    PatchWorkingMemory,
    History,
    HistoryByTool,
    Messages,
    Message,
    Threads,
    Recall,
    Search,
    RecallByTool,
    ListMemories,
    WorkingMemory,
    Context,
    ContextByTool,
    RepeatAppend,
    Refusals,
}

/// How often each operation comes, in any order, after the beginnings.
const MIX: [(Operation, usize); 26] = [
    (Operation::Append, 4),
    (Operation::Branch, 2),
    (Operation::SetHead, 1),
    (Operation::UpdateMessage, 1),
    (Operation::DeleteMessage, 1),
    (Operation::UpdateThread, 1),
    (Operation::Remember, 2),
    (Operation::UpdateMemory, 1),
    (Operation::SupersedeMemory, 1),
    (Operation::ForgetMemory, 1),
    (Operation::PutWorkingMemory, 1),
    (Operation::PatchWorkingMemory, 1),
    (Operation::History, 1),
    (Operation::HistoryByTool, 1),
    (Operation::Messages, 1),
    (Operation::Message, 1),
    (Operation::Threads, 1),
    (Operation::Recall, 1),
    (Operation::Search, 1),
    (Operation::RecallByTool, 1),
    (Operation::ListMemories, 1),
    (Operation::WorkingMemory, 1),
    (Operation::Context, 1),
    (Operation::ContextByTool, 1),
    (Operation::RepeatAppend, 1),
    (Operation::Refusals, 4),
];

impl Run<'_> {
    /// Carries out all operations of the seed.
    ///
    /// # Panics
    /// If one fails; the message says how to repeat it.
    pub(super) async fn carry_out_all(mut self) {
        let seed = self.seed;
        for (number, operation) in self.operations().into_iter().enumerate() {
            self.doing.clear();
            let done = AssertUnwindSafe(self.carry_out(operation)).catch_unwind();
            let Err(cause) = done.await else {
                continue;
            };
            let problem = match cause.downcast_ref::<String>() {
                Some(problem) => problem.as_str(),
                None => cause.downcast_ref::<&str>().copied().unwrap_or_default(),
            };
            panic!(
                "operation {number} of seed {seed} ({operation:?}): {}\n{problem}\n\
                 To repeat it: RECOLLECT_SEED={seed} scripts/run-tests grpc_json_and_mcp",
                self.doing
            );
        }
    }

    fn operations(&mut self) -> Vec<Operation> {
        let interfaces = [Interface::Grpc, Interface::Json, Interface::Mcp];
        let mut interfaces = interfaces.into_iter().cycle();
        for _ in 0..self.rng.usize(0..3) {
            interfaces.next();
        }
        let conversations = 0..self.conversations.len();
        let begin = conversations.zip(interfaces);
        let begin = begin.map(|(conversation, by)| Operation::Begin(conversation, by));
        let introduce = (0..USERS.len()).map(Operation::Introduce);
        let mut operations: Vec<Operation> = begin.chain(introduce).collect();
        let mixed = MIX
            .iter()
            .flat_map(|&(operation, count)| std::iter::repeat_n(operation, count));
        let mut mixed: Vec<Operation> = mixed.collect();
        self.rng.shuffle(&mut mixed);
        operations.extend(mixed);
        operations
    }

    async fn carry_out(&mut self, operation: Operation) {
        match operation {
            Operation::Begin(conversation, by) => self.append_to(conversation, by).await,
            Operation::Introduce(user) => self.remember_of(user).await,
            Operation::Append => self.append().await,
            Operation::Branch => self.branch().await,
            Operation::SetHead => self.set_head().await,
            Operation::UpdateMessage => self.update_message().await,
            Operation::DeleteMessage => self.delete_message().await,
            Operation::UpdateThread => self.update_thread().await,
            Operation::Remember => self.remember().await,
            Operation::UpdateMemory => self.update_memory().await,
            Operation::SupersedeMemory => self.supersede_memory().await,
            Operation::ForgetMemory => self.forget_memory().await,
            Operation::PutWorkingMemory => self.put_working_memory().await,
            Operation::PatchWorkingMemory => self.patch_working_memory().await,
            Operation::History => self.history().await,
            Operation::HistoryByTool => self.history_by_tool().await,
            Operation::Messages => self.messages().await,
            Operation::Message => self.message().await,
            Operation::Threads => self.threads().await,
            Operation::Recall => self.recall().await,
            Operation::Search => self.search().await,
            Operation::RecallByTool => self.recall_by_tool().await,
            Operation::ListMemories => self.list_memories().await,
            Operation::WorkingMemory => self.working_memory().await,
            Operation::Context => self.context().await,
            Operation::ContextByTool => self.context_by_tool().await,
            Operation::RepeatAppend => self.repeat_append().await,
            Operation::Refusals => self.refusals().await,
        }
    }
}
