//! The table of promises, and which tests prove them.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Write as _;
use std::fs;
use std::sync::Mutex;

use libtest_mimic::{Failed, Trial};

use crate::project_dir;

/// A row of `docs/features.md`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Promise {
    /// The row's id, such as `D04`.
    pub id: String,
    /// The promise itself.
    pub text: String,
}

/// How a test ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It ran and passed.
    Passed,
    /// It could not run on this machine.
    Skipped,
    /// It ran and failed.
    Failed,
}

/// How each test ended, by its name.
pub type Endings = BTreeMap<String, Ending>;

static ENDINGS: Mutex<Endings> = Mutex::new(BTreeMap::new());

/// Remembers how a test ended.
pub(crate) fn note(name: &str, ending: Ending) {
    ENDINGS.lock().unwrap().insert(name.to_owned(), ending);
}

/// The rows of the table, in its order.
///
/// # Panics
/// If the table cannot be read.
pub fn promises() -> Vec<Promise> {
    let table = fs::read_to_string(project_dir().join("docs/features.md")).unwrap();
    table
        .lines()
        .filter_map(|line| {
            let (id, text) = line
                .strip_prefix("| ")?
                .strip_suffix(" |")?
                .split_once(" | ")?;
            is_id(id).then(|| Promise {
                id: id.to_owned(),
                text: text.to_owned(),
            })
        })
        .collect()
}

/// The row that a test proves: `d04_history_follows…` proves `D04`.
pub fn row_of(test: &str) -> Option<String> {
    let (row, _) = test.split_once('_')?;
    let row = row.to_uppercase();
    is_id(&row).then_some(row)
}

/// A test that each row has a test, and that each test of a row has its row.
pub(crate) fn completeness(names: HashSet<&'static str>) -> Trial {
    Trial::test("every_promise_has_a_test", move || {
        let promised: BTreeSet<String> = promises().into_iter().map(|row| row.id).collect();
        let tested: BTreeSet<String> = names.iter().filter_map(|name| row_of(name)).collect();
        if promised == tested {
            return Ok(());
        }
        let rows = |rows: Vec<&String>| {
            rows.into_iter()
                .map(String::as_str)
                .collect::<Vec<_>>()
                .join(", ")
        };
        Err(Failed::from(format!(
            "promised without a test: [{}]; tested and not in docs/features.md: [{}]",
            rows(promised.difference(&tested).collect()),
            rows(tested.difference(&promised).collect()),
        )))
    })
}

/// A letter and two digits.
fn is_id(text: &str) -> bool {
    matches!(text.as_bytes(), [letter, tens, units]
        if letter.is_ascii_uppercase() && tens.is_ascii_digit() && units.is_ascii_digit())
}

/// The table of this run, and the number of rows that are not proved.
pub(crate) fn report_of_run() -> (String, usize) {
    report(&promises(), &ENDINGS.lock().unwrap())
}

/// The table with how each row's tests ended, and the number of rows that are
/// not proved. A row is proved if it has tests and all of them passed.
pub fn report(promises: &[Promise], endings: &Endings) -> (String, usize) {
    let (mut text, mut unproved) = (String::new(), 0);
    for Promise { id, text: promise } in promises {
        let tests: Vec<_> = endings
            .iter()
            .filter(|(name, _)| row_of(name).as_ref() == Some(id))
            .collect();
        let has = |ending| tests.iter().any(|(_, one)| **one == ending);
        let outcome = match (has(Ending::Failed), has(Ending::Passed)) {
            (true, _) => "FAIL",
            (false, true) if has(Ending::Skipped) => "partial",
            (false, true) => "pass",
            (false, false) if tests.is_empty() => "no test",
            (false, false) => "skipped",
        };
        unproved += usize::from(outcome != "pass");
        let _ = writeln!(text, "{id}  {outcome:<7}  {promise}");
        for (name, ending) in tests {
            let mark = match ending {
                Ending::Passed => "pass",
                Ending::Skipped => "skip",
                Ending::Failed => "FAIL",
            };
            let _ = writeln!(text, "              {mark}  {name}");
        }
    }
    let _ = writeln!(
        text,
        "\n{} of {} promises are proved.",
        promises.len() - unproved,
        promises.len()
    );
    (text, unproved)
}
