//! `{"system": …, "messages": […]}` of Anthropic's messages.
//!
//! Body, all system messages are in `system`, in their order, with an empty line between
//! two. Consecutive messages of one role become one message, so that user and assistant
//! alternate; results come first in the message after their calls. The first message is
//! the user's: messages before the user's first are included in it, each after its
//! speaker's label. Blank texts are left out, and so are names, which the format does not
//! have. Thinking is written with its signature, or not at all.

use crate::format::{Body, Labels, Said};
use crate::image::{base64_of, data_url, image, is_reference};
use crate::json::{Node, Object, list, quoted};
use crate::reading::{ReadMessage, Reading, opaque};
use crate::steps::{Answered, PieceContent, Rules, is_web_image, output_text, steps};
use crate::user_first::UserFirst;
use memory_contract::proto::{self, part::Content as Part, tool_result_part};
use memory_contract::{
    Invalid,
    file::FileRef,
    limits,
    message::{Provider, Reasoning, Role, ToolOutput, ToolResult},
    text,
};

const PROVIDER: Provider = Provider::AnthropicMessages;
const RULES: Rules = Rules {
    provider: PROVIDER,
    id_chars: limits::TOOL_CHARS,
    name_chars: 64,
    marks: "_-",
};

/// The media types of images in a request.
const INLINE_KINDS: [&str; 4] = ["image/jpeg", "image/png", "image/gif", "image/webp"];

/// Writes messages.
pub(crate) fn write(messages: &[Said<'_>], labels: &Labels) -> Body {
    let UserFirst {
        system,
        before,
        rest,
    } = UserFirst::split(messages, PROVIDER, labels);

    let mut turns = Alternating::default();
    for text in before {
        turns.add("user", text_block(&text));
    }
    for step in steps(&rest, RULES, is_image) {
        let role = match step.role {
            Role::Assistant => "assistant",
            Role::User | Role::System | Role::Tool => "user",
        };
        for piece in &step.pieces {
            turns.add(role, blocks(&piece.content));
        }
        for answered in step.calls() {
            turns.add("user", [result(answered)]);
        }
    }
    turns.finish(&system)
}

/// A block of a message.
struct Block {
    json: String,
    /// Whether it is thinking, which must not end a message.
    thinks: bool,
    /// The reasoning and opaque parts in it.
    provider_parts: usize,
}

/// Messages of alternating roles.
#[derive(Default)]
struct Alternating(Vec<(&'static str, Vec<Block>)>);

impl Alternating {
    fn add(&mut self, role: &'static str, blocks: impl IntoIterator<Item = Block>) {
        let mut blocks = blocks.into_iter().peekable();
        if blocks.peek().is_none() {
            return;
        }
        match self.0.last_mut() {
            Some((last, content)) if *last == role => content.extend(blocks),
            _ => self.0.push((role, blocks.collect())),
        }
    }

    fn finish(self, system: &str) -> Body {
        let mut turns = Self::default();
        for (role, mut blocks) in self.0 {
            while blocks.pop_if(|block| block.thinks).is_some() {}
            turns.add(role, blocks);
        }
        let blocks = turns.0.iter().flat_map(|(_, blocks)| blocks);
        let provider_parts = blocks.map(|block| block.provider_parts).sum();
        let messages = turns.0.into_iter().map(|(role, blocks)| {
            let content = list(blocks.into_iter().map(|block| block.json));
            Object::with("role", role)
                .json("content", &content)
                .finish()
        });
        let body = Object::default().optional("system", system);
        Body {
            body: body.json("messages", &list(messages)).finish(),
            provider_parts,
        }
    }
}

fn block(object: Object) -> Block {
    Block {
        json: object.finish(),
        thinks: false,
        provider_parts: 0,
    }
}

fn text_block(text: &str) -> Option<Block> {
    let said = !text.trim().is_empty();
    said.then(|| block(Object::with("type", "text").string("text", text)))
}

/// Whether a file is an image on the web, or an inline one of a kind that the API takes.
fn is_image(file: &FileRef) -> bool {
    let kind = base64_of(file.location.as_str()).map(|(kind, _)| kind);
    is_web_image(file) && kind.is_none_or(|kind| INLINE_KINDS.contains(&kind))
}

fn image_block(file: &FileRef) -> Block {
    let url = file.location.as_str();
    let source = match base64_of(url) {
        Some((mime_type, data)) => Object::with("type", "base64")
            .string("media_type", mime_type)
            .string("data", data),
        None => Object::with("type", "url").string("url", url),
    };
    block(Object::with("type", "image").json("source", &source.finish()))
}

fn blocks(content: &PieceContent<'_>) -> Vec<Block> {
    match content {
        PieceContent::Text(said) => text_block(said).into_iter().collect(),
        PieceContent::File(file, _) => {
            let caption = text_block(&file.caption);
            [image_block(file)].into_iter().chain(caption).collect()
        }
        PieceContent::Call(answered) => vec![block(
            Object::with("type", "tool_use")
                .string("id", &answered.id)
                .string("name", &answered.tool)
                .json("input", &answered.object()),
        )],
        PieceContent::Reasoning(reasoning) => thinking(reasoning).into_iter().collect(),
        PieceContent::Opaque(opaque) => vec![Block {
            json: opaque.json.clone(),
            thinks: false,
            provider_parts: 1,
        }],
    }
}

/// Thinking; `None` without what proves it.
fn thinking(reasoning: &Reasoning) -> Option<Block> {
    let object = match (&*reasoning.encrypted, &*reasoning.signature) {
        ("", "") => return None,
        ("", signature) => Object::with("type", "thinking")
            .string("thinking", &reasoning.text)
            .string("signature", signature),
        (data, _) => Object::with("type", "redacted_thinking").string("data", data),
    };
    Some(Block {
        thinks: true,
        provider_parts: 1,
        ..block(object)
    })
}

fn result(answered: &Answered<'_>) -> Block {
    let object = Object::with("type", "tool_result").string("tool_use_id", &answered.id);
    let (content, provider_parts) = output(answered.result);
    let object = match content {
        Some(content) => object.json("content", &content),
        None => object,
    };
    let object = match answered.result.is_error {
        true => object.json("is_error", "true"),
        false => object,
    };
    Block {
        provider_parts,
        ..block(object)
    }
}

/// A string, or a list of blocks if there are images or opaque pieces; and the number of the
/// latter.
fn output(result: &ToolResult) -> (Option<String>, usize) {
    let own = |output: &&ToolOutput| matches!(output, ToolOutput::Opaque(opaque) if opaque.provider == PROVIDER);
    let opaque = result.output.iter().filter(own).count();
    let has_image =
        |output: &ToolOutput| matches!(output, ToolOutput::File(file) if is_image(file));
    if opaque == 0 && !result.output.iter().any(has_image) {
        let text = output_text(result);
        return ((!text.trim().is_empty()).then(|| quoted(&text)), 0);
    }
    let blocks = result.output.iter().filter_map(|output| match output {
        ToolOutput::Text(text) | ToolOutput::Json(text) => Some(text_block(text)?.json),
        ToolOutput::File(file) if is_image(file) => Some(image_block(file).json),
        ToolOutput::File(file) => Some(text_block(&text::of_file(file))?.json),
        ToolOutput::Opaque(opaque) => (opaque.provider == PROVIDER).then(|| opaque.json.clone()),
    });
    (Some(list(blocks)), opaque)
}

/// Reads a message, a list of them, a request or a response.
pub(crate) fn read(root: Node<'_>) -> Result<Vec<ReadMessage>, Invalid> {
    let mut reading = Reading::default();
    if root.is_list() {
        reading.each(&root, read_message)?;
        return Ok(reading.messages);
    }
    let fields = root.fields()?;
    match fields.get("messages") {
        Some(messages) => {
            if let Some(system) = fields.get("system") {
                read_system(&mut reading, &system)?;
            }
            reading.each(&messages, read_message)?;
        }
        None => read_message(&mut reading, &root)?,
    }
    Ok(reading.messages)
}

fn read_system(reading: &mut Reading, system: &Node<'_>) -> Result<(), Invalid> {
    let message = reading.message(Role::System, system);
    if system.is_string() {
        message.add(Part::Text(system.string()?), system);
        return Ok(());
    }
    for block in system.items()? {
        let text = block.fields()?.required_string("text")?;
        message.add(Part::Text(text), &block);
    }
    if message.message.parts.is_empty() {
        reading.messages.pop();
    }
    Ok(())
}

/// Reads a message. The results in a user's message become a message of the tools.
fn read_message(reading: &mut Reading, node: &Node<'_>) -> Result<(), Invalid> {
    let fields = node.fields()?;
    let role = fields.required("role")?;
    let role = match role.string()?.as_str() {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "system" => Role::System,
        other => {
            let problem = format!("must be user, assistant or system, is {other:?}");
            return Err(role.invalid(problem));
        }
    };
    // Only answers have an id, which is the API's.
    let id = fields.get("id").filter(|_| role == Role::Assistant);
    let content = fields.required("content")?;
    if content.is_string() {
        let message = reading.message(role, node);
        message.add(Part::Text(content.string()?), &content);
        message.take_id(id);
        return Ok(());
    }
    let first = reading.messages.len();
    reading.parts(role, node, &content, read_block)?;
    if let Some(message) = reading.messages.get_mut(first) {
        message.take_id(id);
    }
    Ok(())
}

fn read_block(block: &Node<'_>) -> Result<Part, Invalid> {
    let fields = block.fields()?;
    let kind = fields.required_string("type")?;
    let provider = proto::ProviderFormat::AnthropicMessages.into();
    Ok(match kind.as_str() {
        "text" => Part::Text(fields.required_string("text")?),
        "thinking" => Part::Reasoning(proto::Reasoning {
            provider,
            text: fields.string("thinking")?,
            signature: fields.string("signature")?,
            ..Default::default()
        }),
        "redacted_thinking" => Part::Reasoning(proto::Reasoning {
            provider,
            encrypted_content: fields.required_string("data")?,
            ..Default::default()
        }),
        "tool_use" => Part::ToolCall(proto::ToolCall {
            tool_call_id: fields.string("id")?,
            name: fields.required_string("name")?,
            arguments: fields
                .get("input")
                .map_or_else(|| "{}".to_owned(), |input| input.text().to_owned()),
            ..Default::default()
        }),
        "tool_result" => {
            let content = fields.get("content");
            Part::ToolResult(proto::ToolResult {
                tool_call_id: fields.string("tool_use_id")?,
                content: content.map_or(Ok(Vec::new()), |content| read_output(&content))?,
                is_error: fields.is_true("is_error"),
                ..Default::default()
            })
        }
        "image" => match image_url(block)? {
            Some(url) => Part::File(image(url)),
            None => Part::Opaque(opaque(PROVIDER, kind, block)),
        },
        _ => Part::Opaque(opaque(PROVIDER, kind, block)),
    })
}

/// The URL of an image that is kept as a reference.
fn image_url(block: &Node<'_>) -> Result<Option<String>, Invalid> {
    let source = block.fields()?.required("source")?.fields()?;
    Ok(match source.string("type")?.as_str() {
        "url" => Some(source.required_string("url")?).filter(|url| is_reference(url)),
        "base64" => data_url(&source.string("media_type")?, &source.string("data")?),
        _ => None,
    })
}

fn read_output(content: &Node<'_>) -> Result<Vec<proto::ToolResultPart>, Invalid> {
    use tool_result_part::Content as Output;

    if content.is_string() {
        return Ok(vec![Output::Text(content.string()?).into()]);
    }
    let blocks = content.items()?;
    let read = blocks.iter().map(|block| {
        let fields = block.fields()?;
        let kind = fields.required_string("type")?;
        let url = match kind.as_str() {
            "image" => image_url(block)?,
            _ => None,
        };
        let output = match (kind.as_str(), url) {
            ("text", _) => Output::Text(fields.required_string("text")?),
            (_, Some(url)) => Output::File(image(url)),
            _ => Output::Opaque(opaque(PROVIDER, kind, block)),
        };
        Ok(output.into())
    });
    read.collect()
}
