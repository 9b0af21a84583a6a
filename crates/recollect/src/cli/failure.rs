//! Errors of commands: the problem, the next step, and the exit code.

use std::error::Error;
use std::fmt::Write as _;
use std::io;
use std::process::ExitCode;
use std::time::Duration;

use memory_contract::duration_text::format_duration;

use memory_config::ConfigError;
use memory_process::ServerError;
use tonic_types::StatusExt;

use memory_embedded::EmbeddedError;

/// Why a command failed. The exit code follows from the kind.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The request was refused, wholly or in part (1).
    #[error("{message}")]
    Refused {
        /// What went wrong.
        message: String,
        /// What to do about it; empty where nothing helps.
        next_step: String,
    },
    /// The command line is wrong in a way that its grammar does not catch (2).
    #[error("{0}")]
    Usage(String),
    /// The server cannot be reached (3).
    #[error("cannot reach the server at {addr}: {problem}")]
    Unreachable {
        /// Its address.
        addr: String,
        /// The cause, if known.
        problem: String,
    },
    /// The requested thing does not exist (4).
    #[error("{message}")]
    NotFound {
        /// What does not exist.
        message: String,
        /// The command that lists what exists.
        next_step: &'static str,
    },
    /// The configuration cannot be used (5).
    #[error("the configuration cannot be used: {0}")]
    Config(#[from] ConfigError),
    /// The server did not start, or ended (5 or 6).
    #[error("{message}")]
    Server {
        /// What went wrong, with its causes.
        message: String,
        /// Whether the configuration is to blame.
        config: bool,
    },
    /// The embedded default did not start, or ended (6).
    #[error("{}", chain(.0))]
    Embedded(#[from] EmbeddedError),
    /// The reader of the output closed it, as `head` does (0).
    #[error("the output was closed by its reader")]
    NoReader,
    /// Something on this machine (6).
    #[error("{message}")]
    Machine {
        /// What went wrong.
        message: String,
        /// What to do about it.
        next_step: String,
    },
}

impl Failure {
    /// The process's exit code.
    pub fn code(&self) -> u8 {
        match self {
            Self::NoReader => 0,
            Self::Refused { .. } => 1,
            Self::Usage(_) => 2,
            Self::Unreachable { .. } => 3,
            Self::NotFound { .. } => 4,
            Self::Config(_) | Self::Server { config: true, .. } => 5,
            Self::Server { .. } | Self::Embedded(_) | Self::Machine { .. } => 6,
        }
    }

    /// A file or another thing of this machine that cannot be used.
    pub fn machine(message: impl Into<String>, next_step: impl Into<String>) -> Self {
        Self::Machine {
            message: message.into(),
            next_step: next_step.into(),
        }
    }

    /// An answer that could not be printed.
    pub fn output(error: impl Into<io::Error>) -> Self {
        let error = error.into();
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::NoReader;
        }
        Self::machine(format!("cannot write the output: {}", chain(&error)), "")
    }

    /// An error of a call to the server at `addr`.
    pub fn call(addr: &str, status: &tonic::Status) -> Self {
        let details = status.get_error_details();
        let mut message = status.message().to_owned();
        for violation in details
            .bad_request()
            .map_or(&[][..], |bad| &bad.field_violations[..])
        {
            if !message.contains(&violation.field) {
                let _ = write!(
                    message,
                    "\n  {}: {}",
                    violation.field, violation.description
                );
            }
        }
        match status.code() {
            tonic::Code::NotFound => Self::NotFound {
                message,
                next_step: "`recollect threads` lists the threads.",
            },
            tonic::Code::Unavailable if details.error_info().is_none() => Self::Unreachable {
                addr: addr.to_owned(),
                problem: message,
            },
            code => {
                let retry = details.retry_info().and_then(|info| info.retry_delay);
                let next_step = match (code, retry) {
                    (tonic::Code::Unauthenticated, _) => {
                        "Give an API key with --api-key or RECOLLECT_API_KEY.".to_owned()
                    }
                    (tonic::Code::Unimplemented, _) => {
                        "The server is of another version, or something else listens there."
                            .to_owned()
                    }
                    (_, Some(delay)) => {
                        let delay = Duration::from_secs(delay.as_secs().max(1));
                        format!("Try again in {}.", format_duration(delay))
                    }
                    _ => String::new(),
                };
                Self::Refused {
                    message: format!("{message} ({code:?})"),
                    next_step,
                }
            }
        }
    }

    fn next_step(&self) -> String {
        match self {
            Self::Refused { next_step, .. } | Self::Machine { next_step, .. } => next_step.clone(),
            Self::NoReader => String::new(),
            Self::Usage(_) => "See the command's --help.".to_owned(),
            Self::Unreachable { .. } => {
                "Start one with `recollect dev`, or name another with --addr.".to_owned()
            }
            Self::NotFound { next_step, .. } => (*next_step).to_owned(),
            Self::Config(_) | Self::Server { config: true, .. } => {
                "`recollect config` prints every key with its value and where that came from."
                    .to_owned()
            }
            Self::Server { .. } => "`recollect doctor` checks the set-up.".to_owned(),
            Self::Embedded(error) => error.next_step(),
        }
    }
}

impl From<ServerError> for Failure {
    fn from(error: ServerError) -> Self {
        match error {
            ServerError::Config(error) => Self::Config(error),
            error => Self::Server {
                message: chain(&error),
                config: false,
            },
        }
    }
}

/// Prints for people what went wrong and what to do next.
pub fn report(failure: &Failure) -> ExitCode {
    if matches!(failure, Failure::NoReader) {
        return ExitCode::SUCCESS;
    }
    eprintln!("recollect: {failure}");
    let next_step = failure.next_step();
    if !next_step.is_empty() {
        eprintln!("{next_step}");
    }
    ExitCode::from(failure.code())
}

/// An error with its causes, in one line.
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_text = cause.to_string();
        if !text.ends_with(&cause_text) {
            let _ = write!(text, ": {cause_text}");
        }
        source = cause.source();
    }
    text
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a server's answers")]
mod tests {
    use tonic::{Code, Status};
    use tonic_types::ErrorDetails;

    use super::*;

    #[test]
    fn exit_codes_distinguish_a_missing_server_from_a_missing_thread() {
        let check = |status: Status, code: u8| {
            assert_eq!(
                Failure::call("http://x", &status).code(),
                code,
                "{status:?}"
            );
        };
        check(Status::not_found("no such thread"), 4);
        check(Status::unavailable("tcp connect error"), 3);
        check(Status::invalid_argument("query: is too long"), 1);
        let details = ErrorDetails::with_error_info("DATABASE_UNAVAILABLE", "recollect.dev", []);
        check(
            Status::with_error_details(Code::Unavailable, "the database is down", details),
            1,
        );
    }

    #[test]
    fn every_field_that_was_refused_is_named() {
        let mut details = ErrorDetails::new();
        details.add_bad_request_violation("messages[2].role", "is required");
        let status = Status::with_error_details(Code::InvalidArgument, "invalid request", details);
        let failure = Failure::call("http://x", &status);
        assert!(
            failure
                .to_string()
                .contains("messages[2].role: is required"),
            "{failure}"
        );
    }
}
