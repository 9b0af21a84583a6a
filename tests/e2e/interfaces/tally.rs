//! Counts that show that something was compared.

/// How often the interfaces were used, and what was found.
#[derive(Debug, Default)]
pub(super) struct Tally {
    /// Answers by JSON that equal those by gRPC.
    pub(super) json_answers: usize,
    /// Errors by JSON that equal those by gRPC.
    pub(super) json_refusals: usize,
    /// Answers of tools that show what gRPC answers.
    pub(super) mcp_answers: usize,
    /// Errors of tools that say what gRPC says.
    pub(super) mcp_refusals: usize,
    pub(super) grpc_writes: usize,
    pub(super) json_writes: usize,
    pub(super) mcp_writes: usize,
    /// Messages in histories.
    pub(super) history_messages: usize,
    /// Matches of searches.
    pub(super) matches: usize,
    /// Messages that the tool `recall` shows.
    pub(super) recalled: usize,
    /// Messages and quotations in contexts.
    pub(super) context_messages: usize,
    /// Memories in lists.
    pub(super) memories: usize,
    /// Memories that were found by a query.
    pub(super) found_memories: usize,
}

impl Tally {
    /// Checks that nothing is missing.
    ///
    /// # Panics
    /// If a count is 0.
    pub(super) fn check(&self) {
        for (what, count) in [
            ("answer by JSON", self.json_answers),
            ("refusal by JSON", self.json_refusals),
            ("answer by MCP", self.mcp_answers),
            ("refusal by MCP", self.mcp_refusals),
            ("write by gRPC", self.grpc_writes),
            ("write by JSON", self.json_writes),
            ("write by MCP", self.mcp_writes),
            ("message in a history", self.history_messages),
            ("match of a search", self.matches),
            ("message recalled by MCP", self.recalled),
            ("message in a context", self.context_messages),
            ("memory in a list", self.memories),
            ("memory found by a query", self.found_memories),
        ] {
            assert!(count > 0, "no {what}: {self:?}");
        }
    }
}
