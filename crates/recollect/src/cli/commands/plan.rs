//! `recollect plan`.

use memory_contract::proto::{
    Attempt, GetPlanRequest, ListAttemptsRequest, ListAttemptsResponse, Plan, PlanStepStatus,
};

use crate::cli::args::{Named, PlanArgs};
use crate::cli::client::Client;
use crate::cli::failure::Failure;
use crate::cli::output::{JsonLines, Table, clock, count, exact, one_line};

/// Shows the plan of a thread and its attempts.
///
/// # Errors
/// When there is no such thread, or no plan, or the server cannot be reached or
/// refuses.
pub async fn run(args: PlanArgs) -> Result<(), Failure> {
    let client = Client::connect(&args.client.server).await?;
    let request = GetPlanRequest {
        thread: args.named.clone().thread(),
    };
    let response = client
        .plans()
        .get_plan(request)
        .await
        .map_err(|status| client.failure(&status))?
        .into_inner();
    let log = attempts(&client, &args.named, args.failed, args.attempts as usize).await?;
    if args.client.json {
        let mut lines = JsonLines::stdout();
        lines.write("GetPlanResponse", &response)?;
        lines.write("ListAttemptsResponse", &log)?;
        return lines.finish();
    }
    print_plan(&response.plan.unwrap_or_default())?;
    print_attempts(&log)
}

async fn attempts(
    client: &Client,
    named: &Named,
    failed: bool,
    most: usize,
) -> Result<ListAttemptsResponse, Failure> {
    let mut log = ListAttemptsResponse::default();
    loop {
        let left = most - log.attempts.len();
        let request = ListAttemptsRequest {
            thread: named.clone().thread(),
            failed,
            page_size: i32::try_from(left.min(500)).unwrap_or(500),
            page_token: log.next_page_token,
            ..Default::default()
        };
        let page = client
            .plans()
            .list_attempts(request)
            .await
            .map_err(|status| client.failure(&status))?
            .into_inner();
        log.attempts.extend(page.attempts);
        log.next_page_token = page.next_page_token;
        if log.next_page_token.is_empty() || log.attempts.len() >= most {
            return Ok(log);
        }
    }
}

fn print_plan(plan: &Plan) -> Result<(), Failure> {
    println!("{}", one_line(&plan.goal, 400));
    let phase = match one_line(&plan.current_phase, 200) {
        phase if phase.is_empty() => "no phase".to_owned(),
        phase => format!("phase {phase}"),
    };
    let rounds = count(plan.iteration_count, "iteration");
    println!(
        "{phase}, {rounds}, changed {}",
        clock(plan.update_time.as_ref())
    );
    let mut table = Table::new(&["Step!", "Status!", "What", "Result"]);
    for step in &plan.steps {
        table.row([
            exact(&step.step_id),
            status(step.status()).to_owned(),
            one_line(&step.title, 200),
            one_line(&step.result, 400),
        ]);
    }
    match table.is_empty() {
        true => Ok(()),
        false => table.print(),
    }
}

fn print_attempts(log: &ListAttemptsResponse) -> Result<(), Failure> {
    if log.attempts.is_empty() {
        return Ok(());
    }
    println!();
    let mut table = Table::new(&["#>", "Logged!", "Task", "Attempt>", "What", "Came of it"]);
    for attempt in &log.attempts {
        table.row([
            attempt.number.to_string(),
            clock(attempt.create_time.as_ref()),
            one_line(&attempt.task, 40),
            attempt.task_number.to_string(),
            one_line(&attempt.action, 200),
            one_line(&outcome(attempt), 400),
        ]);
    }
    table.print()?;
    if !log.next_page_token.is_empty() {
        println!("There are more; --attempts shows them.");
    }
    Ok(())
}

/// The outcome of an attempt: its error, result, diagnosis and fix.
fn outcome(attempt: &Attempt) -> String {
    let error = match attempt.error.as_str() {
        "" => String::new(),
        error => format!("failed: {error}"),
    };
    let said = [&error, &attempt.result, &attempt.diagnosis, &attempt.fix];
    let said = said.into_iter().filter(|text| !text.is_empty());
    said.cloned().collect::<Vec<String>>().join("; ")
}

fn status(status: PlanStepStatus) -> &'static str {
    match status {
        PlanStepStatus::Unspecified => "?",
        PlanStepStatus::Pending => "pending",
        PlanStepStatus::InProgress => "in progress",
        PlanStepStatus::Done => "done",
        PlanStepStatus::Failed => "failed",
        PlanStepStatus::Skipped => "skipped",
    }
}
