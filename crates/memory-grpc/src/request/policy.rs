//! Reads policies.

use memory_context::template::QueryTemplate;
use memory_contract::{
    InvalidFields,
    convert::{policy_change_from, policy_from},
    policy::{MemoryPolicy, PolicyChange, PolicyFields, PolicyLevel},
    proto,
};

/// Reads the policy of a level, and compiles its template.
pub fn policy_at(
    level: PolicyLevel,
    policy: Option<proto::MemoryPolicy>,
) -> Result<MemoryPolicy, InvalidFields> {
    policy_from("policy", level, policy, |template| {
        QueryTemplate::compile(template).map(drop)
    })
}

/// Reads a change of the stored policy of a level, and compiles its template.
pub fn policy_change_at(
    level: PolicyLevel,
    policy: Option<proto::MemoryPolicy>,
    fields: &PolicyFields,
) -> Result<PolicyChange, InvalidFields> {
    policy_change_from("policy", level, policy, fields, |template| {
        QueryTemplate::compile(template).map(drop)
    })
}
