//! `recollect recall`.

use memory_contract::limits;
use memory_contract::proto::{
    AppRef, MemoryPolicy, NamedTime, OmissionReason, RecallReason, RecallRequest, RecallResponse,
    RecallScope, RecalledMessage, SearchMethod, Target, UserRef, recall_request::Budget,
};

use crate::cli::args::{MethodArg, RecallArgs, ScopeArg};
use crate::cli::client::Client;
use crate::cli::failure::Failure;
use crate::cli::output::{Table, clock, count, one_line, print_message, role, second, text_of};

/// Searches messages, or lists those of a time.
///
/// # Errors
/// When there is no such thread, or the server cannot be reached or refuses.
pub async fn run(args: RecallArgs) -> Result<(), Failure> {
    let (target, scope) = searched(&args)?;
    let client = Client::connect(&args.client.server).await?;
    let json = args.client.json;
    let recalled = client
        .recall()
        .recall(request(args, target, scope))
        .await
        .map_err(|status| client.failure(&status))?
        .into_inner();
    if json {
        return print_message("RecallResponse", &recalled);
    }
    print(&recalled)
}

/// Where to search, and how far beyond a conversation.
fn searched(args: &RecallArgs) -> Result<(Target, RecallScope), Failure> {
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
    let (app_id, user) = (choice.app.clone(), choice.user.clone());
    Ok(match (choice.thread(), args.scope) {
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
    })
}

fn request(args: RecallArgs, target: Target, scope: RecallScope) -> RecallRequest {
    let method = match args.method {
        MethodArg::Hybrid => SearchMethod::Hybrid,
        MethodArg::Dense => SearchMethod::Dense,
        MethodArg::Lexical => SearchMethod::Lexical,
    };
    let filter = args.said.filter();
    let query = args.query.unwrap_or_default();
    // Without a query, the messages of a time are listed, without those around them.
    let lists = query.is_empty() && filter.is_some();
    let or = |given: Option<i32>, listed: i32| given.or(lists.then_some(listed));
    RecallRequest {
        target: Some(target),
        query,
        policy: Some(MemoryPolicy {
            scope: scope.into(),
            recent_window: or(args.recent, 0),
            top_k: or(args.top_k, limits::TOP_K_MAX),
            neighbors_before: or(args.before, 0),
            neighbors_after: or(args.after, 0),
            min_score: args.min_score,
            ..Default::default()
        }),
        filter,
        budget: (args.max_tokens > 0).then_some(Budget::MaxTokens(args.max_tokens)),
        method: method.into(),
        all_branches: args.all_branches,
        explain: args.explain,
        query_time: Some(args.said.query_time()),
        ..Default::default()
    }
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
    print_named_times(&recalled.named_times);
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

/// Prints how the times in a question were read.
pub fn print_named_times(named_times: &[NamedTime]) {
    for named in named_times {
        println!(
            "\"{}\" was read as {} to {}, in UTC.",
            one_line(&named.text, 60),
            second(named.start_time.as_ref()),
            second(named.end_time.as_ref())
        );
    }
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
