//! Ranks the candidates of both searches. Pure. The constants were tuned, and the weights of
//! the features fitted, on long real conversations (docs/notes/recall-quality.md).

mod evidence;
mod features;
mod fitting;
mod passages;
mod ranking;
mod relevance;
mod sums;
mod surroundings;
mod traits;
mod weights;

pub use features::{FEATURES, MATCHES};
pub use fitting::Corpus;
pub(crate) use passages::best_passages;
pub(crate) use ranking::{Ranked, add_text_matches, rank, rank_memories, rate};
pub(crate) use relevance::Relevance;
pub(crate) use traits::QueryTraits;
pub use weights::{Unit, Weights};
