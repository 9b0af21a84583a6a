//! Errors of connecting and of queries, by what a caller can do about them.

use std::{error::Error as _, io};

use deadpool_postgres::{HookError, PoolError, TimeoutType};
use tokio_postgres::{Error, error::SqlState};

use crate::Database;

/// Why the database gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum PostgresError {
    /// Postgres does not answer, or refuses work for the moment.
    #[error("the database is not available")]
    Unavailable {
        /// Why.
        #[source]
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// All connections stayed busy.
    #[error("no database connection became free in time")]
    PoolTimeout,
    /// A query failed although the database is available: an error that a function
    /// raised, or a defect.
    #[error("the query {name} failed")]
    Query {
        /// The query's name, such as `messages/append`.
        name: &'static str,
        /// Why.
        #[source]
        source: Error,
    },
    /// The settings cannot be used.
    #[error("{key}: {why}")]
    Config {
        /// The key within the settings, such as `url` or `chat_url`.
        key: &'static str,
        /// What is wrong, and what to do.
        why: String,
    },
}

/// The connection would see the rows of all tenants.
pub(crate) const ROLE_IS_MISSING: &str = "leads to a pooler that drops the role of connections: set \
     database.pooler, or the address of Postgres itself";

/// The error of a query.
pub fn query_error(name: &'static str, source: Error) -> PostgresError {
    match passes(&source) {
        true => PostgresError::Unavailable {
            source: source.into(),
        },
        false => PostgresError::Query { name, source },
    }
}

/// The error of getting a connection.
pub(crate) fn pool_error(database: Database, error: PoolError) -> PostgresError {
    match error {
        PoolError::Timeout(TimeoutType::Wait) => PostgresError::PoolTimeout,
        PoolError::Backend(error) | PoolError::PostCreateHook(HookError::Backend(error)) => {
            connect_error(database, error)
        }
        PoolError::PostCreateHook(HookError::Message(why)) if why == ROLE_IS_MISSING => {
            PostgresError::Config {
                key: database.key(),
                why: why.into_owned(),
            }
        }
        other @ (PoolError::Timeout(TimeoutType::Create | TimeoutType::Recycle)
        | PoolError::Closed
        | PoolError::NoRuntimeSpecified
        | PoolError::PostCreateHook(_)) => PostgresError::Unavailable {
            source: database.cause(other),
        },
    }
}

/// The error of connecting: what only an administrator can fix names the
/// setting, everything else may pass.
pub fn connect_error(database: Database, error: Error) -> PostgresError {
    let why = match error.code() {
        Some(code)
            if [
                SqlState::INVALID_PASSWORD,
                SqlState::INVALID_AUTHORIZATION_SPECIFICATION,
            ]
            .contains(code) =>
        {
            "Postgres refuses the user or the password"
        }
        Some(code) if *code == SqlState::INVALID_CATALOG_NAME => "Postgres has no such database",
        // So a pooler answers the startup option `options`.
        Some(code)
            if *code == SqlState::PROTOCOL_VIOLATION
                && error
                    .as_db_error()
                    .is_some_and(|error| error.message().contains("startup parameter")) =>
        {
            "the server refuses the connection's options, as poolers do: set database.pooler"
        }
        // So a startup option `role` is answered.
        Some(code) if *code == SqlState::INVALID_PARAMETER_VALUE => {
            "Postgres does not know the roles of Recollect; run the migration first"
        }
        Some(code) if *code == SqlState::INSUFFICIENT_PRIVILEGE => {
            "the user must be a member of the roles recollect_service and recollect_worker; \
             grant them, or run the migration as this user"
        }
        _ => {
            return PostgresError::Unavailable {
                source: database.cause(error),
            };
        }
    };
    PostgresError::Config {
        key: database.key(),
        why: why.to_owned(),
    }
}

/// Whether the same statement may succeed later.
fn passes(error: &Error) -> bool {
    let Some(code) = error.code() else {
        // No answer from Postgres: the connection broke, or a value could not
        // be encoded or decoded, which will not pass.
        return error.is_closed()
            || error
                .source()
                .is_some_and(|source| source.is::<io::Error>());
    };
    // 08: connection; 53: resources; 40: serialization and deadlock.
    let classes = ["08", "53", "40"];
    let codes = [
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::QUERY_CANCELED, // the statement timeout
        SqlState::LOCK_NOT_AVAILABLE,
        SqlState::READ_ONLY_SQL_TRANSACTION, // a standby, during a failover
        SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
    ];
    classes.iter().any(|class| code.code().starts_with(class)) || codes.contains(code)
}
