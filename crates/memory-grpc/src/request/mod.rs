//! Reads the fields that several requests share. Handlers import from here and not from
//! each other.

mod budget;
mod contents;
mod conversation;
mod formats;
mod ids;
mod lifetimes;
mod owner;
mod paging;
mod policy;
mod search;
mod target;
mod waiting;

pub use budget::{budget_from, oversized_turn_from, tokenizer_from};
pub use contents::written;
pub use conversation::{
    NamedConversation, SessionAt, conversation_at, conversation_from, required_conversation_at,
    required_conversation_from, resolve_session, resource_from, session_names_from,
    streamed_conversation_from,
};
pub use formats::formats_from;
pub use ids::{expected_head_from, request_id_from};
pub use lifetimes::{check_app_policy, check_thread_change, may_erase};
pub use memory_contract::Fields;
pub use owner::{app_from, required_user_from};
pub use paging::{descends, micros_of, next_token, page_limit, place_from, place_of, time_of};
pub use policy::{policy_at, policy_change_at};
pub use search::{clock_from, freshness_from, method_from, search_top_k_from};
pub use target::{Target, owner_from, required_owner_from, required_target_from, target_from};
pub use waiting::{shortened_wait, wait_deadline};
