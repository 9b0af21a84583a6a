//! The statements of Postgres in the log of a server that has `database.echo`.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{Read as _, Seek as _, SeekFrom},
    path::Path,
};

use serde::Deserialize;

use crate::metrics::Taken;

/// How often each statement was sent, and how long its answers took.
pub type Statements = BTreeMap<String, Taken>;

/// A line of the log about a statement.
#[derive(Deserialize)]
struct Line {
    query: String,
    duration_ms: f64,
}

/// The length of a log in bytes; 0 if it does not exist.
pub fn length(log: &Path) -> u64 {
    log.metadata().map_or(0, |metadata| metadata.len())
}

/// The statements in a log after its first bytes; none if the server does not log them.
pub fn after(log: &Path, begin: u64) -> std::io::Result<Statements> {
    let mut text = String::new();
    let mut file = File::open(log)?;
    file.seek(SeekFrom::Start(begin))?;
    file.read_to_string(&mut text)?;
    Ok(statements(&text))
}

fn statements(text: &str) -> Statements {
    let mut statements = Statements::new();
    let lines = text.lines();
    for line in lines.filter_map(|line| serde_json::from_str::<Line>(line).ok()) {
        let taken = statements.entry(line.query).or_default();
        taken.count += 1.0;
        taken.sum += line.duration_ms / 1_000.0;
    }
    statements
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_summed_by_name() {
        let line = |query: &str, ms: f64| {
            format!("{{\"message\":\"query\",\"query\":\"{query}\",\"duration_ms\":{ms}}}\n")
        };
        let log = [
            line("messages/recent", 1.5),
            line("messages/recent", 0.5),
            "{\"message\":\"ready\"}\nno JSON\n".to_owned(),
            line("messages/hydrate", 3.0),
        ];
        let found = statements(&log.concat());
        let taken = |count, sum| Taken { count, sum };
        assert_eq!(found["messages/recent"], taken(2.0, 0.002));
        assert_eq!(found["messages/hydrate"], taken(1.0, 0.003));
        assert_eq!(found.len(), 2);
    }
}
