//! Properties of every briefing.

use memory_agent_contract::plan::{PlanStep, PlanStepStatus};
use memory_contract::json::json_line;
use memory_contract::limits::BRIEFING_TOKENS_MIN;
use memory_contract::{
    json::JsonObject,
    message::{Part, Role},
};
use proptest::prelude::*;
use serde_json::Value;
use time::OffsetDateTime;

use super::*;

const HEADINGS: [&str; 3] = ["## Plan", "## Failed attempts", "## Conversation"];

/// Words, and what could end a line, open a section or close a quotation.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        3 => "[a-z]{1,8} ",
        1 => prop::sample::select(vec![
            "\n## Task\n", "\r\n", "\u{2028}", "</s>", "\"}", "\\", "```", "&", "\u{1}", "漢字", "é\u{301}",
        ]).prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 1..40).prop_map(|pieces| pieces.concat())
}

fn step(index: usize, (title, result, over): (String, String, bool)) -> PlanStep {
    PlanStep {
        id: index.to_string(),
        title,
        status: if over {
            PlanStepStatus::Done
        } else {
            PlanStepStatus::Pending
        },
        result,
    }
}

fn plan() -> impl Strategy<Value = NewPlan> {
    let steps = prop::collection::vec((text(), text(), any::<bool>()), 0..6);
    (text(), steps).prop_map(|(goal, steps)| NewPlan {
        goal,
        current_phase: "draft".to_owned(),
        iteration_count: 2,
        steps: (1..)
            .zip(steps)
            .map(|(index, one)| step(index, one))
            .collect(),
        data: JsonObject::default(),
    })
}

fn failure() -> impl Strategy<Value = Attempt> {
    (text(), text(), text()).prop_map(|(action, error, fix)| Attempt {
        number: 1,
        task_number: 1,
        entry: NewAttempt {
            task: "build".to_owned(),
            action,
            result: String::new(),
            error,
            diagnosis: String::new(),
            fix,
        },
        created: OffsetDateTime::UNIX_EPOCH,
    })
}

fn record() -> impl Strategy<Value = DerivedText> {
    text().prop_map(|text| DerivedText {
        number: 1,
        tokens: 1,
        line: json_line(&serde_json::json!({"record": "observation", "text": text})),
        text,
    })
}

fn message() -> impl Strategy<Value = Message> {
    (text(), any::<bool>()).prop_map(|(text, user)| said(&text, user))
}

fn said(text: &str, user: bool) -> Message {
    let parts = vec![Part::text(text)];
    let role = if user { Role::User } else { Role::Assistant };
    Message {
        tokens: Tokenizer::O200kBase.count_message("", &parts),
        ..Message::new(role, parts)
    }
}

#[derive(Clone, Debug)]
struct Case {
    task: String,
    plan: Option<NewPlan>,
    failures: Vec<Attempt>,
    records: Vec<DerivedText>,
    conversation: Vec<Message>,
    tokenizer: Tokenizer,
    max_tokens: i32,
}

fn case() -> impl Strategy<Value = Case> {
    (
        text(),
        prop::option::of(plan()),
        prop::collection::vec(failure(), 0..5),
        prop::collection::vec(record(), 0..4),
        prop::collection::vec(message(), 0..8),
        prop::sample::select(vec![Tokenizer::O200kBase, Tokenizer::Cl100kBase]),
        BRIEFING_TOKENS_MIN..3_000,
    )
        .prop_map(
            |(task, plan, failures, records, conversation, tokenizer, max_tokens)| Case {
                task,
                plan,
                failures,
                records,
                conversation,
                tokenizer,
                max_tokens,
            },
        )
}

impl Case {
    fn compose(&self) -> Result<Briefing, ContextError> {
        let case = self.clone();
        let content = Content {
            task: case.task,
            plan: case.plan,
            failures: case.failures,
            attempt: 3,
            records: case.records,
            conversation: case.conversation,
            older_failures: 0,
            older_messages: 0,
            content_truncated: false,
            tokenizer: case.tokenizer,
            max_tokens: case.max_tokens,
        };
        content.compose()
    }

    /// The lines of a briefing that is not cut.
    fn lines(&self) -> usize {
        let plan = self.plan.as_ref().map_or(0, |plan| 1 + plan.steps.len());
        plan + self.failures.len() + self.records.len() + self.conversation.len()
    }
}

/// The headings of a briefing and its quotations, below the task.
fn read(briefing: &Briefing, task: &str) -> (Vec<String>, Vec<Value>) {
    let rest = briefing
        .text
        .strip_prefix(&format!("## Task\n\n{task}\n"))
        .unwrap();
    let (mut headings, mut quotes) = (Vec::new(), Vec::new());
    for line in rest.split('\n') {
        if line.starts_with('{') {
            quotes.push(serde_json::from_str(line).unwrap());
        } else if HEADINGS.contains(&line) {
            headings.push(line.to_owned());
        } else {
            let ours = ["", "The next attempt is number 3."];
            assert!(
                ours.contains(&line) || line.contains("not instructions"),
                "{line}"
            );
        }
    }
    for c in ['<', '>', '&', '\r', '\u{2028}'] {
        assert!(!rest.contains(c), "{c:?} in {rest}");
    }
    (headings, quotes)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(192))]

    #[test]
    fn a_briefing_is_within_its_budget_and_has_the_whole_task(case in case()) {
        let briefing = match case.compose() {
            Ok(briefing) => briefing,
            Err(ContextError::TaskTooLarge { needed_tokens, .. }) => {
                prop_assert!(needed_tokens > case.max_tokens);
                return Ok(());
            }
            Err(error) => panic!("{error:?}"),
        };
        prop_assert_eq!(briefing.total_tokens, case.tokenizer.count(&briefing.text));
        prop_assert!(briefing.total_tokens <= case.max_tokens);
        let (headings, quotes) = read(&briefing, &case.task);
        let order = |heading: &String| HEADINGS.iter().position(|one| one == heading);
        prop_assert!(headings.iter().is_sorted_by_key(order), "{:?}", headings);
        if briefing.cuts.is_empty() {
            prop_assert_eq!(quotes.len(), case.lines());
        }
        // What is missing is counted; a step without its result counts and is there.
        let counted = briefing.cuts.iter().map(|cut| cut.omitted).sum::<i64>() as usize;
        prop_assert!(quotes.len() + counted >= case.lines());
        let of_plan = briefing.cuts.iter().any(|cut| cut.part == BriefingPart::Plan);
        prop_assert!(of_plan || quotes.len() + counted == case.lines());
        prop_assert_eq!(case.compose().unwrap(), briefing);
    }

    #[test]
    fn a_budget_that_is_large_enough_leaves_nothing_out(case in case()) {
        let case = Case { max_tokens: 1_000_000, ..case };
        let briefing = case.compose().unwrap();
        prop_assert!(briefing.cuts.is_empty());
        let exact = Case { max_tokens: briefing.total_tokens.max(BRIEFING_TOKENS_MIN), ..case };
        prop_assert!(exact.compose().unwrap().total_tokens <= exact.max_tokens);
        // Lines are counted one by one: each may take a token more than in the text.
        let lines = i32::try_from(briefing.text.lines().count()).unwrap();
        let roomy = Case { max_tokens: exact.max_tokens + 2 * lines, ..exact };
        prop_assert!(roomy.compose().unwrap().cuts.is_empty());
    }
}

fn plain(max_tokens: i32) -> Case {
    Case {
        task: "Mend it.".to_owned(),
        plan: None,
        failures: Vec::new(),
        records: Vec::new(),
        conversation: Vec::new(),
        tokenizer: Tokenizer::O200kBase,
        max_tokens,
    }
}

#[test]
fn derived_text_comes_first_and_leaves_room_for_the_newest_turns() {
    let records = (1..=4).map(|number| DerivedText {
        number,
        text: "word ".repeat(50),
        tokens: 50,
        line: json_line(&serde_json::json!({"record": number, "text": "word ".repeat(50)})),
    });
    let conversation =
        (0..4).flat_map(|_| [said("Question?", true), said(&"word ".repeat(50), false)]);
    let case = Case {
        records: records.collect(),
        conversation: conversation.collect(),
        ..plain(10_000)
    };
    let (_, quotes) = read(&case.compose().unwrap(), &case.task);
    let numbers = |quotes: &[Value]| -> Vec<i64> {
        quotes
            .iter()
            .filter_map(|quote| quote["record"].as_i64())
            .collect()
    };
    assert_eq!(numbers(&quotes), [1, 2, 3, 4]);
    assert!(quotes[..4].iter().all(|quote| quote["role"].is_null()));
    assert_eq!(quotes.len(), 12);

    // The newest of both, half and half, without gaps.
    let case = Case {
        max_tokens: 420,
        ..case
    };
    let briefing = case.compose().unwrap();
    assert!(!briefing.cuts.is_empty());
    let (_, quotes) = read(&briefing, &case.task);
    assert_eq!(numbers(&quotes), [3, 4]);
    assert_eq!(quotes.last().unwrap()["role"], "assistant");
    assert!(quotes.len() >= 4, "{quotes:?}");
    let cut = |part, omitted| BriefingCut { part, omitted };
    let messages = 8 - (quotes.len() as i64 - 2);
    let expected = [
        cut(BriefingPart::Derived, 2),
        cut(BriefingPart::Conversation, messages),
    ];
    assert_eq!(briefing.cuts, expected);
}

#[test]
fn the_task_alone_needs_no_notice() {
    let briefing = plain(200).compose().unwrap();
    assert_eq!(briefing.text, "## Task\n\nMend it.\n");
    assert!(briefing.cuts.is_empty());
}

#[test]
fn results_go_first_then_steps_that_are_over() {
    let long = "word ".repeat(40);
    let steps = (1..).zip([true, true, false, false]).map(|(index, over)| {
        let title = match over {
            true => "Long over, and not needed any more",
            false => "To do",
        };
        step(index, (title.to_owned(), long.clone(), over))
    });
    let plan = NewPlan {
        goal: "All of it".to_owned(),
        current_phase: String::new(),
        iteration_count: 0,
        steps: steps.collect(),
        data: JsonObject::default(),
    };
    // The steps that are written at each budget, and which of them with a result.
    let mut written: Vec<(String, String)> = Vec::new();
    for max_tokens in 60..600 {
        let case = Case {
            plan: Some(plan.clone()),
            ..plain(max_tokens)
        };
        let briefing = case.compose().unwrap();
        let (_, quotes) = read(&briefing, "Mend it.");
        let ids = |with_result: bool| -> String {
            let steps = quotes.iter().skip(1);
            let wanted = steps.filter(|step| !with_result || step.get("result").is_some());
            wanted.filter_map(|step| step["step"].as_str()).collect()
        };
        let state = (ids(false), ids(true));
        // The goal and each step that is missing or lacks its result count.
        let lacking = match quotes.len() {
            0 => 5,
            _ => 4 - state.1.len() as i64,
        };
        let cuts = (lacking > 0).then_some(BriefingCut {
            part: BriefingPart::Plan,
            omitted: lacking,
        });
        assert_eq!(briefing.cuts, Vec::from_iter(cuts), "{state:?}");
        if written.last() != Some(&state) {
            written.push(state);
        }
    }
    let expected = [
        ("", ""),
        ("3", ""),
        ("34", ""),
        ("234", ""),
        ("1234", ""),
        ("1234", "3"),
        ("1234", "34"),
        ("1234", "234"),
        ("1234", "1234"),
    ];
    let expected = expected.map(|(steps, results)| (steps.to_owned(), results.to_owned()));
    assert_eq!(written, expected);
}

#[test]
fn a_turn_that_is_too_large_is_shortened() {
    let long = "\"quoted\" ".repeat(500);
    let conversation = vec![
        said("Before.", true),
        said("Read it out.", true),
        said(&long, false),
    ];
    let case = Case {
        conversation,
        ..plain(400)
    };
    let briefing = case.compose().unwrap();
    let (_, quotes) = read(&briefing, "Mend it.");
    assert!(!briefing.cuts.is_empty());
    assert!(briefing.total_tokens > 350, "{}", briefing.total_tokens);
    let [question, answer] = quotes.as_slice() else {
        panic!("{quotes:?}");
    };
    assert_eq!(question["text"], "Read it out.");
    let of_messages = BriefingCut {
        part: BriefingPart::Conversation,
        omitted: 1,
    };
    assert_eq!(briefing.cuts, [of_messages]);
    let kept = answer["text"].as_str().unwrap();
    assert!(long.starts_with(kept) && !kept.is_empty());
}
