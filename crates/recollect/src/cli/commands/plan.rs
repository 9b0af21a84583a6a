//! `recollect plan`.

use memory_contract::proto::{
    GetPlanRequest, Iteration, ListIterationsRequest, ListIterationsResponse, Plan, PlanStepStatus,
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
        lines.write("ListIterationsResponse", &log)?;
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
) -> Result<ListIterationsResponse, Failure> {
    let mut log = ListIterationsResponse::default();
    loop {
        let left = most - log.iterations.len();
        let request = ListIterationsRequest {
            thread: named.clone().thread(),
            failed,
            page_size: i32::try_from(left.min(500)).unwrap_or(500),
            page_token: log.next_page_token,
            ..Default::default()
        };
        let page = client
            .plans()
            .list_iterations(request)
            .await
            .map_err(|status| client.failure(&status))?
            .into_inner();
        log.iterations.extend(page.iterations);
        log.next_page_token = page.next_page_token;
        if log.next_page_token.is_empty() || log.iterations.len() >= most {
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

fn print_attempts(log: &ListIterationsResponse) -> Result<(), Failure> {
    if log.iterations.is_empty() {
        return Ok(());
    }
    println!();
    let mut table = Table::new(&["#>", "Logged!", "Task", "Attempt>", "What", "Came of it"]);
    for iteration in &log.iterations {
        table.row([
            iteration.number.to_string(),
            clock(iteration.create_time.as_ref()),
            one_line(&iteration.task, 40),
            iteration.attempt.to_string(),
            one_line(&iteration.action, 200),
            one_line(&outcome(iteration), 400),
        ]);
    }
    table.print()?;
    if !log.next_page_token.is_empty() {
        println!("There are more; --attempts shows them.");
    }
    Ok(())
}

/// The outcome of an attempt: its error, result, diagnosis and fix.
fn outcome(iteration: &Iteration) -> String {
    let error = match iteration.error.as_str() {
        "" => String::new(),
        error => format!("failed: {error}"),
    };
    let said = [
        &error,
        &iteration.result,
        &iteration.diagnosis,
        &iteration.fix,
    ];
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
