//! Output for people (tables, progress) and for programs (JSON).

mod json;
mod progress;
mod table;
mod text;

pub use json::{JsonLines, on_one_line, print_json, print_message, service_names};
pub use progress::Progress;
pub use table::Table;
pub use text::{author, clock, count, duration, exact, lines, one_line, role, second, text_of};
