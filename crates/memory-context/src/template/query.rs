//! `query_prompt_template` of a policy: wraps the text of the current input.

use memory_contract::Invalid;
use minijinja::context;

use super::sandbox::Sandbox;

const FIELD: &str = "query_prompt_template";
/// The values that a template can use.
const VALUES: [&str; 4] = ["assistant_label", "name", "query", "user_label"];

/// A `query_prompt_template` that compiled and rendered test values.
#[derive(Clone, Debug)]
pub struct QueryTemplate(Sandbox);

impl QueryTemplate {
    /// Compiles a template.
    ///
    /// # Errors
    /// One that does not compile, fails with any text, has loops or operators
    /// that make texts grow, or does not use `query`.
    pub fn compile(source: &str) -> Result<Self, Invalid> {
        let sandbox = Sandbox::compile(FIELD, source.to_owned(), &VALUES)?;
        if !sandbox.names()?.contains("query") {
            return Err(Invalid::new(
                FIELD,
                "must use `query`, or the input would be lost",
            ));
        }
        let template = Self(sandbox);
        for text in ["text", ""] {
            template.render(text, text, text, text)?;
        }
        Ok(template)
    }

    /// Renders the template with the text of an input. Values are never parsed as
    /// template syntax.
    ///
    /// # Errors
    /// A text that exceeds [`RENDERED_BYTES`](super::RENDERED_BYTES), or a failure that
    /// only shows with this input.
    pub fn render(
        &self,
        query: &str,
        name: &str,
        user_label: &str,
        assistant_label: &str,
    ) -> Result<String, Invalid> {
        self.0
            .render(context! { query, name, user_label, assistant_label })
    }
}

#[cfg(test)]
mod tests {
    use super::super::sandbox::RENDERED_BYTES;
    use super::*;

    fn render(template: &str, query: &str) -> Result<String, Invalid> {
        QueryTemplate::compile(template)?.render(query, "Ada", "Human", "Assistant")
    }

    #[test]
    fn the_input_is_only_ever_a_value() {
        let check = |template: &str, query: &str, expected: &str| {
            assert_eq!(render(template, query).unwrap(), expected, "{template}");
        };
        check("Q: {{ query }}", "{{ 7*7 }}", "Q: {{ 7*7 }}");
        check(
            "{{ query }}",
            "{% for x in y %}{% endfor %}{# no #}<b>",
            "{% for x in y %}{% endfor %}{# no #}<b>",
        );
        check(
            "{{ name }} ({{ user_label }}): {{ query | trim }}\n{{ assistant_label }}:\n",
            " Hello ",
            "Ada (Human): Hello\nAssistant:\n",
        );
        check("{% if query %}{{ query }}{% else %}?{% endif %}", "", "?");
    }

    #[test]
    fn a_template_that_fails_or_grows_is_refused() {
        let long = format!("{{{{ query }}}}{}", "x".repeat(4_096));
        let steps = format!("{{{{ query{} }}}}", "|trim".repeat(700));
        for template in [
            "",
            "Hello",
            "{{ name }}",
            "{{ query",
            "{{ query }}{{ secret }}",
            "{{ query | nothing }}",
            "{{ query.x.y }}",
            "{{ query * 9 }}",
            "{{ query ~ query }}",
            "{% for c in query %}{{ c }}{% endfor %}",
            "{% for i in range(1000000000) %}{{ query }}{% endfor %}",
            "{% set a = query %}{{ a }}",
            "{% macro m() %}{{ m() }}{% endmacro %}{{ query }}",
            "{% include 'x' %}{{ query }}",
            long.as_str(),
            steps.as_str(),
        ] {
            let invalid = QueryTemplate::compile(template).unwrap_err();
            assert_eq!(invalid.field, "query_prompt_template", "{template}");
        }
    }

    #[test]
    fn problems_are_reported_with_their_line() {
        let invalid = QueryTemplate::compile("{{ query }}\n\n{% if %}").unwrap_err();
        assert!(invalid.problem.contains("line 3"), "{invalid}");
    }

    #[test]
    fn a_result_has_a_largest_size() {
        let invalid = render("{{ query }}{{ query }}", &"x".repeat(RENDERED_BYTES)).unwrap_err();
        assert!(invalid.problem.contains("bytes"), "{invalid}");
    }
}
