//! Requests that are no messages of their methods.

/// Why a request is not a message of its method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unreadable {
    /// The path of the wrong field, such as `messages[0].role`; `None` where no field is.
    pub field: Option<String>,
    /// The problem, with the position in the JSON.
    pub problem: String,
}

impl Unreadable {
    pub(crate) fn new(problem: impl Into<String>) -> Self {
        Self {
            field: None,
            problem: problem.into(),
        }
    }
}
