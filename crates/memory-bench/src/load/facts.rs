//! Long-term memories: the rate of extraction from messages, and the rate at which
//! memories added by callers become searchable.

use std::time::{Duration, Instant};

use memory_contract::proto::{
    AddMemoriesRequest, AppendMessagesRequest, ExtractionStrategy, ListMemoriesRequest,
    MemoryFilter, MemoryInput, MemoryOrigin, MemoryPolicy, MessageInput, Part, Role, UserRef, part,
};
use serde::Serialize;

use crate::{
    Failure,
    clients::{Clients, new_app},
    progress,
    service::Service,
    stats::rounded,
};

/// Users whose conversations facts are extracted from, each with one thread.
const USERS: usize = 8;
/// The time without new memories after which extraction counts as complete. A thread must
/// be quiet for a while before it is extracted from.
const QUIET: Duration = Duration::from_secs(15);
/// The time limit of the extraction.
const EXTRACTION: Duration = Duration::from_secs(300);
/// Memories in one call.
const BATCH: usize = 100;

/// Throughput of extracted and of added memories.
#[derive(Serialize)]
pub struct FactFigures {
    messages: usize,
    extracted: usize,
    /// Extracted memories per second, from the first to the last; absent if there are too
    /// few.
    pub extracted_per_s: Option<f64>,
    promoted: usize,
    /// Added memories per second, until all are searchable.
    pub promoted_per_s: f64,
}

impl FactFigures {
    /// A summary in one line.
    pub fn line(&self) -> String {
        format!(
            "{} extracted from {} messages{}; {} of callers at {:.0}/s to searchable",
            self.extracted,
            self.messages,
            self.extracted_per_s
                .map_or_else(String::new, |rate| format!(" at {rate}/s")),
            self.promoted,
            self.promoted_per_s,
        )
    }
}

/// Measures with so many facts, half of them in messages and half added by calls.
pub async fn measure(service: &Service, facts: usize) -> Result<FactFigures, Failure> {
    let mut clients = service.connect().await?;
    let app = new_app();
    let step = progress::step("promoting memories");
    let half = (facts / 2).max(1);
    let begin = Instant::now();
    let numbers: Vec<usize> = (0..half).collect();
    for batch in numbers.chunks(BATCH) {
        let memories = batch.iter().map(|number| MemoryInput {
            text: format!(
                "Machine {number} stands in hall {} of the works.",
                number % 40
            ),
            ..Default::default()
        });
        let request = AddMemoriesRequest {
            user: Some(UserRef {
                app_id: app.clone(),
                user_id: "given".to_owned(),
            }),
            memories: memories.collect(),
        };
        clients.memories.add_memories(request).await?;
    }
    crate::indexed::indexed(&mut clients).await?;
    let promoting = begin.elapsed();
    step.finish_and_clear();

    let messages = said(&mut clients, &app, half).await?;
    let (extracted, extracted_per_s) = extracted(&mut clients, &app).await?;
    Ok(FactFigures {
        messages,
        extracted,
        extracted_per_s,
        promoted: half,
        promoted_per_s: rate(half, promoting),
    })
}

fn rate(count: usize, time: Duration) -> f64 {
    rounded(count as f64 / time.as_secs_f64().max(1e-3), 1)
}

/// Appends conversations with facts about users; returns the number of messages.
async fn said(clients: &mut Clients, app: &str, facts: usize) -> Result<usize, Failure> {
    let bar = progress::count("telling facts", facts as u64);
    let mut messages = 0;
    for user in 0..USERS {
        let thread_id = thread(clients, app, user).await?;
        let numbers: Vec<usize> = (user..facts).step_by(USERS).collect();
        for batch in numbers.chunks(BATCH) {
            let said = batch.iter().flat_map(|&number| exchange(number));
            let request = AppendMessagesRequest {
                thread: Some(thread_id.clone().into()),
                messages: said.collect(),
                ..Default::default()
            };
            messages += request.messages.len();
            clients.messages.append_messages(request).await?;
            bar.inc(batch.len() as u64);
        }
    }
    bar.finish_and_clear();
    Ok(messages)
}

/// A user's message with a fact in one of the plain forms that are extracted without a
/// model, and an answer.
fn exchange(number: usize) -> [MessageInput; 2] {
    const PLACES: [&str; 7] = ["Oslo", "Porto", "Kyoto", "Lima", "Accra", "Turin", "Quito"];
    let place = PLACES[number % 7];
    let fact = match number % 3 {
        0 => format!("I own boat number {number} in {place}."),
        1 => format!("I am allergic to tea number {number} from {place}."),
        _ => format!("I studied subject {number} in {place}."),
    };
    let message = |role: Role, text: String| MessageInput {
        role: role.into(),
        parts: vec![Part {
            content: Some(part::Content::Text(text)),
            ..Default::default()
        }],
        ..Default::default()
    };
    [
        message(Role::User, fact),
        message(Role::Assistant, "I see, thank you.".to_owned()),
    ]
}

async fn thread(clients: &mut Clients, app: &str, user: usize) -> Result<String, Failure> {
    let policy = MemoryPolicy {
        extraction: ExtractionStrategy::Discrete.into(),
        ..Default::default()
    };
    let (user, key) = (format!("user-{user}"), format!("session:{user}"));
    clients.thread_with_policy(app, &user, &key, policy).await
}

/// The number of memories extracted in the end, and their rate per second after the first.
async fn extracted(clients: &mut Clients, app: &str) -> Result<(usize, Option<f64>), Failure> {
    let step = progress::step("extracting");
    let begin = Instant::now();
    let mut seen = 0;
    let (mut first, mut last) = ((begin, 0), begin);
    while last.elapsed() < QUIET && begin.elapsed() < EXTRACTION {
        let mut now = 0;
        for user in 0..USERS {
            now += count(clients, app, user).await?;
        }
        if now > seen {
            last = Instant::now();
            if seen == 0 {
                first = (last, now);
            }
            seen = now;
            step.set_message(format!("extracting, {seen} memories so far"));
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    step.finish_and_clear();
    let (since, there) = first;
    Ok((
        seen,
        (seen > there).then(|| rate(seen - there, last - since)),
    ))
}

async fn count(clients: &mut Clients, app: &str, user: usize) -> Result<usize, Failure> {
    let mut request = ListMemoriesRequest {
        target: Some(
            UserRef {
                app_id: app.to_owned(),
                user_id: format!("user-{user}"),
            }
            .into(),
        ),
        filter: Some(MemoryFilter {
            origins: vec![MemoryOrigin::Extracted.into()],
            ..Default::default()
        }),
        page_size: 500,
        page_token: String::new(),
    };
    let mut count = 0;
    loop {
        let page = clients
            .memories
            .list_memories(request.clone())
            .await?
            .into_inner();
        count += page.memories.len();
        if page.next_page_token.is_empty() {
            return Ok(count);
        }
        request.page_token = page.next_page_token;
    }
}
