//! The JSON Schema of a kind's attributes.
//!
//! Schemas come from callers, so their cost is bounded before they are compiled.

use boon::{
    CompileError, Compiler, Draft, ErrorKind, SchemaIndex, Schemas, SchemeUrlLoader,
    ValidationError,
};
use memory_contract::limits;
use regex::RegexBuilder;
use serde_json::{Map, Value};

/// Names the schema for the compiler, which reads nothing from there.
const URL: &str = "https://kinds.invalid/schema.json";
/// The dialect of all schemas.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";
/// Characters of a problem, which may quote a value.
const PROBLEM_CHARS: usize = 300;

/// Why a memory does not fit the kinds of its app.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Misfit {
    /// The app has no such kind.
    UnknownKind,
    /// The attributes do not fit the schema of the kind.
    Attributes {
        /// The JSON pointer of the wrong value; empty: the attributes as a whole.
        at: String,
        /// What is wrong. It may quote the value.
        problem: String,
        /// The JSON pointer of the subschema that the value does not fit, which quotes nothing of
        /// the attributes; empty: the schema as a whole.
        rule: String,
    },
}

impl Misfit {
    /// Of the attributes as a whole.
    pub(crate) fn of_all(problem: &str) -> Self {
        Self::Attributes {
            at: String::new(),
            problem: problem.to_owned(),
            rule: String::new(),
        }
    }

    fn of(error: &ValidationError<'_, '_>) -> Self {
        let error = first_cause(error);
        let rule = error.schema_url.split_once('#');
        Self::Attributes {
            at: error.instance_location.to_string(),
            problem: short(&error.kind.to_string()),
            rule: rule.map_or("", |(_, pointer)| pointer).to_owned(),
        }
    }
}

/// A compiled schema.
pub(crate) struct Schema {
    schemas: Schemas,
    index: SchemaIndex,
}

impl Schema {
    /// Compiles the text of a schema. `patterns` is the number of regular expressions in the
    /// app's schemas before it; those of this one are added, also those of one that is refused.
    ///
    /// # Errors
    /// What is wrong with it, for the caller who wrote it.
    pub(crate) fn compile(text: &str, patterns: &mut usize) -> Result<Self, String> {
        let schema: Value = serde_json::from_str(text).map_err(|_| "must be JSON".to_owned())?;
        Walk::through(&schema, patterns)?;
        let mut compiler = Compiler::new();
        compiler.set_default_draft(Draft::V2020_12);
        compiler.enable_format_assertions();
        // Without a scheme it loads nothing.
        compiler.use_loader(Box::new(SchemeUrlLoader::new()));
        let mut schemas = Schemas::new();
        let added = compiler.add_resource(URL, schema);
        added.map_err(|error| told(&error))?;
        let index = compiler.compile(URL, &mut schemas);
        let index = index.map_err(|error| told(&error))?;
        Ok(Self { schemas, index })
    }

    /// Checks attributes.
    ///
    /// # Errors
    /// The first value that does not fit.
    pub(crate) fn check(&self, attributes: &Value) -> Result<(), Misfit> {
        let checked = self.schemas.validate(attributes, self.index);
        checked.map_err(|error| Misfit::of(&error))
    }
}

/// The error that says most: the first one below those that only lead to others.
fn first_cause<'e, 's, 'v>(mut error: &'e ValidationError<'s, 'v>) -> &'e ValidationError<'s, 'v> {
    while matches!(
        error.kind,
        ErrorKind::Group
            | ErrorKind::Schema { .. }
            | ErrorKind::Reference { .. }
            | ErrorKind::AllOf
    ) && let Some(cause) = error.causes.first()
    {
        error = cause;
    }
    error
}

/// The pattern with `\d` and `\w` as JSON Schema means them, and as they are compiled: ASCII digits
/// and letters. Those of all languages take much more room.
fn with_ascii_classes(pattern: &str) -> String {
    let mut text = String::with_capacity(pattern.len());
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        match (letter, letters.clone().next()) {
            ('\\', Some('d')) => text.push_str("[0-9]"),
            ('\\', Some('D')) => text.push_str("[^0-9]"),
            ('\\', Some('w')) => text.push_str("[0-9A-Za-z_]"),
            ('\\', Some('W')) => text.push_str("[^0-9A-Za-z_]"),
            ('\\', Some(other)) => text.extend(['\\', other]),
            _ => {
                text.push(letter);
                continue;
            }
        }
        letters.next();
    }
    text
}

fn told(error: &CompileError) -> String {
    match error {
        CompileError::ValidationError { src, .. } => {
            let error = first_cause(src);
            let at = &error.instance_location;
            short(&format!("must be a JSON Schema: at {at}: {}", error.kind))
        }
        other => short(&format!("must be a JSON Schema: {other:#}")),
    }
}

fn short(problem: &str) -> String {
    match problem.char_indices().nth(PROBLEM_CHARS) {
        Some((end, _)) => format!("{}…", &problem[..end]),
        None => problem.to_owned(),
    }
}

/// Walks through a schema, as often as references lead through its parts.
struct Walk<'a> {
    definitions: Option<&'a Map<String, Value>>,
    /// The definitions that the walk is in.
    within: Vec<&'a str>,
    depth: usize,
    subschemas: usize,
    /// Of this schema and of those before it.
    patterns: &'a mut usize,
}

impl<'a> Walk<'a> {
    fn through(schema: &'a Value, patterns: &'a mut usize) -> Result<(), String> {
        let mut walk = Self {
            definitions: schema.get("$defs").and_then(Value::as_object),
            within: Vec::new(),
            depth: 0,
            subschemas: 0,
            patterns,
        };
        walk.schema(schema)
    }

    fn schema(&mut self, schema: &'a Value) -> Result<(), String> {
        self.subschemas += 1;
        if self.subschemas > limits::KIND_SUBSCHEMAS {
            let most = limits::KIND_SUBSCHEMAS;
            return Err(format!(
                "must have at most {most} subschemas, counted as often as `$ref` leads to them"
            ));
        }
        if self.depth >= limits::KIND_SCHEMA_DEPTH {
            let most = limits::KIND_SCHEMA_DEPTH;
            return Err(format!(
                "must be at most {most} levels deep, those of `$ref` included"
            ));
        }
        // The compiler refuses what is neither an object nor true or false.
        let Value::Object(keywords) = schema else {
            return Ok(());
        };
        self.depth += 1;
        for (keyword, value) in keywords {
            self.keyword(keyword, value)?;
        }
        self.depth -= 1;
        Ok(())
    }

    fn keyword(&mut self, keyword: &str, value: &'a Value) -> Result<(), String> {
        match keyword {
            "$ref" => self.reference(value),
            "$schema" if value.as_str() != Some(DIALECT) => {
                Err(format!("must have no `$schema`, or {DIALECT}"))
            }
            "$id" | "$anchor" | "$dynamicAnchor" | "$dynamicRef" | "$recursiveAnchor"
            | "$recursiveRef" | "$vocabulary" | "additionalItems" | "dependencies" => {
                Err(format!("must not use the keyword `{keyword}`"))
            }
            "format" if value.as_str() == Some("regex") => {
                Err("must not use the format `regex`".to_owned())
            }
            "pattern" => match value.as_str() {
                Some(pattern) => self.pattern(pattern),
                None => Ok(()),
            },
            "patternProperties" => {
                for (pattern, schema) in value.as_object().into_iter().flatten() {
                    self.pattern(pattern)?;
                    self.schema(schema)?;
                }
                Ok(())
            }
            "$defs" | "dependentSchemas" | "properties" => {
                let schemas = value.as_object().into_iter().flatten();
                schemas
                    .map(|(_, schema)| schema)
                    .try_for_each(|schema| self.schema(schema))
            }
            "allOf" | "anyOf" | "oneOf" | "prefixItems" => {
                let mut schemas = value.as_array().into_iter().flatten();
                schemas.try_for_each(|schema| self.schema(schema))
            }
            "additionalProperties"
            | "contains"
            | "contentSchema"
            | "else"
            | "if"
            | "items"
            | "not"
            | "propertyNames"
            | "then"
            | "unevaluatedItems"
            | "unevaluatedProperties" => self.schema(value),
            _ => Ok(()),
        }
    }

    /// Follows a reference to a definition of the schema itself.
    fn reference(&mut self, value: &'a Value) -> Result<(), String> {
        let name = value
            .as_str()
            .and_then(|path| path.strip_prefix("#/$defs/"));
        // Other characters could be escapes, which lead to another name.
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
        let name = name.filter(|name| name.bytes().all(plain));
        let found = name.and_then(|name| Some((name, self.definitions?.get(name)?)));
        let Some((name, definition)) = found else {
            return Err(
                "must have references of the form `#/$defs/NAME` alone, to a definition that \
                 the schema has at its top"
                    .to_owned(),
            );
        };
        if self.within.contains(&name) {
            return Err("must not have references that lead back to themselves".to_owned());
        }
        self.within.push(name);
        self.schema(definition)?;
        self.within.pop();
        Ok(())
    }

    fn pattern(&mut self, pattern: &str) -> Result<(), String> {
        // A definition's own patterns count where it stands.
        if !self.within.is_empty() {
            return Ok(());
        }
        *self.patterns += 1;
        if *self.patterns > limits::KIND_PATTERNS {
            let most = limits::KIND_PATTERNS;
            return Err(format!(
                "must have at most {most} patterns, those of the kinds before it included"
            ));
        }
        let mut builder = RegexBuilder::new(&with_ascii_classes(pattern));
        match builder.size_limit(limits::KIND_PATTERN_BYTES).build() {
            Ok(_) => Ok(()),
            Err(regex::Error::CompiledTooBig(most)) => Err(format!(
                "must have patterns of at most {most} bytes, compiled; bound the length of a \
                 value with maxLength"
            )),
            Err(error) => Err(short(&format!(
                "must have regular expressions without look-around and back-references: {error}"
            ))),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn problem(schema: &Value) -> String {
        match Schema::compile(&schema.to_string(), &mut 0) {
            Ok(_) => String::new(),
            Err(problem) => problem,
        }
    }

    #[test]
    fn a_schema_that_leads_elsewhere_is_refused() {
        for reference in [
            "https://example.org/schema.json",
            "file:///etc/passwd",
            "other.json#/$defs/a",
            "#/properties/a",
            "#/$defs/unknown",
            "#/$defs/a/items",
            "#/$defs/a~1b",
            "#/$defs/%61",
            "#a",
            "",
        ] {
            let schema = json!({"properties": {"a": {"$ref": reference}}, "$defs": {"a": true, "a~1b": true, "%61": true}});
            let problem = problem(&schema);
            assert!(problem.contains("#/$defs/NAME"), "{reference}: {problem}");
        }
        for keyword in ["$id", "$anchor", "$dynamicRef", "dependencies"] {
            let problem = problem(&json!({"properties": {"a": {keyword: "b"}}}));
            assert!(problem.contains(keyword), "{problem}");
        }
        let draft = json!({"$schema": "http://json-schema.org/draft-07/schema#"});
        assert!(problem(&draft).contains("2020-12"));
        assert_eq!(problem(&json!({"$schema": DIALECT})), "");
    }

    #[test]
    fn references_cannot_multiply_nor_return() {
        let mut definitions = Map::new();
        definitions.insert("d0".to_owned(), json!({"type": "string"}));
        for level in 1..12 {
            let below = json!({"$ref": format!("#/$defs/d{}", level - 1)});
            let twice = json!({"anyOf": [below, below]});
            definitions.insert(format!("d{level}"), twice);
        }
        let schema = json!({"$defs": definitions});
        let told = problem(&schema);
        assert!(
            told.contains("subschemas") || told.contains("deep"),
            "{told}"
        );
        let back = json!({"$defs": {"a": {"items": {"$ref": "#/$defs/a"}}}});
        assert!(problem(&back).contains("back to themselves"));
    }

    #[test]
    fn patterns_are_bounded() {
        let of = |pattern: &str| json!({"properties": {"a": {"pattern": pattern}}});
        assert_eq!(problem(&of(r"^[\w-]{1,64}$")), "");
        assert_eq!(problem(&of(r"^\d{4}-\d{2}$")), "");
        assert_eq!(problem(&of(r"^\D+\W+\p{L}+$")), "");
        for pattern in [r"(?=a)b", r"(a)\1", "("] {
            let told = problem(&of(pattern));
            assert!(told.contains("regular expressions"), "{pattern}: {told}");
        }
        for pattern in [r"((a{500}){500}){500}", r"\p{L}{300}", r"[\p{L}\s]{1,50}"] {
            let told = problem(&of(pattern));
            assert!(told.contains("maxLength"), "{pattern}: {told}");
        }
        let many: Vec<Value> = (0..33).map(|n| json!({"pattern": n.to_string()})).collect();
        assert_eq!(problem(&json!({"anyOf": many[..32]})), "");
        assert!(problem(&json!({"anyOf": many})).contains("32 patterns"));
    }

    #[test]
    fn what_is_no_schema_is_told() {
        for schema in [
            json!({"type": "text"}),
            json!({"minimum": "1"}),
            json!({"properties": []}),
            json!({"required": "a"}),
        ] {
            let told = problem(&schema);
            assert!(told.contains("JSON Schema"), "{schema}: {told}");
        }
    }

    #[test]
    fn the_rule_quotes_nothing_of_the_attributes() {
        let schema =
            json!({"properties": {"a": {"type": "number"}}, "additionalProperties": false});
        let schema = Schema::compile(&schema.to_string(), &mut 0);
        let schema = schema.unwrap_or_else(|why| panic!("{why}"));
        let rule = |attributes: Value| match schema.check(&attributes) {
            Err(Misfit::Attributes { rule, .. }) => rule,
            other => panic!("{other:?}"),
        };
        assert_eq!(rule(json!({"a": "secret"})), "/properties/a");
        assert_eq!(rule(json!({"secret": 1})), "");
    }

    proptest! {
        #[test]
        fn any_schema_is_taken_or_refused(
            keyword in "[$a-zA-Z]{1,12}",
            text in "\\PC{0,20}",
        ) {
            for value in [json!(text), json!([text]), json!({text.clone(): text}), json!(1)] {
                let _ = problem(&json!({keyword.clone(): value}));
            }
        }
    }
}
