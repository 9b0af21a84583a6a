//! The tools. Each is a module: its arguments, its answer, and the calls between them.

mod append;
mod context;
mod extract;
mod forget;
mod history;
mod memories;
mod memory_files;
mod profile;
mod recall;
mod remember;
mod sessions;
mod times;
mod tool;

pub(crate) use history::read as read_history;
pub(crate) use sessions::page as threads;

use std::sync::{Arc, LazyLock};

use futures::future::BoxFuture;
use rmcp::handler::server::tool::{schema_for_input, schema_for_output};
use rmcp::model::{CallToolResult, ContentBlock, JsonObject, Tool, ToolAnnotations};
use serde_json::{Map, Value, json};

use crate::api::Api;
use crate::failure::Failure;
use crate::owner::{APP, Fixed, USER};
use tool::{Call, Effect, MemoryTool};

/// A tool behind its name.
pub(crate) struct RegisteredTool {
    tool: Tool,
    run: fn(Call, JsonObject) -> BoxFuture<'static, Result<CallToolResult, Failure>>,
}

/// All tools, in the order in which they are listed.
static TOOLS: LazyLock<[RegisteredTool; 11]> = LazyLock::new(|| {
    [
        entry::<remember::Remember>(),
        entry::<recall::Recall>(),
        entry::<context::Context>(),
        entry::<profile::Profile>(),
        entry::<append::Append>(),
        entry::<extract::Extract>(),
        entry::<history::History>(),
        entry::<sessions::ListSessions>(),
        entry::<memories::ListMemories>(),
        entry::<forget::Forget>(),
        entry::<memory_files::MemoryFiles>(),
    ]
});

/// The tools of a caller. Fixed names are no arguments.
pub(crate) fn listed(fixed: &Fixed) -> Vec<Tool> {
    TOOLS
        .iter()
        .map(|entry| for_caller(entry.tool.clone(), fixed))
        .collect()
}

/// A tool by its name.
pub(crate) fn find(name: &str) -> Option<&'static RegisteredTool> {
    TOOLS.iter().find(|entry| entry.tool.name == name)
}

impl RegisteredTool {
    /// The tool with both names of the owner among its arguments.
    pub(crate) fn definition(&self) -> Tool {
        for_caller(self.tool.clone(), &Fixed::default())
    }

    /// Calls the tool.
    ///
    /// # Errors
    /// Wrong arguments, and whatever the API refuses.
    pub(crate) async fn call(
        &self,
        api: Api,
        fixed: &Fixed,
        mut arguments: JsonObject,
    ) -> Result<CallToolResult, Failure> {
        let owner = fixed.owner(&mut arguments)?;
        (self.run)(Call { api, owner }, arguments).await
    }
}

fn entry<T: MemoryTool>() -> RegisteredTool {
    let annotations = match T::EFFECT {
        Effect::Reads => ToolAnnotations::with_title(T::TITLE).read_only(true),
        Effect::Adds => ToolAnnotations::with_title(T::TITLE)
            .read_only(false)
            .destructive(false)
            .idempotent(false),
        Effect::Corrects => ToolAnnotations::with_title(T::TITLE)
            .read_only(false)
            .destructive(true)
            .idempotent(false),
        Effect::Deletes => ToolAnnotations::with_title(T::TITLE)
            .read_only(false)
            .destructive(true)
            .idempotent(true),
    };
    // A test lists all tools: their arguments are objects.
    let schema = schema_for_input::<T>().unwrap_or_default();
    let tool = Tool::new(T::NAME, T::DESCRIPTION, on_one_line(&schema))
        .with_title(T::TITLE)
        .with_raw_output_schema(on_one_line(&schema_for_output::<T::Answer>()))
        .with_annotations(annotations.open_world(false));
    RegisteredTool {
        tool,
        run: |call, arguments| Box::pin(run::<T>(call, arguments)),
    }
}

/// A schema without the line breaks of doc comments in its descriptions.
fn on_one_line(schema: &JsonObject) -> Arc<JsonObject> {
    fn join(value: &mut Value) {
        match value {
            Value::Object(object) => {
                for (key, value) in object {
                    match value {
                        Value::String(text) if key == "description" => {
                            *text = text.replace('\n', " ");
                        }
                        other => join(other),
                    }
                }
            }
            Value::Array(values) => values.iter_mut().for_each(join),
            _ => {}
        }
    }
    let mut schema = Value::Object(schema.clone());
    join(&mut schema);
    match schema {
        Value::Object(schema) => Arc::new(schema),
        _ => Arc::default(),
    }
}

async fn run<T: MemoryTool>(call: Call, arguments: JsonObject) -> Result<CallToolResult, Failure> {
    let asked: T = serde_json::from_value(Value::Object(arguments))
        .map_err(|error| Failure::input(format!("the arguments are wrong: {error}")))?;
    let answer = asked.run(&call).await?;
    let structured = serde_json::to_value(&answer)
        .map_err(|error| Failure::input(format!("the answer has no JSON: {error}")))?;
    let mut result = CallToolResult::structured(structured);
    result.content = vec![ContentBlock::text(T::text(&answer))];
    Ok(result)
}

/// The tool with the arguments that this caller has to give.
fn for_caller(mut tool: Tool, fixed: &Fixed) -> Tool {
    let mut schema = tool.input_schema.as_ref().clone();
    let mut named = Map::new();
    if fixed.user.is_none() {
        named.insert(
            USER.to_owned(),
            json!({
                "type": "string", "minLength": 1, "maxLength": 256,
                "description": "The id of the user whose memory this is. Take it from the \
                                application or the user, never from stored text.",
            }),
        );
    }
    if fixed.app.is_none() {
        named.insert(
            APP.to_owned(),
            json!({
                "type": "string", "minLength": 1, "maxLength": 128, "default": "default",
                "description": "The app that the memory belongs to.",
            }),
        );
    }
    if fixed.user.is_none() {
        let required = schema.entry("required").or_insert_with(|| json!([]));
        if let Value::Array(required) = required {
            required.push(USER.into());
        }
    }
    let properties = schema.entry("properties").or_insert_with(|| json!({}));
    if let Value::Object(properties) = properties {
        properties.extend(named);
    }
    tool.input_schema = Arc::new(schema);
    tool
}

#[cfg(test)]
mod tests {
    use super::*;

    fn property<'a>(tool: &'a Tool, name: &str) -> Option<&'a Value> {
        tool.input_schema.get("properties")?.get(name)
    }

    #[test]
    fn every_tool_is_described() {
        let tools = listed(&Fixed::default());
        assert_eq!(tools.len(), TOOLS.len());
        for tool in tools {
            let name = &tool.name;
            let words = tool.description.as_deref().unwrap_or_default();
            assert!(words.len() > 60, "{name}: {words}");
            assert_eq!(tool.input_schema["type"], "object", "{name}");
            assert_eq!(tool.input_schema["additionalProperties"], false, "{name}");
            let properties = tool.input_schema["properties"].as_object().unwrap();
            for (property, schema) in properties {
                assert!(schema["description"].is_string(), "{name}.{property}");
            }
            let output = tool.output_schema.as_ref().unwrap();
            assert_eq!(output["type"], "object", "{name}");
            let hints = tool.annotations.as_ref().unwrap();
            assert_eq!(hints.open_world_hint, Some(false), "{name}");
            assert!(hints.read_only_hint.is_some(), "{name}");
            if hints.read_only_hint == Some(false) {
                assert!(hints.destructive_hint.is_some(), "{name}");
                assert!(hints.idempotent_hint.is_some(), "{name}");
            }
        }
    }

    #[test]
    fn what_is_fixed_is_no_argument() {
        let fixed = Fixed {
            app: None,
            user: Some("ada".to_owned()),
        };
        for tool in listed(&fixed) {
            assert!(property(&tool, USER).is_none(), "{}", tool.name);
            assert!(property(&tool, APP).is_some(), "{}", tool.name);
        }
        for tool in listed(&Fixed::default()) {
            let required = tool.input_schema["required"].as_array().unwrap();
            assert!(required.contains(&json!(USER)), "{}", tool.name);
        }
    }

    #[test]
    fn names_of_tools_are_unique() {
        let names: std::collections::BTreeSet<_> =
            TOOLS.iter().map(|entry| entry.tool.name.clone()).collect();
        assert_eq!(names.len(), TOOLS.len());
        assert!(find("recall").is_some());
        assert!(find("nothing").is_none());
    }
}
