//! Generates a realistic log of an agent's tools: much repetition and a few facts. The same
//! numbers give the same log.

use std::fmt::Write as _;

use memory_contract::proto::{MessageInput, Role, ToolCall, ToolResult, part, tool_result_part};
use serde_json::json;

/// Lines of noise in a tool's answer.
const NOISE_LINES: usize = 60;
const TOOLS: [&str; 4] = ["run_build", "list_files", "read_log", "query_metrics"];

/// A step of the agent, and the fact in it.
pub struct Step {
    /// A call, and its result.
    pub messages: Vec<MessageInput>,
    /// The text, in lower case, that observations must contain to answer a question about
    /// the step.
    pub fact: String,
}

/// The agent's task.
pub fn task() -> MessageInput {
    message(
        Role::User,
        part::Content::Text(
            "Find out why the nightly build fails, and mend it. Do not touch the payments service."
                .to_owned(),
        ),
    )
}

/// One step of the loop.
pub fn step(number: usize) -> Step {
    let tool = TOOLS[number % TOOLS.len()];
    let call_id = format!("call-{number}");
    let target = format!("module-{}", number % 7);
    let arguments = json!({"target": target, "attempt": number.to_string()});
    let (telling, fact) = telling(number);
    let call = ToolCall {
        tool_call_id: call_id.clone(),
        name: tool.to_owned(),
        arguments: arguments.to_string(),
        ..ToolCall::default()
    };
    let result = ToolResult {
        tool_call_id: call_id,
        name: tool.to_owned(),
        content: vec![tool_result_part::Content::Text(output(number, &telling)).into()],
        is_error: number.is_multiple_of(5),
    };
    Step {
        messages: vec![
            message(Role::Assistant, part::Content::ToolCall(call)),
            message(Role::Tool, part::Content::ToolResult(result)),
        ],
        fact,
    }
}

/// The informative line of an answer, and its fact.
fn telling(number: usize) -> (String, String) {
    // Spread, so that no two facts share a value.
    let code = 1_000 + (number * 7_919) % 8_999;
    let (line, fact) = match number % 5 {
        0 => (
            format!("ERROR E{code}: connection to db-{number} refused"),
            format!("e{code}"),
        ),
        1 => (
            format!("FAILED test_invoice_{code}: expected 200, got 503"),
            format!("test_invoice_{code}"),
        ),
        2 => (
            format!("Root cause: the variable CACHE_{code} is not set in production."),
            format!("cache_{code}"),
        ),
        3 => (
            format!("error: cannot find crate `widget-{code}` in the registry"),
            format!("widget-{code}"),
        ),
        _ => (
            format!(
                "Fixed: release v2.{code} was rolled back at 03:1{}.",
                number % 10
            ),
            format!("v2.{code}"),
        ),
    };
    (line, fact)
}

/// A tool's answer: the informative line among noise.
fn output(number: usize, telling: &str) -> String {
    let mut text = String::new();
    let place = (number * 31) % NOISE_LINES;
    for line in 0..NOISE_LINES {
        if line == place {
            let _ = writeln!(text, "{telling}");
        }
        let file = (number * NOISE_LINES + line) % 997;
        let _ = match number % 4 {
            0 => writeln!(
                text,
                "   Compiling part-{file} v0.{}.{} (/src/part-{file})",
                file % 9,
                line
            ),
            1 => writeln!(
                text,
                "-rw-r--r-- 1 build build {} Nov {:2} src/part_{file}.rs",
                900 + file,
                line % 28 + 1
            ),
            2 => writeln!(
                text,
                "2026-11-20T03:{:02}:{:02}Z INFO worker-{} request {file} done in {} ms",
                line,
                file % 60,
                line % 4,
                file % 50
            ),
            _ => writeln!(
                text,
                "{{\"metric\": \"latency\", \"bucket\": {line}, \"value\": {file}}}"
            ),
        };
    }
    text
}

fn message(role: Role, content: part::Content) -> MessageInput {
    MessageInput {
        role: role.into(),
        parts: vec![content.into()],
        ..Default::default()
    }
}
