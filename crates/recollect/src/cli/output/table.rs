//! Tables that fit the terminal.

use std::io::{self, Write};

use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, LineStyle, TableStyle};

use crate::cli::failure::Failure;

/// Columns where the output is not a terminal.
const PLAIN_WIDTH: u16 = 120;

/// A line under the headings, and none elsewhere.
const STYLE: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// A table for people.
#[derive(Debug)]
pub struct Table(comfy_table::Table);

impl Table {
    /// A table with these column headings. A heading that ends in `>` is a
    /// column of numbers, set to the right; one that ends in `!` is a column
    /// whose texts are never broken.
    pub fn new(headings: &[&str]) -> Self {
        let mut table = comfy_table::Table::new();
        table
            .load_style(STYLE)
            .set_content_arrangement(ContentArrangement::Dynamic);
        if table.width().is_none() {
            table.set_width(PLAIN_WIDTH);
        }
        table.set_header(
            headings
                .iter()
                .map(|heading| heading.trim_end_matches(['>', '!'])),
        );
        for (index, heading) in headings.iter().enumerate() {
            let Some(column) = table.column_mut(index) else {
                continue;
            };
            if heading.ends_with('>') {
                column.set_cell_alignment(CellAlignment::Right);
            }
            if heading.ends_with(['>', '!']) {
                column.set_constraint(ColumnConstraint::ContentWidth);
            }
        }
        Self(table)
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.0.add_row(cells);
    }

    /// Whether it has no rows.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Prints it.
    ///
    /// # Errors
    /// When the output cannot be written.
    pub fn print(&self) -> Result<(), Failure> {
        writeln!(io::stdout().lock(), "{}", self.0).map_err(Failure::output)
    }
}
