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

/// Promises that are not kept yet and have no test, and why.
const NOT_YET_PROVED: [(&str, &str); 0] = [];

/// A test that each row has a test, unless it is not proved yet, and that each test
/// of a row has its row.
pub(crate) fn completeness(names: HashSet<&'static str>) -> Trial {
    Trial::test("every_promise_has_a_test", move || {
        let promised = promises().into_iter().map(|row| row.id).collect();
        let tested = names.iter().filter_map(|name| row_of(name)).collect();
        let not_yet = NOT_YET_PROVED.map(|(id, _)| id);
        mismatches(&promised, &tested, &not_yet).map_err(Failed::from)
    })
}

/// Compares the rows of the table with the rows that tests name and with those that
/// are not proved yet.
///
/// # Errors
/// The rows that do not match.
pub fn mismatches(
    promised: &BTreeSet<String>,
    tested: &BTreeSet<String>,
    not_yet: &[&str],
) -> Result<(), String> {
    let not_yet: BTreeSet<String> = not_yet.iter().map(|&id| id.to_owned()).collect();
    let with_test = promised - &not_yet;
    let kinds = [
        ("promised without a test", &with_test - tested),
        ("tested and not in docs/features.md", tested - promised),
        ("in NOT_YET_PROVED and tested", &not_yet & tested),
        (
            "in NOT_YET_PROVED and not in docs/features.md",
            &not_yet - promised,
        ),
    ];
    let found: Vec<String> = kinds
        .into_iter()
        .filter(|(_, rows)| !rows.is_empty())
        .map(|(kind, rows)| {
            let rows: Vec<String> = rows.into_iter().collect();
            format!("{kind}: {}", rows.join(", "))
        })
        .collect();
    if found.is_empty() {
        Ok(())
    } else {
        Err(found.join("; "))
    }
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
        let not_yet = NOT_YET_PROVED.iter().find(|(listed, _)| listed == id);
        if let (Some((_, reason)), true) = (not_yet, tests.is_empty()) {
            let _ = writeln!(text, "              {reason}");
        }
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
