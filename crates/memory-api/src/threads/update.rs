//! Reads changes of threads.

use memory_contract::proto::UpdateThreadRequest;
use memory_contract::{
    Invalid, InvalidFields,
    convert::{UpdateMask, metadata_from, nothing_to_change, precondition_from},
    policy::PolicyLevel,
    precondition::Precondition,
};
use memory_grpc::request::{Fields, NamedConversation, policy_change_at, resource_from};
use memory_store::ThreadChange;

use super::fields::{title_from, ttl_from};

/// The fields of a thread that an update can change.
const CHANGEABLE: &[&str] = &["title", "metadata", "ttl", "policy"];

/// A change of a thread.
pub(super) struct Update {
    pub(super) named: NamedConversation,
    pub(super) precondition: Precondition,
    pub(super) change: ThreadChange,
}

impl Update {
    pub(super) fn read(request: UpdateThreadRequest) -> Result<Self, InvalidFields> {
        let UpdateThreadRequest {
            thread,
            update_mask,
            precondition,
        } = request;
        let thread = thread.ok_or_else(|| Invalid::missing("thread"))?;
        let within = |invalid: Invalid| invalid.within("thread");
        let mut fields = Fields::default();
        let resource = fields.get(resource_from(&thread));
        let precondition = fields.take(precondition_from(precondition, false));
        let mask = UpdateMask::read(&mut fields, update_mask, CHANGEABLE, |field| match field {
            "title" => !thread.title.is_empty(),
            "metadata" => !thread.metadata.is_empty(),
            "ttl" => thread.ttl.is_some(),
            _ => false,
        })?;
        let policy = policy_change_at(PolicyLevel::Thread, thread.policy, mask.policy());
        let policy = policy
            .map_err(|InvalidFields(all)| InvalidFields(all.into_iter().map(within).collect()));
        let policy_is_valid = policy.is_ok();
        let change = ThreadChange {
            title: mask
                .names("title")
                .then(|| fields.take(title_from(thread.title).map_err(within))),
            metadata: mask
                .names("metadata")
                .then(|| fields.take(metadata_from("metadata", thread.metadata).map_err(within))),
            ttl: mask
                .names("ttl")
                .then(|| fields.take(ttl_from(thread.ttl).map_err(within))),
            policy: fields.get_all(policy).unwrap_or_default(),
        };
        if !mask.is_given() && policy_is_valid && change == ThreadChange::default() {
            fields.take(Err::<(), _>(nothing_to_change(CHANGEABLE)));
        }
        let named = fields.all(resource)?;
        Ok(Self {
            named,
            precondition,
            change,
        })
    }
}
