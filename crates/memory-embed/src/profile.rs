//! What is known of well-known models, from their model cards and their providers'
//! documentation.

/// How a model wants its texts, and what its vectors are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Profile {
    /// The text before each query.
    pub query_prefix: &'static str,
    /// The text before each document.
    pub document_prefix: &'static str,
    /// Dimensions of its vectors; `None` if the name does not say.
    pub dimensions: Option<usize>,
    /// Tokens of a text that it reads; `None` if not known.
    pub max_length: Option<usize>,
    /// Whether it was trained so that its vectors can be shortened, which an endpoint does with
    /// the parameter `dimensions`.
    pub can_shorten: bool,
    /// The languages that it covers, such as `English`; empty if not known.
    pub languages: &'static str,
}

impl Profile {
    const UNKNOWN: Self = Self {
        query_prefix: "",
        document_prefix: "",
        dimensions: None,
        max_length: None,
        can_shorten: false,
        languages: "",
    };

    const fn new(dimensions: usize, max_length: usize, languages: &'static str) -> Self {
        Self {
            dimensions: Some(dimensions),
            max_length: Some(max_length),
            languages,
            ..Self::UNKNOWN
        }
    }

    const fn prefixes(self, query_prefix: &'static str, document_prefix: &'static str) -> Self {
        Self {
            query_prefix,
            document_prefix,
            ..self
        }
    }

    const fn shortening(self) -> Self {
        Self {
            can_shorten: true,
            ..self
        }
    }

    /// The same model in a size that the name does not say.
    const fn of_any_size(self) -> Self {
        Self {
            dimensions: None,
            ..self
        }
    }

    /// Whether the model is known to cover English alone.
    pub fn is_english_only(&self) -> bool {
        self.languages == ENGLISH
    }
}

const ENGLISH: &str = "English";
const HUNDRED: &str = "about 100 languages";
const MANY: &str = "many languages";

/// Wang et al. 2022, arXiv:2212.03533.
const E5: (&str, &str) = ("query: ", "passage: ");
const MULTILINGUAL_E5: Profile = Profile::new(384, 512, HUNDRED).prefixes(E5.0, E5.1);
const NOMIC: (&str, &str) = ("search_query: ", "search_document: ");
/// Of mxbai-embed-large and of the first snowflake-arctic-embed.
const REPRESENT: &str = "Represent this sentence for searching relevant passages: ";
const ARCTIC: Profile = Profile::new(768, 512, ENGLISH).prefixes(REPRESENT, "");
const ARCTIC_2: Profile = Profile::new(768, 8_192, "74 languages").prefixes("query: ", "");
/// With the instruction of its model card, and the length that its authors use.
const QWEN3: Profile = Profile::new(1_024, 8_192, HUNDRED)
    .prefixes(
        "Instruct: Given a web search query, retrieve relevant passages that answer the query\n\
         Query:",
        "",
    )
    .shortening();

/// Models by parts of their name, in lower case; the first that has all of them counts.
const PROFILES: [(&[&str], Profile); 27] = [
    (
        &["text-embedding-3-small"],
        Profile::new(1_536, 8_191, MANY).shortening(),
    ),
    (
        &["text-embedding-3-large"],
        Profile::new(3_072, 8_191, MANY).shortening(),
    ),
    (&["text-embedding-ada-002"], Profile::new(1_536, 8_191, "")),
    (
        &["multilingual-e5-large-instruct"],
        Profile::new(1_024, 512, HUNDRED).prefixes(
            "Instruct: Given a question, retrieve messages that answer it\nQuery: ",
            "",
        ),
    ),
    (&["multilingual-e5-small"], MULTILINGUAL_E5),
    (
        &["multilingual-e5-base"],
        Profile {
            dimensions: Some(768),
            ..MULTILINGUAL_E5
        },
    ),
    (
        &["multilingual-e5-large"],
        Profile {
            dimensions: Some(1_024),
            ..MULTILINGUAL_E5
        },
    ),
    (&["e5-"], Profile::UNKNOWN.prefixes(E5.0, E5.1)),
    (&["bge-m3"], Profile::new(1_024, 8_192, HUNDRED)),
    (
        &["nomic-embed-text-v2"],
        Profile::new(768, 512, HUNDRED).prefixes(NOMIC.0, NOMIC.1),
    ),
    (
        &["nomic-embed-text"],
        Profile::new(768, 2_048, ENGLISH).prefixes(NOMIC.0, NOMIC.1),
    ),
    (
        &["mxbai-embed-large"],
        Profile::new(1_024, 512, ENGLISH).prefixes(REPRESENT, ""),
    ),
    (&["qwen3-embedding", "0.6b"], QWEN3),
    (
        &["qwen3-embedding", "4b"],
        Profile {
            dimensions: Some(2_560),
            ..QWEN3
        },
    ),
    (
        &["qwen3-embedding", "8b"],
        Profile {
            dimensions: Some(4_096),
            ..QWEN3
        },
    ),
    (&["qwen3-embedding"], QWEN3.of_any_size()),
    (
        &["arctic-embed-l-v2"],
        Profile {
            dimensions: Some(1_024),
            ..ARCTIC_2
        },
    ),
    (&["arctic-embed-m-v2"], ARCTIC_2),
    (&["arctic-embed2"], ARCTIC_2.of_any_size()),
    (
        &["arctic-embed-xs"],
        Profile {
            dimensions: Some(384),
            ..ARCTIC
        },
    ),
    (
        &["arctic-embed-s"],
        Profile {
            dimensions: Some(384),
            ..ARCTIC
        },
    ),
    (&["arctic-embed-m"], ARCTIC),
    (
        &["arctic-embed-l"],
        Profile {
            dimensions: Some(1_024),
            ..ARCTIC
        },
    ),
    (&["arctic-embed"], ARCTIC.of_any_size()),
    // Its prompts belong to adapters that plain requests do not choose.
    (
        &["jina-embeddings-v3"],
        Profile::new(1_024, 8_192, "89 languages").shortening(),
    ),
    (
        &["embeddinggemma"],
        Profile::new(768, 2_048, HUNDRED)
            .prefixes("task: search result | query: ", "title: none | text: "),
    ),
    (&["all-minilm"], Profile::new(384, 256, ENGLISH)),
];

/// The profile of a model by its name; an empty one if the name is not known.
pub fn profile(model: &str) -> Profile {
    let model = model.to_lowercase();
    let known = PROFILES
        .iter()
        .find(|(parts, _)| parts.iter().all(|part| model.contains(part)));
    known.map_or(Profile::UNKNOWN, |(_, profile)| *profile)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_known_by_parts_of_their_name() {
        let prefixes = |model| {
            let profile = profile(model);
            (profile.query_prefix, profile.document_prefix)
        };
        assert_eq!(prefixes("multilingual-e5-small"), ("query: ", "passage: "));
        assert_eq!(prefixes("intfloat/E5-base-v2"), ("query: ", "passage: "));
        assert_eq!(prefixes("all-minilm-l6-v2"), ("", ""));
        assert_eq!(prefixes("intfloat/multilingual-e5-large-instruct").1, "");
        assert_eq!(
            prefixes("nomic-embed-text:v1.5"),
            ("search_query: ", "search_document: ")
        );
        assert_eq!(prefixes("embeddinggemma:300m").1, "title: none | text: ");
        assert!(prefixes("mxbai-embed-large").0.starts_with("Represent"));
    }

    #[test]
    fn a_name_says_the_dimensions_as_providers_write_it() {
        for (model, dimensions) in [
            ("text-embedding-3-small", Some(1_536)),
            ("openai/text-embedding-3-large", Some(3_072)),
            ("text-embedding-ada-002", Some(1_536)),
            ("BAAI/bge-m3", Some(1_024)),
            ("multilingual-e5-base", Some(768)),
            ("intfloat/multilingual-e5-large", Some(1_024)),
            ("qwen3-embedding:0.6b", Some(1_024)),
            ("Qwen/Qwen3-Embedding-8B", Some(4_096)),
            ("qwen3-embedding", None),
            ("Snowflake/snowflake-arctic-embed-l-v2.0", Some(1_024)),
            ("snowflake-arctic-embed-m-v1.5", Some(768)),
            ("snowflake-arctic-embed-xs", Some(384)),
            ("snowflake-arctic-embed:22m", None),
            ("jina-embeddings-v3", Some(1_024)),
            ("google/embeddinggemma-300m", Some(768)),
            ("my-own-model", None),
        ] {
            assert_eq!(profile(model).dimensions, dimensions, "{model}");
        }
    }

    #[test]
    fn a_model_for_english_alone_is_known_as_such() {
        assert!(profile("all-minilm-l6-v2").is_english_only());
        assert!(profile("nomic-embed-text").is_english_only());
        assert!(!profile("nomic-embed-text-v2-moe").is_english_only());
        assert!(!profile("multilingual-e5-small").is_english_only());
        assert!(!profile("my-own-model").is_english_only());
    }
}
