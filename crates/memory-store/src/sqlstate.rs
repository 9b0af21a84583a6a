//! Converts Postgres's errors into errors of the store.

use std::{error::Error as _, io};

use deadpool_postgres::{PoolError, TimeoutType};
use tokio_postgres::{Error, error::SqlState};

use crate::{MemoryError, StoreError, config::Database};

/// Raised by `functions/memories/check_count.sql`.
const MEMORIES_FULL: &str = "RC002";

/// Raised by `functions/erasures/allow_creation.sql`.
const DELETION_IN_PROGRESS: &str = "RC003";

pub(crate) fn query_error(name: &'static str, error: Error) -> StoreError {
    match error.code().map(SqlState::code) {
        Some(MEMORIES_FULL) => StoreError::Memory(MemoryError::Full),
        Some(DELETION_IN_PROGRESS) => StoreError::DeletionInProgress,
        _ if passes(&error) => StoreError::Unavailable {
            source: error.into(),
        },
        _ => StoreError::Query {
            name,
            source: error,
        },
    }
}

/// The error of getting a connection.
pub(crate) fn pool_error(database: Database, error: PoolError) -> StoreError {
    match error {
        PoolError::Timeout(TimeoutType::Wait) => StoreError::PoolTimeout,
        PoolError::Backend(error) => connect_error(database, error),
        other @ (PoolError::Timeout(TimeoutType::Create | TimeoutType::Recycle)
        | PoolError::Closed
        | PoolError::NoRuntimeSpecified
        | PoolError::PostCreateHook(_)) => StoreError::Unavailable {
            source: database.cause(other),
        },
    }
}

/// The error of connecting: what only an administrator can fix names the
/// setting, everything else may pass.
pub(crate) fn connect_error(database: Database, error: Error) -> StoreError {
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
        // So a startup option `role` is answered.
        Some(code) if *code == SqlState::INVALID_PARAMETER_VALUE => {
            "Postgres does not know the roles of Recollect; run the migration first"
        }
        Some(code) if *code == SqlState::INSUFFICIENT_PRIVILEGE => {
            "the user must be a member of the roles recollect_service and recollect_worker; \
             grant them, or run the migration as this user"
        }
        _ => {
            return StoreError::Unavailable {
                source: database.cause(error),
            };
        }
    };
    StoreError::Config {
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
