//! What is known of well-known models.

/// How a model wants its texts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// The text before each query.
    pub query_prefix: &'static str,
    /// The text before each document.
    pub document_prefix: &'static str,
}

/// Models by a part of their name, in lower case; the first that fits counts.
const PROFILES: [(&str, Profile); 3] = [
    (
        "multilingual-e5-large-instruct",
        Profile {
            query_prefix: "Instruct: Given a question, retrieve messages that answer it\nQuery: ",
            document_prefix: "",
        },
    ),
    // E5 was trained with these (Wang et al. 2022, arXiv:2212.03533).
    (
        "e5-",
        Profile {
            query_prefix: "query: ",
            document_prefix: "passage: ",
        },
    ),
    (
        "nomic-embed-text",
        Profile {
            query_prefix: "search_query: ",
            document_prefix: "search_document: ",
        },
    ),
];

/// The profile of a model by its name; one without prefixes if the name is not known.
pub fn profile(model: &str) -> Profile {
    let model = model.to_lowercase();
    let known = PROFILES.iter().find(|(part, _)| model.contains(part));
    known.map(|(_, profile)| *profile).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_known_by_a_part_of_their_name() {
        let prefixes = |model| {
            let profile = profile(model);
            (profile.query_prefix, profile.document_prefix)
        };
        assert_eq!(prefixes("multilingual-e5-small"), ("query: ", "passage: "));
        assert_eq!(prefixes("intfloat/E5-base-v2"), ("query: ", "passage: "));
        assert_eq!(prefixes("all-minilm-l6-v2"), ("", ""));
        assert_eq!(prefixes("intfloat/multilingual-e5-large-instruct").1, "");
    }
}
