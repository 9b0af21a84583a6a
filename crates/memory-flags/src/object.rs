//! JSON objects as values of flags.

/// Checks that a value of the command line is a JSON object, and returns it as it was given.
///
/// # Errors
/// The problem, in words.
pub fn parse_object(text: &str) -> Result<String, String> {
    // The contract reads empty text as no object.
    if text.is_empty() {
        return Err("must be a JSON object".to_owned());
    }
    match memory_contract::convert::object_from("", text.to_owned(), usize::MAX, usize::MAX) {
        Ok(_) => Ok(text.to_owned()),
        Err(invalid) => Err(invalid.problem),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_of_the_command_line_keep_their_digits() {
        let text = r#"{"id": 12345678901234567890123, "price": 1.10}"#;
        assert_eq!(parse_object(text), Ok(text.to_owned()));
        for (wrong, words) in [
            ("", "object"),
            ("[1]", "object"),
            ("{", "JSON"),
            (r#"{"score": NaN}"#, "NaN"),
        ] {
            let problem = parse_object(wrong).unwrap_err();
            assert!(problem.contains(words), "{wrong}: {problem}");
        }
    }
}
