//! `recollect context`.

use memory_contract::proto::{
    BuildContextRequest, BuildContextResponse, ContextBlockKind, ContextMessage, MemoryMode,
    MemoryPolicy, Message, Part, ProviderFormat, part,
};

use super::recall::{omission, print_named_times};
use crate::cli::args::{ContextArgs, ModeArg};
use crate::cli::client::Client;
use crate::cli::failure::Failure;
use crate::cli::output::{Table, clock, count, one_line, print_message, role, text_of};

/// Shows what a model would be given.
///
/// # Errors
/// When there is no such thread, or the server cannot be reached or refuses.
pub async fn run(args: ContextArgs) -> Result<(), Failure> {
    let client = Client::connect(&args.client.server).await?;
    let choice = args.choice;
    let mode = match args.mode {
        None => MemoryMode::Unspecified,
        Some(ModeArg::None) => MemoryMode::None,
        Some(ModeArg::Window) => MemoryMode::Window,
        Some(ModeArg::Hybrid) => MemoryMode::Hybrid,
        Some(ModeArg::Working) => MemoryMode::Working,
        Some(ModeArg::Observational) => MemoryMode::Observational,
    };
    let formats = match (args.client.json, args.text) {
        (true, _) => vec![
            ProviderFormat::OpenaiChat,
            ProviderFormat::OpenaiResponses,
            ProviderFormat::AnthropicMessages,
            ProviderFormat::Gemini,
            ProviderFormat::Text,
        ],
        (false, true) => vec![ProviderFormat::Text],
        (false, false) => Vec::new(),
    };
    let input = Some(args.input).filter(|input| !input.is_empty());
    let request = BuildContextRequest {
        thread: choice.thread(),
        system_prompt: args.system,
        input: input.map(text).into_iter().collect(),
        max_tokens: args.max_tokens,
        model: args.model,
        policy: Some(MemoryPolicy {
            mode: mode.into(),
            ..Default::default()
        }),
        formats: formats.into_iter().map(Into::into).collect(),
        filter: args.said.filter(),
        explain: args.explain,
        query_time: Some(args.said.query_time()),
        as_of: args.times.as_of,
        known_at: args.times.known_at,
        ..Default::default()
    };
    let context = client
        .contexts()
        .build_context(request)
        .await
        .map_err(|status| client.failure(&status))?
        .into_inner();
    if args.client.json {
        return print_message("BuildContextResponse", &context);
    }
    if args.text {
        for rendered in &context.rendered {
            println!("{}", rendered.body);
        }
        return Ok(());
    }
    print(&context)
}

fn print(context: &BuildContextResponse) -> Result<(), Failure> {
    let mut table = Table::new(&["Block!", "Said!", "Who", "What", "Tokens>"]);
    for block in &context.blocks {
        for message in &block.messages {
            let who = match message.name.as_str() {
                "" => role(message.role).to_owned(),
                name => name.to_owned(),
            };
            table.row([
                kind(block.kind()).to_owned(),
                clock(message.create_time.as_ref()),
                one_line(&who, 20),
                one_line(&said(message), 1_000),
                message.token_count.to_string(),
            ]);
        }
    }
    table.print()?;
    println!(
        "{} of at most {} ({}){}",
        count(context.total_tokens, "token"),
        context.max_tokens,
        context.tokenizer,
        match context.omitted.len() {
            0 => String::new(),
            left_out => format!("; {} left out", count(left_out, "candidate")),
        }
    );
    print_named_times(&context.named_times);
    for cut in &context.cuts {
        println!(
            "Not in the block {}: {}, {}",
            kind(cut.kind()),
            count(cut.item_count, "item"),
            count(cut.token_count, "token")
        );
    }
    if !context.omitted.is_empty() {
        let mut table = Table::new(&["Block!", "Left out!", "Because", "Score>"]);
        for omitted in &context.omitted {
            let what = match (omitted.message_id.as_str(), omitted.memory_id.as_str()) {
                ("", "") => format!("number {}", omitted.number),
                ("", memory) => memory.to_owned(),
                (message, _) => message.to_owned(),
            };
            table.row([
                kind(omitted.kind()).to_owned(),
                what,
                omission(omitted.reason()).to_owned(),
                format!("{:.2}", omitted.score),
            ]);
        }
        table.print()?;
    }
    for degradation in &context.degradations {
        println!("Note: {}", degradation.message);
    }
    if context.pending_count > 0 {
        println!(
            "Note: {} messages and memories are not indexed yet; once they are, the same question may find others",
            context.pending_count
        );
    }
    Ok(())
}

fn kind(kind: ContextBlockKind) -> &'static str {
    match kind {
        ContextBlockKind::System => "system",
        ContextBlockKind::Instructions => "instructions",
        ContextBlockKind::Profile => "profile",
        ContextBlockKind::Distilled => "distilled",
        ContextBlockKind::Memories => "memories",
        ContextBlockKind::Recalled => "recalled",
        ContextBlockKind::Recent => "recent",
        ContextBlockKind::Node => "node",
        ContextBlockKind::Plan => "plan",
        ContextBlockKind::Input => "input",
        ContextBlockKind::Unspecified => "?",
    }
}

fn said(message: &ContextMessage) -> String {
    text_of(&Message {
        parts: message.parts.clone(),
        ..Message::default()
    })
}

fn text(text: String) -> Part {
    part::Content::Text(text).into()
}
