//! The modules of a crate and their uses of each other, read from the text of their files.
//! Tests, in files or modules of their own, are left out.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// The path of a module within its crate; empty: the root.
pub type Module = Vec<String>;

/// Re-exports that are followed to find the module that defines a name.
const MAX_EXPORTS: usize = 8;
/// The keywords that a defined name follows.
const DEFINITIONS: [&str; 9] = [
    "fn",
    "struct",
    "enum",
    "trait",
    "type",
    "const",
    "static",
    "union",
    "macro_rules",
];

/// The files of a crate by the modules that they are.
pub struct Source(BTreeMap<Module, File>);

#[derive(Default)]
struct File {
    imports: Vec<Import>,
    /// Paths outside of imports.
    paths: Vec<Vec<String>>,
    /// All names outside of imports.
    names: BTreeSet<String>,
    defined: BTreeSet<String>,
    children: BTreeSet<String>,
}

/// One name of a `use` declaration.
struct Import {
    path: Vec<String>,
    /// The name that it has here; `*` for all names.
    name: String,
    exported: bool,
}

impl Source {
    /// Reads a directory with a crate's root, without the programs in `bin`.
    pub fn read(directory: &Path) -> Self {
        let mut files = BTreeMap::new();
        add(directory, &mut Vec::new(), &mut files);
        Self(files)
    }

    /// The modules that each module uses. An export counts where its module uses the name
    /// too.
    pub fn dependencies(&self) -> BTreeMap<Module, BTreeSet<Module>> {
        let modules = self.0.iter();
        modules
            .map(|(module, file)| {
                let imported = file.imports.iter();
                let imported = imported
                    .filter(|one| !one.exported || file.names.contains(&one.name))
                    .map(|one| &one.path);
                let mut used: BTreeSet<Module> = imported
                    .chain(&file.paths)
                    .filter_map(|path| self.home(&self.absolute(module, path)?, 0))
                    .collect();
                used.remove(module);
                (module.clone(), used)
            })
            .collect()
    }

    /// A path of a module as one from the crate's root; `None` for another crate's.
    fn absolute(&self, module: &Module, path: &[String]) -> Option<Vec<String>> {
        let (first, rest) = path.split_first()?;
        let above = path.iter().take_while(|part| *part == "super").count();
        let (base, rest) = match first.as_str() {
            "crate" => (&[][..], rest),
            "self" => (module.as_slice(), rest),
            "super" => (
                module.get(..module.len().checked_sub(above)?)?,
                &path[above..],
            ),
            child if self.0[module].children.contains(child) => (module.as_slice(), path),
            _ => return None,
        };
        Some([base, rest].concat())
    }

    /// The module that defines what a path from the root names; `None` for another crate's.
    fn home(&self, path: &[String], exports: usize) -> Option<Module> {
        let is_module = |length: &usize| self.0.contains_key(&path[..*length]);
        let length = (1..=path.len()).take_while(is_module).last().unwrap_or(0);
        let (module, rest) = path.split_at(length);
        let module = module.to_vec();
        let file = self.0.get(&module)?;
        let Some((name, after)) = rest.split_first() else {
            return Some(module);
        };
        if name == "*" || file.defined.contains(name) || exports == MAX_EXPORTS {
            return Some(module);
        }
        if let Some(import) = file.imports.iter().find(|one| one.name == *name) {
            let path = self.absolute(&module, &import.path)?;
            return self.home(&[&path, after].concat(), exports + 1);
        }
        let all = file.imports.iter().filter(|one| one.name == "*");
        let all = all.filter_map(|one| self.absolute(&module, &one.path[..one.path.len() - 1]));
        let defines = |one: &Module| {
            self.0
                .get(one)
                .is_some_and(|one| one.defined.contains(name))
        };
        Some(all.into_iter().find(defines).unwrap_or(module))
    }
}

fn add(directory: &Path, module: &mut Module, files: &mut BTreeMap<Module, File>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        if name.ends_with("tests") || (module.is_empty() && name == "bin") {
            continue;
        }
        if path.is_dir() {
            module.push(name);
            add(&path, module, files);
            module.pop();
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let mut of_file = module.clone();
            match name.as_str() {
                "mod" | "lib" => {}
                // The program of a library.
                "main" if path.with_file_name("lib.rs").exists() => continue,
                "main" => {}
                _ => of_file.push(name),
            }
            files.insert(of_file, File::read(&fs::read_to_string(path).unwrap()));
        }
    }
}

impl File {
    fn read(text: &str) -> Self {
        let tokens = without_tests(tokens(text));
        let mut file = Self::default();
        let mut at = 0;
        while at < tokens.len() {
            let token = tokens[at].as_str();
            let before = at
                .checked_sub(1)
                .map_or("", |before| tokens[before].as_str());
            let next = tokens.get(at + 1).map_or("", String::as_str);
            match token {
                // Not `impl Trait + use<'a>`.
                "use" if next != "<" => {
                    let exported = before == "pub" || before == ")";
                    at = file.import(&tokens, at + 1, &[], exported);
                    continue;
                }
                "pub" if next == "(" => {
                    // What it is visible in is no use.
                    at += tokens[at..].iter().position(|one| one == ")").unwrap_or(0);
                    continue;
                }
                "mod" => {
                    file.children.insert(next.to_owned());
                }
                word if DEFINITIONS.contains(&word) => {
                    let name = match next {
                        "!" => tokens.get(at + 2).map_or("", String::as_str),
                        name => name,
                    };
                    file.defined.insert(name.to_owned());
                }
                _ => {}
            }
            if is_name(token) {
                file.names.insert(token.to_owned());
                let path = path_at(&tokens, at);
                if path.len() > 1 && before != "::" {
                    file.paths.push(path);
                }
            }
            at += 1;
        }
        file
    }

    /// Reads a tree of imports below `prefix`. Returns the place after it.
    fn import(&mut self, tokens: &[String], at: usize, prefix: &[String], exported: bool) -> usize {
        let mut path = prefix.to_vec();
        let mut name = None;
        let begin = at;
        let mut at = at;
        loop {
            match tokens.get(at).map(String::as_str) {
                Some("::") => at += 1,
                Some("{") => {
                    at += 1;
                    while tokens.get(at).is_some_and(|one| one != "}") {
                        let end = self.import(tokens, at, &path, exported);
                        let passed = end == at || tokens.get(end).is_some_and(|one| one == ",");
                        at = end + usize::from(passed);
                    }
                    return at + 1;
                }
                Some("as") => {
                    name = tokens.get(at + 1).cloned();
                    at += 2;
                }
                Some(part) if is_name(part) || part == "*" => {
                    path.push(part.to_owned());
                    at += 1;
                }
                _ => break,
            }
        }
        if path.last().is_some_and(|last| last == "self") {
            path.pop();
        }
        let name = name.or_else(|| path.last().cloned());
        if let Some(name) = name.filter(|_| at > begin) {
            self.imports.push(Import {
                path,
                name,
                exported,
            });
        }
        at
    }
}

/// The names from here on that `::` joins.
fn path_at(tokens: &[String], at: usize) -> Vec<String> {
    let names = tokens[at..].chunks(2);
    let mut path = Vec::new();
    for pair in names {
        if !is_name(&pair[0]) {
            break;
        }
        path.push(pair[0].clone());
        if pair.get(1).is_none_or(|next| next != "::") {
            break;
        }
    }
    path
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}

/// The tokens without the items that follow `#[cfg(test)]`.
fn without_tests(tokens: Vec<String>) -> Vec<String> {
    const CONDITION: [&str; 7] = ["#", "[", "cfg", "(", "test", ")", "]"];
    let mut kept = Vec::with_capacity(tokens.len());
    let mut at = 0;
    while at < tokens.len() {
        if !tokens[at..].iter().take(7).eq(CONDITION.iter()) {
            kept.push(tokens[at].clone());
            at += 1;
            continue;
        }
        // To the end of the item: a `;`, or the brace that closes its first one.
        let mut depth = 0_usize;
        at += CONDITION.len();
        while at < tokens.len() {
            let token = tokens[at].as_str();
            at += 1;
            match token {
                "{" => depth += 1,
                "}" if depth == 1 => break,
                "}" => depth -= 1,
                ";" if depth == 0 => break,
                _ => {}
            }
        }
    }
    kept
}

/// Names, `::` and single characters, without comments, texts and numbers.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some(length) = text_length(rest) {
            length
        } else if c.is_alphanumeric() || c == '_' {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
            let word = &rest[..end.unwrap_or(rest.len())];
            tokens.push(word.to_owned());
            word.len()
        } else if rest.starts_with("::") {
            tokens.push("::".to_owned());
            2
        } else {
            if !c.is_whitespace() {
                tokens.push(c.to_string());
            }
            c.len_utf8()
        };
        rest = &rest[length..];
    }
    tokens
}

/// The length of a text, a character or a lifetime at the beginning; `None` if the code begins
/// with something else.
fn text_length(code: &str) -> Option<usize> {
    if let Some(quoted) = code.strip_prefix('\'') {
        let mut chars = quoted.char_indices();
        let (_, first) = chars.next()?;
        let (second, next) = chars.next()?;
        return Some(match (first, next) {
            ('\\', _) => 2 + quoted[2..].find('\'')? + 2,
            (_, '\'') => 1 + second + 1,
            // A lifetime.
            _ => 1,
        });
    }
    let prefix = code.find('"')?;
    let (marks, body) = code.split_at(prefix);
    let hashes = marks.trim_start_matches('b').strip_prefix('r');
    match hashes {
        _ if marks.is_empty() || marks == "b" || marks == "c" => {
            let mut escaped = false;
            let end = body[1..].find(|c| {
                let ends = c == '"' && !escaped;
                escaped = c == '\\' && !escaped;
                ends
            })?;
            Some(prefix + 1 + end + 1)
        }
        Some(hashes) if hashes.chars().all(|c| c == '#') => {
            let end = format!("\"{hashes}");
            Some(prefix + 1 + body[1..].find(&end)? + end.len())
        }
        _ => None,
    }
}
