//! Reads changes of threads.

use memory_contract::proto::{Thread, UpdateThreadRequest};
use memory_contract::{
    Invalid, InvalidFields, PolicyFields, PolicyLevel, Precondition, metadata_from,
    nothing_to_change, paths_from, precondition_from, unknown_path,
};
use memory_grpc::request::{Fields, NamedConversation, policy_change_at, resource_from};
use memory_store::ThreadChange;

use super::{title_from, ttl_from};

/// The fields of a thread that an update can change.
const CHANGEABLE: &[&str] = &["title", "metadata", "ttl", "policy"];

/// A change of a thread.
pub(super) struct Update {
    pub(super) named: NamedConversation,
    pub(super) precondition: Precondition,
    pub(super) change: ThreadChange,
}

/// The fields that an update changes.
struct Named {
    title: bool,
    metadata: bool,
    ttl: bool,
    policy: PolicyFields,
}

impl Named {
    /// Those that the mask names; without a mask those that are set.
    fn of(fields: &mut Fields, paths: &[String], thread: &Thread) -> Self {
        if paths.is_empty() {
            return Self {
                title: !thread.title.is_empty(),
                metadata: !thread.metadata.is_empty(),
                ttl: thread.ttl.is_some(),
                policy: PolicyFields::Set,
            };
        }
        let mut named = Self {
            title: false,
            metadata: false,
            ttl: false,
            policy: PolicyFields::Named(Vec::new()),
        };
        for (index, path) in paths.iter().enumerate() {
            match path.as_str() {
                "title" => named.title = true,
                "metadata" => named.metadata = true,
                "ttl" => named.ttl = true,
                path if named.policy.add(path) => {}
                path => fields.take(Err(unknown_path(index, path, CHANGEABLE))),
            }
        }
        named
    }
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
        let paths = paths_from(update_mask)?;
        let named = Named::of(&mut fields, &paths, &thread);
        let policy = policy_change_at(PolicyLevel::Thread, thread.policy, &named.policy);
        let policy = policy
            .map_err(|InvalidFields(all)| InvalidFields(all.into_iter().map(within).collect()));
        let policy_is_valid = policy.is_ok();
        let change = ThreadChange {
            title: named
                .title
                .then(|| fields.take(title_from(thread.title).map_err(within))),
            metadata: named
                .metadata
                .then(|| fields.take(metadata_from("metadata", thread.metadata).map_err(within))),
            ttl: named
                .ttl
                .then(|| fields.take(ttl_from(thread.ttl).map_err(within))),
            policy: fields.get_all(policy).unwrap_or_default(),
        };
        if paths.is_empty() && policy_is_valid && change == ThreadChange::default() {
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
