//! Outputs of tools as large as real ones: 3,000 to 12,000 tokens each. Each contains one
//! error with a code that no other step has.

use std::fs;
use std::path::{Path, PathBuf};

use memory_budget::Tokenizer;
use memory_contract::proto::{MessageInput, Part, part};
use recollect_tests::{project_dir, tool_call, tool_result};
use serde_json::{Value, json};

/// The steps of an agent that mends a nightly build.
pub(super) struct Agent {
    /// Lines of source files.
    sources: Vec<String>,
}

impl Agent {
    pub(super) fn new() -> Self {
        Self { sources: sources() }
    }

    /// What the agent says, the call of a tool, and its result.
    pub(super) fn step(&self, step: usize) -> [MessageInput; 2] {
        let id = format!("call-{step}");
        let module = step % 23;
        let (tool, arguments, output) = match step % 4 {
            0 => (
                "run_build",
                json!({"module": module, "attempt": step}),
                lines(step, (0..).map(|line| of_build(step, line)), ""),
            ),
            1 => (
                "fetch_page",
                json!({"url": format!("https://ci.example/reports/{step}")}),
                lines(step, (0..).map(|line| of_page(step, line)), ""),
            ),
            2 => (
                "list_executions",
                json!({"workflow": format!("wf-{module}"), "page": step}),
                executions(step),
            ),
            _ => {
                let rest = self.sources.iter().cycle().skip(step * 97);
                (
                    "read_files",
                    json!({"module": module, "from": step}),
                    lines(step, rest.cloned(), "// "),
                )
            }
        };
        let mut call = tool_call(&id, tool, arguments);
        let said = Part {
            content: Some(part::Content::Text(thought(step))),
            ..Default::default()
        };
        call.parts.insert(0, said);
        [call, tool_result(&id, &output)]
    }
}

/// The size of an output, in tokens: half of them have less than 4,300, a few about 11,000.
fn size(step: usize) -> i32 {
    let place = (step as f64 * 0.618_034).fract();
    (3_100.0 * 3.5_f64.powf(place * place)) as i32
}

/// As many pieces as an output has room for.
fn fill(step: usize, pieces: impl Iterator<Item = String>) -> Vec<String> {
    let mut left = size(step);
    let fits = |piece: &String| {
        let fits = left > 0;
        left -= Tokenizer::O200kBase.count(piece);
        fits
    };
    pieces.take_while(fits).collect()
}

/// An output of lines, with an error after a prefix in one of them.
fn lines(step: usize, lines: impl Iterator<Item = String>, prefix: &str) -> String {
    let mut lines = fill(step, lines);
    let place = step * 31 % lines.len();
    lines.insert(place, format!("{prefix}{}", error(step)));
    lines.join("\n")
}

/// A code that no other step has.
pub(super) fn code(step: usize) -> String {
    format!("QX{}", 10_000 + step * 7)
}

fn error(step: usize) -> String {
    format!("ERROR [{}]: {}", code(step), cause(step))
}

fn cause(step: usize) -> String {
    match step % 3 {
        0 => format!("the disk of runner-{step} is full"),
        1 => format!("cannot resolve registry-{step}.internal"),
        _ => format!("certificate of mirror-{step} has expired"),
    }
}

/// What the agent says before it calls a tool: about 90 tokens.
fn thought(step: usize) -> String {
    const FOUND: [&str; 5] = [
        "The last output did not explain the failure of the linker",
        "The runner had enough memory, so this is not the cause",
        "Two of the warnings are new since yesterday's green build",
        "The retry took longer than the first attempt",
        "The lock file names another version than the registry",
    ];
    const NEXT: [&str; 4] = [
        "I start the build again with one job and read its whole log",
        "I open the report of that night and compare the durations",
        "I list the executions of the workflow and look for one that failed",
        "I read the sources that the failing test covers",
    ];
    format!(
        "Step {step}. {}, and module {} was touched by change {} only. {}. If wave {} shows the \
         same picture, I put the change back, note it in ticket {} and ask the team of hall {} \
         before I go on with queue {}.",
        FOUND[step * 3 % FOUND.len()],
        step % 23,
        4_000 + step * 11,
        NEXT[step % NEXT.len()],
        step / 7,
        9_000 + step * 13,
        step * 7 % 101,
        step * 5 % 89,
    )
}

/// A line of the log of a build.
fn of_build(step: usize, line: usize) -> String {
    let file = (step * 46 + line) % 997;
    match (step + line) % 4 {
        0 => format!(
            "   Compiling part-{file} v0.{}.{line} (/srv/ci/src/part-{file})",
            file % 9
        ),
        1 => format!(
            "2026-11-20T03:{:02}:{:02}Z INFO worker-{}: request {file} done in {} ms",
            line % 60,
            file % 60,
            line % 4,
            file % 50
        ),
        2 => format!("test part_{file}::reads_back_what_it_wrote_{line} ... ok"),
        _ => format!(
            "-rw-r--r-- 1 ci ci {:>7} Nov {:2} 03:{:02} target/part_{file}.rlib",
            900 + file * 31,
            line % 28 + 1,
            line % 60
        ),
    }
}

/// A sentence of a page, in which none repeats.
fn of_page(step: usize, line: usize) -> String {
    const THINGS: [&str; 8] = [
        "queue",
        "mirror",
        "runner",
        "cache",
        "gateway",
        "scheduler",
        "registry",
        "volume",
    ];
    const STATES: [&str; 7] = [
        "was restarted after a power cut",
        "served fewer requests than the week before",
        "moved to another rack because of the heat",
        "lost its connection to the metrics service",
        "reported a clock that was ahead of the others",
        "needed a newer version of its driver",
        "was emptied by hand and filled again overnight",
    ];
    let number = step * 330 + line;
    format!(
        "In week {} the {} of hall {} {}, which took {} minutes.",
        number % 52 + 1,
        THINGS[number % THINGS.len()],
        number * 7 % 1_009,
        STATES[number * 3 % STATES.len()],
        number * 13 % 977
    )
}

/// The executions of a workflow as JSON, one of which failed.
fn executions(step: usize) -> String {
    let one = |number: usize| {
        json!({
            "id": format!("ex-{step}-{number}"),
            "workflow": format!("wf-{}", step % 23),
            "startedAt": format!("2026-11-20T03:{:02}:{:02}Z", number % 60, step % 60),
            "durationMs": 900 + number * 31 % 7_000,
            "status": "success",
            "nodes": {"ran": number % 9 + 3, "items": number * 17 % 400},
        })
    };
    let all = fill(step, (0..).map(|number| one(number).to_string()));
    let failed = step * 13 % all.len();
    let one = |number| {
        let mut one = one(number);
        if number == failed {
            one["status"] = json!("error");
            one["error"] = json!({"message": error(step)});
        }
        one
    };
    json!({"data": (0..all.len()).map(one).collect::<Vec<Value>>()}).to_string()
}

/// The lines of the source files of some crates of this project, in a fixed order.
fn sources() -> Vec<String> {
    fn walk(dir: &Path, found: &mut Vec<PathBuf>) {
        let entries = fs::read_dir(dir).unwrap();
        let mut entries: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
        entries.sort();
        for path in entries {
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|end| end == "rs") {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    for dir in [
        "crates/memory-index/src",
        "crates/memory-recall/src",
        "crates/memory-agents/src",
        "crates/memory-conversations/src",
        "crates/memory-derived/src",
    ] {
        walk(&project_dir().join(dir), &mut found);
    }
    let read = |path: PathBuf| fs::read_to_string(path).unwrap();
    let texts = found.into_iter().map(read);
    let lines = texts.flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>());
    lines.collect()
}
