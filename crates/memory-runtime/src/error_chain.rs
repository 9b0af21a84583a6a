//! Formats errors with their sources for log lines.

use std::error::Error;
use std::fmt::Write as _;

/// The error and its causes in one line, safe to log. Of a Postgres error it keeps
/// the SQLSTATE, the message, and the names of constraint, table and column. It
/// omits DETAIL, which quotes rows, and the message of class 22 (data exceptions),
/// which quotes values.
pub fn error_chain(error: &(dyn Error + 'static)) -> String {
    let mut text = String::new();
    let mut next = Some(error);
    while let Some(error) = next {
        if !text.is_empty() {
            text.push_str(": ");
        }
        let database = error
            .downcast_ref::<tokio_postgres::Error>()
            .and_then(tokio_postgres::Error::as_db_error)
            .or_else(|| error.downcast_ref::<tokio_postgres::error::DbError>());
        let Some(database) = database else {
            let _ = write!(text, "{error}");
            next = error.source();
            continue;
        };
        let _ = write!(text, "SQLSTATE {}", database.code().code());
        if !database.code().code().starts_with("22") {
            let _ = write!(text, " {}", database.message());
        }
        for (what, name) in [
            ("constraint", database.constraint()),
            ("table", database.table()),
            ("column", database.column()),
        ] {
            if let Some(name) = name {
                let _ = write!(text, ", {what} {name}");
            }
        }
        next = None;
    }
    text
}
