//! The report of `--features-table`: which rows count as proved.

use recollect_tests::{Ending, Endings, Promise, apply, report, trial};

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
