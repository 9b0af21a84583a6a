//! The audit log's stored names, and the events of a watch that are made from its rows.

use crate::proto::watch_thread_response::Event;
use crate::proto::{
    AttemptLogged, ErrorReason, EventsAppended, HeadSet, MemoriesChanged, MemoriesExtracted,
    MessageDeleted, MessageUpdated, MessagesAppended, NodeMemoryChanged, ObservationMade,
    ObservationsActivated, OtherChange, PlanChanged, ReflectionMade, SummaryMade, ThreadCleared,
    ThreadCreated, ThreadDeleted, ThreadReindexed, ThreadUpdated, TransactionAction as Action,
    TransactionResult, WorkingMemoryChanged,
};
use crate::{Invalid, limits};

const ACTION_PREFIX: &str = "TRANSACTION_ACTION_";
const REASON_PREFIX: &str = "ERROR_REASON_";
/// The stored result of a committed change.
const COMMITTED: &str = "ok";
/// The name in [`change_of`] of the first event of a watch.
const WATCH: &str = "watch";

/// The gRPC status codes by name, in the order of their numbers.
const CODES: [&str; 17] = [
    "ok",
    "cancelled",
    "unknown",
    "invalid_argument",
    "deadline_exceeded",
    "not_found",
    "already_exists",
    "permission_denied",
    "resource_exhausted",
    "failed_precondition",
    "aborted",
    "out_of_range",
    "unimplemented",
    "internal",
    "unavailable",
    "data_loss",
    "unauthenticated",
];
/// The gRPC code UNKNOWN.
const UNKNOWN: i32 = 2;

/// What came of a call, as a stored result tells it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Whether the change was made.
    pub result: TransactionResult,
    /// Why the call failed; unspecified if it did not, or if only the code is known.
    pub reason: ErrorReason,
    /// The gRPC status code of a failure without a reason; otherwise 0.
    pub code: i32,
}

/// A change of a thread in the words of the audit log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReportedChange {
    /// The action, such as `append_messages`; `watch` for the start of a watch.
    pub action: String,
    /// The changed object besides the thread; may be empty.
    pub subject: String,
    /// The number of changed items.
    pub count: i64,
}

/// The action of a stored name, such as `append_messages`. Unspecified: a name that this
/// release does not know.
pub fn action_from(name: &str) -> Action {
    let name = format!("{ACTION_PREFIX}{}", name.to_ascii_uppercase());
    Action::from_str_name(&name).unwrap_or_default()
}

/// The stored name of an action.
pub fn action_name(action: Action) -> String {
    let name = action.as_str_name();
    name.trim_start_matches(ACTION_PREFIX).to_ascii_lowercase()
}

/// Reads kinds of changes by their stored names.
pub fn actions_from(field: &str, actions: &[i32]) -> Result<Vec<String>, Invalid> {
    if actions.len() > limits::FILTER_ACTIONS {
        let problem = format!("must have at most {} entries", limits::FILTER_ACTIONS);
        return Err(Invalid::new(field, problem));
    }
    let read = |(index, action): (usize, &i32)| match Action::try_from(*action) {
        Ok(Action::Unspecified) | Err(_) => Err(Invalid::new(
            format!("{field}[{index}]"),
            "must be a TransactionAction",
        )),
        Ok(action) => Ok(action_name(action)),
    };
    actions.iter().enumerate().map(read).collect()
}

/// Reads a stored result: `ok`, or in lower case the name of an error reason or of a gRPC
/// code.
pub fn outcome_from(stored: &str) -> Outcome {
    let reason = format!("{REASON_PREFIX}{}", stored.to_ascii_uppercase());
    let (result, reason, code) = match ErrorReason::from_str_name(&reason) {
        _ if stored == COMMITTED => (TransactionResult::Committed, ErrorReason::Unspecified, 0),
        Some(
            reason @ (ErrorReason::Internal
            | ErrorReason::DeadlineExceeded
            | ErrorReason::DatabaseUnavailable
            | ErrorReason::ObjectStoreUnavailable),
        ) => (TransactionResult::Unknown, reason, 0),
        Some(reason) => (TransactionResult::Refused, reason, 0),
        None => match (0..).zip(CODES).find(|(_, name)| *name == stored) {
            Some((code, _)) => (TransactionResult::Refused, ErrorReason::Unspecified, code),
            // A reason of a newer release.
            None => (
                TransactionResult::Unknown,
                ErrorReason::Unspecified,
                UNKNOWN,
            ),
        },
    };
    Outcome {
        result,
        reason,
        code,
    }
}

/// The event of a change of a thread, without content. An action that is unknown, or that
/// is not done to threads, is [`Event::Other`].
pub fn event_from(action: &str, subject: &str, count: i64) -> Event {
    let text = || subject.to_owned();
    let number = || subject.parse().unwrap_or_default();
    let listed = || subject.split(',').filter(|item| !item.is_empty());
    let known = action_from(action);
    match known {
        Action::CreateThread => Event::ThreadCreated(ThreadCreated {}),
        Action::UpdateThread => Event::ThreadUpdated(ThreadUpdated {}),
        Action::SetHead => Event::HeadSet(HeadSet {
            head_message_id: text(),
        }),
        Action::ClearThread => Event::ThreadCleared(ThreadCleared {
            deleted_message_count: count,
        }),
        Action::DeleteThread => Event::ThreadDeleted(ThreadDeleted {
            deleted_message_count: count,
        }),
        Action::AppendMessages => Event::MessagesAppended(MessagesAppended {
            first_seq: number(),
            message_count: count,
            ..Default::default()
        }),
        Action::UpdateMessage => Event::MessageUpdated(MessageUpdated {
            message_id: text(),
            message: None,
        }),
        Action::DeleteMessage => Event::MessageDeleted(MessageDeleted {
            message_id: text(),
            external_id_digest: Vec::new(),
        }),
        Action::Summarize => Event::SummaryMade(SummaryMade {
            number: number(),
            message_count: count,
            text: String::new(),
        }),
        Action::Observe => Event::ObservationMade(ObservationMade {
            number: number(),
            message_count: count,
            text: String::new(),
        }),
        Action::ActivateObservations => Event::ObservationsActivated(ObservationsActivated {
            numbers: listed().filter_map(|item| item.parse().ok()).collect(),
            observation_count: count,
        }),
        Action::Reflect => Event::ReflectionMade(ReflectionMade {
            number: number(),
            observation_count: count,
            text: String::new(),
        }),
        Action::ExtractMemories => Event::MemoriesExtracted(MemoriesExtracted {
            memory_ids: listed().map(str::to_owned).collect(),
            memory_count: count,
            memories: Vec::new(),
        }),
        Action::AddMemories | Action::DeleteMemories => Event::MemoriesChanged(MemoriesChanged {
            action: known.into(),
            memory_id: String::new(),
            memory_count: count,
        }),
        Action::UpdateMemory | Action::SupersedeMemory | Action::DeleteMemory => {
            Event::MemoriesChanged(MemoriesChanged {
                action: known.into(),
                memory_id: text(),
                memory_count: count,
            })
        }
        Action::PutPlan | Action::UpdatePlanStep | Action::DeletePlan => {
            Event::PlanChanged(PlanChanged {
                action: known.into(),
                step_id: text(),
                plan: None,
            })
        }
        Action::AppendAttempt => Event::AttemptLogged(AttemptLogged {
            number: number(),
            attempt: None,
        }),
        Action::AppendEvents => Event::EventsAppended(EventsAppended {
            first_number: number(),
            event_count: count,
            events: Vec::new(),
        }),
        Action::AddNodeTurn
        | Action::FlushNodeMemory
        | Action::DeleteNodeMemory
        | Action::ExpireNodeMemory => Event::NodeMemoryChanged(NodeMemoryChanged {
            action: known.into(),
            node_id: text(),
            item_count: count,
        }),
        Action::PutWorkingMemory
        | Action::UpdateWorkingMemoryData
        | Action::DeleteWorkingMemory
        | Action::ExpireWorkingMemory => Event::WorkingMemoryChanged(WorkingMemoryChanged {
            action: known.into(),
            message_count: count,
        }),
        Action::Reindex => Event::ThreadReindexed(ThreadReindexed {
            message_count: count,
        }),
        Action::Unspecified
        | Action::ResolveThread
        | Action::ImportMessages
        | Action::ImportRecords
        | Action::ImportMemories
        | Action::UpdateAppPolicy
        | Action::DeleteAppPolicy
        | Action::RegisterFile
        | Action::DeleteFile
        | Action::CreateApiKey
        | Action::RevokeApiKey
        | Action::SetSecret
        | Action::DeleteSecret
        | Action::DeleteUser
        | Action::DeleteApp
        | Action::DeleteTenant
        | Action::PutDocuments
        | Action::DeleteDocuments
        | Action::ExpireDocuments
        | Action::PutMemoryFile
        | Action::ReplaceInMemoryFile
        | Action::InsertIntoMemoryFile
        | Action::DeleteMemoryFile
        | Action::RenameMemoryFile
        | Action::RestoreMemoryFile
        | Action::PutCheckpoint
        | Action::PutCheckpointWrites
        | Action::CopyCheckpoints
        | Action::DeleteCheckpoints
        | Action::CreateSubscription
        | Action::UpdateSubscription
        | Action::RotateSubscriptionSecret
        | Action::DeleteSubscription
        | Action::AcknowledgeEvents => Event::Other(OtherChange {
            action: action.to_owned(),
            subject: text(),
            item_count: count,
        }),
    }
}

/// The change that an event reports, as [`event_from`] reads it.
pub fn change_of(event: &Event) -> ReportedChange {
    let of = |action: Action, subject: &str, count: i64| ReportedChange {
        action: action_name(action),
        subject: subject.to_owned(),
        count,
    };
    match event {
        Event::Started(_) => ReportedChange {
            action: WATCH.to_owned(),
            subject: String::new(),
            count: 0,
        },
        Event::ThreadCreated(_) => of(Action::CreateThread, "", 1),
        Event::ThreadUpdated(_) => of(Action::UpdateThread, "", 1),
        Event::HeadSet(set) => of(Action::SetHead, &set.head_message_id, 1),
        Event::ThreadCleared(cleared) => of(Action::ClearThread, "", cleared.deleted_message_count),
        Event::ThreadDeleted(deleted) => {
            of(Action::DeleteThread, "", deleted.deleted_message_count)
        }
        Event::MessagesAppended(appended) => of(
            Action::AppendMessages,
            &appended.first_seq.to_string(),
            appended.message_count,
        ),
        Event::MessageUpdated(updated) => of(Action::UpdateMessage, &updated.message_id, 1),
        Event::MessageDeleted(deleted) => of(Action::DeleteMessage, &deleted.message_id, 1),
        Event::SummaryMade(made) => of(
            Action::Summarize,
            &made.number.to_string(),
            made.message_count,
        ),
        Event::ObservationMade(made) => of(
            Action::Observe,
            &made.number.to_string(),
            made.message_count,
        ),
        Event::ObservationsActivated(activated) => {
            let numbers: Vec<String> = activated.numbers.iter().map(i64::to_string).collect();
            of(
                Action::ActivateObservations,
                &numbers.join(","),
                activated.observation_count,
            )
        }
        Event::ReflectionMade(made) => of(
            Action::Reflect,
            &made.number.to_string(),
            made.observation_count,
        ),
        Event::MemoriesExtracted(extracted) => of(
            Action::ExtractMemories,
            &extracted.memory_ids.join(","),
            extracted.memory_count,
        ),
        Event::MemoriesChanged(changed) => {
            of(changed.action(), &changed.memory_id, changed.memory_count)
        }
        Event::PlanChanged(changed) => of(changed.action(), &changed.step_id, 1),
        Event::AttemptLogged(logged) => of(Action::AppendAttempt, &logged.number.to_string(), 1),
        Event::EventsAppended(appended) => of(
            Action::AppendEvents,
            &appended.first_number.to_string(),
            appended.event_count,
        ),
        Event::NodeMemoryChanged(changed) => {
            of(changed.action(), &changed.node_id, changed.item_count)
        }
        Event::WorkingMemoryChanged(changed) => of(changed.action(), "", changed.message_count),
        Event::ThreadReindexed(reindexed) => of(Action::Reindex, "", reindexed.message_count),
        Event::Other(other) => ReportedChange {
            action: other.action.clone(),
            subject: other.subject.clone(),
            count: other.item_count,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn actions() -> impl Iterator<Item = Action> {
        (0..).map_while(|number| Action::try_from(number).ok())
    }

    #[test]
    fn each_action_has_a_stored_name_and_an_event_that_says_the_same() {
        assert!(actions().count() > 40);
        for action in actions() {
            let name = action_name(action);
            assert_eq!(action_from(&name), action);
            let subject = match action {
                Action::ActivateObservations | Action::ExtractMemories => "3,7",
                Action::SetHead
                | Action::AppendMessages
                | Action::UpdateMessage
                | Action::DeleteMessage
                | Action::Summarize
                | Action::Observe
                | Action::Reflect
                | Action::UpdateMemory
                | Action::UpdatePlanStep
                | Action::AppendAttempt
                | Action::AppendEvents
                | Action::AddNodeTurn => "7",
                _ => "",
            };
            let change = change_of(&event_from(&name, subject, 1));
            assert_eq!(
                (change.action, change.subject.as_str(), change.count),
                (name, subject, 1)
            );
        }
    }

    #[test]
    fn an_action_of_a_newer_release_is_reported_by_its_name() {
        assert_eq!(action_from("rename_thread"), Action::Unspecified);
        let Event::Other(other) = event_from("rename_thread", "x", 3) else {
            panic!("it has no event of its own");
        };
        assert_eq!(
            (
                other.action.as_str(),
                other.subject.as_str(),
                other.item_count
            ),
            ("rename_thread", "x", 3)
        );
    }

    #[test]
    fn a_stored_result_says_whether_a_change_was_made_and_why_not() {
        use TransactionResult::{Committed, Refused, Unknown};

        for (stored, result, reason, code) in [
            ("ok", Committed, ErrorReason::Unspecified, 0),
            ("head_moved", Refused, ErrorReason::HeadMoved, 0),
            (
                "permission_denied",
                Refused,
                ErrorReason::PermissionDenied,
                0,
            ),
            ("internal", Unknown, ErrorReason::Internal, 0),
            (
                "deadline_exceeded",
                Unknown,
                ErrorReason::DeadlineExceeded,
                0,
            ),
            ("unimplemented", Refused, ErrorReason::Unspecified, 12),
            ("of_a_newer_release", Unknown, ErrorReason::Unspecified, 2),
        ] {
            let expected = Outcome {
                result,
                reason,
                code,
            };
            assert_eq!(outcome_from(stored), expected, "{stored}");
        }
    }
}
