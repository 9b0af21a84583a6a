//! Tenants, users and apps never see one another's data.

mod other_tenants;
pub mod reads;
mod spaces;
