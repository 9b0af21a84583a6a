//! The items of OpenAI's Responses API that are no messages, as the Python package openai 3.54.0
//! has them.

use serde_json::Value;

/// The types of items, each with keys that all items of the type have. Keys that older versions
/// of the API leave out are not among them.
const ITEMS: [(&str, &[&str]); 30] = [
    ("additional_tools", &["tools"]),
    ("apply_patch_call", &["call_id", "operation"]),
    ("apply_patch_call_output", &["call_id", "status"]),
    ("code_interpreter_call", &["id", "status"]),
    ("compaction", &["encrypted_content"]),
    ("compaction_trigger", &[]),
    ("computer_call", &["call_id", "status"]),
    ("computer_call_output", &["call_id", "output"]),
    ("configuration_update", &[]),
    ("custom_tool_call", &["name", "input"]),
    ("custom_tool_call_output", &["output"]),
    ("file_search_call", &["queries", "status"]),
    ("function_call", &["name", "arguments"]),
    ("function_call_output", &["output"]),
    ("image_generation_call", &["id", "status"]),
    ("item_reference", &["id"]),
    ("local_shell_call", &["action", "call_id"]),
    ("local_shell_call_output", &["output"]),
    ("mcp_approval_request", &["name", "server_label"]),
    ("mcp_approval_response", &["approval_request_id", "approve"]),
    ("mcp_call", &["name", "server_label"]),
    ("mcp_list_tools", &["server_label", "tools"]),
    ("program", &["code", "fingerprint"]),
    ("program_output", &["call_id", "result"]),
    ("reasoning", &["summary"]),
    ("shell_call", &["action", "call_id"]),
    ("shell_call_output", &["call_id", "output"]),
    ("tool_search_call", &["arguments"]),
    ("tool_search_output", &["tools"]),
    ("web_search_call", &["id", "status"]),
];

/// Whether it is an item of a known type with the keys of the type.
pub(super) fn is_item(one: &Value) -> bool {
    let kind = one["type"].as_str().unwrap_or_default();
    let known = ITEMS.iter().find(|(name, _)| *name == kind);
    known.is_some_and(|(_, keys)| keys.iter().all(|key| one.get(*key).is_some()))
}
