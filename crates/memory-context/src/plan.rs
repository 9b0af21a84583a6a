//! A plan as lines of a quotation.

use std::collections::BTreeSet;

use memory_agent_contract::plan::{NewPlan, PlanStep};
use memory_contract::json::json_line;
use serde::Serialize;

#[derive(Serialize)]
struct Goal<'a> {
    goal: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    phase: &'a str,
    iterations: i32,
}

#[derive(Serialize)]
struct Step<'a> {
    step: &'a str,
    title: &'a str,
    status: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    result: &'a str,
}

/// Writes the goal, then the steps without results, open ones first, then the results:
/// each line with its place, which a later line may replace. `write` returns whether a line
/// fits. Returns whether all of them fit.
pub(crate) fn write_plan(plan: &NewPlan, mut write: impl FnMut(usize, String) -> bool) -> bool {
    let goal = json_line(&Goal {
        goal: &plan.goal,
        phase: &plan.current_phase,
        iterations: plan.iteration_count,
    });
    if !write(0, goal) {
        return false;
    }
    let mut whole = true;
    let steps = || (1_usize..).zip(&plan.steps);
    let open = steps().filter(|(_, step)| !step.status.is_over());
    // The last ones are the most informative of those that are over.
    let mut over: Vec<(usize, &PlanStep)> =
        steps().filter(|(_, step)| step.status.is_over()).collect();
    over.reverse();
    let by_priority: Vec<(usize, &PlanStep)> = open.chain(over).collect();
    let mut written = BTreeSet::new();
    for &(place, step) in &by_priority {
        match write(place, quoted_step(step, "")) {
            true => {
                written.insert(place);
            }
            false => whole = false,
        }
    }
    for (place, step) in by_priority {
        if !step.result.is_empty() && written.contains(&place) {
            whole &= write(place, quoted_step(step, &step.result));
        }
    }
    whole
}

fn quoted_step(step: &PlanStep, result: &str) -> String {
    json_line(&Step {
        step: &step.id,
        title: &step.title,
        status: step.status.as_str(),
        result,
    })
}
