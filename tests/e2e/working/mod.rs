//! A working memory belongs to one session, and is put, read, changed and expired.

mod branching;
mod changing;
mod expiring;
mod ids;
mod masks;
mod putting;
mod putting_back;
mod reading;

use memory_contract::proto::{
    GetWorkingMemoryRequest, GetWorkingMemoryResponse, LedgerKind, MemoryPolicy, Message,
    PutWorkingMemoryRequest, PutWorkingMemoryResponse, ResolveThreadRequest, Role, SessionRef,
    VerifyThreadRequest, WorkingMemory,
};
use recollect_tests::{Client, by_id, by_session, is_absent, say, session, text_of};

/// A message of one text, said at some time.
fn said(role: Role, text: &str) -> Message {
    let input = say(role, text);
    Message {
        role: input.role,
        parts: input.parts,
        create_time: Some(prost_types::Timestamp {
            seconds: 1_700_000_000,
            nanos: 0,
        }),
        ..Default::default()
    }
}

/// A message of the thread, as a caller sends it back, with another time.
fn kept(message: &Message) -> Message {
    Message {
        message_id: message.message_id.clone(),
        role: message.role,
        name: message.name.clone(),
        parts: message.parts.clone(),
        ..said(message.role(), "")
    }
}

/// All messages in full, as a caller sends them back.
fn all_of(memory: &WorkingMemory) -> Vec<Message> {
    memory.messages.iter().map(kept).collect()
}

fn put_of(thread_id: &str, messages: Vec<Message>) -> PutWorkingMemoryRequest {
    PutWorkingMemoryRequest {
        thread: by_id(thread_id),
        messages,
        ..Default::default()
    }
}

/// A working memory of a session that has none.
fn put_in(session: SessionRef, messages: Vec<Message>) -> PutWorkingMemoryRequest {
    PutWorkingMemoryRequest {
        thread: by_session(session),
        messages,
        precondition: is_absent(),
        ..Default::default()
    }
}

fn a_session(app: &str) -> SessionRef {
    session(app, "ada", "thread:42")
}

async fn put(client: &Client, request: PutWorkingMemoryRequest) -> PutWorkingMemoryResponse {
    client.call(request).await
}

/// Puts a working memory; the memory as it is stored.
async fn put_memory(client: &Client, request: PutWorkingMemoryRequest) -> WorkingMemory {
    memory_of(put(client, request).await)
}

/// The working memory of a new session that has one message.
async fn begin(client: &Client, app: &str) -> WorkingMemory {
    let messages = vec![said(Role::User, "a")];
    put_memory(client, put_in(a_session(app), messages)).await
}

fn memory_of(answer: PutWorkingMemoryResponse) -> WorkingMemory {
    answer.working_memory.unwrap()
}

async fn read(client: &Client, request: GetWorkingMemoryRequest) -> GetWorkingMemoryResponse {
    client.call(request).await
}

pub async fn get(client: &Client, thread_id: &str) -> WorkingMemory {
    get_for(client, thread_id, "").await
}

async fn get_for(client: &Client, thread_id: &str, model: &str) -> WorkingMemory {
    let request = GetWorkingMemoryRequest {
        thread: by_id(thread_id),
        model: model.to_owned(),
    };
    read(client, request).await.working_memory.unwrap()
}

/// Stores the model that reads the working memory, and leaves everything else.
async fn set_model(client: &Client, thread_id: &str, model: &str) -> WorkingMemory {
    let request = PutWorkingMemoryRequest {
        model: model.to_owned(),
        ..put_of(thread_id, Vec::new())
    };
    put_memory(client, request).await
}

fn texts(memory: &WorkingMemory) -> Vec<String> {
    memory.messages.iter().map(text_of).collect()
}

/// All that was ever said in a thread.
async fn archive(client: &Client, thread_id: &str) -> Vec<String> {
    let messages = client.all_messages(thread_id).await;
    messages.iter().map(text_of).collect()
}

/// A thread with this policy.
pub async fn thread_with(client: &Client, app: &str, policy: MemoryPolicy) -> String {
    let request = ResolveThreadRequest {
        session: Some(a_session(app)),
        policy: Some(policy),
        ..Default::default()
    };
    client.call(request).await.thread.unwrap().thread_id
}

/// Checks the thread's ledger; how many messages were set aside.
async fn set_aside(client: &Client, thread_id: &str) -> i64 {
    let request = VerifyThreadRequest {
        thread: by_id(thread_id),
    };
    let found = client.call(request).await;
    assert!(found.ok, "{found:?}");
    let of_head = found.counts.iter().filter(|one| one.active);
    let summaries = of_head.filter(|one| one.kind() == LedgerKind::Summary);
    summaries.map(|one| one.set_aside_count).sum()
}
