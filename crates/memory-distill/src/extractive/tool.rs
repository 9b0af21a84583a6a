//! Tool calls with their results, one a line.

use std::collections::HashMap;

use memory_contract::{
    message::{Content, ToolCall, ToolResult},
    text,
};

use super::{cues, digest, words};
use crate::SourceMessage;

/// Prefixes of the names of tools that change something.
const CHANGES: &[&str] = &[
    "create", "update", "delete", "remove", "write", "build", "deploy", "run", "exec", "activate",
    "send", "post", "put", "set", "apply", "commit", "edit", "patch", "install", "move", "submit",
    "publish", "test", "restart",
];

/// A call and its result.
pub(super) struct Line {
    pub(super) text: String,
    pub(super) weight: f32,
}

/// The lines of all calls in some messages. A call takes the position of its result.
pub(super) struct Tools {
    lines: HashMap<(usize, usize), Line>,
}

impl Tools {
    pub(super) fn of(sources: &[SourceMessage]) -> Self {
        let mut open: HashMap<&str, ((usize, usize), &ToolCall)> = HashMap::new();
        let mut lines: HashMap<(usize, usize), Line> = HashMap::new();
        let mut repeated: HashMap<String, ((usize, usize), usize)> = HashMap::new();
        for (index, source) in sources.iter().enumerate() {
            for (nth, part) in source.message.parts.iter().enumerate() {
                let place = (index, nth);
                match &part.content {
                    Content::ToolCall(call) => {
                        open.insert(&call.id, (place, call));
                        lines.insert(place, called(call));
                    }
                    Content::ToolResult(result) => {
                        let call = open.remove(result.call_id.as_str());
                        let line = answered(call.map(|(_, call)| call), result);
                        if let Some((before, _)) = call {
                            lines.remove(&before);
                        }
                        // A repeated line appears once, at its last position, with the number of repetitions.
                        let text = line.text.clone();
                        let times = match repeated.remove(&text) {
                            Some((before, times)) => {
                                lines.remove(&before);
                                times + 1
                            }
                            None => 1,
                        };
                        repeated.insert(text, (place, times));
                        let line = if times > 1 {
                            Line {
                                text: format!("{} (×{times})", line.text),
                                ..line
                            }
                        } else {
                            line
                        };
                        lines.insert(place, line);
                    }
                    Content::Text(_)
                    | Content::Json(_)
                    | Content::File(_)
                    | Content::Reasoning(_)
                    | Content::Opaque(_) => {}
                }
            }
        }
        Self { lines }
    }

    /// Takes the line at a part of a message.
    pub(super) fn take(&mut self, message: usize, part: usize) -> Option<Line> {
        self.lines.remove(&(message, part))
    }
}

fn called(call: &ToolCall) -> Line {
    Line {
        text: format!("{} → no answer yet", head(&call.name, Some(call))),
        weight: weight(&call.name) + 0.1,
    }
}

fn answered(call: Option<&ToolCall>, result: &ToolResult) -> Line {
    let name = call.map_or(text::tool_name(result), |call| call.name.as_str());
    let digest = digest::of_text(&text::of_output(result));
    let failed = result.is_error || cues::reports_error(&digest);
    let outcome = match (result.is_error, digest.is_empty()) {
        (true, true) => "failed".to_owned(),
        (true, false) => format!("failed: {digest}"),
        (false, true) => "done".to_owned(),
        (false, false) => digest,
    };
    let weight = weigh(name, &outcome, failed);
    Line {
        text: words::clip(&format!("{} → {outcome}", head(name, call)), 900),
        weight,
    }
}

/// The weight of a line as rendered here; `None` if it describes no call.
pub(super) fn weight_of_line(line: &str) -> Option<f32> {
    let (head, outcome) = line.split_once(" → ")?;
    let (name, _) = head.split_once('(')?;
    Some(weigh(name, outcome, cues::reports_error(outcome)))
}

fn weigh(name: &str, outcome: &str, failed: bool) -> f32 {
    let mut weight = weight(name);
    if failed {
        weight += 0.8;
    }
    if digest::has_identifier(outcome) {
        weight += 0.2;
    }
    weight
}

fn head(name: &str, call: Option<&ToolCall>) -> String {
    let arguments = call.map(|call| match call.object() {
        Some(arguments) => digest::of_arguments(&arguments),
        None => digest::of_text(&call.arguments),
    });
    let arguments = words::clip(&arguments.unwrap_or_default(), 240);
    format!("{}({arguments})", words::clip(&words::one_line(name), 80))
}

fn weight(name: &str) -> f32 {
    let name = name.to_lowercase();
    let mut words = name.split(|c: char| !c.is_alphanumeric());
    if words.any(|word| CHANGES.iter().any(|change| word.starts_with(change))) {
        0.4
    } else {
        0.0
    }
}
