//! Converts plans and the log of attempts.

use memory_contract::{
    Invalid, InvalidFields, check,
    convert::{json_text, metadata_from, timestamp, timestamp_of},
    limits, proto,
};

use crate::plan::{
    AgentEvent, Attempt, NewAgentEvent, NewAttempt, NewPlan, Plan, PlanStep, PlanStepStatus,
};

/// Reads a plan to store, and names every wrong field with the path below
/// `field`.
///
/// # Errors
/// A missing plan or goal, a repeated step id, and values over their limits.
pub fn plan_from(field: &str, plan: Option<proto::Plan>) -> Result<NewPlan, InvalidFields> {
    let Some(proto::Plan {
        goal,
        current_phase,
        iteration_count,
        steps,
        data,
        etag: _,
        create_time: _,
        update_time: _,
    }) = plan
    else {
        return Err(Invalid::missing(field).into());
    };
    let mut invalid = Vec::new();
    let goal = check::required_text("goal", goal, limits::PLAN_TEXT_CHARS)
        .map_err(|problem| invalid.push(problem));
    let current_phase = check::text("current_phase", current_phase, limits::PHASE_CHARS)
        .map_err(|problem| invalid.push(problem));
    if iteration_count < 0 {
        invalid.push(Invalid::new("iteration_count", "must not be negative"));
    }
    let steps = steps_from(steps).map_err(|InvalidFields(problems)| invalid.extend(problems));
    let data = metadata_from("data", data).map_err(|problem| invalid.push(problem));
    match (goal, current_phase, steps, data) {
        (Ok(goal), Ok(current_phase), Ok(steps), Ok(data)) if invalid.is_empty() => Ok(NewPlan {
            goal,
            current_phase,
            iteration_count,
            steps,
            data,
        }),
        _ => Err(within(field, invalid)),
    }
}

/// Reads the status of a step; unspecified is `None`.
///
/// # Errors
/// An unknown status.
pub fn step_status_from(field: &str, status: i32) -> Result<Option<PlanStepStatus>, Invalid> {
    match proto::PlanStepStatus::try_from(status) {
        Ok(proto::PlanStepStatus::Unspecified) => Ok(None),
        Ok(proto::PlanStepStatus::Pending) => Ok(Some(PlanStepStatus::Pending)),
        Ok(proto::PlanStepStatus::InProgress) => Ok(Some(PlanStepStatus::InProgress)),
        Ok(proto::PlanStepStatus::Done) => Ok(Some(PlanStepStatus::Done)),
        Ok(proto::PlanStepStatus::Failed) => Ok(Some(PlanStepStatus::Failed)),
        Ok(proto::PlanStepStatus::Skipped) => Ok(Some(PlanStepStatus::Skipped)),
        Err(_) => Err(Invalid::new(
            field,
            "must be PLAN_STEP_STATUS_PENDING, _IN_PROGRESS, _DONE, _FAILED or _SKIPPED",
        )),
    }
}

/// Reads an attempt to log, and names every wrong field with the path below
/// `field`.
///
/// # Errors
/// A missing attempt or action, and texts over their limits.
pub fn attempt_from(
    field: &str,
    attempt: Option<proto::Attempt>,
) -> Result<NewAttempt, InvalidFields> {
    let Some(proto::Attempt {
        number: _,
        task,
        task_number: _,
        action,
        result,
        error,
        diagnosis,
        fix,
        create_time: _,
    }) = attempt
    else {
        return Err(Invalid::missing(field).into());
    };
    let mut invalid = Vec::new();
    let mut read = |text: Result<String, Invalid>| {
        text.unwrap_or_else(|problem| {
            invalid.push(problem);
            String::new()
        })
    };
    let long = limits::PLAN_TEXT_CHARS;
    let attempt = NewAttempt {
        task: read(check::text("task", task, limits::TASK_NAME_CHARS)),
        action: read(check::required_text("action", action, long)),
        result: read(check::text("result", result, long)),
        error: read(check::text("error", error, long)),
        diagnosis: read(check::text("diagnosis", diagnosis, long)),
        fix: read(check::text("fix", fix, long)),
    };
    match invalid.is_empty() {
        true => Ok(attempt),
        false => Err(within(field, invalid)),
    }
}

/// Reads the events of one append, and names every wrong field with the path below
/// `field`.
///
/// # Errors
/// No event or too many, too large ones, and values over their limits.
pub fn events_from(
    field: &str,
    events: Vec<proto::AgentEvent>,
) -> Result<Vec<NewAgentEvent>, InvalidFields> {
    let most = limits::EVENTS_PER_APPEND;
    if events.is_empty() || events.len() > most {
        return Err(Invalid::new(field, format!("must have 1 to {most} entries")).into());
    }
    let mut invalid = Vec::new();
    let mut read = Vec::with_capacity(events.len());
    for (index, event) in events.into_iter().enumerate() {
        match event_from(event) {
            Ok(event) => read.push(event),
            Err(problem) => invalid.push(problem.within(format_args!("{field}[{index}]"))),
        }
    }
    if !invalid.is_empty() {
        return Err(InvalidFields(invalid));
    }
    let bytes: usize = read
        .iter()
        .map(|event| event.kind.len() + event.json.len())
        .sum();
    if bytes > limits::EVENTS_BYTES {
        let problem = format!("must have at most {} bytes together", limits::EVENTS_BYTES);
        return Err(Invalid::new(field, problem).into());
    }
    Ok(read)
}

fn event_from(event: proto::AgentEvent) -> Result<NewAgentEvent, Invalid> {
    let proto::AgentEvent {
        number: _,
        r#type,
        json,
        create_time,
        message_id,
    } = event;
    Ok(NewAgentEvent {
        kind: check::required_text("type", r#type, limits::EVENT_TYPE_CHARS)?,
        json: match json.is_empty() {
            true => json,
            false => json_text("json", json)?,
        },
        created: timestamp_of("create_time", create_time)?,
        message: message_id
            .map(|id| check::external_id("message_id", id))
            .transpose()?,
    })
}

fn steps_from(steps: Vec<proto::PlanStep>) -> Result<Vec<PlanStep>, InvalidFields> {
    if steps.len() > limits::PLAN_STEPS {
        let problem = format!("must have at most {} entries", limits::PLAN_STEPS);
        return Err(Invalid::new("steps", problem).into());
    }
    let mut invalid = Vec::new();
    let mut read = Vec::with_capacity(steps.len());
    for (index, step) in steps.into_iter().enumerate() {
        match step_from(step) {
            Ok(step) => read.push(step),
            Err(InvalidFields(problems)) => {
                let within = |problem: Invalid| problem.within(format_args!("steps[{index}]"));
                invalid.extend(problems.into_iter().map(within));
            }
        }
    }
    if !invalid.is_empty() {
        return Err(InvalidFields(invalid));
    }
    match check::repeated(read.iter().map(|step| step.id.as_str())) {
        Some(index) => Err(Invalid::new(
            format!("steps[{index}].step_id"),
            "must be unique within the plan",
        )
        .into()),
        None => Ok(read),
    }
}

fn step_from(step: proto::PlanStep) -> Result<PlanStep, InvalidFields> {
    let proto::PlanStep {
        step_id,
        title,
        status,
        result,
    } = step;
    let mut invalid = Vec::new();
    let id = check::required_text("step_id", step_id, limits::STEP_ID_CHARS)
        .map_err(|problem| invalid.push(problem));
    let title = check::required_text("title", title, limits::TITLE_CHARS)
        .map_err(|problem| invalid.push(problem));
    let status = step_status_from("status", status).map_err(|problem| invalid.push(problem));
    let result = check::text("result", result, limits::PLAN_TEXT_CHARS)
        .map_err(|problem| invalid.push(problem));
    match (id, title, status, result) {
        (Ok(id), Ok(title), Ok(status), Ok(result)) => Ok(PlanStep {
            id,
            title,
            status: status.unwrap_or_default(),
            result,
        }),
        _ => Err(InvalidFields(invalid)),
    }
}

fn within(field: &str, invalid: Vec<Invalid>) -> InvalidFields {
    let invalid = invalid.into_iter().map(|problem| problem.within(field));
    InvalidFields(invalid.collect())
}

impl From<PlanStepStatus> for proto::PlanStepStatus {
    fn from(status: PlanStepStatus) -> Self {
        match status {
            PlanStepStatus::Pending => Self::Pending,
            PlanStepStatus::InProgress => Self::InProgress,
            PlanStepStatus::Done => Self::Done,
            PlanStepStatus::Failed => Self::Failed,
            PlanStepStatus::Skipped => Self::Skipped,
        }
    }
}

impl From<PlanStep> for proto::PlanStep {
    fn from(step: PlanStep) -> Self {
        let PlanStep {
            id,
            title,
            status,
            result,
        } = step;
        Self {
            step_id: id,
            title,
            status: proto::PlanStepStatus::from(status).into(),
            result,
        }
    }
}

impl From<Plan> for proto::Plan {
    fn from(plan: Plan) -> Self {
        let Plan {
            plan:
                NewPlan {
                    goal,
                    current_phase,
                    iteration_count,
                    steps,
                    data,
                },
            etag,
            created,
            updated,
        } = plan;
        Self {
            goal,
            current_phase,
            iteration_count,
            steps: steps.into_iter().map(Into::into).collect(),
            data: data.into_text(),
            etag,
            create_time: Some(timestamp(created)),
            update_time: Some(timestamp(updated)),
        }
    }
}

impl From<Attempt> for proto::Attempt {
    fn from(attempt: Attempt) -> Self {
        let Attempt {
            number,
            task_number,
            entry:
                NewAttempt {
                    task,
                    action,
                    result,
                    error,
                    diagnosis,
                    fix,
                },
            created,
        } = attempt;
        Self {
            number,
            task,
            task_number,
            action,
            result,
            error,
            diagnosis,
            fix,
            create_time: Some(timestamp(created)),
        }
    }
}

impl From<AgentEvent> for proto::AgentEvent {
    fn from(event: AgentEvent) -> Self {
        let AgentEvent {
            number,
            kind,
            json,
            created,
            message,
        } = event;
        Self {
            number,
            r#type: kind,
            json,
            create_time: Some(timestamp(created)),
            message_id: Some(message),
        }
    }
}
