//! `recollect recall`.

use memory_contract::proto::{
    AppRef, MemoryPolicy, OmissionReason, QueryTime, RecallReason, RecallRequest, RecallResponse,
    RecallScope, RecalledMessage, SearchMethod, Target, UserRef, recall_request::Budget,
};

use crate::cli::args::{MethodArg, RecallArgs, ScopeArg};
use crate::cli::client::Client;
use crate::cli::failure::Failure;
use crate::cli::output::{Table, clock, count, one_line, print_message, role, second, text_of};

/// Searches messages.
///
/// # Errors
/// When there is no such thread, or the server cannot be reached or refuses.
pub async fn run(args: RecallArgs) -> Result<(), Failure> {
    let choice = args.choice.clone();
    if choice.thread.is_none()
        && choice.session.is_none()
        && choice.user.is_none()
        && args.scope != Some(ScopeArg::App)
    {
        return Err(Failure::Usage(
            "choose what to search: --user, --thread, --session, or --scope app".to_owned(),
        ));
    }
    let client = Client::connect(&args.client.server).await?;
    let (app_id, user) = (choice.app.clone(), choice.user.clone());
    let (target, scope): (Target, RecallScope) = match (choice.thread(), args.scope) {
        (Some(thread), None) => (thread.into(), RecallScope::Unspecified),
        (Some(thread), Some(ScopeArg::Thread)) => (thread.into(), RecallScope::Thread),
        (Some(thread), Some(ScopeArg::User)) => (thread.into(), RecallScope::User),
        (Some(thread), Some(ScopeArg::App)) => (thread.into(), RecallScope::App),
        (Some(thread), Some(ScopeArg::Space)) => (thread.into(), RecallScope::Space),
        (None, Some(ScopeArg::Thread | ScopeArg::Space)) => {
            return Err(Failure::Usage(
                "--scope thread and --scope space need --thread or --session".to_owned(),
            ));
        }
        (None, Some(ScopeArg::App)) => (AppRef { app_id }.into(), RecallScope::Unspecified),
        (None, Some(ScopeArg::User) | None) => {
            let user_id = user.unwrap_or_default();
            let user = UserRef { app_id, user_id };
            (user.into(), RecallScope::Unspecified)
        }
    };
    let method = match args.method {
        MethodArg::Hybrid => SearchMethod::Hybrid,
        MethodArg::Dense => SearchMethod::Dense,
        MethodArg::Lexical => SearchMethod::Lexical,
    };
    let request = RecallRequest {
        target: Some(target),
        query: args.query,
        policy: Some(MemoryPolicy {
            scope: scope.into(),
            recent_window: args.recent,
            top_k: args.top_k,
            neighbors_before: args.before,
            neighbors_after: args.after,
            min_score: args.min_score,
            ..Default::default()
        }),
        budget: (args.max_tokens > 0).then_some(Budget::MaxTokens(args.max_tokens)),
        method: method.into(),
        all_branches: args.all_branches,
        explain: args.explain,
        query_time: Some(QueryTime {
            time_zone: args.time_zone,
            ..Default::default()
        }),
        ..Default::default()
    };
    let recalled = client
        .recall()
        .recall(request)
        .await
        .map_err(|status| client.failure(&status))?
        .into_inner();
    if args.client.json {
        return print_message("RecallResponse", &recalled);
    }
    print(&recalled)
}

fn print(recalled: &RecallResponse) -> Result<(), Failure> {
    if recalled.messages.is_empty() {
        println!("Nothing was recalled.");
    } else {
        let mut table = Table::new(&[
            "Said!", "Who!", "What", "Why", "Score>", "Dense>", "Lexical>",
        ]);
        for found in &recalled.messages {
            let [score, dense, lexical] = scores(found);
            let message = found.message.clone().unwrap_or_default();
            table.row([
                clock(message.create_time.as_ref()),
                one_line(&who(found), 20),
                one_line(&text_of(&message), 300),
                why(found),
                score,
                dense,
                lexical,
            ]);
        }
        table.print()?;
        println!(
            "{}, {} ({})",
            count(recalled.messages.len(), "message"),
            count(recalled.total_tokens, "token"),
            recalled.tokenizer
        );
    }
    for named in &recalled.named_times {
        println!(
            "\"{}\" was read as {} to {}, in UTC.",
            one_line(&named.text, 60),
            second(named.start_time.as_ref()),
            second(named.end_time.as_ref())
        );
    }
    for cut in &recalled.cuts {
        println!(
            "Left out for their size ({}): {}, {}",
            reason(cut.reason()),
            count(cut.message_count, "message"),
            count(cut.token_count, "token")
        );
    }
    if !recalled.omitted.is_empty() {
        let mut table = Table::new(&["Left out", "Because", "Score>"]);
        for omitted in &recalled.omitted {
            table.row([
                omitted.message_id.clone(),
                omission(omitted.reason()).to_owned(),
                format!("{:.2}", omitted.score),
            ]);
        }
        table.print()?;
    }
    for degradation in &recalled.degradations {
        println!("Note: {}", degradation.message);
    }
    Ok(())
}

/// The speaker.
pub fn who(found: &RecalledMessage) -> String {
    match &found.message {
        Some(message) if message.name.is_empty() => role(message.role).to_owned(),
        Some(message) => message.name.clone(),
        None => String::new(),
    }
}

/// The reason for which it was returned, in two words.
pub fn why(found: &RecalledMessage) -> String {
    let mut reasons: Vec<String> = found
        .reasons()
        .map(|reason| match reason {
            RecallReason::Match => format!("match {}", found.rank),
            RecallReason::Recent | RecallReason::Neighbor | RecallReason::Unspecified => {
                self::reason(reason).to_owned()
            }
        })
        .collect();
    reasons.dedup();
    reasons.join(", ")
}

fn reason(reason: RecallReason) -> &'static str {
    match reason {
        RecallReason::Match => "match",
        RecallReason::Recent => "recent",
        RecallReason::Neighbor => "neighbor",
        RecallReason::Unspecified => "?",
    }
}

/// Its scores: all together, by meaning, by word.
pub fn scores(found: &RecalledMessage) -> [String; 3] {
    let shown = |score: Option<f32>| score.map(|score| format!("{score:.2}")).unwrap_or_default();
    let is_match = found.reasons().any(|reason| reason == RecallReason::Match);
    [
        shown(is_match.then_some(found.score)),
        shown(found.dense_score),
        shown(found.lexical_score),
    ]
}

/// Why a candidate was left out.
pub fn omission(reason: OmissionReason) -> &'static str {
    match reason {
        OmissionReason::Budget => "it does not fit the budget",
        OmissionReason::Duplicate => "the same was said by the same speaker",
        OmissionReason::Threshold => "its score is below min_score",
        OmissionReason::Rank => "others match better",
        OmissionReason::Branch => "it is on another branch",
        OmissionReason::Unspecified => "?",
    }
}
