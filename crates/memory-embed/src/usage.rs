//! What an endpoint has charged, by tenant.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use memory_contract::TenantId;

use crate::vectors::TenantText;

/// What the endpoint of an embedding model has done for a tenant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EmbeddingUsage {
    /// Requests. One that has texts of several tenants counts for each of them.
    pub calls: u64,
    /// Requests that were not answered after all attempts.
    pub failed: u64,
    /// The tenant's share of the tokens that the endpoint has charged, by the lengths of the texts.
    pub tokens: u64,
}

/// The usage since it was last taken. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct UsageCounter {
    by_tenant: Arc<Mutex<HashMap<TenantId, EmbeddingUsage>>>,
}

impl UsageCounter {
    /// Counts a request; `None` for one that was not answered. Texts of no tenant are left out.
    pub(crate) fn count(&self, texts: &[TenantText], tokens: Option<u64>) {
        let mut bytes: HashMap<&TenantId, usize> = HashMap::new();
        for one in texts {
            if let Some(tenant) = &one.tenant {
                *bytes.entry(tenant).or_default() += one.text.len();
            }
        }
        let all: usize = texts.iter().map(|one| one.text.len()).sum();
        for (tenant, bytes) in bytes {
            let usage = EmbeddingUsage {
                calls: 1,
                failed: u64::from(tokens.is_none()),
                tokens: share(tokens.unwrap_or_default(), bytes, all),
            };
            self.add(tenant.clone(), usage);
        }
    }

    pub(crate) fn add(&self, tenant: TenantId, usage: EmbeddingUsage) {
        let mut by_tenant = self.lock();
        let sum = by_tenant.entry(tenant).or_default();
        sum.calls = sum.calls.saturating_add(usage.calls);
        sum.failed = sum.failed.saturating_add(usage.failed);
        sum.tokens = sum.tokens.saturating_add(usage.tokens);
    }

    pub(crate) fn take(&self) -> HashMap<TenantId, EmbeddingUsage> {
        std::mem::take(&mut *self.lock())
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<TenantId, EmbeddingUsage>> {
        self.by_tenant
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// The share of some bytes in the tokens of all, rounded up.
fn share(tokens: u64, bytes: usize, all: usize) -> u64 {
    let share = u128::from(tokens) * bytes as u128;
    u64::try_from(share.div_ceil(all.max(1) as u128)).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tenants_share_a_request_by_the_lengths_of_their_texts() {
        let text = |tenant: Option<&str>, text: &str| TenantText {
            tenant: tenant.map(TenantId::new),
            text: text.to_owned(),
        };
        let usage = UsageCounter::default();
        let texts = [
            text(Some("a"), "aaaa"),
            text(Some("b"), "bb"),
            text(Some("a"), "aa"),
            text(None, "cc"),
        ];
        usage.count(&texts, Some(20));
        usage.count(&texts[..1], None);
        let mut taken: Vec<_> = usage.take().into_iter().collect();
        taken.sort_by(|(one, _), (other, _)| one.as_str().cmp(other.as_str()));
        let used = |calls, failed, tokens| EmbeddingUsage {
            calls,
            failed,
            tokens,
        };
        assert_eq!(
            taken,
            [
                (TenantId::new("a"), used(2, 1, 12)),
                (TenantId::new("b"), used(1, 0, 4))
            ]
        );
        assert!(usage.take().is_empty());
    }
}
