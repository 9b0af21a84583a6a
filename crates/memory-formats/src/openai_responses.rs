//! `{"instructions": …, "input": […]}` of OpenAI's responses.
//!
//! Body, the system prompt is `instructions`, and each message becomes items: texts and
//! images a `message`, calls `function_call`, results `function_call_output`, reasoning of
//! this API `reasoning`. Reasoning that no item of the model follows is left out, because the
//! API refuses it. Names of speakers have no field there.

use crate::format::{Body, Said};
use crate::image::{image, is_reference};
use crate::json::{Node, Object, list, quoted};
use crate::reading::{ReadMessage, Reading, opaque};
use crate::steps::{Answered, PieceContent, Rules, Step, is_web_image, output_text, steps};
use memory_contract::proto::{self, part::Content, tool_result_part};
use memory_contract::{
    Invalid,
    file::ImageDetail,
    message::{Opaque, Provider, Reasoning, Role, ToolOutput, ToolResult},
    text,
};

const PROVIDER: Provider = Provider::OpenaiResponses;
const RULES: Rules = Rules {
    provider: PROVIDER,
    id_chars: 64,
    name_chars: 64,
    marks: "_-",
};

/// Writes messages.
pub(crate) fn write(messages: &[Said<'_>], detail: ImageDetail) -> Body {
    let (prompts, spoken): (Vec<Said<'_>>, Vec<Said<'_>>) =
        messages.iter().partition(|said| said.is_prompt);
    let instructions: Vec<String> = prompts
        .iter()
        .map(|said| text::of_parts(said.parts))
        .collect();
    let mut items = Items {
        detail,
        ..Items::default()
    };
    for step in steps(&spoken, RULES, is_web_image) {
        items.step(&step);
    }
    let body = Object::default().optional("instructions", &instructions.join("\n\n"));
    Body {
        body: body.json("input", &list(items.written)).finish(),
        provider_parts: items.provider_parts,
    }
}

/// The items of `input`.
#[derive(Default)]
struct Items {
    /// The detail of images.
    detail: ImageDetail,
    written: Vec<String>,
    /// Reasoning that nothing of the model has followed yet.
    reasoning: Vec<String>,
    provider_parts: usize,
}

impl Items {
    fn step(&mut self, step: &Step<'_>) {
        let is_models = step.role == Role::Assistant;
        let mut contents: Vec<&PieceContent<'_>> = Vec::new();
        for piece in &step.pieces {
            let item = match &piece.content {
                PieceContent::Text(_) | PieceContent::File(..) => None,
                PieceContent::Opaque(opaque) => {
                    self.provider_parts += 1;
                    (!is_content(opaque)).then(|| opaque.json.clone())
                }
                PieceContent::Call(answered) => Some(call(answered)),
                PieceContent::Reasoning(thought) => {
                    self.message(step.role, &mut contents);
                    self.reasoning.extend(reasoning(thought));
                    continue;
                }
            };
            match item {
                None => contents.push(&piece.content),
                Some(item) => {
                    self.message(step.role, &mut contents);
                    self.item(item, is_models);
                }
            }
        }
        if step.pieces.is_empty() {
            contents.push(&EMPTY);
        }
        self.message(step.role, &mut contents);
        for answered in step.calls() {
            let (output, opaque) = output(answered.result, self.detail);
            self.provider_parts += opaque;
            let item = Object::with("type", "function_call_output")
                .string("call_id", &answered.id)
                .json("output", &output);
            self.item(item.finish(), false);
        }
    }

    /// Writes the contents collected so far as one message.
    fn message(&mut self, role: Role, contents: &mut Vec<&PieceContent<'_>>) {
        let (name, kind) = match role {
            Role::System => ("system", "input_text"),
            Role::Assistant => ("assistant", "output_text"),
            Role::User | Role::Tool => ("user", "input_text"),
        };
        let contents = std::mem::take(contents);
        let is_text = |content: &&PieceContent<'_>| matches!(content, PieceContent::Text(_));
        // A list of a model's texts is an item that the API made and has an id.
        let each_alone = role == Role::Assistant && contents.iter().all(is_text);
        let messages: Vec<&[&PieceContent<'_>]> = match each_alone {
            true => contents.chunks(1).collect(),
            false => contents.chunks(contents.len().max(1)).collect(),
        };
        for contents in messages {
            let content = match contents {
                [PieceContent::Text(text)] => quoted(text),
                contents => list(
                    contents
                        .iter()
                        .flat_map(|content| parts(content, kind, self.detail)),
                ),
            };
            let message = Object::with("type", "message").string("role", name);
            let message = message.json("content", &content).finish();
            self.item(message, role == Role::Assistant);
        }
    }

    /// Writes an item, and before an item of the model the reasoning that led to it.
    fn item(&mut self, item: String, is_models: bool) {
        let reasoning = std::mem::take(&mut self.reasoning);
        if is_models {
            self.provider_parts += reasoning.len();
            self.written.extend(reasoning);
        }
        self.written.push(item);
    }
}

static EMPTY: PieceContent<'static> = PieceContent::Text(String::new());

/// Whether an opaque part is in the content of a message and not between messages.
fn is_content(opaque: &Opaque) -> bool {
    let kind = opaque.kind.as_str();
    kind.starts_with("input_") || kind.starts_with("output_") || kind == "refusal"
}

fn parts(content: &PieceContent<'_>, kind: &str, detail: ImageDetail) -> Vec<String> {
    let text = |text: &str| Object::with("type", kind).string("text", text).finish();
    match content {
        PieceContent::Text(said) => vec![text(said)],
        PieceContent::File(file, url) => {
            let image = input_image(url, detail);
            let caption = Some(&file.caption).filter(|caption| !caption.is_empty());
            let caption = caption.map(|caption| text(caption));
            [image].into_iter().chain(caption).collect()
        }
        PieceContent::Opaque(opaque) => vec![opaque.json.clone()],
        PieceContent::Call(_) | PieceContent::Reasoning(_) => Vec::new(),
    }
}

/// An image. The API's schema requires the level of detail.
fn input_image(url: &str, detail: ImageDetail) -> String {
    Object::with("type", "input_image")
        .string("image_url", url)
        .string("detail", detail.as_str())
        .finish()
}

fn call(answered: &Answered<'_>) -> String {
    Object::with("type", "function_call")
        .string("call_id", &answered.id)
        .string("name", &answered.tool)
        .string("arguments", &answered.call.arguments)
        .finish()
}

/// A string, or a list if there are images or opaque pieces; and the number of the latter.
fn output(result: &ToolResult, detail: ImageDetail) -> (String, usize) {
    let own = |output: &&ToolOutput| matches!(output, ToolOutput::Opaque(opaque) if opaque.provider == PROVIDER);
    let opaque = result.output.iter().filter(own).count();
    let is_image =
        |output: &ToolOutput| matches!(output, ToolOutput::File(file) if is_web_image(file));
    if opaque == 0 && !result.output.iter().any(is_image) {
        return (quoted(&output_text(result)), 0);
    }
    let text = |text: &str| Object::with("type", "input_text").string("text", text);
    let items = result.output.iter().filter_map(|output| match output {
        ToolOutput::Text(said) | ToolOutput::Json(said) => Some(text(said).finish()),
        ToolOutput::File(file) if is_web_image(file) => {
            Some(input_image(file.location.as_str(), detail))
        }
        ToolOutput::File(file) => Some(text(&text::of_file(file)).finish()),
        ToolOutput::Opaque(opaque) => (opaque.provider == PROVIDER).then(|| opaque.json.clone()),
    });
    (list(items), opaque)
}

/// Reasoning as an item; `None` without an id, which the API's schema requires.
fn reasoning(reasoning: &Reasoning) -> Option<String> {
    let Reasoning {
        provider: _,
        id,
        text,
        summaries,
        signature: _,
        encrypted,
    } = reasoning;
    if id.is_empty() {
        return None;
    }
    let summary = summaries.iter().map(|summary| {
        let summary_text = Object::with("type", "summary_text");
        summary_text.string("text", summary).finish()
    });
    let item = Object::with("type", "reasoning")
        .string("id", id)
        .json("summary", &list(summary));
    let item = match text.as_str() {
        "" => item,
        text => {
            let content = Object::with("type", "reasoning_text").string("text", text);
            item.json("content", &list([content.finish()]))
        }
    };
    Some(item.optional("encrypted_content", encrypted).finish())
}

/// Reads an item, a list of them, a request or a response.
pub(crate) fn read(root: Node<'_>) -> Result<Vec<ReadMessage>, Invalid> {
    let mut reading = Reading::default();
    if root.is_list() {
        reading.each(&root, read_item)?;
        return Ok(reading.messages);
    }
    let fields = root.fields()?;
    if let Some(output) = fields.get("output").filter(Node::is_list)
        && fields.get("type").is_none()
    {
        reading.each(&output, read_item)?;
        reading.answer_id(fields.get("id"));
    } else if let Some(input) = fields.get("input").filter(|_| fields.get("type").is_none()) {
        if let Some(instructions) = fields.get("instructions") {
            let message = reading.message(Role::System, &instructions);
            message.add(Content::Text(instructions.string()?), &instructions);
        }
        if input.is_string() {
            let message = reading.message(Role::User, &input);
            message.add(Content::Text(input.string()?), &input);
        } else {
            reading.each(&input, read_item)?;
        }
    } else {
        read_item(&mut reading, &root)?;
    }
    Ok(reading.messages)
}

/// Reads an item. Consecutive items of the model become one message.
fn read_item(reading: &mut Reading, node: &Node<'_>) -> Result<(), Invalid> {
    let fields = node.fields()?;
    let kind = match fields.get("type") {
        Some(kind) => kind.string()?,
        None => "message".to_owned(),
    };
    match kind.as_str() {
        "message" => return read_message(reading, node),
        "function_call" | "custom_tool_call" => {
            let arguments = match kind.as_str() {
                "function_call" => "arguments",
                _ => "input",
            };
            let call = proto::ToolCall {
                tool_call_id: fields.string("call_id")?,
                name: fields.required_string("name")?,
                arguments: fields.string(arguments)?,
                ..Default::default()
            };
            let message = reading.same_or_new(Role::Assistant, node);
            message.add(Content::ToolCall(call), node);
        }
        "function_call_output" | "custom_tool_call_output" => {
            let result = proto::ToolResult {
                tool_call_id: fields.string("call_id")?,
                content: read_output(&fields.required("output")?)?,
                ..Default::default()
            };
            let message = reading.message(Role::Tool, node);
            message.add(Content::ToolResult(result), node);
        }
        _ => {
            let part = match kind.as_str() {
                "reasoning" => read_reasoning(node)?,
                _ => None,
            };
            // What a caller answers to the model's own calls.
            let role = match kind.ends_with("_output") || kind == "mcp_approval_response" {
                true => Role::Tool,
                false => Role::Assistant,
            };
            let part = part.unwrap_or_else(|| Content::Opaque(opaque(PROVIDER, kind, node)));
            reading.same_or_new(role, node).add(part, node);
        }
    }
    Ok(())
}

fn read_message(reading: &mut Reading, node: &Node<'_>) -> Result<(), Invalid> {
    let fields = node.fields()?;
    let role = fields.required("role")?;
    let role = match role.string()?.as_str() {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "system" | "developer" => Role::System,
        other => {
            return Err(role.invalid(format!(
                "must be user, assistant, system or developer, is {other:?}"
            )));
        }
    };
    // Only the model's messages have an id, which is the API's.
    let id = fields.get("id").filter(|_| role == Role::Assistant);
    let content = fields.required("content")?;
    if content.is_string() {
        let text = Content::Text(content.string()?);
        let message = match role {
            Role::Assistant => reading.same_or_new(role, node),
            _ => reading.message(role, node),
        };
        message.add(text, &content);
        message.take_id(id);
        return Ok(());
    }
    let parts = content.items()?;
    let mut message = match role {
        Role::Assistant => reading.same_or_new(role, node),
        _ => reading.message(role, node),
    };
    message.take_id(id);
    for part in &parts {
        if role == Role::Assistant {
            message = reading.same_or_new(role, node);
        }
        message.add(read_part(part)?, part);
    }
    if message.message.parts.is_empty() {
        message.add(Content::Text(String::new()), node);
    }
    Ok(())
}

fn read_part(part: &Node<'_>) -> Result<Content, Invalid> {
    let fields = part.fields()?;
    let kind = fields.required_string("type")?;
    Ok(match kind.as_str() {
        "input_text" | "output_text" | "text" => Content::Text(fields.required_string("text")?),
        "refusal" => Content::Text(fields.required_string("refusal")?),
        "input_image" => match fields.string("image_url")? {
            url if is_reference(&url) => Content::File(image(url)),
            _ => Content::Opaque(opaque(PROVIDER, kind, part)),
        },
        _ => Content::Opaque(opaque(PROVIDER, kind, part)),
    })
}

fn read_output(output: &Node<'_>) -> Result<Vec<proto::ToolResultPart>, Invalid> {
    use tool_result_part::Content as Output;

    if output.is_string() {
        return Ok(vec![Output::Text(output.string()?).into()]);
    }
    let pieces = output.items()?;
    let read = pieces.iter().map(|piece| {
        let piece = match read_part(piece)? {
            Content::Text(text) => Output::Text(text),
            Content::File(file) => Output::File(file),
            _ => {
                let kind = piece.fields()?.required_string("type")?;
                Output::Opaque(opaque(PROVIDER, kind, piece))
            }
        };
        Ok(piece.into())
    });
    read.collect()
}

/// Reasoning; `None` if it has more than its fields can keep.
fn read_reasoning(node: &Node<'_>) -> Result<Option<Content>, Invalid> {
    let fields = node.fields()?;
    let texts = |key: &str, kind: &str| -> Result<Option<Vec<String>>, Invalid> {
        let Some(list) = fields.get(key) else {
            return Ok(Some(Vec::new()));
        };
        let mut texts = Vec::new();
        for item in list.items()? {
            let item = item.fields()?;
            if item.string("type")? != kind {
                return Ok(None);
            }
            texts.push(item.required_string("text")?);
        }
        Ok(Some(texts))
    };
    let summaries = texts("summary", "summary_text")?;
    let content = texts("content", "reasoning_text")?;
    let (Some(summaries), Some(mut content)) = (summaries, content) else {
        return Ok(None);
    };
    if content.len() > 1 {
        return Ok(None);
    }
    Ok(Some(Content::Reasoning(proto::Reasoning {
        provider: proto::ProviderFormat::OpenaiResponses.into(),
        id: fields.string("id")?,
        text: content.pop().unwrap_or_default(),
        summaries,
        signature: String::new(),
        encrypted_content: fields.string("encrypted_content")?,
    })))
}
