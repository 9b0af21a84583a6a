//! The pages of the documentation: their links, their index, and the lists in them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::{root, rust_files};

/// A page is read by whoever has two minutes.
const MAX_WORDS_OF_THE_README: usize = 600;

#[test]
fn the_readme_is_short() {
    let words = read("README.md").split_whitespace().count();
    assert!(words <= MAX_WORDS_OF_THE_README, "{words} words");
}

#[test]
fn each_page_is_in_the_index_and_in_llms_txt() {
    let linked = |page: &str| -> BTreeSet<PathBuf> {
        let path = root().join(page);
        let links = links(&fs::read_to_string(&path).unwrap());
        let files = links.into_iter().map(|(file, _)| path.with_file_name(file));
        files.filter_map(|file| file.canonicalize().ok()).collect()
    };
    let (index, machines) = (linked("docs/README.md"), linked("llms.txt"));
    let mut pages = markdown(&root().join("docs"));
    pages.retain(|page| !page.ends_with("docs/README.md"));
    assert!(pages.len() > 30, "{pages:?}");
    for page in pages {
        let page = page.canonicalize().unwrap();
        assert!(index.contains(&page), "docs/README.md lacks {page:?}");
        assert!(machines.contains(&page), "llms.txt lacks {page:?}");
    }
}

#[test]
fn the_links_of_pages_lead_somewhere() {
    let mut pages = all();
    pages.push(root().join("llms.txt"));
    let mut anchors = BTreeMap::new();
    let mut broken = Vec::new();
    for page in &pages {
        for (file, anchor) in links(&fs::read_to_string(page).unwrap()) {
            let target = match file.is_empty() {
                true => page.clone(),
                false => page.with_file_name(&file),
            };
            let known = match anchor.is_empty() || !is_markdown(&target) {
                true => target.exists(),
                false => anchors
                    .entry(target.clone())
                    .or_insert_with(|| anchors_of(&target))
                    .contains(&anchor),
            };
            if !known {
                broken.push(format!("{}: {file}#{anchor}", page.display()));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

#[test]
fn the_metrics_page_has_every_metric() {
    let page = read("docs/monitoring.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
    let listed: BTreeSet<String> = rows
        .filter_map(|row| row.split_once('`'))
        .map(|(name, _)| name.to_owned())
        .filter(|name| !name.starts_with("Recollect"))
        .collect();
    let described = described_metrics();
    let difference: Vec<&String> = listed.symmetric_difference(&described).collect();
    assert!(
        difference.is_empty(),
        "either on docs/monitoring.md or described by code: {difference:?}"
    );
}

#[test]
fn the_alerts_page_has_every_alert() {
    let page = read("docs/monitoring.md");
    let alerts = read("deploy/monitoring/alerts.yaml");
    let names: Vec<&str> = alerts
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- alert: "))
        .collect();
    assert!(names.len() > 5, "{names:?}");
    for name in names {
        assert!(page.contains(&format!("| `{name}` |")), "{name}");
    }
}

/// The pages of the repository, but for those of crates.
pub fn all() -> Vec<PathBuf> {
    let mut pages: Vec<PathBuf> = fs::read_dir(root())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| is_markdown(path))
        .collect();
    for directory in ["docs", "deploy", "clients", "tests"] {
        pages.extend(markdown(&root().join(directory)));
    }
    pages
}

/// The names of the metrics that code describes, by a text or by a constant of the same file.
pub fn described_metrics() -> BTreeSet<String> {
    let mut described = BTreeSet::new();
    for file in rust_files(&root().join("crates")) {
        let code = fs::read_to_string(file).unwrap();
        for kind in ["counter", "gauge", "histogram"] {
            for call in code.split(&format!("describe_{kind}!(")).skip(1) {
                let name = call
                    .trim_start()
                    .split([',', '\n'])
                    .next()
                    .unwrap_or_default();
                let constant = format!("const {name}: &str = ");
                let text = match name.starts_with('"') {
                    true => Some(name),
                    false => code.split(&constant).nth(1),
                };
                let name = text.and_then(|text| text.strip_prefix('"')?.split('"').next());
                described.extend(name.map(str::to_owned));
            }
        }
    }
    described
}

/// The relative links of a page: file and anchor, either of which may be empty.
fn links(page: &str) -> Vec<(String, String)> {
    let text = without_code(page);
    let targets = text
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split_once(')'));
    targets
        .map(|(target, _)| target)
        .filter(|target| !target.contains("://") && !target.starts_with("mailto:"))
        .map(|target| target.split_once('#').unwrap_or((target, "")))
        .map(|(file, anchor)| (file.to_owned(), anchor.to_owned()))
        .collect()
}

/// The anchors of a page's headings, as GitHub makes them.
fn anchors_of(page: &Path) -> BTreeSet<String> {
    let text = fs::read_to_string(page).unwrap_or_default();
    let mut anchors = BTreeSet::new();
    for line in without_code(&text)
        .lines()
        .filter(|line| line.starts_with('#'))
    {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let anchor: String = title
            .chars()
            .filter(|c| c.is_alphanumeric() || [' ', '-', '_'].contains(c))
            .map(|c| if c == ' ' { '-' } else { c })
            .collect();
        let numbered = (1..).map(|number| format!("{anchor}-{number}"));
        let mut names = std::iter::once(anchor.clone()).chain(numbered);
        anchors.extend(names.find(|name| !anchors.contains(name)));
    }
    anchors
}

fn without_code(page: &str) -> String {
    let mut in_code = false;
    let lines = page.lines().filter(|line| {
        let fence = line.trim_start().starts_with("```");
        in_code ^= fence;
        !in_code && !fence
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn read(page: &str) -> String {
    fs::read_to_string(root().join(page)).unwrap()
}

fn is_markdown(path: &Path) -> bool {
    path.is_file() && path.extension().is_some_and(|extension| extension == "md")
}

/// The pages in a directory and those below it, without what package managers put there.
fn markdown(directory: &Path) -> Vec<PathBuf> {
    let mut pages = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if is_markdown(&path) {
            pages.push(path);
        } else if path.is_dir() && name != "node_modules" && !name.starts_with('.') {
            pages.extend(markdown(&path));
        }
    }
    pages
}
