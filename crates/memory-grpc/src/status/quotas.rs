//! The statuses of calls that exceed a quota.

use std::time::Duration;

use memory_contract::proto::ErrorReason;
use tonic::Code;

use super::Answer;
use crate::quota::Quota;

impl Answer {
    pub(super) fn quota_exceeded(quota: Quota, retry_after: Duration) -> Self {
        let message = format!("{} has {}; retry later", quota.subject, quota.limit);
        Self {
            retry_after: Some(retry_after),
            ..Self::exceeding(quota, message)
        }
    }

    /// `setting` is the key of the configuration that sets the quota.
    pub(super) fn storage_full(quota: Quota, setting: &str) -> Self {
        let message = format!(
            "{} may store {}; delete threads, messages or memories, shorten their lifetimes, \
             or raise {setting}",
            quota.subject, quota.limit
        );
        Self::exceeding(quota, message).with("setting", setting)
    }

    fn exceeding(quota: Quota, message: String) -> Self {
        Self {
            quota: Some(quota),
            ..Self::new(Code::ResourceExhausted, ErrorReason::QuotaExceeded, message)
        }
    }
}
