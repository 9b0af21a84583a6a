//! The kinds of an app.

use std::fmt;
use std::sync::OnceLock;

use memory_contract::{
    Invalid, InvalidFields,
    json::JsonObject,
    memory::{KindExample, MemoryKind},
};
use serde_json::Value;

use crate::schema::{Misfit, Schema};

/// The kinds of an app, ready to check attributes.
#[derive(Default)]
pub struct Kinds(Vec<Kind>);

struct Kind {
    kind: MemoryKind,
    /// The schema, compiled when it is first needed; the problem of one that cannot be.
    schema: OnceLock<Result<Schema, String>>,
}

impl fmt::Debug for Kinds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.0.iter().map(|kind| &kind.kind.name);
        f.debug_list().entries(names).finish()
    }
}

/// Checks the kinds of a policy: that each schema can be used, and that the attributes of each
/// example fit it.
///
/// # Errors
/// Every field that is wrong, with its path from `memory_kinds` on.
pub fn check_kinds(kinds: &[MemoryKind]) -> Result<(), InvalidFields> {
    let mut invalid = Vec::new();
    for (index, kind) in Kinds::new(kinds).0.iter().enumerate() {
        let at = format!("memory_kinds[{index}]");
        if let Err(problem) = kind.schema() {
            invalid.push(Invalid::new(format!("{at}.json_schema"), problem));
            continue;
        }
        for (number, example) in kind.kind.examples.iter().enumerate() {
            if let Err(misfit) = kind.check_example(example) {
                let field = format!("{at}.examples[{number}].attributes");
                invalid.push(Invalid::new(field, kind.told(&misfit)));
            }
        }
    }
    InvalidFields::none_of(invalid)
}

impl Kinds {
    /// Takes the kinds of a policy.
    pub fn new(kinds: &[MemoryKind]) -> Self {
        let kind = |kind: &MemoryKind| Kind {
            kind: kind.clone(),
            schema: OnceLock::new(),
        };
        Self(kinds.iter().map(kind).collect())
    }

    /// Whether the app has no kinds.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The kinds, in their order.
    pub fn iter(&self) -> impl Iterator<Item = &MemoryKind> {
        self.0.iter().map(|kind| &kind.kind)
    }

    /// Checks that a kind exists, and that attributes fit its schema.
    ///
    /// # Errors
    /// [`Misfit`].
    pub fn check(&self, name: &str, attributes: &JsonObject) -> Result<(), Misfit> {
        let mut kinds = self.0.iter();
        let kind = kinds.find(|kind| kind.kind.name == name);
        kind.ok_or(Misfit::UnknownKind)?.check(attributes.as_str())
    }

    /// Checks the fields `kind` and `attributes` of a memory that a caller stores. A memory of no
    /// kind fits.
    ///
    /// # Errors
    /// The field that is wrong, and the kinds that exist or the place in the attributes.
    pub fn check_fields(&self, name: &str, attributes: &JsonObject) -> Result<(), Invalid> {
        if name.is_empty() {
            return match attributes.is_empty() {
                true => Ok(()),
                false => Err(Invalid::new("attributes", "require a kind; set kind too")),
            };
        }
        let Some(kind) = self.0.iter().find(|kind| kind.kind.name == name) else {
            return Err(Invalid::new("kind", self.told_names()));
        };
        let fits = kind.check(attributes.as_str());
        fits.map_err(|misfit| Invalid::new("attributes", kind.told(&misfit)))
    }

    fn told_names(&self) -> String {
        if self.0.is_empty() {
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
        match self.schema() {
            Ok(Some(schema)) => schema.check(&value),
            Ok(None) if value.as_object().is_some_and(|all| all.is_empty()) => Ok(()),
            Ok(None) => Err(Misfit::of_all("the kind has no attributes")),
            Err(problem) => Err(Misfit::of_all(problem)),
        }
    }

    /// The schema; `None` if the kind has no attributes.
    fn schema(&self) -> Result<Option<&Schema>, &str> {
        if self.kind.json_schema.is_empty() {
            return Ok(None);
        }
        let compile = || Schema::compile(&self.kind.json_schema);
        match self.schema.get_or_init(compile) {
            Ok(schema) => Ok(Some(schema)),
            Err(problem) => Err(problem.as_str()),
        }
    }

    /// A misfit as a caller is told it.
    fn told(&self, misfit: &Misfit) -> String {
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
    fn attributes_that_do_not_fit_are_told_by_place() {
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
    fn no_kinds_have_no_names() {
        let invalid = Kinds::default().check_fields("order", &object("{}"));
        let invalid = invalid.unwrap_err();
        assert!(invalid.problem.contains("no memory_kinds"), "{invalid}");
    }
}
