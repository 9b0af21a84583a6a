//! Messages come back as they were appended, in order, are listed with filters, and are
//! found by their callers' own ids.

mod append;
mod external_ids;
mod listing;
mod metadata;
mod parts;
mod updating;
