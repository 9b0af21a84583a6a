//! The template that the current input's text is put into.

use std::sync::Arc;

use memory_contract::{Invalid, InvalidFields};
use minijinja::{Environment, context};

use crate::error::ApiError;
use crate::services::template::{Bounded, invalid, only_plain_syntax, sandbox};

const FIELD: &str = "query_prompt_template";
/// What a template may name.
const VALUES: [&str; 4] = ["query", "name", "user_label", "assistant_label"];

/// A template that has been checked. What its values hold is never read as a
/// template.
#[derive(Clone, Debug)]
pub(super) struct QueryTemplate(Arc<Environment<'static>>);

impl QueryTemplate {
    /// Checks a template.
    ///
    /// # Errors
    /// One that does not compile, or does not use `query`.
    pub(super) fn compile(source: &str) -> Result<Self, Invalid> {
        let mut environment = sandbox();
        environment
            .add_template_owned(FIELD, source.to_owned())
            .map_err(|error| named(invalid(&error)))?;
        only_plain_syntax(source).map_err(named)?;
        let template = Self(Arc::new(environment));
        let names = template
            .0
            .get_template(FIELD)
            .map_err(|error| named(invalid(&error)))?
            .undeclared_variables(false);
        if let Some(name) = names.iter().find(|name| !VALUES.contains(&name.as_str())) {
            return Err(Invalid::new(
                FIELD,
                format!("names {name:?}; there are {}", VALUES.join(", ")),
            ));
        }
        if !names.contains("query") {
            return Err(Invalid::new(FIELD, "must use `query`"));
        }
        Ok(template)
    }

    /// Puts the values into the template.
    ///
    /// # Errors
    /// A text that becomes too long.
    pub(super) fn render(
        &self,
        query: &str,
        name: &str,
        user_label: &str,
        assistant_label: &str,
    ) -> Result<String, ApiError> {
        let values = context! { query, name, user_label, assistant_label };
        let mut output = Bounded(Vec::new());
        let rendered = self
            .0
            .get_template(FIELD)
            .and_then(|template| template.render_captured_to(values, &mut output).map(drop));
        rendered.map_err(|error| InvalidFields::from(named(invalid(&error))))?;
        let text = String::from_utf8(output.0)
            .map_err(|_| Invalid::new(FIELD, "does not render UTF-8"))?;
        Ok(text)
    }
}

fn named(invalid: Invalid) -> Invalid {
    Invalid::new(FIELD, invalid.problem)
}
