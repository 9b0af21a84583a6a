//! Redacts messages in providers' formats: as the messages that they are.

use memory_contract::{Invalid, proto::ProviderMessages};
use memory_formats::inputs_of;
use memory_redact::Kinds;
use prost_reflect::{DynamicMessage, ReflectMessage as _, Value};

use super::{redacted::Redacted, texts};

const BODIES: &str = "provider_messages";
const MESSAGES: &str = "messages";

/// Puts redacted messages into the place of a request's bodies, if anything in them is found. Bodies
/// that cannot be read are left to the handler, which refuses them.
pub(super) fn replace(
    request: &mut DynamicMessage,
    kinds: Kinds,
) -> Option<(Redacted, Vec<Invalid>)> {
    let bodies = request.get_field_by_name(BODIES)?.into_owned();
    let bodies: Vec<ProviderMessages> = bodies
        .as_list()?
        .iter()
        .map(|body| body.as_message()?.transcode_to().ok())
        .collect::<Option<_>>()?;
    if bodies.is_empty() || request.has_field_by_name(MESSAGES) {
        return None;
    }
    let inputs = inputs_of(&bodies).ok()?;
    let descriptor = request.descriptor().get_field_by_name(MESSAGES)?;
    let input = descriptor.kind().as_message()?.clone();
    let inputs: Vec<Value> = inputs
        .iter()
        .map(|message| {
            let mut dynamic = DynamicMessage::new(input.clone());
            dynamic.transcode_from(message).ok()?;
            Some(Value::Message(dynamic))
        })
        .collect::<Option<_>>()?;
    let mut messages = DynamicMessage::new(request.descriptor());
    messages.set_field(&descriptor, Value::List(inputs));
    let (redacted, fields) = texts::replace(&mut messages, kinds, false);
    if !redacted.is_empty() {
        request.set_field(&descriptor, messages.get_field(&descriptor).into_owned());
        request.clear_field_by_name(BODIES);
    }
    Some((redacted, fields))
}
