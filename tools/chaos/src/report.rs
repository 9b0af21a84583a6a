//! What a scenario measured, and whether it stayed within its limits.

use std::time::Duration;

use comfy_table::{CellAlignment, LineStyle, Table, TableStyle};
use serde_json::{Value, json};

const STYLE: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// The result of one scenario.
pub struct Report {
    scenario: &'static str,
    seed: u64,
    rows: Vec<Row>,
    problems: Vec<String>,
}

struct Row {
    name: String,
    value: Value,
    limit: Option<(String, bool)>,
}

impl Report {
    pub(super) fn new(scenario: &'static str, seed: u64) -> Self {
        Self {
            scenario,
            seed,
            rows: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// Adds a figure without a limit.
    pub(super) fn figure(&mut self, name: impl Into<String>, value: impl Into<Value>) {
        self.rows.push(Row {
            name: name.into(),
            value: value.into(),
            limit: None,
        });
    }

    /// Adds a figure with a limit, and whether the figure is within it.
    pub(super) fn limited(
        &mut self,
        name: impl Into<String>,
        value: impl Into<Value>,
        limit: impl Into<String>,
        met: bool,
    ) {
        let (name, value, limit) = (name.into(), value.into(), limit.into());
        if !met {
            let problem = format!("{name}: {value}, expected {limit}");
            self.problems.push(problem);
        }
        self.rows.push(Row {
            name,
            value,
            limit: Some((limit, met)),
        });
    }

    /// Adds a count that has to be zero.
    pub(super) fn zero(&mut self, name: impl Into<String>, count: usize) {
        self.limited(name, count, "0", count == 0);
    }

    /// Adds the median and the maximum of durations, in seconds.
    pub(super) fn seconds(&mut self, name: &str, all: &[Duration], limit: Option<Duration>) {
        let mut all = all.to_vec();
        all.sort();
        let Some(longest) = all.last() else {
            return;
        };
        self.figure(format!("{name}: median"), rounded(all[all.len() / 2]));
        let name = format!("{name}: longest");
        match limit {
            None => self.figure(name, rounded(*longest)),
            Some(limit) => self.limited(
                name,
                rounded(*longest),
                format!("≤ {}", limit.as_secs_f64()),
                *longest <= limit,
            ),
        }
    }

    /// Adds a problem that no figure shows.
    pub(super) fn problem(&mut self, text: impl Into<String>) {
        self.problems.push(text.into());
    }

    /// Whether a limit was exceeded or another problem occurred.
    pub fn failed(&self) -> bool {
        !self.problems.is_empty()
    }

    /// The report as JSON.
    pub fn json(&self) -> Value {
        let figures = self
            .rows
            .iter()
            .map(|row| (row.name.clone(), row.value.clone()));
        json!({
            "scenario": self.scenario,
            "seed": self.seed,
            "figures": figures.collect::<serde_json::Map<_, _>>(),
            "problems": self.problems,
        })
    }

    /// The report as a table, with the problems below it.
    pub fn text(&self) -> String {
        let mut table = Table::new();
        table
            .load_style(STYLE)
            .set_header([self.scenario, "", "limit", ""]);
        for row in &self.rows {
            let value = match &row.value {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            };
            let (limit, met) = match &row.limit {
                None => ("", ""),
                Some((limit, true)) => (limit.as_str(), "met"),
                Some((limit, false)) => (limit.as_str(), "MISSED"),
            };
            table.add_row([row.name.as_str(), &value, limit, met]);
        }
        if let Some(column) = table.column_mut(1) {
            column.set_cell_alignment(CellAlignment::Right);
        }
        let problems: String = self
            .problems
            .iter()
            .map(|problem| format!("PROBLEM: {problem}\n"))
            .collect();
        format!("{table}\n{problems}seed {}\n", self.seed)
    }

    /// Fails the test that ran the scenario.
    ///
    /// # Panics
    /// If [`Self::failed`].
    pub fn check(&self) {
        assert!(!self.failed(), "\n{}", self.text());
    }
}

/// Seconds with two decimals.
pub(super) fn rounded(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 100.0).round() / 100.0
}
