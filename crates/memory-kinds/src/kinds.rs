//! The kinds of an app.

use std::fmt;
use std::sync::{Arc, LazyLock};

use memory_contract::{
    Invalid, InvalidFields,
    convert::attributes_have_kind,
    json::JsonObject,
    limits,
    memory::{KindExample, MemoryKind},
};
use moka::policy::EvictionPolicy;
use moka::sync::Cache;
use serde_json::Value;

use crate::schema::{Misfit, Schema};

/// Bytes that a compiled schema takes for each byte of its text, at most: boon keeps about a KiB for each
/// subschema, and one can be as small as `"a":{},`.
const TEXT_FACTOR: usize = 200;
/// About the bytes that the largest regular expression takes: it is compiled for both directions,
/// and has caches.
const PATTERN_BYTES: usize = 4 * limits::KIND_PATTERN_BYTES;
/// Bytes of the compiled kinds kept: those of about 50 apps with a few patterns each.
const CACHE_BYTES: u64 = 64 * 1024 * 1024;

/// Compiled kinds by their JSON, so that calls and jobs under the same policy share them.
static COMPILED: LazyLock<Cache<String, Kinds>> = LazyLock::new(|| {
    Cache::builder()
        .weigher(|json: &String, kinds: &Kinds| {
            let bytes = json.len() * TEXT_FACTOR + kinds.patterns * PATTERN_BYTES;
            u32::try_from(bytes).unwrap_or(u32::MAX)
        })
        .max_capacity(CACHE_BYTES)
        .eviction_policy(EvictionPolicy::lru())
        .build()
});

/// The kinds of an app, ready to check attributes. Clones share their schemas.
#[derive(Clone, Default)]
pub struct Kinds {
    kinds: Arc<[Kind]>,
    /// The number of regular expressions in their schemas.
    patterns: usize,
}

struct Kind {
    kind: MemoryKind,
    /// `None` if the kind has no attributes; the problem of a schema that cannot be used.
    schema: Result<Option<Schema>, String>,
}

impl fmt::Debug for Kinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.iter().map(|kind| &kind.name);
        f.debug_list().entries(names).finish()
    }
}

/// Checks the kinds of a policy: that each schema can be used, and that the attributes of each
/// example fit it. It can take a tenth of a second: call it on a thread that may block.
///
/// # Errors
/// Every field that is wrong, with its path from `memory_kinds` on.
pub fn check_kinds(kinds: &[MemoryKind]) -> Result<(), InvalidFields> {
    let mut invalid = Vec::new();
    for (index, kind) in Kinds::compile(kinds).kinds.iter().enumerate() {
        let at = format!("memory_kinds[{index}]");
        if let Err(problem) = &kind.schema {
            let field = format!("{at}.json_schema");
            invalid.push(Invalid::new(field, problem.as_str()));
            continue;
        }
        for (number, example) in kind.kind.examples.iter().enumerate() {
            if let Err(misfit) = kind.check_example(example) {
                let field = format!("{at}.examples[{number}].attributes");
                invalid.push(Invalid::new(field, kind.problem(&misfit)));
            }
        }
    }
    InvalidFields::none_of(invalid)
}

impl Kinds {
    /// Takes the kinds of a policy. Unless this process knows them, it compiles them, which can
    /// take a tenth of a second: call it on a thread that may block.
    pub fn new(kinds: &[MemoryKind]) -> Self {
        if kinds.is_empty() {
            return Self::default();
        }
        match serde_json::to_string(kinds) {
            Ok(json) => COMPILED.get_with(json, || Self::compile(kinds)),
            Err(_) => Self::compile(kinds),
        }
    }

    fn compile(kinds: &[MemoryKind]) -> Self {
        let mut patterns = 0;
        let compile = |kind: &MemoryKind| Kind {
            kind: kind.clone(),
            schema: match kind.json_schema.as_str() {
                "" => Ok(None),
                schema => Schema::compile(schema, &mut patterns).map(Some),
            },
        };
        let kinds = kinds.iter().map(compile).collect();
        Self { kinds, patterns }
    }

    /// Whether the app has no kinds.
    pub fn is_empty(&self) -> bool {
        self.kinds.is_empty()
    }

    /// The kinds, in their order.
    pub fn iter(&self) -> impl Iterator<Item = &MemoryKind> {
        self.kinds.iter().map(|kind| &kind.kind)
    }

    /// Checks that a kind exists, and that attributes fit its schema.
    ///
    /// # Errors
    /// [`Misfit`].
    pub fn check(&self, name: &str, attributes: &JsonObject) -> Result<(), Misfit> {
        let kind = self.find(name).ok_or(Misfit::UnknownKind)?;
        kind.check(attributes.as_str())
    }

    /// Checks the fields `kind` and `attributes` of a memory that a caller stores. A memory of no
    /// kind fits.
    ///
    /// # Errors
    /// The field that is wrong, and the kinds that exist or the place in the attributes.
    pub fn check_fields(&self, name: &str, attributes: &JsonObject) -> Result<(), Invalid> {
        if name.is_empty() {
            return attributes_have_kind(name, attributes);
        }
        let Some(kind) = self.find(name) else {
            return Err(Invalid::new("kind", self.unknown()));
        };
        let fits = kind.check(attributes.as_str());
        fits.map_err(|misfit| Invalid::new("attributes", kind.problem(&misfit)))
    }

    fn find(&self, name: &str) -> Option<&Kind> {
        self.kinds.iter().find(|kind| kind.kind.name == name)
    }

    /// What is wrong with the name of an unknown kind.
    fn unknown(&self) -> String {
        if self.is_empty() {
            return "must be empty: the app's policy has no memory_kinds".to_owned();
        }
        let names: Vec<&str> = self.iter().map(|kind| kind.name.as_str()).collect();
        format!(
            "must be one of memory_kinds in the app's policy: {}",
            names.join(", ")
        )
    }
}

impl Kind {
    fn check_example(&self, example: &KindExample) -> Result<(), Misfit> {
        match example.attributes.as_str() {
            "" => self.check("{}"),
            attributes => self.check(attributes),
        }
    }

    fn check(&self, attributes: &str) -> Result<(), Misfit> {
        let value: Value = serde_json::from_str(attributes).unwrap_or_default();
        match &self.schema {
            Ok(Some(schema)) => schema.check(&value),
            Ok(None) if value.as_object().is_some_and(|all| all.is_empty()) => Ok(()),
            Ok(None) => Err(Misfit::of_all("the kind has no attributes")),
            Err(problem) => Err(Misfit::of_all(problem)),
        }
    }

    /// What is wrong with attributes of this kind, for the caller who sent them.
    fn problem(&self, misfit: &Misfit) -> String {
        let name = &self.kind.name;
        match misfit {
            Misfit::UnknownKind => "must be of a kind that exists".to_owned(),
            Misfit::Attributes { at, problem, .. } if at.is_empty() => {
                format!("must fit the schema of the kind {name}: {problem}")
            }
            Misfit::Attributes { at, problem, .. } => {
                format!("must fit the schema of the kind {name}: at {at}: {problem}")
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORDER: &str = r##"{
        "type": "object",
        "properties": {
            "number": {"type": "string", "pattern": "^[0-9]{4,8}$"},
            "placed_on": {"type": "string", "format": "date"},
            "total": {"$ref": "#/$defs/amount"}
        },
        "required": ["number"],
        "additionalProperties": false,
        "$defs": {"amount": {"type": "number", "minimum": 0}}
    }"##;

    fn kind(name: &str, json_schema: &str, example: &str) -> MemoryKind {
        let example = KindExample {
            said: "My order 10482 has not come.".to_owned(),
            text: "Ada's order 10482 has not come.".to_owned(),
            attributes: example.to_owned(),
        };
        MemoryKind {
            name: name.to_owned(),
            description: "An order in the shop.".to_owned(),
            json_schema: json_schema.to_owned(),
            examples: vec![example],
        }
    }

    fn object(text: &str) -> JsonObject {
        JsonObject::parse(text.to_owned()).unwrap()
    }

    #[test]
    fn attributes_that_do_not_fit_are_refused_by_place() {
        let kinds = [
            kind("order", ORDER, r#"{"number": "10482"}"#),
            kind("hobby", "", ""),
        ];
        assert_eq!(check_kinds(&kinds), Ok(()));
        let kinds = Kinds::new(&kinds);
        let told = |name: &str, attributes: &str| {
            let found = kinds.check_fields(name, &object(attributes));
            found.map_err(|invalid| invalid.to_string())
        };
        assert_eq!(told("", "{}"), Ok(()));
        assert_eq!(told("hobby", "{}"), Ok(()));
        let all = r#"{"number": "10482", "placed_on": "2024-05-01", "total": 19.9}"#;
        assert_eq!(told("order", all), Ok(()));
        for (name, attributes, parts) in [
            ("", r#"{"a": 1}"#, ["attributes: ", "require a kind"]),
            ("car", "{}", ["kind: ", "order, hobby"]),
            ("hobby", r#"{"a": 1}"#, ["hobby", "no attributes"]),
            ("order", "{}", ["attributes: ", "number"]),
            (
                "order",
                r#"{"number": "10482", "total": -1}"#,
                ["/total", ">=0"],
            ),
            (
                "order",
                r#"{"number": "10482", "placed_on": "today"}"#,
                ["/placed_on", "date"],
            ),
            ("order", r#"{"number": "x"}"#, ["/number", "pattern"]),
            (
                "order",
                r#"{"number": "10482", "color": "red"}"#,
                ["color", "not allowed"],
            ),
        ] {
            let problem = told(name, attributes).unwrap_err();
            for part in parts {
                assert!(problem.contains(part), "{name} {attributes}: {problem}");
            }
        }
    }

    #[test]
    fn an_example_that_does_not_fit_is_named() {
        let kinds = [kind("hobby", "", ""), kind("order", ORDER, "")];
        let InvalidFields(invalid) = check_kinds(&kinds).unwrap_err();
        assert_eq!(invalid.len(), 1, "{invalid:?}");
        assert_eq!(invalid[0].field, "memory_kinds[1].examples[0].attributes");
        assert!(invalid[0].problem.contains("number"), "{}", invalid[0]);
    }

    #[test]
    fn the_patterns_of_all_kinds_are_bounded_together() {
        let kinds: Vec<MemoryKind> = (0..5)
            .map(|number| {
                let patterns: Vec<String> = (0..8)
                    .map(|pattern| format!(r#"{{"pattern": "^{pattern}$"}}"#))
                    .collect();
                let schema = format!(r#"{{"anyOf": [{}]}}"#, patterns.join(","));
                kind(&format!("kind_{number}"), &schema, "")
            })
            .collect();
        assert_eq!(check_kinds(&kinds[..4]), Ok(()));
        let InvalidFields(invalid) = check_kinds(&kinds).unwrap_err();
        assert_eq!(invalid.len(), 1, "{invalid:?}");
        assert_eq!(invalid[0].field, "memory_kinds[4].json_schema");
        assert!(invalid[0].problem.contains("32 patterns"), "{}", invalid[0]);
    }

    #[test]
    fn kinds_are_compiled_once() {
        let kinds = [kind("order", ORDER, r#"{"number": "10482"}"#)];
        let first = Kinds::new(&kinds);
        assert!(Arc::ptr_eq(&first.kinds, &Kinds::new(&kinds).kinds));
        let mut changed = kinds.clone();
        changed[0].json_schema = "{}".to_owned();
        let changed = Kinds::new(&changed);
        assert_eq!(changed.check("order", &object("{}")), Ok(()));
        assert!(first.check("order", &object("{}")).is_err());
    }

    #[test]
    fn no_kinds_have_no_names() {
        let invalid = Kinds::default().check_fields("order", &object("{}"));
        let invalid = invalid.unwrap_err();
        assert!(invalid.problem.contains("no memory_kinds"), "{invalid}");
    }
}
