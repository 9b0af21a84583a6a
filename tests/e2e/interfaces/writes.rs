//! Changes, each sent by one interface.

use memory_contract::proto::{
    AddMemoriesRequest, AppendMessagesRequest, DeleteMemoryRequest, DeleteMessageRequest, Memory,
    MemoryInput, MessageInput, Part, ProviderFormat, PutWorkingMemoryRequest, Reasoning, Role,
    SetHeadRequest, SupersedeMemoryRequest, Thread, UpdateMemoryRequest, UpdateMessageRequest,
    UpdateThreadRequest, UpdateWorkingMemoryDataRequest, part,
};
use prost_types::Timestamp;
use recollect_tests::{
    by_session, file, listed, mask, memory, of_user, reply, say, tool_call, tool_result, turn,
    with_parts,
};
use serde_json::json;

use super::asking::Interface;
use super::run::{Append, Run, USERS};
use super::shown;
use super::texts::{fact, sentence, text};

/// Metadata whose numbers have more digits than a float keeps.
const METADATA: &str =
    r#"{"topic": "bikes", "n": 12345678901234567890.10, "größe": [1.0, null, {"a": "\u00e9"}]}"#;
/// The speaker of some messages.
pub(super) const NAME: &str = "Zoë";

impl Run<'_> {
    fn any_interface(&mut self) -> Interface {
        self.any([Interface::Grpc, Interface::Json, Interface::Mcp])
    }

    /// An interface for what no tool can do.
    fn any_but_mcp(&mut self) -> Interface {
        self.any([Interface::Grpc, Interface::Json])
    }

    pub(super) async fn append(&mut self) {
        let (by, conversation) = (self.any_interface(), self.any_conversation());
        self.append_to(conversation, by).await;
    }

    /// Appends to a conversation, which need not exist.
    pub(super) async fn append_to(&mut self, conversation: usize, by: Interface) {
        let request_id = self.new_uuid();
        let append = match by {
            Interface::Mcp => self.simple_append(conversation, request_id),
            Interface::Grpc | Interface::Json => {
                let request = AppendMessagesRequest {
                    thread: by_session(self.session(conversation)),
                    messages: self.some_messages(),
                    request_id,
                    ..Default::default()
                };
                Append {
                    request,
                    user: self.conversations[conversation].user,
                    arguments: None,
                }
            }
        };
        match &append.arguments {
            Some(arguments) => {
                self.write_by_tool(append.user, "append_messages", arguments.clone())
                    .await;
            }
            None => {
                let request = append.request.clone();
                let stored = self
                    .write(by, "MessageService/AppendMessages", request)
                    .await;
                self.revision = stored.revision;
            }
        }
        self.last_append = Some(append);
        self.read_back(conversation).await;
    }

    /// An append of texts, as the tool can make it.
    fn simple_append(&mut self, conversation: usize, request_id: String) -> Append {
        let roles = [Role::User, Role::Assistant].into_iter().cycle();
        let count = self.rng.usize(1..=4);
        let said: Vec<(Role, String)> = roles
            .take(count)
            .map(|role| (role, text(&mut self.rng)))
            .collect();
        let messages = said
            .iter()
            .map(|(role, text)| json!({"role": shown::role(*role), "text": text}));
        let arguments = json!({
            "session": self.conversations[conversation].key,
            "messages": messages.collect::<Vec<_>>(),
            "request_id": request_id,
        });
        let request = AppendMessagesRequest {
            thread: by_session(self.session(conversation)),
            messages: said.iter().map(|(role, text)| say(*role, text)).collect(),
            request_id,
            ..Default::default()
        };
        Append {
            request,
            user: self.conversations[conversation].user,
            arguments: Some(arguments),
        }
    }

    /// Messages of a kind that only the contract has, after a text with words.
    fn some_messages(&mut self) -> Vec<MessageInput> {
        let mut messages = vec![say(Role::User, &sentence(&mut self.rng))];
        let said = text(&mut self.rng);
        let number = self.new_number();
        match self.rng.u8(0..6) {
            0 => {
                let id = format!("call-{number}");
                let arguments = json!({"city": "Zürich", "days": 3});
                messages.push(tool_call(&id, "weather", arguments));
                messages.push(tool_result(&id, &said));
            }
            1 => {
                let url = "https://example.com/caf%C3%A9.png?a=1&b=2";
                let picture = file(url, &sentence(&mut self.rng));
                messages[0].parts.push(picture);
            }
            2 => messages.push(MessageInput {
                name: NAME.to_owned(),
                metadata: METADATA.to_owned(),
                external_id: format!("external {number} ü"),
                create_time: Some(Timestamp {
                    seconds: 1_700_000_000,
                    nanos: 123_456_000,
                }),
                ..say(Role::User, &said)
            }),
            3 => messages.insert(0, say(Role::System, "Be brief.")),
            4 => {
                let thought = Reasoning {
                    provider: ProviderFormat::AnthropicMessages.into(),
                    text: said,
                    signature: "c2lnbmF0dXJl".to_owned(),
                    ..Default::default()
                };
                let data = r#"{"total": 12345678901234567890, "of": [1.50, null]}"#.to_owned();
                let contents = [part::Content::Reasoning(thought), part::Content::Json(data)];
                let parts = contents.map(|content| Part {
                    content: Some(content),
                    ..Default::default()
                });
                messages.push(with_parts(Role::Assistant, parts.into()));
            }
            _ => messages = turn(&sentence(&mut self.rng), &said),
        }
        messages
    }

    /// Answers an earlier message, which begins a branch unless it is the last.
    pub(super) async fn branch(&mut self) {
        let (by, conversation) = (self.any_but_mcp(), self.any_conversation());
        let Some(parent) = self.any_message(conversation) else {
            return;
        };
        let answer = text(&mut self.rng);
        let request = AppendMessagesRequest {
            thread: self.thread(conversation),
            messages: vec![reply(&parent.message_id, Role::Assistant, &answer)],
            ..Default::default()
        };
        let stored = self
            .write(by, "MessageService/AppendMessages", request)
            .await;
        self.revision = stored.revision;
        self.read_back(conversation).await;
    }

    pub(super) async fn set_head(&mut self) {
        let (by, conversation) = (self.any_but_mcp(), self.any_conversation());
        let Some(head) = self.any_message(conversation) else {
            return;
        };
        let request = SetHeadRequest {
            thread: self.thread(conversation),
            head_message_id: head.message_id,
            expected_head: None,
        };
        self.write(by, "ThreadService/SetHead", request).await;
    }

    pub(super) async fn update_message(&mut self) {
        let (by, conversation) = (self.any_but_mcp(), self.any_conversation());
        let Some(message) = self.any_message(conversation) else {
            return;
        };
        let metadata = self.any(["", METADATA, r#"{"topic": "bikes"}"#]);
        let request = UpdateMessageRequest {
            thread: self.thread(conversation),
            message_id: message.message_id,
            metadata: Some(metadata.to_owned()),
        };
        self.write(by, "MessageService/UpdateMessage", request)
            .await;
        self.read_back(conversation).await;
    }

    pub(super) async fn delete_message(&mut self) {
        let (by, conversation) = (self.any_but_mcp(), self.any_conversation());
        let Some(message) = self.any_message(conversation) else {
            return;
        };
        let request = DeleteMessageRequest {
            thread: self.thread(conversation),
            message_id: message.message_id,
        };
        let answer = self
            .write(by, "MessageService/DeleteMessage", request)
            .await;
        assert!(answer.deleted);
        self.read_back(conversation).await;
    }

    pub(super) async fn update_thread(&mut self) {
        let (by, conversation) = (self.any_but_mcp(), self.any_conversation());
        let title = self.any(["", "Bicycles 🚲", "\"Straße\" & <co>"]);
        let request = UpdateThreadRequest {
            thread: Some(Thread {
                thread_id: self.conversations[conversation].thread_id.clone(),
                title: title.to_owned(),
                metadata: METADATA.to_owned(),
                ..Default::default()
            }),
            update_mask: Some(mask(&["title", "metadata"])),
            precondition: None,
        };
        self.write(by, "ThreadService/UpdateThread", request).await;
    }

    pub(super) async fn remember(&mut self) {
        let user = self.any_user();
        self.remember_of(user).await;
    }

    pub(super) async fn remember_of(&mut self, user: usize) {
        let by = self.any_interface();
        let number = self.new_number();
        let text = fact(&mut self.rng, number);
        if by == Interface::Mcp {
            let known = json!({"text": text, "topics": ["pets", "größe"], "entities": ["Pixel"]});
            self.write_by_tool(user, "remember", known).await;
        } else {
            let full = MemoryInput {
                external_id: format!("memory {number}"),
                topics: vec!["pets".to_owned()],
                entities: vec![NAME.to_owned()],
                event_time: Some(Timestamp {
                    seconds: 1_746_000_000,
                    nanos: 500_000_000,
                }),
                pinned: self.any([None, Some(false), Some(true)]),
                metadata: METADATA.to_owned(),
                ..memory(&text)
            };
            let number = self.new_number();
            let other = memory(&fact(&mut self.rng, number));
            let request = AddMemoriesRequest {
                user: of_user(&self.app, USERS[user]),
                memories: vec![full, other],
            };
            self.write(by, "MemoryService/AddMemories", request).await;
        }
        self.read_back_memories(user).await;
    }

    pub(super) async fn update_memory(&mut self) {
        let (by, user) = (self.any_but_mcp(), self.any_user());
        let Some(known) = self.any_memory(user) else {
            return;
        };
        let number = self.new_number();
        let request = UpdateMemoryRequest {
            memory: Some(Memory {
                memory_id: known.memory_id,
                text: fact(&mut self.rng, number),
                topics: vec!["pets".to_owned(), "travel".to_owned()],
                ..Default::default()
            }),
            update_mask: Some(mask(&["text", "topics"])),
            precondition: None,
        };
        self.write(by, "MemoryService/UpdateMemory", request).await;
        self.read_back_memories(user).await;
    }

    pub(super) async fn supersede_memory(&mut self) {
        let (by, user) = (self.any_interface(), self.any_user());
        let Some(older) = self.any_memory(user) else {
            return;
        };
        let number = self.new_number();
        let newer = fact(&mut self.rng, number);
        if by == Interface::Mcp {
            let arguments = json!({"text": newer, "replaces": older.memory_id});
            self.write_by_tool(user, "remember", arguments).await;
        } else {
            let request = SupersedeMemoryRequest {
                memory_id: older.memory_id,
                replacement: Some(memory(&newer)),
            };
            self.write(by, "MemoryService/SupersedeMemory", request)
                .await;
        }
        self.read_back_memories(user).await;
    }

    pub(super) async fn forget_memory(&mut self) {
        let (by, user) = (self.any_interface(), self.any_user());
        let Some(known) = self.any_memory(user) else {
            return;
        };
        if by == Interface::Mcp {
            let arguments = json!({"memory_id": known.memory_id});
            self.write_by_tool(user, "forget_memory", arguments).await;
        } else {
            let request = DeleteMemoryRequest {
                memory_id: known.memory_id,
            };
            let answer = self.write(by, "MemoryService/DeleteMemory", request).await;
            assert!(answer.deleted);
        }
        self.read_back_memories(user).await;
    }

    pub(super) async fn put_working_memory(&mut self) {
        let (by, conversation) = (self.any_but_mcp(), self.any_conversation());
        let number = self.new_number();
        let request = PutWorkingMemoryRequest {
            thread: self.thread(conversation),
            summary: Some(sentence(&mut self.rng)),
            memories: vec![listed(&fact(&mut self.rng, number))],
            data: Some(METADATA.to_owned()),
            model: self.any(["", "gpt-4o"]).to_owned(),
            ..Default::default()
        };
        self.write(by, "WorkingMemoryService/PutWorkingMemory", request)
            .await;
        let user = self.conversations[conversation].user;
        self.read_back_memories(user).await;
    }

    pub(super) async fn patch_working_memory(&mut self) {
        let (by, conversation) = (self.any_but_mcp(), self.any_conversation());
        let patch = self.any([
            r#"{"topic": null, "step": {"n": 2.50}}"#,
            r#"{"größe": "mittel"}"#,
        ]);
        let request = UpdateWorkingMemoryDataRequest {
            thread: self.thread(conversation),
            patch: patch.to_owned(),
            precondition: None,
        };
        self.write(by, "WorkingMemoryService/UpdateWorkingMemoryData", request)
            .await;
    }
}
