#![doc = include_str!("../README.md")]

mod cover;
mod faults;
mod ledger;
mod row;
mod runs;
mod way;

pub use ledger::Ledger;
pub use row::{
    Branching, DistillKind, Entry, LedgerCount, LedgerFault, LedgerRange, LedgerRow, LedgerState,
    LedgerThread, Place,
};
