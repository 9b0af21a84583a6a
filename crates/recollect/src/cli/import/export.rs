//! Reads the files that `recollect export` writes.

use std::collections::HashMap;

use memory_contract::ExportChecksum;
use memory_contract::proto::{
    self, AddNodeTurnRequest, AgentEvent, ExportMessagesResponse, Message, MessageInput,
    NodeMessage, NodeMessageInput, NodeRef, ResolveThreadRequest, Role, SessionRef, Thread,
    add_node_turn_request::{Parent as NodeParent, Place as NodePlace},
    export_messages_response,
    message_input::Parent,
};
use prost::Message as _;
use prost_types::Duration;
use serde_json::Value;
use time::OffsetDateTime;
use uuid::Uuid;

use super::ImportRecord;
use super::batch::hashed;
use crate::cli::output::message_from_json;

/// The keys of records that simple messages have not.
const KEYS: [&str; 9] = [
    "appPolicy",
    "attempt",
    "event",
    "file",
    "memory",
    "node",
    "nodeMessage",
    "plan",
    "summary",
];

/// Reads the records of exports, in order, and sums them up.
#[derive(Debug)]
pub struct Export {
    again: bool,
    thread: Option<ThreadSoFar>,
    node: Option<NodeSoFar>,
    checksum: ExportChecksum,
    /// Whether records were read that no summary has ended yet.
    open: bool,
}

/// A turn of a node of the thread read last.
#[derive(Debug, Clone, PartialEq)]
pub struct NodeTurn {
    node_id: String,
    turn: AddNodeTurnRequest,
    again: bool,
}

/// The thread whose records follow.
#[derive(Debug)]
struct ThreadSoFar {
    session: SessionRef,
    /// The old id of the message that was the head.
    head: String,
    /// The new ids of the messages so far, by their old ones.
    ids: HashMap<String, String>,
    /// The newest message of each branch so far.
    tips: HashMap<i32, String>,
}

/// The node whose messages follow.
#[derive(Debug)]
struct NodeSoFar {
    node_id: String,
    /// The new ids of its messages, by their old ones; none where they stay.
    ids: HashMap<String, String>,
    /// What was asked, until the answer comes.
    asked: Option<NodeMessage>,
}

impl Export {
    /// A reader; `again` gives everything new ids.
    pub fn new(again: bool) -> Self {
        Self {
            again,
            thread: None,
            node: None,
            checksum: ExportChecksum::default(),
            open: false,
        }
    }

    /// Whether a line is a record of an export.
    pub fn is(json: &Value) -> bool {
        let object = |key: &str| json.get(key).is_some_and(Value::is_object);
        let alone = json.as_object().is_some_and(|fields| fields.len() == 1);
        object("thread") || object("message") || (alone && KEYS.into_iter().any(object))
    }

    /// Reads one line, and returns what it makes of it: mostly one record.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn line(&mut self, json: &Value) -> Result<Vec<ImportRecord>, String> {
        use export_messages_response::Record as Line;

        let response: ExportMessagesResponse = message_from_json("ExportMessagesResponse", json)?;
        let line = response.record.ok_or("a record of no known kind")?;
        let of_thread = matches!(
            line,
            Line::Message(_) | Line::Node(_) | Line::Plan(_) | Line::Attempt(_) | Line::Event(_)
        );
        if of_thread && self.thread.is_none() {
            return Err("it belongs to a thread, but no thread precedes it".to_owned());
        }
        let ended = self.checksum.see(&line);
        let mut records: Vec<ImportRecord> =
            ended.map(ImportRecord::ThreadEnd).into_iter().collect();
        if !matches!(line, Line::NodeMessage(_)) && self.node.take().is_some() {
            records.push(ImportRecord::NodeEnd);
        }
        self.open = !matches!(line, Line::Summary(_));
        match line {
            Line::AppPolicy(policy) => records.push(ImportRecord::AppPolicy(Box::new(policy))),
            Line::File(file) => records.push(ImportRecord::File(Box::new(file))),
            Line::Thread(thread) => records.push(self.thread(thread)),
            Line::Message(message) => records.extend(self.message(message)),
            Line::Node(node) if node.unreadable => {
                records.push(ImportRecord::UnreadableNode(node.node_id));
            }
            Line::Node(node) => {
                self.node = Some(NodeSoFar {
                    node_id: node.node_id,
                    ids: HashMap::new(),
                    asked: None,
                });
            }
            Line::NodeMessage(message) => records.extend(self.node_message(message)?),
            Line::Plan(plan) => records.push(ImportRecord::Plan(Box::new(plan))),
            Line::Attempt(attempt) => records.push(ImportRecord::Attempt(Box::new(attempt))),
            Line::Event(event) => records.push(self.event(event)),
            Line::Memory(memory) => {
                self.thread = None;
                records.push(ImportRecord::Memory(Box::new(memory)));
            }
            Line::Summary(said) => {
                let seen = std::mem::take(&mut self.checksum).summary();
                self.thread = None;
                records.push(ImportRecord::Summary {
                    said: Box::new(said),
                    seen: Box::new(seen),
                });
            }
        }
        Ok(records)
    }

    /// Ends the reading.
    pub fn end(mut self) -> Vec<ImportRecord> {
        let node = self.node.take().map(|_| ImportRecord::NodeEnd);
        let thread = self.checksum.end_thread().map(ImportRecord::ThreadEnd);
        let cut = self.open.then_some(ImportRecord::Incomplete);
        node.into_iter().chain(thread).chain(cut).collect()
    }

    fn thread(&mut self, thread: Thread) -> ImportRecord {
        let session = SessionRef {
            app_id: thread.app_id,
            user_id: thread.user_id,
            session_key: thread.session_key,
            agent_session_key: String::new(),
        };
        self.thread = Some(ThreadSoFar {
            session: session.clone(),
            head: thread.head_message_id,
            ids: HashMap::new(),
            tips: HashMap::new(),
        });
        let now = OffsetDateTime::now_utc().unix_timestamp();
        ImportRecord::Thread(Box::new(ResolveThreadRequest {
            session: Some(session),
            title: thread.title,
            metadata: thread.metadata,
            ttl: thread.expire_time.map(|time| Duration {
                seconds: (time.seconds - now).max(1),
                nanos: 0,
            }),
            policy: thread.policy,
            ephemeral: false,
        }))
    }

    fn message(&mut self, message: Message) -> Option<ImportRecord> {
        let thread = self.thread.as_mut()?;
        let id = match self.again {
            true => Uuid::now_v7().to_string(),
            false => message.message_id.clone(),
        };
        let parent = match thread.ids.get(&message.parent_message_id) {
            Some(parent) => Some(Parent::ParentMessageId(parent.clone())),
            // The first message of a thread needs no parent. A message
            // whose parent was removed from the file follows the last message of
            // its branch.
            None if thread.ids.is_empty() => None,
            None if message.parent_message_id.is_empty() => Some(Parent::Root(())),
            None => thread
                .tips
                .get(&message.branch)
                .cloned()
                .map(Parent::ParentMessageId),
        };
        let external_id = match self.again {
            true => String::new(),
            false => message.external_id,
        };
        let head = !thread.head.is_empty() && message.message_id == thread.head;
        thread.ids.insert(message.message_id, id.clone());
        thread.tips.insert(message.branch, id.clone());
        Some(ImportRecord::Message {
            session: thread.session.clone(),
            message: Box::new(MessageInput {
                message_id: id,
                parent,
                role: message.role,
                name: message.name,
                parts: message.parts,
                metadata: message.metadata,
                create_time: message.create_time,
                external_id,
            }),
            head,
        })
    }

    /// An event, which belongs to the new message where ids are new.
    fn event(&self, mut event: AgentEvent) -> ImportRecord {
        let ids = self.thread.as_ref().map(|thread| &thread.ids);
        if let (Some(id), Some(ids)) = (&mut event.message_id, ids)
            && let Some(new) = ids.get(id)
        {
            id.clone_from(new);
        }
        ImportRecord::Event(Box::new(event))
    }

    /// A turn, when both sides of it are there.
    fn node_message(&mut self, message: NodeMessage) -> Result<Option<ImportRecord>, String> {
        let node = self
            .node
            .as_mut()
            .ok_or("it belongs to a node, but no node precedes it")?;
        if message.role() == Role::User {
            return match node.asked.replace(message) {
                None => Ok(None),
                Some(alone) => Err(format!("{} has no answer after it", alone.message_id)),
            };
        }
        let asked = node
            .asked
            .take()
            .filter(|asked| asked.message_id == message.parent_message_id)
            .ok_or("it answers no message just before it")?;
        let parent = match node.ids.get(&asked.parent_message_id) {
            Some(parent) => parent.clone(),
            None => asked.parent_message_id.clone(),
        };
        // A message that has new ids, or, before the thread knew it, the caller's name of it.
        let thread_ids = self.thread.as_ref().map(|thread| &thread.ids);
        let thread_message = match thread_ids.and_then(|ids| ids.get(&message.thread_message_id)) {
            Some(id) => id.clone(),
            None => message.thread_message_id.clone(),
        };
        let again = self.again;
        let mut side = |message: NodeMessage| {
            let NodeMessage {
                mut message_id,
                parent_message_id: _,
                role: _,
                content,
                files,
                token_count: _,
                create_time,
                thread_message_id: _,
            } = message;
            if again {
                let new = Uuid::now_v7().to_string();
                node.ids.insert(message_id, new.clone());
                message_id = new;
            }
            NodeMessageInput {
                message_id,
                content,
                files,
                create_time,
            }
        };
        let turn = AddNodeTurnRequest {
            node: None,
            parent: Some(match parent.is_empty() {
                true => NodeParent::Root(()),
                false => NodeParent::ParentMessageId(parent),
            }),
            user: Some(side(asked)),
            assistant: Some(side(message)),
            request_id: String::new(),
            place: Some(match thread_message.is_empty() {
                true => NodePlace::ThreadStart(()),
                false => NodePlace::MessageId(thread_message),
            }),
        };
        Ok(Some(ImportRecord::NodeTurn(Box::new(NodeTurn {
            node_id: node.node_id.clone(),
            turn,
            again,
        }))))
    }
}

impl NodeTurn {
    /// The request that adds the turn to a thread, the same each time.
    pub fn request(self, thread_id: &str) -> AddNodeTurnRequest {
        let Self {
            node_id,
            mut turn,
            again,
        } = self;
        turn.request_id = match again {
            true => Uuid::now_v7(),
            false => hashed(&[
                thread_id.as_bytes(),
                node_id.as_bytes(),
                &turn.encode_to_vec(),
            ]),
        }
        .to_string();
        turn.node = Some(NodeRef {
            thread: Some(thread_id.to_owned().into()),
            node_id,
        });
        turn
    }
}

/// Whether the records are those that the summary speaks of.
pub fn agrees(said: &proto::ExportSummary, seen: &proto::ExportSummary) -> Result<(), String> {
    if said == seen {
        return Ok(());
    }
    let counts = |summary: &proto::ExportSummary| {
        let proto::ExportSummary {
            app_policy_count,
            file_count,
            thread_count,
            message_count,
            node_count,
            node_message_count,
            unreadable_node_count,
            checksum: _,
            plan_count,
            attempt_count,
            memory_count,
            event_count,
        } = *summary;
        [
            ("app_policy", app_policy_count),
            ("file", file_count),
            ("thread", thread_count),
            ("message", message_count),
            ("node", node_count),
            ("node_message", node_message_count),
            ("unreadable node", unreadable_node_count),
            ("plan", plan_count),
            ("attempt", attempt_count),
            ("event", event_count),
            ("memory", memory_count),
        ]
    };
    let missing: Vec<String> = counts(said)
        .into_iter()
        .zip(counts(seen))
        .filter(|((_, said), (_, seen))| said != seen)
        .map(|((what, said), (_, seen))| format!("{seen} of {said} {what} records"))
        .collect();
    Err(match missing.is_empty() {
        true => format!(
            "something was changed: the checksum was {}, and is {}",
            said.checksum, seen.checksum
        ),
        false => format!("the file has {}", missing.join(", ")),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn thread() -> Value {
        json!({"thread": {"appId": "x", "userId": "u", "sessionKey": "k"}})
    }

    #[test]
    fn an_export_keeps_its_tree_even_where_a_message_was_taken_out() {
        for again in [false, true] {
            let mut reader = Export::new(again);
            let message = json!({"message": {"messageId": "a"}});
            assert!(reader.line(&message).is_err(), "no thread yet");
            reader.line(&thread()).unwrap();
            let mut read = |id: &str, parent: &str, branch: i32| {
                let line = json!({"message": {"messageId": id, "parentMessageId": parent,
                    "branch": branch, "role": "ROLE_USER", "parts": [{"text": id}]}});
                let records = reader.line(&line).unwrap();
                let [ImportRecord::Message { message, .. }] = records.as_slice() else {
                    panic!()
                };
                (message.message_id.clone(), message.parent.clone())
            };
            let (a, none) = read("a", "", 1);
            assert_eq!((none, a == "a"), (None, !again));
            let (b, parent) = read("b", "a", 1);
            assert_eq!(parent, Some(Parent::ParentMessageId(a.clone())));
            assert_eq!(
                read("c", "a", 2).1,
                Some(Parent::ParentMessageId(a)),
                "another branch"
            );
            assert_eq!(read("e", "gone", 1).1, Some(Parent::ParentMessageId(b)));
            assert_eq!(read("f", "", 3).1, Some(Parent::Root(())), "a second root");
        }
    }

    #[test]
    fn the_messages_of_a_node_become_turns_of_its_tree() {
        let turns = |again: bool| {
            let mut reader = Export::new(again);
            reader.line(&thread()).unwrap();
            reader.line(&json!({"node": {"nodeId": "n"}})).unwrap();
            let mut turns = Vec::new();
            for (id, parent, role) in [
                ("q1", "", "ROLE_USER"),
                ("a1", "q1", "ROLE_ASSISTANT"),
                ("q2", "a1", "ROLE_USER"),
                ("a2", "q2", "ROLE_ASSISTANT"),
                ("q3", "a1", "ROLE_USER"),
                ("a3", "q3", "ROLE_ASSISTANT"),
            ] {
                let line = json!({"nodeMessage": {"messageId": id, "parentMessageId": parent,
                    "role": role, "content": id}});
                for record in reader.line(&line).unwrap() {
                    let ImportRecord::NodeTurn(turn) = record else {
                        panic!("{record:?}")
                    };
                    turns.push(turn.request("t"));
                }
            }
            let ends = reader.end();
            assert!(
                matches!(
                    ends[..],
                    [
                        ImportRecord::NodeEnd,
                        ImportRecord::ThreadEnd(_),
                        ImportRecord::Incomplete
                    ]
                ),
                "{ends:?}"
            );
            turns
        };
        let kept = turns(false);
        let parents: Vec<_> = kept.iter().map(|turn| turn.parent.clone()).collect();
        let a1 = || Some(NodeParent::ParentMessageId("a1".to_owned()));
        assert_eq!(parents, [Some(NodeParent::Root(())), a1(), a1()]);
        assert_eq!(kept, turns(false), "the same requests each time");
        let new = turns(true);
        let first = &new[0].assistant.as_ref().unwrap().message_id;
        assert_ne!(first, "a1");
        assert_eq!(
            new[2].parent,
            Some(NodeParent::ParentMessageId(first.clone()))
        );
    }

    #[test]
    fn a_node_message_outside_of_a_turn_is_refused() {
        let mut reader = Export::new(false);
        let message = |role: &str| json!({"nodeMessage": {"messageId": role, "parentMessageId": "x", "role": role}});
        assert!(reader.line(&message("ROLE_USER")).is_err(), "no node yet");
        reader.line(&thread()).unwrap();
        reader.line(&json!({"node": {"nodeId": "n"}})).unwrap();
        assert!(reader.line(&message("ROLE_ASSISTANT")).is_err());
        assert!(reader.line(&message("ROLE_USER")).is_ok());
        assert!(reader.line(&message("ROLE_USER")).is_err(), "no answer");
    }

    #[test]
    fn a_summary_reports_missing_and_changed_records() {
        let read = |lines: &[Value]| {
            let mut reader = Export::new(false);
            let mut last = Vec::new();
            for line in lines {
                last = reader.line(line).unwrap();
            }
            let Some(ImportRecord::Summary { said, seen }) = last.pop() else {
                panic!()
            };
            assert_eq!(reader.end(), [], "nothing is missing after a summary");
            (said, seen)
        };
        let message = |text: &str| {
            json!({"message": {"messageId": "a", "role": "ROLE_USER",
                "parts": [{"text": text}]}})
        };
        let (_, seen) = read(&[thread(), message("x"), json!({"summary": {}})]);
        let summary = json!({"summary": {"threadCount": "1", "messageCount": "1",
            "checksum": seen.checksum}});
        let (said, same) = read(&[thread(), message("x"), summary.clone()]);
        assert_eq!(agrees(&said, &same), Ok(()));
        let (said, changed) = read(&[thread(), message("y"), summary.clone()]);
        let error = agrees(&said, &changed).unwrap_err();
        assert!(error.starts_with("something was changed"), "{error}");
        let (said, cut) = read(&[thread(), summary]);
        let error = agrees(&said, &cut).unwrap_err();
        assert_eq!(error, "the file has 0 of 1 message records");
    }
}
