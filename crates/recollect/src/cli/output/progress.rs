//! Shows progress on standard error: a moving line on a terminal, plain lines
//! elsewhere.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::ProgressBar;

/// How far a piece of work is.
#[derive(Debug)]
pub struct Progress {
    bar: Option<ProgressBar>,
    quiet: bool,
}

impl Progress {
    /// Progress of work of unknown length. `quiet` shows nothing.
    pub fn spinner(quiet: bool) -> Self {
        let bar = (!quiet && std::io::stderr().is_terminal()).then(|| {
            let bar = ProgressBar::new_spinner();
            bar.enable_steady_tick(Duration::from_millis(100));
            bar
        });
        Self { bar, quiet }
    }

    /// Names the current step.
    pub fn step(&self, what: &str) {
        match &self.bar {
            Some(bar) => bar.set_message(what.to_owned()),
            None if self.quiet => {}
            None => eprintln!("{what}"),
        }
    }

    /// Names the current step, for steps too many for lines.
    pub fn detail(&self, what: &str) {
        if let Some(bar) = &self.bar {
            bar.set_message(what.to_owned());
        }
    }

    /// Takes the moving line away.
    pub fn finish(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.finish();
    }
}
