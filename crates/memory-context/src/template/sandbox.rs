//! Runs a template that a caller sent. It can print values, choose, and apply five
//! filters. It has no loops, no variables and no operator that makes texts longer, so
//! its cost is bounded by its length.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use memory_contract::{Invalid, check, limits};
use minijinja::{AutoEscape, Environment, ErrorKind, UndefinedBehavior, Value};

const NAME: &str = "template";
/// The blocks that are allowed.
const BLOCKS: [&str; 4] = ["if", "elif", "else", "endif"];
/// Steps of one rendering; each value printed or filtered takes two or three.
const FUEL: u64 = 500;
/// The longest text of one rendering, in bytes.
pub const RENDERED_BYTES: usize = 1024 * 1024;

/// A template that has been checked.
#[derive(Clone, Debug)]
pub(super) struct Sandbox {
    environment: Arc<Environment<'static>>,
    /// The request's field that the template comes from.
    field: &'static str,
}

impl Sandbox {
    /// Compiles a template that can use `values`. Unknown filters and wrong types
    /// only show while rendering: the caller renders test values.
    ///
    /// # Errors
    /// A template that is too long, does not parse, or uses a block, operator or
    /// value that is not allowed.
    pub fn compile(field: &'static str, source: String, values: &[&str]) -> Result<Self, Invalid> {
        let source = check::long_text(field, source, limits::TEMPLATE_BYTES)?;
        let mut environment = Environment::empty();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_auto_escape_callback(|_| AutoEscape::None);
        environment.set_fuel(Some(FUEL));
        environment.set_keep_trailing_newline(true);
        environment.add_filter("upper", |text: String| text.to_uppercase());
        environment.add_filter("lower", |text: String| text.to_lowercase());
        environment.add_filter("trim", |text: String| text.trim().to_owned());
        environment.add_filter("truncate", |text: String, chars: usize| -> String {
            text.chars().take(chars).collect()
        });
        environment.add_filter(
            "default",
            |text: String, other: String| {
                if text.is_empty() { other } else { text }
            },
        );
        environment
            .add_template_owned(NAME, source.clone())
            .map_err(|error| invalid(field, &error))?;
        only_plain_syntax(&source).map_err(|problem| Invalid::new(field, problem))?;
        let sandbox = Self {
            environment: Arc::new(environment),
            field,
        };
        let mut names = sandbox.names()?.into_iter();
        match names.find(|name| !values.contains(&name.as_str())) {
            Some(name) => Err(Invalid::new(
                field,
                format!("uses {name:?}; the values are {}", values.join(", ")),
            )),
            None => Ok(sandbox),
        }
    }

    /// The values that the template uses.
    pub fn names(&self) -> Result<BTreeSet<String>, Invalid> {
        let template = self.environment.get_template(NAME);
        let template = template.map_err(|error| invalid(self.field, &error))?;
        Ok(template.undeclared_variables(false).into_iter().collect())
    }

    /// Renders one text.
    pub fn render(&self, values: Value) -> Result<String, Invalid> {
        let template = self.environment.get_template(NAME);
        let template = template.map_err(|error| invalid(self.field, &error))?;
        let mut output = Bounded(Vec::new());
        template
            .render_captured_to(values, &mut output)
            .map_err(|error| invalid(self.field, &error))?;
        String::from_utf8(output.0).map_err(|_| Invalid::new(self.field, "does not render UTF-8"))
    }
}

/// Refuses loops, assignments, macros, and operators that build longer texts.
/// Quoted text inside a tag is skipped. Braces inside a tag and raw blocks are
/// refused too, because this scan could not find the end of a tag with them.
fn only_plain_syntax(source: &str) -> Result<(), String> {
    let mut rest = source;
    while let Some(start) = ["{%", "{{", "{#"]
        .iter()
        .filter_map(|open| rest.find(open))
        .min()
    {
        let (open, inside) = rest[start..].split_at(2);
        if open == "{#" {
            rest = inside.split_once("#}").map_or("", |(_, after)| after);
            continue;
        }
        let block = open == "{%";
        let end = if block { "%}" } else { "}}" };
        let (tag, after) = split_tag(inside, end);
        if block {
            let word: String = tag
                .trim_start_matches(['-', '+'])
                .trim_start()
                .chars()
                .take_while(char::is_ascii_alphabetic)
                .collect();
            if !BLOCKS.contains(&word.as_str()) {
                return Err(format!(
                    "uses the block {word:?}; the blocks are {}",
                    BLOCKS.join(", ")
                ));
            }
        }
        let body = tag
            .trim_start_matches(['-', '+'])
            .trim_end_matches(['-', '+']);
        if let Some(operator) = outside_quotes(body).find(|c| "~+*[{}".contains(*c)) {
            return Err(format!(
                "uses `{operator}` in a tag, which is not allowed; adjacent tags and text are joined without an operator"
            ));
        }
        rest = after;
    }
    Ok(())
}

/// Splits at the end of a tag; an end between quotes does not count.
fn split_tag<'a>(inside: &'a str, end: &str) -> (&'a str, &'a str) {
    let mut quote = None;
    let mut escaped = false;
    for (at, c) in inside.char_indices() {
        match quote {
            Some(_) if escaped => escaped = false,
            Some(_) if c == '\\' => escaped = true,
            Some(open) if c == open => quote = None,
            Some(_) => {}
            None if c == '"' || c == '\'' => quote = Some(c),
            None if inside[at..].starts_with(end) => {
                return (&inside[..at], &inside[at + end.len()..]);
            }
            None => {}
        }
    }
    (inside, "")
}

fn outside_quotes(tag: &str) -> impl Iterator<Item = char> + '_ {
    let mut quote = None;
    let mut escaped = false;
    tag.chars().filter(move |&c| match quote {
        Some(_) if escaped => {
            escaped = false;
            false
        }
        Some(_) if c == '\\' => {
            escaped = true;
            false
        }
        Some(open) if c == open => {
            quote = None;
            false
        }
        Some(_) => false,
        None if c == '"' || c == '\'' => {
            quote = Some(c);
            false
        }
        None => true,
    })
}

/// A buffer that refuses to exceed [`RENDERED_BYTES`].
struct Bounded(Vec<u8>);

impl io::Write for Bounded {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.len() + bytes.len() > RENDERED_BYTES {
            return Err(io::ErrorKind::FileTooLarge.into());
        }
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn invalid(field: &str, error: &minijinja::Error) -> Invalid {
    let problem = match error.kind() {
        ErrorKind::WriteFailure => {
            format!("renders more than {RENDERED_BYTES} bytes; the limit is for one text")
        }
        ErrorKind::OutOfFuel => format!("takes more than {FUEL} steps to render; make it shorter"),
        kind => {
            let line = match error.line() {
                Some(line) => format!(" (line {line})"),
                None => String::new(),
            };
            match error.detail() {
                Some(detail) => format!("is not a valid template: {kind}: {detail}{line}"),
                None => format!("is not a valid template: {kind}{line}"),
            }
        }
    };
    Invalid::new(field, problem)
}
