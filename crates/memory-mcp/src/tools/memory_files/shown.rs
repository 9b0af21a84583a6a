//! What a model reads of files and directories.

use memory_contract::proto::{MemoryDirectory, MemoryFileLines};

use super::path::ROOT;

/// Lines with their numbers, which are six characters wide.
pub(super) fn numbered(lines: &MemoryFileLines) -> String {
    // What follows the last line break is no line.
    let text = lines.text.strip_suffix('\n').unwrap_or(&lines.text);
    let numbers = lines.first_line.max(1)..;
    let lines: Vec<String> = text
        .split('\n')
        .zip(numbers)
        .map(|(line, number)| format!("{number:6}\t{line}"))
        .collect();
    lines.join("\n")
}

/// What is in a directory, without hidden items.
pub(super) fn listing(shown: &str, directory: &MemoryDirectory) -> String {
    let mut text = format!(
        "Here're the files and directories up to 2 levels deep in {shown}, excluding hidden items \
         and node_modules:\n{}\t{shown}",
        size(directory.size_bytes)
    );
    let is_hidden = |name: &str| name.starts_with('.') || name == "node_modules";
    let outer = match directory.path.as_str() {
        "/" => 0,
        path => path.len(),
    };
    for entry in &directory.entries {
        let below = entry.path.get(outer..).unwrap_or_default();
        if below.split('/').any(is_hidden) {
            continue;
        }
        let end = match entry.is_directory {
            true => "/",
            false => "",
        };
        text.push_str(&format!(
            "\n{}\t{ROOT}{}{end}",
            size(entry.size_bytes),
            entry.path
        ));
    }
    if directory.truncated {
        text.push_str("\nThere are more files; view one of the directories.");
    }
    text
}

/// A number of bytes as people read it, such as `5.5K`.
fn size(bytes: i64) -> String {
    let mut amount = bytes as f64;
    let mut unit = "B";
    for larger in ["K", "M", "G"] {
        if amount < 1024.0 {
            break;
        }
        (amount, unit) = (amount / 1024.0, larger);
    }
    match amount.fract() == 0.0 {
        true => format!("{amount:.0}{unit}"),
        false => format!("{amount:.1}{unit}"),
    }
}

#[cfg(test)]
mod tests {
    use memory_contract::proto::MemoryDirectoryEntry;

    use super::*;

    #[test]
    fn lines_have_numbers_six_characters_wide() {
        let lines = |first_line, text: &str| {
            numbered(&MemoryFileLines {
                first_line,
                text: text.to_owned(),
            })
        };
        assert_eq!(
            lines(1, "Hello World\nThis\n"),
            "     1\tHello World\n     2\tThis"
        );
        assert_eq!(lines(100, "One hundred"), "   100\tOne hundred");
        assert_eq!(lines(1, "a\n\n"), "     1\ta\n     2\t");
        assert_eq!(lines(1, ""), "     1\t");
    }

    #[test]
    fn a_directory_lists_sizes_without_hidden_items() {
        let entry = |path: &str, is_directory, size_bytes| MemoryDirectoryEntry {
            path: path.to_owned(),
            is_directory,
            size_bytes,
            update_time: None,
        };
        let directory = MemoryDirectory {
            path: "/work".to_owned(),
            size_bytes: 1_536,
            file_count: 3,
            entries: vec![
                entry("/work/.git", true, 1),
                entry("/work/2026", true, 1_536),
                entry("/work/2026/plan.md", false, 1_536),
                entry("/work/node_modules", true, 1),
            ],
            truncated: false,
        };
        assert_eq!(
            listing("/memories/work", &directory),
            "Here're the files and directories up to 2 levels deep in /memories/work, excluding \
             hidden items and node_modules:\n1.5K\t/memories/work\n1.5K\t/memories/work/2026/\n\
             1.5K\t/memories/work/2026/plan.md"
        );
        assert_eq!(
            (size(0), size(1024), size(5_632)),
            ("0B".to_owned(), "1K".to_owned(), "5.5K".to_owned())
        );
    }
}
