//! The fenced blocks of a page, and what a test does with each.

use std::fs;
use std::path::{Path, PathBuf};

use recollect_tests::project_dir;

/// A fenced block.
#[derive(Clone, Debug)]
pub struct Block {
    /// The line of its fence, from 1.
    pub line: usize,
    /// The word after the fence.
    pub language: String,
    /// Its lines.
    pub code: String,
    /// What a test does with it.
    pub treatment: Treatment,
}

/// What a test does with a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// Runs it. `<!-- first: CODE -->` before the fence is run before it.
    Run {
        /// Code that readers do not see.
        first: String,
        /// What the following block of the language `text` says that it prints. `…` stands for
        /// anything, alone in a line for any number of lines.
        prints: Option<String>,
        /// `<!-- refused: WORD -->`: it fails, and prints this word.
        refused: Option<String>,
    },
    /// The output of the block before it, with which it is compared.
    Output,
    /// Reads it as JSON.
    Json,
    /// Reads it as a configuration file.
    Configuration,
    /// A part of this file, which other tests run.
    PartOf(PathBuf),
    /// `<!-- shown: REASON -->`: shows it to readers alone.
    Shown(String),
    /// There is no way to test it.
    Unknown,
}

/// Files with the programs that other tests run.
pub struct Programs(Vec<(PathBuf, String)>);

impl Programs {
    /// Those of the examples, the clients and their tests.
    pub fn read() -> Self {
        let mut programs = Vec::new();
        for directory in ["examples", "clients", "tests/clients"] {
            for path in files(&project_dir().join(directory)) {
                let extension = path.extension().unwrap_or_default();
                if ["py", "ts", "go", "java", "sh", "xml"].contains(&&*extension.to_string_lossy())
                {
                    let text = fs::read_to_string(&path).unwrap();
                    programs.push((path, trimmed(&text)));
                }
            }
        }
        Self(programs)
    }

    /// The first file that contains all lines of a block, whatever their indentation.
    fn containing(&self, code: &str) -> Option<PathBuf> {
        let code = trimmed(code);
        let found = self.0.iter().find(|(_, text)| text.contains(&code));
        found.map(|(path, _)| path.clone())
    }
}

/// The pages with blocks: those for users and operators, and the READMEs of the clients.
pub fn pages() -> Vec<PathBuf> {
    let root = project_dir();
    let mut pages: Vec<PathBuf> = fs::read_dir(root)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_file())
        .collect();
    for directory in ["docs", "deploy", "clients"] {
        pages.extend(files(&root.join(directory)));
    }
    pages.retain(|path| path.extension().is_some_and(|extension| extension == "md"));
    pages.sort();
    pages
}

/// The blocks of a page, in order.
pub fn blocks_of(page: &str, programs: &Programs) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    // The comment that ends right before the fence.
    let mut comment = String::new();
    let mut lines = page.lines().enumerate();
    while let Some((number, line)) = lines.next() {
        let Some(language) = line.trim_start().strip_prefix("```") else {
            if line.trim_start().starts_with("<!--") {
                comment = line.to_owned();
                while !comment.trim_end().ends_with("-->")
                    && let Some((_, more)) = lines.next()
                {
                    comment = format!("{comment}\n{more}");
                }
            } else if !line.trim().is_empty() {
                comment.clear();
            }
            continue;
        };
        let indent = line.len() - line.trim_start().len();
        let code: Vec<&str> = lines
            .by_ref()
            .map(|(_, line)| line)
            .take_while(|line| !line.trim_start().starts_with("```"))
            .map(|line| line.get(indent..).unwrap_or_default())
            .collect();
        let code = code.join("\n");
        let mut treatment = treatment(language, &code, &comment, programs);
        if treatment == Treatment::Output {
            match blocks.last_mut().map(|block| &mut block.treatment) {
                Some(Treatment::Run { prints, .. }) => *prints = Some(code.clone()),
                Some(before @ Treatment::PartOf(_)) => {
                    *before = Treatment::Run {
                        first: String::new(),
                        prints: Some(code.clone()),
                        refused: None,
                    };
                }
                _ => treatment = Treatment::Unknown,
            }
        }
        blocks.push(Block {
            line: number + 1,
            language: language.to_owned(),
            code,
            treatment,
        });
        comment.clear();
    }
    blocks
}

fn treatment(language: &str, code: &str, comment: &str, programs: &Programs) -> Treatment {
    let marked = |word: &str| {
        let comment = comment.trim().strip_prefix("<!--")?.strip_suffix("-->")?;
        let value = comment.trim_start().strip_prefix(word)?.strip_prefix(':')?;
        Some(value.trim().to_owned())
    };
    let runs = ["sh", "python"].contains(&language);
    if let Some(reason) = marked("shown") {
        return Treatment::Shown(reason);
    }
    if language != "sh"
        && (language != "python" || comment.is_empty())
        && let Some(path) = programs.containing(code)
    {
        return Treatment::PartOf(path);
    }
    match language {
        "sh" | "json" if code.contains('…') => {
            Treatment::Shown("parts are left out: …".to_owned())
        }
        "text" => Treatment::Output,
        "json" => Treatment::Json,
        "toml" => Treatment::Configuration,
        _ if runs => Treatment::Run {
            first: marked("first").unwrap_or_default(),
            prints: None,
            refused: marked("refused"),
        },
        _ => Treatment::Unknown,
    }
}

/// The files of a directory and those below it, without what package managers put there.
fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if path.is_file() {
            found.push(path);
        } else if path.is_dir() && name != "node_modules" && !name.starts_with('.') {
            found.extend(files(&path));
        }
    }
    found
}

fn trimmed(code: &str) -> String {
    let lines: Vec<&str> = code.lines().map(str::trim).collect();
    lines.join("\n").trim().to_owned()
}
