//! Every request needs a key, works at each limit of the contract, and one step beyond
//! is refused with the name of the field.

mod every_field;
mod every_method;
mod messages;
mod models;
mod names;
mod plans;
mod queries;

use recollect_tests::{Client, Dynamic, Refused as _};
use serde_json::{Value, json};

/// A method, a request of it, and the field that is refused, if any.
type Case<'a> = (&'a str, Value, Option<&'a str>);

/// Sends a request. It has to succeed, or to be refused with the name of a field.
async fn check(client: &Client, (method, request, refused): Case<'_>) {
    let mut shown = request.to_string();
    shown.truncate(shown.floor_char_boundary(300));
    let answer = Dynamic::call(client, method, request).await;
    match refused {
        None => {
            let failure = answer.err().map(recollect_tests::Failure::from);
            assert_eq!(failure, None, "{method} of {shown}");
        }
        Some(field) => {
            eprintln!("{method} of {shown}");
            answer.refused().names_field(field);
        }
    }
}

async fn check_all<'a>(client: &Client, cases: impl IntoIterator<Item = Case<'a>>) {
    for case in cases {
        check(client, case).await;
    }
}

/// A field, a list of values that are good, and a list of values that are refused.
type Field<'a> = (&'a str, Value, Value);

/// Checks values of fields, each set alone in a good request.
async fn fields(client: &Client, method: &str, good: &Value, fields: &[Field<'_>]) {
    for &(field, ref accepted, ref refused) in fields {
        for value in accepted.as_array().unwrap() {
            check(client, (method, with(good, field, value.clone()), None)).await;
        }
        for value in refused.as_array().unwrap() {
            check(
                client,
                (method, with(good, field, value.clone()), Some(field)),
            )
            .await;
        }
    }
}

/// A text field at its limit and one character beyond.
fn length(field: &str, limit: usize) -> Field<'_> {
    (field, json!([letters(limit)]), json!([letters(limit + 1)]))
}

fn letters(count: usize) -> String {
    // Characters are counted, not bytes.
    "ä".repeat(count)
}

/// A request with one field set, whose path is as in errors: `plan.steps[0].title`.
fn with(request: &Value, path: &str, value: impl Into<Value>) -> Value {
    let mut request = request.clone();
    let steps = path
        .split(['.', '['])
        .map(|step| step.trim_end_matches(']'));
    let field = steps.fold(&mut request, |place, step| match step.parse::<usize>() {
        Ok(index) => &mut place[index],
        Err(_) => &mut place[step],
    });
    *field = value.into();
    request
}

const APPEND: &str = "MessageService/AppendMessages";

fn append(thread_id: &str, message: Value) -> Value {
    json!({"thread": {"thread_id": thread_id}, "messages": [message]})
}

fn user(parts: Value) -> Value {
    json!({"role": "ROLE_USER", "parts": parts})
}
