//! Digests a tool's arguments and output to one line: outcome, errors, identifiers, counts
//! and the last words, without the payload.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::{cues, words};

/// Most values that are read; the rest of a payload is skipped.
const LEAVES: usize = 10_000;
/// Items of a list that are described; of the later ones only errors are kept.
const ITEMS: usize = 3;
/// Most values about an error.
const ERRORS: usize = 4;
/// Most different values about errors that are read.
const ERRORS_READ: usize = 100;
/// Most other values.
const OTHERS: usize = 7;
/// Most characters of a value.
const VALUE_CHARS: usize = 120;
/// Most lines of a text that are kept.
const LINES: usize = 4;
/// Most characters of a line.
const LINE_CHARS: usize = 180;
/// Characters of a line that determine its kind.
const SHAPE_CHARS: usize = 80;
/// Average number of lines of a kind from which on a line of a unique kind is notable.
const UNLIKE: usize = 4;

/// The arguments of a call in short, the most informative first.
pub(super) fn of_arguments(arguments: &Map<String, Value>) -> String {
    let mut leaves = Leaves::default();
    for (key, value) in arguments {
        leaves.walk(key, value, 0);
    }
    leaves.join(ERRORS, OTHERS, 60)
}

/// A JSON value in one line.
pub(super) fn of_value(value: &Value) -> String {
    match value {
        Value::String(text) => of_text(text),
        Value::Null => String::new(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::Array(_) | Value::Object(_) => {
            let mut leaves = Leaves::default();
            leaves.walk("", value, 0);
            leaves.join(ERRORS, OTHERS, VALUE_CHARS)
        }
    }
}

/// A tool's text in one line: errors, the first line and the last.
pub(super) fn of_text(text: &str) -> String {
    let trimmed = text.trim();
    if trimmed.starts_with(['{', '['])
        && let Ok(value) = serde_json::from_str::<Value>(trimmed)
        && !value.is_string()
    {
        return of_value(&value);
    }
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| !line.trim().is_empty())
        .collect();
    let last = lines.len().saturating_sub(1);
    let mut shapes: HashMap<String, usize> = HashMap::new();
    for line in &lines {
        *shapes.entry(shape(line)).or_default() += 1;
    }
    let mut ranked: Vec<(i32, usize)> = lines
        .iter()
        .enumerate()
        .map(|(place, line)| {
            let mut worth = 0;
            if cues::reports_error(line) {
                worth += 8;
            }
            if place == last {
                worth += 4;
            }
            if place == 0 {
                worth += 2;
            }
            if has_identifier(line) {
                worth += 3;
            }
            // A unique line among many similar ones.
            if shapes.len() * UNLIKE < lines.len() && shapes.get(&shape(line)) == Some(&1) {
                worth += 3;
            }
            (-worth, place)
        })
        .collect();
    ranked.sort_unstable();
    let mut kept: Vec<usize> = ranked
        .into_iter()
        .take(LINES)
        .filter(|(worth, _)| *worth < 0)
        .map(|(_, place)| place)
        .collect();
    kept.sort_unstable();
    let mut shown: Vec<String> = kept
        .into_iter()
        .map(|place| words::clip(&words::one_line(lines[place]), LINE_CHARS))
        .collect();
    shown.dedup();
    if lines.len() > LINES {
        shown.push(format!("({} lines)", lines.len()));
    }
    shown.join(" | ")
}

/// The kind of a line: its words without numbers.
fn shape(line: &str) -> String {
    let mut shape = String::new();
    for c in line
        .chars()
        .take(SHAPE_CHARS)
        .filter(|c| !c.is_whitespace())
    {
        match c.is_ascii_digit() {
            false => shape.push(c),
            true if shape.ends_with('0') => {}
            true => shape.push('0'),
        }
    }
    shape
}

/// Whether a text contains an identifier, such as `wf-123`, `E0412`, a path or a hash.
pub(super) fn has_identifier(text: &str) -> bool {
    text.split(|c: char| c.is_whitespace() || "\"'(),;=".contains(c))
        .any(|word| {
            let digits = word.chars().filter(char::is_ascii_digit).count();
            let letters = word.chars().filter(|c| c.is_alphabetic()).count();
            digits > 0 && letters > 0 && word.chars().count() <= 80
        })
}

#[derive(Default)]
struct Leaves {
    seen: usize,
    errors: Vec<String>,
    telling: Vec<String>,
    rest: Vec<String>,
}

impl Leaves {
    fn walk(&mut self, path: &str, value: &Value, depth: usize) {
        if self.seen >= LEAVES {
            return;
        }
        self.seen += 1;
        match value {
            Value::Object(map) if depth < 6 => {
                for (key, value) in map {
                    self.walk(&joined(path, key), value, depth + 1);
                }
            }
            Value::Array(items) if depth < 6 => {
                if items.len() > 1 {
                    let name = if path.is_empty() { "items" } else { path };
                    self.telling.push(format!("{name}: {} items", items.len()));
                }
                let (first, later) = items.split_at(items.len().min(ITEMS));
                for item in first {
                    self.walk(path, item, depth + 1);
                }
                for item in later {
                    self.add_errors(path, item, depth + 1);
                }
            }
            Value::Null | Value::Object(_) | Value::Array(_) => {}
            Value::Bool(_) | Value::Number(_) | Value::String(_) => self.leaf(path, value),
        }
    }

    /// Adds what is said about errors, unless it was said before.
    fn add_errors(&mut self, path: &str, value: &Value, depth: usize) {
        let mut found = Self {
            seen: self.seen,
            ..Self::default()
        };
        found.walk(path, value, depth);
        self.seen = found.seen;
        for error in found.errors {
            self.add_error(error);
        }
    }

    fn add_error(&mut self, error: String) {
        if self.errors.len() < ERRORS_READ && !self.errors.contains(&error) {
            self.errors.push(error);
        }
    }

    fn leaf(&mut self, path: &str, value: &Value) {
        let text = match value {
            Value::String(text) => words::one_line(text),
            other => other.to_string(),
        };
        if text.is_empty() {
            return;
        }
        let key = path.rsplit('.').next().unwrap_or_default().to_lowercase();
        let is_error = ["error", "err", "exception", "reason", "failure", "stderr"]
            .iter()
            .any(|word| key.contains(word));
        let name = if path.is_empty() { "value" } else { path };
        let pair = format!("{name}={text}");
        let list = if is_error || cues::reports_error(&text) {
            return self.add_error(pair);
        } else if is_telling(&key) {
            &mut self.telling
        } else {
            &mut self.rest
        };
        list.push(pair);
    }

    fn join(self, errors: usize, others: usize, characters: usize) -> String {
        let short = |pair: String| words::clip(&pair, characters);
        let mut shown: Vec<String> = self.errors.into_iter().take(errors).map(short).collect();
        // Long plain text is payload.
        let rest = self.rest.into_iter().filter(|pair| pair.len() <= 80);
        let others: Vec<String> = self
            .telling
            .into_iter()
            .chain(rest)
            .take(others)
            .map(short)
            .collect();
        shown.extend(others);
        shown.dedup();
        shown.join(", ")
    }
}

fn joined(path: &str, key: &str) -> String {
    if path.is_empty() {
        words::one_line(key)
    } else {
        format!("{path}.{}", words::one_line(key))
    }
}

/// Keys whose values are kept for any tool.
fn is_telling(key: &str) -> bool {
    const WHOLE: &[&str] = &[
        "id", "name", "status", "state", "code", "message", "count", "total", "version", "url",
        "path", "file", "result", "key", "title", "type", "branch", "commit", "host", "port",
        "query", "command",
    ];
    WHOLE.contains(&key)
        || [
            "id", "_count", "_at", "_name", "_status", "_code", "_path", "_url", "_key",
        ]
        .iter()
        .any(|end| key.ends_with(end))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn data_is_digested_to_errors_identifiers_and_counts() {
        let value = json!({
            "data": {"execution_id": "ex-77", "items": [{"id": 1}, {"id": 2}, {"id": 3}, {"id": 4}]},
            "padding": "x".repeat(4_000),
            "error": {"message": "401 Unauthorized", "node": "HTTP"},
        });
        let shown = of_value(&value);
        assert!(
            shown.starts_with("error.message=401 Unauthorized"),
            "{shown}"
        );
        for part in ["data.execution_id=ex-77", "data.items: 4 items"] {
            assert!(shown.contains(part), "{shown}");
        }
        assert!(shown.len() < 400, "{shown}");
    }

    #[test]
    fn an_error_far_down_a_list_is_digested() {
        let item = |number: usize| match number {
            70 => json!({"id": "ex-70", "status": "error", "error": "E0412: disk full"}),
            _ => json!({"id": format!("ex-{number}"), "status": "success", "reason": "nightly"}),
        };
        let value = json!({"data": (0..120).map(item).collect::<Vec<Value>>()});
        let shown = of_value(&value);
        assert!(shown.contains("data.error=E0412: disk full"), "{shown}");
        assert!(shown.contains("data: 120 items"), "{shown}");
    }

    #[test]
    fn text_is_digested_to_its_errors_and_its_ends() {
        let noise = "compiling something\n".repeat(500);
        let text = format!(
            "building\n{noise}error[E0412]: cannot find type `Foo`\n{noise}finished: 1 error"
        );
        let shown = of_text(&text);
        assert!(
            shown.contains("E0412") && shown.contains("finished: 1 error"),
            "{shown}"
        );
        assert!(shown.len() < 300, "{shown}");
        assert_eq!(of_text(r#" {"status": "ok"} "#), "status=ok");
    }

    #[test]
    fn a_line_unlike_all_others_is_kept_in_the_digest() {
        let mut lines: Vec<String> = (0..60)
            .map(|n| {
                format!(
                    "2026-11-20T03:{n:02}:07Z INFO worker-{} done in {n} ms",
                    n % 4
                )
            })
            .collect();
        lines.insert(31, "Fixed: release v2.4711 was rolled back.".to_owned());
        let shown = of_text(&lines.join("\n"));
        assert!(shown.contains("v2.4711"), "{shown}");
        assert!(shown.len() < 300, "{shown}");
    }

    #[test]
    fn deep_and_wide_data_is_bounded() {
        let mut deep = json!("bottom");
        for _ in 0..100 {
            deep = json!([deep]);
        }
        assert!(of_value(&deep).len() < 100);
        let wide: Value = (0..50_000).map(|n| json!({"n": n})).collect();
        assert!(of_value(&wide).len() < 1_000);
    }
}
