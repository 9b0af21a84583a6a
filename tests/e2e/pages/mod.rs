//! The pages of the documentation: their code runs, and they are found.

mod blocks;
mod running;
