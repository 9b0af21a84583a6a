//! The difference of two versions.

use std::time::Duration;

use memory_agent_contract::memory_file::FilePath;
use similar::TextDiff;

/// After this time a diff is no longer the shortest one.
const LONGEST: Duration = Duration::from_millis(500);

/// The unified diff of two versions, which are numbers and texts; empty for equal texts.
pub(super) fn unified_diff(path: &FilePath, from: &(i64, String), to: &(i64, String)) -> String {
    let name = |version: i64| match version {
        0 => "/dev/null".to_owned(),
        version => format!("{path}\tversion {version}"),
    };
    let mut config = TextDiff::configure();
    config.timeout(LONGEST);
    let diff = config.diff_lines(from.1.as_str(), to.1.as_str());
    let mut unified = diff.unified_diff();
    unified.header(&name(from.0), &name(to.0));
    unified.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_diff_is_unified() {
        let path = FilePath::parse("path", "/garden.md").unwrap();
        let diff = |from: (i64, &str), to: (i64, &str)| {
            let of = |(version, text): (i64, &str)| (version, text.to_owned());
            unified_diff(&path, &of(from), &of(to))
        };
        let text = "# Garden\n\n- Plant tulips.\n";
        assert_eq!(
            diff((1, text), (2, "# Garden\n\n- Plant roses.\n")),
            "--- /garden.md\tversion 1\n+++ /garden.md\tversion 2\n@@ -1,3 +1,3 @@\n # Garden\n \
             \n-- Plant tulips.\n+- Plant roses.\n"
        );
        let first = diff((0, ""), (1, "a\n"));
        assert!(
            first.starts_with("--- /dev/null\n+++ /garden.md\tversion 1\n"),
            "{first}"
        );
        assert_eq!(diff((1, text), (3, text)), "");
    }
}
