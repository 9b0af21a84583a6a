//! Text tables: numbers aligned to the right, a line under the headings.

use comfy_table::{CellAlignment, LineStyle, Table, TableStyle};

const STYLE: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// A table whose columns from `numbers` on are set to the right.
pub fn table(headings: &[&str], numbers: usize) -> Table {
    let mut table = Table::new();
    table.load_style(STYLE).set_header(headings.iter().copied());
    for column in table.column_iter_mut().skip(numbers) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table
}
