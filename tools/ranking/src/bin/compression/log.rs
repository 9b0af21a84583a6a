//! A log of an agent that builds workflows, the same for the same seed: each step
//! a remark, a call and a long answer. Some steps plant facts.

use memory_contract::message::{Content, Part, Role, ToolCall, ToolOutput, ToolResult};
use memory_distill::SourceMessage;
use serde_json::{Value, json};
use time::{Duration, macros::datetime};

use crate::conversation::message;

pub struct Log {
    pub sources: Vec<SourceMessage>,
    /// What has to be found again, word for word.
    pub planted: Vec<String>,
}

/// SplitMix64 (G. Steele et al., 2014).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap_or(0)
    }

    fn of<'a>(&mut self, list: &[&'a str]) -> &'a str {
        list[self.below(list.len())]
    }
}

const NODES: &[&str] = &[
    "HTTP Request",
    "Slack",
    "Schedule",
    "Postgres",
    "Set",
    "Merge",
    "If",
    "Webhook",
];
const CAUSES: &[(&str, &str)] = &[
    (
        "401 Unauthorized",
        "the API key of the credential had expired",
    ),
    ("429 Too Many Requests", "the loop sent all items at once"),
    ("ECONNREFUSED", "the database listens on another port"),
    (
        "422 Unprocessable Entity",
        "the field amount was sent as text",
    ),
    ("ETIMEDOUT", "the proxy drops idle connections"),
];
const DECISIONS: &[&str] = &[
    "use batches of 25 items",
    "keep the staging schema until Friday",
    "send alerts to the channel ops-night only",
    "never delete rows, mark them instead",
    "retry three times with a pause of 40 seconds",
];

pub fn generate(seed: u64, steps: usize) -> Log {
    let mut random = Random(seed);
    let mut sources = Vec::new();
    let mut planted = Vec::new();
    let mut now = datetime!(2026-03-02 09:00 UTC);
    let mut say = |role, parts, minutes: i64| {
        now += Duration::minutes(minutes);
        sources.push(message(role, "", parts, now));
    };
    let goal = format!("invoices-{}", 100 + random.below(900));
    let text = format!(
        "Build a workflow that copies new rows of the table {goal} to the warehouse every night \
         and tells us when a run fails."
    );
    say(Role::User, vec![Part::text(text)], 0);
    planted.push(goal);
    for step in 0..steps {
        let id = format!("call-{step}");
        let (remark, name, arguments, output, failed) = match step % 5 {
            0 => {
                let node = random.of(NODES);
                let text = format!("Let me look at what the {node} node can do before I use it.");
                let types: Vec<Value> = (0..30).map(|n| property(&mut random, n)).collect();
                let output = json!({"node": node, "description": prose(&mut random, 60), "properties": types});
                (text, "describe_node", json!({"node": node}), output, false)
            }
            1 => {
                let workflow = format!("wf-{}", 1_000 + random.below(9_000));
                planted.push(workflow.clone());
                let nodes: Vec<Value> = (0..12).map(|n| node(&mut random, n)).collect();
                let output = json!({"id": workflow, "name": "nightly copy", "active": false, "nodes": nodes,
                    "connections": prose(&mut random, 40), "versionId": hex(&mut random)});
                (
                    "Now I create the next version of the workflow.".to_owned(),
                    "create_workflow",
                    json!({"name": "nightly copy", "nodes": prose(&mut random, 30)}),
                    output,
                    false,
                )
            }
            2 => {
                let (error, cause) = CAUSES[random.below(CAUSES.len())];
                let execution = format!("ex-{}", 10_000 + random.below(90_000));
                planted.push(execution.clone());
                planted.push(error.to_owned());
                let data: Vec<Value> = (0..20).map(|n| row(&mut random, n)).collect();
                let _ = cause;
                let output = json!({"executionId": execution, "status": "error", "data": data,
                    "error": {"message": error, "node": random.of(NODES), "stack": prose(&mut random, 80)}});
                (
                    "I run it once with the data of yesterday.".to_owned(),
                    "execute_workflow",
                    json!({"mode": "test"}),
                    output,
                    true,
                )
            }
            3 => {
                let (_, cause) = CAUSES[random.below(CAUSES.len())];
                planted.push(cause.to_owned());
                let text =
                    format!("I found it: the run failed because {cause}. I fix that in the node.");
                let output = json!({"updated": true, "nodes": (0..8).map(|n| node(&mut random, n)).collect::<Vec<_>>()});
                (
                    text,
                    "update_node",
                    json!({"retries": random.below(9)}),
                    output,
                    false,
                )
            }
            _ => {
                let count = 100 + random.below(9_900);
                planted.push(format!("{count}"));
                let rows: Vec<Value> = (0..25).map(|n| row(&mut random, n)).collect();
                let output = json!({"status": "success", "count": count, "rows": rows});
                (
                    "I check what has arrived in the warehouse.".to_owned(),
                    "query_table",
                    json!({"sql": "SELECT * FROM arrived ORDER BY id"}),
                    output,
                    false,
                )
            }
        };
        let call = Content::ToolCall(ToolCall {
            id: id.clone(),
            name: name.to_owned(),
            arguments: arguments.to_string(),
        });
        say(Role::Assistant, vec![Part::text(remark), call.into()], 1);
        let result = ToolResult {
            call_id: id,
            name: name.to_owned(),
            output: vec![ToolOutput::Json(output.to_string())],
            is_error: failed,
        };
        say(Role::Tool, vec![Content::ToolResult(result).into()], 1);
        if step % 10 == 9 {
            let decision = DECISIONS[(step / 10) % DECISIONS.len()];
            planted.push(decision.to_owned());
            say(
                Role::User,
                vec![Part::text(format!("Good. We decided to {decision}."))],
                5,
            );
        }
    }
    planted.sort();
    planted.dedup();
    Log { sources, planted }
}

fn property(random: &mut Random, n: usize) -> Value {
    json!({"displayName": format!("Option {n}"), "kind": random.of(&["string", "boolean", "options"]),
        "default": "", "hint": prose(random, 12), "required": n.is_multiple_of(3)})
}

fn node(random: &mut Random, n: usize) -> Value {
    json!({"label": format!("{} {n}", random.of(NODES)), "position": [random.below(900), random.below(900)],
        "parameters": {"text": prose(random, 15)}})
}

fn row(random: &mut Random, n: usize) -> Value {
    json!({"row": n, "amount": random.below(100_000), "customer": hex(random), "note": prose(random, 8)})
}

fn hex(random: &mut Random) -> String {
    format!("{:016x}", random.next())
}

fn prose(random: &mut Random, words: usize) -> String {
    const WORDS: &[&str] = &[
        "value", "of", "the", "item", "in", "each", "request", "is", "taken", "from", "body",
        "where", "set", "and", "passed", "to", "next", "step", "as", "given", "by", "its",
        "header",
    ];
    (0..words)
        .map(|_| random.of(WORDS))
        .collect::<Vec<_>>()
        .join(" ")
}
