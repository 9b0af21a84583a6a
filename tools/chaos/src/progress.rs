//! Progress on standard error: one line that changes on a terminal, a line every few
//! seconds elsewhere.

use std::io::{IsTerminal as _, stderr};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use indicatif::ProgressBar;

/// Interval between lines where standard error is not a terminal.
const LINE_INTERVAL: Duration = Duration::from_secs(10);

/// Where a scenario says how far it is.
pub struct Progress {
    bar: ProgressBar,
    /// When the last line was written. None: no lines are written.
    line: Option<Mutex<Option<Instant>>>,
}

impl Progress {
    /// On standard error.
    pub fn shown() -> Self {
        if !stderr().is_terminal() {
            return Self {
                bar: ProgressBar::hidden(),
                line: Some(Mutex::default()),
            };
        }
        let bar = ProgressBar::new_spinner();
        bar.enable_steady_tick(Duration::from_millis(120));
        Self { bar, line: None }
    }

    /// Nowhere.
    pub fn hidden() -> Self {
        Self {
            bar: ProgressBar::hidden(),
            line: None,
        }
    }

    /// Says how far it is.
    pub(super) fn say(&self, text: impl Into<String>) {
        let text = text.into();
        if let Some(last) = &self.line {
            let mut last = last.lock().unwrap();
            if last.is_none_or(|at| at.elapsed() >= LINE_INTERVAL) {
                eprintln!("{text}");
                *last = Some(Instant::now());
            }
        }
        self.bar.set_message(text);
    }

    /// Removes the line from the terminal.
    pub fn end(&self) {
        self.bar.finish_and_clear();
    }
}
