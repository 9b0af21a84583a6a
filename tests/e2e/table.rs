//! The table of promises: which rows must have a test, and which count as proved.

use std::collections::BTreeSet;

use recollect_tests::{Ending, Endings, Promise, apply, mismatches, report, trial};

fn row(id: &str) -> Promise {
    Promise {
        id: id.to_owned(),
        text: format!("The promise {id}."),
    }
}

fn endings(all: &[(&str, Ending)]) -> Endings {
    let named = all
        .iter()
        .map(|(name, ending)| ((*name).to_owned(), *ending));
    named.collect()
}

#[apply(trial)]
async fn a_row_is_proved_only_if_all_its_tests_ran_and_passed() {
    use Ending::{Failed, Passed, Skipped};
    let rows = ["Z01", "Z02", "Z03", "Z04", "Z05"].map(row);
    let endings = endings(&[
        ("z01_one", Passed),
        ("z01_two", Passed),
        ("z02_one", Passed),
        ("z02_two", Skipped),
        ("z03_one", Skipped),
        ("z04_one", Passed),
        ("z04_three", Failed),
        ("z04_two", Skipped),
        ("a_test_of_no_row", Failed),
    ]);
    let expected = "\
Z01  pass     The promise Z01.
              pass  z01_one
              pass  z01_two
Z02  partial  The promise Z02.
              pass  z02_one
              skip  z02_two
Z03  skipped  The promise Z03.
              skip  z03_one
Z04  FAIL     The promise Z04.
              pass  z04_one
              FAIL  z04_three
              skip  z04_two
Z05  no test  The promise Z05.

1 of 5 promises are proved.
";
    assert_eq!(report(&rows, &endings), (expected.to_owned(), 4));
}

#[apply(trial)]
async fn only_rows_that_are_not_proved_yet_may_lack_a_test() {
    let set = |ids: &[&str]| -> BTreeSet<String> { ids.iter().map(|&id| id.to_owned()).collect() };
    let check = |promised: &[&str], tested: &[&str], not_yet: &[&str]| {
        mismatches(&set(promised), &set(tested), not_yet)
    };
    assert_eq!(check(&["Z01", "Z02"], &["Z01"], &["Z02"]), Ok(()));
    for (promised, tested, not_yet, message) in [
        (
            &["Z01", "Z02"][..],
            &["Z01"][..],
            &[][..],
            "promised without a test: Z02",
        ),
        (
            &["Z01"],
            &["Z01", "Z02"],
            &[],
            "tested and not in docs/features.md: Z02",
        ),
        (
            &["Z01", "Z02"],
            &["Z01", "Z02"],
            &["Z02"],
            "in NOT_YET_PROVED and tested: Z02",
        ),
        (
            &["Z01"],
            &["Z01"],
            &["Z02"],
            "in NOT_YET_PROVED and not in docs/features.md: Z02",
        ),
    ] {
        assert_eq!(check(promised, tested, not_yet), Err(message.to_owned()));
    }
}
