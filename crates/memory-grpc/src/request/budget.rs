//! Reads budgets of tokens and messages.

use memory_budget::{Budget, OversizedTurn, Tokenizer};
use memory_contract::proto::OversizedTurnPolicy;
use memory_contract::{Invalid, check, limits};

use super::Fields;

/// Reads the budget of a history.
pub fn budget_from(
    fields: &mut Fields,
    max_tokens: Option<i32>,
    max_messages: Option<i32>,
    oversized_turn: i32,
    model: String,
) -> Budget {
    let max_tokens = fields.take(check::range_or(
        "max_tokens",
        max_tokens,
        limits::HISTORY_TOKENS,
        1,
        limits::BUDGET_TOKENS,
    ));
    let max_messages = fields.take(check::range_or(
        "max_messages",
        max_messages,
        limits::HISTORY_MESSAGES,
        1,
        limits::HISTORY_MESSAGES_MAX,
    ));
    let oversized_turn = fields.take(oversized_turn_from(oversized_turn));
    let tokenizer = fields.take(tokenizer_from(model));
    Budget {
        max_tokens,
        message_limit: usize::try_from(max_messages).unwrap_or_default(),
        oversized_turn,
        tokenizer,
    }
}

/// The tokenizer of the `model` that a request names.
pub fn tokenizer_from(model: String) -> Result<Tokenizer, Invalid> {
    let model = check::text("model", model, limits::MODEL_CHARS)?;
    Ok(Tokenizer::for_model(&model).0)
}

/// Reads `oversized_turn`.
pub fn oversized_turn_from(policy: i32) -> Result<OversizedTurn, Invalid> {
    match OversizedTurnPolicy::try_from(policy) {
        Ok(OversizedTurnPolicy::Unspecified | OversizedTurnPolicy::TruncateContent) => {
            Ok(OversizedTurn::TruncateContent)
        }
        Ok(OversizedTurnPolicy::Drop) => Ok(OversizedTurn::Drop),
        Ok(OversizedTurnPolicy::Fail) => Ok(OversizedTurn::Fail),
        Err(_) => Err(Invalid::new(
            "oversized_turn",
            "must be OVERSIZED_TURN_POLICY_TRUNCATE_CONTENT, _DROP or _FAIL",
        )),
    }
}
