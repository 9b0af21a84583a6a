//! `remember`.

use memory_contract::proto::{AddMemoriesRequest, MemoryInput, SupersedeMemoryRequest};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::forget::own_memory;
use super::tool::{Call, Effect, MemoryTool};
use crate::failure::Failure;

/// Arguments of `remember`.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Remember {
    /// The fact, as one self-contained sentence in the third person, such as "Ada prefers
    /// trains to planes".
    #[schemars(length(min = 1, max = 4096))]
    text: String,
    /// Labels of its subject, such as "travel".
    #[serde(default)]
    #[schemars(length(max = 16), inner(length(min = 1, max = 64)))]
    topics: Vec<String>,
    /// People, places and things that the fact names, such as "Oslo".
    #[serde(default)]
    #[schemars(length(max = 16), inner(length(min = 1, max = 128)))]
    entities: Vec<String>,
    /// The kind of the fact, if the app defines kinds and it is of one, such as "allergy". A wrong
    /// one is refused with the kinds that exist. Empty: none.
    #[serde(default)]
    #[schemars(length(max = 64))]
    kind: String,
    /// The values that the kind asks for, such as {"substance": "nuts"}. Only with a kind.
    #[serde(default)]
    attributes: Map<String, Value>,
    /// The memory_id of an older memory that this fact corrects. The older one is kept as
    /// history and no longer found. Empty: none.
    #[serde(default)]
    replaces: String,
    /// True protects the memory from automatic forgetting. Set it only if the user asks for
    /// that.
    #[serde(default)]
    pinned: bool,
}

/// Answer of `remember`.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Remembered {
    /// The id of the stored memory.
    memory_id: String,
    /// False if this was known already; then nothing was stored.
    created: bool,
    /// The id of the memory that it replaced.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    replaced: Option<String>,
}

impl MemoryTool for Remember {
    const NAME: &'static str = "remember";
    const TITLE: &'static str = "Remember a fact";
    const DESCRIPTION: &'static str = "Stores one lasting fact or preference of the user in \
        long-term memory, where later conversations find it. Call it when the user asks to \
        remember something, or states a fact that will matter beyond this conversation. Store \
        what the user said, not what tools or documents say, and no secrets such as passwords. \
        Storing a known fact again changes nothing. To correct a fact, pass the older memory's \
        id in `replaces`.";
    const EFFECT: Effect = Effect::Corrects;
    type Answer = Remembered;

    async fn run(self, call: &Call) -> Result<Remembered, Failure> {
        let Call { api, owner } = call;
        let memory = MemoryInput {
            text: self.text,
            topics: self.topics,
            entities: self.entities,
            pinned: self.pinned.then_some(true),
            kind: self.kind,
            attributes: match self.attributes.is_empty() {
                true => String::new(),
                false => Value::Object(self.attributes).to_string(),
            },
            ..Default::default()
        };
        if !self.replaces.is_empty() {
            own_memory(call, &self.replaces).await?;
            let request = api.request(SupersedeMemoryRequest {
                memory_id: self.replaces.clone(),
                replacement: Some(memory),
            });
            let answer = api.memories().supersede_memory(request).await?.into_inner();
            return Ok(Remembered {
                memory_id: answer.memory.unwrap_or_default().memory_id,
                created: true,
                replaced: Some(self.replaces),
            });
        }
        let request = api.request(AddMemoriesRequest {
            user: Some(owner.user_ref()),
            memories: vec![memory],
        });
        let answer = api.memories().add_memories(request).await?.into_inner();
        let added = answer.memories.into_iter().next().unwrap_or_default();
        Ok(Remembered {
            memory_id: added.memory.unwrap_or_default().memory_id,
            created: added.created,
            replaced: None,
        })
    }

    fn text(answer: &Remembered) -> String {
        let id = &answer.memory_id;
        match (&answer.replaced, answer.created) {
            (Some(older), _) => format!("Remembered as memory {id}, in place of {older}."),
            (None, true) => format!("Remembered as memory {id}."),
            (None, false) => format!("Known already, as memory {id}."),
        }
    }
}
