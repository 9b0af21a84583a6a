//! Reads several fields, so that an error names all invalid ones at once.

use memory_contract::{Invalid, InvalidFields};

/// Collects the invalid fields of a request.
#[derive(Debug, Default)]
pub(in crate::services) struct Fields(Vec<Invalid>);

impl Fields {
    /// The value of a field; the default if it is invalid.
    pub(in crate::services) fn take<T: Default>(&mut self, field: Result<T, Invalid>) -> T {
        field.unwrap_or_else(|invalid| {
            self.0.push(invalid);
            T::default()
        })
    }

    /// The value of a field without a default; `None` if it is invalid.
    pub(in crate::services) fn get<T>(&mut self, field: Result<T, Invalid>) -> Option<T> {
        self.take(field.map(Some))
    }

    /// The value of several fields that were read together; `None` if one is invalid.
    pub(in crate::services) fn get_all<T>(
        &mut self,
        fields: Result<T, InvalidFields>,
    ) -> Option<T> {
        match fields {
            Ok(value) => Some(value),
            Err(InvalidFields(invalid)) => {
                self.0.extend(invalid);
                None
            }
        }
    }

    /// The required values, or every invalid field.
    pub(in crate::services) fn all<T>(self, values: Option<T>) -> Result<T, InvalidFields> {
        match values {
            Some(values) if self.0.is_empty() => Ok(values),
            _ => Err(InvalidFields(self.0)),
        }
    }

    /// Succeeds if every field is valid.
    pub(in crate::services) fn end(self) -> Result<(), InvalidFields> {
        self.all(Some(()))
    }
}
