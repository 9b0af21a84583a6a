//! Changes of Codex's TOML. All that is not changed keeps its bytes.

use toml_edit::{Array, DocumentMut, Item, Table, value};

use crate::json::Problem;

const WITHIN: &str = "mcp_servers";
const NAME: &str = "recollect";

/// Sets the table of the server.
pub(crate) fn put(
    text: &str,
    command: &str,
    args: &[String],
    variables: &[String],
) -> Result<String, Problem> {
    let mut document = parsed(text)?;
    let servers = document.entry(WITHIN).or_insert_with(|| {
        let mut table = Table::new();
        table.set_implicit(true);
        Item::Table(table)
    });
    let servers = servers
        .as_table_like_mut()
        .ok_or_else(|| format!("`{WITHIN}` is not a table"))?;
    let mut server = Table::new();
    server["command"] = value(command);
    server["args"] = value(args.iter().collect::<Array>());
    if !variables.is_empty() {
        server["env_vars"] = value(variables.iter().collect::<Array>());
    }
    if servers
        .get(NAME)
        .is_none_or(|old| plain(old) != plain(&Item::Table(server.clone())))
    {
        servers.insert(NAME, Item::Table(server));
    }
    Ok(with_line_ends_of(text, &document))
}

/// The table of the server; `None` if the file lacks it.
pub(crate) fn server(text: &str) -> Result<Option<Item>, Problem> {
    let document = parsed(text)?;
    let servers = document.get(WITHIN).and_then(Item::as_table_like);
    Ok(servers.and_then(|servers| servers.get(NAME)).cloned())
}

/// The program of a server and its arguments.
pub(crate) fn words(server: &Item) -> Vec<&str> {
    let program = server.get("command").and_then(Item::as_str);
    let args = server.get("args").and_then(Item::as_array);
    let args = args.into_iter().flatten();
    let args = args.filter_map(|value| value.as_str());
    program.into_iter().chain(args).collect()
}

/// Puts another table in the place of the one of the server.
pub(crate) fn restore(text: &str, server: Item) -> Result<String, Problem> {
    let mut document = parsed(text)?;
    if let Some(servers) = document.get_mut(WITHIN).and_then(Item::as_table_like_mut) {
        servers.insert(NAME, server);
    }
    Ok(with_line_ends_of(text, &document))
}

/// Removes the table of the server; `None` if the file lacks it.
pub(crate) fn remove(text: &str) -> Result<Option<String>, Problem> {
    let mut document = parsed(text)?;
    let Some(servers) = document.get_mut(WITHIN).and_then(Item::as_table_like_mut) else {
        return Ok(None);
    };
    if servers.remove(NAME).is_none() {
        return Ok(None);
    }
    if servers.is_empty() {
        document.remove(WITHIN);
    }
    Ok(Some(with_line_ends_of(text, &document)))
}

/// The document as text. The parser makes each CRLF an LF, so a file whose lines all end in
/// CRLF gets them back.
fn with_line_ends_of(text: &str, document: &DocumentMut) -> String {
    let edited = document.to_string();
    let ends = text.matches('\n').count();
    let has_crlf = ends > 0 && text.matches("\r\n").count() == ends;
    match has_crlf {
        true => edited.replace("\r\n", "\n").replace('\n', "\r\n"),
        false => edited,
    }
}

fn parsed(text: &str) -> Result<DocumentMut, Problem> {
    // The first line of an error has its place; the next ones quote the file.
    let in_words = |error: toml_edit::TomlError| {
        let text = error.to_string();
        format!(
            "it is not TOML: {}",
            text.lines().next().unwrap_or_default()
        )
    };
    text.parse().map_err(in_words)
}

/// A table without its decoration.
fn plain(item: &Item) -> String {
    let fields = item
        .as_table_like()
        .into_iter()
        .flat_map(|table| table.iter());
    let mut lines: Vec<String> = fields
        .map(|(name, value)| {
            let text = value.to_string();
            let bare: String = text.split_whitespace().collect();
            format!("{name}={bare}")
        })
        .collect();
    lines.sort();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    const ODD: &str = "# mine\nmodel   = \"gpt-5\"\n\n[mcp_servers.other] # keep\ncommand=\"x\"\n\n\n[tui]\ntheme = 'dark'\n";

    fn with(text: &str) -> String {
        put(text, "recollect", &["mcp".to_owned()], &["KEY".to_owned()]).unwrap()
    }

    #[test]
    fn everything_else_keeps_its_bytes() {
        let once = with(ODD);
        for kept in [
            "# mine\nmodel   = \"gpt-5\"",
            "[mcp_servers.other] # keep\ncommand=\"x\"",
            "theme = 'dark'",
        ] {
            assert!(once.contains(kept), "{once}");
        }
        assert!(
            once.contains("[mcp_servers.recollect]\ncommand = \"recollect\"\n"),
            "{once}"
        );
        assert_eq!(with(&once), once);
        assert_eq!(remove(&once).unwrap().as_deref(), Some(ODD));
        assert_eq!(remove(ODD).unwrap(), None);
    }

    #[test]
    fn a_file_with_the_line_ends_of_windows_keeps_them() {
        let windows = ODD.replace('\n', "\r\n");
        let once = with(&windows);
        assert_eq!(once.matches("\r\n").count(), once.matches('\n').count());
        assert_eq!(remove(&once).unwrap(), Some(windows));
    }

    #[test]
    fn a_new_file_has_the_table_alone() {
        let once = with("");
        assert_eq!(
            once,
            "[mcp_servers.recollect]\ncommand = \"recollect\"\nargs = [\"mcp\"]\nenv_vars = [\"KEY\"]\n"
        );
        assert_eq!(remove(&once).unwrap().as_deref(), Some(""));
    }

    #[test]
    fn what_is_not_toml_is_refused() {
        for text in ["[", "a = ", "mcp_servers = 1", "key = \"secret\" ]"] {
            let problem = put(text, "r", &[], &[]).unwrap_err();
            assert!(!problem.contains("secret"), "{problem}");
        }
    }
}
