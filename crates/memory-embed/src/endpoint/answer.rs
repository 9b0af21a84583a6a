//! Reads the answers of an endpoint: of OpenAI's form, with numbers or base64.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;

use super::error::EndpointError;

/// The most bytes that a number takes in an answer, with its separator and indentation.
const NUMBER_BYTES: usize = 48;
/// The most bytes of an answer without its numbers.
const FRAME_BYTES: usize = 64 * 1024;
/// Words of an error that reports too many texts in a request, or one that is too long: those of
/// OpenAI, vLLM, Text Embeddings Inference, Ollama, llama.cpp and DashScope.
const TOO_LONG: [&str; 8] = [
    "too long",
    "too large",
    "context length",
    "context window",
    "input length",
    "batch size",
    "maximum input",
    "must have less than",
];

/// The vectors of an answer, in the order of the texts.
#[derive(Debug, PartialEq)]
pub(super) struct Answer {
    /// One vector of length 1 for each text.
    pub(super) vectors: Vec<Vec<f32>>,
    /// The tokens of the texts; 0 if the endpoint does not count them.
    pub(super) tokens: u64,
}

#[derive(Deserialize)]
struct Body {
    data: Vec<Item>,
    #[serde(default)]
    usage: Option<Usage>,
}

#[derive(Deserialize)]
struct Item {
    #[serde(default)]
    index: Option<usize>,
    embedding: Numbers,
}

/// A vector as JSON or as the base64 of its little-endian bytes. Some servers write `null` for a
/// number that is not finite.
#[derive(Deserialize)]
#[serde(untagged)]
enum Numbers {
    Plain(Vec<Option<f32>>),
    Base64(String),
}

#[derive(Deserialize)]
struct Usage {
    #[serde(default)]
    prompt_tokens: Option<u64>,
}

/// The most bytes of an answer with this many vectors.
pub(super) fn most_bytes(vectors: usize, dimensions: usize) -> usize {
    vectors
        .saturating_mul(dimensions)
        .saturating_mul(NUMBER_BYTES)
        .saturating_add(FRAME_BYTES)
}

/// Reads the answer to `sent` texts. `dimensions`: those of each vector; `None` if not known.
pub(super) fn read(
    body: &[u8],
    sent: usize,
    dimensions: Option<usize>,
) -> Result<Answer, EndpointError> {
    let body: Body = serde_json::from_slice(body).map_err(|_| match is_not_finite(body) {
        true => EndpointError::NoDirection,
        false => EndpointError::Unreadable,
    })?;
    let found = body.data.len();
    if found != sent {
        return Err(EndpointError::Count { sent, found });
    }
    let mut vectors = vec![Vec::new(); sent];
    for (place, item) in body.data.into_iter().enumerate() {
        let vector = normalized(numbers(item.embedding)?)?;
        if let Some(expected) = dimensions.filter(|expected| *expected != vector.len()) {
            let found = vector.len();
            return Err(EndpointError::Dimensions { expected, found });
        }
        match vectors.get_mut(item.index.unwrap_or(place)) {
            Some(free) if free.is_empty() => *free = vector,
            Some(_) | None => return Err(EndpointError::Order),
        }
    }
    let tokens = body.usage.and_then(|usage| usage.prompt_tokens);
    Ok(Answer {
        vectors,
        tokens: tokens.unwrap_or(0),
    })
}

/// Whether an error with this status says that the request is too long.
pub(super) fn is_too_long(status: u16, body: &[u8]) -> bool {
    match status {
        413 => true,
        400 | 422 | 500 => {
            let text = String::from_utf8_lossy(body).to_lowercase();
            TOO_LONG.iter().any(|words| text.contains(words))
        }
        _ => false,
    }
}

/// Whether an answer has numbers that JSON does not know.
fn is_not_finite(body: &[u8]) -> bool {
    let has = |word: &[u8]| body.windows(word.len()).any(|bytes| bytes == word);
    has(b"NaN") || has(b"Infinity")
}

fn numbers(numbers: Numbers) -> Result<Vec<f32>, EndpointError> {
    match numbers {
        Numbers::Plain(numbers) => numbers
            .into_iter()
            .collect::<Option<_>>()
            .ok_or(EndpointError::NoDirection),
        Numbers::Base64(text) => {
            let bytes = STANDARD.decode(text);
            let bytes = bytes.map_err(|_| EndpointError::Unreadable)?;
            let (numbers, rest) = bytes.as_chunks::<4>();
            match rest.is_empty() {
                true => Ok(numbers.iter().copied().map(f32::from_le_bytes).collect()),
                false => Err(EndpointError::Unreadable),
            }
        }
    }
}

fn normalized(mut vector: Vec<f32>) -> Result<Vec<f32>, EndpointError> {
    let squares = vector.iter().map(|number| f64::from(*number).powi(2));
    let length = squares.sum::<f64>().sqrt();
    if !length.is_finite() || length < f64::from(f32::MIN_POSITIVE) {
        return Err(EndpointError::NoDirection);
    }
    for number in &mut vector {
        *number = (f64::from(*number) / length) as f32;
    }
    Ok(vector)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(body: &str, sent: usize) -> Result<Answer, EndpointError> {
        read(body.as_bytes(), sent, Some(2))
    }

    #[test]
    fn vectors_are_read_in_the_order_of_the_texts_and_have_length_1() {
        let body = r#"{"object": "list", "model": "m", "data": [
            {"object": "embedding", "index": 1, "embedding": [0, -2]},
            {"object": "embedding", "index": 0, "embedding": [3, 4.0]}],
            "usage": {"prompt_tokens": 7, "total_tokens": 7}}"#;
        let answer = of(body, 2).unwrap();
        assert_eq!(answer.vectors, [[0.6, 0.8], [0.0, -1.0]]);
        assert_eq!(answer.tokens, 7);
    }

    #[test]
    fn base64_is_read_and_numbers_and_usage_may_be_absent() {
        // 3.0 and 4.0.
        let answer = of(r#"{"data": [{"embedding": "AABAQAAAgEA="}]}"#, 1).unwrap();
        assert_eq!(answer.vectors, [[0.6, 0.8]]);
        assert_eq!(answer.tokens, 0);
        let cut = of(r#"{"data": [{"embedding": "AABAQAAA"}]}"#, 1);
        assert_eq!(cut, Err(EndpointError::Unreadable));
    }

    #[test]
    fn a_wrong_answer_is_an_error_that_says_what_is_wrong() {
        let two = r#"{"data": [{"index": 0, "embedding": [1, 0]},
                              {"index": 0, "embedding": [0, 1]}]}"#;
        assert_eq!(of(two, 2), Err(EndpointError::Order));
        let fewer = of(two, 3);
        assert_eq!(fewer, Err(EndpointError::Count { sent: 3, found: 2 }));
        let beyond = r#"{"data": [{"index": 7, "embedding": [1, 0]}]}"#;
        assert_eq!(of(beyond, 1), Err(EndpointError::Order));
        let longer = of(r#"{"data": [{"embedding": [1, 0, 0]}]}"#, 1).unwrap_err();
        let expected = EndpointError::Dimensions {
            expected: 2,
            found: 3,
        };
        assert_eq!(longer, expected);
        assert!(longer.to_string().contains("embedding.dimensions to 3"));
        for unreadable in ["", "{}", "<html>", r#"{"data": [{"embedding": {}}]}"#] {
            assert_eq!(of(unreadable, 1), Err(EndpointError::Unreadable));
        }
    }

    #[test]
    fn a_vector_without_direction_is_refused() {
        for numbers in ["[0, 0]", "[null, 1]", "[NaN, 1]", "[1, Infinity]"] {
            let body = format!(r#"{{"data": [{{"embedding": {numbers}}}]}}"#);
            assert_eq!(of(&body, 1), Err(EndpointError::NoDirection), "{numbers}");
        }
    }

    #[test]
    fn servers_say_in_many_words_that_a_request_is_too_long() {
        for body in [
            "This model's maximum context length is 8192 tokens, however you requested 9000",
            "Input validation error: `inputs` must have less than 512 tokens. Given: 1000",
            "batch size 64 > maximum allowed batch size 32",
            "the input length exceeds the context length",
        ] {
            assert!(is_too_long(400, body.as_bytes()), "{body}");
        }
        assert!(is_too_long(413, b""));
        assert!(!is_too_long(400, b"model not found"));
        assert!(!is_too_long(429, b"too large"));
    }
}
