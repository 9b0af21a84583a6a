//! Reads policies.

use memory_context::template::QueryTemplate;
use memory_contract::{
    InvalidFields,
    convert::{policy_change_from, policy_from},
    policy::{MemoryPolicy, PolicyChange, PolicyFields, PolicyLevel},
    proto,
};
use memory_kinds::check_kinds;

/// Reads the policy of a level, and compiles its template.
pub fn policy_at(
    level: PolicyLevel,
    policy: Option<proto::MemoryPolicy>,
) -> Result<MemoryPolicy, InvalidFields> {
    policy_from("policy", level, policy, |template| {
        QueryTemplate::compile(template).map(drop)
    })
}

/// Reads a change of the stored policy of a level, compiles its template, and checks the kinds of
/// memories that it defines.
pub fn policy_change_at(
    level: PolicyLevel,
    policy: Option<proto::MemoryPolicy>,
    fields: &PolicyFields,
) -> Result<PolicyChange, InvalidFields> {
    let change = policy_change_from("policy", level, policy, fields, |template| {
        QueryTemplate::compile(template).map(drop)
    })?;
    let kinds = change.set.memory_kinds.as_deref().unwrap_or_default();
    check_kinds(kinds).map_err(|invalid| invalid.within("policy"))?;
    Ok(change)
}
