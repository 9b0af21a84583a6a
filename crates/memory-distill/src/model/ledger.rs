//! What a tenant may spend. Each request to a provider reserves what it may cost at
//! most and settles what it did cost, so that requests at the same time cannot
//! spend more together, and one that is made again is paid for again.

use async_trait::async_trait;
use memory_contract::TenantId;
use uuid::Uuid;

use super::{Answer, Usage};
use crate::ModelError;

/// Keeps what each tenant has spent.
#[async_trait]
pub trait Ledger: Send + Sync {
    /// Sets tokens aside for one request to a model, as many as it may cost.
    ///
    /// # Errors
    /// [`LedgerError::Spent`] where less is left, [`LedgerError::Unavailable`]
    /// where that cannot be known.
    async fn reserve(
        &self,
        tenant: &TenantId,
        model: &str,
        most: Usage,
    ) -> Result<Reservation, LedgerError>;

    /// Replaces what was set aside by what was spent. A reservation that is never
    /// settled, because its request was broken off or its process died, is spent:
    /// the ledger books it after some time. A failure to settle is the ledger's to
    /// log.
    async fn settle(&self, tenant: &TenantId, reservation: Reservation, spent: Spent);
}

/// What a request came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spent {
    /// What it cost.
    pub usage: Usage,
    /// Whether it gave nothing to use: an error, or an answer that is empty, cut
    /// or a refusal.
    pub failed: bool,
}

/// Tokens that are set aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// The ledger's own name for it.
    pub id: Uuid,
    /// How many.
    pub most: Usage,
}

/// Why no tokens were set aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LedgerError {
    /// Less is left.
    #[error("the tenant's budget of tokens is spent")]
    Spent,
    /// The ledger cannot be read.
    #[error("the ledger of tokens cannot be read")]
    Unavailable,
}

impl From<LedgerError> for ModelError {
    fn from(error: LedgerError) -> Self {
        match error {
            LedgerError::Spent => Self::BudgetSpent,
            LedgerError::Unavailable => Self::LedgerUnavailable,
        }
    }
}

/// A ledger of tenants who may spend without end.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unlimited;

#[async_trait]
impl Ledger for Unlimited {
    async fn reserve(
        &self,
        _: &TenantId,
        _: &str,
        most: Usage,
    ) -> Result<Reservation, LedgerError> {
        let id = Uuid::nil();
        Ok(Reservation { id, most })
    }

    async fn settle(&self, _: &TenantId, _: Reservation, _: Spent) {}
}

/// Who pays for a request.
#[derive(Clone, Copy)]
pub struct Account<'a> {
    /// Where it is written down.
    pub ledger: &'a dyn Ledger,
    /// Who.
    pub tenant: &'a TenantId,
}

impl Account<'_> {
    /// Sets aside what a request may cost.
    pub(super) async fn reserve(
        &self,
        model: &str,
        most: Usage,
    ) -> Result<Reservation, ModelError> {
        let reserved = self.ledger.reserve(self.tenant, model, most).await;
        reserved.map_err(Into::into)
    }

    /// Books what a request cost: what the provider tells, or else `counted` tokens
    /// of an answer. Where nobody knows what was read and written before it failed,
    /// it counts as the most that it may have cost.
    pub(super) async fn settle(
        &self,
        reservation: Reservation,
        answer: &Result<Answer, ModelError>,
        counted: impl FnOnce(&Answer) -> u64,
    ) {
        let most = reservation.most;
        let spent = match answer {
            Ok(answer) => Spent {
                usage: answer.usage.unwrap_or_else(|| Usage {
                    output_tokens: counted(answer),
                    ..most
                }),
                failed: answer.text().is_err(),
            },
            Err(error) => Spent {
                usage: if error.may_have_cost() {
                    most
                } else {
                    Usage::default()
                },
                failed: true,
            },
        };
        self.ledger.settle(self.tenant, reservation, spent).await;
    }
}
