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

/// A request of a method, and what becomes of it: none where it is good, or the
/// field that is refused.
struct Case<'a> {
    method: &'a str,
    request: Value,
    refused: Option<&'a str>,
}

impl Case<'_> {
    async fn check(self, client: &Client) {
        let mut shown = self.request.to_string();
        shown.truncate(shown.floor_char_boundary(300));
        let answer = Dynamic::call(client, self.method, self.request).await;
        match self.refused {
            None => {
                let failure = answer.err().map(recollect_tests::Failure::from);
                assert_eq!(failure, None, "{} of {shown}", self.method);
            }
            Some(field) => {
                eprintln!("{} of {shown}", self.method);
                answer.refused().names_field(field);
            }
        }
    }
}

fn letters(count: usize) -> String {
    // Characters are counted, not bytes.
    "ä".repeat(count)
}

/// Checks a field at its limit and one beyond.
async fn edges(
    client: &Client,
    method: &str,
    field: &str,
    limit: usize,
    request: impl Fn(String) -> Value,
) {
    for (count, refused) in [(limit, None), (limit + 1, Some(field))] {
        let case = Case {
            method,
            request: request(letters(count)),
            refused,
        };
        case.check(client).await;
    }
}

/// Checks good and bad values of a field.
async fn values(
    client: &Client,
    method: &str,
    field: &str,
    good: &[Value],
    bad: &[Value],
    request: impl Fn(Value) -> Value,
) {
    let good = good.iter().map(|value| (value, None));
    let bad = bad.iter().map(|value| (value, Some(field)));
    for (value, refused) in good.chain(bad) {
        let case = Case {
            method,
            request: request(value.clone()),
            refused,
        };
        case.check(client).await;
    }
}

const APPEND: &str = "MessageService/AppendMessages";

fn append(thread_id: &str, message: Value) -> Value {
    json!({"thread_id": thread_id, "messages": [message]})
}

fn user(parts: Value) -> Value {
    json!({"role": "ROLE_USER", "parts": parts})
}
