//! Reads values of composite types.

use std::error::Error;

use tokio_postgres::types::{FromSql, Kind, Type};

use crate::StoreError;

/// A value of a composite type. Its fields are read by name, and unknown ones are ignored, so that a
/// newer release may add fields while this one is running.
pub struct Composite<'a> {
    of: Type,
    values: Vec<Option<&'a [u8]>>,
}

impl Composite<'_> {
    /// Reads a field. An error names the field and never its value.
    pub fn field<'a, T: FromSql<'a>>(&'a self, name: &str) -> Result<T, StoreError> {
        let found = match self.of.kind() {
            Kind::Composite(fields) => fields.iter().zip(&self.values),
            _ => [].iter().zip(&self.values),
        };
        let mut found = found.filter(|(field, _)| field.name() == name);
        found
            .next()
            .filter(|(field, _)| T::accepts(field.type_()))
            .and_then(|(field, value)| T::from_sql_nullable(field.type_(), *value).ok())
            .ok_or_else(|| StoreError::Corrupt {
                what: "row",
                why: format!("the field {name} is missing, or has an unexpected type or value"),
            })
    }
}

impl<'a> FromSql<'a> for Composite<'a> {
    /// The number of fields, and for each its type and its length, or -1 for null, and its value.
    fn from_sql(of: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        let mut rest = raw;
        let count = next_integer(&mut rest)?;
        let mut values = Vec::new();
        for _ in 0..count {
            let _type = next_integer(&mut rest)?;
            values.push(match usize::try_from(next_integer(&mut rest)?) {
                Ok(length) => {
                    let (value, others) = rest.split_at_checked(length).ok_or("it is cut off")?;
                    rest = others;
                    Some(value)
                }
                Err(_negative) => None,
            });
        }
        Ok(Self {
            of: of.clone(),
            values,
        })
    }

    fn accepts(of: &Type) -> bool {
        matches!(of.kind(), Kind::Composite(_))
    }
}

fn next_integer(rest: &mut &[u8]) -> Result<i32, Box<dyn Error + Sync + Send>> {
    let (bytes, others) = rest.split_first_chunk().ok_or("it is cut off")?;
    *rest = others;
    Ok(i32::from_be_bytes(*bytes))
}
