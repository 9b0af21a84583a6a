//! Reading several fields, so that a caller learns of all wrong ones at once.

use memory_contract::{Invalid, InvalidFields};

/// Collects what is wrong with a request.
#[derive(Debug, Default)]
pub(super) struct Fields(Vec<Invalid>);

impl Fields {
    /// Takes a field; a wrong one is remembered and read as its default.
    pub(super) fn take<T: Default>(&mut self, field: Result<T, Invalid>) -> T {
        field.unwrap_or_else(|invalid| {
            self.0.push(invalid);
            T::default()
        })
    }

    /// Takes a field that has no default.
    pub(super) fn get<T>(&mut self, field: Result<T, Invalid>) -> Option<T> {
        self.take(field.map(Some))
    }

    /// Takes fields that were read together.
    pub(super) fn get_all<T>(&mut self, fields: Result<T, InvalidFields>) -> Option<T> {
        match fields {
            Ok(value) => Some(value),
            Err(InvalidFields(invalid)) => {
                self.0.extend(invalid);
                None
            }
        }
    }

    /// Ends the reading of required values: all of them, or what is wrong.
    pub(super) fn all<T>(self, values: Option<T>) -> Result<T, InvalidFields> {
        match values {
            Some(values) if self.0.is_empty() => Ok(values),
            _ => Err(InvalidFields(self.0)),
        }
    }

    /// Ends the reading.
    pub(super) fn end(self) -> Result<(), InvalidFields> {
        self.all(Some(()))
    }
}
