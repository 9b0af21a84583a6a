//! How much the blocks of a context lack.

use memory_budget::Amount;

use super::block::BlockKind;

/// What one block lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockCut {
    /// The block, which may be missing from the context.
    pub kind: BlockKind,
    /// The messages, memories or derived texts that were left out.
    pub omitted: Amount,
}

/// The cuts of blocks, in the order given; a block that lacks nothing has none.
pub(super) fn cuts(omitted: impl IntoIterator<Item = (BlockKind, Amount)>) -> Vec<BlockCut> {
    let lacking = omitted
        .into_iter()
        .filter(|(_, omitted)| *omitted != Amount::default());
    lacking
        .map(|(kind, omitted)| BlockCut { kind, omitted })
        .collect()
}
