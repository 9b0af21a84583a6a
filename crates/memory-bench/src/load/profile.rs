//! Where the time of calls goes: processor time by process, and the stages of a recall.

use std::{collections::BTreeMap, fmt::Display};

use crate::{blocks::Figures, processor::ProcessorFigures, stages::StageFigures, table::table};

/// A row of the tables of calls.
pub(super) struct CallRow<'a> {
    name: String,
    callers: String,
    pub(super) figures: &'a Figures,
}

impl<'a> CallRow<'a> {
    /// The figures of calls with this name, by so many callers or at such a rate.
    pub(super) fn new(
        name: impl Into<String>,
        callers: impl Display,
        figures: &'a Figures,
    ) -> Self {
        Self {
            name: name.into(),
            callers: callers.to_string(),
            figures,
        }
    }

    /// The row with these cells after name and callers.
    pub(super) fn cells(&self, cells: impl IntoIterator<Item = String>) -> Vec<String> {
        let first = [self.name.clone(), self.callers.clone()];
        first.into_iter().chain(cells).collect()
    }
}

/// Prints the processor time of each call, if any is known.
pub(super) fn print_processor_times(rows: &[CallRow<'_>]) {
    let known: Vec<&CallRow<'_>> = rows
        .iter()
        .filter(|row| row.figures.processor_ms.server.is_some())
        .collect();
    if known.is_empty() {
        return;
    }
    println!("\nprocessor milliseconds of a call: medians of the rounds");
    let headings = ["", "callers"].into_iter();
    let headings = headings.chain(ProcessorFigures::HEADINGS).chain(["all"]);
    let mut processor = table(&headings.collect::<Vec<_>>(), 1);
    for row in known {
        let medians = row.figures.processor_ms.each();
        let medians = medians.map(|spread| spread.map(|spread| spread.median));
        let all: f64 = medians.iter().flatten().sum();
        let cells = medians.into_iter().chain([Some(all)]);
        let cells = cells.map(|ms| ms.map_or("-".to_owned(), |ms| format!("{ms:.2}")));
        processor.add_row(row.cells(cells));
    }
    println!("{processor}");
}

/// Prints the stages of recall, by number of callers, if they are known.
pub(super) fn print_stages(stages: &BTreeMap<usize, Vec<StageFigures>>) {
    let Some(first) = stages.values().find(|stages| !stages.is_empty()) else {
        return;
    };
    println!("\nmean milliseconds of a recall in the server, by stage and statement of Postgres");
    let callers = stages.keys().map(|callers| match callers {
        1 => "1 caller".to_owned(),
        callers => format!("{callers} callers"),
    });
    let headings: Vec<String> = [String::new(), "times".to_owned()]
        .into_iter()
        .chain(callers)
        .collect();
    let headings: Vec<&str> = headings.iter().map(String::as_str).collect();
    let mut by_stage = table(&headings, 1);
    for StageFigures { stage, times, .. } in first {
        let means = stages.values().map(|stages| {
            let found = stages.iter().find(|one| one.stage == *stage);
            found.map_or("-".to_owned(), |found| found.mean_ms.to_string())
        });
        let row = [stage.clone(), times.to_string()];
        by_stage.add_row(row.into_iter().chain(means));
    }
    println!("{by_stage}");
}
