//! The formats of files.

use memory_contract::message::Provider;

/// The format of a file of conversations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// Detected from the content.
    Auto,
    /// One message or one record of an export a line.
    Jsonl,
    /// Conversations in the format of a provider's API.
    Provider(Provider),
    /// The content of another product.
    System(System),
}

/// A product that holds conversations or memories.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum System {
    /// The data export of ChatGPT.
    Chatgpt,
    /// The data export of Claude.
    Claude,
    /// The export of a Slack workspace.
    Slack,
    /// Messages of LangChain.
    Langchain,
    /// Rows of n8n's chat memory in Postgres.
    N8n,
    /// Memories of mem0.
    Mem0,
    /// The backup of OpenMemory.
    Openmemory,
    /// Threads and facts of Zep.
    Zep,
    /// Working memories and records of Redis's agent memory server.
    Redis,
}

impl Format {
    /// The formats by their names on the command line, apart from `auto`.
    pub const NAMED: [(&str, Self); 14] = [
        ("jsonl", Self::Jsonl),
        ("chatgpt", Self::System(System::Chatgpt)),
        ("claude", Self::System(System::Claude)),
        ("slack", Self::System(System::Slack)),
        ("langchain", Self::System(System::Langchain)),
        ("n8n", Self::System(System::N8n)),
        ("openai-chat", Self::Provider(Provider::OpenaiChat)),
        (
            "openai-responses",
            Self::Provider(Provider::OpenaiResponses),
        ),
        (
            "anthropic-messages",
            Self::Provider(Provider::AnthropicMessages),
        ),
        ("gemini", Self::Provider(Provider::Gemini)),
        ("mem0", Self::System(System::Mem0)),
        ("openmemory", Self::System(System::Openmemory)),
        ("zep", Self::System(System::Zep)),
        ("redis", Self::System(System::Redis)),
    ];
}
