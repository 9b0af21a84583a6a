//! `{"systemInstruction": …, "contents": […]}` of Gemini's generateContent.
//!
//! Body, all system messages are in `systemInstruction`. Consecutive messages of one role
//! become one content, except that results are a content of their own right after their
//! calls. The first content is the user's: messages before the user's first are included in
//! it, each after its speaker's label. Blank texts without a signature are left out, and so
//! are names, which the format does not have.
//!
//! Gemini 3 refuses a call of the current turn without a signature. For calls that another
//! model made, its documentation names a value that skips this check.

use crate::format::{Body, Labels, Said};
use crate::image::{base64_of, data_url};
use crate::json::{Fields, Node, Object, list};
use crate::reading::{ReadMessage, Reading, opaque};
use crate::steps::{Answered, Piece, PieceContent, Rules, is_web_image, output_text, steps};
use crate::user_first::UserFirst;
use memory_contract::proto::{self, part::Content as Part, tool_result_part};
use memory_contract::{
    Invalid,
    file::{FileLocation, FileRef, FileType},
    limits,
    message::{Provider, Role, ToolOutput, ToolResult},
    text,
};

const PROVIDER: Provider = Provider::Gemini;
const RULES: Rules = Rules {
    provider: PROVIDER,
    id_chars: limits::TOOL_CHARS,
    name_chars: 64,
    marks: "_-.:",
};
/// The signature of a call that another model made.
const UNSIGNED: &str = "skip_thought_signature_validator";
/// Where the files are that Gemini fetches.
const FETCHED: [&str; 2] = ["gs://", "https://generativelanguage.googleapis.com/"];

/// Writes messages.
pub(crate) fn write(messages: &[Said<'_>], labels: &Labels) -> Body {
    let UserFirst {
        system,
        before,
        rest,
    } = UserFirst::split(messages, PROVIDER, labels);

    let mut contents = Contents::default();
    for text in before {
        contents.add("user", [Object::with("text", &text).finish()]);
    }
    for step in steps(&rest, RULES, is_taken) {
        let role = match step.role {
            Role::Assistant => "model",
            Role::User | Role::System | Role::Tool => "user",
        };
        let mut unsigned = !has_signature(&step.pieces);
        for piece in &step.pieces {
            let is_call = matches!(piece.content, PieceContent::Call(_));
            let signature = match is_call && std::mem::take(&mut unsigned) {
                true => UNSIGNED,
                false => piece.signature,
            };
            let written = part(&piece.content, signature);
            let is_own = matches!(
                piece.content,
                PieceContent::Reasoning(_) | PieceContent::Opaque(_)
            );
            contents.provider_parts += usize::from(is_own);
            contents.add(role, written);
        }
        let mut responses: Vec<String> = step
            .calls()
            .map(|answered| contents.response(answered))
            .collect();
        responses.extend(step.calls().flat_map(|answered| images(answered.result)));
        if !responses.is_empty() {
            contents.written.push(("user", responses));
            contents.is_closed = true;
        }
    }
    contents.finish(&system)
}

/// Whether a call among the pieces is signed.
fn has_signature(pieces: &[Piece<'_>]) -> bool {
    pieces
        .iter()
        .any(|piece| matches!(piece.content, PieceContent::Call(_)) && !piece.signature.is_empty())
}

/// Whether Gemini takes a file: one that it fetches, or an image that its URL contains.
fn is_taken(file: &FileRef) -> bool {
    match &file.location {
        FileLocation::Url(url) => {
            let fetched = FETCHED.iter().any(|start| url.starts_with(start));
            fetched || base64_of(url).is_some() && is_web_image(file)
        }
        FileLocation::UploadFileId(_) | FileLocation::ToolFileId(_) => false,
    }
}

/// The images that a tool returned, which come next to its response.
fn images(result: &ToolResult) -> impl Iterator<Item = String> {
    result.output.iter().filter_map(|output| match output {
        ToolOutput::File(file) if is_taken(file) => {
            Some(data(file, file.location.as_str()).finish())
        }
        _ => None,
    })
}

/// The contents of a request.
#[derive(Default)]
struct Contents {
    written: Vec<(&'static str, Vec<String>)>,
    /// Whether the last content takes no more parts.
    is_closed: bool,
    provider_parts: usize,
}

impl Contents {
    fn add(&mut self, role: &'static str, parts: impl IntoIterator<Item = String>) {
        for part in parts {
            match self.written.last_mut() {
                Some((last, content)) if *last == role && !self.is_closed => content.push(part),
                _ => {
                    self.written.push((role, vec![part]));
                    self.is_closed = false;
                }
            }
        }
    }

    fn response(&mut self, answered: &Answered<'_>) -> String {
        let ToolResult {
            call_id: _,
            name: _,
            output,
            is_error,
        } = answered.result;
        let mut said = output
            .iter()
            .filter(|output| !matches!(output, ToolOutput::Opaque(_)));
        let object = match (said.next(), said.next()) {
            (Some(ToolOutput::Json(json)), None) if json.trim_start().starts_with('{') => {
                Some(json.trim())
            }
            _ => None,
        };
        let response = match (object, is_error) {
            (Some(object), false) => object.to_owned(),
            (Some(object), true) => Object::default().json("error", object).finish(),
            (None, true) => Object::with("error", &output_text(answered.result)).finish(),
            (None, false) => Object::with("output", &text::of_output(answered.result)).finish(),
        };
        let parts: Vec<String> = output
            .iter()
            .filter_map(|output| match output {
                ToolOutput::Opaque(opaque) if opaque.provider == PROVIDER => {
                    Some(opaque.json.clone())
                }
                _ => None,
            })
            .collect();
        self.provider_parts += parts.len();
        let function = Object::with("id", &answered.id)
            .string("name", &answered.tool)
            .json("response", &response);
        let function = match parts.is_empty() {
            true => function,
            false => function.json("parts", &list(parts)),
        };
        Object::default()
            .json("functionResponse", &function.finish())
            .finish()
    }

    fn finish(self, system: &str) -> Body {
        let contents = self.written.into_iter().map(|(role, parts)| {
            Object::with("role", role)
                .json("parts", &list(parts))
                .finish()
        });
        let body = match system {
            "" => Object::default(),
            system => {
                let parts = list([Object::with("text", system).finish()]);
                let instruction = Object::default().json("parts", &parts).finish();
                Object::default().json("systemInstruction", &instruction)
            }
        };
        Body {
            body: body.json("contents", &list(contents)).finish(),
            provider_parts: self.provider_parts,
        }
    }
}

/// The part of a file.
fn data(file: &FileRef, url: &str) -> Object {
    match base64_of(url) {
        Some((mime_type, base64)) => {
            let data = Object::with("mimeType", mime_type).string("data", base64);
            Object::default().json("inlineData", &data.finish())
        }
        None => {
            let data = Object::default().optional("mimeType", &file.mime_type);
            let data = data.string("fileUri", url).finish();
            Object::default().json("fileData", &data)
        }
    }
}

fn part(content: &PieceContent<'_>, signature: &str) -> Vec<String> {
    let signed = |object: Object| object.optional("thoughtSignature", signature).finish();
    match content {
        PieceContent::Text(said) if said.trim().is_empty() && signature.is_empty() => Vec::new(),
        PieceContent::Text(said) => vec![signed(Object::with("text", said))],
        PieceContent::File(file, url) => {
            let caption = Some(&file.caption).filter(|caption| !caption.is_empty());
            let caption = caption.map(|caption| Object::with("text", caption).finish());
            [signed(data(file, url))]
                .into_iter()
                .chain(caption)
                .collect()
        }
        PieceContent::Call(answered) => {
            let call = Object::with("id", &answered.id)
                .string("name", &answered.tool)
                .json("args", &answered.object())
                .finish();
            vec![signed(Object::default().json("functionCall", &call))]
        }
        // Gemini refuses an empty text without a signature.
        PieceContent::Reasoning(reasoning)
            if reasoning.text.is_empty() && reasoning.signature.is_empty() =>
        {
            Vec::new()
        }
        PieceContent::Reasoning(reasoning) => {
            let thought = Object::with("text", &reasoning.text).json("thought", "true");
            vec![
                thought
                    .optional("thoughtSignature", &reasoning.signature)
                    .finish(),
            ]
        }
        PieceContent::Opaque(opaque) => vec![opaque.json.clone()],
    }
}

/// Reads a content, a list of them, a request or a response.
pub(crate) fn read(root: Node<'_>) -> Result<Vec<ReadMessage>, Invalid> {
    let mut reading = Reading::default();
    let read_own = |reading: &mut Reading, content: &Node<'_>| read_content(reading, content, None);
    if root.is_list() {
        reading.each(&root, read_own)?;
        return Ok(reading.messages);
    }
    let fields = root.fields()?;
    if let Some(contents) = fields.get("contents") {
        if let Some(system) = fields.any(&["systemInstruction", "system_instruction"]) {
            read_content(&mut reading, &system, Some(Role::System))?;
        }
        if contents.is_list() {
            reading.each(&contents, read_own)?;
        } else {
            read_content(&mut reading, &contents, None)?;
        }
    } else if let Some(candidates) = fields.get("candidates") {
        let content = only_candidate(&candidates)?;
        read_content(&mut reading, &content, Some(Role::Assistant))?;
        reading.answer_id(fields.any(&["responseId", "response_id"]));
    } else {
        read_content(&mut reading, &root, None)?;
    }
    Ok(reading.messages)
}

fn only_candidate<'a>(candidates: &Node<'a>) -> Result<Node<'a>, Invalid> {
    crate::reading::only_item(candidates)?
        .fields()?
        .required("content")
}

/// Reads a content; `role` overrides its own. The results in a user's content become a
/// message of the tools.
fn read_content(reading: &mut Reading, node: &Node<'_>, role: Option<Role>) -> Result<(), Invalid> {
    let fields = node.fields()?;
    let role = match (role, fields.get("role")) {
        (Some(role), _) => role,
        (None, None) => Role::User,
        (None, Some(own)) => match own.string()?.as_str() {
            "user" => Role::User,
            "model" => Role::Assistant,
            "function" => Role::Tool,
            other => {
                let problem = format!("must be user, model or function, is {other:?}");
                return Err(own.invalid(problem));
            }
        },
    };
    let mut names = Names::default();
    let parts = fields.required("parts")?;
    reading.parts(role, node, &parts, |part| read_part(part, &mut names))
}

/// Ids for calls and results that have none: the name of the function, and from the second
/// one of a name in a content on, its number.
#[derive(Default)]
struct Names {
    calls: Vec<String>,
    results: Vec<String>,
}

fn id_of(seen: &mut Vec<String>, fields: &Fields<'_>, name: &str) -> Result<String, Invalid> {
    let id = fields.string("id")?;
    if !id.is_empty() {
        return Ok(id);
    }
    seen.push(name.to_owned());
    Ok(match seen.iter().filter(|seen| *seen == name).count() {
        1 => name.to_owned(),
        count => format!("{name}-{count}"),
    })
}

fn read_part(part: &Node<'_>, names: &mut Names) -> Result<proto::Part, Invalid> {
    let fields = part.fields()?;
    let signature = fields.any(&["thoughtSignature", "thought_signature"]);
    let signature = signature.map_or(Ok(String::new()), |signature| signature.string())?;
    if let Some(text) = fields.get("text") {
        let text = text.string()?;
        if fields.is_true("thought") {
            let reasoning = proto::Reasoning {
                provider: proto::ProviderFormat::Gemini.into(),
                text,
                signature,
                ..Default::default()
            };
            return Ok(Part::Reasoning(reasoning).into());
        }
        return Ok(signed(Part::Text(text), signature));
    }
    if let Some(call) = fields.any(&["functionCall", "function_call"]) {
        let call = call.fields()?;
        let name = call.required_string("name")?;
        let arguments = call.get("args");
        let arguments = arguments.map_or("{}", |arguments| arguments.text());
        let call = proto::ToolCall {
            tool_call_id: id_of(&mut names.calls, &call, &name)?,
            name,
            arguments: arguments.to_owned(),
            ..Default::default()
        };
        return Ok(signed(Part::ToolCall(call), signature));
    }
    if let Some(response) = fields.any(&["functionResponse", "function_response"]) {
        let response = response.fields()?;
        return Ok(signed(read_result(&response, names)?, signature));
    }
    if let Some(data) = fields.any(&["fileData", "file_data"]) {
        let data = data.fields()?;
        let uri = data.any(&["fileUri", "file_uri"]);
        let uri = uri.map_or(Ok(String::new()), |uri| uri.string())?;
        let kind = data.any(&["mimeType", "mime_type"]);
        let kind = kind.map_or(Ok(String::new()), |kind| kind.string())?;
        if !uri.is_empty() {
            return Ok(signed(Part::File(file(uri, kind)), signature));
        }
    }
    if let Some(image) = inline_image(&fields)? {
        return Ok(signed(Part::File(image), signature));
    }
    let settings = [
        "thought",
        "thoughtSignature",
        "thought_signature",
        "videoMetadata",
    ];
    let kind = fields.names().find(|name| !settings.contains(name));
    Ok(match kind {
        // The end of a stream may have a signature and nothing else.
        None => signed(Part::Text(String::new()), signature),
        Some(kind) => Part::Opaque(opaque(PROVIDER, kind, part)).into(),
    })
}

/// The image in a part; `None` for other data, and for fields that a reference has not.
fn inline_image(fields: &Fields<'_>) -> Result<Option<proto::FileRef>, Invalid> {
    let Some(data) = fields.any(&["inlineData", "inline_data"]) else {
        return Ok(None);
    };
    let data = data.fields()?;
    let (Some(kind), Some(base64)) = (data.any(&["mimeType", "mime_type"]), data.get("data"))
    else {
        return Ok(None);
    };
    let kind = kind.string()?;
    if data.names().count() > 2 {
        return Ok(None);
    }
    let url = data_url(&kind, &base64.string()?);
    Ok(url.map(|url| file(url, kind)))
}

fn signed(content: Part, signature: String) -> proto::Part {
    proto::Part {
        content: Some(content),
        signature,
    }
}

fn file(uri: String, mime_type: String) -> proto::FileRef {
    let kind = match mime_type.split('/').next() {
        Some("image") => FileType::Image,
        Some("audio") => FileType::Audio,
        Some("video") => FileType::Video,
        Some("application" | "text") => FileType::Document,
        _ => FileType::Custom,
    };
    proto::FileRef {
        r#type: proto::FileType::from(kind).into(),
        location: Some(proto::file_ref::Location::Url(uri)),
        mime_type,
        ..Default::default()
    }
}

/// A result. `output` and `error` alone are the names that a text is returned under.
fn read_result(fields: &Fields<'_>, names: &mut Names) -> Result<Part, Invalid> {
    use tool_result_part::Content as Output;

    let name = fields.required_string("name")?;
    let call_id = id_of(&mut names.results, fields, &name)?;
    let mut content: Vec<proto::ToolResultPart> = Vec::new();
    let mut is_error = false;
    if let Some(response) = fields.get("response") {
        let named = response.fields()?;
        let only: Vec<&str> = named.names().collect();
        let text = match only.as_slice() {
            [key @ ("output" | "error")] => named.get(key),
            _ => None,
        };
        is_error = only == ["error"];
        content.push(match text {
            Some(text) if text.is_string() => Output::Text(text.string()?).into(),
            Some(inner) if is_error => Output::Json(inner.text().to_owned()).into(),
            _ => Output::Json(response.text().to_owned()).into(),
        });
    }
    if let Some(parts) = fields.get("parts") {
        for part in parts.items()? {
            let kind = part.fields()?.names().next().unwrap_or("part").to_owned();
            content.push(Output::Opaque(opaque(PROVIDER, kind, &part)).into());
        }
    }
    Ok(Part::ToolResult(proto::ToolResult {
        tool_call_id: call_id,
        name,
        content,
        is_error,
    }))
}
