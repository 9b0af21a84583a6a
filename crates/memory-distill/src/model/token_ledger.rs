//! The token budget of a tenant. Each request to a provider, retries included, reserves
//! the most tokens that it can use and then settles the tokens that it did use, so that
//! concurrent requests cannot exceed the budget together.

use async_trait::async_trait;
use memory_contract::TenantId;
use secrecy::SecretString;
use uuid::Uuid;

use super::{Answer, KeysUnavailable, ModelInfo, ProviderKeys, Usage};
use crate::ModelError;

/// Records the tokens that each tenant uses, and enforces the budget.
#[async_trait]
pub trait TokenLedger: Send + Sync {
    /// Reserves the most tokens that one request to a model can use.
    ///
    /// # Errors
    /// [`TokenLedgerError::Spent`] if less is left, [`TokenLedgerError::Unavailable`] if the
    /// ledger cannot be read.
    async fn reserve(
        &self,
        tenant: &TenantId,
        model: &str,
        most: Usage,
    ) -> Result<Reservation, TokenLedgerError>;

    /// Replaces a reservation with the tokens used. A reservation that is never settled,
    /// because its request was cancelled or its process died, counts as used in full after
    /// some time. The ledger logs a failure to settle.
    async fn settle(&self, tenant: &TenantId, reservation: Reservation, spent: Spent);
}

/// The outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spent {
    /// The tokens used.
    pub usage: Usage,
    /// Whether it gave no usable answer: an error, or an empty, truncated or refused answer.
    pub failed: bool,
}

/// Reserved tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// The ledger's id of the reservation.
    pub id: Uuid,
    /// The reserved tokens.
    pub most: Usage,
}

/// A refused reservation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TokenLedgerError {
    /// Less than the reservation is left.
    #[error("the tenant's daily token budget is used up")]
    Spent,
    /// The ledger cannot be read.
    #[error("the token ledger cannot be read")]
    Unavailable,
}

impl From<KeysUnavailable> for ModelError {
    fn from(_: KeysUnavailable) -> Self {
        Self::KeysUnavailable
    }
}

impl From<TokenLedgerError> for ModelError {
    fn from(error: TokenLedgerError) -> Self {
        match error {
            TokenLedgerError::Spent => Self::BudgetSpent,
            TokenLedgerError::Unavailable => Self::LedgerUnavailable,
        }
    }
}

/// A ledger without limits.
#[derive(Clone, Copy, Debug, Default)]
pub struct UnlimitedTokens;

#[async_trait]
impl TokenLedger for UnlimitedTokens {
    async fn reserve(
        &self,
        _: &TenantId,
        _: &str,
        most: Usage,
    ) -> Result<Reservation, TokenLedgerError> {
        let id = Uuid::nil();
        Ok(Reservation { id, most })
    }

    async fn settle(&self, _: &TenantId, _: Reservation, _: Spent) {}
}

/// The tenant that a request is charged to.
#[derive(Clone, Copy)]
pub struct Account<'a> {
    /// Counts the tokens and holds the budget.
    pub ledger: &'a dyn TokenLedger,
    /// Has the tenant's own key of the provider, if there is one.
    pub keys: &'a dyn ProviderKeys,
    /// Pays for the request.
    pub tenant: &'a TenantId,
}

impl Account<'_> {
    /// The tenant's own key for a model.
    pub(super) async fn key(&self, model: &ModelInfo) -> Result<Option<SecretString>, ModelError> {
        match &model.tenant_key_secret {
            Some(secret) => Ok(self.keys.key(self.tenant, secret).await?),
            None => Ok(None),
        }
    }

    /// Reserves tokens for a request.
    pub(super) async fn reserve(
        &self,
        model: &str,
        most: Usage,
    ) -> Result<Reservation, ModelError> {
        let reserved = self.ledger.reserve(self.tenant, model, most).await;
        reserved.map_err(Into::into)
    }

    /// Settles a request with the provider's count, or else the `counted` tokens of its
    /// answer. A failed request that may have used tokens is charged in full.
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
