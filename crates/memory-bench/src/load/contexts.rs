//! Contexts of a long conversation, whose cost must depend on what they show and not on the
//! length of the conversation.

use std::time::{Duration, Instant};

use memory_contract::proto::{
    AddNodeTurnRequest, AppendMessagesRequest, BuildContextRequest, BuildContextResponse,
    ContextBlockKind, FlushNodeMemoryRequest, MemoryMode, MemoryPolicy, MessageInput,
    NodeMessageInput, NodeRef, Part, ProviderFormat, Role, part,
};
use serde::Serialize;

use crate::{
    Failure,
    clients::{Clients, new_app},
    progress,
    service::Service,
    stats::{Latencies, Quantiles, rounded},
};

/// Messages of the long conversations: more than the default thresholds of summaries and of
/// observations.
const LONG: usize = 2_000;
/// Messages of the short conversations in the modes that show few of them.
const SHORT: usize = 100;
/// Contexts built of each conversation.
const BUILDS: usize = 200;
/// Builds before the measurement, which fill caches.
const WARM_UP: usize = 20;
/// The time limit of summaries and observations.
const SETTLE: Duration = Duration::from_secs(300);
/// Turns of a node's dialogue.
const NODE_TURNS: usize = 10;
const NODE: &str = "planner";

/// Latencies of contexts by mode.
#[derive(Serialize)]
pub struct ContextFigures {
    long_conversation_messages: usize,
    modes: Vec<OfMode>,
}

/// The contexts of one mode.
#[derive(Serialize)]
struct OfMode {
    mode: &'static str,
    short_conversation_messages: usize,
    /// Messages in full in each context of the long conversation, and of the short one.
    shown_messages: [usize; 2],
    long: Quantiles,
    short: Quantiles,
}

/// The ratio of the long conversation's median to the short one's, by mode.
#[derive(Clone, Copy, Default, Serialize)]
pub struct Ratios {
    pub context_long_window_p50_ratio: Option<f64>,
    pub context_long_hybrid_p50_ratio: Option<f64>,
    pub context_long_node_p50_ratio: Option<f64>,
    pub context_long_working_p50_ratio: Option<f64>,
    pub context_long_observational_p50_ratio: Option<f64>,
}

impl ContextFigures {
    /// The ratios.
    pub fn ratios(&self) -> Ratios {
        let of = |mode: MemoryMode| {
            let found = self.modes.iter().find(|one| one.mode == name(mode))?;
            Some(rounded(
                found.long.p50_ms / found.short.p50_ms.max(0.001),
                2,
            ))
        };
        Ratios {
            context_long_window_p50_ratio: of(MemoryMode::Window),
            context_long_hybrid_p50_ratio: of(MemoryMode::Hybrid),
            context_long_node_p50_ratio: of(MemoryMode::Node),
            context_long_working_p50_ratio: of(MemoryMode::Working),
            context_long_observational_p50_ratio: of(MemoryMode::Observational),
        }
    }

    /// A summary, one line for each mode.
    pub fn lines(&self) -> impl Iterator<Item = String> {
        self.modes.iter().map(|one| {
            format!(
                "{}: {} of {} messages in full: p50 {:.2} ms, p95 {:.2} ms; {} of {}: p50 {:.2} ms, p95 {:.2} ms",
                one.mode,
                one.shown_messages[0],
                self.long_conversation_messages,
                one.long.p50_ms,
                one.long.p95_ms,
                one.shown_messages[1],
                one.short_conversation_messages,
                one.short.p50_ms,
                one.short.p95_ms
            )
        })
    }
}

fn name(mode: MemoryMode) -> &'static str {
    match mode {
        MemoryMode::Unspecified | MemoryMode::None => "none",
        MemoryMode::Window => "window",
        MemoryMode::Hybrid => "hybrid",
        MemoryMode::Node => "node",
        MemoryMode::Working => "working",
        MemoryMode::Observational => "observational",
    }
}

/// Builds contexts of a long and a short conversation alternately, in each mode, each for a
/// question of its own. In working
/// and observational mode the short conversation has as many messages as the contexts of
/// the long one show in full.
pub async fn measure(service: &Service) -> Result<ContextFigures, Failure> {
    let mut clients = service.connect().await?;
    let app = new_app();
    let long = conversation(&mut clients, &app, "long", MemoryMode::Hybrid, LONG).await?;
    let short = conversation(&mut clients, &app, "short", MemoryMode::Hybrid, SHORT).await?;
    let observed = MemoryMode::Observational;
    let long_observed = conversation(&mut clients, &app, "long run", observed, LONG).await?;
    for thread in [&long, &short] {
        node_dialogue(&mut clients, thread).await?;
    }
    settled(&mut clients, &long, MemoryMode::Working).await?;
    settled(&mut clients, &long_observed, observed).await?;

    let mut modes = Vec::new();
    for mode in [MemoryMode::Window, MemoryMode::Hybrid, MemoryMode::Node] {
        modes.push(alternate(&mut clients, mode, [&long, &short], SHORT).await?);
    }
    for (mode, long) in [(MemoryMode::Working, &long), (observed, &long_observed)] {
        let shown = shown(&build(&mut clients, long, mode, 0).await?);
        let key = format!("short {}", name(mode));
        let short = conversation(&mut clients, &app, &key, mode, shown).await?;
        crate::indexed::indexed(&mut clients).await?;
        modes.push(alternate(&mut clients, mode, [long, &short], shown).await?);
    }
    Ok(ContextFigures {
        long_conversation_messages: LONG,
        modes,
    })
}

async fn alternate(
    clients: &mut Clients,
    mode: MemoryMode,
    threads: [&String; 2],
    short_conversation_messages: usize,
) -> Result<OfMode, Failure> {
    crate::indexed::indexed(clients).await?;
    let label = format!("building contexts, {}", name(mode));
    let bar = progress::count(label, (BUILDS + WARM_UP) as u64);
    let mut latencies = [Latencies::new()?, Latencies::new()?];
    let mut shown_messages = [0; 2];
    for number in 0..BUILDS + WARM_UP {
        for (side, thread) in threads.into_iter().enumerate() {
            let begin = Instant::now();
            let context = build(clients, thread, mode, 2 * number + side).await?;
            if number >= WARM_UP {
                latencies[side].add(begin.elapsed());
            }
            shown_messages[side] = shown(&context);
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    let [long, short] = latencies.map(|one| one.quantiles());
    Ok(OfMode {
        mode: name(mode),
        short_conversation_messages,
        shown_messages,
        long,
        short,
    })
}

/// The messages in full.
fn shown(context: &BuildContextResponse) -> usize {
    let full = [ContextBlockKind::Recent, ContextBlockKind::Node];
    let blocks = context.blocks.iter();
    let blocks = blocks.filter(|block| full.contains(&block.kind()));
    blocks.map(|block| block.messages.len()).sum()
}

async fn build(
    clients: &mut Clients,
    thread: &str,
    mode: MemoryMode,
    day: usize,
) -> Result<BuildContextResponse, Failure> {
    let request = BuildContextRequest {
        thread: Some(thread.to_owned().into()),
        system_prompt: "You plan journeys.".to_owned(),
        input: vec![text(format!("What is planned for day {day}?"))],
        policy: Some(policy(mode)),
        node_id: NODE.to_owned(),
        formats: vec![ProviderFormat::OpenaiChat.into()],
        ..Default::default()
    };
    Ok(clients.contexts.build_context(request).await?.into_inner())
}

/// Waits until the messages in full are within the thresholds.
async fn settled(clients: &mut Clients, thread: &str, mode: MemoryMode) -> Result<(), Failure> {
    let step = progress::step("condensing the long conversation");
    let begin = Instant::now();
    let (mut before, mut alike) = (0, 0);
    // Unchanged for a while: the worker is done.
    while alike < 20 {
        let context = build(clients, thread, mode, 7).await?;
        let blocks = &context.blocks;
        let condensed = blocks
            .iter()
            .any(|block| block.kind() == ContextBlockKind::Distilled);
        alike = match condensed && context.total_tokens == before {
            true => alike + 1,
            false => 0,
        };
        before = context.total_tokens;
        if begin.elapsed() > SETTLE {
            return Err(format!("{before} tokens are still in the context").into());
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    step.finish_and_clear();
    Ok(())
}

async fn conversation(
    clients: &mut Clients,
    app: &str,
    key: &str,
    mode: MemoryMode,
    messages: usize,
) -> Result<String, Failure> {
    let thread = clients
        .thread_with_policy(app, "bench", key, policy(mode))
        .await?;
    let mut stored = 0;
    while stored < messages {
        let batch = (messages - stored).min(200);
        let request = AppendMessagesRequest {
            thread: Some(thread.clone().into()),
            messages: (stored..stored + batch).map(message).collect(),
            ..Default::default()
        };
        clients.messages.append_messages(request).await?;
        stored += batch;
    }
    Ok(thread)
}

async fn node_dialogue(clients: &mut Clients, thread: &str) -> Result<(), Failure> {
    let node = NodeRef {
        thread: Some(thread.into()),
        node_id: NODE.to_owned(),
    };
    let said = |content: String| {
        Some(NodeMessageInput {
            content,
            ..Default::default()
        })
    };
    for number in 0..NODE_TURNS {
        let request = AddNodeTurnRequest {
            node: Some(node.clone()),
            user: said(format!("Plan day {number} of the journey.")),
            assistant: said(format!("Day {number} begins with a walk by the harbor.")),
            ..Default::default()
        };
        clients.nodes.add_node_turn(request).await?;
    }
    let request = FlushNodeMemoryRequest { node: Some(node) };
    clients.nodes.flush_node_memory(request).await?;
    Ok(())
}

fn policy(mode: MemoryMode) -> MemoryPolicy {
    MemoryPolicy {
        mode: mode.into(),
        ..Default::default()
    }
}

/// A message of about 70 tokens.
fn message(number: usize) -> MessageInput {
    let role = match number.is_multiple_of(2) {
        true => Role::User,
        false => Role::Assistant,
    };
    let said = format!(
        "On day {} of the journey the train leaves at {}:{:02} for station {}, where a table for \
         {} is reserved under booking {}. The museum by the harbor opens at nine, the tickets \
         cost {} crowns, and whoever arrives before noon sees the restored ship of 1628 first.",
        number / 2,
        6 + number % 12,
        number % 60,
        number * 7 % 1_009,
        2 + number % 5,
        40_000 + number * 37,
        90 + number * 13 % 211
    );
    MessageInput {
        role: role.into(),
        parts: vec![text(said)],
        ..Default::default()
    }
}

fn text(text: String) -> Part {
    part::Content::Text(text).into()
}
