//! Errors that name the invalid fields of a request.

use std::fmt;

use crate::limits;

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

impl InvalidFields {
    /// Succeeds if no field is wrong.
    ///
    /// # Errors
    /// A field is wrong. Names at most as many as one error about messages does.
    pub fn none_of(invalid: Vec<Invalid>) -> Result<(), Self> {
        match invalid.is_empty() {
            true => Ok(()),
            false => Err(Self(invalid).first()),
        }
    }

    /// At most as many fields as one error about messages names.
    #[must_use]
    pub fn first(mut self) -> Self {
        self.0.truncate(limits::NAMED_FIELDS);
        self
    }

    /// Prefixes the path of the enclosing field.
    pub fn within(self, outer: impl fmt::Display) -> Self {
        let fields = self.0.into_iter();
        Self(fields.map(|invalid| invalid.within(&outer)).collect())
    }
}

impl From<Invalid> for InvalidFields {
    fn from(invalid: Invalid) -> Self {
        Self(vec![invalid])
    }
}

/// Reads several fields, so that an error names all wrong ones at once.
#[derive(Debug, Default)]
pub struct Fields(Vec<Invalid>);

impl Fields {
    /// The value of a field; the default if it is invalid.
    pub fn take<T: Default>(&mut self, field: Result<T, impl Into<InvalidFields>>) -> T {
        field.unwrap_or_else(|invalid| {
            self.0.extend(invalid.into().0);
            T::default()
        })
    }

    /// The value of a field without a default; `None` if it is invalid.
    pub fn get<T>(&mut self, field: Result<T, Invalid>) -> Option<T> {
        self.take(field.map(Some))
    }

    /// The value of several fields that were read together; `None` if one is invalid.
    pub fn get_all<T>(&mut self, fields: Result<T, InvalidFields>) -> Option<T> {
        self.take(fields.map(Some))
    }

    /// The required values, or every invalid field.
    ///
    /// # Errors
    /// A field is invalid, or a value is missing.
    pub fn all<T>(self, values: Option<T>) -> Result<T, InvalidFields> {
        match values {
            Some(values) if self.0.is_empty() => Ok(values),
            _ => Err(InvalidFields(self.0)),
        }
    }

    /// Succeeds if every field is valid.
    ///
    /// # Errors
    /// A field is invalid.
    pub fn end(self) -> Result<(), InvalidFields> {
        self.all(Some(()))
    }
}
