//! Reads the entries of a JSON list one after the other.

use std::fmt;
use std::io::{self, Read};

use serde::de::{DeserializeSeed as _, SeqAccess, Visitor};
use serde_json::value::RawValue;

use crate::seen::broken_off;

/// Reads a JSON list, and gives each entry as it is written to `each`, which returns whether
/// it wants more. What follows the list is not read.
///
/// # Errors
/// The text is not a JSON list. Entries before the mistake were given to `each`.
pub(crate) fn items(
    input: impl Read,
    each: &mut dyn FnMut(Box<RawValue>) -> bool,
) -> Result<(), String> {
    let mut deserializer = serde_json::Deserializer::from_reader(input);
    let mut has_enough = false;
    let list = List {
        each,
        has_enough: &mut has_enough,
    };
    match list.deserialize(&mut deserializer) {
        Err(error) if !has_enough && error.is_io() => Err(broken_off(&io::Error::from(error))),
        Err(error) if !has_enough => Err(format!("it is not valid JSON: {error}")),
        _ => Ok(()),
    }
}

struct List<'a> {
    each: &'a mut dyn FnMut(Box<RawValue>) -> bool,
    has_enough: &'a mut bool,
}

impl<'de> serde::de::DeserializeSeed<'de> for List<'_> {
    type Value = ();

    fn deserialize<D: serde::Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for List<'_> {
    type Value = ();

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a list")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<(), A::Error> {
        while let Some(item) = list.next_element()? {
            if !(self.each)(item) {
                *self.has_enough = true;
                break;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str, most: usize) -> (Vec<String>, Result<(), String>) {
        let mut found = Vec::new();
        let result = items(text.as_bytes(), &mut |item| {
            found.push(item.get().to_owned());
            found.len() < most
        });
        (found, result)
    }

    #[test]
    fn entries_are_given_as_they_are_written() {
        let (found, result) = read("[ {\"b\": 1.50, \"a\": 2} ,\n 7]", 9);
        assert_eq!(found, ["{\"b\": 1.50, \"a\": 2}", "7"]);
        assert_eq!(result, Ok(()));
        assert_eq!(read("[1, 2, 3]", 2), (vec!["1".into(), "2".into()], Ok(())));
    }

    #[test]
    fn entries_before_a_mistake_are_given() {
        let (found, result) = read("[1, 2, oops]", 9);
        assert_eq!(found, ["1", "2"]);
        assert!(result.unwrap_err().contains("not valid JSON"));
    }

    #[test]
    fn what_follows_the_list_stays_unread() {
        let mut text = "[1]\n[2]\n".as_bytes();
        items(&mut text, &mut |_| true).unwrap();
        assert_eq!(text, b"\n[2]\n");
    }
}
