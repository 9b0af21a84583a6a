//! Messages come back as they were appended, in order, and are listed with filters.

mod append;
mod listing;
mod parts;
