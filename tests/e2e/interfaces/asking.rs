//! Asks every interface the same, and compares the answers.

use std::fmt::Debug;

use prost::Message;
use prost_reflect::{DynamicMessage, SerializeOptions};
use recollect_tests::{Call, Dynamic, Failure, SOON, ToolAnswer, eventually_some};
use serde_json::Value;

use super::run::Run;
use crate::http::errors::failure;

/// The interfaces of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Interface {
    Grpc,
    Json,
    Mcp,
}

/// A call of a tool of MCP that reads the same as a request.
pub(super) struct Tool<A> {
    /// The place of the user.
    pub(super) user: usize,
    pub(super) name: &'static str,
    pub(super) arguments: Value,
    /// What the tool has to show of the answer. It may show more.
    pub(super) shows: fn(&A) -> Value,
}

/// Characters of a line before the first one that differs.
const CHARS_BEFORE: usize = 80;
/// Lines of an answer before the first one that differs.
const LINES_BEFORE: usize = 8;
/// Characters of a call or a line that a failed test prints.
const SHOWN_CHARS: usize = 600;

impl Run<'_> {
    /// Asks gRPC, JSON and, if a tool reads the same, MCP. The answer, which is the same.
    pub(super) async fn ask<R>(
        &mut self,
        method: &str,
        request: R,
        tool: Option<Tool<R::Response>>,
    ) -> Result<R::Response, Failure>
    where
        R: Call<Response: Message + Default + PartialEq> + Message + Clone,
    {
        let json = self.json_of(method, &request);
        let run = &*self;
        let compared = eventually_some("gRPC answers the same twice", SOON, async || {
            let expected = run.by_grpc(request.clone()).await;
            let answered = run.by_json::<R::Response>(method, &json).await;
            let told = match &tool {
                Some(tool) => Some(run.by_mcp(tool).await),
                None => None,
            };
            // Meanwhile a memory may have been noted as used, or the words of the tenant counted.
            let again = run.by_grpc(request.clone()).await;
            (again == expected).then_some((expected, answered, told))
        });
        let (expected, answered, told) = compared.await;
        assert!(
            answered == expected,
            "gRPC and JSON answer differently:\n{}",
            difference(&expected, &answered)
        );
        match &expected {
            Ok(_) => self.tally.json_answers += 1,
            Err(_) => self.tally.json_refusals += 1,
        }
        if let (Some(tool), Some(told)) = (&tool, &told) {
            match &expected {
                Ok(answer) => {
                    check_tool(tool, answer, told);
                    self.tally.mcp_answers += 1;
                }
                Err(failure) => {
                    check_refusal(failure, told);
                    self.tally.mcp_refusals += 1;
                }
            }
        }
        expected
    }

    /// As [`Self::ask`], of a request that has an answer.
    pub(super) async fn read<R>(
        &mut self,
        method: &str,
        request: R,
        tool: Option<Tool<R::Response>>,
    ) -> R::Response
    where
        R: Call<Response: Message + Default + PartialEq> + Message + Clone,
    {
        let answer = self.ask(method, request, tool).await;
        answer.unwrap_or_else(|failure| panic!("refused: {failure:?}"))
    }

    /// Sends a change by one interface.
    pub(super) async fn write<R>(&mut self, by: Interface, method: &str, request: R) -> R::Response
    where
        R: Call<Response: Message + Default> + Message,
    {
        let json = self.json_of(method, &request);
        let answer = match by {
            Interface::Grpc => {
                self.tally.grpc_writes += 1;
                self.by_grpc(request).await
            }
            Interface::Json => {
                self.tally.json_writes += 1;
                self.by_json(method, &json).await
            }
            Interface::Mcp => panic!("its tools have arguments of their own"),
        };
        answer.unwrap_or_else(|failure| panic!("{by:?} refuses: {failure:?}"))
    }

    /// Sends a change by a tool of MCP.
    pub(super) async fn write_by_tool(&mut self, user: usize, name: &str, arguments: Value) {
        self.doing = shortened(&format!("{name} {arguments}"));
        self.tally.mcp_writes += 1;
        self.mcp[user].tool(name, arguments).await;
    }

    /// The request in JSON, in one of the ways in which it may be written.
    fn json_of(&mut self, method: &str, request: &impl Message) -> Value {
        let input = Dynamic::method(method).input();
        let message = DynamicMessage::decode(input, request.encode_to_vec().as_slice()).unwrap();
        let options = SerializeOptions::new()
            .use_proto_field_name(self.rng.bool())
            .use_enum_numbers(self.rng.bool())
            .stringify_64_bit_integers(self.rng.bool());
        let json = message
            .serialize_with_options(serde_json::value::Serializer, &options)
            .unwrap();
        self.doing = shortened(&format!("{method} {json}"));
        json
    }

    async fn by_grpc<R: Call>(&self, request: R) -> Result<R::Response, Failure> {
        match request.send(self.client).await {
            Ok(response) => Ok(response.into_inner()),
            Err(status) => Err(comparable(status.into())),
        }
    }

    async fn by_json<A: Message + Default>(
        &self,
        method: &str,
        request: &Value,
    ) -> Result<A, Failure> {
        let answer = self.http.call(method, request).await;
        if answer.status != 200 {
            return Err(comparable(failure(&answer)));
        }
        let output = Dynamic::method(method).output();
        let message = DynamicMessage::deserialize(output, &answer.json())
            .unwrap_or_else(|error| panic!("no answer of {method}: {error}: {answer:?}"));
        Ok(A::decode(message.encode_to_vec().as_slice()).unwrap())
    }

    async fn by_mcp<A>(&self, tool: &Tool<A>) -> ToolAnswer {
        let arguments = tool.arguments.clone();
        self.mcp[tool.user].call(tool.name, arguments).await
    }
}

/// A failure without its encoded details: the metadata in them has no order.
pub(super) fn comparable(failure: Failure) -> Failure {
    Failure {
        raw: Vec::new(),
        ..failure
    }
}

fn check_tool<A>(tool: &Tool<A>, answer: &A, told: &ToolAnswer) {
    let name = tool.name;
    assert!(
        !told.is_error,
        "gRPC answers, {name} refuses: {}",
        shortened(&told.text)
    );
    if let Some(place) = first_difference(&(tool.shows)(answer), &told.data) {
        panic!("gRPC and {name} answer differently: {place}");
    }
}

/// Checks that a tool refuses with the words of gRPC.
pub(super) fn check_refusal(expected: &Failure, told: &ToolAnswer) {
    assert!(
        told.is_error && told.text.starts_with(&expected.message),
        "gRPC refuses with {expected:?}, the tool answers {:?}",
        shortened(&told.text)
    );
}

/// The first place where an answer of a tool has something else than it has to show. What is
/// null must be missing.
fn first_difference(expected: &Value, shown: &Value) -> Option<String> {
    match (expected, shown) {
        (Value::Object(expected), Value::Object(shown)) => {
            expected.iter().find_map(|(name, expected)| {
                let shown = shown.get(name).unwrap_or(&Value::Null);
                Some(format!(".{name}{}", first_difference(expected, shown)?))
            })
        }
        (Value::Array(expected), Value::Array(shown)) if expected.len() == shown.len() => {
            let mut pairs = expected.iter().zip(shown).enumerate();
            pairs.find_map(|(index, (expected, shown))| {
                Some(format!("[{index}]{}", first_difference(expected, shown)?))
            })
        }
        _ => (expected != shown).then(|| {
            let [expected, shown] = from_difference(&expected.to_string(), &shown.to_string());
            let [expected, shown] = [expected, shown].map(|text| shortened(&text));
            format!("\ngRPC: {expected}\nMCP:  {shown}")
        }),
    }
}

/// The first line in which two answers differ, and the lines before it.
fn difference(expected: &impl Debug, answered: &impl Debug) -> String {
    let texts = [format!("{expected:#?}"), format!("{answered:#?}")];
    let [expected, answered] = texts
        .each_ref()
        .map(|text| text.lines().collect::<Vec<&str>>());
    let pairs = expected.iter().zip(&answered);
    let same = pairs.take_while(|(left, right)| left == right).count();
    let line = |lines: &[&str]| {
        lines
            .get(same)
            .copied()
            .unwrap_or("nothing more")
            .to_owned()
    };
    let (expected_line, answered_line) = (line(&expected), line(&answered));
    let [expected_end, answered_end] = from_difference(&expected_line, &answered_line);
    let before: Vec<String> = expected[same.saturating_sub(LINES_BEFORE)..same]
        .iter()
        .map(|line| shortened(line))
        .collect();
    format!(
        "{}\ngRPC: {}\nJSON: {}",
        before.join("\n"),
        shortened(&expected_end),
        shortened(&answered_end)
    )
}

/// Two lines from a little before the place where they differ.
fn from_difference(left: &str, right: &str) -> [String; 2] {
    let pairs = left.chars().zip(right.chars());
    let same = pairs.take_while(|(left, right)| left == right).count();
    let begin = same.saturating_sub(CHARS_BEFORE);
    [left, right].map(|line| line.chars().skip(begin).collect())
}

/// The beginning of a text.
pub(super) fn shortened(text: &str) -> String {
    text.chars().take(SHOWN_CHARS).collect()
}
