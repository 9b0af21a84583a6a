//! The scope that an API key needs for a call.

use memory_contract::key::KeyScope;

/// Calls that read.
const READ: &[(&str, &str)] = &[
    ("AdminService", "GetDeletion"),
    ("AdminService", "GetDistillStatus"),
    ("AdminService", "GetDeletionStatus"),
    ("AdminService", "GetIndexStatus"),
    ("AdminService", "GetModelUsage"),
    ("AdminService", "GetNodeMemoryStatus"),
    ("AdminService", "GetServerInfo"),
    ("AdminService", "ListDeadLetters"),
    ("AdminService", "ListDeletions"),
    ("CheckpointService", "GetCheckpoint"),
    ("CheckpointService", "ListCheckpoints"),
    ("ContextService", "BuildContext"),
    ("DocumentService", "GetDocuments"),
    ("DocumentService", "ListNamespaces"),
    ("DocumentService", "SearchDocuments"),
    ("EventService", "ListEvents"),
    ("FileService", "GetFile"),
    ("FileService", "GetFileContent"),
    ("FileService", "ListFiles"),
    ("LedgerService", "ListLedger"),
    ("LedgerService", "VerifyThread"),
    ("MemoryFileService", "CompareMemoryFileVersions"),
    ("MemoryFileService", "GetMemoryFile"),
    ("MemoryFileService", "ListMemoryFileVersions"),
    ("MemoryFileService", "SearchMemoryFiles"),
    ("MemoryService", "GetMemory"),
    ("MemoryService", "GetProfile"),
    ("MemoryService", "ListMemories"),
    ("MemoryService", "SearchMemories"),
    ("MessageService", "GetHistory"),
    ("MessageService", "GetMessage"),
    ("MessageService", "ListMessages"),
    ("NodeMemoryService", "GetNodeHistory"),
    ("NodeMemoryService", "ListNodeMemories"),
    ("PlanService", "BuildBriefing"),
    ("PlanService", "GetPlan"),
    ("PlanService", "ListAttempts"),
    ("ObservationService", "GetObservations"),
    ("PolicyService", "GetAppPolicy"),
    ("PolicyService", "GetEffectivePolicy"),
    ("PolicyService", "ListAppPolicies"),
    ("RecallService", "Recall"),
    ("RecallService", "Search"),
    ("SubscriptionService", "GetSubscription"),
    ("SubscriptionService", "ListSubscriptions"),
    ("SubscriptionService", "StreamEvents"),
    ("ThreadService", "GetThread"),
    ("ThreadService", "ListApps"),
    ("ThreadService", "ListBranches"),
    ("ThreadService", "ListThreads"),
    ("ThreadService", "ListUsers"),
    ("ThreadService", "WatchThread"),
    ("TransferService", "ExportRecords"),
    ("WorkingMemoryService", "GetWorkingMemory"),
];

/// The call by which a reader of events says what it has read. With a URL, the subscription's handler
/// requires the scope `admin` for it and for `StreamEvents`.
const ACKNOWLEDGE: &[(&str, &str)] = &[("SubscriptionService", "AcknowledgeEvents")];

/// Calls that add or change.
const WRITE: &[(&str, &str)] = &[
    ("AdminService", "Reindex"),
    ("CheckpointService", "CopyCheckpoints"),
    ("CheckpointService", "PutCheckpoint"),
    ("CheckpointService", "PutCheckpointWrites"),
    ("DocumentService", "PutDocuments"),
    ("EventService", "AppendEvents"),
    ("FileService", "RegisterFile"),
    ("MemoryFileService", "InsertIntoMemoryFile"),
    ("MemoryFileService", "PutMemoryFile"),
    ("MemoryFileService", "RenameMemoryFile"),
    ("MemoryFileService", "ReplaceInMemoryFile"),
    ("MemoryFileService", "RestoreMemoryFile"),
    ("MemoryService", "AddMemories"),
    ("MemoryService", "ExtractMemories"),
    ("MemoryService", "ImportMemories"),
    ("MemoryService", "SupersedeMemory"),
    ("MemoryService", "UpdateMemory"),
    ("MessageService", "AppendMessages"),
    ("MessageService", "ImportMessages"),
    ("MessageService", "UpdateMessage"),
    ("NodeMemoryService", "AddNodeTurn"),
    ("NodeMemoryService", "FlushNodeMemory"),
    ("PlanService", "AppendAttempt"),
    ("PlanService", "PutPlan"),
    ("PlanService", "UpdatePlanStep"),
    ("PolicyService", "UpdateAppPolicy"),
    ("ThreadService", "CreateThread"),
    ("ThreadService", "ResolveThread"),
    ("ThreadService", "SetHead"),
    ("ThreadService", "UpdateThread"),
    ("TransferService", "ImportRecords"),
    ("WorkingMemoryService", "PutWorkingMemory"),
    ("WorkingMemoryService", "UpdateWorkingMemoryData"),
];

/// Calls that delete.
const DELETE: &[(&str, &str)] = &[
    ("AdminService", "DeleteApp"),
    ("AdminService", "DeleteUser"),
    ("CheckpointService", "DeleteCheckpoints"),
    ("DocumentService", "DeleteDocuments"),
    ("FileService", "DeleteFile"),
    ("MemoryFileService", "DeleteMemoryFile"),
    ("MemoryService", "DeleteMemory"),
    ("MemoryService", "DeleteMemories"),
    ("MessageService", "DeleteMessage"),
    ("NodeMemoryService", "DeleteNodeMemory"),
    ("PlanService", "DeletePlan"),
    ("PolicyService", "DeleteAppPolicy"),
    ("ThreadService", "ClearThread"),
    ("ThreadService", "DeleteThread"),
    ("WorkingMemoryService", "DeleteWorkingMemory"),
];

/// Calls that change keys, secrets and subscriptions, or delete the tenant.
const ADMIN: &[(&str, &str)] = &[
    ("AdminService", "DeleteTenant"),
    ("KeyService", "CreateApiKey"),
    ("KeyService", "RevokeApiKey"),
    ("SecretService", "DeleteSecret"),
    ("SecretService", "SetSecret"),
    ("SubscriptionService", "CreateSubscription"),
    ("SubscriptionService", "DeleteSubscription"),
    ("SubscriptionService", "RotateSubscriptionSecret"),
    ("SubscriptionService", "UpdateSubscription"),
];

/// Calls that read keys, secrets and the audit log, or compare indexes.
const ADMIN_READ: &[(&str, &str)] = &[
    ("AdminService", "CompareIndexes"),
    ("AdminService", "ListTransactions"),
    ("KeyService", "ListApiKeys"),
    ("SecretService", "GetSecret"),
    ("SecretService", "ListSecrets"),
];

const SCOPES: [(KeyScope, &[(&str, &str)]); 6] = [
    (KeyScope::Read, READ),
    (KeyScope::Read, ACKNOWLEDGE),
    (KeyScope::Write, WRITE),
    (KeyScope::Delete, DELETE),
    (KeyScope::Admin, ADMIN),
    (KeyScope::Admin, ADMIN_READ),
];

/// The scope of a method, by the short names of its service and of itself. A
/// method without an entry requires the scope `admin`.
pub(super) fn scope_of(service: &str, method: &str) -> KeyScope {
    SCOPES
        .iter()
        .find(|(_, methods)| methods.contains(&(service, method)))
        .map_or(KeyScope::Admin, |(scope, _)| *scope)
}

/// Whether a method changes something.
pub(super) fn changes(service: &str, method: &str) -> bool {
    ![READ, ADMIN_READ]
        .iter()
        .any(|methods| methods.contains(&(service, method)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use memory_contract::proto::DESCRIPTORS;
    use prost::Message as _;
    use prost_types::FileDescriptorSet;
    use prost_types::method_options::IdempotencyLevel;

    use super::*;

    #[test]
    fn every_method_of_the_contract_has_one_scope() {
        let set = FileDescriptorSet::decode(DESCRIPTORS).unwrap();
        let services = set.file.iter().flat_map(|file| &file.service);
        let methods: BTreeSet<(&str, &str)> = services
            .flat_map(|service| service.method.iter().map(|m| (service.name(), m.name())))
            .collect();
        let all = || SCOPES.iter().flat_map(|(_, methods)| methods.iter());
        let listed: BTreeSet<(&str, &str)> = all().copied().collect();
        assert_eq!(listed, methods);
        assert_eq!(all().count(), listed.len(), "one is listed twice");
    }

    #[test]
    fn a_method_without_a_scope_is_for_administrators() {
        assert_eq!(scope_of("ThreadService", "GetThread"), KeyScope::Read);
        assert_eq!(scope_of("ThreadService", "Forget"), KeyScope::Admin);
        assert_eq!(scope_of("SecretService", "GetThread"), KeyScope::Admin);
        assert!(changes("ThreadService", "Forget"));
    }

    #[test]
    fn list_and_get_methods_change_nothing() {
        for (service, method) in SCOPES.iter().flat_map(|(_, methods)| methods.iter()) {
            let reads = [
                "Get", "List", "Export", "Build", "Compare", "Recall", "Search", "Stream",
                "Verify", "Watch",
            ];
            let reads = reads.iter().any(|verb| method.starts_with(verb));
            assert_eq!(changes(service, method), !reads, "{method}");
        }
    }

    #[test]
    fn the_contract_marks_the_methods_that_change_nothing() {
        let set = FileDescriptorSet::decode(DESCRIPTORS).unwrap();
        for service in set.file.iter().flat_map(|file| &file.service) {
            for method in &service.method {
                let options = method.options.clone().unwrap_or_default();
                let reads = options.idempotency_level() == IdempotencyLevel::NoSideEffects;
                let (service, method) = (service.name(), method.name());
                assert_eq!(reads, !changes(service, method), "{service}/{method}");
            }
        }
    }
}
