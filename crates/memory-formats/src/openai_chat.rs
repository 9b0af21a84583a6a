//! `{"messages": […]}` of OpenAI's chat completions.
//!
//! Body, the content of a message is a string if it is one text, else an array of parts.
//! Names are reduced to the characters that OpenAI accepts, and left out if nothing is
//! left. The format cannot say whether a tool failed.
//!
//! Reasoning is a field of compatible APIs, `reasoning_content`. DeepSeek requires it in
//! turns in which the model called a tool and ignores it in others, so only such turns have
//! it; `reasoning_details` likewise.

use crate::format::{Body, Said};
use crate::image::{image, is_reference};
use crate::json::{Fields, Node, Object, list, quoted};
use crate::reading::{ReadMessage, Reading, only_item, opaque};
use crate::steps::{
    Answered, Piece, PieceContent, Rules, Step, is_web_image, output_text, plain, steps,
};
use memory_contract::proto::{self, part::Content, tool_result_part};
use memory_contract::{
    Invalid,
    file::{FileRef, ImageDetail},
    message::{Provider, Role, ToolOutput},
};

const PROVIDER: Provider = Provider::OpenaiChat;
const RULES: Rules = Rules {
    provider: PROVIDER,
    id_chars: 40,
    name_chars: 64,
    marks: "_-",
};
/// The field, and the type of the opaque part, of reasoning with signatures.
const DETAILS: &str = "reasoning_details";
/// The longest name of a speaker.
const SPEAKER_CHARS: usize = 64;

/// Writes messages.
pub(crate) fn write(messages: &[Said<'_>], detail: ImageDetail) -> Body {
    let mut written = Vec::new();
    let mut provider_parts = 0;
    let steps = steps(messages, RULES, is_web_image);
    let is_user = |step: &Step<'_>| step.role == Role::User;
    // A turn ends before the next message of the user.
    for turn in steps.chunk_by(|_, next| !is_user(next)) {
        let has_calls = turn.iter().any(|step| step.calls().next().is_some());
        for step in turn {
            let contents: Vec<&Piece<'_>> = step
                .pieces
                .iter()
                .filter(|piece| match &piece.content {
                    PieceContent::Call(_) | PieceContent::Reasoning(_) => false,
                    PieceContent::Opaque(opaque) => opaque.kind != DETAILS,
                    PieceContent::Text(_) | PieceContent::File(..) => true,
                })
                .collect();
            if contents.is_empty() && step.calls().next().is_none() && !step.pieces.is_empty() {
                // Nothing but reasoning.
                continue;
            }
            let opaque = |piece: &&&Piece<'_>| matches!(piece.content, PieceContent::Opaque(_));
            provider_parts += contents.iter().filter(opaque).count();
            let thoughts = match has_calls {
                true => Thoughts::collect(step),
                false => Thoughts::default(),
            };
            provider_parts += thoughts.provider_parts;
            written.push(message(step, &contents, &thoughts, detail));
            written.extend(step.calls().map(result));
            written.extend(images(step, detail));
        }
    }
    Body {
        body: Object::default().json("messages", &list(written)).finish(),
        provider_parts,
    }
}

/// The reasoning of a message.
#[derive(Default)]
struct Thoughts<'a> {
    text: String,
    /// The list in `reasoning_details`.
    details: Option<&'a str>,
    provider_parts: usize,
}

impl<'a> Thoughts<'a> {
    fn collect(step: &Step<'a>) -> Self {
        let mut thoughts = Self::default();
        for piece in &step.pieces {
            match &piece.content {
                PieceContent::Reasoning(reasoning) if !reasoning.text.is_empty() => {
                    thoughts.text.push_str(&reasoning.text);
                }
                PieceContent::Opaque(opaque) if opaque.kind == DETAILS => {
                    let Some(details) = details_in(&opaque.json) else {
                        continue;
                    };
                    thoughts.details = Some(details);
                }
                _ => continue,
            }
            thoughts.provider_parts += 1;
        }
        thoughts
    }
}

fn details_in(json: &str) -> Option<&str> {
    let fields = Node::parse(json, String::new()).ok()?.fields().ok()?;
    Some(fields.get(DETAILS)?.text())
}

fn message(
    step: &Step<'_>,
    contents: &[&Piece<'_>],
    thoughts: &Thoughts<'_>,
    detail: ImageDetail,
) -> String {
    let has_calls = step.calls().next().is_some();
    let role = match step.role {
        Role::System => "system",
        Role::Assistant => "assistant",
        Role::User | Role::Tool => "user",
    };
    let content = match contents {
        [] if has_calls => "null".to_owned(),
        [] => quoted(""),
        [
            Piece {
                content: PieceContent::Text(text),
                ..
            },
        ] => quoted(text),
        pieces => list(
            pieces
                .iter()
                .flat_map(|piece| parts(&piece.content, detail)),
        ),
    };
    let name = speaker(step.name).unwrap_or_default();
    let message = Object::with("role", role)
        .json("content", &content)
        .optional("name", &name)
        .optional("reasoning_content", &thoughts.text);
    let message = match thoughts.details {
        Some(details) => message.json(DETAILS, details),
        None => message,
    };
    match has_calls {
        true => message.json("tool_calls", &list(step.calls().map(call))),
        false => message,
    }
    .finish()
}

fn parts(content: &PieceContent<'_>, detail: ImageDetail) -> Vec<String> {
    let text = |text: &str| Object::with("type", "text").string("text", text).finish();
    match content {
        PieceContent::Text(said) => vec![text(said)],
        PieceContent::File(file, _) => {
            let caption = Some(&file.caption).filter(|caption| !caption.is_empty());
            let caption = caption.map(|caption| text(caption));
            [image_part(file, detail)]
                .into_iter()
                .chain(caption)
                .collect()
        }
        PieceContent::Opaque(opaque) => vec![opaque.json.clone()],
        PieceContent::Call(_) | PieceContent::Reasoning(_) => Vec::new(),
    }
}

fn call(answered: &Answered<'_>) -> String {
    let function = Object::with("name", &answered.tool)
        .string("arguments", &answered.call.arguments)
        .finish();
    Object::with("id", &answered.id)
        .string("type", "function")
        .json("function", &function)
        .finish()
}

fn result(answered: &Answered<'_>) -> String {
    Object::with("role", "tool")
        .string("tool_call_id", &answered.id)
        .string("content", &output_text(answered.result))
        .finish()
}

/// The images that tools returned, in a message of the user: messages of tools take no
/// images.
fn images(step: &Step<'_>, detail: ImageDetail) -> Option<String> {
    let parts = step.calls().flat_map(|answered| {
        let images = answered.result.output.iter();
        images.filter_map(|output| match output {
            ToolOutput::File(file) if is_web_image(file) => Some(image_part(file, detail)),
            _ => None,
        })
    });
    let parts: Vec<String> = parts.collect();
    let message = Object::with("role", "user");
    (!parts.is_empty()).then(|| message.json("content", &list(parts)).finish())
}

fn image_part(file: &FileRef, detail: ImageDetail) -> String {
    let url = Object::with("url", file.location.as_str());
    let url = match detail {
        ImageDetail::Auto => url,
        ImageDetail::Low | ImageDetail::High => url.string("detail", detail.as_str()),
    };
    let url = url.finish();
    Object::with("type", "image_url")
        .json("image_url", &url)
        .finish()
}

fn speaker(name: &str) -> Option<String> {
    let letters: String = name
        .chars()
        .filter(|c| c.is_ascii_alphanumeric() || " _-.".contains(*c))
        .collect();
    let name = plain(letters.trim(), SPEAKER_CHARS, RULES.marks);
    name.chars()
        .any(|c| c.is_ascii_alphanumeric())
        .then_some(name)
}

/// Reads a message, a list of them, a request or a response.
pub(crate) fn read(root: Node<'_>) -> Result<Vec<ReadMessage>, Invalid> {
    let mut reading = Reading::default();
    if root.is_list() {
        reading.each(&root, read_message)?;
    } else {
        let fields = root.fields()?;
        if let Some(messages) = fields.get("messages") {
            reading.each(&messages, read_message)?;
        } else if let Some(choices) = fields.get("choices") {
            let choice = only_item(&choices)?.fields()?;
            read_message(&mut reading, &choice.required("message")?)?;
            reading.answer_id(fields.get("id"));
        } else {
            read_message(&mut reading, &root)?;
        }
    }
    Ok(reading.messages)
}

fn read_message(reading: &mut Reading, node: &Node<'_>) -> Result<(), Invalid> {
    let fields = node.fields()?;
    let role = fields.required("role")?;
    let role = match role.string()?.as_str() {
        "user" => Role::User,
        "assistant" => Role::Assistant,
        "system" | "developer" => Role::System,
        "tool" | "function" => return read_result(reading, &fields),
        other => {
            return Err(role.invalid(format!(
                "must be user, assistant, system, developer or tool, is {other:?}"
            )));
        }
    };
    let message = reading.message(role, node);
    message.message.name = fields.string("name")?;
    let thought = fields.any(&["reasoning_content", "reasoning"]);
    if let Some(thought) = thought.filter(|thought| role == Role::Assistant && thought.is_string())
    {
        let reasoning = proto::Reasoning {
            provider: proto::ProviderFormat::OpenaiChat.into(),
            text: thought.string()?,
            ..Default::default()
        };
        message.add(Content::Reasoning(reasoning), &thought);
    }
    if let Some(details) = fields.get(DETAILS)
        && role == Role::Assistant
        && details.is_list()
        && !details.items()?.is_empty()
    {
        let piece = proto::OpaquePart {
            json: Object::default().json(DETAILS, details.text()).finish(),
            ..opaque(PROVIDER, DETAILS, &details)
        };
        message.add(Content::Opaque(piece), &details);
    }
    let content = fields.get("content");
    if let Some(content) = &content {
        read_content(message, content)?;
    } else if let Some(audio) = fields.get("audio").filter(Node::is_object) {
        // A spoken answer: its sound can be named only for an hour.
        let transcript = audio.fields()?.string("transcript")?;
        if !transcript.is_empty() {
            message.add(Content::Text(transcript), &audio);
        }
    }
    if let Some(refusal) = fields.get("refusal") {
        message.add(Content::Text(refusal.string()?), &refusal);
    }
    if let Some(calls) = fields.get("tool_calls") {
        for call in calls.items()? {
            let content = read_call(&call)?;
            message.add(content, &call);
        }
    }
    if let Some(call) = fields.get("function_call") {
        // The format before `tool_calls`: the result names the function alone.
        let function = call.fields()?;
        let name = function.required_string("name")?;
        let call_part = proto::ToolCall {
            tool_call_id: name.clone(),
            name,
            arguments: function.string("arguments")?,
            ..Default::default()
        };
        message.add(Content::ToolCall(call_part), &call);
    }
    if message.message.parts.is_empty() {
        message.add(Content::Text(String::new()), node);
    }
    Ok(())
}

fn read_content(message: &mut ReadMessage, content: &Node<'_>) -> Result<(), Invalid> {
    if content.is_string() {
        message.add(Content::Text(content.string()?), content);
        return Ok(());
    }
    for part in content.items()? {
        let fields = part.fields()?;
        let kind = fields.required_string("type")?;
        let url = fields.get("image_url").filter(|_| kind == "image_url");
        let url = url.map(|url| url.fields()?.string("url")).transpose()?;
        let read = match (kind.as_str(), url) {
            ("text", _) => Content::Text(fields.required_string("text")?),
            ("refusal", _) => Content::Text(fields.required_string("refusal")?),
            (_, Some(url)) if is_reference(&url) => Content::File(image(url)),
            _ => Content::Opaque(opaque(PROVIDER, kind, &part)),
        };
        message.add(read, &part);
    }
    Ok(())
}

fn read_call(call: &Node<'_>) -> Result<Content, Invalid> {
    let fields = call.fields()?;
    let (function, arguments) = match fields.get("custom") {
        Some(custom) => (custom.fields()?, "input"),
        None => (fields.required("function")?.fields()?, "arguments"),
    };
    Ok(Content::ToolCall(proto::ToolCall {
        tool_call_id: fields.string("id")?,
        name: function.required_string("name")?,
        arguments: function.string(arguments)?,
        ..Default::default()
    }))
}

fn read_result(reading: &mut Reading, fields: &Fields<'_>) -> Result<(), Invalid> {
    use tool_result_part::Content as Output;

    let node = fields.node();
    let name = fields.string("name")?;
    // A result of the format before `tool_calls` has the name alone.
    let call_id = fields.string("tool_call_id")?;
    let mut output: Vec<proto::ToolResultPart> = Vec::new();
    match fields.get("content") {
        None => {}
        Some(content) if content.is_string() => {
            output.push(Output::Text(content.string()?).into());
        }
        Some(content) => {
            for part in content.items()? {
                let fields = part.fields()?;
                let kind = fields.required_string("type")?;
                output.push(match kind.as_str() {
                    "text" => Output::Text(fields.required_string("text")?).into(),
                    _ => Output::Opaque(opaque(PROVIDER, kind, &part)).into(),
                });
            }
        }
    }
    let result = proto::ToolResult {
        tool_call_id: call_id,
        name,
        content: output,
        is_error: false,
    };
    let message = reading.message(Role::Tool, node);
    message.add(Content::ToolResult(result), node);
    Ok(())
}
