//! Errors that name the invalid fields of a request.

use std::fmt;

/// One field with a wrong value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct Invalid {
    /// The field's path, such as `messages[2].parts[0].text`.
    pub field: String,
    /// The problem and the values that are accepted, limit included.
    pub problem: String,
}

impl Invalid {
    /// A field with a wrong value.
    pub fn new(field: impl Into<String>, problem: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            problem: problem.into(),
        }
    }

    /// A required field that is missing.
    pub fn missing(field: impl Into<String>) -> Self {
        Self::new(field, "is required")
    }

    /// Prefixes the path of the enclosing field.
    pub fn within(mut self, outer: impl fmt::Display) -> Self {
        self.field = format!("{outer}.{}", self.field);
        self
    }
}

/// All wrong fields of one request; never empty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub struct InvalidFields(pub Vec<Invalid>);

impl From<Invalid> for InvalidFields {
    fn from(invalid: Invalid) -> Self {
        Self(vec![invalid])
    }
}
