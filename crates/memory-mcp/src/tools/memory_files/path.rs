//! The paths of the tool, which are below `/memories`.

use percent_encoding::percent_decode_str;

use crate::failure::Failure;

/// The directory that the paths of the tool are in.
pub(super) const ROOT: &str = "/memories";

/// The path of the API for a path of the tool.
///
/// # Errors
/// No path, one that is not below [`ROOT`], and one with control characters. The API compares
/// names byte for byte, but a path that another program would decode to one that leads elsewhere
/// is refused too.
pub(super) fn stored_path(name: &str, path: &str) -> Result<String, Failure> {
    if path.is_empty() {
        return Err(Failure::input(format!(
            "`{name}` is required: a path such as {ROOT}/notes.md"
        )));
    }
    let mut plain = path.to_owned();
    for _ in 0..3 {
        if plain.contains(char::is_control) {
            return Err(Failure::input(format!(
                "Error: `{name}` must not have control characters, percent-encoded ones included"
            )));
        }
        if plain
            .split(['/', '\\'])
            .any(|part| [".", ".."].contains(&part))
        {
            return Err(Failure::input(format!(
                "Error: Path {path} would escape {ROOT} directory"
            )));
        }
        plain = percent_decode_str(&plain).decode_utf8_lossy().into_owned();
    }
    let below = path
        .strip_prefix(ROOT)
        .filter(|below| below.is_empty() || below.starts_with('/'));
    match below.map(|below| below.strip_suffix('/').unwrap_or(below)) {
        Some("") => Ok("/".to_owned()),
        Some(below) => Ok(below.to_owned()),
        None => Err(Failure::input(format!(
            "Error: Path must start with {ROOT}, got: {path}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_below_memories() {
        let stored = |path: &str| stored_path("path", path).ok();
        assert_eq!(stored("/memories").as_deref(), Some("/"));
        assert_eq!(stored("/memories/").as_deref(), Some("/"));
        assert_eq!(stored("/memories/a/b.md").as_deref(), Some("/a/b.md"));
        assert_eq!(stored("/memories/work/").as_deref(), Some("/work"));
        for wrong in ["", "/", "/etc/passwd", "memories/a", "/memoriesx"] {
            assert_eq!(stored(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_path_that_would_lead_elsewhere_is_refused() {
        let problem = |path: &str| match stored_path("path", path) {
            Ok(stored) => panic!("{path:?} is {stored:?}"),
            Err(failure) => failure.to_string(),
        };
        for path in [
            "/memories/../a",
            "/memories/./a",
            "/memories/..\\a",
            "/memories/%2e%2e/a",
            "/memories/%2E./a",
            "/memories/%252e%252e/a",
            "/memories/a%2f..%2fb",
        ] {
            let problem = problem(path);
            assert!(problem.contains("would escape"), "{path}: {problem}");
        }
        for path in ["/memories/a\0b", "/memories/a\nb", "/memories/a%00b"] {
            let problem = problem(path);
            assert!(problem.contains("control characters"), "{path}: {problem}");
        }
    }

    #[test]
    fn names_may_have_any_other_character() {
        // Spaces that do not break a line, and characters that join others to one emoji.
        for name in [
            "/a\u{a0}b.md",
            "/\u{3000}.md",
            "/\u{1f469}\u{200d}\u{1f52c}.md",
            "/100%.md",
            "/%zz",
            "/%ff",
            "/..a",
        ] {
            let stored = stored_path("path", &format!("{ROOT}{name}"));
            assert_eq!(stored.ok().as_deref(), Some(name));
        }
    }
}
