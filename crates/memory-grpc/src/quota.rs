//! Limits of one tenant and of one API key.

use memory_contract::TenantId;

/// A limit that a call exceeds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Quota {
    /// `tenant:` or `api_key:` and the name.
    pub subject: String,
    /// The limit, such as `at most 48 watches at a time`.
    pub limit: String,
}

impl Quota {
    /// A limit of a tenant.
    pub fn of_tenant(tenant: &TenantId, limit: String) -> Self {
        Self {
            subject: format!("tenant:{}", tenant.as_str()),
            limit,
        }
    }

    /// A limit of the API key with a name.
    pub fn of_key(name: &str, limit: String) -> Self {
        Self {
            subject: format!("api_key:{name}"),
            limit,
        }
    }
}
