//! Changes of JSON with comments. All that is not changed keeps its bytes.

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstRootNode};
use serde_json::Value;

/// What is wrong with a file.
pub(crate) type Problem = String;

/// Sets a member of an object in the file's object.
pub(crate) fn put(text: &str, within: &str, name: &str, value: &Value) -> Result<String, Problem> {
    let (root, object) = parsed(text)?;
    let container = match is_null(&object, within) {
        true => Some(object.object_value_or_set(within)),
        false => object.object_value_or_create(within),
    };
    let container = container.ok_or_else(|| format!("`{within}` is not an object"))?;
    match container.get(name) {
        Some(member) if member.value().is_some_and(|old| is_value(&old, value)) => {}
        Some(member) => member.set_value(input(value)),
        None => drop(container.append(name, input(value))),
    }
    Ok(root.to_string())
}

/// A member of an object in the file's object; `None` if the object lacks it.
pub(crate) fn value(text: &str, within: &str, name: &str) -> Result<Option<Value>, Problem> {
    let (_, object) = parsed(text)?;
    let member = object
        .object_value(within)
        .and_then(|container| container.get(name));
    Ok(member.and_then(|member| value_of(&member.value()?)))
}

/// Removes a member of an object in the file's object, and that object if nothing else is in
/// it; `None` if there is no such member.
pub(crate) fn remove(text: &str, within: &str, name: &str) -> Result<Option<String>, Problem> {
    let (root, object) = parsed(text)?;
    let container = object.object_value(within);
    let Some(member) = container.as_ref().and_then(|container| container.get(name)) else {
        return Ok(None);
    };
    member.remove();
    remove_if_empty(&object, within);
    Ok(Some(root.to_string()))
}

/// Adds a group of hooks to each of some events, in the place of hooks that are `own`.
pub(crate) fn put_hooks(
    text: &str,
    events: &[(&'static str, Value)],
    own: impl Fn(&Value) -> bool,
) -> Result<String, Problem> {
    let (root, object) = parsed(text)?;
    let hooks = match is_null(&object, "hooks") {
        true => Some(object.object_value_or_set("hooks")),
        false => object.object_value_or_create("hooks"),
    };
    let hooks = hooks.ok_or("`hooks` is not an object")?;
    for (event, group) in events {
        let groups = match is_null(&hooks, event) {
            true => Some(hooks.array_value_or_set(event)),
            false => hooks.array_value_or_create(event),
        };
        let groups = groups.ok_or_else(|| format!("`hooks.{event}` is not a list"))?;
        let elements = groups.elements();
        if elements.iter().any(|element| is_value(element, group)) {
            continue;
        }
        remove_own(&groups, &own);
        groups.append(input(group));
    }
    Ok(root.to_string())
}

/// Removes the hooks that are `own`, and what is empty then; `None` if there are none.
pub(crate) fn remove_hooks(
    text: &str,
    own: impl Fn(&Value) -> bool,
) -> Result<Option<String>, Problem> {
    let (root, object) = parsed(text)?;
    let Some(hooks) = object.object_value("hooks") else {
        return Ok(None);
    };
    let mut removed = 0;
    for event in hooks.properties() {
        let Some(groups) = event.array_value() else {
            continue;
        };
        let of_event = remove_own(&groups, &own);
        removed += of_event;
        if of_event > 0 && groups.elements().is_empty() {
            event.remove();
        }
    }
    if removed == 0 {
        return Ok(None);
    }
    remove_if_empty(&object, "hooks");
    Ok(Some(root.to_string()))
}

/// Removes own hooks from groups, and the groups that are empty then.
fn remove_own(groups: &CstArray, own: impl Fn(&Value) -> bool) -> usize {
    let mut count = 0;
    for group in groups.elements() {
        let hooks = group.as_object();
        let Some(hooks) = hooks.and_then(|group| group.array_value("hooks")) else {
            continue;
        };
        let elements = hooks.elements().into_iter();
        let own: Vec<CstNode> = elements
            .filter(|hook| value_of(hook).is_some_and(|value| own(&value)))
            .collect();
        count += own.len();
        let are_all = own.len() == hooks.elements().len();
        match are_all && !own.is_empty() {
            true => group.remove(),
            false => own.into_iter().for_each(CstNode::remove),
        }
    }
    count
}

/// Whether a member is `null`, which is as good as none.
fn is_null(object: &CstObject, name: &str) -> bool {
    let value = object.get(name).and_then(|member| member.value());
    value.is_some_and(|value| value.as_null_keyword().is_some())
}

fn remove_if_empty(object: &CstObject, name: &str) {
    if let Some(member) = object.get(name)
        && member
            .object_value()
            .is_some_and(|inner| inner.properties().is_empty())
    {
        member.remove();
    }
}

/// Reads a file. One without content is an empty object.
fn parsed(text: &str) -> Result<(CstRootNode, CstObject), Problem> {
    // The extensions that agents read: comments and commas at the end.
    let options = ParseOptions {
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
        ..ParseOptions::default()
    };
    let text = match text.trim().is_empty() {
        true => "{\n}\n",
        false => text,
    };
    let root =
        CstRootNode::parse(text, &options).map_err(|error| format!("it is not JSON: {error}"))?;
    let object = root.object_value().ok_or("it is not a JSON object")?;
    Ok((root, object))
}

fn is_value(node: &CstNode, value: &Value) -> bool {
    value_of(node).as_ref() == Some(value)
}

/// The value of a node without comments.
fn value_of(node: &CstNode) -> Option<Value> {
    node.to_serde_value()
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(members) => CstInputValue::Object(
            members
                .iter()
                .map(|(name, value)| (name.clone(), input(value)))
                .collect(),
        ),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const ODD: &str = "{ // mine\n    \"theme\": \"dark\",\n\n\t\"mcpServers\" : {\"other\": \
                       {\"command\":\"x\" /* y */},\n    },\n  \"n\": 1.50\n}";

    #[test]
    fn everything_else_keeps_its_bytes() {
        let value = json!({"command": "recollect"});
        let with = put(ODD, "mcpServers", "recollect", &value).unwrap();
        for kept in [
            "{ // mine\n",
            "\t\"mcpServers\" : {",
            "{\"command\":\"x\" /* y */}",
            "1.50",
        ] {
            assert!(with.contains(kept), "{with}");
        }
        assert!(with.contains("\"recollect\""), "{with}");
        // Again, it is the same; changed, it is replaced.
        assert_eq!(put(&with, "mcpServers", "recollect", &value).unwrap(), with);
        let other = put(&with, "mcpServers", "recollect", &json!({"command": "r"})).unwrap();
        assert_eq!(other.matches("\"recollect\"").count(), 1, "{other}");
        let without = remove(&with, "mcpServers", "recollect").unwrap().unwrap();
        assert!(!without.contains("recollect"), "{without}");
        assert!(without.contains("{\"command\":\"x\" /* y */}"), "{without}");
        assert_eq!(remove(&without, "mcpServers", "recollect").unwrap(), None);
    }

    #[test]
    fn a_new_file_has_the_entry_alone() {
        let value = json!({"command": "recollect", "args": ["mcp"]});
        let with = put("", "mcpServers", "recollect", &value).unwrap();
        let read: Value = serde_json::from_str(&with).unwrap();
        assert_eq!(read, json!({"mcpServers": {"recollect": value}}));
        let without = remove(&with, "mcpServers", "recollect").unwrap().unwrap();
        let read: Value = serde_json::from_str(&without).unwrap();
        assert_eq!(read, json!({}));
    }

    #[test]
    fn null_is_as_good_as_none() {
        let value = json!({"command": "recollect"});
        let with = put(
            "{\"mcpServers\": null, \"n\": 1}",
            "mcpServers",
            "recollect",
            &value,
        );
        let read: Value = serde_json::from_str(&with.unwrap()).unwrap();
        assert_eq!(read, json!({"mcpServers": {"recollect": value}, "n": 1}));
        let group = json!({"hooks": [{"command": "own"}]});
        for text in ["{\"hooks\": null}", "{\"hooks\": {\"Stop\": null}}"] {
            let with = put_hooks(text, &[("Stop", group.clone())], |_| false).unwrap();
            let read: Value = serde_json::from_str(&with).unwrap();
            assert_eq!(read, json!({"hooks": {"Stop": [group]}}));
        }
    }

    #[test]
    fn a_value_is_read_without_its_comments() {
        let text = "{\"mcp\": {\"r\": {\"a\": [1, /* one */], // end\n \"b\": null}}}";
        let read = value(text, "mcp", "r").unwrap();
        assert_eq!(read, Some(json!({"a": [1], "b": null})));
        for text in ["", "{}", "{\"mcp\": null}", "{\"mcp\": []}"] {
            assert_eq!(value(text, "mcp", "r").unwrap(), None, "{text}");
        }
    }

    #[test]
    fn hooks_of_others_stay() {
        let text = "{\"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"command\", \
                    \"command\": \"beep\"}]}]}}";
        let own = |hook: &Value| hook["command"] == json!("own");
        let group = json!({"hooks": [{"type": "command", "command": "own"}]});
        let events = [("Stop", group.clone()), ("UserPromptSubmit", group)];
        let with = put_hooks(text, &events, own).unwrap();
        assert_eq!(put_hooks(&with, &events, own).unwrap(), with);
        let newer = json!({"hooks": [{"type": "command", "command": "own", "timeout": 1}]});
        let newer = put_hooks(&with, &[("Stop", newer)], own).unwrap();
        let read: Value = serde_json::from_str(&newer).unwrap();
        assert_eq!(read["hooks"]["Stop"].as_array().unwrap().len(), 2);
        let without = remove_hooks(&with, own).unwrap().unwrap();
        let (read, was): (Value, Value) = (
            serde_json::from_str(&without).unwrap(),
            serde_json::from_str(text).unwrap(),
        );
        assert_eq!(read, was);
    }

    #[test]
    fn an_own_hook_is_removed_from_a_group_of_others() {
        let text = "{\"hooks\": {\"Stop\": [{\"matcher\": \"\", \"hooks\": [{\"command\": \"beep\"}, \
                    {\"command\": \"own\"}]}]}}";
        let own = |hook: &Value| hook["command"] == json!("own");
        let without = remove_hooks(text, own).unwrap().unwrap();
        let read: Value = serde_json::from_str(&without).unwrap();
        let left = json!({"matcher": "", "hooks": [{"command": "beep"}]});
        assert_eq!(read, json!({"hooks": {"Stop": [left]}}));
        assert_eq!(remove_hooks(&without, own).unwrap(), None);
    }

    #[test]
    fn what_is_not_json_is_refused() {
        let value = json!({});
        for text in [
            "{",
            "[]",
            "1",
            "{'a': 1}",
            "{\"mcpServers\": []}",
            "{\"a\" 1}",
        ] {
            assert!(
                put(text, "mcpServers", "recollect", &value).is_err(),
                "{text}"
            );
        }
    }
}
