//! `recollect config`.

use std::path::PathBuf;

use memory_config::{Config, Sources};

use crate::cli::args::ConfigArgs;
use crate::cli::failure::Failure;
use crate::cli::output::{Table, print_json};

/// Prints the effective configuration.
///
/// # Errors
/// When it cannot be used.
pub fn run(file: Option<PathBuf>, args: ConfigArgs) -> Result<(), Failure> {
    let loaded = Config::load(&Sources {
        file,
        ..Default::default()
    })?;
    let values = loaded.effective();
    if args.json {
        return values.iter().try_for_each(print_json);
    }
    let mut table = Table::new(&["Key!", "Value", "Source!"]);
    for value in values {
        table.row([value.key, value.value, value.source.to_string()]);
    }
    table.print()
}
