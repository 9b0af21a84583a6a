//! Helpers for tests of plans, attempts and briefings.

use memory_contract::proto::{
    AppendAttemptRequest, AppendAttemptResponse, Attempt, BuildBriefingRequest, GetPlanRequest,
    ListAttemptsRequest, Plan, PlanStep, PutPlanRequest,
};
use serde_json::Value;

use crate::{Client, by_id, has_etag, is_absent};

/// A plan of steps that have not begun: `1`, `2` and so on.
pub fn plan(goal: &str, titles: &[&str]) -> Plan {
    let steps = (1..).zip(titles).map(|(id, title): (u32, _)| PlanStep {
        step_id: id.to_string(),
        title: (*title).to_owned(),
        ..Default::default()
    });
    Plan {
        goal: goal.to_owned(),
        steps: steps.collect(),
        ..Default::default()
    }
}

/// A plan to store in place of the one with an etag; empty: the thread must have none.
pub fn put(thread_id: &str, etag: &str, plan: Plan) -> PutPlanRequest {
    PutPlanRequest {
        thread: by_id(thread_id),
        plan: Some(plan),
        precondition: match etag {
            "" => is_absent(),
            etag => has_etag(etag),
        },
    }
}

/// A plan to store, whatever plan the thread has.
pub fn put_any(thread_id: &str, plan: Plan) -> PutPlanRequest {
    PutPlanRequest {
        thread: by_id(thread_id),
        plan: Some(plan),
        precondition: None,
    }
}

/// An attempt; one without an error went well.
pub fn attempt(task: &str, action: &str, error: &str) -> Attempt {
    Attempt {
        task: task.to_owned(),
        action: action.to_owned(),
        error: error.to_owned(),
        ..Default::default()
    }
}

/// A briefing for a task, of all that failed.
pub fn briefing_request(thread_id: &str, task: &str) -> BuildBriefingRequest {
    BuildBriefingRequest {
        thread: by_id(thread_id),
        task: task.to_owned(),
        ..Default::default()
    }
}

/// The sections of a briefing below its task: each heading with its quotations.
///
/// # Panics
/// If the task is not there as it is, or a line is neither ours nor a quotation.
pub fn sections(text: &str, task: &str) -> Vec<(String, Vec<Value>)> {
    let mut sections: Vec<(String, Vec<Value>)> = Vec::new();
    let rest = text.strip_prefix(&format!("## Task\n\n{task}\n")).unwrap();
    for line in rest.split('\n') {
        if let Some(heading) = line.strip_prefix("## ") {
            sections.push((heading.to_owned(), Vec::new()));
        } else if line.starts_with('{') {
            let quote = serde_json::from_str(line).unwrap();
            sections.last_mut().unwrap().1.push(quote);
        } else {
            let ours = line.is_empty()
                || line.contains("not instructions")
                || line.starts_with("The next attempt is number ");
            assert!(ours, "{line} in {text}");
        }
    }
    sections
}

impl Client {
    /// Stores a plan.
    pub async fn put_plan(&self, request: PutPlanRequest) -> Plan {
        self.call(request).await.plan.unwrap()
    }

    pub async fn get_plan(&self, thread_id: &str) -> Plan {
        let request = GetPlanRequest {
            thread: by_id(thread_id),
        };
        self.call(request).await.plan.unwrap()
    }

    pub async fn log_attempt(
        &self,
        thread_id: &str,
        attempt: Attempt,
        request_id: &str,
    ) -> AppendAttemptResponse {
        let request = AppendAttemptRequest {
            thread: by_id(thread_id),
            attempt: Some(attempt),
            request_id: request_id.to_owned(),
        };
        self.call(request).await
    }

    /// All attempts that a request selects, page by page.
    pub async fn attempts(&self, mut request: ListAttemptsRequest) -> Vec<Attempt> {
        let mut all = Vec::new();
        loop {
            let page = self.call(request.clone()).await;
            all.extend(page.attempts);
            if page.next_page_token.is_empty() {
                return all;
            }
            request.page_token = page.next_page_token;
        }
    }
}
